"""Where contexts really end: from the client's events through the next start to every reading."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.guard.dialogue import Talk

from brimline.fast import paths
from brimline.gauge import session_status
from brimline.settings import config, stamps
from brimline.testing import SessionBuilder
from brimline.transcript.typed import measure

if TYPE_CHECKING:
    from collections.abc import Iterable

REPLY = 120


@pytest.mark.row("S4-16")
@pytest.mark.parametrize("preset", ["default", "guard-30-15-7-3"])
def test_real_compactions_move_the_expected_point(preset: str, talk: Talk, world: Path) -> None:
    """Compactions with 18 to 22 % left put it at 20 %: 22 % left is then the last tier."""
    talk.use(guard__preset=preset)
    _compact(talk, world, [_with_left(left) for left in (18, 19, 20, 21, 22)])
    talk.at_start()

    note = talk.after_tool(_with_left(22)).note

    assert "tier L4" in note
    assert "compaction expected at 160,000 (learned)" in note
    told = json.loads(talk.kept("telemetry.json").read_bytes())
    settings = config.build_live_policy(talk.home_dir, talk.session.cwd)
    recorded = measure(talk.session.path)
    shown = session_status.status_document(talk.session.path, recorded, talk.home_dir, settings)
    for figures in (told, shown):
        assert (figures["compaction_tokens"], figures["compaction_source"]) == (160_000, "learned")


@pytest.mark.row("S4-16", "S4-17", "S4-18")
@pytest.mark.parametrize(
    ("occupancies", "trigger", "point"),
    [
        # Only the last ten count, two are too few, and until then the point is assumed.
        ([12] * 15 + [20] * 10, "auto", (160_000, "learned")),
        ([20] * 2, "auto", (167_000, "window")),
        # Somebody compacts by habit, early or near the point: it is the trigger that counts.
        ([85, 90, 94, 88], "manual", (167_000, "window")),
        ([20] * 10, "manual", (167_000, "window")),
        # Whatever made the client compact there, it was not its threshold.
        *[([left] * 10, "auto", (167_000, "window")) for left in (50, 30, 27, 5)],
    ],
)
def test_only_automatic_compactions_near_the_point_teach(
    occupancies: list[int], trigger: str, point: tuple[int, str], talk: Talk, world: Path
) -> None:
    """By so many percent of the window left at each."""
    _compact(talk, world, [_with_left(left) for left in occupancies], trigger)

    assert _point(talk) == point


@pytest.mark.row("S4-16", "S4-18")
@pytest.mark.parametrize(
    ("before", "after", "tokens"),
    [
        *[("auto", "manual", 160_000), ("manual", "auto", 160_000), ("", "auto", 160_000)],
        *[("auto", "", 160_000), ("auto", None, 160_000), ("auto", "auto", None)],
    ],
)
def test_only_what_is_automatic_before_and_after_and_measured_counts(
    before: str, after: str | None, tokens: int | None, talk: Talk, world: Path
) -> None:
    """Two events tell of one compaction; the client announces some and then compacts nothing."""
    for number in range(5):
        other = _other(talk, world, f"s{number}")
        if tokens:
            other.session.reply(tokens)
        other.tell("PreCompact", trigger=before, custom_instructions="")
        if after is not None:
            other.tell("PostCompact", trigger=after, compact_summary="Summary.")

    assert not Path(talk.home_dir, "learned.jsonl").exists()
    assert _point(talk) == (167_000, "window")


def test_the_tail_is_part_of_what_is_learned(talk: Talk, world: Path) -> None:
    """The client compacts on what it would send, which the last usage does not hold yet."""
    for number in range(3):
        other = _other(talk, world, f"s{number}")
        call = other.session.tool_call(150_000, output_tokens=1_000)
        other.session.tool_result(call, "x" * 28_500)
        other.compact()

    assert _point(talk) == (161_000, "learned")


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff\xfe", b'{"points": 7}'])
def test_a_damaged_summary_is_made_anew(content: bytes, talk: Talk, world: Path) -> None:
    """From the samples, at every start; one that learned nothing new compiles nothing."""
    _compact(talk, world, [_with_left(20)] * 3)
    talk.at_start()
    file = Path(paths.policy_file(talk.home_dir, talk.session.cwd))
    assert file.exists()
    assert not stamps.is_policy_file_stale(talk.home_dir, talk.session.cwd)
    Path(paths.learned_file(talk.home_dir)).write_bytes(content)

    assert _point(talk) == (160_000, "learned")


def _compact(talk: Talk, world: Path, occupancies: Iterable[int], trigger: str = "auto") -> None:
    """Sessions that compact at so many tokens, with the events in the client's order."""
    for tokens in occupancies:
        other = _other(talk, world, f"compacting-{len(list(world.glob('compacting-*.jsonl')))}")
        other.session.reply(tokens)
        other.tell("PreCompact", trigger=trigger, custom_instructions="")
        other.at_start("compact")
        other.tell("PostCompact", trigger=trigger, compact_summary="Summary.")


def _other(talk: Talk, world: Path, name: str) -> Talk:
    session = SessionBuilder(str(world / f"{name}.jsonl"), name, str(world / "project"))
    session.model = talk.session.model
    return Talk(session, talk.home_dir, talk.patch)


def _with_left(percent: int) -> int:
    """The occupancy whose next request leaves so much of 200,000."""
    return 200_000 * (100 - percent) // 100 - REPLY


def _point(talk: Talk) -> tuple[Any, Any]:
    """The end, and its source, that a session has from its next start on."""
    talk.at_start()
    talk.at_prompt(90_000)
    told = json.loads(talk.kept("telemetry.json").read_bytes())
    return told["compaction_tokens"], told["compaction_source"]
