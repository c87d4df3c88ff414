"""Backups of sessions, the notes on the rewrites that made them, and the way back.

A backup is `<session>.backup.YYYYMMDD_HHMMSS` beside the session, never written over. For every
rewrite that can be undone there is a note in the data folder: how long the session was and what its
hash is, before and after, and which stored content it refers to since.

    backups/purges/<session>/000001.jsonl

So a restore is the backup and whatever follows, in the session, the bytes that the rewrite had
written. Rewrites one after the other are undone together: the backup of the last one begins with
what the one before it had left. The store looks for keys in the notes too.
"""

from __future__ import annotations

import contextlib
import glob
import json
import os
import re
import time
import uuid
from collections import Counter
from dataclasses import dataclass, field
from hashlib import sha256
from io import BytesIO
from typing import TYPE_CHECKING, Any, NamedTuple

from brimline import clock
from brimline.fast import io, paths
from brimline.session import disk
from brimline.session.disk import Fingerprint, RewriteError
from brimline.session.rewrite import Order, rewrite
from brimline.state.session import SessionState
from brimline.transcript import find
from brimline.transcript.row import make_strip_thinking_notice, uuid_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

    from brimline.session.rewrite import Rewritten
    from brimline.transcript.read import Progress

# The first version noted every change on lines of its own, after the one that is still read.
FORMATS = (1, 2)
_NAME = re.compile(r"^(?P<session>.+)\.backup\.\d{8}_\d{6}$", re.DOTALL)
_KEY = re.compile(rb"sha256:[0-9a-f]{64}")
_ENDING = ".jsonl"
# In a session's folder: which purges the last restore has undone.
_RESTORED = "session-restored.json"


class Backup(NamedTuple):
    """One backup of a session."""

    path: str
    session: str
    size_bytes: int
    made_at: float


def has_backup_name(path: str) -> bool:
    """Whether a file has the name of a backup."""
    return _NAME.match(os.path.basename(path)) is not None


def backups_of(session: str) -> list[Backup]:
    """The backups of one session, the newest first."""
    return _backups_among_files(glob.glob(f"{glob.escape(os.path.realpath(session))}.backup.*"))


def all_backups() -> list[Backup]:
    """The backups of every session of the client, subagents' included, the newest first."""
    projects = f"{glob.escape(paths.client_config_dir())}/projects"
    return _backups_among_files(
        glob.glob(f"{projects}/*/*.backup.*") + glob.glob(f"{projects}/*/*/subagents/*.backup.*")
    )


def _backups_among_files(candidates: list[str]) -> list[Backup]:
    backups = []
    for path in candidates:
        match = _NAME.match(path)
        if match and os.path.isfile(path):
            status = os.stat(path)
            backups.append(Backup(path, match["session"], status.st_size, status.st_mtime))
    return sorted(backups, key=lambda backup: (-backup.made_at, backup.path))


class Note(NamedTuple):
    """One rewrite."""

    file: str
    path: str
    at: float
    before: Fingerprint
    after: Fingerprint
    context_tokens: int  # by how much the next request shrank, estimated
    lost_thoughts: int  # how much thinking is not sent again since
    tokens_of: dict[str, int]  # what of these tokens the result of each call took

    @property
    def tokens_by_call(self) -> dict[str, int]:
        """What the next request lost, by call; under "" what no call's result took."""
        others = max(0, self.context_tokens - sum(self.tokens_of.values()))
        return self.tokens_of | {"": others}

    @property
    def store_keys(self) -> set[str]:
        """The stored content that the session may refer to since."""
        return {key.decode() for key in _KEY.findall(io.read_file(self.file))}

    def find_session_files(self) -> list[str]:
        """Where its session is: where it was, and wherever the client has one of that name."""
        projects = f"{glob.escape(paths.client_config_dir())}/projects"
        name = glob.escape(os.path.basename(self.path))
        found = {os.path.realpath(p) for p in glob.glob(f"{projects}/**/{name}", recursive=True)}
        return sorted(path for path in {self.path, *found} if os.path.isfile(path))


