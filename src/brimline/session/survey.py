"""One pass over a session: what could be taken out of it, and what must stay.

Nothing is decided here: which results are old, and which of them the next request will contain, is
only known at the end of the file.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple
from zlib import crc32

from brimline.bulk import cold, stub
from brimline.transcript import pieces, read, row
from brimline.transcript.calls import Call
from brimline.transcript.compactions import LOADED_WHOLE_BYTES
from brimline.transcript.typed import Session

if TYPE_CHECKING:
    from typing import BinaryIO

    from brimline.bulk.previews import Original, Previews
    from brimline.transcript.read import Line, Progress
    from brimline.transcript.typed import Row

    Path = tuple[str | int, ...]
    Told = tuple[str, Path, str]

# Shorter texts of a result stay as they are.
SMALLEST_TEXT_BYTES = 700
_CHECKED_BYTES = 512
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False).encode


class Mark(NamedTuple):
    """A line, so that it can be found again and told from another one in its place."""

    offset: int
    length: int
    check: int


class Thought(NamedTuple):
    """A reply with thinking: where it begins, the id of its message, and its length."""

    offset: int
    message_id: str
    characters: int


@dataclass(slots=True, eq=False)
class Item:
    """A text of a result, which could be taken out."""

    mark: Mark
    uuid: str | None  # of its row
    disk_bytes: int  # what it takes on its line, as the client writes it
    call: Call
    path: Path  # how to get to it in its row
    segment: int  # how many compactions came before it
    size_bytes: int
    characters: int
    digest: str  # its SHA-256, which is its key in the store
    original: Original | None  # of a preview
    line: str = ""  # what stands in for it then
    is_again: bool = False  # whether an earlier row that changes has the same


@dataclass(slots=True)
class Conversation:
    """The calls and the thinking since a compaction."""

    segment: int = 0  # how many compactions came before it
    calls: dict[str, Call] = field(default_factory=dict)
    thoughts: list[Thought] = field(default_factory=list)
    results: dict[str, str] = field(default_factory=dict)  # the texts of the calls' results
    said: list[str] = field(default_factory=list)  # all other texts, and what calls were given

    def drop_thoughts_from(self, first: str | None) -> None:
        """Let go of those from a message on, all where it is empty; none where it is None."""
        names = [thought.message_id for thought in self.thoughts]
        if first == "" or first in names:
            del self.thoughts[names.index(first) if first else 0 :]


@dataclass(slots=True)
class Survey:
    """All that a plan is made from."""

    length: int = 0  # how many bytes were read
    lines: int = 0
    unparsed_lines: int = 0
    requests: int = 0
    model: str | None = None
    occupancy_tokens: int | None = None
    items: list[Item] = field(default_factory=list)
    # The parent of every row that has a name; of rows with one name, that of the first.
    parents: dict[str, str | None] = field(default_factory=dict)
    # What a resume sends.
    sent: Conversation = field(default_factory=Conversation)
    # The last row of the main thread that others may hang on.
    last_row: dict[str, Any] = field(default_factory=dict)
    # Names of rows that a compaction preserved.
    protected: set[str] = field(default_factory=set)
    # Calls whose results the client leaves out by itself.
    cleared: set[str] = field(default_factory=set)


def take_survey(
    stream: BinaryIO, length: int, progress: Progress, previews: Previews | None = None
) -> Survey:
    """Read the first `length` bytes of a session, of which it may be known what it was shown.

    Raises:
        OSError: it cannot be read.
    """
    surveyor = _Surveyor(previews)
    for line in read.lines_of_stream(stream, length, progress):
        surveyor.read_line(line)
    return surveyor.close()


class _Surveyor:
    def __init__(self, previews: Previews | None) -> None:
        self.found, self._previews = Survey(), previews
        self._session = Session()
        # The conversation as it is now, and as it is had the last compaction not been.
        self._now = self._undone = Conversation()
        self._held = [self._now]  # those that the present row belongs to

    def close(self) -> Survey:
        """Say what was found."""
        found, session = self.found, self._session
        is_undone = session.links.would_resume_undo_compaction
        is_loaded_whole = found.length < LOADED_WHOLE_BYTES
        found.sent = self._undone if is_undone and is_loaded_whole else self._now
        found.requests, found.cleared = len(session.requests), session.cut_by_client
        for last in session.requests[-1:]:
            found.model, found.occupancy_tokens = last.model, last.tokens
        return found

    def read_line(self, line: Line) -> None:
        found = self.found
        found.length += len(line.raw)
        if not line.part:
            found.lines += 1
            found.unparsed_lines += line.problem is not None
        for _, _, value in line.records:
            name, parent = row.uuid_of(value), value.get(row.PARENT_FIELD)
            if name is not None:
                known = sys.intern(parent) if isinstance(parent, str) else None
                found.parents.setdefault(sys.intern(name), known)
            self._survey_row(self._session.read_row(value, line.offset), line)

    def _survey_row(self, present: Row, line: Line) -> None:
        value, kind = present.value, row.type_of(present.value)
        if present.is_boundary:
            self._note_boundary(present)
        is_apart = self._undone is not self._now and not present.is_copy
        self._held = [self._now, self._undone] if is_apart else [self._now]
        if row.uuid_of(value) and not row.is_sidechain(value):
            self.found.last_row = value
        if kind == "assistant":
            self._note_reply(present)
        elif kind == "user" and not row.is_summary(value):
            self._note_user_row(present, line)
        elif kind in ("attachment", "system"):
            for held in self._held:
                held.drop_thoughts_from(row.thinking_stripped_from_id(value))

    def _note_boundary(self, present: Row) -> None:
        found = self.found
        if present.is_new_compaction:
            self._undone = self._undone if present.was_undone else self._now
        self._now = Conversation(self._now.segment + 1)
        uuids, head, name = present.preserved_ids_and_ends
        # What it names behind itself was written again.
        found.protected |= uuids & found.parents.keys()
        # The names between the two ends are not told, but their rows are linked.
        seen = 0
        while name and name != head and seen <= len(found.parents):
            found.protected.add(name)
            name, seen = found.parents.get(name), seen + 1

    def _note_reply(self, present: Row) -> None:
        if row.is_sidechain(present.value):
            return
        inputs = [call.arguments for call in row.main_thread_calls(present.value)]
        for held in self._held:
            held.calls |= {call.id: call for call in present.calls}
            held.said += map(cold.readable_input_text, inputs)
            held.said.append(row.text_of_message(present.value))
        if blocks := row.thinking_blocks(present.value):
            characters = sum(map(pieces.thought_characters, blocks))
            thought = Thought(present.offset, row.message_id(present.value) or "", characters)
            for held in self._held:
                held.thoughts.append(thought)

    def _note_user_row(self, present: Row, line: Line) -> None:
        value = present.value
        if not row.answered_call_ids(value):
            for held in self._held:
                held.said.append(row.text_of_message(value))
            return
        mark = _mark_of_changeable_line(line)
        for located in row.result_block_texts_at_paths(value):
            self._note_result(value, located, mark)
        for result in present.results:
            marks = {"is_error": result.is_error, "is_marked": result.is_marked}
            for held in self._held:
                if call := held.calls.get(result.call_id):
                    held.calls[call.id] = call.answered(result.text, **marks)
                    held.results[call.id] = result.text

    def _note_result(self, value: dict[str, Any], located: Told, mark: Mark | None) -> None:
        """Note a text of a result."""
        call_id, path, content = located
        data = _utf8_bytes_or_empty(content)
        original = self._previews.original_of(call_id, content) if self._previews else None
        line = stub.bytes_and_key_of_line(content)
        size_bytes = original.size_bytes if original else line[0] if line else len(data)
        if row.is_sidechain(value):
            return
        if len(data) < SMALLEST_TEXT_BYTES or mark is None:
            return
        item = Item(
            mark,
            row.uuid_of(value),
            len(json.encoder.encode_basestring(content).encode()),
            self._session.calls.get(call_id, Call(call_id, "", "")),
            path,
            self._now.segment,
            size_bytes,
            len(content),
            sha256(data).hexdigest(),
            original,
        )
        self.found.items.append(item)


def row_bytes(value: Any) -> bytes:
    """A row as the client writes it; half characters are escaped, as it does too."""
    try:
        return _encode(value).encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode()


def line_checksum(raw: bytes) -> int:
    """Tells a line from others of its length, by its end, where a row has its name or its time."""
    return crc32(raw[-_CHECKED_BYTES:])


def _mark_of_changeable_line(line: Line) -> Mark | None:
    """A line that may change: one sound object in UTF-8, to which nothing can be appended."""
    if line.only_row is not None and line.exact and line.is_ended:
        return Mark(line.offset, len(line.raw), line_checksum(line.raw))
    return None


def _utf8_bytes_or_empty(text: str) -> bytes:
    """The bytes of a text; none stand for half a character."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return b""
