"""The record of a purge, from which the session can be put back byte for byte.

    backups/purges/<session>/000001.jsonl

One line says which bytes became which; the others, in the order of the purged file, say what to
do at which of its bytes. What was taken out lies in the store: a result under its own key, all else
in chunks. The record mentions every key, and it lies where the store looks for mentions, so nothing
of it is ever collected as garbage.
"""

from __future__ import annotations

import glob
import json
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from brimline import fastio, paths
from brimline.purge.errors import PurgeError

if TYPE_CHECKING:
    from collections.abc import Iterator

FORMAT = 1
CHANGED, DROPPED, ADDED, TORN = "c", "d", "a", "t"
_CREATE = (
    os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
)
_ENDING = ".jsonl"
_ENCODE = json.JSONEncoder(separators=(",", ":")).encode


class Piece(NamedTuple):
    """Bytes that were taken out: a text of the store with its quotes, or a part of a chunk."""

    key: str | None
    chunk: int = 0
    start: int = 0
    length: int = 0


class Patch(NamedTuple):
    """The bytes `start` to `end` of a changed line were something else."""

    start: int
    end: int
    was: Piece


class Step(NamedTuple):
    """What to do at a place in the purged file."""

    at: int
    kind: str
    check: str
    """A hash of the line there; of the end of the line before it, where rows were dropped."""
    length: int
    """How many bytes of the purged file it is about."""
    patches: tuple[Patch, ...] = ()
    was: Piece | None = None
    rows: int = 0


@dataclass(frozen=True, slots=True)
class Content:
    """So many bytes with this hash."""

    length: int
    digest: str


@dataclass(slots=True)
class Record:
    """One purge."""

    session: str
    path: str
    at: float
    before: Content
    after: Content
    chunks: list[str] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    file: str = ""
    """Where it is kept."""
    context_tokens: int = 0
    """By how much the next request shrank, estimated."""

    @property
    def keys(self) -> set[str]:
        """All stored content that it needs."""
        pieces = [step.was for step in self.steps if step.was is not None]
        pieces += [patch.was for step in self.steps for patch in step.patches]
        return {*self.chunks, *[piece.key for piece in pieces if piece.key is not None]}

    @property
    def lines(self) -> int:
        """How many lines were changed or dropped."""
        return sum(step.rows or 1 for step in self.steps if step.kind != ADDED)


def folder(home_dir: str, session: str) -> str:
    """Where the records of a session are kept."""
    return f"{all_folder(home_dir)}/{paths.safe_session_id(session)}"


def all_folder(home_dir: str) -> str:
    """Where the records of all sessions are kept."""
    return f"{home_dir}/backups/purges"


def write(home_dir: str, record: Record) -> None:
    """Put a record on the disk, under a name of its own.

    Raises:
        OSError: it cannot be written.
    """
    head = {
        "v": FORMAT,
        "session": record.session,
        "path": record.path,
        "at": record.at,
        "before": [record.before.length, record.before.digest],
        "after": [record.after.length, record.after.digest],
        "chunks": record.chunks,
        "context_tokens": record.context_tokens,
    }
    place = folder(home_dir, record.session)
    fastio.make_folders(place)
    record.file, descriptor = _create(place)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(_line(head))
            file.writelines(_line(_packed(step)) for step in record.steps)
            file.flush()
            os.fsync(file.fileno())
    except OSError:
        remove(record)
        raise


def read_each(home_dir: str, session: str) -> tuple[list[Record], list[PurgeError]]:
    """The records of a session, the newest first, and what is wrong with those that are damaged."""
    found: list[Record] = []
    problems: list[PurgeError] = []
    for file in _files(folder(home_dir, session)):
        try:
            found.append(_read(file))
        except PurgeError as problem:
            problems.append(problem)
    return found, problems


def read_all(home_dir: str, session: str) -> list[Record]:
    """The records of a session, the newest first.

    Raises:
        PurgeError: one cannot be read.
    """
    found, problems = read_each(home_dir, session)
    for problem in problems:
        raise problem
    return found


