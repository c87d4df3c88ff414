"""What holds for every session: a purge twice is a purge once."""

from __future__ import annotations

import json
import os
import tempfile
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brimline.session.purge import Options, Plan
from brimline.transcript import read

from .recorded import Recorded, plain

if TYPE_CHECKING:
    from collections.abc import Callable

    from brimline.testing import SessionBuilder

thorough = settings(max_examples=120)

SIZES = st.sampled_from([0, 10, 300, 900, 1_200, 4_000, 6_000])
WORDS = st.sampled_from(
    ["plain ", "naïve é ", 'quo"te \\ ', "\x00\x1f\u2028", "測試", "\U0001f600"]
)
TEXT = st.tuples(WORDS, SIZES).map(
    lambda pair: (pair[0] * (1 + pair[1] // len(pair[0])))[: pair[1]]
)
ODD = st.sampled_from(
    [
        b"\n",
        b"{\n",
        b"no json\n",
        b'{"type":"one"}{"type":"two"}\n',
        b'{"type":"user","message":{"content":"\xff"}}\n',
        b'\xef\xbb\xbf{"type":"bom"}\n',
        b'{"type":"crlf"}\r\n',
        b'{"type":"user","uuid":"d","uuid":"e","toolUseResult":1,"toolUseResult":2}\n',
        b'{"type":"x","type":"progress","uuid":"p","data":{}}\n',
        b'{ "type" : "spaced", "toolUseResult" : 1 }\n',
        b'{"type":"from-the-future","blob":"' + b"z" * 8_000 + b'"}\n',
        b'{"type":"long","text":"' + b"x" * (9 << 20) + b'"}\n',
    ]
)
STEP = st.one_of(
    st.tuples(st.just("call"), TEXT, st.sampled_from(["Bash", "Read", "Edit", "Agent", "mcp__x"])),
    st.tuples(st.just("list"), TEXT, TEXT),
    st.tuples(st.just("say"), st.sampled_from(["go", "brim:pin last", "ccm:pin next"])),
    st.tuples(st.just("reply"), st.integers(0, 2)),
    st.tuples(st.just("progress"), st.booleans()),
    st.tuples(st.just("compact"), st.booleans()),
    st.tuples(st.just("side"), TEXT),
    st.tuples(st.just("spaced"), TEXT),
    st.tuples(st.just("odd"), ODD),
    st.tuples(st.just("again"), st.integers(0, 9)),
    st.tuples(st.just("branch"), st.integers(0, 9)),
    st.tuples(st.just("merge")),
)
OPTIONS = st.builds(
    Options,
    threshold_bytes=st.sampled_from([1, 500, 1_000, 5_000]),
    keep_requests=st.integers(0, 3),
    keys=st.just(()),
    requests=st.just(()),
)
SESSIONS = st.tuples(st.lists(STEP, max_size=12), st.sampled_from([b"", b"{", b'{"type":"end"}']))


def write_call(session: SessionBuilder, text: str, tool: str) -> None:
    asked: dict[str, Any] = {"file_path": "/a.py"} if tool in ("Read", "Edit") else {"command": "x"}
    session.tool_result(session.tool_call(5_000, tool, **asked), text)


def write_list(session: SessionBuilder, *texts: str) -> None:
    call_id = session.tool_call(5_000, "mcp__y", query="q")
    content = [{"type": "text", "text": text} for text in texts]
    block = {"type": "tool_result", "tool_use_id": call_id, "content": content}
    session.row("user", message={"role": "user", "content": [block]}, toolUseResult=content)


def write_reply(session: SessionBuilder, thoughts: int) -> None:
    thought = {"type": "thinking", "thinking": "hm" * 40, "signature": "s" * 40}
    session.reply(6_000, *[thought] * thoughts, {"type": "text", "text": "ok"})


def write_progress(session: SessionBuilder, in_chain: bool) -> None:
    last = session.parent
    session.row("progress", data={"type": "x", "output": "y" * 50})
    session.parent = session.parent if in_chain else last


def write_spaced(session: SessionBuilder, text: str) -> None:
    """A result in another hand: blanks, escapes, the copy first and with the same name in it."""
    call_id = session.tool_call(5_000, command="x")
    block = {"type": "tool_result", "tool_use_id": call_id, "content": text}
    copy = {"content": text, "more": "z" * 300}
    row = {"toolUseResult": copy, "type": "user", "message": {"content": [block]}, "uuid": call_id}
    session.raw(json.dumps(row, separators=(", ", ": ")) + "\n")


def earlier(session: SessionBuilder, number: int) -> bytes:
    with open(session.path, "rb") as file:
        lines = [line for line in file if line.endswith(b"\n")]
    return lines[number] if number < len(lines) else b""


def branch(session: SessionBuilder, number: int) -> None:
    for record in read.Line(1, 0, earlier(session, number)).records:
        session.parent = record.value.get("uuid", session.parent)


def merge(session: SessionBuilder) -> None:
    """Take the last line's end away, so that the next row follows on the same line."""
    if size := os.path.getsize(session.path):
        os.truncate(session.path, size - 1)


WRITERS: dict[str, Callable[..., Any]] = {
    "call": write_call,
    "list": write_list,
    "say": lambda session, text: session.prompt(text),
    "reply": write_reply,
    "progress": write_progress,
    "compact": lambda session, legacy: session.compact(9_000, legacy=legacy),
    "side": lambda session, text: session.tool_result(
        session.tool_call(5_000, command="x"), text, isSidechain=True
    ),
    "spaced": write_spaced,
    "odd": lambda session, line: session.raw(line),
    "again": lambda session, number: session.raw(earlier(session, number)),
    "branch": branch,
    "merge": merge,
}


def recorded(folder: str, built: tuple[list[Any], bytes]) -> Recorded:
    """A session and a data folder for one example."""
    session = Recorded(f"{folder}/s.jsonl", home_dir=f"{folder}/home")
    session.raw(b"")
    for kind, *values in built[0]:
        WRITERS[kind](session, *values)
    session.raw(built[1])
    if not session.data.endswith(b"\n"):  # a line in the making is not copied
        session.raw(b"\n")
    return session


def purge(session: Recorded, options: Options) -> Plan:
    """Purge it where there is something to purge."""
    plan = session.plan(options)
    if plan.changes:
        session.purge(plan)
        session.data = plain(session.data)
    return plan


def structure_of(session: Recorded) -> tuple[Counter[str], list[Any], list[Any]]:
    """What must be kept, gathered without the code under test: types, ties, the chain up."""
    types: Counter[str] = Counter()
    parents: dict[str, Any] = {}
    ties: list[Any] = []
    chain: list[Any] = [None]
    with open(session.path, "rb") as file:
        rows = [one.value for line in read.lines_of_stream(file) for one in line.records]
    for row in rows:
        types[str(row.get("type"))] += 1
        if "uuid" in row:
            parents.setdefault(row["uuid"], row.get("parentUuid"))
        if row.get("type") in ("user", "assistant") and "uuid" in row:
            chain = chain if row.get("isSidechain") else [row["uuid"]]
        told = row.get("message")
        message = told if isinstance(told, dict) else {}
        content = message.get("content")
        blocks = content if isinstance(content, list) else []
        pairs = [(one["type"], one.get("id"), one.get("tool_use_id")) for one in blocks]
        if message:
            ties.append((row.get("uuid"), message.get("id"), message.get("usage"), pairs))
    while chain[-1] in parents and chain[-1] not in chain[:-1]:
        chain.append(parents[chain[-1]])
    return types, ties, chain


@pytest.mark.row("S3-42", "S3-50", "S3-51")
@thorough
@given(built=SESSIONS, options=OPTIONS)
def test_a_purge_keeps_structure_and_other_lines_and_is_done_once(
    built: Any, options: Options
) -> None:
    """Only progress rows go; lines that no plan names stay in their order, byte for byte."""
    with tempfile.TemporaryDirectory() as folder:
        session = recorded(folder, built)
        original, (types, ties, chain) = session.data, structure_of(session)

        plan = purge(session, options)

        once, (types_after, *after) = session.data, structure_of(session)
        assert after == [ties, chain]
        assert set(types - types_after) <= {"progress"}
        named = {mark.offset for mark in plan.changes}
        kept, offset = [], 0
        for line in original.splitlines(keepends=True) if b"\r" not in original else []:
            kept += [line.rstrip(b"\n")] if offset not in named else []
            offset += len(line)
        rest = iter(once.split(b"\n"))
        assert all(line in rest for line in kept)
        assert not purge(session, options).changes
        assert session.data == once
