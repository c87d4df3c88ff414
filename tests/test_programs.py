"""What git says of a project, asked without running anything of it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from brimline import programs


def run(*words: str) -> None:
    """Let git do something in the project."""
    subprocess.run(["git", *words], check=True, capture_output=True)


@pytest.fixture
def repository() -> Path:
    """One with a commit."""
    run("init", "-q", "-b", "main")
    run("config", "user.name", "a")
    run("config", "user.email", "a@b")
    Path("kept").write_text("1", encoding="utf-8")
    run("add", "kept")
    run("commit", "-q", "-m", "one")
    return Path.cwd()


@pytest.mark.usefixtures("repository")
def test_changed_and_unknown_files_are_told_once_each() -> None:
    """Those below a folder that is new by its name; at most fifty."""
    Path("kept").write_text("22", encoding="utf-8")
    Path("new").mkdir()
    Path("new/a").write_text("", encoding="utf-8")
    Path("b").write_text("", encoding="utf-8")
    assert programs.branch_commit_and_changed_files(os.getcwd())["dirty"] == ["kept", "b", "new/"]

    for number in range(60):
        Path(f"b{number:02}").write_text("", encoding="utf-8")
    assert len(programs.branch_commit_and_changed_files(os.getcwd())["dirty"]) == 50


@pytest.mark.usefixtures("repository")
def test_a_head_without_a_branch_has_its_commit_alone() -> None:
    """And a branch without a commit its name alone."""
    run("checkout", "-q", "--detach")
    detached = programs.branch_commit_and_changed_files(os.getcwd())
    assert detached["branch"] is None
    assert len(detached["head"]) == 12

    run("checkout", "-q", "--orphan", "empty")
    unborn = programs.branch_commit_and_changed_files(os.getcwd())
    assert (unborn["branch"], unborn["head"]) == ("empty", None)


def test_a_folder_below_a_repository_is_in_it(repository: Path) -> None:
    """One beside it is not, and one that git cannot read is as none."""
    below = repository / "a" / "b"
    below.mkdir(parents=True)
    assert programs.branch_commit_and_changed_files(str(below))["branch"] == "main"
    beside = repository.parent / "beside"
    (beside / ".git").mkdir(parents=True)
    assert programs.branch_commit_and_changed_files(str(repository.parent)) == {}
    assert programs.branch_commit_and_changed_files(str(beside)) == {}


def test_what_git_refuses_is_none(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where it is not there, and whatever repository the environment names."""
    where = str(repository)
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    assert programs.run_git(where, ("rev-parse", "--show-toplevel")) == f"{where}\n"
    assert programs.run_git(where, ("rev-parse", "--verify", "-q", "none")) is None
    assert programs.run_git(where, ("cat-file", "-e", "HEAD")) == ""
    monkeypatch.setattr(programs, "PLACES", ("/nowhere",))
    assert programs.run_git(where, ("status",)) is None


@pytest.mark.usefixtures("repository")
def test_a_filter_is_switched_off_and_one_that_cannot_be_is_not_run() -> None:
    """A changed file is told by its size alone then, or not at all."""
    run("config", "filter.x.clean", "touch ran; cat")
    Path(".gitattributes").write_text("* filter=x\n", encoding="utf-8")
    Path("kept").write_text("3", encoding="utf-8")
    assert "kept" in programs.branch_commit_and_changed_files(os.getcwd())["dirty"]
    run("config", "filter.a=b.clean", "touch ran; cat")
    assert programs.branch_commit_and_changed_files(os.getcwd())["dirty"] == [".gitattributes"]
    assert not Path("ran").exists()


def test_nothing_is_fetched_whatever_the_repository_allows(repository: Path) -> None:
    """A promised object may be fetched by a program that the repository names."""
    run("config", "protocol.allow", "always")
    run("config", "protocol.ext.allow", "always")

    assert programs.run_git(str(repository), ("ls-remote", "ext::sh -c touch% fetched")) is None
    assert not Path("fetched").exists()
