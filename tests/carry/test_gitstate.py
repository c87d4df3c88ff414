"""What git says of a project: branch, head, changed files with whatever names they have."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from brimline.carry import gitstate


def git(folder: str, *arguments: str) -> str:
    """Run git with a name and no settings of this machine."""
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": folder,
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_CONFIG_SYSTEM": "/dev/null",
    }
    for who in ("AUTHOR", "COMMITTER"):
        environment |= {f"GIT_{who}_NAME": "dev", f"GIT_{who}_EMAIL": "dev@example.invalid"}
    done = subprocess.run(
        ["git", "-C", folder, *arguments],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return done.stdout.strip()


@pytest.fixture
def repository(project_dir: str) -> str:
    """A repository with one commit on the branch `main`."""
    git(project_dir, "init", "-q", "-b", "main")
    Path(project_dir, "a file.txt").write_text("one\n", encoding="utf-8")
    Path(project_dir, "old name.txt").write_text("some text to rename\n" * 5, encoding="utf-8")
    git(project_dir, "add", ".")
    git(project_dir, "commit", "-q", "-m", "first")
    return project_dir


def test_branch_head_and_changed_files_are_told(repository: str) -> None:
    """Names with blanks, umlauts and quotes, renamed and untracked ones."""
    Path(repository, "a file.txt").write_text("two\n", encoding="utf-8")
    Path(repository, 'größer "neu".md').write_text("x", encoding="utf-8")
    git(repository, "mv", "old name.txt", "new name.txt")

    found = gitstate.describe(repository)

    assert found["branch"] == "main"
    assert found["head"] == git(repository, "rev-parse", "HEAD")[:12]
    assert sorted(found["dirty"]) == ["a file.txt", 'größer "neu".md', "new name.txt"]


def test_a_clean_repository_has_no_changed_files(repository: str) -> None:
    """Also asked from a folder inside of it."""
    inside = Path(repository, "sub")
    inside.mkdir()

    assert gitstate.describe(str(inside))["dirty"] == []


def test_a_repository_without_a_commit_has_no_head(project_dir: str) -> None:
    """What is not known is None."""
    git(project_dir, "init", "-q", "-b", "main")

    assert gitstate.describe(project_dir) == {"branch": "main", "head": None, "dirty": []}


def test_a_detached_head_is_told_as_git_tells_it(repository: str) -> None:
    """There is no branch to name."""
    git(repository, "checkout", "-q", "--detach")

    assert gitstate.describe(repository)["branch"] == "(detached)"


def test_outside_of_a_repository_nothing_is_known(project_dir: str) -> None:
    """Nor of a folder that is not there."""
    assert gitstate.describe(project_dir) == {}
    assert gitstate.describe("") == {}
    assert gitstate.describe(f"{project_dir}/gone") == {}


def test_without_git_or_with_a_damaged_repository_all_is_unknown(
    repository: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No error, and nothing made up."""
    unknown = {"branch": None, "head": None, "dirty": None}
    Path(repository, ".git", "HEAD").write_bytes(b"\xff")
    assert gitstate.describe(repository) == unknown

    monkeypatch.setenv("PATH", "/nonexistent")
    assert gitstate.describe(repository) == unknown


def test_only_so_many_files_are_named(repository: str) -> None:
    """A tree full of new files does not become a checkpoint."""
    for number in range(80):
        Path(repository, f"{number}.txt").write_text("x", encoding="utf-8")

    assert len(gitstate.describe(repository)["dirty"]) == 50


def test_what_another_git_left_in_the_environment_does_not_mislead(
    repository: str, monkeypatch: pytest.MonkeyPatch, world: Path
) -> None:
    """A client that was started by a hook of git."""
    monkeypatch.setenv("GIT_DIR", str(world / "elsewhere"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(world / "index"))

    assert gitstate.describe(repository)["branch"] == "main"


def test_a_repository_starts_no_program_of_its_own(repository: str, world: Path) -> None:
    """A watcher that its settings name is not run."""
    proof = world / "ran"
    program = world / "watch.sh"
    program.write_text(f"#!/bin/sh\ntouch '{proof}'\n", encoding="utf-8")
    program.chmod(0o755)
    git(repository, "config", "core.fsmonitor", str(program))

    gitstate.describe(repository)

    assert not proof.exists()
