"""What a call asks of us, what a list of the user's holds, and why a result stays."""

from __future__ import annotations

from typing import Any

import pytest

from brimline.bulk import judge, tool_results
from brimline.bulk.judge import Rules

from .conftest import LOG, SOURCE, cut

KEY = "sha256:" + "0123456789abcdef" * 4


@pytest.mark.parametrize(
    ("tool", "arguments", "asked"),
    [
        ("mcp__brimline__recall", {"key": "k1"}, ["k1"]),
        ("mcp__my-brimline__recall", {"key": "k1"}, None),
        (
            "mcp__plugin_brimline_brimline__recall",
            {"key": "k1", "lines": "1:2"},
            ["k1"],
        ),
        ("mcp__brimline__recall", {"key": "k1", "lines": 7}, ["k1"]),
        ("mcp__brimline__recall", {"key": ""}, []),
        ("mcp__brimline__recall", {"key": 7}, []),
        ("mcp__brimline__search", {}, []),
        ("mcp__other__recall", {"key": "k1"}, None),
        ("brimline", {"key": "k1"}, None),
        ("Bash", {}, None),
    ],
)
def test_our_own_tools_ask_by_their_arguments(
    tool: str, arguments: dict[str, Any], asked: list[str] | None
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


def reason(tool: str, arguments: dict[str, Any], text: str, rules: Rules, **marks: bool) -> str:
    """Why a result stays."""
    case = judge.Case(tool, arguments, text, len(text))
    for name, value in marks.items():
        setattr(case, name, value)
    return judge.judge(case, rules, lambda path: path == "/p/edited.py").reason


LARGEST = judge._LARGEST_CONFIGURATION_BYTES
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
        ("Read", {"file_path": "/p/a.toml"}, cut(SOURCE, LARGEST), {}, judge.CONFIGURATION),
        ("Read", {"file_path": "/p/a.toml"}, cut(SOURCE, LARGEST + 1), {}, ""),
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


FILE = {"filePath": "/p/a.py", "content": "a\nb", "numLines": 2, "startLine": 5, "totalLines": 9}


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
    """A zero within its first thousands of bytes tells it."""
    texts, sample = [], tool_results._BINARY_SAMPLE_BYTES
    for at in (sample - 1, sample):
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


def test_blocks_that_are_no_text_stay_behind_the_one_that_is_new() -> None:
    """An answer of a server's may hold pictures."""
    picture = {"type": "image", "data": "x"}
    blocks = [{"type": "text", "text": "a"}, picture, {"type": "text", "text": "b"}]

    found = tool_results.parse_answer("mcp__a__b", {}, blocks)

    assert found is not None
    assert found.text == "a\nb"
    assert found.replaced("x") == [{"type": "text", "text": "x"}, picture]
