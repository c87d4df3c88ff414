"""What a session knew before its first hook: previews, looks and edits in its transcript.

Loaded once in a session that was resumed or forked. A fork begins with the rows of the session
that it came from under an id of its own, and with none of its marks.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple

from brimline.fast import json, paths
from brimline.offload import commands, recalls, tool_results
from brimline.offload.hook import EDITING, OFFERED_RESULTS
from brimline.store import stub
from brimline.transcript import row, tail

if TYPE_CHECKING:
    from collections.abc import Iterator

    from brimline.hooks.turn import Turn
    from brimline.offload.looks import Looks

_CALL, _RESULT = b'"tool_use"', b'"tool_result"'
_MARKS = (b'"Read"', b'"Edit"', b'"Write"', b'"NotebookEdit"', b"brimline")
# Offers are good for ten results; a call and its result are a line each, and others lie between.
_RECENT_LINES = 24
_END_BYTES = 4 << 20
_HEAD_CHARACTERS = 4_000
# The client was seen to write a call up to 67 ms after the hook before it was started.
_ATTEMPTS = 50
_PAUSE_S = 0.02
# What the client puts before each line of a file.
_NUMBERING = " 0123456789\t→"


class _Answer(NamedTuple):
    """One call, and what it brought."""

    tool: str
    tool_input: dict[str, Any]
    response: Any
    """In the shape that hooks are given; None where the client kept none."""
    text: str
    """What the model was sent."""
    cwd: str


def take_over(turn: Turn, looks: Looks, *, waits: bool = False) -> None:
    """Mark what the transcript shows as a preview, the looks at it since, and changed files.

    A fork's transcript is written while its first calls are on their way: what comes before a call
    is in it once the call is.

    Args:
        turn: the event at hand.
        looks: takes the marks.
        waits: whether to wait for the call, and to leave it at that if it does not come.
    """
    written = _is_written(turn)
    for _ in range(_ATTEMPTS if waits and not written else 0):
        time.sleep(_PAUSE_S)
        written = _is_written(turn)
        if written:
            break
    try:
        _replay(turn, looks)
    except OSError:
        pass  # a session that has no transcript has no past that could be known
    if written or waits:
        looks.note_past()


def _is_written(turn: Turn) -> bool:
    """Whether the end of the transcript holds the call at hand."""
    wanted, end = turn.event.call_id.encode("utf-8", "replace"), None
    try:
        for offset, line in tail.lines_backward(turn.event.transcript):
            if wanted in line:
                return True
            end = offset + len(line) if end is None else end
            if end - offset > _END_BYTES:
                break
    except OSError:
        return False
    return not wanted


def _replay(turn: Turn, looks: Looks) -> None:
    answers = list(_answers(turn.event.transcript))
    open_offers: set[str] = set()
    for at, answer in enumerate(answers):
        head = answer.text[:_HEAD_CHARACTERS]
        is_preview = head.lstrip(_NUMBERING).startswith(stub.BEGINNINGS)
        if at >= len(answers) - OFFERED_RESULTS:
            offered = {looks.call_name("", answer.tool, answer.tool_input)}
            open_offers = open_offers | offered if is_preview else open_offers - offered
        path = answer.tool_input.get("file_path")
        if isinstance(path, str):
            path = paths.completed(path, answer.cwd)
            _look(answer, path, head if is_preview else "", looks)
        elif commands.fetches(answer.tool, answer.tool_input):
            _recall(turn, answer, looks)
    for call in open_offers:
        looks.offer(call, "")


def _look(answer: _Answer, path: str, preview: str, looks: Looks) -> None:
    if answer.tool in EDITING:
        looks.note_edit(path)
    elif answer.tool == "Read" and preview:
        text = "\n".join([line.lstrip(_NUMBERING) for line in preview.split("\n")])
        known = stub.parse(text)
        if known:
            total = tool_results.total_lines(text, known.lines or 0)
            looks.note_preview(path, known.key, total)
    elif answer.tool == "Read":
        found = tool_results.find(answer.tool, answer.tool_input, answer.response)
        if found and found.lines:
            looks.note_lines(path, found.lines)


def _recall(turn: Turn, answer: _Answer, looks: Looks) -> None:
    found = tool_results.find(answer.tool, answer.tool_input, answer.response)
    for fetched in recalls.fetched(turn, answer.tool, answer.tool_input, found) if found else ():
        if fetched.lines:
            looks.note_recalled(fetched.key, *fetched.lines)


def _answers(path: str) -> Iterator[_Answer]:
    """The answered calls of the main thread that matter, the first one first.

    Only the end of a long transcript is read, and of that only what is wanted is parsed.

    Raises:
        OSError: the file cannot be read, or is not a regular file.
    """
    kept: list[bytes] = []
    for _, line in tail.lines_backward(path):
        recent = len(kept) < _RECENT_LINES
        wanted = _CALL in line and (recent or any(mark in line for mark in _MARKS))
        if wanted or _RESULT in line:
            kept.append(line)
    calls: dict[str, tuple[str, dict[str, Any]]] = {}
    for line in reversed(kept):
        if _CALL not in line and not any(call.encode() in line for call in calls):
            continue
        for found in json.loads_all(line.decode("utf-8", "replace")):
            yield from _answered(calls, found)


def _answered(calls: dict[str, tuple[str, dict[str, Any]]], line: Any) -> Iterator[_Answer]:
    blocks = row.content_blocks(line)
    results = [block for block in blocks if row.is_block(block, "tool_result")]
    for used in row.tool_uses(line):
        calls[used.id] = (used.name, used.arguments)
    for block in results:
        call = calls.pop(str(block.get("tool_use_id")), None)
        if call is not None:
            response = line.get(row.COPY_FIELD) if len(results) == 1 else None
            yield _Answer(*call, response, row.result_text(block), row.cwd_of(line) or "")