def write_note(home_dir: str, done: Rewritten, more: dict[str, Any]) -> str:
    """Put a note on the disk, under a name of its own, which is returned.

    Raises:
        OSError: it cannot be written.
    """
    session = find.session_id_of(done.path)
    folder = rewrite_notes_folder(home_dir, session)
    head = {"v": FORMATS[-1], "session": session, "path": done.path, "at": time.time()}
    whole = {**head, "before": done.before, "after": done.after, **more}
    line = json.dumps(whole).encode() + b"\n"
    io.make_folder_and_parents(folder)
    there = [int(name[:-6]) for name in io.list_names(folder) if name[:-6].isdecimal()]
    file = f"{folder}/{max(there, default=0) + 1:06d}{_ENDING}"
    disk.write_file_atomically(file, f"{folder}/unfinished", line)
    return file


def sessions_with_notes(home_dir: str) -> list[str]:
    """The names of the sessions that have notes."""
    return sorted(io.list_names(f"{home_dir}/backups/purges"))


def read_notes_and_problems(home_dir: str, session: str) -> tuple[list[Note], list[RewriteError]]:
    """The notes on a session, the newest first, and what is wrong with those that are damaged."""
    found: list[Note] = []
    problems: list[RewriteError] = []
    folder = rewrite_notes_folder(home_dir, session)
    for name in sorted(io.list_names(folder), reverse=True):
        if name.endswith(_ENDING):
            try:
                found.append(_read_note(f"{folder}/{name}"))
            except RewriteError as problem:
                problems.append(problem)
    return found, problems


def _read_note(file: str) -> Note:
    try:
        head = json.loads(io.read_file(file).partition(b"\n")[0].decode("utf-8", "surrogateescape"))
        if head["v"] not in FORMATS:
            raise RewriteError(f"{file} was written by a newer brimline: upgrade this one")
        before, after = Fingerprint(*head["before"]), Fingerprint(*head["after"])
        tokens, thoughts = (int(head.get(name, 0)) for name in ("context_tokens", "lost_thoughts"))
        tokens_of = {str(call): int(n) for call, n in dict(head.get("tokens_of", {})).items()}
        return Note(file, head["path"], head["at"], before, after, tokens, thoughts, tokens_of)
    except (ValueError, KeyError, TypeError, OSError) as error:
        raise RewriteError(
            f"{file}, the note on a rewrite, cannot be read ({error}): the session's backup holds "
            "what it was before"
        ) from error


def remove_note(note: Note) -> None:
    """Remove a note that is used up, and the folder when it was the last."""
    io.remove(note.file)
    io.remove(f"{os.path.dirname(note.file)}/unfinished")
    with contextlib.suppress(OSError):  # there are more
        os.rmdir(os.path.dirname(note.file))


def forget_notes_of_gone_sessions(home_dir: str, oldest: float) -> None:
    """Forget rewrites from before a time whose session is nowhere any more."""
    for session in sessions_with_notes(home_dir):
        for note in read_notes_and_problems(home_dir, session)[0]:
            if note.at < oldest and not note.find_session_files():
                remove_note(note)


def purged_tokens_by_call_since(home_dir: str, path: str, measured_at: str | None) -> Counter[str]:
    """What purges of a file took out of the context after a time, in tokens, estimated.

    By the call whose result it was; under "" what no call's result took. Below 0 is what a purge
    had taken out by then and a restore has brought back since.
    """
    moment, real = clock.parse_utc(measured_at), os.path.realpath(path)
    session = find.session_id_of(real)
    if not moment:
        return Counter()
    made, _ = read_notes_and_problems(home_dir, session)
    purged = Counter[str]()
    for note in made:
        if note.path == real and note.at > moment:
            purged.update(note.tokens_by_call)
    restored = SessionState(home_dir, session).read_document(_RESTORED)
    if restored.get("path") == real and restored["at"] > moment:
        for at, tokens in restored["purges"]:
            purged.subtract(tokens if at < moment else {})
    return purged


