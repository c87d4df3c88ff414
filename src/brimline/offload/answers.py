"""Tool calls of a session with the client's own record of their answers, in order.

Fast path: imports only `brimline.fast.json`, `brimline.transcript.row` and `.tail`. Of a transcript
only the end is read, and of that only the calls that are wanted are parsed with their answers.
"""

from __future__ import annotations

from brimline.fast import json
from brimline.transcript import tail
from brimline.transcript.row import COPY_FIELD, content_blocks, cwd_of, is_block, result_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

_CALL, _RESULT, _RESULT_ID = b'"tool_use"', b'"tool_result"', b'"tool_use_id"'
_ID_BYTES = 200
_END_BYTES = 4 << 20


class Answer:
    """One call, and what it brought."""

    __slots__ = ("cwd", "response", "text", "tool", "tool_input")

    def __init__(self, tool: str, tool_input: dict[str, Any]) -> None:
        self.tool = tool
        self.tool_input = tool_input
        # In the shape that hooks are given; None where the client kept none.
        self.response: Any = None
        # What the model was sent.
        self.text = ""
        self.cwd = ""


def recorded(
    path: str, marks: tuple[bytes, ...], is_wanted: Callable[[str, dict[str, Any]], bool]
) -> Iterator[Answer]:
    """The answered calls of the main thread, the first one first, as far as a walk goes back.

    Args:
        path: the transcript.
        marks: a line without any of these holds no call that is wanted.
        is_wanted: whether a call is, by its tool and input.

    Raises:
        OSError: the file cannot be read, or is not a regular file.
    """
    kept = [
        line
        for _, line in tail.lines_backward(path)
        if _RESULT in line or (_CALL in line and any(mark in line for mark in marks))
    ]
    calls: dict[str, Answer] = {}
    for line in reversed(kept):
        if _RESULT in line and calls.keys().isdisjoint(_call_ids(line)):
            continue
        for row in json.loads_all(line.decode("utf-8", "replace")):
            _expect(calls, row, is_wanted)
            yield from _answered(calls, row)


def mentions(path: str, call_id: str) -> bool:
    """Whether the end of a transcript holds a call, or whatever else has its id.

    Raises:
        OSError: the file cannot be read, or is not a regular file.
    """
    wanted, end = call_id.encode("utf-8", "replace"), None
    for offset, line in tail.lines_backward(path):
        if wanted in line:
            return True
        end = offset + len(line) if end is None else end
        if end - offset > _END_BYTES:
            break
    return False


def _call_ids(line: bytes) -> Iterator[str]:
    """The ids of the calls that the results in a line answer."""
    at = line.find(_RESULT_ID)
    while at >= 0:
        at += len(_RESULT_ID)
        parts = line[at : at + _ID_BYTES].split(b'"')
        if len(parts) > 1:
            yield parts[1].decode("utf-8", "replace")
        at = line.find(_RESULT_ID, at)


def _expect(
    calls: dict[str, Answer], row: Any, is_wanted: Callable[[str, dict[str, Any]], bool]
) -> None:
    for block in content_blocks(row):
        if is_block(block, "tool_use"):
            name, asked = str(block.get("name")), block.get("input")
            if isinstance(asked, dict) and is_wanted(name, asked):
                calls[str(block.get("id"))] = Answer(name, asked)


def _answered(calls: dict[str, Answer], row: Any) -> Iterator[Answer]:
    results = [b for b in content_blocks(row) if is_block(b, "tool_result")]
    for block in results:
        answer = calls.pop(str(block.get("tool_use_id")), None)
        if answer is not None:
            answer.response = row.get(COPY_FIELD) if len(results) == 1 else None
            answer.text = result_text(block)
            answer.cwd = cwd_of(row) or ""
            yield answer
