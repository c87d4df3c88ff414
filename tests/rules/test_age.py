"""How long a file was left alone, by a real git; nothing is said where git cannot tell."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from brimline.rules.age import Age, History

if TYPE_CHECKING:
    from .conftest import Tree

DAY_S = 86_400
NOW = 1_800_000_000


def git(tree: Tree, *arguments: str, days_ago: int = 0) -> None:
    """Run git in the project, at a time of choice."""
    moment = f"{NOW - days_ago * DAY_S} +0000"
    identity = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.com"}
    identity |= {"GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@example.com"}
    dates = {"GIT_AUTHOR_DATE": moment, "GIT_COMMITTER_DATE": moment}
    env = {**os.environ, **identity, **dates, "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(["git", *arguments], cwd=tree.project, env=env, check=True, capture_output=True)


def commit(tree: Tree, name: str, text: str, days_ago: int) -> None:
    """Change a file and commit it."""
    tree.put(f"project/{name}", text)
    git(tree, "add", name)
    git(tree, "commit", "-q", "-m", name, days_ago=days_ago)


@pytest.fixture
def repository(tree: Tree) -> Tree:
    """Rules that are a hundred days old, beside code that moved on."""
    git(tree, "init", "-q")
    commit(tree, "CLAUDE.md", "rule", 100)
    commit(tree, ".claude/rules/r.md", "rule", 90)
    commit(tree, "web/CLAUDE.md", "rule", 80)
    for number in range(3):
        commit(tree, f"src/{number}.py", "code", 10 - number)
    return tree


@pytest.mark.row("S2-05")
def test_a_file_is_as_old_as_its_last_commit(repository: Tree) -> None:
    """And the commits are counted that touched the folder it is about."""
    history = History(str(repository.project))

    def age(name: str) -> Age | None:
        return history.age(str(repository.project / name), NOW)

    assert history.problem is None
    assert age("CLAUDE.md") == Age(100, 5)
    assert age(".claude/rules/r.md") == Age(90, 4)
    assert age("web/CLAUDE.md") == Age(80, 0)
    assert age("src/2.py") == Age(8, 0)


def test_what_git_does_not_know_has_no_age(repository: Tree) -> None:
    """A new file, and one outside; a clock that was set back gives no negative age."""
    repository.put("project/new.md")
    repository.put("outside.md")
    history = History(str(repository.project))

    assert history.age(str(repository.project / "new.md"), NOW) is None
    assert history.age(str(repository.root / "outside.md"), NOW) is None
    assert history.age(str(repository.project / "src/2.py"), 0.0) == Age(0, 0)


def test_a_project_without_history_says_so(tree: Tree) -> None:
    """No repository, and a repository without a commit."""
    assert "no git repository" in (History(str(tree.project)).problem or "")

    git(tree, "init", "-q")

    assert "no git repository with a commit" in (History(str(tree.project)).problem or "")


def test_without_git_it_says_so(tree: Tree) -> None:
    """And is not asked again for every file."""
    history = History(str(tree.project), program="no-such-git")

    assert history.problem == "git is not installed"
    assert history.age(str(tree.project / "x"), NOW) is None


def test_a_repository_cannot_make_git_run_a_program(repository: Tree) -> None:
    """What its configuration names for signatures, watching and hooks stays untouched."""
    trap = repository.put("trap.sh", "#!/bin/sh\ntouch " + str(repository.root / "sprung") + "\n")
    trap.chmod(0o755)
    for key in ("gpg.program", "core.fsmonitor", "core.pager", "diff.external", "core.sshCommand"):
        git(repository, "config", key, str(trap))
    git(repository, "config", "log.showSignature", "true")

    assert History(str(repository.project)).age(str(repository.project / "CLAUDE.md"), NOW)
    assert not (repository.root / "sprung").exists()
