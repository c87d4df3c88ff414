"""Backups of sessions, the notes on the rewrites that made them, and the way back.

A backup is `<session>.backup.YYYYMMDD_HHMMSS` beside the session, never written over. For every
rewrite that can be undone there is a note in the data folder: how long the session was and what its
hash is, before and after, and which stored content it refers to since.

    backups/purges/<session>/000001.jsonl

So a restore needs no more than the backup and whatever follows, in the session, the bytes that the
rewrite had written. The store looks for keys in the notes too.
"""

from __future__ import annotations

import glob
import json
import os
import re
import time
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from brimline.fast import io, paths
from brimline.session import disk
from brimline.session.disk import Content, RewriteError
from brimline.transcript import find

if TYPE_CHECKING:
    from brimline.session.rewrite import Rewritten

# The first version noted every change on lines of its own, after the one that is still read.
FORMATS = (1, 2)
_NAME = re.compile(r"^(?P<session>.+)\.backup\.\d{8}_\d{6}$", re.DOTALL)
_KEY = re.compile(rb"sha256:[0-9a-f]{64}")
# Several backups within a second take the next ones.
_ATTEMPTS = 1_000
_ENDING = ".jsonl"


class Backup(NamedTuple):
    """One backup of a session."""

    path: str
    session: str
    size_bytes: int
    made_at: float


class Unfinished:
    """A backup that has no name of its own yet; it goes away unless it is finished."""

    def __init__(self, session: str, descriptor: int, length: int) -> None:
        """Copy the first `length` bytes of an open session.

        Raises:
            OSError: it cannot be written; nothing is left behind.
        """
        self._session = session
        self._path = disk.beside(session, "backup")
        self.descriptor = disk.create(self._path)
        hashed = sha256()
        try:
            disk.copy(descriptor, 0, length, self.descriptor, hashed)
        except BaseException:
            self.close()
            raise
        self.content = Content(length, hashed.hexdigest())

    def finish(self) -> str:
        """See it on the disk and give it its name, which is returned.

        Raises:
            OSError: the disk refused.
        """
        disk.system.fsync(self.descriptor)
        now = time.time()
        for second in range(_ATTEMPTS):
            stamp = time.strftime("%Y%m%d_%H%M%S", time.localtime(now + second))
            path = f"{self._session}.backup.{stamp}"
            try:
                if not disk.link(self._path, path):
                    # Takes the name, where there are no hard links.
                    os.close(disk.create_new(path))
                    disk.system.replace(self._path, path)
            except FileExistsError:
                continue
            disk.sync_folder(path)
            return path
        raise FileExistsError(f"{self._session} has a backup for every second")

    def close(self) -> None:
        """Take the temporary name away."""
        os.close(self.descriptor)
        disk.remove(self._path)


def is_backup(path: str) -> bool:
    """Whether a file has the name of a backup."""
    return _NAME.match(os.path.basename(path)) is not None


def of_session(session: str) -> list[Backup]:
    """The backups of one session, the newest first."""
    return _found(glob.glob(f"{glob.escape(os.path.realpath(session))}.backup.*"))


def of_all() -> list[Backup]:
    """The backups of every session of the client, subagents' included, the newest first."""
    projects = f"{glob.escape(paths.client_config_dir())}/projects"
    return _found(
        glob.glob(f"{projects}/*/*.backup.*") + glob.glob(f"{projects}/*/*/subagents/*.backup.*")
    )


def chosen(
    backups: list[Backup], now: float, *, older_than_s: float | None, keep: int | None
) -> list[Backup]:
    """Those that may go: older than a limit, but never the `keep` newest of their session."""
    seen: dict[str, int] = {}
    going = []
    for backup in sorted(backups, key=_newest_first):
        rank = seen[backup.session] = seen.get(backup.session, 0) + 1
        is_old = older_than_s is None or now - backup.made_at > older_than_s
        if is_old and rank > (keep or 0):
            going.append(backup)
    return going


def _found(candidates: list[str]) -> list[Backup]:
    backups = []
    for path in candidates:
        match = _NAME.match(path)
        if match and os.path.isfile(path):
            status = os.stat(path)
            backups.append(Backup(path, match["session"], status.st_size, status.st_mtime))
    return sorted(backups, key=_newest_first)


def _newest_first(backup: Backup) -> tuple[float, str]:
    return (-backup.made_at, backup.path)


