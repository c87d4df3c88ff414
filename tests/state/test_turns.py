"""What the events of a session add up to: turns, growth, compactions, segments."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from brimline.state import turns
from brimline.state.turns import Compaction, Event
from brimline.transcript.compactions import Recorded

if TYPE_CHECKING:
    from typing import Any


def story(*told: tuple[str, dict[str, Any]], step_s: float = 1.0) -> list[Event]:
    """Events one after the other."""
    return [
        Event(number, 100.0 + number * step_s, name, **fields)
        for number, (name, fields) in enumerate(told)
    ]


def reading(
    name: str, tokens: int | None, offset: int, **fields: Any
) -> tuple[str, dict[str, Any]]:
    """An event with a measurement."""
    return name, {"occupancy_tokens": tokens, "transcript_offset": offset} | fields


def row(at: float | None, **fields: Any) -> Recorded:
    """A compaction as a transcript records it."""
    values: dict[str, Any] = dict.fromkeys(Recorded._fields)
    return Recorded(**values | {"at": at} | fields)


@pytest.mark.row("S2-48")
def test_growth_belongs_to_the_turn_whose_requests_caused_it() -> None:
    """A turn's last request is seen only with the next prompt, and still counts to its turn."""
    events = story(
        reading("UserPromptSubmit", None, 0),
        reading("PostToolUse", 40_000, 100),
        reading("PostToolUse", 42_000, 200),
        reading("UserPromptSubmit", 45_000, 300),
        reading("PostToolUse", 46_000, 400),
    )

    found = turns.tell(events, []).turns

    assert [(one.number, one.occupancy_tokens) for one in found] == [(1, None), (2, 45_000)]
    assert [(one.growth_tokens, one.requests) for one in found] == [(5_000, 3), (1_000, 1)]


def test_parallel_hooks_that_took_the_same_reading_count_once() -> None:
    """Also where one of them comes late, and where a reply has a row for each of its calls."""
    events = story(
        reading("UserPromptSubmit", None, 0),
        reading("PostToolUse", 40_000, 100),
        reading("PostToolUse", 40_000, 100),
        reading("PostToolUse", 40_000, 150),
        reading("PostToolUse", 43_000, 200),
        reading("PostToolUse", 40_000, 100),
        reading("PostToolUse", 44_000, 300),
    )

    found = turns.tell(events, [])

    assert found.occupancies == [40_000, 43_000, 44_000]
    assert (found.turns[0].requests, found.turns[0].growth_tokens) == (3, 4_000)


@pytest.mark.parametrize("step_s", [1.0, 0.0])
def test_a_compaction_ends_a_segment_and_is_no_growth(step_s: float) -> None:
    """Its announcement and stale readings belong to what was before, also within a millisecond."""
    events = story(
        reading("SessionStart", None, 0, model="claude-opus-5"),
        reading("UserPromptSubmit", 150_000, 100),
        reading("PostToolUse", 160_000, 200),
        reading("PreCompact", 165_000, 300, trigger="auto"),
        ("SessionStart", {"source": "compact"}),
        ("PostCompact", {}),
        reading("PostToolUse", 165_000, 300),
        reading("PostToolUse", 50_000, 400),
        reading("PostToolUse", 52_000, 500),
        step_s=step_s,
    )

    found = turns.tell(events, turns.merge(turns.compactions_of(events), []))

    assert found.segments == [
        ("claude-opus-5", [150_000, 160_000, 165_000]),
        ("claude-opus-5", [50_000, 52_000]),
    ]
    assert found.turns[0].growth_tokens == 17_000
    assert found.turns[0].compactions == 1


def test_a_compaction_that_hooks_were_not_told_of_parts_segments_by_its_time() -> None:
    """The first reading after it is no growth."""
    events = story(
        reading("UserPromptSubmit", 150_000, 100),
        reading("PostToolUse", 160_000, 200),
        reading("PostToolUse", 50_000, 300),
    )

    found = turns.tell(events, turns.merge([], [row(101.5)]))

    assert [tokens for _, tokens in found.segments] == [[150_000, 160_000], [50_000]]
    assert found.turns[0].compactions == 1


def test_a_drop_that_nobody_recorded_is_no_growth_either() -> None:
    """Growth is what was added, never less than nothing."""
    events = story(
        reading("UserPromptSubmit", 150_000, 100),
        reading("PostToolUse", 60_000, 200),
        reading("PostToolUse", 61_000, 300),
    )

    assert turns.tell(events, []).turns[0].growth_tokens == 1_000


