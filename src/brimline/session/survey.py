"""One pass over a session: what could be taken out of it, and what must stay.

Nothing is decided here. Which requests are recent, which reads were repeated and which results the
next request will contain is only known at the end of the file.
"""

from __future__ import annotations

import json
import re
import sys
from collections import deque
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple
from zlib import crc32

from brimline.session.context import ContextReader
from brimline.store import stub
from brimline.store.directives import Result, Said
from brimline.transcript import read
from brimline.transcript import row as shapes

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import BinaryIO

    from brimline.transcript.read import Line

TEXT, COPY, THOUGHT = "text", "copy", "thought"
# A reference takes about 400 bytes; where less than twice that is saved, the text stays.
SMALLEST_TEXT_BYTES = 1_000
# Not worth a change of the line.
SMALLEST_COPY_BYTES = 250
# What is left of a result that is cut.
KEPT_BYTES = 500
TRUNCATED = "[TRUNCATED - original: "
# Results that the client itself needs when it goes on with a session: agents, tasks, plans.
_KEPT_COPIES = ("Agent", "Task", "Todo", "Skill", "ExitPlanMode", "EnterPlanMode", "AskUser")
_WRITERS = frozenset({"Write", "Edit", "MultiEdit", "NotebookEdit"})
_FILE_TOOLS = _WRITERS | {"Read"}
_CUT = re.compile(re.escape(TRUNCATED) + r"(\d{1,18}) bytes\]$")
# A reference of another tool that does not say how much it stands for.
_ANY_BYTES = 1 << 62
_HEAD_CHARACTERS = 80
_CHECKED_BYTES = 512
# The last replies that are kept until one is found that says what its request took.
_REPLIES = 5
# Hardly any window holds more rows; beyond that the whole claim is kept to what was measured.
_MOST_CONTEXT_ROWS = 3_000
_PURGED_KINDS = ("tool_result", "thinking")
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False).encode


class Mark(NamedTuple):
    """A line, so that it can be found again and told from another one in its place."""

    offset: int
    length: int
    check: int


class Call(NamedTuple):
    """A tool call."""

    id: str
    name: str
    source: str | None
    """The file, command, address, … that it is about."""
    file: str | None
    lines: tuple[int, int]
    """The first line that a read asked for, and the first that it did not."""


class Text(NamedTuple):
    """One text in the result of a tool call."""

    call_id: str
    path: tuple[str | int, ...]
    """How to get to it in the row."""
    text: str
    is_error: bool

    @property
    def is_content(self) -> bool:
        """Whether it holds what was asked for."""
        return not self.is_error and not shapes.is_unchanged_notice(self.text)


def calls_in(row: dict[str, Any]) -> list[Call]:
    """The tool calls in a reply."""
    return [
        Call(
            one.id,
            one.name,
            shapes.subject_of(one.arguments),
            shapes.file_of(one.arguments),
            shapes.lines_of(one.arguments),
        )
        for one in shapes.tool_uses(row)
    ]


def texts_in(row: dict[str, Any]) -> list[Text]:
    """Every text in the results of a row."""
    return [Text(*found) for found in shapes.located_texts(row)]


@dataclass(slots=True)
class Item:
    """Something that could be taken out: a text of a result, a copy of one, or a thought."""

    kind: str
    mark: Mark
    path: tuple[str | int, ...]
    """How to get to it in its row."""
    request: int
    """The number of the request that it belongs to, the first being 1."""
    uuid: str | None
    disk_bytes: int
    """What it takes on its line, as the client writes it."""
    characters: int = 0
    is_main: bool = True
    segment: int = 0
    """How many compactions came before it."""
    turn: int = 0
    call: Call | None = None
    call_id: str = ""
    size_bytes: int = 0
    digest: str = ""
    """Its SHA-256, which is its key in the store."""
    is_error: bool = False
    head: str = ""
    """Its beginning: enough for an exit code, or for what is left of it when it is cut."""
    lines: int = 0