class Note(NamedTuple):
    """One rewrite."""

    file: str
    path: str
    at: float
    before: Content
    after: Content
    context_tokens: int
    """By how much the next request shrank, estimated."""

    @property
    def keys(self) -> set[str]:
        """The stored content that the session may refer to since."""
        return {key.decode() for key in _KEY.findall(io.read_file(self.file))}

    def places(self) -> list[str]:
        """Where its session is: where it was, and wherever the client has one of that name."""
        projects = f"{glob.escape(paths.client_config_dir())}/projects"
        name = glob.escape(os.path.basename(self.path))
        found = {os.path.realpath(p) for p in glob.glob(f"{projects}/**/{name}", recursive=True)}
        return sorted(path for path in {self.path, *found} if os.path.isfile(path))


def write_note(home_dir: str, done: Rewritten, more: dict[str, Any]) -> str:
    """Put a note on the disk, under a name of its own, which is returned.

    Raises:
        RewriteError: it cannot be written.
    """
    session = find.session_id_of(done.path)
    folder = _folder(home_dir, session)
    head = {"v": FORMATS[-1], "session": session, "path": done.path, "at": time.time()}
    whole = {**head, "before": done.before, "after": done.after, **more}
    line = json.dumps(whole).encode() + b"\n"
    try:
        io.make_folders(folder)
        there = [int(name[:-6]) for name in io.names_in(folder) if name[:-6].isdecimal()]
        file = f"{folder}/{max(there, default=0) + 1:06d}{_ENDING}"
        descriptor = disk.create(f"{folder}/unfinished")
        try:
            disk.write_all(descriptor, line)
            disk.system.fsync(descriptor)
            disk.system.replace(f"{folder}/unfinished", file)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise RewriteError(
            f"the note on the way back cannot be written in {folder} ({error.strerror or error}):"
            " nothing was changed"
        ) from error
    return file


def noted_sessions(home_dir: str) -> list[str]:
    """The names of the sessions that have notes."""
    return sorted(io.names_in(f"{home_dir}/backups/purges"))


def notes(home_dir: str, session: str) -> tuple[list[Note], list[RewriteError]]:
    """The notes on a session, the newest first, and what is wrong with those that are damaged."""
    found: list[Note] = []
    problems: list[RewriteError] = []
    folder = _folder(home_dir, session)
    for name in sorted(io.names_in(folder), reverse=True):
        if name.endswith(_ENDING):
            try:
                found.append(_read(f"{folder}/{name}"))
            except RewriteError as problem:
                problems.append(problem)
    return found, problems


def _read(file: str) -> Note:
    try:
        with open(file, encoding="utf-8", errors="surrogateescape") as lines:
            head = json.loads(lines.readline())
        if head["v"] not in FORMATS:
            raise RewriteError(f"{file} was written by a newer brimline: upgrade this one")
        before, after = Content(*head["before"]), Content(*head["after"])
        return Note(
            file, head["path"], head["at"], before, after, int(head.get("context_tokens", 0))
        )
    except (ValueError, KeyError, TypeError, OSError) as error:
        raise RewriteError(
            f"{file}, the note on a rewrite, cannot be read ({error}): the session's backup holds "
            "what it was before"
        ) from error


def forget(note: Note) -> None:
    """Remove a note that is used up, and the folder when it was the last."""
    io.remove(note.file)
    io.remove(f"{os.path.dirname(note.file)}/unfinished")
    try:
        os.rmdir(os.path.dirname(note.file))
    except OSError:  # there are more
        pass


def expire(home_dir: str, oldest: float) -> int:
    """Forget rewrites from before a time whose session is nowhere any more; returns how many."""
    gone = [
        note
        for session in noted_sessions(home_dir)
        for note in notes(home_dir, session)[0]
        if note.at < oldest and not note.places()
    ]
    for note in gone:
        forget(note)
    return len(gone)


def context_tokens_since(home_dir: str, path: str, moment: float) -> int:
    """How many tokens purges of a file took out of the context after a moment, estimated."""
    real = os.path.realpath(path)
    found, _ = notes(home_dir, find.session_id_of(real))
    return sum(note.context_tokens for note in found if note.path == real and note.at > moment)


def _folder(home_dir: str, session: str) -> str:
    return f"{home_dir}/backups/purges/{paths.safe_session_id(session)}"