def rewrite_notes_folder(home_dir: str, session: str) -> str:
    """Where the notes on a session are."""
    return f"{home_dir}/backups/purges/{paths.safe_session_id(session)}"


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
    # Rewrites that can be undone byte for byte, the newest first.
    undone: list[Note] = field(default_factory=list)
    # Notes on rewrites that never came to their end, or were undone by other means.
    stale: list[Note] = field(default_factory=list)
    # Why others cannot be undone.
    problems: list[RewriteError] = field(default_factory=list)
    # What the session will be; the last one is the rest of the session, to its end.
    pieces: list[Piece] = field(default_factory=list)


def plan_full_restore(path: str, home_dir: str, progress: Progress = None) -> Restoration:
    """Find out which rewrites of a session can be undone; changes nothing.

    Raises:
        RewriteError: none can be undone, as a note or a backup is damaged or gone.
        OSError: the session cannot be read.
    """
    session = os.path.realpath(path)
    found = Restoration(session, home_dir)
    found.pieces = [Piece(session, 0, os.path.getsize(session))]
    made, damaged = read_notes_and_problems(home_dir, find.session_id_of(session))
    found.problems += damaged
    for note in made:
        contents = (note.after, note.before)
        is_after, is_before = _is_start_for_each_content(found.pieces, contents, progress)
        if is_before and (not is_after or note.before.length > note.after.length):
            found.stale.append(note)
        elif is_after and (backup := _find_backup_for_note(note, session)):
            found.undone.append(note)
            found.pieces = _ranges_with_backup_as_start(found.pieces, note, backup)
        elif is_after:
            reason = f"the backup of {session} with {note.before.length:,} bytes is gone"
            found.problems.append(RewriteError(f"{reason}, or not what it was"))
            break
        elif note.path == session:
            reason = f"{session} was changed by another program since a rewrite"
            backup = f"what it was is in its backup ({note.before.length:,} bytes)"
            found.problems.append(RewriteError(f"{reason}: {backup}"))
    if not found.undone and found.problems:
        raise found.problems[0]
    return found


def _is_start_for_each_content(
    pieces: list[Piece], wanted: tuple[Fingerprint, ...], progress: Progress
) -> list[bool]:
    """Which contents some pieces begin with."""
    total = sum(piece.end - piece.start for piece in pieces)
    hashes = [sha256() for _ in wanted]
    done = 0
    for block in _yield_first_bytes_of_pieces(pieces, max(content.length for content in wanted)):
        for hashed, content in zip(hashes, wanted, strict=True):
            hashed.update(block[: max(0, content.length - done)])
        done += len(block)
        if progress:
            progress(len(block))
    return [
        content.length <= total and hashed.hexdigest() == content.digest
        for hashed, content in zip(hashes, wanted, strict=True)
    ]


def _find_backup_for_note(note: Note, session: str) -> str | None:
    """The backup that a rewrite made, by its content: it may have been moved along."""
    for place in dict.fromkeys((session, note.path)):
        for backup in backups_of(place):
            is_as_long = backup.size_bytes == note.before.length
            if is_as_long and _file_begins_with(backup.path, note.before):
                return backup.path
    return None


def _file_begins_with(path: str, content: Fingerprint) -> bool:
    """Whether the first bytes of a file are what they were."""
    with open(path, "rb") as file:
        return disk.fingerprint_of(file.fileno(), content.length) == content


