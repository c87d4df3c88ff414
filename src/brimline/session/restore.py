"""Goes back to before a purge, or to before a compaction without a model.

Of a purge the original is there, or its texts come out of the store. What a compaction keeps is
written again behind it, so that all rows from before are in the file: the copy ends there.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from brimline.bulk import contents, layout, stub
from brimline.session import copies, copying
from brimline.session.copying import Copied, CopyError, Order
from brimline.session.survey import row_bytes
from brimline.transcript import find, read, row

if TYPE_CHECKING:
    from typing import BinaryIO

    from brimline.session.copies import Copy
    from brimline.transcript.read import Line, Progress


class Way(NamedTuple):
    """What to go on with instead of a copy."""

    copy: Copy
    original: str | None  # where the session is that it is one of; None where it is gone


def way_back(home_dir: str, path: str) -> Way | None:
    """Return what a session is a copy of; None where it is none of ours."""
    copy = copies.copy_of_id(home_dir, find.session_id_of(path))
    if copy is None:
        return None
    places = [copy.original, *find.files_beginning_with(copy.original_session)]
    return Way(copy, next(filter(os.path.isfile, places), None))


def restore_from_store(home_dir: str, path: str, copy: Copy, progress: Progress = None) -> Copied:
    """Make a copy of a copy in which everything is again what was replaced, out of the store.

    Raises:
        CopyError: there is nothing to bring back, or the copy could not be made.
        StoreError: the store no longer has something of it.
    """
    keys = {layout.shorten_key(key): key for key in copy.keys}

    def make_new(old: BinaryIO, length: int, new: BinaryIO) -> None:
        first = None
        for line in read.lines_of_stream(old, length, progress):
            found = _brought_back(line, keys, home_dir)
            first = new.tell() if found and first is None else first
            new.write(found or line.raw)
        if first is None:
            told = f"the client has deleted the original of {path}, and nothing in it was replaced"
            raise CopyError(told)
        new.write(copying.notice_for_thinking_behind(new, first))

    return copying.write_copy(Order(path, home_dir, copies.RESTORED, make_new))


def _brought_back(line: Line, keys: dict[str, str], home_dir: str) -> bytes | None:
    """Return a line with what its own lines stand for; None where it has none of these."""
    value = line.only_row
    if value is None or stub.LINE.encode() not in line.raw:
        return None
    is_changed = False
    for _, path, text in row.result_block_texts_at_paths(value):
        line_of = stub.bytes_and_key_of_line(text)
        key = keys.get(line_of[1]) if line_of else None
        if key:
            place: Any = value
            for step in path[:-1]:
                place = place[step]
            place[path[-1]] = contents.read_content(home_dir, key).decode()
            is_changed = True
    return row_bytes(value) + b"\n" if is_changed else None


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
