"""What a call asks of us, what a list of the user's holds, and why a result stays."""

from __future__ import annotations

from typing import Any

import pytest

from brimline.offload import judge, tool_results
from brimline.offload.judge import Rules

from .conftest import LOG, SOURCE

KEY = "sha256:" + "0123456789abcdef" * 4


@pytest.mark.parametrize(
    ("command", "asked"),
    [
        ("ls", None),
        ("brimline status", None),
        ("brimline store list", None),
        ("brimline store get", [("", "")]),
        ("brimline store get k1", [("k1", "")]),
        ("/opt/x/brimline store get k1 k2", [("k1", "")]),
        ("brimline store get --lines 1:2 k1", [("k1", "1:2")]),
        ("brimline store get k1 --lines=1:2", [("k1", "1:2")]),
        ("brimline store get --bytes 0:9 k1", [("k1", "")]),
        ("brimline store get --bytes=0:9 k1", [("k1", "")]),
        ("brimline store get --find word k1", [("k1", "")]),
        ("brimline store get --json k1 --lines", [("k1", "")]),
        ("brimline store get a; brimline store get b", [("a", ""), ("b", "")]),
        ("python -m brimline store get k1 | head", [("k1", "")]),
        ("echo brimline", None),
    ],
)
def test_a_command_asks_for_keys_and_lines_behind_its_own_words(
    command: str, asked: list[tuple[str, str]] | None
) -> None:
    """The values of options are no keys."""
    assert judge.recalls_asked_by_call("Bash", {"command": command}) == asked


@pytest.mark.parametrize(
    ("tool", "arguments", "asked"),
    [
        ("mcp__brimline__recall", {"key": "k1"}, [("k1", "")]),
        ("mcp__my-Brimline__recall", {"key": "k1", "lines": "1:2"}, [("k1", "1:2")]),
        ("mcp__brimline__recall", {"key": "k1", "lines": 7}, [("k1", "")]),
        ("mcp__brimline__recall", {"key": ""}, []),
        ("mcp__brimline__recall", {"key": 7}, []),
        ("mcp__brimline__search", {}, []),
        ("mcp__other__recall", {"key": "k1"}, None),
        ("brimline", {"key": "k1"}, None),
        ("Bash", {}, None),
    ],
)
def test_our_own_tools_ask_by_their_arguments(
    tool: str, arguments: dict[str, Any], asked: list[tuple[str, str]] | None
) -> None:
    """None is not asking us, and nothing is asking for nothing."""
    assert judge.recalls_asked_by_call(tool, arguments) == asked


@pytest.mark.parametrize(
    ("tool", "subject", "pattern"),
    [
        ("Bash", "git log --oneline", "git log"),
        ("Bash", "", "Bash"),
        ("Bash", "  ", "Bash"),
        ("Bash", None, "Bash"),
        ("Bash", 7, "Bash"),
        ("Read", "/p/a.py", "Read /p/a.py"),
        ("WebFetch", "https://Docs.Test/a/b", "WebFetch docs.test"),
        ("WebFetch", "https://docs.test", "WebFetch docs.test"),
        ("WebFetch", "docs.test/a", "WebFetch "),
        ("Grep", "https://docs.test/a", "Grep"),
    ],
)
def test_a_call_is_remembered_by_words_a_file_a_host_or_its_tool(
    tool: str, subject: Any, pattern: str
) -> None:
    """Where nothing is known of it, by its tool."""
    assert judge.pattern_for_learning(tool, subject) == pattern


@pytest.mark.parametrize(
    ("tool", "arguments", "files"),
    [
        ("Read", {"file_path": "/p/a.py"}, ["/p/a.py"]),
        ("Read", {}, []),
        ("Read", {"file_path": 7}, []),
        ("Grep", {"file_path": "/p/a.py"}, []),
        ("Bash", {"command": "cat a.py b.py"}, ["a.py", "b.py"]),
        ("Bash", {}, []),
    ],
)
def test_a_call_shows_files_where_that_is_all_it_does(
    tool: str, arguments: dict[str, Any], files: list[str]
) -> None:
    """By Read, or by a command."""
    assert judge.files_shown_by_call(tool, arguments) == files


