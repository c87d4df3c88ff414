"""The user's reminder: at the start, after a compaction, when it changed, and not otherwise."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from brimline import config
from brimline.decision import NOTE_BUDGET_CHARACTERS
from brimline.fast import paths

from .dialogue import SILENT, after_tool, at_prompt, at_start, use

if TYPE_CHECKING:
    from pathlib import Path

    from brimline.testing import SessionBuilder

RULES = "Match effort to request complexity. No preambles."


@pytest.fixture
def rules(world: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file that holds the reminder."""
    file = world / "home" / "rules.md"
    file.write_text(RULES + "\n")
    use(monkeypatch, reminder__file=file)
    return file


@pytest.mark.row("S2-41", "S2-42")
@pytest.mark.parametrize("source", ["startup", "resume", "clear", "compact"])
def test_a_start_brings_the_reminder(
    source: str, rules: Path, session: SessionBuilder, home_dir: str
) -> None:
    """However the session starts, also after a compaction, and each time again."""
    for _ in range(2):
        assert at_start(session, home_dir, source).note == (
            f"[brimline] Reminder from {rules} (`reminder.file`):\n{RULES}"
        )


@pytest.mark.row("S2-41", "S2-51")
def test_unchanged_it_is_not_repeated(rules: Path, session: SessionBuilder, home_dir: str) -> None:
    """Ten prompts after the start cost nothing."""
    at_start(session, home_dir)

    assert [at_prompt(session, home_dir) for _ in range(10)] == [SILENT] * 10
    assert after_tool(session, home_dir) == SILENT


@pytest.mark.row("S2-41", "S2-51")
def test_a_change_is_told_with_the_next_prompt(
    rules: Path, session: SessionBuilder, home_dir: str
) -> None:
    """Once; then the new text is the known one."""
    at_start(session, home_dir)
    rules.write_text("Ask before pushing.\n")

    assert "Ask before pushing." in at_prompt(session, home_dir).note
    assert at_prompt(session, home_dir) == SILENT


@pytest.mark.row("S2-41")
def test_a_session_that_started_without_it_is_told_with_a_prompt(
    rules: Path, session: SessionBuilder, home_dir: str
) -> None:
    """The file may have been set while the session was running."""
    assert RULES in at_prompt(session, home_dir).note
    assert at_prompt(session, home_dir) == SILENT


