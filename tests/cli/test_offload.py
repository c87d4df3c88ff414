"""`brimline offload`: what was learned, for a person and a program, and how it is forgotten."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pexpect
import pytest

from brimline.cli.registry import COMMANDS, Entry
from brimline.offload import learning

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from .conftest import Outcome

KEYS = [
    "pattern",
    "tool",
    "verdict",
    "last_at",
    "count",
    "smallest_bytes",
    "largest_bytes",
    "stubs",
    "recalls",
]
# The program with the group registered, wherever the registry stands.
PROGRAM = (
    "from brimline.cli.registry import COMMANDS, Entry\n"
    "COMMANDS['offload'] = Entry('brimline.cli.offload:offload', 'x')\n"
    "from brimline.cli.main import main\n"
    "main()\n"
)


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(COMMANDS, "offload", Entry("brimline.cli.offload:offload", "x"))


@pytest.fixture
def taught(home_dir: str, project_dir: str) -> str:
    """A build whose stubs came back, and a file of another project; brimline's data folder."""
    file = ("/other", "Read", "Read /x/\x1b[31m.py")
    learning.note(home_dir, learning.STUB, file, 30_000)
    for number, size in enumerate((9_000, 50_000, 12_000)):
        key = f"sha256:{number}"
        build = (project_dir, "Bash", "npm run build")
        learning.note(home_dir, learning.STUB, build, size, key)
        learning.note(home_dir, learning.RECALL, build, None, key)
    return home_dir


def test_nothing_learned_is_no_error(brimline: Callable[..., Outcome]) -> None:
    """It says so, and programs get an empty list."""
    done = brimline("offload", "learned")

    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("Nothing was learned yet")
    assert json.loads(brimline("offload", "learned", "--json").out) == []


@pytest.mark.row("S3-76")
def test_what_was_learned_is_listed(taught: str, brimline: Callable[..., Outcome]) -> None:
    """When, how large, how often, what came back, what follows, and of which call."""
    lines = brimline("offload", "learned").out.splitlines()

    head = ["last", "seen", "sizes", "large", "stubs", "came", "back"]
    assert lines[0].split() == [*head, "verdict", "tool", "pattern"]
    told = [" ".join(line.split()[2:]) for line in lines[1:3]]
    assert told == [
        "9.0 kB to 50.0 kB 3 3 3 pass Bash npm run build",
        "30.0 kB 1 1 0 large Read Read /x/?[31m.py",
    ]
    assert [line.split()[0] for line in lines[-2:]] == ["large", "pass"]


def test_a_project_has_a_list_of_its_own(
    taught: str, project_dir: str, brimline: Callable[..., Outcome]
) -> None:
    """There three stubs that came back are enough to let a call pass."""
    (entry,) = json.loads(brimline("offload", "learned", "--project", "--json").out)

    assert list(entry) == KEYS
    assert (entry["pattern"], entry["verdict"]) == ("npm run build", "pass")
    assert (entry["count"], entry["stubs"], entry["recalls"]) == (3, 3, 3)
    assert (entry["smallest_bytes"], entry["largest_bytes"]) == (9_000, 50_000)
    text = brimline("offload", "learned", "--project").out
    assert "pass   left alone" in text
    assert "large  kept" not in text


def test_the_clients_project_folder_counts_before_the_current_one(
    taught: str, world: Path, monkeypatch: pytest.MonkeyPatch, brimline: Callable[..., Outcome]
) -> None:
    """Inside a session a command may run anywhere."""
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", "/other")

    (entry,) = json.loads(brimline("offload", "learned", "--project", "--json").out)

    assert entry["tool"] == "Read"


def test_forgetting_needs_a_yes_without_a_terminal(
    taught: str, brimline: Callable[..., Outcome]
) -> None:
    """Nothing is forgotten by accident."""
    done = brimline("offload", "forget", "npm run build")

    assert done.code == 1
    assert done.err == (
        "brimline: this forgets what was learned: add --yes where there is no terminal\n"
    )
    assert len(learning.learned(taught)) == 2


def test_a_pattern_is_forgotten_everywhere(taught: str, brimline: Callable[..., Outcome]) -> None:
    """Only that one."""
    done = brimline("offload", "forget", "npm run build", "--yes")

    assert (done.code, done.out) == (0, "Forgotten in 1 project: npm run build\n")
    assert [entry.tool for entry in learning.learned(taught)] == ["Read"]


def test_a_pattern_is_forgotten_in_one_project(
    taught: str, project_dir: str, brimline: Callable[..., Outcome]
) -> None:
    """What others taught stays."""
    learning.note(taught, learning.STUB, ("/other", "Bash", "npm run build"), 9_000)

    done = brimline("offload", "forget", "npm run build", "--project", "--yes", "--json")

    expected = {"pattern": "npm run build", "project": project_dir, "projects": 1}
    assert json.loads(done.out) == expected
    assert learning.learned(taught, project_dir) == []
    assert len(learning.learned(taught, "/other")) == 2


@pytest.mark.parametrize("options", [(), ("--project",), ("--yes", "--json")])
def test_a_pattern_that_is_not_known_is_refused(
    taught: str, options: tuple[str, ...], brimline: Callable[..., Outcome]
) -> None:
    """In one sentence, whether or not there was a yes."""
    done = brimline("offload", "forget", "npm run biuld", *options)

    assert done.code == 1
    assert done.out == ""
    assert done.err.startswith("brimline: nothing was learned about 'npm run biuld'")
    assert len(done.err.splitlines()) == 1


@pytest.mark.parametrize(("answer", "left"), [("n", 2), ("y", 1)])
def test_a_person_is_asked(answer: str, left: int, taught: str) -> None:
    """A no leaves everything as it was."""
    child: Any = pexpect.spawn(
        sys.executable,
        ["-c", PROGRAM, "offload", "forget", "npm run build"],
        encoding="utf-8",
        timeout=60,
    )
    child.expect(r"\[y/N\]")
    asked = child.before
    child.sendline(answer)
    child.expect(pexpect.EOF)
    child.close()

    assert "npm run build in all projects?" in asked
    assert len(learning.learned(taught)) == left
