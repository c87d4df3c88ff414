"""Mends a session: finds what is wrong, and makes a copy in which it is mended.

How a copy is made is told in docs/developers/copying-sessions.md.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from typing import TYPE_CHECKING, Any, NamedTuple

from brimline.bulk import put
from brimline.bulk.stub import Stub, build_reference_head
from brimline.session import copies, copying, faults
from brimline.session.copying import Copied, CopyError, Order
from brimline.session.faults import Findings, Mend, Place
from brimline.session.survey import row_bytes
from brimline.transcript import find, read, row

if TYPE_CHECKING:
    from typing import BinaryIO

    from brimline.transcript.read import Line, Progress

MISSING_RESULT = (
    "[brimline] The result of this call is missing from the recorded session; whether the call ran "
    "is not known. Check before you rely on it."
)
_META = {"tool": "brimline session repair", "source": "orphan result"}
_MOST_PASSES = 4
ORPHAN_RESULT = "[brimline] The result of a call that is missing from the recorded session: {stub}"


class Report(NamedTuple):
    """What a repair found and did."""

    path: str
    before: Findings
    after: Findings | None = None  # None where there is no copy
    copy: Copied | None = None


def examine(path: str, progress: Progress = None) -> Findings:
    """Say what is wrong with a session; changes nothing.

    Raises:
        OSError: it cannot be read.
    """
    return faults.find_faults(read.lines_of_file(path, progress))


def repair(path: str, *, home_dir: str, progress: Progress = None) -> Report:
    """Mend in a copy what has exactly one mend; of a sound session there is none.

    `progress` is told how many bytes were read: all of them once, and again to mend.

    Raises:
        CopyError: the copy is not sound, or the session changed; there is none then.
        OSError: the session cannot be read, or something could not be stored.
    """
    session = os.path.realpath(path)
    found = examine(session, progress)
    if not found.mendable_faults:
        return Report(session, found)
    for passes in range(1, _MOST_PASSES + 1):
        mended = _MendedCopy(home_dir, session, progress, passes)
        about = lambda made=mended: {"keys": made.keys}  # noqa: E731
        order = Order(session, home_dir, copies.REPAIRED, mended.make_new, mended.verify, about)
        try:
            done = copying.write_copy(order)
            break
        except _NotSoundError:
            if passes == _MOST_PASSES:
                raise
    return Report(session, mended.before, mended.after, done)


class _NotSoundError(CopyError):
    """A mend brought another fault to light: the copy needs mending too."""


class _MendedCopy:
    """The steps of a repair in the order in which they are taken."""

    def __init__(self, home_dir: str, path: str, progress: Progress, passes: int) -> None:
        owner = {"session": find.session_id_of(path), "cwd": find.folder_it_began_in(path)}
        self._meta = {**_META, **owner}
        self.before = self.after = Findings()
        self.keys: list[str] = []  # of what went into the store
        self._home_dir, self._progress = home_dir, progress
        self._passes, self._added = passes, 0
        self._first: int | None = None  # where the first change is

    def make_new(self, old: BinaryIO, length: int, new: BinaryIO) -> None:
        """Look at the session as it is now, and write the mended copy."""
        found = self.before = faults.find_faults(read.lines_of_stream(old, length, self._progress))
        folder = os.path.dirname(old.name)
        with contextlib.ExitStack() as drafts:
            for _ in range(1, self._passes):
                draft = drafts.enter_context(tempfile.TemporaryFile(dir=folder))
                self._write_mended_copy(old, length, found, draft)
                old, length = draft, draft.tell()
                draft.seek(0)
                found = faults.find_faults(read.lines_of_stream(old, length))
            self._write_mended_copy(old, length, found, new)
        if self._first is not None:
            new.write(copying.notice_for_thinking_behind(new, self._first))

    def _write_mended_copy(
        self, old: BinaryIO, length: int, found: Findings, new: BinaryIO
    ) -> None:
        mends = _mends_by_line_and_row(found)
        waiting: dict[Place, list[bytes]] = {}
        old.seek(0)
        for line in read.lines_of_stream(old, length):
            wanted = mends.get(line.number) if not line.part else None
            if wanted and (self._first is None or new.tell() < self._first):
                self._first = new.tell()
            new.write(self._mended_line(line, wanted, waiting) if wanted else line.raw)

    def _mended_line(
        self, line: Line, mends: dict[int, list[Mend]], waiting: dict[Place, list[bytes]]
    ) -> bytes:
        """A line as it is to be: each row of it on a line of its own, answers behind them."""
        ending = b"\r\n" if line.raw.endswith(b"\r\n") else b"\n"
        parts: list[bytes] = []
        at = 0
        records = faults.rows_on_line(line)
        for index, record in enumerate(records):
            place = Place(line.number, index)
            value = dict(record.value)
            for mend in mends.get(index, ()):
                value = self._mended_row(value, mend, waiting)
            data = line.raw[record.start : record.end]
            lead = line.raw[at : record.start]
            if b"{" in lead:  # a broken piece, which gets a line of its own
                parts, lead = [*parts, lead.strip()], b""
            lead = b"" if index else lead
            answers = waiting.pop(place, [])
            self._added += len(answers)
            parts += [lead + (data if value == record.value else row_bytes(value)), *answers]
            at = record.end
        rest = line.raw[at:]
        if rest.strip():
            return ending.join([*parts, rest.lstrip()])
        is_longer = len(parts) > len(records)
        return ending.join(parts) + (rest or (ending if is_longer else b""))

    def _mended_row(
        self, value: dict[str, Any], mend: Mend, waiting: dict[Place, list[bytes]]
    ) -> dict[str, Any]:
        """A row after one mend; an answer to its calls waits until its place comes."""
        if mend.action == faults.RELINK:
            return value | {row.PARENT_FIELD: mend.parent}
        if mend.action == faults.ANCHOR:
            return row.with_preserved_rows(value, mend.calls)
        if mend.action == faults.STUB:
            return row.with_message_content(value, self._content_with_orphan_stubs(value, mend))
        if mend.after:
            waiting.setdefault(mend.after, []).append(_encoded_answer_row(value, mend.calls))
        return value

    def _content_with_orphan_stubs(self, value: dict[str, Any], mend: Mend) -> list[Any]:
        """Short texts in the place of results whose calls are not known."""
        content = list(row.message_of(value)["content"])
        for index, block in row.numbered_blocks(value, "tool_result"):
            if block.get("tool_use_id") in mend.calls:
                told = block.get("content")
                text = told if isinstance(told, str) else row_bytes(told).decode()
                data = text.encode("utf-8", "surrogatepass")
                key = put.put(self._home_dir, data, self._meta)
                self.keys.append(key)
                stub = build_reference_head(Stub(key, len(data), put.count_lines(data)))
                content[index] = {"type": "text", "text": ORPHAN_RESULT.format(stub=stub)}
        return content

    def verify(self, new: BinaryIO) -> None:
        """See that the copy is sound."""
        self.after = faults.find_faults(read.lines_of_stream(new))
        if self.after.mendable_faults or self.after.rows < self.before.rows + self._added:
            told = "the mended copy is not sound, so there is none; please report this"
            raise _NotSoundError(told)


def _mends_by_line_and_row(findings: Findings) -> dict[int, dict[int, list[Mend]]]:
    """Return what is to be done to the rows of each line."""
    mends: dict[int, dict[int, list[Mend]]] = {}
    for first, mend in [(fault.place, fault.mend) for fault in findings.faults if fault.mend]:
        moved = Mend(faults.RELINK, mend.parent)
        places = [(first, mend), *[(place, moved) for place in mend.moves]]
        places += [
            (copy, change)  # a row that stands there twice stays the same row
            for place, change in places
            for copy in findings.copies.get(place, ())
            if change.action in (faults.RELINK, faults.STUB)
        ]
        if mend.after:  # to be looked at when its turn comes
            places.append((mend.after, Mend(faults.SPLIT)))
        for place, change in places:
            mends.setdefault(place.line, {}).setdefault(place.nth, []).append(change)
    return mends


def _encoded_answer_row(value: dict[str, Any], calls: tuple[str, ...]) -> bytes:
    """A row that answers calls of which no result is known, as the client would write it."""
    name = faults.uuid_of_made_answer(row.uuid_of(value) or "")
    return row_bytes(row.make_failed_tool_results_row(value, calls, MISSING_RESULT, name))