class Progress(NamedTuple):
    """A row that tells how far a tool or hook had come."""

    mark: Mark
    request: int
    name: str


@dataclass(slots=True)
class Survey:
    """All that a plan is made from."""

    length: int = 0
    """How many bytes were read."""
    lines: int = 0
    requests: int = 0
    segment: int = 0
    turn: int = 0
    model: str | None = None
    session_id: str | None = None
    occupancy_tokens: int | None = None
    scales: dict[str, float] = field(default_factory=dict)
    """By kind: what was measured, as `inspect` divides it, over what the lengths say."""
    items: list[Item] = field(default_factory=list)
    progress: list[Progress] = field(default_factory=list)
    parents: dict[str, str | None] = field(default_factory=dict)
    """The parent of every row that has a name; of rows with one name, that of the first."""
    uses: list[tuple[Call, bool]] = field(default_factory=list)
    """Calls on the main thread that read or, where True, wrote a file."""
    answered: set[str] = field(default_factory=set)
    """Calls on files whose results hold what was asked for."""
    referenced: set[str] = field(default_factory=set)
    """Names that rows other than progress rows need, or that more than one row has."""
    protected: set[str] = field(default_factory=set)
    """Names of rows that a compaction preserved."""
    cleared: set[str] = field(default_factory=set)
    """Calls whose results the client leaves out by itself."""
    conversation: list[Said | Result] = field(default_factory=list)
    first_message: tuple[Mark, dict[str, Any]] | None = None
    """The first message of the main thread, and what the client writes around it."""
    unparsed_lines: int = 0


def survey(
    stream: BinaryIO,
    length: int,
    *,
    threshold_bytes: int,
    thinking: bool = False,
    cuts: bool = False,
    progress: Callable[[int], None] | None = None,
) -> Survey:
    """Read a session.

    Args:
        stream: the session's file, at its beginning.
        length: how many bytes of it to read.
        threshold_bytes: from where on a result is large.
        thinking: whether to look for thoughts.
        cuts: whether results may be cut.
        progress: called with the number of bytes of each line.

    Raises:
        OSError: it cannot be read.
    """
    surveyor = _Surveyor(threshold_bytes, thinking=thinking, cuts=cuts)
    for line in read.lines(stream, length):
        surveyor.take_line(line)
        if progress:
            progress(len(line.raw))
    return surveyor.close()


