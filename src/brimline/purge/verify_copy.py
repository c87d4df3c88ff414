"""Proves, before a copy is swapped in, that it can be turned back into the session byte for byte.

What stayed is compared directly. What was taken out is compared through its hash, which is the key
under which the store keeps it: whatever comes back by that key is what was taken out.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

from brimline.purge import spans
from brimline.purge.errors import PurgeError
from brimline.purge.plan_apply import check
from brimline.purge.restore_record import CHANGED, DROPPED
from brimline.store import layout
from brimline.store.read import header

if TYPE_CHECKING:
    from typing import BinaryIO

    from brimline.purge.restore_record import Piece, Record, Step

_BLOCK_BYTES = 1 << 20


def prove(old: BinaryIO, length: int, new: BinaryIO, record: Record, home_dir: str) -> None:
    """See that the record turns `new` into the first `length` bytes of `old`.

    Raises:
        PurgeError: it does not, or the store lacks something.
        OSError: a file cannot be read.
    """
    prover = _Prover(old, new, record.chunks)
    at = 0
    for step in record.steps:
        prover.compare(step.at - at)
        prover.take(step)
        at = step.at + step.length
    prover.compare(length - old.tell())
    prover.end_chunk()
    if new.read(1) or old.tell() != length:
        raise _unproven()
    for key in {*record.chunks, *prover.keys}:
        if header(home_dir, layout.digest_of(key)) is None:
            raise PurgeError(f"{key} did not arrive in the store: nothing was changed, try again")


class _Prover:
    def __init__(self, old: BinaryIO, new: BinaryIO, chunks: list[str]) -> None:
        self.old = old
        self.new = new
        self.chunks = chunks
        self.keys: set[str] = set()
        self.chunk = 0
        self.position = 0
        self.hash = sha256()

    def compare(self, length: int) -> None:
        """See that both go on with the same bytes."""
        while length > 0:
            block = self.new.read(min(length, _BLOCK_BYTES))
            if not block or self.old.read(len(block)) != block:
                raise _unproven()
            length -= len(block)

    def take(self, step: Step) -> None:
        """Follow one step."""
        raw = self.new.read(step.length)
        if step.kind == DROPPED:
            if step.was is None:
                raise _unproven()
            self._take_out(step.was)
            return
        if check(raw) != step.check:
            raise _unproven()
        if step.kind == CHANGED:
            position = 0
            for patch in step.patches:
                self._same(raw[position : patch.start])
                self._take_out(patch.was)
                position = patch.end
            self._same(raw[position:])

    def end_chunk(self) -> None:
        """See that what was taken out so far is what the chunk's key stands for."""
        if self.position:
            if self.chunks[self.chunk] != layout.PREFIX + self.hash.hexdigest():
                raise _unproven()
            self.chunk, self.position, self.hash = self.chunk + 1, 0, sha256()

    def _same(self, data: bytes) -> None:
        if self.old.read(len(data)) != data:
            raise _unproven()

    def _take_out(self, piece: Piece) -> None:
        data = self.old.read(piece.length)
        if piece.key is not None:
            text = spans.text_at(data, spans.Span(0, len(data)))
            if text is None or spans.quoted(text) != data:
                raise _unproven()
            if piece.key != layout.PREFIX + sha256(text.encode()).hexdigest():
                raise _unproven()
            self.keys.add(piece.key)
            return
        if piece.chunk != self.chunk:
            self.end_chunk()
        if (piece.chunk, piece.start) != (self.chunk, self.position) or len(data) != piece.length:
            raise _unproven()
        self.hash.update(data)
        self.position += len(data)


def _unproven() -> PurgeError:
    return PurgeError(
        "the copy cannot be turned back byte for byte: nothing was changed; please report this"
    )
