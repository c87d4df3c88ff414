"""What a session adds up to: turns, growth, compactions, what was said."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from brimline.state.figures import Figures, add_up, readings, sound, worth_keeping
from brimline.transcript.compactions import Recorded, Request

if TYPE_CHECKING:
    from typing import Any


def story(*told: tuple[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """Events one second after the other."""
    return [
        sound({"at": 100.0 + number, "event": name} | fields)
        for number, (name, fields) in enumerate(told)
    ]


def reading(name: str, tokens: int | None, offset: int = 0, **more: Any) -> tuple[str, Any]:
    """An event with a measurement."""
    return name, {"occupancy": tokens, "offset": offset} | more


def row(at: float | None, **fields: Any) -> Recorded:
    """A compaction as a transcript records it."""
    values: dict[str, Any] = dict.fromkeys(Recorded._fields)
    return Recorded(**values | {"at": at} | fields)


def by_hooks(events: list[dict[str, Any]], *recorded: Recorded) -> Figures:
    """The figures of a session without requests in a transcript."""
    return add_up(worth_keeping(events), readings(events), recorded)


@pytest.mark.row("S2-48")
def test_growth_belongs_to_the_turn_whose_requests_caused_it() -> None:
    """A turn's last request is seen only with the next prompt, and still counts to its turn."""
    found = by_hooks(
        story(
            reading("UserPromptSubmit", None),
            reading("PostToolUse", 40_000, 100),
            reading("PostToolUse", 42_000, 200),
            reading("UserPromptSubmit", 45_000, 300),
            reading("PostToolUse", 46_000, 400),
        )
    ).turns

    assert [one.occupancy_tokens for one in found] == [None, 45_000]
    assert [(one.growth_tokens, one.requests) for one in found] == [(5_000, 3), (1_000, 1)]


@pytest.mark.row("S2-48")
def test_the_transcripts_requests_are_told_by_turn() -> None:
    """Also those that no hook saw; not those of the session that a fork came from."""
    events = story(("SessionStart", {}), ("UserPromptSubmit", {}), ("UserPromptSubmit", {}))
    asked = [(9.0, 5_000), (101.2, 40_000), (101.4, 42_000), (102.5, 43_000), (109.0, 44_000)]

    found = add_up(events, [Request(at, tokens, "m") for at, tokens in asked], [])

    assert found.segments == [("m", [40_000, 42_000, 43_000, 44_000])]
    assert [(one.occupancy_tokens, one.growth_tokens, one.requests) for one in found.turns] == [
        (None, 2_000, 2),
        (42_000, 2_000, 2),
    ]


def test_parallel_hooks_that_took_the_same_reading_count_once() -> None:
    """Also where one of them comes late, and where a reply has a row for each of its calls."""
    found = by_hooks(
        story(
            reading("UserPromptSubmit", None),
            reading("PostToolUse", 40_000, 100),
            reading("PostToolUse", 40_000, 100),
            reading("PostToolUse", 40_000, 150),
            reading("PostToolUse", 43_000, 200),
            reading("PostToolUse", 40_000, 100),
            reading("PostToolUse", 44_000, 300),
        )
    )

    assert found.occupancies == [40_000, 43_000, 44_000]
    assert (found.turns[0].requests, found.turns[0].growth_tokens) == (3, 4_000)


def test_a_compaction_ends_a_segment_and_is_no_growth() -> None:
    """Its announcement and stale readings belong to what was before."""
    found = by_hooks(
        story(
            reading("SessionStart", None, model="claude-opus-5"),
            reading("UserPromptSubmit", 150_000, 100),
            reading("PostToolUse", 160_000, 200),
            reading("PreCompact", 165_000, 300, trigger="auto", tail=100),
            ("SessionStart", {"source": "compact"}),
            ("PostCompact", {"summary_characters": 11_000}),
            reading("PostToolUse", 165_000, 300),
            reading("PostToolUse", 50_000, 400),
            reading("PostToolUse", 52_000, 500),
        )
    )

    assert found.segments == [
        ("claude-opus-5", [150_000, 160_000, 165_000]),
        ("claude-opus-5", [50_000, 52_000]),
    ]
    assert (found.turns[0].growth_tokens, found.turns[0].compactions) == (17_000, 1)
    (one,) = found.compactions
    assert (one.begun_at, one.at, one.trigger) == (103.0, 105.0, "auto")
    assert (one.pre_tokens, one.post_tokens) == (165_100, 50_000)
    assert (one.summary_characters, one.summary_source) == (11_000, "hook")


