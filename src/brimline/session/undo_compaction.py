"""Takes a session back to before its last compaction without a model: a copy that ends there.

What such a compaction keeps is written again behind it, so all rows from before are in the file.
The session itself stays, and with it what came after.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from brimline.session import copies, copying
from brimline.session.copying import Copied, CopyError, Order
from brimline.transcript import read, row

if TYPE_CHECKING:
    from typing import BinaryIO

    from brimline.transcript.read import Progress


class Undoing(NamedTuple):
    """Where the copy ends."""

    path: str
    boundary: int  # the byte at which the compaction begins
    at: str  # when it was, as the client spells it


def plan_cut_before(path: str, progress: Progress = None) -> Undoing:
    """Find the last compaction without a model.

    Raises:
        CopyError: there is none, or what was before it is not in the file.
        OSError: the session cannot be read.
    """
    session = os.path.realpath(path)
    boundaries = _find_cold_boundaries(session, progress)
    if not boundaries:
        raise CopyError(f"{session} has no compaction without a model: nothing to go back to")
    boundary, at, has_rows = boundaries[-1]
    if not has_rows:
        raise CopyError(f"{session} no longer has the rows from before its compaction")
    return Undoing(session, boundary, at)


def _find_cold_boundaries(session: str, progress: Progress) -> list[tuple[int, str, bool]]:
    """Find compactions without a summary: where, when, and whether messages come before."""
    found: list[tuple[int, str, bool]] = []
    has_messages = False
    for line in read.lines_of_file(session, progress):
        fields = line.only_row
        if fields is None or row.is_sidechain(fields):
            continue
        if row.is_summary(fields):
            # The client's own way: the boundary before it is not one of those.
            del found[-1:]
        elif row.is_compaction_row(fields):
            found.append((line.offset, row.timestamp_text_of(fields) or "", has_messages))
            has_messages = False
        has_messages |= row.is_message(fields)
    return found


def copy_before_compaction(found: Undoing, home_dir: str) -> Copied:
    """Make the copy that ends before the compaction.

    Raises:
        CopyError: the session changed meanwhile, or the disk refused; there is no copy.
    """

    def make_new(old: BinaryIO, length: int, new: BinaryIO) -> None:
        new.writelines(copying.read_blocks(old.fileno(), 0, length))

    order = Order(found.path, home_dir, copies.UNCOMPACTED, make_new)
    order.length = found.boundary
    return copying.write_copy(order)