@pytest.mark.parametrize(
    ("pattern", "is_held"),
    [
        ("Bash", True),
        ("make", True),
        ("make all", True),
        ("make all -j4", True),
        ("make all -j4 more", False),
        ("make test", False),
        ("m*", True),
        ("sudo make", True),
        ("sudo make all -j4", True),
        ("all", False),
        ("", False),
        ("MAKE", False),
    ],
)
def test_a_list_holds_a_command_by_how_it_begins(pattern: str, *, is_held: bool) -> None:
    """With what runs it or without, and never by nothing."""
    arguments = {"command": "sudo make all -j4"}

    assert judge.does_call_match_any([pattern], "Bash", arguments) is is_held
    assert judge.does_call_match_any(["no", pattern], "Bash", arguments) is is_held
    assert not judge.does_call_match_any([], "Bash", arguments)


def reason(tool: str, arguments: dict[str, Any], text: str, rules: Rules, **marks: bool) -> str:
    """Why a result stays."""
    case = judge.Case(tool, arguments, text, len(text))
    for name, value in marks.items():
        setattr(case, name, value)
    return judge.judge(case, rules, lambda path: path == "/p/edited.py").reason


READ = {"file_path": "/p/a.py"}
FAILED = f"{LOG[:9_000]}\nFAILED tests/test_a.py\n"


@pytest.mark.parametrize(
    ("tool", "arguments", "text", "marks", "why"),
    [
        ("Bash", {"command": "cat a"}, f"[brimline stored 5 bytes: {KEY}]\n{LOG}", {}, judge.OURS),
        ("Bash", {"command": "cat a"}, f"[brimline stored 5 bytes]\n{LOG[:9_000]}", {}, ""),
        ("TodoWrite", {}, LOG, {}, judge.OTHER_TOOL),
        ("Edit", READ, SOURCE, {}, judge.OTHER_TOOL),
        ("Edit", READ, SOURCE, {"was_read": True}, ""),
        ("mcp__a__b", {}, LOG, {}, ""),
        ("Read", READ, SOURCE[:24_999], {}, judge.SMALL),
        ("Read", READ, SOURCE[:25_000], {}, ""),
        ("Read", READ, SOURCE[:8_000], {"was_read": True}, ""),
        ("Read", READ, SOURCE[:7_999], {"was_read": True}, judge.SMALL),
        ("Read", READ | {"limit": 5}, SOURCE, {}, judge.PAGE),
        ("Read", READ | {"limit": 5}, SOURCE, {"was_read": True}, ""),
        ("Read", {"file_path": "/p/edited.py"}, SOURCE, {"was_read": True}, judge.EDITED),
        ("Read", {"file_path": "/p/a.toml"}, SOURCE[:100_000], {}, judge.CONFIGURATION),
        ("Read", {"file_path": "/p/a.toml"}, SOURCE[:100_001], {}, ""),
        ("Bash", {"command": "git status"}, LOG[:9_000], {}, judge.BRIEF),
        ("Bash", {"command": "make"}, FAILED, {}, judge.FAILED),
        ("Bash", {"command": "make"}, FAILED, {"was_read": True}, ""),
        ("Bash", {"command": "make"}, FAILED, {"is_cut": True}, ""),
        ("Bash", {"command": "make"}, LOG[:9_000], {"failed": True}, judge.FAILED),
        ("Bash", {"command": "make"}, LOG[:24_999], {"failed": True}, judge.FAILED),
        ("Bash", {"command": "make"}, LOG[:25_000], {"failed": True}, ""),
        ("Bash", {"command": "cat a.log"}, FAILED, {}, ""),
        ("mcp__a__b", {}, LOG[:9_000], {"failed": True}, judge.FAILED),
    ],
)
def test_a_result_stays_for_the_first_reason_that_it_has(
    tool: str, arguments: dict[str, Any], text: str, marks: dict[str, bool], why: str
) -> None:
    """And is a preview where it has none."""
    assert reason(tool, arguments, text, Rules(), **marks) == why


