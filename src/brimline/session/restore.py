"""Puts a session back to what it was before rewrites: its backup, and what was appended since.

Rewrites one after the other are undone together: the backup of the last one begins with what the
one before it had left.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from brimline.session import backups, disk
from brimline.session.disk import Content, RewriteError
from brimline.session.rewrite import Order, rewrite
from brimline.transcript import find

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import BinaryIO

    from brimline.session.backups import Note
    from brimline.session.rewrite import Rewritten


class Piece(NamedTuple):
    """A part of a file; one that begins a line does not go on with a torn one before it."""

    path: str
    start: int
    end: int
    begins_line: bool = False


@dataclass(slots=True)
class Restoration:
    """What a restore would undo."""

    path: str
    home_dir: str
    undone: list[Note] = field(default_factory=list)
    """Rewrites that can be undone byte for byte, the newest first."""
    stale: list[Note] = field(default_factory=list)
    """Notes on rewrites that never came to their end, or were undone by other means."""
    problems: list[RewriteError] = field(default_factory=list)
    """Why others cannot be undone."""
    pieces: list[Piece] = field(default_factory=list)
    """What the session will be; the last one is the rest of the session, to its end."""

    @property
    def original(self) -> Content | None:
        """What the session will begin with; None where there is nothing to undo."""
        return self.undone[-1].before if self.undone else None


def plan(path: str, home_dir: str, progress: Callable[[int], None] | None = None) -> Restoration:
    """Find out which rewrites of a session can be undone; changes nothing.

    Raises:
        RewriteError: none can be undone, as a note or a backup is damaged or gone.
        OSError: the session cannot be read.
    """
    session = os.path.realpath(path)
    found = Restoration(session, home_dir)
    found.pieces = [Piece(session, 0, os.path.getsize(session))]
    made, damaged = backups.notes(home_dir, find.session_id_of(session))
    found.problems += damaged
    for note in made:
        is_after, is_before = _begins_with(found.pieces, (note.after, note.before), progress)
        if is_before and (not is_after or note.before.length > note.after.length):
            found.stale.append(note)
        elif is_after and (backup := _backup_of(note, session)):
            found.undone.append(note)
            found.pieces = _replaced(found.pieces, note, backup)
        elif is_after:
            reason = f"the backup of {session} with {note.before.length:,} bytes is gone"
            found.problems.append(RewriteError(f"{reason}, or not what it was"))
            break
        elif note.path == session:
            found.problems.append(
                RewriteError(
                    f"{session} was changed by another program since a rewrite: what it was is in "
                    f"its backup ({note.before.length:,} bytes)"
                )
            )
    if not found.undone and found.problems:
        raise found.problems[0]
    return found


def _begins_with(
    pieces: list[Piece], wanted: tuple[Content, ...], progress: Callable[[int], None] | None
) -> list[bool]:
    """Which contents some pieces begin with."""
    total = sum(piece.end - piece.start for piece in pieces)
    hashes = [(sha256(), content) for content in wanted if content.length <= total]
    done = 0
    for block in _read(pieces, max([content.length for _, content in hashes], default=0)):
        for hashed, content in hashes:
            hashed.update(block[: max(0, content.length - done)])
        done += len(block)
        if progress:
            progress(len(block))
    known = [content for hashed, content in hashes if hashed.hexdigest() == content.digest]
    return [content in known for content in wanted]


def _backup_of(note: Note, session: str) -> str | None:
    """The backup that a rewrite made, by its content: it may have been moved along."""
    for place in dict.fromkeys((session, note.path)):
        for backup in backups.of_session(place):
            piece = Piece(backup.path, 0, backup.size_bytes)
            if backup.size_bytes == note.before.length and all(
                _begins_with([piece], (note.before,), None)
            ):
                return backup.path
    return None


def _replaced(pieces: list[Piece], note: Note, backup: str) -> list[Piece]:
    """The pieces with a backup in the place of what the rewrite had written."""
    left = note.after.length
    rest = [Piece(backup, 0, note.before.length)]
    for piece in pieces:
        skipped = min(left, piece.end - piece.start)
        left -= skipped
        if skipped and not left:
            last = b"".join(_read([Piece(piece.path, piece.start + skipped - 1, piece.end)], 1))
            piece = piece._replace(begins_line=last == b"\n")  # noqa: PLW2901 - the same, shorter
        if not left:
            rest.append(piece._replace(start=piece.start + skipped))
    return rest


def _read(pieces: list[Piece], length: int) -> Iterator[bytes]:
    """The first bytes of some pieces, in blocks."""
    for piece in pieces:
        with open(piece.path, "rb") as file:
            end = min(piece.end, piece.start + length)
            for block in disk.blocks(file.fileno(), piece.start, end):
                length -= len(block)
                yield block


def restore(
    found: Restoration,
    *,
    quiet_s: float = 1.0,
    forgets: bool = True,
    progress: Callable[[int], None] | None = None,
    on_wait: Callable[[], None] | None = None,
) -> Rewritten:
    """Put the session back and, unless told otherwise, forget the rewrites that were undone.

    Raises:
        InUseError: the session is in use.
        RewriteError: it changed meanwhile, or the disk refused; nothing was changed.
    """

    def make_new(_old: BinaryIO, length: int, new: BinaryIO) -> None:
        # Under the lock: what was planned has to hold still.
        if plan(found.path, found.home_dir).pieces[:-1] != found.pieces[:-1]:
            raise RewriteError(f"{found.path} was rewritten meanwhile: nothing was changed")
        last = b"\n"
        *backed_up, rest = found.pieces
        for piece in [*backed_up, rest._replace(end=length)]:
            is_first = piece.begins_line and last != b"\n"
            for block in _read([piece], piece.end - piece.start):
                # Rows that came after a torn line are not written onto it.
                new.write(b"\n" + block if is_first and block[:1] != b"\n" else block)
                is_first, last = False, block[-1:]
                if progress:
                    progress(len(block))

    def verify(_old_path: str, _length: int, new_path: str) -> None:
        original = found.original
        pieces = [Piece(new_path, 0, os.path.getsize(new_path))]
        if original and not all(_begins_with(pieces, (original,), None)):
            raise RewriteError(
                "the copy is not what the session was: nothing was changed, try again"
            )

    order = Order(found.path, found.home_dir, make_new, verify, quiet_s=quiet_s)
    order.may_end_torn, order.on_wait = True, on_wait
    done = rewrite(order)
    for note in [*found.undone, *found.stale] if forgets else []:
        if note.path == found.path or not os.path.exists(note.path):
            backups.forget(note)
    return done