@pytest.mark.row("S2-42")
@pytest.mark.parametrize(
    ("every", "heard"), [(0, "-------"), (1, "xxxxxxx"), (2, "-x-x-x-"), (3, "--x--x-")]
)
def test_it_is_repeated_as_often_as_the_user_sets(
    every: int,
    heard: str,
    rules: Path,
    session: SessionBuilder,
    home_dir: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """After so many prompts, counted from the last time it was given."""
    use(monkeypatch, reminder__every=every)
    at_start(session, home_dir)

    assert _pattern(session, home_dir, 7) == heard


@pytest.mark.row("S2-42")
def test_a_compaction_starts_the_count_anew(
    rules: Path, session: SessionBuilder, home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was just given: the next time is the full number of prompts away."""
    use(monkeypatch, reminder__every=3)
    at_start(session, home_dir)
    assert _pattern(session, home_dir, 2) == "--"
    at_start(session, home_dir, "compact")

    assert _pattern(session, home_dir, 3) == "--x"


@pytest.mark.row("S2-41")
def test_the_active_plan_is_named(
    rules: Path, session: SessionBuilder, home_dir: str, world: Path
) -> None:
    """The plan written last since the session began; one from before may be another project's."""
    plans = world / "home" / ".claude" / "plans"
    plans.mkdir(parents=True)
    (plans / "old.md").write_text("plan")
    os.utime(plans / "old.md", (1_000, 1_000))
    assert at_start(session, home_dir).note.endswith(RULES)
    (plans / "new.md").write_text("plan")
    os.utime(plans / "new.md", (4_000_000_000, 4_000_000_000))

    assert at_prompt(session, home_dir) == SILENT
    assert at_start(session, home_dir).note.endswith(f"{RULES}\nActive plan: {plans}/new.md")


@pytest.mark.row("S2-51")
@pytest.mark.parametrize("letter", ["x", "ü", "🪟"])
@pytest.mark.parametrize("length", [10_000, 30_000, 200_000])
def test_a_long_text_is_cut_and_marked(
    letter: str, length: int, rules: Path, session: SessionBuilder, home_dir: str
) -> None:
    """What is injected stays within what the client passes on whole."""
    rules.write_text(letter * length)

    note = at_start(session, home_dir).note

    assert note.endswith("\n[truncated]")
    assert len(note) <= NOTE_BUDGET_CHARACTERS
    assert note.count(letter) > 7_500


@pytest.mark.row("S2-51")
def test_a_text_that_fits_is_whole(rules: Path, session: SessionBuilder, home_dir: str) -> None:
    """The mark is there exactly where something was cut."""
    rules.write_text("x" * 7_500)

    note = at_start(session, home_dir).note

    assert note.count("x" * 7_500) == 1
    assert "[truncated]" not in note


@pytest.mark.row("S2-51")
def test_long_paths_are_part_of_the_budget(
    session: SessionBuilder, home_dir: str, world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reminder that lies deep leaves room for the other notes of a prompt all the same."""
    folder = world.joinpath(*["d" * 200] * 3)
    folder.mkdir(parents=True)
    (folder / "rules.md").write_text("x" * 20_000)
    use(monkeypatch, reminder__file=folder / "rules.md")

    assert len(at_start(session, home_dir).note) <= NOTE_BUDGET_CHARACTERS - 1_000


@pytest.mark.parametrize("content", [None, b"", b" \n\t\n"])
def test_without_a_text_nothing_is_said(
    content: bytes | None, rules: Path, session: SessionBuilder, home_dir: str
) -> None:
    """A file that is missing or blank is silent, and no failure."""
    rules.unlink()
    if content is not None:
        rules.write_bytes(content)

    assert at_start(session, home_dir) == SILENT
    assert at_prompt(session, home_dir) == SILENT


def test_a_folder_in_its_place_is_silent(
    rules: Path, session: SessionBuilder, home_dir: str
) -> None:
    """So is whatever cannot be read."""
    rules.unlink()
    rules.mkdir()

    assert at_start(session, home_dir) == SILENT


def test_a_file_that_was_away_for_a_while_is_not_told_again(
    rules: Path, session: SessionBuilder, home_dir: str
) -> None:
    """Editors replace files; the same text is the same text."""
    at_start(session, home_dir)
    rules.unlink()
    assert at_prompt(session, home_dir) == SILENT
    rules.write_text(RULES)

    assert at_prompt(session, home_dir) == SILENT


def test_bytes_that_are_no_text_are_shown_as_they_can_be(
    rules: Path, session: SessionBuilder, home_dir: str
) -> None:
    """A stray byte costs one character, not the reminder."""
    rules.write_bytes(b"Caf\xe9: no preambles")

    assert "Caf\ufffd: no preambles" in at_start(session, home_dir).note


def test_a_path_from_the_home_folder_is_found(
    rules: Path, session: SessionBuilder, home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As people write it in a settings file."""
    use(monkeypatch, reminder__file="~/rules.md")

    assert RULES in at_start(session, home_dir).note


def test_sessions_are_reminded_each_on_their_own(
    rules: Path, session: SessionBuilder, home_dir: str
) -> None:
    """What one session was told, another was not."""
    at_start(session, home_dir)
    session.session_id = "another"

    assert RULES in at_prompt(session, home_dir).note


@pytest.mark.parametrize("line", ['file = "{}"', "every = 1"])
def test_a_projects_file_cannot_set_it(
    line: str, rules: Path, session: SessionBuilder, home_dir: str, project_dir: str
) -> None:
    """A stranger's repository may neither put text before the model nor repeat it."""
    file = paths.project_config(project_dir)
    os.makedirs(os.path.dirname(file))
    with open(file, "w", encoding="utf-8") as written:
        written.write("[reminder]\n" + line.format(f"{project_dir}/evil.md"))
    with open(f"{project_dir}/evil.md", "w", encoding="utf-8") as written:
        written.write("EVIL")

    note = at_start(session, home_dir).note

    assert RULES in note
    assert "EVIL" not in note
    assert at_prompt(session, home_dir) == SILENT
    (problem,) = config.load(home_dir, project_dir).problems
    assert "cannot be set by a project" in problem


def test_it_is_off_unless_set(session: SessionBuilder, home_dir: str) -> None:
    """There is no reminder of ours."""
    assert at_start(session, home_dir) == SILENT
    assert at_prompt(session, home_dir) == SILENT


def _pattern(session: SessionBuilder, home_dir: str, prompts: int) -> str:
    """With which of so many prompts the reminder comes."""
    return "".join("x" if at_prompt(session, home_dir).note else "-" for _ in range(prompts))