@pytest.mark.parametrize(
    ("names", "confirmed"),
    [
        (["Pre", "Start", "Post"], [True]),
        (["Pre", "Post", "Start"], [True]),
        (["Pre", "Start"], [True]),
        (["Pre", "Post"], [True]),
        (["Start", "Post"], [True]),
        (["Post"], [True]),
        (["Pre"], [False]),
        (["Pre", "Pre", "Pre", "Start", "Post"], [False, False, True]),
        (["Pre", "Start", "Post", "Pre", "Start", "Post"], [True, True]),
        (["Pre", "Post", "Post"], [True, True]),
        (["Start", "Start"], [True, True]),
        ([], []),
    ],
)
def test_announcement_restart_and_summary_are_one_compaction(
    names: list[str], confirmed: list[bool]
) -> None:
    """In either order, with any of them missing; announced alone it did not take place."""
    kinds: dict[str, tuple[str, dict[str, Any]]] = {
        "Pre": ("PreCompact", {"trigger": "auto"}),
        "Start": ("SessionStart", {"source": "compact"}),
        "Post": ("PostCompact", {"summary_characters": 900}),
    }
    events = story(*[kinds[name] for name in names])

    found = turns.compactions_of(events)

    assert [one.confirmed for one in found] == confirmed
    assert len(turns.merge(found, [])) == sum(confirmed)


def test_a_compaction_knows_what_each_event_told() -> None:
    """How full it was, tail included, who asked, and how long the summary is."""
    events = story(
        ("SessionStart", {"source": "startup"}),
        reading("PreCompact", 160_000, 700, tail_tokens=4_000, trigger="auto"),
        ("SessionStart", {"source": "compact"}),
        ("PostCompact", {"trigger": "auto", "summary_characters": 11_000}),
    )

    (found,) = turns.compactions_of(events)

    assert (found.begun_at, found.at, found.trigger) == (101.0, 103.0, "auto")
    assert (found.pre_tokens, found.pre_offset) == (164_000, 700)
    assert (found.summary_characters, found.summary_source) == (11_000, "hook")


def test_the_transcript_fills_in_what_hooks_were_not_told() -> None:
    """The client's own count wins; our summary size stays; a missing one is taken over."""
    own = [
        Compaction(100.0, 160.0, 0, pre_tokens=164_000, confirmed=True),
        Compaction(500.0, 560.0, 1, summary_characters=900, summary_source="hook", confirmed=True),
    ]
    recorded = [
        row(161.0, uuid="a", trigger="auto", pre_tokens=167_000, summary_characters=12_000),
        row(559.0, uuid="b", trigger="manual", post_tokens=50_000, summary_characters=12_000),
    ]

    first, second = turns.merge(own, recorded)

    assert (first.pre_tokens, first.trigger, first.uuid) == (167_000, "auto", "a")
    assert (first.summary_characters, first.summary_source) == (12_000, "transcript")
    assert (second.summary_characters, second.summary_source) == (900, "hook")
    assert (second.post_tokens, second.trigger) == (50_000, "manual")


def test_an_announced_compaction_is_confirmed_by_the_transcript() -> None:
    """Another announcement, of which nothing came, is left out."""
    own = [Compaction(100.0, 100.0, 0), Compaction(9_000.0, 9_000.0, 1)]

    found = turns.merge(own, [row(9_100.0)])

    assert [one.begun_at for one in found] == [9_000.0]


@pytest.mark.parametrize("at", [50.0, 90_000.0, None])
def test_a_row_without_a_counterpart_is_a_compaction_of_its_own(at: float | None) -> None:
    """Hooks were not installed then, or failed."""
    own = [Compaction(100.0, 160.0, 0, confirmed=True)]

    found = turns.merge(own, [row(at, pre_tokens=5)])

    assert len(found) == 2
    assert {one.recorded for one in found} == {True, False}


def test_the_same_row_in_two_files_counts_once() -> None:
    """A session may lie in two project folders; rows without an id are each their own."""
    twice = [row(100.0, uuid="a"), row(100.0, uuid="a"), row(9_000.0), row(19_000.0)]

    assert len(turns.merge([], twice)) == 3


def test_a_clock_that_was_set_does_not_make_two_of_one_compaction() -> None:
    """Hooks and transcript tell of it with times far apart, but with the same fill and trigger."""
    own = [
        turns.Compaction(9_000.0, 9_010.0, 1, "auto", pre_tokens=166_000, confirmed=True),
        turns.Compaction(9_900.0, 9_910.0, 2, "manual", pre_tokens=80_000, confirmed=True),
        turns.Compaction(9_950.0, 9_960.0, 3, "auto", pre_tokens=160_000, confirmed=True),
    ]
    rows = [
        Recorded("a", 10.0, "auto", 167_400, 50_000, 9_000),
        Recorded("b", 20.0, "auto", 90_000, 50_000, 9_000),
        Recorded("c", 30.0, "manual", 82_000, 40_000, 7_000),
    ]

    found = turns.merge(own, rows)

    assert [(one.trigger, one.pre_tokens, one.uuid) for one in found] == [
        ("auto", 90_000, "b"),
        ("auto", 167_400, "a"),
        ("manual", 82_000, "c"),
        ("auto", 160_000, None),
    ]
