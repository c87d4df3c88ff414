"""Where the client really compacts: from its events through the next start to every reading."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.guard.dialogue import (
    SILENT,
    after_compaction,
    after_tool,
    at_prompt,
    at_start,
    before_compaction,
    kept,
    use,
)

from brimline import config
from brimline.cli import status_commands
from brimline.fast import paths, policy
from brimline.testing import SessionBuilder

if TYPE_CHECKING:
    from collections.abc import Iterable

KEY = "200000:200000"
REPLY = 120


@pytest.mark.row("S4-16")
@pytest.mark.parametrize("preset", ["default", "guard-30-15-7-3"])
def test_real_compactions_move_the_expected_point(
    preset: str,
    session: SessionBuilder,
    home_dir: str,
    world: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Compactions with 18 to 22 % left put it at 20 %: 22 % left is then the last tier."""
    use(monkeypatch, guard__preset=preset)
    _compact(world, home_dir, [_with_left(left) for left in (18, 19, 20, 21, 22)])
    at_start(session, home_dir)
    session.reply(_with_left(22))

    note = after_tool(session, home_dir).note

    assert "tier L4 Critical" in note
    assert "compaction expected at 160,000" in note
    told = json.loads(kept(session, home_dir, "telemetry.json").read_bytes())
    assert (told["compaction_tokens"], told["compaction_source"]) == (160_000, "learned")
    shown = status_commands.read_status(session.path, home_dir, session.cwd)
    assert (shown["compaction_tokens"], shown["compaction_source"]) == (160_000, "learned")


@pytest.mark.row("S4-16")
def test_only_the_last_ten_count(session: SessionBuilder, home_dir: str, world: Path) -> None:
    """Whatever came before them has no say."""
    _compact(world, home_dir, [_with_left(12)] * 15 + [_with_left(20)] * 10)

    assert _point(session, home_dir) == (160_000, "learned")


@pytest.mark.row("S4-16")
def test_a_point_that_is_learned_later_replaces_the_earlier_one(
    session: SessionBuilder, home_dir: str, world: Path
) -> None:
    """Each start brings the compiled settings up to date, of every project."""
    at_start(session, home_dir)
    _compact(world, home_dir, [_with_left(20)] * 3)
    assert _point(session, home_dir) == (160_000, "learned")
    _compact(world, home_dir, [_with_left(14)] * 10)
    session.cwd = str(world / "another-project")

    assert _point(session, home_dir) == (172_000, "learned")
    assert policy.load(home_dir, session.cwd).learned["points"] == {KEY: 172_000}


