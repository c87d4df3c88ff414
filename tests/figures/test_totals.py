"""What a session adds up to: turns, growth, compactions, what was said."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from typing import TYPE_CHECKING, Any

import pytest

from brimline.figures import totals
from brimline.figures.archive import Session
from brimline.figures.totals import (
    Compaction,
    Figures,
    Notice,
    Request,
    Turn,
    events_worth_keeping,
    figures_of_session,
    requests_measured_by_hooks,
    well_typed_event_fields,
)
from brimline.transcript.compactions import Recorded

if TYPE_CHECKING:
    from typing import Any


def story(*told: tuple[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """Events one second after the other."""
    return [
        well_typed_event_fields({"at": 100.0 + number, "event": name} | fields)
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
    return figures_of_session(
        events_worth_keeping(events), requests_measured_by_hooks(events), recorded
    )


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

    found = figures_of_session(events, [Request(at, tokens, "m") for at, tokens in asked], [])

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


def test_what_the_client_dropped_is_kept_with_its_tokens() -> None:
    """A line of a damaged spool may lack either."""
    found = by_hooks(story(("Cleared", {"results": 22, "freed_tokens": 900}), ("Cleared", {})))

    assert [(one.results, one.tokens) for one in found.cleared] == [(22, 900), (0, 0)]


def test_fields_of_another_kind_are_left_out() -> None:
    """A true is not a number; whether a call was blocked is a yes or nothing."""
    line = {"at": 1, "event": "Stop", "occupancy": True, "tier": 2, "seconds": 1.5, "model": 5}
    assert well_typed_event_fields(line) == {"at": 1.0, "event": "Stop", "tier": 2, "seconds": 1.5}
    assert well_typed_event_fields(line | {"blocked": 1, "other": "x"})["blocked"] is True
    assert "blocked" not in well_typed_event_fields(line | {"blocked": 0})


def test_events_that_only_measured_are_not_kept_but_for_the_last() -> None:
    """What was said or refused is."""
    events = story(
        reading("PostToolUse", 1),
        ("PostToolUse", {"spoke": 1}),
        ("PreToolUse", {"blocked": True}),
        ("UserPromptSubmit", {}),
        reading("PostToolUse", 2),
        reading("Stop", 3),
    )

    assert [event["at"] for event in events_worth_keeping(events)] == [101.0, 102.0, 103.0, 105.0]
    assert events_worth_keeping([]) == []


def test_what_a_gateway_did_is_told_by_its_lines() -> None:
    """When it edited and why; the most that it saved, and all that was written again."""
    lines: list[dict[str, Any]] = [
        {"event": "Gateway", "at": 1.0, "broke": "due", "saved": 5, "rewritten": 2},
        {"event": "Gateway", "at": 2.0, "saved": 9, "rewritten": 3},
        {"event": "Gateway", "at": 3.0, "saved": "x"},
        {"event": "Stop", "at": 4.0, "broke": "no", "saved": 99, "rewritten": 99},
    ]
    assert totals.gateway_edit_reason_by_time(lines) == {1.0: "due"}
    assert totals.most_saved_and_all_rewritten(lines) == (9, 5)
    assert totals.most_saved_and_all_rewritten([]) == (None, 0)


@pytest.mark.parametrize(
    ("values", "spread"),
    [
        ([], None),
        ([7], (1, 7, 7, 7, 7)),
        ([2, 1], (2, 1, 2, 2, 2)),
        (list(range(100, 0, -1)), (100, 50, 95, 99, 100)),
        (list(range(1, 102)), (101, 51, 96, 100, 101)),
    ],
)
def test_a_spread_is_of_values_that_occurred(
    values: list[int], spread: tuple[int, ...] | None
) -> None:
    """The nearest rank; nothing without any."""
    found = totals.percentiles(values)

    assert (tuple(found.values()) if found else None) == spread


def test_a_compaction_without_a_model_is_told_in_a_phrase() -> None:
    """One result is singular; one with a summary has no such phrase."""
    one = totals.Compaction(1.0, 2.0, moved_out=1, freed_tokens=1_200, seconds=0.25)
    many = totals.Compaction(1.0, 2.0, moved_out=0)
    assert one.moved_out_phrase == "without a model, 1 result moved out, 1,200 tokens freed"
    assert many.moved_out_phrase == "without a model, 0 results moved out, 0 tokens freed"
    assert totals.Compaction(1.0, 2.0).moved_out_phrase is None
    assert totals.Compaction(1.0, 2.0).confirmed is False


OLDEST, LAST = 100.0 - totals._SLACK_S, 100.0 + totals._LONGEST_COMPACTION_S


@pytest.mark.parametrize(
    ("at", "own"),
    [(OLDEST - 0.1, False), (OLDEST, True), (100.0, True), (LAST, True), (LAST + 0.1, False)],
)
def test_a_row_is_of_a_compaction_that_was_announced_near_it(at: float, own: bool) -> None:
    """Five seconds earlier at most, and half an hour later."""
    events = [
        well_typed_event_fields(
            {"at": 100.0, "event": "PreCompact", "trigger": "auto", "occupancy": 7}
        )
    ]

    found = by_hooks(events, row(at, pre_tokens=9))

    assert [one.begun_at for one in found.compactions] == [100.0 if own else at]
    assert found.compactions[0].pre_tokens == 9


def test_figures_of_a_compaction_come_from_whoever_knows_them() -> None:
    """A summary as hooks were told it, the tokens as the client counted them."""
    events = story(
        ("PreCompact", {"occupancy": 100, "tail": 7}),
        ("PostCompact", {"summary_characters": 50, "trigger": "manual"}),
        ("Carried", {"messages": 4, "held": 3, "card_characters": 900}),
    )
    (found,) = by_hooks(events, row(101.0, summary_characters=80, uuid="u")).compactions

    assert (found.pre_tokens, found.summary_characters, found.summary_source) == (107, 50, "hook")
    assert (found.messages, found.held, found.card_characters) == (4, 3, 900)
    assert (found.trigger, found.confirmed, found.uuid) == ("manual", True, "u")
    (told,) = by_hooks(story(("PreCompact", {})), row(101.0, summary_characters=0)).compactions
    assert (told.summary_characters, told.summary_source) == (0, "transcript")
    assert by_hooks(story(("PreCompact", {}), ("Stop", {}))).compactions == []


def test_the_first_folder_and_the_last_model_and_window_count() -> None:
    """And the first and the last moment."""
    events = story(
        ("SessionStart", {"cwd": "/a", "model": "m1", "window": 1}),
        ("Stop", {"cwd": "/b", "model": "m2", "window": 2}),
        ("Stop", {}),
    )

    found = figures_of_session(events, [Request(100.0, 5, "m0")], [])

    assert (found.project, found.model, found.window_tokens) == ("/a", "m2", 2)
    assert (found.first_at, found.last_at) == (100.0, 102.0)
    alone = figures_of_session([], [Request(1.0, 5, None), Request(2.0, 5, "m")], [])
    assert (alone.model, alone.first_at, alone.occupancies) == ("m", None, [])


def test_requests_from_before_the_session_are_anothers() -> None:
    """Only seconds lie between a hook and its row."""
    events = story(("UserPromptSubmit", {}))
    requests = [Request(OLDEST - 0.1, 1, "m"), Request(OLDEST, 2, "m"), Request(101.0, 5, "m")]

    found = figures_of_session(events, requests, [])

    assert found.occupancies == [2, 5]
    (turn,) = found.turns
    assert (turn.occupancy_tokens, turn.growth_tokens, turn.requests) == (2, 3, 1)


@pytest.mark.parametrize(
    ("at", "trigger", "begun_at"),
    [
        (94.9, None, 94.9),
        (95.0, "auto", 100.0),
        (100.0, "auto", 100.0),
        (100.9, "auto", 100.0),
        (101.0, "manual", 101.0),
        (1_900.0, "manual", 101.0),
        (1_901.0, "manual", 101.0),
        (1_901.1, None, 1_901.1),
    ],
)
def test_a_row_belongs_to_the_last_compaction_that_had_begun_by_then(
    at: float, trigger: str | None, begun_at: float
) -> None:
    """Clocks may differ by five seconds, a summary may take half an hour; else it is another."""
    events = story(("PreCompact", {"trigger": "auto"}), ("PreCompact", {"trigger": "manual"}))

    (one,) = figures_of_session(events, [], [row(at)]).compactions

    assert (one.trigger, one.begun_at) == (trigger, begun_at)


@pytest.mark.parametrize(
    "record",
    [
        Turn(1.0, None),
        Notice(1.0, "Stop", None, None, None),
        Compaction(1.0, 1.0),
        Figures(),
        Session("s1"),
    ],
    ids=lambda record: type(record).__name__,
)
def test_a_figure_that_there_is_not_is_a_mistake(record: Any) -> None:
    """A slip of the pen does not get lost in a new attribute."""
    with pytest.raises((AttributeError, TypeError)):
        record.ocupancy_tokens = 5
    assert not hasattr(record, "__dict__")


def test_what_was_announced_is_not_changed_afterwards() -> None:
    """Turns and compactions are filled in as more is known."""
    notice, turn = Notice(1.0, "Stop", None, None, None), Turn(1.0, None)
    with pytest.raises(FrozenInstanceError):
        notice.at = 2.0  # type: ignore[misc]
    turn.at = 2.0

    assert (notice.at, turn.at) == (1.0, 2.0)


def test_what_a_compaction_and_a_turn_begin_with() -> None:
    """Nothing is counted, nothing is known, and nothing has taken place."""
    turn, compaction = Turn(1.0, 5), Compaction(1.0, 2.0)

    assert (turn.growth_tokens, turn.requests, turn.compactions) == (0, 0, 0)
    assert compaction.confirmed is False
    assert compaction.moved_out_phrase is None
    assert Session("s1").damaged == 0
    assert Session("s1").begun_at == float("inf")
