"""Learning from what was large and from what came back, through the whole room."""

from __future__ import annotations

from typing import Any

import pytest

from brimline.offload import intercept, learning
from brimline.offload.calls import Call
from brimline.state.session import SessionState

from .test_intercept import LINES, after, bash, reading, values


def recall(key: str, home_dir: str, output: str = LINES) -> None:
    """The model fetches a stored output through its shell."""
    call = bash(f"cd /x && brimline store get {key}", output)
    state = SessionState(home_dir, "s1")
    assert intercept.after(call, state, values(), home_dir) is None


def last_key(home_dir: str) -> str:
    """The key of what was kept out last."""
    return str(SessionState(home_dir, "s1").last_line("Offloaded")["key"])


def known(home_dir: str) -> dict[str, str]:
    """What was learned: pattern and verdict."""
    return {entry.pattern: entry.verdict for entry in learning.learned(home_dir, "/p")}


@pytest.mark.row("S3-11")
def test_a_command_that_turned_out_large_is_learned(home_dir: str) -> None:
    """By its pattern, in its project."""
    after(bash("cd app && make all 2>&1 | tail -500"), home_dir)

    assert known(home_dir) == {"make all": "large"}


def test_a_command_whose_references_always_come_back_is_left_alone(home_dir: str) -> None:
    """After three of them it passes; the first time that it does not is a probe."""
    for number in range(3):
        assert after(bash("make all", f"{LINES}\n{number}"), home_dir) is not None
        recall(last_key(home_dir), home_dir)

    assert after(bash("make all", LINES), home_dir) is None
    assert known(home_dir) == {"make all": "pass"}
    assert after(bash("make other", LINES), home_dir) is not None


def test_a_few_lines_fetched_back_are_no_reason_to_pass(home_dir: str) -> None:
    """That is what a reference is for."""
    for number in range(4):
        assert after(bash("make all", f"{LINES}\n{number}"), home_dir) is not None
        recall(last_key(home_dir)[:19] + " --lines 3:5", home_dir, "three short lines")

    assert known(home_dir) == {"make all": "large"}


def test_a_trivial_command_that_prints_much_is_not_trivial_twice(home_dir: str) -> None:
    """The first time it passes by its name, and is learned."""
    assert after(bash("git status"), home_dir) is None
    assert after(bash("git status"), home_dir) is not None


def test_a_recall_through_the_tool_counts_too(home_dir: str) -> None:
    """Of a file all of which came back, an overwrite is nobody's accident."""
    after(reading(), home_dir)
    key = last_key(home_dir)
    response: list[Any] = [{"type": "text", "text": f"[brimline] all of it\n{LINES}"}]
    call = Call("mcp__brimline__recall", {"key": key}, response, cwd="/p", project_dir="/p")

    assert intercept.after(call, SessionState(home_dir, "s1"), values(), home_dir) is None

    assert learning.learned(home_dir, "/p")[0].recalls == 1
    assert intercept.before_write("/p/a.py", SessionState(home_dir, "s1"), "/p") is None


def test_a_recall_of_a_part_leaves_the_guard_in_place(home_dir: str) -> None:
    """Whoever saw ten lines has not seen the file."""
    after(reading(), home_dir)
    recall(last_key(home_dir), home_dir, "ten lines")

    assert intercept.before_write("/p/a.py", SessionState(home_dir, "s1"), "/p") is not None


@pytest.mark.parametrize("name", ["nonsense", "sha256:" + "0" * 64, "last", "", "../../etc/passwd"])
def test_a_recall_of_nothing_teaches_nothing(name: str, home_dir: str) -> None:
    """Also where the store is empty."""
    recall(name, home_dir, "error")

    assert known(home_dir) == {}