def test_the_users_lists_are_asked_before_the_size() -> None:
    """What `never` names stays, what `always` names goes from the lower limit on."""
    call = {"command": "make all"}

    assert reason("Bash", call, LOG, Rules(never=["make"])) == judge.NEVER
    assert reason("Bash", call, FAILED, Rules(always=["make"])) == ""
    assert reason("Bash", call, LOG[:8_000], Rules(always=["make"])) == judge.SMALL
    assert reason("Read", READ, SOURCE[:8_000], Rules(always=["*.py"])) == ""
    assert reason("Bash", call, FAILED, Rules(always=["cake"])) == judge.FAILED


@pytest.mark.parametrize(
    ("hits", "is_bulk"), [(999, False), (1_000, True)], ids=["an answer", "bulk"]
)
def test_hits_are_bulk_from_a_thousand_on(hits: int, *, is_bulk: bool) -> None:
    """Fewer are an answer."""
    text = "\n".join(f"src/a.py:{n}: hit" for n in range(hits))

    assert judge.Case("Grep", {"pattern": "hit"}, text, len(text)).is_bulk is is_bulk


@pytest.mark.parametrize(
    ("reference", "lines"),
    [
        ("The client had read lines 1-50 of 900.", 900),
        ("x\nThe client had read lines 1-50 of 900. More of 7.", 900),
        ("The client had read lines 1-50 of many.", 12),
        ("The client had read lines 1-50 of ٣.", 12),
        ("nothing", 12),
        ("", 12),
    ],
)
def test_a_reference_says_how_many_lines_its_file_has(reference: str, lines: int) -> None:
    """Else it has as many as are stored."""
    assert tool_results.file_line_total_in_reference(reference, 12) == lines


FILE = {"filePath": "/p/a.py", "content": "a\nb", "numLines": 2, "startLine": 5, "totalLines": 9}


@pytest.mark.parametrize(
    ("changes", "lines", "note"),
    [
        ({}, (5, 6, 9), "The client had read lines 1-2 of 9."),
        ({"truncatedByTokenCap": True}, (5, 5, 9), "The client had read lines 1-2 of 9."),
        ({"totalLines": 6}, (5, 6, 6), ""),
        ({"startLine": None}, None, ""),
        ({"numLines": "2"}, None, ""),
        ({"totalLines": None}, None, ""),
    ],
)
def test_a_read_knows_its_lines_where_the_client_tells_all_figures(
    changes: dict[str, Any], lines: tuple[int, int, int] | None, note: str
) -> None:
    """A last line that may have been cut does not count."""
    found = tool_results.parse_answer("Read", {}, {"type": "text", "file": FILE | changes})

    assert found is not None
    assert (found.subject, found.lines, found.note) == ("/p/a.py", lines, note)
    assert found.replaced("one\ntwo\nthree") == {
        "type": "text",
        "file": {
            "filePath": "/p/a.py",
            "content": "one\ntwo\nthree",
            "numLines": 3,
            "startLine": 1,
            "totalLines": 3,
        },
    }


@pytest.mark.parametrize("mark", ["interrupted", "returnCodeInterpretation", "backgroundTaskId"])
def test_the_exit_of_a_command_is_unknown_where_the_client_says_so(mark: str) -> None:
    """It was broken off, ended oddly, or goes on elsewhere."""
    answer = {"stdout": "x", "stderr": ""}
    plain = tool_results.parse_answer("Bash", {}, answer)
    marked = tool_results.parse_answer("Bash", {}, answer | {mark: "x"})

    assert plain
    assert marked
    assert (plain.exit_code, plain.failed) == (0, False)
    assert (marked.exit_code, marked.failed) == (None, True)


@pytest.mark.parametrize(
    ("tool", "response"),
    [
        ("Bash", {"stdout": "x"}),
        ("Bash", {"stdout": "x", "stderr": "", "isImage": True}),
        ("Read", {"type": "image", "file": {}}),
        ("Read", {"type": "text"}),
        ("Agent", {"status": "running", "content": []}),
        ("Agent", {"status": "completed", "content": [{"type": "image"}]}),
        ("Agent", {"status": "completed", "content": [{"type": "text", "text": None}]}),
        ("mcp__a__b", {"text": "x"}),
        ("TodoWrite", {"stdout": "x", "stderr": ""}),
    ],
)
def test_what_has_another_shape_is_left_alone(tool: str, response: Any) -> None:
    """Pictures, answers that are not there yet, tools that are not known."""
    assert tool_results.parse_answer(tool, {}, response) is None


