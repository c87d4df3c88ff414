"""Writes the session that a plan describes, stores what it takes out, and notes how to undo it."""

from __future__ import annotations

import json
from hashlib import blake2b, sha256
from typing import TYPE_CHECKING

from brimline.purge import parts as row_parts
from brimline.purge import plan as planning
from brimline.purge import spans, strategies_opt_in, stubbing, verify
from brimline.purge.errors import PurgeError
from brimline.purge.plan_items import check_of
from brimline.purge.restore_record import ADDED, CHANGED, DROPPED, Content, Patch, Piece, Step
from brimline.store import layout, put

if TYPE_CHECKING:
    from typing import Any, BinaryIO

    from brimline.purge.plan import Edit, LineEdit, Plan
    from brimline.purge.plan_items import ResultText

# Large enough to compress well, small enough to be held.
_CHUNK_BYTES = 2 << 20
_BLOCK_BYTES = 1 << 20
_CHECK_BYTES = 8
# Rows end with their name or their time: this much of a line is enough to know it again.
TAIL_BYTES = 256


class Store:
    """Takes in what leaves a session."""

    def __init__(self, home_dir: str, session: str, compression: str = "auto") -> None:
        self._home_dir = home_dir
        self._session = session
        self._compression = compression
        self._pending: list[bytes] = []
        self._pending_bytes = 0
        self.chunks: list[str] = []

    def keep_text(self, data: bytes, text: ResultText) -> str:
        """Store a result under its own key."""
        meta: dict[str, Any] = {
            "tool": text.call.name if text.call else None,
            "source": text.call.source if text.call else None,
            "exit": stubbing.exit_code_of(text),
            "session": self._session,
        }
        return self._put(data, {name: value for name, value in meta.items() if value is not None})

    def keep(self, data: bytes) -> Piece:
        """Store bytes together with others."""
        piece = Piece(None, len(self.chunks), self._pending_bytes, len(data))
        self._pending.append(data)
        self._pending_bytes += len(data)
        if self._pending_bytes >= _CHUNK_BYTES:
            self.flush()
        return piece

    def flush(self) -> None:
        """Store what is pending."""
        if self._pending:
            meta = {"tool": "brimline session purge", "session": self._session}
            self.chunks.append(self._put(b"".join(self._pending), meta))
            self._pending, self._pending_bytes = [], 0

    def _put(self, data: bytes, meta: dict[str, Any]) -> str:
        home_dir = self._home_dir
        try:
            return put.put(home_dir, data, meta, compression=self._compression, is_last=False)
        except OSError as error:
            raise PurgeError(
                f"the store in {home_dir} cannot take what leaves the session "
                f"({error.strerror or error}): nothing was changed"
            ) from error


