"""Takes a session back to before its last compaction without a model.

What such a compaction keeps is written again behind it, so all rows from before are in the file.
The session ends there again; what stands behind becomes a session of its own, which is on the disk
before the other is swapped. Its id follows from its content, so that whoever was killed in between
makes the same one again.
"""

from __future__ import annotations

import os
import re
import uuid
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from brimline.session import disk, restore
from brimline.session.disk import RewriteError
from brimline.session.rewrite import Order, rewrite
from brimline.transcript import find, read, row
from brimline.transcript.compactions import Links

if TYPE_CHECKING:
    from typing import BinaryIO

    from brimline.session.rewrite import Rewritten
    from brimline.transcript.read import Progress


class Undoing(NamedTuple):
    """Where a session is cut, and what becomes of the rest."""

    path: str
    home_dir: str
    boundary: int  # the byte at which the compaction begins
    start: int  # the byte from which on rows go into the second session
    length: int  # of the file, all of which was looked at
    at: str  # when it was, as the client spells it
    second: str


def plan_cut_before(path: str, home_dir: str, progress: Progress = None) -> Undoing:
    """Find the last compaction without a model; changes nothing.

    Raises:
        RewriteError: there is none, or what was before it is not in the file as it was.
        OSError: the session cannot be read.
    """
    session = os.path.realpath(path)
    length = os.path.getsize(session)
    boundaries, links = _find_cold_boundaries(session, progress)
    if not boundaries:
        raise RewriteError(f"{session} has no compaction without a model: nothing to go back to")
    boundary, at, has_rows = boundaries[-1]
    if not has_rows:
        told = f"{session} no longer has the rows from before its compaction: nothing was changed"
        raise RewriteError(told)
    notes, _ = restore.read_notes_and_problems(home_dir, find.session_id_of(session))
    if any(note.path == session and note.after.length > boundary for note in notes):
        raise RewriteError(
            f"{session} was purged or repaired since that compaction: undo that first, with"
            " `brimline session restore`; nothing was changed"
        )
    # Rows that another mod kept hang on those before the compaction, which come along then.
    start = 0 if links.leads_back else boundary
    second = _path_of_second_session_with_rest(session, start, length)
    return Undoing(session, home_dir, boundary, start, length, at, second)


def _find_cold_boundaries(
    session: str, progress: Progress
) -> tuple[list[tuple[int, str, bool]], Links]:
    """The compactions without a summary, and what leads back before the last one.

    Of each where it begins, when it was, and whether messages stand before it.
    """
    found: list[tuple[int, str, bool]] = []
    links, has_messages = Links(), False
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
        links.read_row(fields)
    return found, links


def _path_of_second_session_with_rest(session: str, start: int, length: int) -> str:
    """The file of the second session, by its content."""
    with open(session, "rb") as file:
        content = disk.fingerprint_of(file.fileno(), length)
    hashed = sha256(f"{find.session_id_of(session)} {start} {content.digest}".encode())
    name = uuid.UUID(bytes=hashed.digest()[:16], version=4)
    return f"{os.path.dirname(session)}/{name}.jsonl"


def cut_before_compaction(found: Undoing, *, quiet_s: float = 1.0) -> Rewritten:
    """Cut the session before its compaction; what stands behind it is the second session then.

    Raises:
        InUseError: the session is in use.
        RewriteError: it changed meanwhile, or the disk refused; nothing was changed.
    """
    has_second = os.path.exists(found.second)

    def make_new(old: BinaryIO, length: int, new: BinaryIO) -> None:
        # Under the lock: what was planned has to hold still.
        if plan_cut_before(found.path, found.home_dir) != found or length != found.length:
            raise RewriteError(f"{found.path} was changed meanwhile: nothing was changed")
        new.writelines(disk.read_blocks(old.fileno(), 0, found.boundary))

    def verify(_new_path: str) -> None:
        if not has_second:
            _write_rest_as_second_session(found)

    order = Order(found.path, found.home_dir, make_new, verify, None, quiet_s)
    try:
        return rewrite(order)
    except BaseException:
        if not has_second and not order.has_swapped:
            disk.remove(found.second)
        raise


def _write_rest_as_second_session(found: Undoing) -> None:
    """Put the rows into a session with an id of its own, older than the one that goes on."""
    first_id, second_id = map(find.session_id_of, (found.path, found.second))
    mark = re.compile(rb'("sessionId":\s*")' + re.escape(first_id.encode()) + b'"')
    with disk.Draft(disk.path_beside(found.path, "second")) as draft:
        with read.open_transcript_file(found.path) as file:
            file.seek(found.start)
            for line in read.lines_of_stream(file, found.length - found.start):
                named = mark.sub(rb"\g<1>" + second_id.encode() + b'"', line.raw)
                draft.write(named)
            moment = os.fstat(file.fileno()).st_mtime_ns - 1_000_000_000
        disk.system.fsync(draft.descriptor)
        os.utime(draft.path, ns=(moment, moment))
        disk.system.replace(draft.path, found.second)
        disk.sync_folder_of(found.second)