def test_binary_output_on_disk_is_kept_byte_by_byte(tmp_path: Any) -> None:
    """A zero within its first eight thousand bytes tells it."""
    texts = []
    for at in (8_191, 8_192):
        path = tmp_path / str(at)
        path.write_bytes(b"\xc3\xb6" + b"x" * (at - 2) + b"\0")
        answer = {"stdout": "", "stderr": "", "persistedOutputPath": str(path)}
        found = tool_results.parse_answer("Bash", {}, answer)
        assert found
        texts.append(found.text[:2])
        assert found.data == path.read_bytes()

    assert texts == ["Ã¶", "öx"]


@pytest.mark.parametrize(
    ("held", "told", "is_taken"),
    [(10, 10, True), (11, 11, False), (9, 10, False), (10, 9, True), (9, None, True)],
    ids=["as large as may be", "larger", "cut", "grown", "of no known size"],
)
def test_an_output_on_disk_is_taken_where_it_is_whole_and_not_too_large(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch, held: int, told: int | None, *, is_taken: bool
) -> None:
    """Else the answer stays as it is."""
    monkeypatch.setattr(tool_results, "_LARGEST_FILE_BYTES", 10)
    path = tmp_path / "kept"
    path.write_bytes(b"x" * held)
    answer = {"stdout": "x", "stderr": "", "persistedOutputPath": str(path)}

    found = tool_results.parse_answer("Bash", {}, answer | {"persistedOutputSize": told})

    assert (found is not None) is is_taken


def test_a_notebook_is_its_cells_and_outputs_one_after_the_other() -> None:
    """With a picture in an output it is left alone."""
    cells = [
        {"cell_id": "a", "cellType": "code", "source": "1 + 1", "outputs": [{"text": "2"}, {}]},
        {"source": "words", "outputs": None},
    ]
    file = {"filePath": "/p/a.ipynb", "cells": cells}

    found = tool_results.parse_answer("Read", {}, {"type": "notebook", "file": file})
    pictured = [*cells, {"source": "", "outputs": [{"image": {"data": "x"}}]}]
    other = {"type": "notebook", "file": {**file, "cells": pictured}}

    assert found is not None
    assert found.text == "[cell a, code]\n1 + 1\n[output]\n2\n[output]\n\n[cell , ]\nwords"
    assert (found.subject, found.lines) == ("/p/a.ipynb", (1, 8, 8))
    assert found.note.startswith("The lines are those of the notebook's cells")
    assert tool_results.parse_answer("Read", {}, other) is None


@pytest.mark.parametrize(
    ("response", "text", "replaced"),
    [
        (
            {"mode": "files_with_matches", "filenames": ["a", "b"]},
            "a\nb",
            {"mode": "content", "filenames": [], "content": "x\ny", "numLines": 2},
        ),
        (
            {"mode": "content", "filenames": ["a"], "content": "c", "numLines": 1},
            "c",
            {"mode": "content", "filenames": ["a"], "content": "x\ny", "numLines": 2},
        ),
        (
            {"mode": "count", "filenames": [], "content": "a:3"},
            "a:3",
            {"mode": "count", "filenames": [], "content": "x\ny"},
        ),
    ],
)
def test_a_search_is_answered_in_the_mode_that_shows_a_text(
    response: dict[str, Any], text: str, replaced: dict[str, Any]
) -> None:
    """Its number of lines is that of the new text, where there was one."""
    found = tool_results.parse_answer("Grep", {"pattern": "p"}, response)

    assert found is not None
    assert (found.text, found.subject) == (text, "p")
    assert found.replaced("x\ny") == replaced


def test_blocks_that_are_no_text_stay_behind_the_one_that_is_new() -> None:
    """An answer of a server's may hold pictures."""
    picture = {"type": "image", "data": "x"}
    blocks = [{"type": "text", "text": "a"}, picture, {"type": "text", "text": "b"}]

    found = tool_results.parse_answer("mcp__a__b", {}, blocks)

    assert found is not None
    assert found.text == "a\nb"
    assert found.replaced("x") == [{"type": "text", "text": "x"}, picture]
