"""One pass over a session: what could be taken out of it, and what must stay.

Nothing is decided here. Which requests are recent, which reads were repeated and which results the
next request will contain is only known at the end of the file.
"""

from __future__ import annotations

import re
import sys
from collections import deque
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from brimline.purge import parts, spans, verify
from brimline.purge.inspect_context import ContextReader
from brimline.purge.plan_items import (
    Copy,
    FileUse,
    Mark,
    Place,
    ResultText,
    Survey,
    Thought,
    check_of,
)
from brimline.store import stub
from brimline.store.directives import Result, Said
from brimline.transcript import read
from brimline.transcript.row import is_boundary, is_summary, prompt_text, usage_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import BinaryIO

    from brimline.purge.parts import Call, Text
    from brimline.transcript.read import Line

# A reference takes about 400 bytes; where less than twice that is saved, the text stays.
SMALLEST_TEXT_BYTES = 1_000
# Not worth an entry in the list of what was removed.
SMALLEST_COPY_BYTES = 250
# Results that the client itself needs when it goes on with a session: agents, tasks, plans.
_KEPT_COPIES = ("Agent", "Task", "Todo", "Skill", "ExitPlanMode", "EnterPlanMode", "AskUser")
_WRITERS = frozenset({"Write", "Edit", "MultiEdit", "NotebookEdit"})
_FILE_TOOLS = _WRITERS | {"Read"}
_REPLACED = ("[brimline stored ", "[CCM_CACHED]")
TRUNCATED = "[TRUNCATED - original: "
_CUT = re.compile(re.escape(TRUNCATED) + r"(\d{1,18}) bytes\]$")
# A reference of another tool that does not say how much it stands for.
_ANY_BYTES = 1 << 62
_HEAD_CHARACTERS = 80
# The last replies that are kept until one is found that says what its request took.
_REPLIES = 5
# Hardly any window holds more rows; beyond that the whole claim is kept to what was measured.
_MOST_CONTEXT_ROWS = 3_000
_PURGED_KINDS = ("tool_result", "thinking")


def survey(
    stream: BinaryIO,
    length: int,
    *,
    threshold_bytes: int,
    thinking: bool = False,
    head_bytes: int = 0,
    progress: Callable[[int], None] | None = None,
) -> Survey:
    """Read a session.

    Args:
        stream: the session's file, at its beginning.
        length: how many bytes of it to read.
        threshold_bytes: from where on a result is large.
        thinking: whether to look for thoughts.
        head_bytes: how much of a result is left when it is cut; 0 where none will be.
        progress: called with the number of bytes of each line.

    Raises:
        OSError: it cannot be read.
    """
    surveyor = _Surveyor(threshold_bytes, thinking=thinking, head_bytes=head_bytes)
    for line in read.lines(stream, length):
        surveyor.take_line(line)
        if progress:
            progress(len(line.raw))
    surveyor.close()
    return surveyor.found


