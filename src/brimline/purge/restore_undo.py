"""Turns purged lines back into what they were, by the record of the purge."""

from __future__ import annotations

from typing import TYPE_CHECKING

from brimline.purge import spans
from brimline.purge.errors import PurgeError
from brimline.purge.plan_apply import check, check_end
from brimline.purge.restore_record import CHANGED, DROPPED, TORN
from brimline.store import read

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Protocol

    from brimline.purge.restore_record import Piece, Record, Step

    class Source(Protocol):
        """What can be read from."""

        def read(self, size: int, /) -> bytes: ...


BLOCK_BYTES = 1 << 20


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


class Blocks:
    """Reads from blocks of any size as from a file."""

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self._blocks = blocks
        self._rest = b""

    def read(self, size: int) -> bytes:
        """That many bytes, or fewer at the end; never more than one block without need."""
        if not self._rest:
            self._rest = next(self._blocks, b"")
        if len(self._rest) < size:
            parts = [self._rest]
            missing = size - len(self._rest)
            while missing > 0 and (block := next(self._blocks, b"")):
                parts.append(block)
                missing -= len(block)
            self._rest = b"".join(parts)
        found, self._rest = self._rest[:size], self._rest[size:]
        return found


def undo(source: Source, record: Record, fetcher: Fetcher) -> Iterator[bytes]:
    """What a session was, from a file that begins with what the purge left.

    Args:
        source: the present session.
        record: of the purge.
        fetcher: brings back what was taken out.

    Raises:
        PurgeError: it is not what the purge left.
        StoreError: what was taken out is gone.
    """
    at = 0
    for step in record.steps:
        while at < step.at:
            block = source.read(min(BLOCK_BYTES, step.at - at))
            if not block:
                raise _other()
            at += len(block)
            yield block
        raw = source.read(step.length) if step.length else b""
        at += len(raw)
        if step.kind in (DROPPED, TORN):
            if step.was is not None:
                yield fetcher.fetch(step.was)
            # Rows that came after a torn line are not written onto it.
            if step.kind == TORN and (block := source.read(BLOCK_BYTES)):
                yield b"\n" + block
        elif check(raw) != step.check:
            raise _other()
        elif step.kind == CHANGED:
            yield patched(raw, step, fetcher)
    while block := source.read(BLOCK_BYTES):
        yield block


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
        if step.kind == TORN:
            continue  # only in a file that is known whole is its end the place of that line
        (after if step.kind == DROPPED else by_line).setdefault(step.check, []).append(number)
    yield from _rows_of(record, after.pop(check(b""), []), fetcher, found)
    for raw in lines:
        numbers = by_line.get(check(raw))
        if numbers:
            number = numbers.pop(0)
            found.add(number)
            if record.steps[number].kind == CHANGED:
                yield patched(raw, record.steps[number], fetcher)
        else:
            yield raw
        yield from _rows_of(record, after.pop(check_end(raw), []), fetcher, found)


def patched(raw: bytes, step: Step, fetcher: Fetcher) -> bytes:
    """A changed line as it was."""
    parts = []
    position = 0
    for patch in step.patches:
        parts += [raw[position : patch.start], fetcher.fetch(patch.was)]
        position = patch.end
    return b"".join([*parts, raw[position:]])


def _rows_of(
    record: Record, numbers: list[int], fetcher: Fetcher, found: set[int]
) -> Iterator[bytes]:
    for number in numbers:
        found.add(number)
        was = record.steps[number].was
        if was is not None:
            yield fetcher.fetch(was)


def _other() -> PurgeError:
    return PurgeError("the session is not what the purge left: nothing was changed")
