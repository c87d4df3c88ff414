"""Turns purged lines back into what they were, by the record of the purge."""

from __future__ import annotations

from typing import TYPE_CHECKING

from brimline.purge.errors import PurgeError
from brimline.purge.plan_apply import check
from brimline.purge.restore_record import CHANGED, DROPPED
from brimline.store import read
from brimline.transcript import spans

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from brimline.purge.restore_record import Piece, Record, Step


class Fetcher:
    """Brings back what was stored; the chunk of the moment is held."""

    def __init__(self, home_dir: str, chunks: list[str]) -> None:
        self._home_dir = home_dir
        self._chunks = chunks
        self._number = -1
        self._chunk = b""

    def fetch(self, piece: Piece) -> bytes:
        """The bytes as they were in the session.

        Raises:
            StoreError: they are gone, or damaged.
            PurgeError: the record does not fit them.
        """
        if piece.key is not None:
            return spans.quoted(read.get(self._home_dir, piece.key, touch=False).decode())
        if piece.chunk != self._number:
            if not 0 <= piece.chunk < len(self._chunks):
                raise PurgeError("the record of a purge is damaged: use the session's backup")
            self._chunk = read.get(self._home_dir, self._chunks[piece.chunk], touch=False)
            self._number = piece.chunk
        found = self._chunk[piece.start : piece.start + piece.length]
        if len(found) != piece.length:
            raise PurgeError("the record of a purge is damaged: use the session's backup")
        return found


def undo(lines: Iterable[bytes], record: Record, fetcher: Fetcher) -> Iterator[bytes]:
    """The lines as they were, from a file that begins with what the purge left.

    Args:
        lines: the present lines; one that is too long may come in parts.
        record: of the purge.
        fetcher: brings back what was taken out.

    Raises:
        PurgeError: a line is not the one that the purge left.
        StoreError: what was taken out is gone.
    """
    steps = iter(record.steps)
    step = next(steps, None)
    at = 0
    for raw in lines:
        line: bytes | None = raw
        while step is not None and step.at == at:
            if step.kind == DROPPED:
                yield from _rows(step, fetcher)
            elif step.check != check(raw):
                raise PurgeError("the session is not what the purge left: nothing was changed")
            else:
                line = patched(raw, step, fetcher) if step.kind == CHANGED else None
                step = next(steps, None)
                break
            step = next(steps, None)
        if line is not None:
            yield line
        at += len(raw)
    while step is not None and step.kind == DROPPED:
        yield from _rows(step, fetcher)
        step = next(steps, None)
    if step is not None:
        raise PurgeError("the session is shorter than what the purge left: nothing was changed")


def undo_where_known(
    lines: Iterable[bytes], record: Record, fetcher: Fetcher, found: set[int]
) -> Iterator[bytes]:
    """The same for a file that others changed since: lines that are known again become themselves.

    Args:
        lines: the present lines.
        record: of the purge.
        fetcher: brings back what was taken out.
        found: filled with the numbers of the steps that could be undone.
    """
    by_line: dict[str, list[int]] = {}
    after: dict[str, list[int]] = {}
    for number, step in enumerate(record.steps):
        (after if step.kind == DROPPED else by_line).setdefault(step.check, []).append(number)
    yield from _rows_of(record, after.pop(check(b""), []), fetcher, found)
    for raw in lines:
        known = check(raw)
        numbers = by_line.get(known)
        if numbers:
            number = numbers.pop(0)
            found.add(number)
            if record.steps[number].kind == CHANGED:
                yield patched(raw, record.steps[number], fetcher)
        else:
            yield raw
        yield from _rows_of(record, after.pop(known, []), fetcher, found)


def patched(raw: bytes, step: Step, fetcher: Fetcher) -> bytes:
    """A changed line as it was."""
    parts = []
    position = 0
    for patch in step.patches:
        parts += [raw[position : patch.start], fetcher.fetch(patch.was)]
        position = patch.end
    return b"".join([*parts, raw[position:]])


def _rows(step: Step, fetcher: Fetcher) -> Iterator[bytes]:
    """Dropped rows one by one: an earlier purge may have taken something out between them."""
    data = fetcher.fetch(step.was) if step.was is not None else b""
    start = 0
    while start < len(data):
        end = data.find(b"\n", start) + 1 or len(data)
        yield data[start:end]
        start = end


def _rows_of(
    record: Record, numbers: list[int], fetcher: Fetcher, found: set[int]
) -> Iterator[bytes]:
    for number in numbers:
        found.add(number)
        yield from _rows(record.steps[number], fetcher)