class _Surveyor:
    def __init__(self, threshold_bytes: int, *, thinking: bool, head_bytes: int) -> None:
        self.found = Survey()
        self.threshold_bytes = threshold_bytes
        self.smallest_bytes = min(threshold_bytes, SMALLEST_TEXT_BYTES)
        self.thinking = thinking
        self.head_bytes = head_bytes
        self.calls: dict[str, Call] = {}
        self.requests: dict[str, int] = {}
        self.replies: deque[dict[str, Any]] = deque(maxlen=_REPLIES)
        self.request_of: dict[str, int] = {}
        self.context: ContextReader | None = ContextReader()

    def take_line(self, line: Line) -> None:
        found = self.found
        raw, rows_found, problem = line.raw, line.records, line.problem
        ended = raw.endswith(b"\n")
        found.length += len(raw)
        if ended:
            found.ended_length = found.length
        if not line.part:
            found.lines += 1
            found.unparsed_lines += problem is not None
        if problem is None and len(raw) > found.longest_parsed_bytes:
            found.longest_parsed_bytes = len(raw)
        for _, _, row in rows_found:
            # A line without an end may still grow: it counts when it is whole.
            if ended:
                found.facts.take(row)
            if row.get("type") == parts.PROGRESS:
                self._progress(row, line)
            else:
                self._take(row, line)

    def close(self) -> None:
        """Find out what the last request took."""
        for row in self.replies:
            usage = usage_of(row)
            if usage:
                self.found.model, self.found.occupancy_tokens = usage.model, usage.prompt_tokens
        context = self.context.close() if self.context else None
        if context and context.measured_tokens is not None:
            self.found.scales = {kind: context.scale_of(kind) for kind in _PURGED_KINDS}

    def _take(self, row: dict[str, Any], line: Line) -> None:
        if self.context:
            self.context.take(row)
            if self.context.rows > _MOST_CONTEXT_ROWS:
                self.context = None
        self.found.referenced.update(map(sys.intern, parts.references(row)))
        if is_boundary(row):
            self._boundary(row)
        kind = row.get("type")
        if kind == "assistant":
            self._reply(row, line)
        elif kind == "user":
            self._told(row, line)
        elif kind == "attachment":
            self._say(parts.queued_prompt(row))
        elif kind == "system":
            self.found.cleared.update(parts.cleared_ids(row))

    def _progress(self, row: dict[str, Any], line: Line) -> None:
        name = row.get("uuid")
        if not isinstance(name, str) or not _can_change(line):
            self.found.referenced.update(parts.references(row))
            return
        found = self.found.progress
        found.offsets.append(line.offset)
        found.lengths.append(len(line.raw))
        found.checks.append(check_of(line.raw))
        found.requests.append(self.found.requests)
        found.names.append(sys.intern(name))
        if name in self.found.facts.repeated:
            # The structure knows the parent of the first row of a name only.
            self.found.referenced.update(parts.references(row))

    def _boundary(self, row: dict[str, Any]) -> None:
        found = self.found
        found.segment += 1
        found.is_compacted = True
        kept = parts.preserved(row)
        if kept is None:
            return
        found.protected |= kept.uuids
        # The names between the two ends are not told, but their rows are linked.
        name, seen = kept.tail, 0
        while name and name != kept.head and seen <= len(found.facts.parents):
            found.protected.add(name)
            name, seen = found.facts.parents.get(name), seen + 1

    def _reply(self, row: dict[str, Any], line: Line) -> None:
        found = self.found
        is_main = not parts.is_sidechain(row)
        number = self._number(row) if is_main else found.requests
        for call in parts.calls(row):
            self.calls[call.id] = call
            self.request_of[call.id] = number
            if is_main and call.file and call.name in _FILE_TOOLS:
                found.uses.append(FileUse(call, call.name in _WRITERS))
        if found.first_message is None:
            self._first(row, line)
        if self.thinking and _can_change(line):
            self._thoughts(row, line, number, is_main=is_main)

    def _number(self, row: dict[str, Any]) -> int:
        """The number of the request that a reply answers; rows of one reply share it."""
        name = parts.message_id(row)
        if name is None or parts.is_synthetic(row):
            return self.found.requests
        number = self.requests.get(name)
        if number is None:
            number = self.requests[name] = self.found.requests = self.found.requests + 1
            self.replies.append(row)
        return number

    def _thoughts(self, row: dict[str, Any], line: Line, number: int, *, is_main: bool) -> None:
        found = self.found
        thoughts = parts.thoughts(row)
        start = line.records[0].start
        span = spans.find(line.raw, start, ("message", "content")) if thoughts else None
        if span is None:
            return
        blocks = spans.find_items(line.raw, span.start)
        sizes = tuple(block.end - block.start for block in blocks)
        for index, characters in thoughts if blocks else []:
            place = (_mark(line), span, number, parts.uuid_of(row))
            found.thoughts.append(
                Thought(
                    *place,
                    index=index,
                    sizes=sizes,
                    characters=characters,
                    is_main=is_main,
                    segment=found.segment,
                    turn=found.turn,
                )
            )

    def _told(self, row: dict[str, Any], line: Line) -> None:
        found = self.found
        ids = parts.result_ids(row)
        if is_summary(row):
            self._first(row, line)
            return
        if not ids:
            self._prompt(row)
            self._first(row, line)
            return
        is_main = not parts.is_sidechain(row)
        for text in parts.result_texts(row):
            self._result(row, text, line, is_main=is_main)
        call = self.calls.get(ids[0])
        if len(ids) == 1 and call and parts.COPY_FIELD in row and _can_change(line):
            self._copy(row, call, line)
        if found.first_message is None:
            self._first(row, line)
        found.answered.update(self._useful(row, ids))

    def _useful(self, row: dict[str, Any], ids: list[str]) -> list[str]:
        """The calls on files whose results hold what was asked for."""
        if not any(call and call.file for call in map(self.calls.get, ids)):
            return []
        useless = {
            text.call_id
            for text in parts.result_texts(row)
            if text.is_error
            or parts.is_unchanged_notice(text.text)
            or replaced_bytes(text.text) is not None
        }
        return [call_id for call_id in ids if call_id not in useless]

    def _prompt(self, row: dict[str, Any]) -> None:
        said = prompt_text(row)
        if said:
            self.found.turn += 1
            self._say(said)

    def _say(self, said: str) -> None:
        if ":pin" in said.lower():
            self.found.conversation.append(Said(said))

    def _result(self, row: dict[str, Any], text: Text, line: Line, *, is_main: bool) -> None:
        content = text.text
        if len(content) * 4 < self.smallest_bytes:
            return
        was_bytes = replaced_bytes(content)
        if was_bytes is not None:
            if is_main and was_bytes >= self.threshold_bytes:
                self.found.conversation.append(Result(text.call_id))
            return
        if content.isascii() and len(content) < self.smallest_bytes:
            return
        try:
            data = content.encode()
        except UnicodeEncodeError:  # half a character: no bytes stand for it
            return
        if len(data) < self.smallest_bytes:
            return
        if is_main and len(data) >= self.threshold_bytes:
            self.found.conversation.append(Result(text.call_id))
        if not _can_change(line):
            return
        span = spans.find_text(line.raw, line.records[0].start, text.path, content)
        if span is not None:
            call = self.calls.get(text.call_id)
            self.found.texts.append(
                ResultText(
                    _mark(line),
                    span,
                    self.request_of.get(text.call_id, self.found.requests),
                    parts.uuid_of(row),
                    call=call,
                    call_id=text.call_id,
                    is_main=is_main,
                    segment=self.found.segment,
                    size_bytes=len(data),
                    characters=len(content),
                    digest=sha256(data).hexdigest(),
                    is_error=text.is_error,
                    head=self._head(content, data),
                    lines=content.count("\n") + (not content.endswith("\n")),
                )
            )

    def _head(self, content: str, data: bytes) -> str:
        if self.head_bytes:
            return data[: self.head_bytes].decode("utf-8", "ignore")
        return content[:_HEAD_CHARACTERS].partition("\n")[0]

    def _copy(self, row: dict[str, Any], call: Call, line: Line) -> None:
        if call.name.startswith(_KEPT_COPIES):
            return
        start = line.records[0].start
        span = spans.find_before_end(line.raw, parts.COPY_FIELD, row) or spans.find_member(
            line.raw, start, parts.COPY_FIELD
        )
        if span is not None and span.end - span.start >= SMALLEST_COPY_BYTES:
            request = self.request_of.get(call.id, self.found.requests)
            size = span.end - span.start
            self.found.copies.append(
                Copy(_mark(line), span, request, parts.uuid_of(row), size_bytes=size)
            )

    def _first(self, row: dict[str, Any], line: Line) -> None:
        """Note the first message of the main thread, by the place of its parent's name."""
        found = self.found
        if found.first_message is None and not parts.is_sidechain(row) and _can_change(line):
            span = spans.find(line.raw, line.records[0].start, (parts.PARENT_FIELD,))
            if span is not None and parts.uuid_of(row) is not None:
                found.first_message = Place(_mark(line), span, 0, parts.uuid_of(row))
                found.envelope = parts.envelope(row)
                found.session_id = parts.session_of(row)


def replaced_bytes(text: str) -> int | None:
    """How large a result was that is no longer itself but a reference, or cut; None otherwise."""
    if text.startswith(_REPLACED):
        found = stub.parse(text)
        if found is not None:
            return _ANY_BYTES if found.content_bytes is None else found.content_bytes
    cut = _CUT.search(text[-_HEAD_CHARACTERS:]) if text.endswith("]") else None
    return int(cut[1]) if cut else None


def _can_change(line: Line) -> bool:
    """Whether a line is one sound object in sound UTF-8, to which nothing can be appended."""
    return len(line.records) == 1 and line.problem is None and line.exact and line.is_ended


def _mark(line: Line) -> Mark:
    ties = verify.ties_of(line.records[0].value)
    return Mark(line.offset, len(line.raw), check_of(line.raw), ties)