class Writer:
    """Copies a session with the changes of a plan; what lies between them is copied in blocks."""

    def __init__(self, plan: Plan, store: Store, target: BinaryIO) -> None:
        self._plan = plan
        self._store = store
        self._target = target
        self._read = Hasher()
        self._written = Hasher()
        self._tail = b""
        self._dropped: list[bytes] = []
        self.steps: list[Step] = []

    def copy(self, source: BinaryIO, length: int) -> tuple[Content, Content]:
        """Copy `length` bytes; returns what was read and what was written.

        Raises:
            PurgeError: the session is not the one that the plan was made for.
            OSError: it cannot be read, stored or written.
        """
        for mark, edit in self._plan.in_order():
            self._copy_until(source, mark.offset)
            raw = source.read(mark.length)
            self._read.update(raw)
            if len(raw) != mark.length or check_of(raw) != mark.check:
                raise _changed()
            if edit is None:
                self._dropped.append(raw)
            else:
                self._note_dropped()
                self._edit(edit, raw)
        self._copy_until(source, length)
        self._note_dropped()
        self._store.flush()
        return self._read.content, self._written.content

    def _copy_until(self, source: BinaryIO, end: int) -> None:
        while (left := end - self._read.length) > 0:
            block = source.read(min(left, _BLOCK_BYTES))
            if not block:
                raise _changed()
            self._read.update(block)
            self._write(block)

    def _edit(self, edit: LineEdit, raw: bytes) -> None:
        if edit.before:
            size = len(edit.before)
            self.steps.append(Step(self._written.length, ADDED, check(edit.before), size))
            self._write(edit.before)
        if edit.edits:
            self._change(edit, raw)
        else:
            self._write(raw)

    def _write(self, data: bytes) -> None:
        if self._dropped:
            self._note_dropped()
        self._target.write(data)
        self._written.update(data)
        self._tail = data if len(data) > TAIL_BYTES else self._tail[-TAIL_BYTES:] + data

    def _note_dropped(self) -> None:
        """Rows that went one after the other are kept as one piece."""
        if self._dropped:
            was = self._store.keep(b"".join(self._dropped))
            known = check_end(self._tail)
            rows = len(self._dropped)
            self.steps.append(Step(self._written.length, DROPPED, known, 0, was=was, rows=rows))
            self._dropped = []

    def _change(self, edit: LineEdit, raw: bytes) -> None:
        parts: list[bytes] = []
        patches: list[Patch] = []
        position = size = 0
        for one in sorted(edit.edits, key=lambda found: found.span.start):
            if one.span.start < position:
                raise _changed()
            new, was = self._replaced(one, raw)
            parts += [raw[position : one.span.start], new]
            start = size + one.span.start - position
            size = start + len(new)
            patches.append(Patch(start, size, was))
            position = one.span.end
        changed = b"".join([*parts, raw[position:]])
        _require_meant(changed, edit, raw)
        step = Step(self._written.length, CHANGED, check(changed), len(changed), tuple(patches))
        self.steps.append(step)
        self._write(changed)

    def _replaced(self, edit: Edit, raw: bytes) -> tuple[bytes, Piece]:
        """What the bytes become, and where they are kept."""
        old = raw[edit.span.start : edit.span.end]
        if edit.text is not None:
            return self._stored(edit.text, edit.strategy, old)
        if edit.blocks:
            return strategies_opt_in.without_blocks(old, edit.blocks), self._store.keep(old)
        return edit.new, self._store.keep(old)

    def _stored(self, text: ResultText, strategy: str, old: bytes) -> tuple[bytes, Piece]:
        content = spans.text_at(old, spans.Span(0, len(old)))
        if content is None:
            raise _changed()
        key = self._store.keep_text(content.encode(), text)
        if key != layout.PREFIX + text.digest:
            raise _changed()
        # The bytes follow from the text, unless it was written in a way of its own.
        same = spans.quoted(content) == old
        was = Piece(key, length=len(old)) if same else self._store.keep(old)
        return spans.quoted(planning.replacement(text, strategy)), was


def _require_meant(changed: bytes, edit: LineEdit, raw: bytes) -> None:
    """See that a row is still the one that others know, and says what it is meant to say."""
    row = json.loads(changed)
    ties = edit.mark.ties
    if edit.before:  # it follows the row that is put in front of it
        ties = verify.ties_of(json.loads(raw) | {row_parts.PARENT_FIELD: row_parts.parent_of(row)})
    verify.require_same_ties(ties, row, edit.mark.offset)
    wanted = [one for one in edit.edits if one.text is not None]
    said = {(text.call_id, text.text) for text in row_parts.result_texts(row)} if wanted else ()
    for one in wanted:
        if (
            one.text
            and (one.text.call_id, planning.replacement(one.text, one.strategy)) not in said
        ):
            raise PurgeError(
                f"the line at byte {edit.mark.offset} is written in a way that brimline does not "
                "understand: nothing was changed; please report this"
            )


class Hasher:
    """Counts and hashes what goes by."""

    def __init__(self) -> None:
        self._hash = sha256()
        self.length = 0

    def update(self, data: bytes) -> None:
        """Take in more."""
        self._hash.update(data)
        self.length += len(data)

    @property
    def content(self) -> Content:
        """What went by so far."""
        return Content(self.length, self._hash.hexdigest())


def check(raw: bytes) -> str:
    """A short hash, to know a line again."""
    return blake2b(raw, digest_size=_CHECK_BYTES).hexdigest()


def check_end(data: bytes) -> str:
    """A short hash of how the last line of some bytes ends."""
    end = data[-TAIL_BYTES:]
    return check(end[end.rfind(b"\n", 0, max(0, len(end) - 1)) + 1 :])


def _changed() -> PurgeError:
    return PurgeError(
        "the session was changed by another program while it was being read: nothing was changed, "
        "try again"
    )