def test_a_compaction_that_hooks_were_not_told_of_parts_segments_by_its_time() -> None:
    """The first reading after it is no growth, nor is a drop that nobody recorded."""
    events = story(
        reading("UserPromptSubmit", 150_000, 100),
        reading("PostToolUse", 160_000, 200),
        reading("PostToolUse", 50_000, 300),
        reading("PostToolUse", 40_000, 400),
    )

    found = by_hooks(events, row(101.5))

    assert [tokens for _, tokens in found.segments] == [[150_000, 160_000], [50_000, 40_000]]
    assert (found.turns[0].compactions, found.turns[0].growth_tokens) == (1, 10_000)


@pytest.mark.parametrize(
    ("names", "count"),
    [
        *[("Pre Start Post", 1), ("Pre Post Start", 1), ("Pre Start", 1), ("Pre Post", 1)],
        *[("Start Post", 1), ("Post", 1), ("Pre", 0), ("Pre Pre Pre Start Post", 1)],
        *[("Pre Start Post Pre Start Post", 2), ("Pre Post Post", 2), ("Start Start", 2), ("", 0)],
    ],
)
def test_announcement_restart_and_summary_are_one_compaction(names: str, count: int) -> None:
    """In either order, with any of them missing; announced alone it did not take place."""
    kinds: dict[str, tuple[str, dict[str, Any]]] = {
        "Pre": ("PreCompact", {"trigger": "auto"}),
        "Start": ("SessionStart", {"source": "compact"}),
        "Post": ("PostCompact", {"summary_characters": 900}),
    }

    assert len(by_hooks(story(*[kinds[name] for name in names.split()])).compactions) == count


def test_the_transcript_fills_in_what_hooks_were_not_told() -> None:
    """The client's own count wins; our summary size stays; a missing one is taken over."""
    events = story(
        reading("PreCompact", 164_000, 1, trigger="auto"),
        ("SessionStart", {"source": "compact"}),
        ("PreCompact", {"at": 900.0}),
        ("PostCompact", {"at": 950.0, "summary_characters": 900}),
    )
    first_row = row(101.5, uuid="a", pre_tokens=167_000, summary_characters=12_000)
    second_row = row(949.0, uuid="b", trigger="manual", post_tokens=50_000, summary_characters=99)

    first, second = by_hooks(events, first_row, second_row, second_row).compactions

    assert (first.pre_tokens, first.trigger, first.uuid) == (167_000, "auto", "a")
    assert (first.summary_characters, first.summary_source) == (12_000, "transcript")
    assert (second.summary_characters, second.summary_source) == (900, "hook")
    assert (second.post_tokens, second.trigger) == (50_000, "manual")


def test_two_compactions_within_seconds_keep_their_own_figures() -> None:
    """Each row belongs to the compaction that had begun by then, not to the one that came next."""
    events = story(
        reading("PreCompact", 164_000, 1, trigger="auto"),
        ("PostCompact", {}),
        reading("PreCompact", 40_000, 2, trigger="manual"),
        ("PostCompact", {}),
    )
    first_row = row(100.9, uuid="a", pre_tokens=167_000, post_tokens=40_000)
    second_row = row(102.9, uuid="b", pre_tokens=41_000, post_tokens=9_000)

    first, second = by_hooks(events, first_row, second_row).compactions

    assert (first.pre_tokens, first.post_tokens, first.trigger) == (167_000, 40_000, "auto")
    assert (second.pre_tokens, second.post_tokens, second.trigger) == (41_000, 9_000, "manual")


@pytest.mark.parametrize("at", [50.0, 90_000.0, None])
def test_a_row_without_a_counterpart_is_a_compaction_of_its_own(at: float | None) -> None:
    """Hooks were not installed then, or failed."""
    events = story(("PreCompact", {}), ("PostCompact", {}))

    assert len(by_hooks(events, row(at, pre_tokens=5)).compactions) == 2


def test_a_notice_has_the_last_reading_before_it() -> None:
    """Announcements and refusals are spooled apart from the measurement that led to them."""
    found = by_hooks(
        story(
            ("Announced", {"spoke": 1}),
            reading("PostToolUse", 140_000, 10, tier=2),
            ("Announced", {"spoke": 2}),
            ("Blocked", {"blocked": True, "tool": "Skill"}),
        )
    )

    assert [(one.tier, one.occupancy_tokens) for one in found.messages] == [(1, None), (2, 140_000)]
    assert [(one.tool, one.occupancy_tokens) for one in found.blocks] == [("Skill", 140_000)]
