"""Sessions in the client's shapes, sound ones and ones broken in every known way."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from brimline.session.faults import find_faults
from brimline.testing import SessionBuilder, text_block
from brimline.transcript import read as records

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from brimline.session.faults import Findings

Json = dict[str, Any]
Lines = list[bytes]


def call(name: str, **asked: Any) -> Json:
    return {"type": "tool_use", "id": name, "name": "Bash", "input": asked or {"command": "ls"}}


def worked(session: SessionBuilder) -> SessionBuilder:
    """Two prompts: one call, then two at once whose results come in the other order."""
    session.prompt("first prompt")
    session.reply(20_000, call("toolu_one"))
    session.tool_result("toolu_one", "ONE")
    session.reply(21_000, text_block("FIRST-END"))
    session.prompt("second prompt")
    rows = session.reply(22_000, call("toolu_two"), call("toolu_three"))
    session.tool_result("toolu_three", "THREE")
    session.parent = rows[0]["uuid"]
    session.tool_result("toolu_two", "TWO")
    session.reply(23_000, text_block("SECOND-END"))
    return session


def lines_of(session: SessionBuilder) -> Lines:
    with open(session.path, "rb") as file:
        return file.read().splitlines(keepends=True)


def sound_lines(folder: Path) -> Lines:
    return lines_of(worked(SessionBuilder(str(folder / "sound.jsonl"))))


def row(line: bytes) -> Json:
    found: Json = json.loads(line)
    return found


def line(value: Json) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"


def changed(old: bytes, **fields: Any) -> bytes:
    return line(row(old) | fields)


def index_of(lines: Lines, text: str) -> int:
    return next(number for number, data in enumerate(lines) if text.encode() in data)


def findings(data: bytes | Lines) -> Findings:
    whole = data if isinstance(data, bytes) else b"".join(data)
    return find_faults(records.lines_of_stream(io.BytesIO(whole)))


def kinds(data: bytes | Lines) -> list[str]:
    return [fault.kind for fault in findings(data).faults]


def dangling(lines: Lines) -> Lines:
    at = index_of(lines, "second prompt")
    lines[at] = changed(lines[at], parentUuid="00000000-dead-4bad-8bad-000000000000")
    return lines


def lost_call(lines: Lines) -> Lines:
    """The row with a call is gone: its result is an orphan, and has lost its parent."""
    del lines[index_of(lines, '"tool_use","id":"toolu_one"')]
    return lines


def lost_result(lines: Lines) -> Lines:
    """A result is gone: its call is unanswered, and the reply after it has lost its parent."""
    del lines[index_of(lines, '"tool_use_id":"toolu_one"')]
    return lines


def merged(lines: Lines) -> Lines:
    at = index_of(lines, "second prompt")
    lines[at] = lines[at].rstrip(b"\n")
    return lines


BREAKS: dict[str, Callable[[Lines], Lines]] = {
    "dangling_parent": dangling,
    "orphan_result": lost_call,
    "unanswered_call": lost_result,
    "merged_lines": merged,
}

_names = st.sampled_from(["a", "b", "c", "d", None, 5, ""])
_blocks = st.fixed_dictionaries(
    {
        "type": st.sampled_from(["tool_use", "tool_result", "text", 3]),
        "id": _names,
        "tool_use_id": _names,
    }
)
# Rows of any shape, whose ids repeat, point at each other, or are no ids at all.
ROWS = st.fixed_dictionaries(
    {
        "type": st.sampled_from(["user", "assistant", "system", "progress", None]),
        "uuid": _names,
        "parentUuid": _names,
        "isSidechain": st.booleans(),
        "isCompactSummary": st.booleans(),
        "message": st.one_of(
            st.none(),
            st.fixed_dictionaries({"id": _names, "content": st.lists(_blocks, max_size=3)}),
        ),
        "compactMetadata": st.one_of(st.none(), st.dictionaries(_names.map(str), _names)),
    }
)