@pytest.mark.row("S4-17")
@pytest.mark.parametrize("seen", [0, 1, 2])
@pytest.mark.parametrize(
    ("preset", "point"),
    [("guard-30-15-7-3", (168_000, "preset")), ("default", (167_000, "window"))],
)
def test_until_it_is_learned_the_point_is_assumed(
    preset: str,
    point: tuple[int, str],
    seen: int,
    session: SessionBuilder,
    home_dir: str,
    world: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """84 % of the window in that preset, 33,000 less than it otherwise; two are too few to tell."""
    use(monkeypatch, guard__preset=preset)
    _compact(world, home_dir, [_with_left(20)] * seen)

    assert _point(session, home_dir) == point


@pytest.mark.row("S4-18")
def test_compactions_that_were_asked_for_teach_nothing(
    session: SessionBuilder, home_dir: str, world: Path
) -> None:
    """Somebody compacts early by habit: 80 % left is as calm as before."""
    _compact(world, home_dir, [_with_left(left) for left in (85, 90, 94, 88)] * 3, "manual")
    at_start(session, home_dir)
    session.reply(_with_left(80))

    assert after_tool(session, home_dir) == SILENT
    assert _point(session, home_dir) == (167_000, "window")


@pytest.mark.row("S4-18")
def test_compactions_that_were_asked_for_near_the_point_teach_nothing_either(
    session: SessionBuilder, home_dir: str, world: Path
) -> None:
    """It is the trigger that counts, not only the place."""
    _compact(world, home_dir, [_with_left(20)] * 10, "manual")

    assert _point(session, home_dir) == (167_000, "window")


@pytest.mark.row("S4-18")
@pytest.mark.parametrize("left", [50, 30, 27, 5])
def test_a_compaction_far_from_every_expected_point_is_set_aside(
    left: int, session: SessionBuilder, home_dir: str, world: Path
) -> None:
    """Whatever made the client compact there, it was not its threshold."""
    _compact(world, home_dir, [_with_left(left)] * 10)

    assert _point(session, home_dir) == (167_000, "window")


@pytest.mark.row("S4-18")
@pytest.mark.parametrize(
    ("before", "after"), [("auto", "manual"), ("manual", "auto"), ("", "auto"), ("auto", "")]
)
def test_only_what_is_automatic_before_and_after_counts(
    before: str, after: str, session: SessionBuilder, home_dir: str, world: Path
) -> None:
    """Two events tell of one compaction, and both have to say so."""
    for number in range(5):
        other = _session(world, f"s{number}")
        other.reply(_with_left(20))
        before_compaction(other, home_dir, before)
        after_compaction(other, home_dir, after)

    assert not Path(home_dir, "learned.jsonl").exists()
    assert _point(session, home_dir) == (167_000, "window")


@pytest.mark.row("S4-16")
def test_a_compaction_that_never_came_is_none(
    session: SessionBuilder, home_dir: str, world: Path
) -> None:
    """The client announces some and then compacts nothing."""
    for number in range(5):
        other = _session(world, f"s{number}")
        other.reply(_with_left(20))
        before_compaction(other, home_dir)

    assert _point(session, home_dir) == (167_000, "window")


def test_a_compaction_at_an_unknown_fill_teaches_nothing(
    session: SessionBuilder, home_dir: str, world: Path
) -> None:
    """Without usage rows there is no figure to keep."""
    for number in range(5):
        other = _session(world, f"s{number}")
        other.prompt("hello")
        before_compaction(other, home_dir)
        after_compaction(other, home_dir)

    assert not Path(home_dir, "learned.jsonl").exists()
    assert _point(session, home_dir) == (167_000, "window")


def test_the_tail_is_part_of_what_is_learned(
    session: SessionBuilder, home_dir: str, world: Path
) -> None:
    """The client compacts on what it would send, which the last usage does not hold yet."""
    for number in range(3):
        other = _session(world, f"s{number}")
        call = other.tool_call(150_000, output_tokens=1_000)
        other.tool_result(call, "x" * 28_500)
        before_compaction(other, home_dir)
        after_compaction(other, home_dir)

    assert _point(session, home_dir) == (161_000, "learned")


def test_a_point_holds_for_its_window_only(
    session: SessionBuilder, home_dir: str, world: Path
) -> None:
    """What was seen in 200,000 says nothing about a million."""
    _compact(world, home_dir, [_with_left(20)] * 5)
    session.model = "claude-opus-5"

    assert _point(session, home_dir) == (967_000, "window")


def test_a_point_holds_for_its_settings_only(
    session: SessionBuilder, home_dir: str, world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With another auto-compact window the client's own arithmetic is expected again."""
    _compact(world, home_dir, [_with_left(20)] * 5)
    monkeypatch.setenv("CLAUDE_CODE_AUTO_COMPACT_WINDOW", "150000")

    assert _point(session, home_dir) == (117_000, "settings")


def test_a_point_near_what_the_settings_say_is_learned(
    session: SessionBuilder, home_dir: str, world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With 50 % set the client compacts near 90,000: that is its threshold then."""
    monkeypatch.setenv("CLAUDE_CODE_AUTO_COMPACT_WINDOW", "200000")
    monkeypatch.setenv("CLAUDE_AUTOCOMPACT_PCT_OVERRIDE", "50")
    _compact(world, home_dir, [93_000 - REPLY] * 3)

    assert _point(session, home_dir) == (93_000, "learned")


def test_what_the_user_says_beats_what_was_learned(
    session: SessionBuilder, home_dir: str, world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A configured point is a decision."""
    _compact(world, home_dir, [_with_left(20)] * 5)
    use(monkeypatch, compaction_tokens=150_000)

    assert _point(session, home_dir) == (150_000, "config")


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff\xfe", b'{"points": 7}'])
def test_a_damaged_summary_is_made_anew(
    content: bytes, session: SessionBuilder, home_dir: str, world: Path
) -> None:
    """It is made from the samples at every start."""
    _compact(world, home_dir, [_with_left(20)] * 3)
    at_start(session, home_dir)
    Path(paths.learned_file(home_dir)).write_bytes(content)

    assert _point(session, home_dir) == (160_000, "learned")


def test_the_settings_are_not_compiled_again_without_news(
    session: SessionBuilder, home_dir: str, world: Path
) -> None:
    """A start that learned nothing new leaves the compiled file as it is."""
    _compact(world, home_dir, [_with_left(20)] * 3)
    at_start(session, home_dir)
    file = Path(paths.policy_file(home_dir, session.cwd))
    before = file.stat().st_mtime_ns, file.stat().st_ino

    config.refresh(home_dir, session.cwd)

    assert (file.stat().st_mtime_ns, file.stat().st_ino) == before


def _compact(world: Path, home_dir: str, occupancies: Iterable[int], trigger: str = "auto") -> None:
    """Sessions that compact at so many tokens, with the events in the client's order."""
    for tokens in occupancies:
        number = len(list(world.glob("compacting-*.jsonl")))
        other = _session(world, f"compacting-{number}")
        other.reply(tokens)
        before_compaction(other, home_dir, trigger)
        at_start(other, home_dir, "compact")
        after_compaction(other, home_dir, trigger)


def _session(world: Path, name: str) -> SessionBuilder:
    return SessionBuilder(str(world / f"{name}.jsonl"), session_id=name, cwd=str(world / "project"))


def _with_left(percent: int) -> int:
    """The occupancy whose next request leaves so much of 200,000."""
    return 200_000 * (100 - percent) // 100 - REPLY


def _point(session: SessionBuilder, home_dir: str) -> tuple[Any, Any]:
    """The compaction point, and its source, that a session has from its next start on."""
    at_start(session, home_dir)
    session.reply(90_000)
    at_prompt(session, home_dir)
    told = json.loads(kept(session, home_dir, "telemetry.json").read_bytes())
    return told["compaction_tokens"], told["compaction_source"]
