"""Writes the mended session, and notes how every change is undone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from brimline.purge import faults, links, repair_edit
from brimline.purge.faults_salvage import whole_rows
from brimline.purge.plan_apply import Hasher, check, check_end
from brimline.purge.repair_edit import Change
from brimline.purge.restore_record import ADDED, CHANGED, DROPPED, TORN, Patch, Piece, Step
from brimline.purge.spans import Span
from brimline.store import put
from brimline.store import stub as stubs
from brimline.transcript import read

if TYPE_CHECKING:
    from typing import BinaryIO

    from brimline.purge.faults import Fault, Findings, Mend, Place
    from brimline.purge.plan_apply import Store
    from brimline.transcript.read import Line, Record

TOOL = "brimline session repair"


class _Piece(NamedTuple):
    """What a line, or a row of it, becomes."""

    data: bytes
    changes: list[Change]
    row: Record | None


class Writer:
    """Copies a session line by line and mends what can be mended."""

    def __init__(self, findings: Findings, home_dir: str, store: Store, target: BinaryIO) -> None:
        self._mends = _by_line(findings)
        self._home_dir = home_dir
        self._store = store
        self._target = target
        self._last = b""
        self._answers: list[tuple[bytes, str | None]] = []
        """Rows that wait for the end of the reply they belong to, with its id."""
        self.read, self.written = Hasher(), Hasher()
        self.steps: list[Step] = []
        self._torn = b""
        self.cut_key: str | None = None
        self.dropped = self.added = 0
        self.refused: set[Place] = set()

    def copy(self, source: BinaryIO, length: int) -> None:
        """Copy `length` bytes.

        Raises:
            OSError: the session cannot be read, stored or written.
        """
        for line in read.lines(source, length):
            mends = self._mends.get(line.number, {}) if not line.part else {}
            if self._answers and (not line.is_ended or self._ends_reply(line)):
                self._write_answers()
            if not mends:
                self.read.update(line.raw)
                self._write(line.raw)
            else:
                self._mend(line, mends)
        self._write_answers()
        self._store.flush()
        if self.cut_key is not None:
            self._record_cut(self.cut_key)

    def _mend(self, line: Line, mends: dict[int, list[Mend]]) -> None:
        whole = whole_rows(line)
        torn = _is_meant(mends, faults.CUT)
        raw = self._cut(line, whole.broken_from) if torn else line.raw
        self.read.update(raw)
        pieces = [
            self._piece(line, index, row, mends.get(index, []))
            for index, row in enumerate(whole.rows)
        ]
        kept = [piece for piece in pieces if piece is not None]
        if whole.is_broken and not torn:
            at = sum(row.end <= whole.broken_from for row in whole.rows)
            at -= sum(piece is None for piece in pieces[:at])
            junk = line.raw[whole.broken_from : whole.broken_to].strip(b" \t\r\n")
            kept.insert(at, _Piece(junk, [], None))
        is_marked = _is_meant(mends, faults.UNMARK)
        alone = len(kept) == 1 and kept[0].row is whole.rows[0] and len(whole.rows) == 1
        if alone and not is_marked:
            self._write_changed(raw, whole.rows[0], kept[0])
        elif raw or kept:
            kept += [_Piece(data, [], None) for data, _ in self._answers]
            self.added += len(self._answers)
            self._answers = []
            self._write_apart(line, raw, kept, () if is_marked else whole.rows)

    def _cut(self, line: Line, start: int) -> bytes:
        """Store the torn end of the session under a key of its own."""
        self._torn = line.raw[start:]
        meta = {"tool": TOOL, "source": "torn last line"}
        self.cut_key = put.put(self._home_dir, self._torn, meta)
        return line.raw[:start]

    def _record_cut(self, key: str) -> None:
        """The record holds what was stored, and puts it back at the end."""
        was = Piece(None, len(self._store.chunks), 0, len(self._torn))
        self._store.chunks.append(key)
        step = Step(self.written.length, TORN, check_end(self._last), 0, was=was, rows=1)
        self.steps.append(step)
        self.read.update(self._torn)

    def _piece(self, line: Line, index: int, row: Record, mends: list[Mend]) -> _Piece | None:
        data = line.raw[row.start : row.end]
        changes: list[Change] = []
        now, value = data, row.value
        for mend in mends:
            if mend.action == faults.DROP:
                self.dropped += 1
                return None
            if mend.action == faults.ANSWER:
                self._answer(row, mend)
            found = self._changes(now, value, mend)
            if found is None:
                self.refused.add(faults.Place(line.number, index))
            elif found:
                changes = found if now is data else [Change(Span(0, len(data)), b"")]
                now = repair_edit.applied(now, found)
                value = repair_edit.read(now)
        if len(changes) == 1 and changes[0].span == (0, len(data)):
            changes = [Change(changes[0].span, now)]
        return _Piece(data, changes, row)

    def _changes(self, data: bytes, value: Any, mend: Mend) -> list[Change] | None:
        if mend.action == faults.RELINK:
            return repair_edit.relink(data, value, mend.parent)
        if mend.action == faults.STUB:
            return repair_edit.stub(data, value, mend.calls, self._keep)
        return []

    def _keep(self, text: str) -> str:
        data = text.encode("utf-8", "surrogatepass")
        key = put.put(self._home_dir, data, {"tool": TOOL, "source": "orphan result"})
        return stubs.build(stubs.Stub(key, len(data), put.count_lines(data)))

    def _answer(self, row: Record, mend: Mend) -> None:
        message_id = links.links_of(row.value).message_id
        self._answers.append((repair_edit.answer(row.value, mend.calls), message_id))

    def _ends_reply(self, line: Line) -> bool:
        """Whether a line holds something else than a further part of the reply under way."""
        if line.part is not None:
            return True
        found = [links.links_of(row.value) for row in whole_rows(line).rows]
        named = [row for row in found if row.uuid is not None]
        return any(row.message_id != self._answers[-1][1] or not row.message_id for row in named)

    def _write_answers(self) -> None:
        for data, _ in self._answers:
            self._add(data + b"\n")
            self.added += 1
        self._answers = []

    def _write_changed(self, raw: bytes, row: Record, piece: _Piece) -> None:
        """Write a line with replacements in it."""
        if not piece.changes:
            self._write(raw)
            return
        shift = row.start
        patches = []
        for span, new in sorted(piece.changes):
            start = span.start + shift
            was = self._store.keep(piece.data[span.start : span.end])
            patches.append(Patch(start, start + len(new), was))
            shift += len(new) - (span.end - span.start)
        changed = repair_edit.applied(piece.data, piece.changes)
        line = raw[: row.start] + changed + raw[row.end :]
        step = Step(self.written.length, CHANGED, check(line), len(line), tuple(patches))
        self.steps.append(step)
        self._write(line)

    def _write_apart(
        self, line: Line, raw: bytes, pieces: list[_Piece], rows: tuple[Record, ...]
    ) -> None:
        """Take a line out and write what was on it, each row on a line of its own."""
        was = self._store.keep(raw)
        step = Step(self.written.length, DROPPED, check_end(self._last), 0, was=was, rows=1)
        self.steps.append(step)
        ending = b"\r\n" if line.raw.endswith(b"\r\n") else b"\n"
        mark = raw[: rows[0].start] if rows and pieces and pieces[0].row is rows[0] else b""
        for number, piece in enumerate(pieces):
            data = repair_edit.applied(piece.data, piece.changes)
            is_open = number == len(pieces) - 1 and not line.is_ended
            self._add((mark if not number else b"") + data + (b"" if is_open else ending))

    def _add(self, data: bytes) -> None:
        self.steps.append(Step(self.written.length, ADDED, check(data), len(data)))
        self._write(data)

    def _write(self, data: bytes) -> None:
        self._target.write(data)
        self.written.update(data)
        self._last = data


def _is_meant(mends: dict[int, list[Mend]], action: str) -> bool:
    return any(mend.action == action for found in mends.values() for mend in found)


def _by_line(findings: Findings) -> dict[int, dict[int, list[Mend]]]:
    found: dict[int, dict[int, list[Mend]]] = {}
    for fault in findings.mendable:
        for place, mend in _steps(fault):
            found.setdefault(place.line, {}).setdefault(place.nth, []).append(mend)
    return found


def _steps(fault: Fault) -> list[tuple[Place, Mend]]:
    mend = fault.mend
    if mend is None:
        return []
    moved = faults.Mend(faults.RELINK, mend.parent)
    return [(fault.place, mend), *[(place, moved) for place in mend.moves]]
