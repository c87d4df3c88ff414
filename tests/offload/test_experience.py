"""Learning from what was large and from what came back, through the whole room."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from brimline import clientsettings
from brimline.fast import io
from brimline.mcp import recall as server
from brimline.offload import intercept, learning
from brimline.offload.calls import Call
from brimline.state.session import SessionState

from .test_intercept import after, bash, reading, refused, values

# Short enough for the client to show all of it when it is fetched.
ROWS = [f"line {number} of the output" for number in range(1_000)]
LINES = "\n".join(ROWS)
HEAD = "\n".join(ROWS[:5])
OTHER = "\n".join(f"entry {number} of another log" for number in range(900))
SORTED = "\n".join(sorted(ROWS, reverse=True))
NUMBERED = "\n".join(f"{number}:{row}" for number, row in enumerate(ROWS, 1))
LONG_LINES = "\n".join(f"line {number} of a longer output" for number in range(2_000))


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
    after(reading(content=LINES), home_dir)
    ask(home_dir, f"[brimline recall {last_key(home_dir)[:19]} (Read): all 1,000 lines]\n{LINES}")

    assert learning.learned(home_dir, "/p")[0].recalls == 1
    assert not refused(home_dir)


def ask(home_dir: str, answer: str, **extra: Any) -> None:
    """The model fetches the last file through our tool."""
    response: list[Any] = [{"type": "text", "text": answer}]
    asked = {"key": last_key(home_dir)} | extra
    call = Call("mcp__brimline__recall", asked, response, cwd="/p", project_dir="/p")
    assert intercept.after(call, SessionState(home_dir, "s1"), values(), home_dir) is None


def test_pages_of_a_recall_add_up(home_dir: str) -> None:
    """Through the tool and through the shell."""
    after(reading(content=LINES), home_dir)
    key = last_key(home_dir)
    ask(home_dir, "[brimline recall x: lines 1-900 of 1,000]\n" + "\n".join(ROWS[:900]))
    recall(f"{key} --lines 901:999", home_dir, "\n".join(ROWS[900:999]))
    assert refused(home_dir)
    unwarn(home_dir)
    recall(f"{key} --lines -1:", home_dir, ROWS[-1])

    assert not refused(home_dir)


def test_the_pages_that_our_tool_really_answers_add_up(home_dir: str) -> None:
    """Followed from one to the next, as its first line says; before the last one is seen, not."""
    content = "\n".join(["", *(f"  {row}, with more words in it" for row in ROWS * 2), "}", "", ""])
    after(reading(content=content), home_dir)
    pages, lines = 0, ""
    while pages == 0 or lines:
        assert not pages or refused(home_dir)
        unwarn(home_dir)
        asked = {"key": last_key(home_dir)[:19]} | ({"lines": lines} if lines else {})
        answer = server.answer(home_dir, "/p", asked)
        ask(home_dir, answer, **asked)
        lines = answer.partition("\n")[0].partition('next: lines="')[2].partition('"')[0]
        pages += 1

    assert pages > 2
    assert not refused(home_dir)


def unwarn(home_dir: str) -> None:
    """Let the guard speak again."""
    state = SessionState(home_dir, "s1")
    for name in state.names:
        if name.startswith("offload-warned"):
            io.remove(f"{state.folder}/{name}")


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("brimline store get {key}", "ten lines"),
        ("brimline store get {key} --lines 1:5; cat other.log", HEAD + "\n" + OTHER),
        ("brimline store get {key} | grep -v zzz | sort", SORTED),
        ("brimline store get {key} | head -999", LINES.rpartition("\n")[0]),
        ("brimline store grep {key} line", NUMBERED),
    ],
)
def test_a_recall_that_shows_a_part_leaves_the_guard_in_place(
    home_dir: str, command: str, output: str
) -> None:
    """However much else is printed, and however long it is."""
    after(reading(content=LINES), home_dir)
    call = bash(command.format(key=last_key(home_dir)), output)
    intercept.after(call, SessionState(home_dir, "s1"), values(), home_dir)

    assert refused(home_dir)


def test_a_pattern_shows_lines_and_not_the_file(home_dir: str) -> None:
    """Also one that all of them match, for they come with numbers and may be cut."""
    after(reading(content=LINES), home_dir)
    ask(
        home_dir, "[brimline recall x: 1,000 of 1,000 lines match 'line']\n" + NUMBERED, pattern="l"
    )

    assert refused(home_dir)


def long_recall(home_dir: str, **extra: Any) -> None:
    """The model fetches all of a file that was shown as a preview, more than the client shows."""
    after(reading(content=LONG_LINES), home_dir)
    call = bash(f"brimline store get {last_key(home_dir)}", LONG_LINES)
    call.response = call.response | extra
    assert intercept.after(call, SessionState(home_dir, "s1"), values(), home_dir) is None


def test_a_recall_that_the_client_cut_shows_its_beginning_only(home_dir: str, world: Path) -> None:
    """The hook can read all of it where the client keeps it; the model was shown 2 kB."""
    kept = world / "kept.txt"
    kept.write_text(LONG_LINES, encoding="utf-8")
    size = {"persistedOutputSize": len(LONG_LINES)}
    long_recall(home_dir, stdout=LONG_LINES[:30_000], persistedOutputPath=str(kept), **size)

    assert refused(home_dir)
    assert learning.learned(home_dir, "/p")[0].recalls == 0


@pytest.mark.parametrize(("limit", "is_shown"), [(None, False), (40_000, False), (100_000, True)])
def test_a_long_recall_was_shown_only_where_the_client_is_set_to(
    home_dir: str, limit: int | None, *, is_shown: bool
) -> None:
    """A variable lets hooks see more than the model; a setting lets both see more."""
    file = Path(clientsettings.settings_files("/p")["user"])
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"bashOutputMaxChars": limit} if limit else {}), encoding="utf-8")
    long_recall(home_dir)

    assert refused(home_dir) is not is_shown


def test_other_output_is_not_counted_as_what_came_back(home_dir: str) -> None:
    """Five lines of a stored output and a long log are five lines of it."""
    for number in range(4):
        assert after(bash("make all", f"{LINES}\n{number}"), home_dir) is not None
        recall(f"{last_key(home_dir)} --lines 1:5; cat other.log", home_dir, f"{HEAD}\n{OTHER}")

    assert known(home_dir) == {"make all": "large"}


@pytest.mark.parametrize("name", ["nonsense", "sha256:" + "0" * 64, "last", "", "../../etc/passwd"])
def test_a_recall_of_nothing_teaches_nothing(name: str, home_dir: str) -> None:
    """Also where the store is empty."""
    recall(name, home_dir, "error")

    assert known(home_dir) == {}
