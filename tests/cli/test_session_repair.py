"""`brimline session repair`: says what is wrong, asks, mends, and says what was left alone."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any

import pytest

from brimline.testing import SessionBuilder, text_block

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from .conftest import Outcome


@pytest.fixture
def broken(session: SessionBuilder) -> SessionBuilder:
    """A session with a lost parent and two rows on a line that nobody has written to for long."""
    session.prompt("first")
    session.reply(20_000, text_block("FIRST-END"))
    session.parent = "gone"
    session.prompt("second")
    session.raw('{"type":"mode"}{"type":"mode"}\n')
    return _rested(session)


def _rested(session: SessionBuilder) -> SessionBuilder:
    os.utime(session.path, (1_700_000_000, 1_700_000_000))
    return session


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _document(outcome: Outcome) -> dict[str, Any]:
    assert outcome.code == 0, outcome.err
    found: dict[str, Any] = json.loads(outcome.out)
    return found


def test_faults_are_listed_before_and_after(
    brimline: Callable[..., Outcome], broken: SessionBuilder
) -> None:
    """With the backup and the way back."""
    before = _read(broken.path)

    outcome = brimline("session", "repair", broken.path, "--yes")

    assert outcome.code == 0, outcome.err
    assert "1 dangling_parent" in outcome.out
    assert "1 merged_lines" in outcome.out
    assert "Mended 2 faults." in outcome.out
    assert "After: 0 faults, sound" in outcome.out
    backup = outcome.out.partition("Backup: ")[2].splitlines()[0]
    assert _read(backup) == before
    assert f"Undo: brimline session restore {broken.path}" in outcome.out


def test_the_document_says_what_was_done(
    brimline: Callable[..., Outcome], broken: SessionBuilder
) -> None:
    """And the second run that nothing was."""
    first = _document(brimline("session", "repair", broken.path, "--yes", "--json"))
    _rested(broken)
    second = _document(brimline("session", "repair", broken.path, "--yes", "--json"))

    assert [fault["kind"] for fault in first["mended"]] == ["dangling_parent", "merged_lines"]
    assert first["after"]["faults"] == []
    assert first["changed"]
    assert second["before"]["faults"] == second["mended"] == []
    assert not second["changed"]
    assert second["backup"] is None


@pytest.mark.row("S3-48")
def test_a_dry_run_changes_nothing(
    brimline: Callable[..., Outcome], broken: SessionBuilder, home_dir: str
) -> None:
    """It says what would be mended, and needs no consent."""
    before = _read(broken.path)

    outcome = brimline("session", "repair", broken.path, "--dry-run")

    assert outcome.code == 0
    assert "Would mend 2 faults; nothing was changed." in outcome.out
    assert _read(broken.path) == before
    assert not os.path.exists(home_dir)


def test_without_a_terminal_consent_has_to_be_given(
    brimline: Callable[..., Outcome], broken: SessionBuilder
) -> None:
    """Nobody can be asked, so nothing is done."""
    before = _read(broken.path)

    outcome = brimline("session", "repair", broken.path)

    assert outcome.code == 1
    assert "add --yes" in outcome.err
    assert _read(broken.path) == before


@pytest.mark.parametrize(("answer", "code"), [("n\n", 1), ("y\n", 0)])
def test_on_a_terminal_it_asks(
    answer: str,
    code: int,
    brimline: Callable[..., Outcome],
    broken: SessionBuilder,
    world: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """After it has said what it found; a no ends it."""
    before = _read(broken.path)
    (world / "answer").write_text(answer, encoding="utf-8")
    with open(world / "answer", encoding="utf-8") as stdin:
        monkeypatch.setattr(stdin, "isatty", lambda: True, raising=False)
        monkeypatch.setattr(sys, "stdin", stdin)
        outcome = brimline("session", "repair", broken.path)

    assert outcome.code == code
    assert "1 dangling_parent" in outcome.err
    assert "Mend 2 faults?" in outcome.err
    assert (_read(broken.path) == before) == bool(code)


def test_a_session_in_use_is_refused_with_a_code_of_its_own(
    brimline: Callable[..., Outcome], broken: SessionBuilder
) -> None:
    """And left as it is."""
    os.utime(broken.path)
    before = _read(broken.path)

    refused = brimline("session", "repair", broken.path, "--yes")
    assert (refused.code, _read(broken.path)) == (3, before)
    assert "in use" in refused.err


def test_what_has_two_mends_is_named_and_left(
    brimline: Callable[..., Outcome], session: SessionBuilder
) -> None:
    """Nothing to mend is no failure."""
    session.prompt("first")
    session.parent = None
    session.prompt("a new start, or a lost link?")
    session.reply(20_000)
    _rested(session)
    before = _read(session.path)

    outcome = brimline("session", "repair", session.path, "--yes")

    assert outcome.code == 0
    assert "Left alone" in outcome.out
    assert "line 2: a return to the start of the session, or a lost link" in outcome.out
    assert "Nothing to mend." in outcome.out
    assert _read(session.path) == before


def test_a_sound_session_is_called_sound(
    brimline: Callable[..., Outcome], session: SessionBuilder
) -> None:
    """Also without consent: there is nothing to consent to."""
    session.prompt("first")
    session.reply(20_000)

    outcome = brimline("session", "repair", session.path)

    assert outcome.code == 0
    assert "Sound: no faults." in outcome.out


def test_a_repair_is_undone_by_restore(
    brimline: Callable[..., Outcome], session: SessionBuilder
) -> None:
    """The broken session is there again, byte for byte."""
    session.prompt("first")
    session.reply(20_000)
    session.parent = "gone"
    session.prompt("second")
    _rested(session)
    before = _read(session.path)
    assert brimline("session", "repair", session.path, "--yes").code == 0
    assert _read(session.path) != before
    _rested(session)

    assert brimline("session", "restore", session.path, "--yes").code == 0
    assert _read(session.path) == before
