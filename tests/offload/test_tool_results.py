"""What each tool answers, and its answer with another text."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brimline.offload.tool_results import find

BASH = {
    "stdout": "B",
    "stderr": "",
    "interrupted": False,
    "isImage": False,
    "noOutputExpected": False,
}
READ = {
    "type": "text",
    "file": {
        "filePath": "/p/a.txt",
        "content": "one\ntwo",
        "numLines": 2,
        "startLine": 1,
        "totalLines": 2,
    },
}
GREP = {"mode": "content", "numFiles": 0, "filenames": [], "content": "a:1:x", "numLines": 1}
FILES = {"mode": "files_with_matches", "filenames": ["b", "a"], "numFiles": 2, "totalFiles": 2}
COUNT = {"mode": "count", "numFiles": 1, "filenames": [], "content": "a:3", "numMatches": 3}
GLOB = {"filenames": ["a", "b"], "durationMs": 4, "numFiles": 2, "truncated": False}
FETCH = {"bytes": 5, "code": 200, "codeText": "OK", "result": "R", "durationMs": 7, "url": "u"}
SEARCH = {"query": "q", "results": ["one", {"content": []}], "durationSeconds": 0.1}
AGENT = {
    "status": "completed",
    "prompt": "p",
    "agentId": "a1",
    "content": [{"type": "text", "text": "x"}, {"type": "text", "text": "y"}],
    "totalDurationMs": 1,
    "totalTokens": 2,
    "totalToolUseCount": 0,
    "usage": {},
}
ANSWERS: list[tuple[str, Any, str]] = [
    ("Bash", BASH, "B"),
    ("Read", READ, "one\ntwo"),
    ("Grep", GREP, "a:1:x"),
    ("Grep", FILES, "b\na"),
    ("Grep", COUNT, "a:3"),
    ("Glob", GLOB, "a\nb"),
    ("WebFetch", FETCH, "R"),
    ("WebSearch", SEARCH, 'one\n\n{"content":[]}'),
    ("Agent", AGENT, "x\ny"),
    ("mcp__a__b", "plain", "plain"),
    ("mcp__a__b", [{"type": "text", "text": "t"}, {"type": "text", "text": "u"}], "t\nu"),
]


@pytest.mark.parametrize(("tool", "response", "text"), ANSWERS)
def test_an_answer_has_its_text_and_keeps_its_keys_when_replaced(
    tool: str, response: Any, text: str
) -> None:
    """The client checks the shape: every key that was there is there again."""
    found = find(tool, {}, response)

    assert found is not None
    assert found.text == text
    replaced = found.replaced("NEW")
    assert "NEW" in str(replaced)
    assert text not in str(replaced)
    if isinstance(response, dict):
        assert replaced.keys() >= response.keys()


def test_the_clients_own_note_beside_an_output_stays() -> None:
    """A short error stream is not part of the bulk."""
    found = find("Bash", {"command": "make"}, BASH | {"stderr": "Shell cwd was reset to /p"})

    assert found is not None
    assert found.replaced("NEW")["stderr"] == "Shell cwd was reset to /p"
    assert found.text == "B"
    assert (found.subject, found.exit_code) == ("make", 0)


def test_a_long_error_stream_is_part_of_the_output() -> None:
    """It is stored with the rest, and cleared."""
    found = find("Bash", {}, BASH | {"stderr": "e" * 2_000})

    assert found is not None
    assert found.data == b"B\n" + b"e" * 2_000
    assert found.replaced("NEW")["stderr"] == ""


def test_an_output_on_disk_is_taken_from_there(tmp_path: Any) -> None:
    """The answer itself holds only its beginning; bytes that are no text are kept as they are."""
    path = tmp_path / "out put.txt"
    path.write_bytes(b"whole \xff output\n")
    extra = {"persistedOutputPath": str(path), "persistedOutputSize": 15}

    found = find("Bash", {}, BASH | extra)

    assert found is not None
    assert found.data == b"whole \xff output\n"
    assert found.replaced("NEW").keys() == BASH.keys()


@pytest.mark.parametrize("size", [16, None])
def test_an_output_that_is_not_there_whole_is_left_alone(tmp_path: Any, size: int | None) -> None:
    """A cut file, and one that is gone."""
    path = tmp_path / "out.txt"
    if size:
        path.write_bytes(b"cut")
    extra = {"persistedOutputPath": str(path), "persistedOutputSize": size}

    assert find("Bash", {}, BASH | extra) is None


@pytest.mark.parametrize(
    "extra", [{"interrupted": True}, {"returnCodeInterpretation": "x"}, {"backgroundTaskId": "b1"}]
)
def test_an_exit_code_is_named_only_where_it_is_known(extra: dict[str, Any]) -> None:
    """Interrupted, interpreted or still running: nothing is claimed."""
    found = find("Bash", {}, BASH | extra)

    assert found is not None
    assert found.exit_code is None
    assert found.replaced("NEW").items() >= extra.items()


def test_a_page_that_the_client_cut_says_so() -> None:
    """A file of more lines than were read is stored as far as it was read."""
    file = READ["file"] | {"numLines": 2, "totalLines": 9}  # type: ignore[operator]

    found = find("Read", {}, READ | {"file": file})

    assert found is not None
    assert found.note == "The client had read lines 1-2 of 9."


def test_a_notebook_becomes_text_and_one_with_pictures_passes() -> None:
    """A picture has no text that could stand for it."""
    cell = {"cellType": "code", "source": "x = 1", "cell_id": "c1", "outputs": [{"text": "done"}]}
    notebook = {"type": "notebook", "file": {"filePath": "/p/n.ipynb", "cells": [cell]}}
    pictured = cell | {"outputs": [{"image": {"image_data": "…"}}]}

    found = find("Read", {}, notebook)

    assert found is not None
    assert found.text == "[cell c1, code]\nx = 1\n[output]\ndone"
    assert found.replaced("NEW")["type"] == "text"
    notebook["file"]["cells"] = [pictured]  # type: ignore[index]
    assert find("Read", {}, notebook) is None


def test_pictures_beside_text_stay() -> None:
    """Only the text of an MCP answer is replaced."""
    picture = {"type": "image", "data": "…"}

    found = find("mcp__a__b", {}, [{"type": "text", "text": "t"}, picture])

    assert found is not None
    assert found.replaced("NEW") == [{"type": "text", "text": "NEW"}, picture]


@pytest.mark.parametrize(
    ("tool", "response"),
    [
        ("Unheard", BASH),
        ("Edit", {"filePath": "/p"}),
        ("Bash", BASH | {"isImage": True}),
        ("Bash", "a text"),
        ("Read", {"type": "image", "file": {}}),
        ("Read", {"type": "pdf"}),
        ("Agent", {"isAsync": True, "status": "async_launched", "content": []}),
        ("Agent", AGENT | {"content": [{"type": "image"}]}),
        ("mcp__a__b", {"content": []}),
        ("Glob", {"filenames": None}),
    ],
)
def test_what_is_not_known_to_be_replaceable_passes(tool: str, response: Any) -> None:
    """Unknown tools, pictures, agents that still run, shapes of other versions."""
    assert find(tool, {}, response) is None


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner),
    max_leaves=8,
)


@given(tool=st.sampled_from([answer[0] for answer in ANSWERS]), response=_JSON)
def test_no_answer_raises(tool: str, response: Any) -> None:
    """Foreign data of any shape is either understood or left alone."""
    find(tool, {}, response)


@given(response=st.text(), tool=st.just("mcp__a__b"))
def test_the_bytes_kept_are_those_of_the_text(tool: str, response: str) -> None:
    """Also where JSON wrote half of a surrogate pair."""
    found = find(tool, {}, response)

    assert found is not None
    kept = found.data.decode("utf-8", "surrogatepass")
    assert kept == response