class _Surveyor:
    def __init__(self, threshold_bytes: int, *, thinking: bool, cuts: bool) -> None:
        self.found = Survey()
        self.threshold_bytes = threshold_bytes
        self.smallest_bytes = min(threshold_bytes, SMALLEST_TEXT_BYTES)
        self.thinking, self.cuts = thinking, cuts
        self.calls: dict[str, Call] = {}
        self.requests: dict[str, int] = {}
        self.replies: deque[dict[str, Any]] = deque(maxlen=_REPLIES)
        self.request_of: dict[str, int] = {}
        self.context: ContextReader | None = ContextReader()
        self.last_name: str | None = None

    def take_line(self, line: Line) -> None:
        found = self.found
        found.length += len(line.raw)
        if not line.part:
            found.lines += 1
            found.unparsed_lines += line.problem is not None
        for _, _, row in line.records:
            name = row.get("uuid")
            if isinstance(name, str):
                if name in found.parents:
                    found.referenced.add(name)
                else:
                    parent = row.get(shapes.PARENT_FIELD)
                    known = sys.intern(parent) if isinstance(parent, str) else None
                    found.parents[sys.intern(name)] = known
                self.last_name = name
            if row.get("type") == shapes.PROGRESS:
                self._progress(row, line)
            else:
                self._take(row, line)

    def close(self) -> Survey:
        """Find out what the last request took."""
        found = self.found
        for row in self.replies:
            usage = shapes.usage_of(row)
            if usage:
                found.model, found.occupancy_tokens = usage.model, usage.prompt_tokens
        context = self.context.close() if self.context else None
        if context and context.measured_tokens is not None:
            found.scales = {kind: context.scale_of(kind) for kind in _PURGED_KINDS}
        if self.last_name:
            found.referenced.add(self.last_name)  # what is appended next hangs on it
        return found

    def _take(self, row: dict[str, Any], line: Line) -> None:
        if self.context:
            self.context.take(row)
            if self.context.size > _MOST_CONTEXT_ROWS:
                self.context = None
        self.found.referenced.update(map(sys.intern, shapes.references(row)))
        if shapes.is_boundary(row):
            self._boundary(row)
        kind = row.get("type")
        if kind == "assistant":
            self._reply(row, line)
        elif kind == "user":
            self._told(row, line)
        elif kind == "attachment":
            self._say(shapes.queued_prompt(row))
        elif kind == "system":
            self.found.cleared.update(shapes.cleared_ids(row))
        if kind in ("user", "assistant") and self.found.first_message is None:
            self._first(row, line)

    def _progress(self, row: dict[str, Any], line: Line) -> None:
        name = row.get("uuid")
        if not isinstance(name, str) or not _can_change(line) or name in self.found.referenced:
            self.found.referenced.update(shapes.references(row))
            return
        found = Progress(_mark(line), self.found.requests, sys.intern(name))
        self.found.progress.append(found)

    def _boundary(self, row: dict[str, Any]) -> None:
        found = self.found
        found.segment += 1
        kept = shapes.preserved(row)
        if kept is None:
            return
        uuids, head, name = kept
        found.protected |= uuids
        # The names between the two ends are not told, but their rows are linked.
        seen = 0
        while name and name != head and seen <= len(found.parents):
            found.protected.add(name)
            name, seen = found.parents.get(name), seen + 1

    def _reply(self, row: dict[str, Any], line: Line) -> None:
        found = self.found
        is_main = not shapes.is_sidechain(row)
        number = self._number(row) if is_main else found.requests
        for call in calls_in(row):
            self.calls[call.id] = call
            self.request_of[call.id] = number
            if is_main and call.file and call.name in _FILE_TOOLS:
                found.uses.append((call, call.name in _WRITERS))
        for index, characters in (
            shapes.thoughts(row) if self.thinking and _can_change(line) else ()
        ):
            block = _encode(row["message"]["content"][index]).encode("utf-8", "replace")
            item = self._item(THOUGHT, line, row, ("message", "content", index), number)
            item.disk_bytes, item.characters, item.is_main = len(block) + 1, characters, is_main

    def _number(self, row: dict[str, Any]) -> int:
        """The number of the request that a reply answers; rows of one reply share it."""
        name = shapes.message_id(row)
        if name is None or shapes.is_synthetic(row):
            return self.found.requests
        number = self.requests.get(name)
        if number is None:
            number = self.requests[name] = self.found.requests = self.found.requests + 1
            self.replies.append(row)
        return number

    def _told(self, row: dict[str, Any], line: Line) -> None:
        if shapes.is_summary(row):
            return
        ids = shapes.result_ids(row)
        if not ids:
            said = shapes.prompt_text(row)
            self.found.turn += bool(said)
            self._say(said)
            return
        texts = texts_in(row)
        is_main = not shapes.is_sidechain(row)
        taken = [self._result(row, text, line, is_main) for text in texts]
        call = self.calls.get(ids[0])
        if len(ids) == 1 and call and shapes.COPY_FIELD in row and _can_change(line):
            self._copy(row, call, line, [item for item in taken if item])
        if any(call and call.file for call in map(self.calls.get, ids)):
            useless = {
                t.call_id for t in texts if not t.is_content or replaced_bytes(t.text) is not None
            }
            self.found.answered.update(set(ids) - useless)

    def _say(self, said: str) -> None:
        if ":pin" in said.lower():
            self.found.conversation.append(Said(said))

    def _result(self, row: dict[str, Any], text: Text, line: Line, is_main: bool) -> Item | None:
        content = text.text
        was_bytes = replaced_bytes(content)
        if was_bytes is not None:
            if is_main and was_bytes >= self.threshold_bytes:
                self.found.conversation.append(Result(text.call_id))
            return None
        if len(content) * 4 < self.smallest_bytes:
            return None
        try:
            data = content.encode()
        except UnicodeEncodeError:  # half a character: no bytes stand for it
            return None
        if len(data) < self.smallest_bytes:
            return None
        if is_main and len(data) >= self.threshold_bytes:
            self.found.conversation.append(Result(text.call_id))
        if not _can_change(line):
            return None
        request = self.request_of.get(text.call_id, self.found.requests)
        item = self._item(TEXT, line, row, text.path, request)
        item.disk_bytes = len(json.encoder.encode_basestring(content).encode())
        item.call, item.call_id, item.is_main = self.calls.get(text.call_id), text.call_id, is_main
        item.size_bytes, item.characters = len(data), len(content)
        item.digest, item.is_error = sha256(data).hexdigest(), text.is_error
        item.lines = content.count("\n") + (not content.endswith("\n"))
        item.head = content[:_HEAD_CHARACTERS].partition("\n")[0]
        if self.cuts:
            item.head = data[:KEPT_BYTES].decode("utf-8", "ignore")
        return item

    def _copy(self, row: dict[str, Any], call: Call, line: Line, texts: list[Item]) -> None:
        """Note the client's own copy of a result; it takes what the rest of the line does not."""
        if call.name.startswith(_KEPT_COPIES):
            return
        copy = row.pop(shapes.COPY_FIELD)
        taken = [put_at(row, item.path, "") for item in texts]
        rest = len(_encode(row).encode("utf-8", "replace"))
        for item, text in zip(texts, taken, strict=True):
            put_at(row, item.path, text)
        row[shapes.COPY_FIELD] = copy
        size = len(line.raw) - 1 - rest - sum(item.disk_bytes - 2 for item in texts)
        if size >= SMALLEST_COPY_BYTES:
            request = self.request_of.get(call.id, self.found.requests)
            item = self._item(COPY, line, row, (shapes.COPY_FIELD,), request)
            item.disk_bytes = size

    def _item(
        self, kind: str, line: Line, row: dict[str, Any], path: tuple[str | int, ...], request: int
    ) -> Item:
        found = self.found
        item = Item(kind, _mark(line), path, request, shapes.uuid_of(row), 0)
        item.segment, item.turn = found.segment, found.turn
        found.items.append(item)
        return item

    def _first(self, row: dict[str, Any], line: Line) -> None:
        if shapes.is_sidechain(row) or not _can_change(line):
            return
        if shapes.PARENT_FIELD in row and shapes.uuid_of(row) is not None:
            self.found.first_message = _mark(line), {**shapes.envelope(row), "uuid": row["uuid"]}
            self.found.session_id = shapes.session_of(row)


def put_at(row: dict[str, Any], path: tuple[str | int, ...], value: Any) -> Any:
    """Put a value at the end of a path, and return the one that was there."""
    place: Any = row
    for step in path[:-1]:
        place = place[step]
    was = place[path[-1]]
    place[path[-1]] = value
    return was


def replaced_bytes(text: str) -> int | None:
    """How large a result was that is no longer itself but a reference, or cut; None otherwise."""
    if text.startswith(stub.BEGINNINGS):
        found = stub.parse(text)
        if found is not None:
            return _ANY_BYTES if found.content_bytes is None else found.content_bytes
    cut = _CUT.search(text[-_HEAD_CHARACTERS:]) if text.endswith("]") else None
    return int(cut[1]) if cut else None


def check_of(raw: bytes) -> int:
    """Tells a line from others of its length, by its end, where a row has its name or its time."""
    return crc32(raw[-_CHECKED_BYTES:])


def _can_change(line: Line) -> bool:
    """Whether a line is one sound object in sound UTF-8, to which nothing can be appended."""
    return len(line.records) == 1 and line.problem is None and line.exact and line.is_ended


def _mark(line: Line) -> Mark:
    return Mark(line.offset, len(line.raw), check_of(line.raw))