def _ranges_with_backup_as_start(pieces: list[Piece], note: Note, backup: str) -> list[Piece]:
    """The pieces with a backup in the place of what the rewrite had written."""
    left = note.after.length
    rest = [Piece(backup, 0, note.before.length)]
    for piece in pieces:
        skipped = min(left, piece.end - piece.start)
        left -= skipped
        if skipped and not left:
            skipped_end = piece._replace(start=piece.start + skipped - 1)
            last = b"".join(_yield_first_bytes_of_pieces([skipped_end], 1))
            piece = piece._replace(begins_line=last == b"\n")  # noqa: PLW2901 - the same, shorter
        if not left:
            rest.append(piece._replace(start=piece.start + skipped))
    return rest


def _yield_first_bytes_of_pieces(pieces: list[Piece], length: int) -> Iterator[bytes]:
    """The first bytes of some pieces, in blocks."""
    for piece in pieces:
        with open(piece.path, "rb") as file:
            end = min(piece.end, piece.start + length)
            for block in disk.read_blocks(file.fileno(), piece.start, end):
                length -= len(block)
                yield block


def restore(
    found: Restoration, *, quiet_s: float = 1.0, forgets: bool = True, progress: Progress = None
) -> Rewritten:
    """Put the session back and, unless told otherwise, forget the rewrites that were undone.

    Raises:
        InUseError: the session is in use.
        RewriteError: it changed meanwhile, or the disk refused; nothing was changed.
    """

    def make_new(_old: BinaryIO, length: int, new: BinaryIO) -> None:
        # Under the lock: what was planned has to hold still.
        if plan_full_restore(found.path, found.home_dir).pieces[:-1] != found.pieces[:-1]:
            raise RewriteError(f"{found.path} was rewritten meanwhile: nothing was changed")
        last = b"\n"
        *backed_up, rest = found.pieces
        for piece in [*backed_up, rest._replace(end=length)]:
            is_first = piece.begins_line and last != b"\n"
            for block in _yield_first_bytes_of_pieces([piece], piece.end - piece.start):
                # Rows that came after a torn line are not written onto it.
                new.write(b"\n" + block if is_first and block[:1] != b"\n" else block)
                is_first, last = False, block[-1:]
                if progress:
                    progress(len(block))
        new.write(_line_telling_client_to_drop_thinking(found, length))

    def verify(new_path: str) -> None:
        if not _file_begins_with(new_path, found.undone[-1].before):
            told = "the copy is not what the session was: nothing was changed, try again"
            raise RewriteError(told)

    done = rewrite(Order(found.path, found.home_dir, make_new, verify, None, quiet_s))
    with contextlib.suppress(OSError):  # what comes back is not told then, no worse
        purges = [(note.at, note.tokens_by_call) for note in found.undone if note.context_tokens]
        record = {"at": time.time(), "path": found.path, "purges": purges}
        state = SessionState(found.home_dir, find.session_id_of(found.path))
        state.save_document(_RESTORED, record)
    for note in [*found.undone, *found.stale] if forgets else []:
        if note.path == found.path or not os.path.exists(note.path):
            remove_note(note)
    return done


def _line_telling_client_to_drop_thinking(found: Restoration, length: int) -> bytes:
    """The client's row by which thinking of turns made since is not sent again; maybe none.

    It was made behind what a purge had left, and the service would refuse it.
    """
    if not any(note.lost_thoughts for note in found.undone):
        return b""
    since = [*found.pieces[1:-1], found.pieces[-1]._replace(end=length)]
    turns = b"".join(
        _yield_first_bytes_of_pieces(since, sum(piece.end - piece.start for piece in since))
    )
    from brimline.session.survey import row_bytes, take_survey

    survey = take_survey(BytesIO(turns), len(turns), None)
    if not survey.sent.thoughts:
        return b""
    first = survey.sent.thoughts[0].message_id
    last, name = survey.last_row, str(uuid.uuid4())
    line = row_bytes(make_strip_thinking_notice(last, name, uuid_of(last), first)) + b"\n"
    return line if turns.endswith(b"\n") else b"\n" + line
