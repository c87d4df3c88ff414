"""One event being answered: what a room may ask of it, and what must not stop it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from brimline.fast import paths
from brimline.fast.decision import Decision
from brimline.figures.spool import read_spooled_events
from brimline.hooks.turn import Turn
from brimline.hooks.wire import Event

if TYPE_CHECKING:
    from brimline.testing import SessionBuilder


def make_turn(home_dir: str, name: str = "Stop", **fields: Any) -> Turn:
    """A turn of an event that has these fields."""
    return Turn(Event(name, json.dumps({"session_id": "s1"} | fields).encode()), home_dir)


@pytest.mark.parametrize(
    ("variable", "cwd", "project"),
    [("/p", "/c", "/p"), ("", "/c", "/c"), (None, "/c", "/c"), (None, "", "/"), ("/p", "", "/p")],
)
def test_the_project_is_that_of_the_session_or_its_folder(
    variable: str | None,
    cwd: str,
    project: str,
    home_dir: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The root, where nobody knows it."""
    if variable is not None:
        monkeypatch.setenv("CLAUDE_PROJECT_DIR", variable)

    assert make_turn(home_dir, cwd=cwd).project == project


@pytest.mark.parametrize(
    ("notes", "left"),
    [
        ([], 9_000),
        ([()], 9_000),
        ([("",)], 8_998),
        ([("x" * 10,)], 8_988),
        ([("x" * 10, "y")], 8_985),
        ([("x" * 10,), (), ("y",)], 8_985),
        ([("x" * 9_000,)], -2),
    ],
)
def test_what_is_left_for_the_model_is_what_others_have_not_said(
    notes: list[tuple[str, ...]], left: int, home_dir: str
) -> None:
    """Of 9,000 characters; two part one note from the next."""
    turn = make_turn(home_dir)
    turn.decisions += [Decision(model_notes=told, person_notes=("z" * 99,)) for told in notes]

    assert turn.characters_left_for_notes() == left


def test_what_fails_costs_its_value_and_leaves_a_line(home_dir: str) -> None:
    """What does not fail leaves none."""
    turn = make_turn(home_dir)

    assert turn.attempt("sum", sum, [1, 2]) == 3
    assert not Path(paths.error_log(home_dir)).exists()
    assert turn.attempt("number", int, "x") is None
    (line,) = Path(paths.error_log(home_dir)).read_text(encoding="utf-8").splitlines()
    found = json.loads(line)
    assert (found["event"], found["session"]) == ("number", "s1")
    assert "ValueError" in found["error"]


def test_settings_state_and_reading_are_made_once(session: SessionBuilder, home_dir: str) -> None:
    """So that all rooms go by the same."""
    session.reply(40_000)
    turn = make_turn(home_dir, transcript_path=session.path, cwd=session.cwd)

    assert turn.policy is turn.policy
    assert turn.values is turn.policy.values
    assert turn.state is turn.state
    assert turn.reading is turn.reading
    assert turn.reading.occupancy_tokens == 40_000


def test_a_transcript_that_cannot_be_read_leaves_the_fill_unknown(
    home_dir: str, world: Path
) -> None:
    """And a line in the error log."""
    turn = make_turn(home_dir, transcript_path=str(world))

    assert turn.reading.occupancy_tokens is None
    assert turn.reading.window.tokens == 200_000
    assert len(Path(paths.error_log(home_dir)).read_text(encoding="utf-8").splitlines()) == 1


def test_a_line_in_the_spool_is_of_its_session(home_dir: str) -> None:
    """With what the room told."""
    make_turn(home_dir).spool_event("Told", notes=2)

    (line,) = read_spooled_events(home_dir, "s1")
    assert (line["event"], line["notes"]) == ("Told", 2)
