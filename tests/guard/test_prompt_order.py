"""What comes with one prompt: the most urgent first, each note whole, all within the budget."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest

from brimline.decision import NOTE_BUDGET_CHARACTERS, Decision, merge
from brimline.testing import event

from .dialogue import at_prompt, send, show_window, use

if TYPE_CHECKING:
    from pathlib import Path

    from brimline.testing import SessionBuilder

LIMITS = {"five_hour": {"used_percentage": 95}, "seven_day": {"used_percentage": 75}}
# What each part begins with, the most urgent one first.
OPENINGS = {
    "tier": "[brimline] Context tier L",
    "reminder": "[brimline] Reminder from",
    "limits": "## Usage Limits - 5h: 95%",
}
CHOICES = [chosen for size in range(4) for chosen in itertools.combinations(OPENINGS, size)]


@pytest.mark.row("S1-11")
@pytest.mark.parametrize("due", CHOICES, ids="+".join)
def test_the_most_urgent_note_comes_first(
    due: tuple[str, ...],
    session: SessionBuilder,
    home_dir: str,
    world: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The tier, then the reminder, then the limits, a blank line between them."""
    _arrange(due, session, home_dir, world, monkeypatch)

    note = at_prompt(session, home_dir).note

    parts = note.split("\n\n") if note else []
    assert len(parts) == len(due)
    assert all(part.startswith(OPENINGS[name]) for part, name in zip(parts, due, strict=True))


@pytest.mark.row("S1-11")
def test_the_line_of_another_preset_comes_first_too(
    session: SessionBuilder, home_dir: str, world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Preset haios-80 put its line before everything else."""
    use(monkeypatch, guard__preset="haios-80", context_window=200_000)
    _arrange(("reminder", "limits"), session, home_dir, world, monkeypatch)
    session.reply(170_000)

    first, second, third = at_prompt(session, home_dir).note.split("\n\n")

    assert first.startswith("CONTEXT: ~85% used.")
    assert second.startswith(OPENINGS["reminder"])
    assert third.startswith(OPENINGS["limits"])


@pytest.mark.row("S1-12")
def test_a_warning_leaves_the_other_notes_as_they_are(
    session: SessionBuilder, home_dir: str, world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With and without it they are the same to the letter."""
    _arrange(("reminder", "limits"), session, home_dir, world, monkeypatch)
    without = at_prompt(session, home_dir).note
    session.session_id = "another"
    _arrange(("tier", "reminder", "limits"), session, home_dir, world, monkeypatch)

    warning, _, others = at_prompt(session, home_dir).note.partition("\n\n")

    assert warning.startswith(OPENINGS["tier"])
    assert others == without


@pytest.mark.row("S1-06", "S1-12")
@pytest.mark.parametrize("path", ["", None, "/nowhere/session.jsonl"])
def test_what_cannot_be_measured_leaves_the_other_notes_as_they_are(
    path: str | None,
    session: SessionBuilder,
    home_dir: str,
    world: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A prompt without a readable transcript brings the reminder and the limits."""
    _arrange(("tier", "reminder", "limits"), session, home_dir, world, monkeypatch)

    note = send(home_dir, event("UserPromptSubmit", session, transcript_path=path)).note

    first, second = note.split("\n\n")
    assert first.startswith(OPENINGS["reminder"])
    assert second.startswith(OPENINGS["limits"])


@pytest.mark.row("S1-12")
def test_the_longest_reminder_leaves_room_for_the_others(
    session: SessionBuilder, home_dir: str, world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All three fit into what the client passes on whole."""
    _arrange(("tier", "reminder", "limits"), session, home_dir, world, monkeypatch, "x" * 50_000)

    note = at_prompt(session, home_dir).note

    assert len(note) <= NOTE_BUDGET_CHARACTERS
    assert note.startswith(OPENINGS["tier"])
    assert "[truncated]" in note
    assert OPENINGS["limits"] in note


def test_a_note_that_no_longer_fits_is_left_out_whole() -> None:
    """The client would put all of them into a file if one went over."""
    long = [Decision(model_notes=(letter * 4_000,)) for letter in "abc"]

    assert merge(long).model_notes == ("a" * 4_000, "b" * 4_000)


def _arrange(
    due: tuple[str, ...],
    session: SessionBuilder,
    home_dir: str,
    world: Path,
    monkeypatch: pytest.MonkeyPatch,
    reminder: str = "No preambles.",
) -> None:
    """Make each of these parts due with the next prompt."""
    session.reply(155_000 if "tier" in due else 50_000)
    if "reminder" in due:
        file = world / "home" / "rules.md"
        file.write_text(reminder)
        use(monkeypatch, reminder__file=file)
    if "limits" in due:
        show_window(session, home_dir, 200_000, LIMITS)