def sessions(home_dir: str) -> list[str]:
    """The names of the sessions that have records."""
    return sorted(fastio.names_in(all_folder(home_dir)))


def belongs_to(record: Record, path: str) -> bool:
    """Whether a record is a file's own: made there, or in a place where nothing is any more."""
    return record.path == path or not os.path.exists(record.path)


def remove(record: Record) -> None:
    """Forget a purge; what it had stored is no longer held."""
    _remove(record.file)


def forget(home_dir: str, session: str) -> int:
    """Forget every purge of a session; returns how many there were."""
    found = _files(folder(home_dir, session))
    for file in found:
        _remove(file)
    return len(found)


def expire(home_dir: str, oldest: float) -> int:
    """Forget purges from before a time whose session is nowhere any more; returns how many.

    The client deletes sessions after a month, and what was taken out of them would stay for ever.
    """
    gone = 0
    for name in sessions(home_dir):
        for record in read_each(home_dir, name)[0]:
            if record.at < oldest and not places(record):
                remove(record)
                gone += 1
    return gone


def places(record: Record) -> list[str]:
    """Where its session is: where it was purged, and wherever the client has one of that name."""
    projects = f"{glob.escape(paths.client_config_dir())}/projects"
    name = glob.escape(os.path.basename(record.path))
    found = {os.path.realpath(p) for p in glob.glob(f"{projects}/**/{name}", recursive=True)}
    return sorted(path for path in {record.path, *found} if os.path.isfile(path))


def _files(place: str) -> list[str]:
    names = sorted(name for name in fastio.names_in(place) if name.endswith(_ENDING))
    return [f"{place}/{name}" for name in reversed(names)]


def _remove(file: str) -> None:
    fastio.remove(file)
    try:
        os.rmdir(os.path.dirname(file))
    except OSError:  # there are more
        pass


def context_tokens_since(home_dir: str, session: str, path: str, moment: float) -> int:
    """How many tokens purges of a file took out of the context after a moment, estimated."""
    found, _ = read_each(home_dir, session)
    return sum(
        record.context_tokens for record in found if record.path == path and record.at > moment
    )


def _create(place: str) -> tuple[str, int]:
    numbers = [int(name[:-6]) for name in fastio.names_in(place) if name[:-6].isdecimal()]
    number = max(numbers, default=0)
    while True:
        number += 1
        path = f"{place}/{number:06d}{_ENDING}"
        try:
            return path, os.open(path, _CREATE, 0o600)
        except FileExistsError:
            continue


def _read(path: str) -> Record:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            head = json.loads(file.readline())
            if head["v"] != FORMAT:
                raise PurgeError(f"{path} was written by a newer brimline: upgrade this one")
            return Record(
                head["session"],
                head["path"],
                head["at"],
                Content(*head["before"]),
                Content(*head["after"]),
                head["chunks"],
                list(_steps(file)),
                path,
                int(head.get("context_tokens", 0)),
            )
    except (ValueError, KeyError, TypeError, IndexError, OSError) as error:
        raise PurgeError(
            f"{path}, the record of a purge, cannot be read ({error}): the session's backup holds "
            "what it was before"
        ) from error


def _steps(lines: Any) -> Iterator[Step]:
    for line in lines:
        at, kind, check, length, patches, was, rows = json.loads(line)
        yield Step(
            at,
            kind,
            check,
            length,
            tuple(Patch(start, end, Piece(*piece)) for start, end, piece in patches),
            Piece(*was) if was is not None else None,
            rows,
        )


def _line(value: Any) -> bytes:
    return _ENCODE(value).encode() + b"\n"


def _packed(step: Step) -> list[Any]:
    patches = [[patch.start, patch.end, list(patch.was)] for patch in step.patches]
    was = list(step.was) if step.was is not None else None
    return [step.at, step.kind, step.check, step.length, patches, was, step.rows]
