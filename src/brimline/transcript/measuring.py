"""The rows that tell how large a session grew and what it cost, without the texts of its replies.

Results of tools are most of a session's bytes and tell nothing of it: their lines are passed over
by how they begin. What a reply says is cut out of its line before that is parsed, and a further
row of the same reply with the same figures is left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from brimline.fast import json
from brimline.transcript import read, row

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

    from brimline.transcript.read import Progress

# How the client writes a line: where its message begins, how one with results of tools goes on,
# and what stands around the content of a reply.
_MESSAGE_KEY, _MESSAGE = b'"message"', b'"message":{'
_RESULT_BEGINNINGS = tuple(
    _MESSAGE + b'"role":"user","content":[{' + how
    for how in (b'"tool_use_id":', b'"type":"tool_result"')
)
_REPLY_CONTENT, _REPLY_CONTENT_END = b'"role":"assistant","content":[', b'],"stop_reason":'
_BEGINNING = b'{"%b":' % row.PARENT_FIELD.encode()
_ID, _NAME = b'"id":"', b',"uuid":"'
USAGE = b'"usage"'
# A line without one of these measures nothing and is no compaction. Quotes inside JSON texts are
# escaped, so only a real key can match the first.
MARKS = (USAGE, b"ompact", b'"tool_results_cut"')
# And one of these holds what was attached, a title, or what somebody typed; most rows of users are
# results of tools.
ATTACHMENT, TITLE = b'"attachment"', b'-title"'
PROMPTS = tuple(
    b'"role":"user","content":' + how for how in (b'"', b'[{"type":"text"', b'[{"type":"image"')
)
_IN_MESSAGES = (USAGE, *PROMPTS)
# Where a message begins on its line, at most: only the folder before it can be long.
_HEAD_BYTES = 2_048


def rows_that_measure(
    stream: BinaryIO,
    marks: tuple[bytes, ...] = MARKS,
    progress: Progress = None,
    length: int | None = None,
) -> Iterator[tuple[int, dict[str, Any]]]:
    """The rows of lines that hold a mark, from where a stream is, each with its line's place.

    Args:
        stream: a file opened for reading bytes.
        marks: lines without any of these are not even parsed.
        progress: called with the number of bytes that were read.
        length: how many bytes to read at most.
    """
    last, elsewhere = b"", tuple(mark for mark in marks if mark not in _IN_MESSAGES)
    for offset, line in read.lines_with_offsets(stream, length, progress):
        at = line.find(_MESSAGE, 0, _HEAD_BYTES)
        is_alone = line.find(_BEGINNING, 1) < 0  # two rows may be on a line
        if at >= 0 and is_alone and line.startswith(_RESULT_BEGINNINGS, at):
            continue
        figures, rest = _figures_and_rest_of_reply(line) if at >= 0 and is_alone else (b"", b"")
        looked_for = marks if at >= 0 or len(line) > _HEAD_BYTES else elsewhere
        if (figures and figures == last) or not (rest or _may_measure(line, at, looked_for)):
            continue
        last = figures
        rows = json.parse_all_on_line(rest) if rest else []
        for value in rows or json.parse_all_on_line(line):
            if isinstance(value, dict):
                yield offset, value


def _may_measure(line: bytes, message_at: int, marks: tuple[bytes, ...]) -> bool:
    if message_at < 0 and _MESSAGE_KEY in line:
        return True  # another program put it on its line in a way of its own
    for mark in marks:  # noqa: SIM110 - it is faster
        if mark in line:
            return True
    return False


def _figures_and_rest_of_reply(line: bytes) -> tuple[bytes, bytes]:
    """What a reply's further rows repeat, and its line without what it says; empty where unsure.

    What stands before and behind the content gives a row by itself only if the content was cut out
    whole: brackets would not match otherwise.
    """
    behind = line.rfind(_REPLY_CONTENT_END)
    opening = line.find(_REPLY_CONTENT, 0, behind) if behind >= 0 else -1
    if opening < 0 or USAGE not in (tail := line[behind:]):
        return b"", b""
    head = line[: opening + len(_REPLY_CONTENT)]
    own, name = head.find(b","), tail.find(_NAME)
    is_named = name >= 0 and _ID in head
    return head[own:] + tail[:name] if is_named else b"", head + tail
