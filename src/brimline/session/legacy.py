"""What versions before copies left of sessions that they rewrote in place, and the way back.

Beside such a session is `<session>.backup.YYYYMMDD_HHMMSS`, and in the data folder a note for every
rewrite: how long the session was and what its hash is, before and after.

    backups/purges/<session>/000001.jsonl

So what it was is the backup and whatever follows, in the session, the bytes that the rewrite had
written. Rewrites one after the other are undone together: the backup of the last one begins with
what the one before it had left. The way back is a copy too: no session is written.
"""

from __future__ import annotations

import glob
import json
import os
import re
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from brimline.fast import io, paths
from brimline.session import backups, copies, copying
from brimline.session.copying import Copied, CopyError, Order
from brimline.transcript import find

if TYPE_CHECKING:
    from typing import BinaryIO

    from brimline.transcript.read import Progress

# The first version noted every change on lines of its own, after the one that is still read.
FORMATS = (1, 2)
_KEY = re.compile(rb"sha256:[0-9a-f]{64}")
_ENDING = ".jsonl"


class Fingerprint(NamedTuple):
    """So many bytes with this SHA-256."""

    length: int
    digest: str


class Note(NamedTuple):
    """One rewrite."""

    file: str
    path: str
    at: float
    before: Fingerprint
    after: Fingerprint
    lost_thoughts: int  # how much thinking is not sent again since

    @property
    def store_keys(self) -> set[str]:
        """The stored content that the session may refer to since."""
        return {key.decode() for key in _KEY.findall(io.read_file(self.file))}

    def find_session_files(self) -> list[str]:
        """Find its session: where it was, and wherever the client has one of that name."""
        projects = f"{glob.escape(paths.client_config_dir())}/projects"
        name = glob.escape(os.path.basename(self.path))
        found = {os.path.realpath(p) for p in glob.glob(f"{projects}/**/{name}", recursive=True)}
        return sorted(path for path in {self.path, *found} if os.path.isfile(path))


def sessions_with_notes(home_dir: str) -> list[str]:
    """Return the names of the sessions that have notes."""
    return sorted(io.list_names(f"{home_dir}/backups/purges"))


def read_notes_and_problems(home_dir: str, session: str) -> tuple[list[Note], list[CopyError]]:
    """Return the notes on a session, newest first, and what is wrong with damaged ones."""
    found: list[Note] = []
    problems: list[CopyError] = []
    folder = rewrite_notes_folder(home_dir, session)
    for name in sorted(io.list_names(folder), reverse=True):
        if name.endswith(_ENDING):
            try:
                found.append(_read_note(f"{folder}/{name}"))
            except CopyError as problem:
                problems.append(problem)
    return found, problems


def _read_note(file: str) -> Note:
    try:
        head = json.loads(io.read_file(file).partition(b"\n")[0].decode("utf-8", "surrogateescape"))
        if head["v"] not in FORMATS:
            raise CopyError(f"{file} was written by a newer brimline: upgrade this one")
        before, after = Fingerprint(*head["before"]), Fingerprint(*head["after"])
        thoughts = int(head.get("lost_thoughts", 0))
        return Note(file, head["path"], head["at"], before, after, thoughts)
    except (ValueError, KeyError, TypeError, OSError) as error:
        raise CopyError(
            f"{file}, the note on a rewrite, cannot be read ({error}): the session's backup holds "
            "what it was before"
        ) from error


def rewrite_notes_folder(home_dir: str, session: str) -> str:
    """Return where the notes on a session are."""
    return f"{home_dir}/backups/purges/{paths.safe_session_id(session)}"


@dataclass(slots=True)
class Restoration:
    """What a restore would undo."""

    path: str
    home_dir: str
    # Rewrites that can be undone byte for byte, the newest first, and the backups that they made.
    undone: list[Note] = field(default_factory=list)
    backups: list[str] = field(default_factory=list)
    # Why others cannot be undone.
    problems: list[CopyError] = field(default_factory=list)


def plan_full_restore(path: str, home_dir: str, progress: Progress = None) -> Restoration:
    """Find out which rewrites of a session can be undone; changes nothing.

    Raises:
        CopyError: none can be undone, as a note or a backup is damaged or gone.
        OSError: the session cannot be read.
    """
    session = os.path.realpath(path)
    found, data = Restoration(session, home_dir), io.read_file(session)
    if progress:
        progress(len(data))
    made, damaged = read_notes_and_problems(home_dir, find.session_id_of(session))
    found.problems += damaged
    for note in made:
        is_after, is_before = _begins_with(data, note.after), _begins_with(data, note.before)
        if is_before and (not is_after or note.before.length > note.after.length):
            continue  # it never came to its end, or was undone by other means
        if is_after and (backup := _find_backup_for_note(note, session)):
            found.undone.append(note)
            found.backups.append(backup)
            data = _undo_rewrite(data, note, backup)
        elif is_after:
            reason = f"the backup of {session} with {note.before.length:,} bytes is gone"
            found.problems.append(CopyError(f"{reason}, or not what it was"))
            break
        elif note.path == session:
            reason = f"{session} was changed by another program since a rewrite"
            backup = f"what it was is in its backup ({note.before.length:,} bytes)"
            found.problems.append(CopyError(f"{reason}: {backup}"))
    if not found.undone and found.problems:
        raise found.problems[0]
    return found


def _begins_with(data: bytes, content: Fingerprint) -> bool:
    start = memoryview(data)[: content.length]
    return len(start) == content.length and sha256(start).hexdigest() == content.digest


def _find_backup_for_note(note: Note, session: str) -> str | None:
    """Return the backup that a rewrite made, by its content: it may have been moved along."""
    for place in dict.fromkeys((session, note.path)):
        for backup in backups.beside(place):
            is_as_long = backup.size_bytes == note.before.length
            if is_as_long and _begins_with(io.read_file(backup.path), note.before):
                return backup.path
    return None


def _undo_rewrite(data: bytes, note: Note, backup: str) -> bytes:
    """Return a session with its backup in the place of what the rewrite had written."""
    before, since = io.read_file(backup), data[note.after.length :]
    # Rows that came after a torn line are not written onto it.
    is_torn = data[: note.after.length].endswith(b"\n") and before[-1:] not in (b"", b"\n")
    return before + (b"\n" if is_torn and since[:1] not in (b"", b"\n") else b"") + since


def restore(found: Restoration) -> Copied:
    """Write what the session would be without its rewrites, and what came since, as a copy.

    Raises:
        CopyError: something changed meanwhile, or the disk refused; there is no copy.
    """

    def make_new(old: BinaryIO, length: int, new: BinaryIO) -> None:
        data = old.read(length)
        for note, backup in zip(found.undone, found.backups, strict=True):
            data = _undo_rewrite(data, note, backup)
        new.write(data)
        if any(note.lost_thoughts for note in found.undone):
            new.write(b"" if data.endswith(b"\n") else b"\n")
            since = found.undone[-1].before.length
            new.write(copying.notice_for_thinking_behind(new, since))

    return copying.write_copy(Order(found.path, found.home_dir, copies.RESTORED, make_new))
