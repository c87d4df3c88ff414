"""Mends a session: finds what is wrong, writes the copy, proves it, and has it swapped in.

How a rewrite keeps every line is told in docs/explanation/rewriting-sessions.md.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from brimline.session import faults
from brimline.session.disk import BLOCK_BYTES, RewriteError
from brimline.session.find_faults import Finder, answer_uuid
from brimline.session.rewrite import Order, rewrite
from brimline.session.survey import encoded
from brimline.store import put
from brimline.store import stub as stubs
from brimline.transcript import read
from brimline.transcript import row as shapes

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import BinaryIO

    from brimline.session.faults import Fault, Findings, Mend, Place
    from brimline.transcript.read import Line, Record

    Progress = Callable[[int], None]

MISSING_RESULT = (
    "[brimline] The result of this call is missing from the recorded session; whether the call ran "
    "is not known. Check before you rely on it."
)
ORPHAN_RESULT = "[brimline] The result of a call that is missing from the recorded session: {stub}"
TOOL = "brimline session repair"
# What was doubtful may be certain once its neighbours are mended.
_MOST_ROUNDS = 6


@dataclass(slots=True)
class Report:
    """What a repair found and did."""

    path: str
    before: Findings
    mended: list[Fault]
    """What was mended, or would be; lines are counted as they were then."""
    after: Findings | None = None
    """None where nothing was changed."""
    backup: str | None = None
    cut_key: str | None = None
    """Under which a torn last line is in the store."""
    refused: list[Fault] = field(default_factory=list)
    """Faults with one mend that could not be made without losing bytes."""
    is_over: bool = True
    """False when a program may still write to the file that was replaced."""

    @property
    def left_alone(self) -> list[Fault]:
        """What was not mended, because more than one mend is possible."""
        found = self.after or self.before
        return [*found.left_alone, *self.refused]


def examine(path: str, progress: Progress | None = None) -> Findings:
    """Say what is wrong with a session; changes nothing.

    Raises:
        OSError: it cannot be read.
    """
    with open(path, "rb", buffering=BLOCK_BYTES) as file:
        return _findings(file, os.fstat(file.fileno()).st_size, progress)


def repair(
    path: str,
    *,
    home_dir: str,
    dry_run: bool = False,
    quiet_s: float = 1.0,
    progress: Progress | None = None,
    on_wait: Callable[[], None] | None = None,
) -> Report:
    """Mend what has exactly one mend; a sound session is not touched.

    `progress` is told how many bytes were read: all of them once, and again to mend.

    Raises:
        InUseError: the session is in use.
        BusyError: another command is rewriting it.
        RewrittenError: it was done, but the work after the swap was cut short.
        RewriteError: the copy is not sound, or the session changed; nothing was changed.
        OSError: the session cannot be read, or something could not be stored.
    """
    session = os.path.realpath(path)
    found = examine(session, progress)
    if dry_run or not found.mendable:
        return Report(session, found, found.mendable)
    mended = _MendedCopy(session, home_dir, progress)
    order = Order(session, home_dir, mended.make_new, mended.verify, {"keys": mended.keys}, quiet_s)
    order.on_wait = on_wait
    done = rewrite(order)
    report = mended.report
    if done.swapped:
        report.after, report.backup, report.is_over = mended.after, done.backup, done.is_over
    return report


class _MendedCopy:
    """The steps of a repair in the order in which `rewrite` takes them."""

    def __init__(self, path: str, home_dir: str, progress: Progress | None) -> None:
        self.keys: list[str] = []
        self.report = Report(path, faults.Findings(), [])
        self.after: Findings | None = None
        self._home_dir = home_dir
        self._progress = progress
        self._rows = 0

    def make_new(self, old: BinaryIO, length: int, new: BinaryIO) -> None:
        """Look at the session as it is now, and write the mended copy, round by round."""
        found = self.report.before = _findings(old, length, self._progress)
        with contextlib.ExitStack() as files:
            source, length = self._mended(old, length, found, files)
            source.seek(0)
            new.writelines(line.raw for line in read.lines(source, length))

    def _mended(
        self, source: BinaryIO, length: int, found: Findings, files: contextlib.ExitStack
    ) -> tuple[BinaryIO, int]:
        """What the session is when nothing more can be mended."""
        folder = os.path.dirname(self.report.path)
        for _ in range(_MOST_ROUNDS):
            refused = {fault.kind for fault in self.report.refused}
            if not [fault for fault in found.mendable if fault.kind not in refused]:
                break
            source.seek(0)
            target = files.enter_context(tempfile.TemporaryFile(dir=folder))  # noqa: SIM115
            mender = _Mender(found, self._home_dir, target, self.keys)
            mender.copy(source, length)
            self.report.cut_key = mender.cut_key or self.report.cut_key
            self.report.refused = [f for f in found.mendable if f.place in mender.refused]
            self.report.mended += [f for f in found.mendable if f not in self.report.refused]
            self._rows = found.rows + mender.added
            source, length = target, target.tell()
            target.seek(0)
            found = _findings(source, length)
        return source, length

    def verify(self, _old_path: str, _length: int, new_path: str) -> None:
        """See that the copy on the disk is sound."""
        self.after = examine(new_path)
        left = Counter(fault.kind for fault in self.after.mendable)
        is_better = Counter(fault.kind for fault in self.report.before.mendable) - left
        if not is_better or self.after.rows != self._rows:
            raise RewriteError(
                "the mended copy is not sound: nothing was changed; please report this"
            )


class _Piece(NamedTuple):
    """What a line, or a row of it, becomes, and the answers to its calls."""

    data: bytes
    rows: tuple[Record, ...]
    answers: list[tuple[bytes, str | None]]


class _Mender:
    """Copies a session line by line and mends what can be mended."""

    def __init__(
        self, findings: Findings, home_dir: str, target: BinaryIO, keys: list[str]
    ) -> None:
        self._mends = _by_line(findings)
        self._home_dir, self._target, self._keys = home_dir, target, keys
        self._answers: list[tuple[bytes, str | None]] = []
        """Rows that wait for the end of the reply they belong to, with its id."""
        self.cut_key: str | None = None
        self.added = 0
        self.refused: set[Place] = set()

    def copy(self, source: BinaryIO, length: int) -> None:
        """Copy `length` bytes.

        Raises:
            OSError: the session cannot be read, stored or written.
        """
        for line in read.lines(source, length):
            mends = self._mends.get(line.number, {}) if not line.part else {}
            if mends:
                self._mend(line, mends)
            else:
                whole = faults.whole_rows(line).rows if self._answers and line.part is None else ()
                is_end = line.part is not None or not line.is_ended
                self._write(line.raw, whole, is_end=is_end)
        self._write_answers()

    def _mend(self, line: Line, mends: dict[int, list[Mend]]) -> None:
        whole = faults.whole_rows(line)
        actions = {mend.action for found in mends.values() for mend in found}
        raw, is_cut = line.raw, faults.CUT in actions
        if is_cut:
            raw = line.raw[: whole.broken_from]
            self.cut_key = self._keep(line.raw[whole.broken_from :], "torn last line")
        pieces = [
            self._mended(line, index, row, mends.get(index, []))
            for index, row in enumerate(whole.rows)
        ]
        if len(whole.rows) == 1 and not whole.is_broken and faults.UNMARK not in actions:
            row = whole.rows[0]
            pieces = [
                p and p._replace(data=raw[: row.start] + p.data + raw[row.end :]) for p in pieces
            ]
            ending = b""
        else:
            ending = b"\r\n" if line.raw.endswith(b"\r\n") else b"\n"
            if line.number == 1 and raw.startswith(read.BOM) and pieces[0]:
                pieces[0] = pieces[0]._replace(data=read.BOM + pieces[0].data)
        if whole.is_broken and not is_cut:
            junk = line.raw[whole.broken_from : whole.broken_to].strip(b" \t\r\n")
            at = sum(row.end <= whole.broken_from for row in whole.rows)
            pieces.insert(at, _Piece(junk, (), []))
        kept = [piece for piece in pieces if piece]
        for number, piece in enumerate(kept):
            is_open = number == len(kept) - 1 and not line.is_ended and not is_cut
            self._write(piece.data + (b"" if is_open else ending), piece.rows, is_end=is_open)
            self._answers += piece.answers

    def _mended(self, line: Line, index: int, row: Record, mends: list[Mend]) -> _Piece | None:
        """A row as it is to be; None for one that goes."""
        data, value, answers = line.raw[row.start : row.end], dict(row.value), []
        for mend in mends:
            if mend.action == faults.DROP:
                self.added -= 1
                return None
            if mend.action == faults.ANSWER:
                answers.append((_answer(row.value, mend.calls), shapes.message_id(row.value)))
            elif mend.action == faults.RELINK and (linked := _relinked(data, value, mend.parent)):
                data = linked
                value[shapes.PARENT_FIELD] = row.value[shapes.PARENT_FIELD] = mend.parent
            elif mend.action in (faults.RELINK, faults.STUB) and not _is_utf8(data):
                self.refused.add(faults.Place(line.number, index))
            elif mend.action == faults.RELINK:
                value[shapes.PARENT_FIELD] = mend.parent
            elif mend.action == faults.STUB:
                value["message"] = {**value["message"], "content": self._stubbed(value, mend)}
        return _Piece(data if value == row.value else encoded(value), (row,), answers)

    def _stubbed(self, value: dict[str, Any], mend: Mend) -> list[Any]:
        """Short texts in the place of results whose calls are not known."""
        content = list(value["message"]["content"])
        for index, block in enumerate(content):
            is_result = isinstance(block, dict) and block.get("type") == "tool_result"
            if not is_result or block.get("tool_use_id") not in mend.calls:
                continue
            told = block.get("content")
            text = told if isinstance(told, str) else encoded(told).decode()
            data = text.encode("utf-8", "surrogatepass")
            key = self._keep(data, "orphan result")
            stub = stubs.build(stubs.Stub(key, len(data), put.count_lines(data)))
            content[index] = {"type": "text", "text": ORPHAN_RESULT.format(stub=stub)}
        return content

    def _keep(self, data: bytes, what: str) -> str:
        key = put.put(self._home_dir, data, {"tool": TOOL, "source": what})
        self._keys.append(key)
        return key

    def _write(self, data: bytes, rows: tuple[Record, ...], *, is_end: bool) -> None:
        """Write a line; answers come before one that is no further part of their reply."""
        if self._answers and (is_end or self._ends_reply(rows)):
            self._write_answers()
        self._target.write(data)

    def _ends_reply(self, rows: tuple[Record, ...]) -> bool:
        named = [row.value for row in rows if shapes.uuid_of(row.value)]
        ids = [shapes.message_id(value) for value in named]
        return any(not one or one != self._answers[-1][1] for one in ids)

    def _write_answers(self) -> None:
        for data, _ in self._answers:
            self._target.write(data + b"\n")
        self.added += len(self._answers)
        self._answers = []


def _relinked(data: bytes, value: dict[str, Any], parent: str | None) -> bytes | None:
    """A row with another parent and no other byte changed; None where that takes more."""
    name = re.escape(json.dumps(value.get(shapes.PARENT_FIELD)).encode())
    found = list(re.finditer(rb'"%s"\s*:\s*(%s)' % (shapes.PARENT_FIELD.encode(), name), data))
    if len(found) != 1:
        return None
    return data[: found[0].start(1)] + json.dumps(parent).encode() + data[found[0].end(1) :]


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _answer(value: dict[str, Any], calls: tuple[str, ...]) -> bytes:
    """A row that answers calls of which no result is known, as the client would write it."""
    call_row = value["uuid"]
    blocks = [
        {"tool_use_id": call, "type": "tool_result", "content": MISSING_RESULT, "is_error": True}
        for call in calls
    ]
    around = shapes.envelope(value)
    if "agentId" in value:
        around["agentId"] = value["agentId"]
    row = {
        **around,
        shapes.PARENT_FIELD: call_row,
        "type": "user",
        "message": {"role": "user", "content": blocks},
        "uuid": answer_uuid(call_row),
        shapes.COPY_FIELD: f"Error: {MISSING_RESULT}",
        "sourceToolAssistantUUID": call_row,
    }
    return encoded(row)


def _by_line(findings: Findings) -> dict[int, dict[int, list[Mend]]]:
    """What is to be done to the rows of each line."""
    found: dict[int, dict[int, list[Mend]]] = {}
    for fault in findings.mendable:
        mend = fault.mend
        if mend is not None:
            moved = faults.Mend(faults.RELINK, mend.parent)
            for place, one in [(fault.place, mend), *[(place, moved) for place in mend.moves]]:
                found.setdefault(place.line, {}).setdefault(place.nth, []).append(one)
    return found


def _findings(stream: BinaryIO, length: int, progress: Progress | None = None) -> Findings:
    finder = Finder()
    for line in read.lines(stream, length):
        finder.take(line)
        if progress:
            progress(len(line.raw))
    return finder.close()
