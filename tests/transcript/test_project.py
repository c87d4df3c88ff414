"""A project is the folder of the session that asks, what lies below it, and its worktrees."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from brimline.errors import SessionError
from brimline.fast import paths
from brimline.testing import SessionBuilder
from brimline.transcript import project

if TYPE_CHECKING:
    from pathlib import Path

SESSION = "0a1b2c3d-0000-4000-8000-000000000001"


@pytest.fixture
def code(world: Path) -> Path:
    """A repository with a linked worktree beside it, and one that says it were another's."""
    main = world / "home" / "code" / "app"
    main.mkdir(parents=True)
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    for words in (
        ["init", "-q"],
        [*identity, "commit", "-q", "--allow-empty", "-m", "x"],
        ["worktree", "add", "-q", str(main.parent / "app-fix")],
    ):
        subprocess.run(["git", *words], cwd=main, check=True, capture_output=True)
    for name in ("evil", "notes/deep", "app/sub", "app-fix/sub", "app-fix/other"):
        (main.parent / name).mkdir(parents=True)
    linked = (main.parent / "app-fix" / ".git").read_text(encoding="utf-8")
    (main.parent / "evil" / ".git").write_text(linked, encoding="utf-8")
    return main.parent


@pytest.mark.parametrize(
    ("began", "own", "others"),
    [
        ("app", ["app", "app/sub", "app-fix", "app-fix/sub"], [".", "notes", "evil", "app-two"]),
        ("app-fix", ["app-fix", "app", "app/sub"], [".", "evil", "notes"]),
        ("app/sub", ["app/sub", "app-fix/sub"], ["app", "app-fix", "app-fix/other"]),
        ("notes", ["notes", "notes/deep"], [".", "app"]),
        ("evil", ["evil"], ["app", "app-fix", "."]),
        ("..", [".."], [".", "app", "notes", "../.."]),
        ("../..", ["../.."], ["..", "app"]),
    ],
)
def test_a_folder_belongs_to_a_project_or_not(
    code: Path, began: str, own: list[str], others: list[str]
) -> None:
    """Below and in worktrees, never above; the home folder does not own what lies in it."""
    found = project.project_of_folder(str(code / began))

    assert [name for name in (*own, *others) if found.holds(str(code / name))] == own


def test_neither_variable_nor_current_folder_moves_a_project(
    world: Path, code: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the client is, the session's file tells; one without a folder gives nothing."""
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", SESSION)
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(code / "notes"))
    monkeypatch.chdir(code)
    with pytest.raises(SessionError, match="is not on record"):
        project.project_of_caller()
    own = str(code / "app")
    path = f"{paths.project_transcripts_dir(own)}/{SESSION}.jsonl"
    SessionBuilder(path, SESSION, own).prompt("go")

    found = project.project_of_caller()

    assert found.folders[0] == own
    assert found.session == SESSION
    assert not found.holds(str(code))
    monkeypatch.delenv("CLAUDE_CODE_SESSION_ID")
    assert project.project_of_caller().folders == (str(code),)
