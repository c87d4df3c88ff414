"""What transcripts and spools come to, in one SQLite file: each is read once, then on from its end.

    with store.opened(home_dir) as figures:
        notes = figures.refresh(paths)
        figures.transcripts(), figures.spools(), spending.spendings(figures)

The file is made anew from its sources where it is damaged or of another version; where none can be
written, the same happens in memory. What no longer has a source is in the history.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import sqlite3
import stat
import time
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple

from brimline.errors import StateError
from brimline.fast import io, paths
from brimline.figures import archive, shares, spool, totals
from brimline.figures.reader import Kept, Transcript, stamp_of_file
from brimline.state import forgotten
from brimline.transcript import find, typed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from brimline.transcript.typed import Session

    Progress = Callable[[int], None] | None

FILE = "figures.sqlite3"
_FORMAT = 4
_IN_MEMORY = ":memory:"
_BUSY_S = 10.0
# Smaller files are read faster than they are looked up.
_LARGE_BYTES = 4 << 20
# Fewer are read before other processes are ready to.
_MANY_BYTES = 32 << 20
# Every change of the file has its price, and others wait for it.
_SAVED_AT_ONCE = 16
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_SIGNS_OF_DAMAGE = ("Could not decode to UTF-8", "no such column", "no such table", "malformed")
# What the list of sessions is chosen and sorted by is taken from the documents of their pages.
_PAGE = ("id", "project", "model", "last_at", "peak", "compactions", "tokens")
_TAKEN = ", ".join(f"{name} AS (json_extract(document, '$.{name}')) STORED" for name in _PAGE)
_SCHEMA = f"""
    BEGIN IMMEDIATE;
    DROP TABLE IF EXISTS transcript;
    DROP TABLE IF EXISTS past;
    DROP TABLE IF EXISTS billed;
    DROP TABLE IF EXISTS spool;
    DROP TABLE IF EXISTS page;
    CREATE TABLE transcript (
        id INTEGER PRIMARY KEY, path BLOB UNIQUE, stamp TEXT, session TEXT, project TEXT,
        title TEXT, is_subagent INTEGER, is_fork INTEGER, archived INTEGER, document TEXT
    );
    CREATE INDEX transcript_by_session ON transcript (session);
    CREATE TABLE past (transcript INTEGER, requests TEXT);
    CREATE INDEX past_by_transcript ON past (transcript);
    CREATE TRIGGER past_goes_too AFTER DELETE ON transcript
        BEGIN DELETE FROM past WHERE transcript = old.id; END;
    CREATE TABLE billed (
        transcript INTEGER, key TEXT, at REAL, model TEXT, kind TEXT, searches INTEGER,
        input INTEGER, write_5m INTEGER, write_1h INTEGER, read INTEGER, output INTEGER,
        is_subagent INTEGER, counts INTEGER, PRIMARY KEY (transcript, key)
    ) WITHOUT ROWID;
    CREATE INDEX billed_by_key ON billed (key, transcript, counts);
    CREATE TABLE spool (
        session TEXT PRIMARY KEY, stamp TEXT, damaged INTEGER, archived INTEGER, events TEXT,
        requests TEXT
    );
    CREATE TABLE page (path BLOB PRIMARY KEY, stamp TEXT, {_TAKEN}, document TEXT);
    PRAGMA user_version = {_FORMAT};
    COMMIT;
"""  # noqa: S608 - ours
# Forks and copies have requests of others with the same ids: one that several have counts in the
# first of them that is no fork.
_COUNT_ONCE = """
    UPDATE billed SET counts = transcript = (
        SELECT id FROM billed AS other JOIN transcript ON other.transcript = id
        WHERE other.key = billed.key ORDER BY is_fork, path LIMIT 1
    ) WHERE key IN (SELECT key FROM billed WHERE key IN (SELECT key FROM touched) GROUP BY key
                    HAVING count(*) > 1 OR sum(counts) = 0)
"""


class Spool(NamedTuple):
    """What the spool of one session tells."""

    stamp: list[int]
    damaged: int
    """How many pieces of it hold no event."""
    events: list[totals.Event]
    requests: list[totals.Request]
    """As hooks have measured them."""


class Store:
    """The file, open."""

    def __init__(self, base: sqlite3.Connection, home_dir: str) -> None:
        self.base, self.home_dir = base, home_dir
        self._gone = forgotten.forgotten_line_by_session(home_dir)
        self._spooled_paths: set[str] = set()

    def refresh(
        self,
        files: Iterable[str],
        *,
        until: float = float("inf"),
        progress: Progress = None,
        in_shares: bool = False,
    ) -> list[str]:
        """Take in what spools and transcripts tell by now, the newest first.

        Args:
            files: the transcripts.
            until: when to stop, in seconds of `time.monotonic`.
            progress: called with numbers of bytes that were read.
            in_shares: whether several processes may read them, as a person waits for it.

        Returns:
            What a reader of the figures should know, in sentences.
        """

        def report_or_time_out(size: int) -> None:
            if time.monotonic() > until:
                raise TimeoutError
            if progress:
                progress(size)

        notes, files = list[str](), list(files)
        self._let_go_of_gone()
        if in_shares:
            self._read_new_in_shares(files, report_or_time_out)
        changed = itertools.chain(self._changed_spools(), self._changed_transcripts(files))
        for name, task in changed:
            try:
                report_or_time_out(0)
                task(report_or_time_out)
            except TimeoutError:
                notes.append("not everything that was recorded is in yet: run it again")
                break
            except OSError as error:
                why = error.strerror or error
                notes.append(f"{error.filename or name} could not be read: {why}")
        return notes

    def read(self, path: str, progress: Progress = None, *, with_past: bool = True) -> Transcript:
        """One transcript as it is now.

        Args:
            path: its file.
            progress: called with numbers of bytes that were read.
            with_past: whether its requests before the last compaction are asked for.

        Raises:
            OSError: it cannot be read.
        """
        found = self._known(path, with_past=with_past) or Transcript(path)
        before, stamp = found.stamp, stamp_of_file(path)
        if before != stamp:
            if before and not found.goes_on():
                found = Transcript(path)
            is_whole = not found.read_to
            found.read_on(partial(_forgotten_at, self._gone), progress)
            found.stamp = stamp
            found.number = self._save(path, found.kept(), before, is_whole=is_whole)
        return found

    def _read_new_in_shares(self, files: Iterable[str], progress: Callable[[int], None]) -> None:
        """Read transcripts for the first time; those that cannot be read are left."""
        known = {path for (path,) in self.base.execute("SELECT path FROM transcript")}
        sizes = {}
        for path in files:
            if os.fsencode(path) not in known and not forgotten.is_forgotten_file(self._gone, path):
                with contextlib.suppress(OSError):
                    sizes[path] = os.path.getsize(path)
        if sum(sizes.values()) < _MANY_BYTES:
            return
        made = shares.made_of_each(partial(_first_reading, self._gone), sizes)
        while some := list(itertools.islice(made, _SAVED_AT_ONCE)):
            with self._changing():
                for path, kept in some:
                    if kept:
                        self._put(path, kept, "", is_whole=True)
            progress(sum(sizes[path] for path, kept in some if kept))

    def sessions_newest_first(self) -> list[str]:
        """The names of all sessions that have a transcript or a spool."""
        rows = self.base.execute(_NAMES_AND_STAMPS).fetchall()
        found = sorted(rows, key=lambda row: _changed_at(row[1]), reverse=True)
        return list(dict.fromkeys(name for name, *_ in found))

    def transcripts_of(self, session_id: str) -> list[Transcript]:
        """What is known of the files of a session, those of its subagents left out."""
        asked = f"SELECT {_COLUMNS} FROM transcript WHERE session = ? AND NOT is_subagent"  # noqa: S608
        rows = self.base.execute(asked, (session_id,)).fetchall()
        return [_transcript_of_values(each, self._past_of(each[0])) for each in rows]

    def spool_of(self, session_id: str) -> Spool:
        """What is known of a session's spool."""
        asked = "SELECT stamp, damaged, events, requests FROM spool WHERE session = ?"
        found = self.base.execute(asked, (session_id,)).fetchone()
        return _spool_of_values(*found) if found else Spool([], 0, [], [])

    def refresh_spool(self, session_id: str) -> None:
        """Take in what hooks have noted of a session by now.

        Raises:
            OSError: it cannot be read.
        """
        for _, task in self._changed_spools([session_id]):
            task(None)

    @cached_property
    def archived_lines(self) -> dict[str, bytes]:
        """The lines of the archive, by session."""
        return archive.lines_by_session(self.home_dir)

    def keys_counted_elsewhere(self, transcript: int | None) -> set[str]:
        """The requests of a transcript that are those of another one."""
        asked = "SELECT key FROM billed WHERE transcript = ? AND NOT counts"
        return {key for (key,) in self.base.execute(asked, (transcript,))}

    def drop_sessions(self, names: Iterable[str]) -> None:
        """Let go of some sessions, without a trace in the file."""
        with self._changing():
            for name in names:
                found = self.base.execute("SELECT id FROM transcript WHERE session = ?", (name,))
                for (number,) in found.fetchall():
                    self._drop_billed(number)
                for table in ("transcript", "spool"):
                    self.base.execute(f"DELETE FROM {table} WHERE session = ?", (name,))  # noqa: S608
            self.base.execute("DELETE FROM page")  # made again without them
        self.base.execute("VACUUM")

    def not_archived(self, before: float) -> set[str]:
        """The sessions of which the history has no line, or an older one, and that are quiet."""
        rows = self.base.execute(_NAMES_AND_STAMPS).fetchall()
        busy = {name for name, stamp, _ in rows if _changed_at(stamp) >= before}
        return {name for name, _, is_archived in rows if not is_archived} - busy

    def note_archived(self, names: Iterable[str]) -> None:
        """Put on record that the history has all that is told of some sessions."""
        told = [(name,) for name in names]
        with self._changing() as base:
            base.executemany("UPDATE spool SET archived = 1 WHERE session = ?", told)
            base.executemany("UPDATE transcript SET archived = 1 WHERE session = ?", told)

    def _changed_spools(
        self, names: Iterable[str] | None = None
    ) -> Iterator[tuple[str, Callable[[Progress], None]]]:
        known = dict(self.base.execute("SELECT session, stamp FROM spool").fetchall())
        parent = paths.sessions_dir(self.home_dir)
        for name in io.list_names(parent) if names is None else names:
            stamp = " ".join(map(str, spool.stamp_of_folder(f"{parent}/{name}")))
            if name == paths.safe_session_id(name) and known.get(name, "") != stamp:
                yield name, partial(self._read_spool, name, stamp)

    def _read_spool(self, name: str, stamp: str, _progress: Progress) -> None:
        lines, damaged = spool.read_events_and_damage(paths.session_dir(self.home_dir, name))
        since = _forgotten_at(self._gone, name)
        events = [
            totals.well_typed_event_fields(line)
            for line in lines
            if not since or line["at"] >= since
        ]
        told = [totals.events_worth_keeping(events), totals.requests_measured_by_hooks(events)]
        values = (name, stamp, damaged, 0, *map(json.dumps, told))
        with self._changing() as base:
            _insert(base, "REPLACE INTO spool", [values])
        named = [line.get("transcript_path") for line in lines]
        self._spooled_paths.update([path for path in named if isinstance(path, str)][-1:])

    def _changed_transcripts(
        self, files: Iterable[str]
    ) -> Iterator[tuple[str, Callable[[Progress], Any]]]:
        known = dict(self.base.execute("SELECT path, stamp FROM transcript").fetchall())
        stale = []
        for path in {*files, *self._spooled_paths}:
            if not forgotten.is_forgotten_file(self._gone, path):
                with contextlib.suppress(OSError):
                    if known.get(os.fsencode(path)) != stamp_of_file(path):
                        stale.append(path)
        for path in sorted(stale, key=find.modified_at, reverse=True):
            yield path, partial(self.read, path)

    def _past_of(self, number: int) -> list[str]:
        asked = "SELECT requests FROM past WHERE transcript = ? ORDER BY rowid"
        return [requests for (requests,) in self.base.execute(asked, (number,))]

    def _known(self, path: str, *, with_past: bool) -> Transcript | None:
        asked = f"SELECT {_COLUMNS} FROM transcript WHERE path = ?"  # noqa: S608 - ours
        values = self.base.execute(asked, (os.fsencode(path),)).fetchone()
        if values is None:
            return None
        return _transcript_of_values(values, self._past_of(values[0]) if with_past else [])

    def _save(self, path: str, kept: Kept, before: str, *, is_whole: bool) -> int | None:
        """Keep what a transcript tells, unless another process was faster; its number."""
        with self._changing():
            return self._put(path, kept, before, is_whole=is_whole)

    def _put(self, path: str, kept: Kept, before: str, *, is_whole: bool) -> int | None:
        base, name = self.base, os.fsencode(path)
        there = base.execute("SELECT id, stamp FROM transcript WHERE path = ?", (name,))
        number: int | None
        number, stamp = there.fetchone() or (None, "")
        if stamp != before:
            return number
        if is_whole and number:
            self._drop_billed(number)
            base.execute("DELETE FROM past WHERE transcript = ?", (number,))
        _insert(base, "REPLACE INTO transcript", [(number, name, *kept.columns)])
        (number,) = base.execute("SELECT last_insert_rowid()").fetchone()
        if kept.past:
            _insert(base, "INSERT INTO past", [(number, kept.past)])
        if kept.billed:
            _insert(base, "INSERT INTO billed", [(number, *one, 1) for one in kept.billed], _ADD)
            _insert(base, "INSERT INTO touched", [one[:1] for one in kept.billed])
        return number

    def _drop_billed(self, number: int) -> None:
        """Forget what was billed in a transcript; another one that has the same counts it."""
        told = (number,)
        self.base.execute("INSERT INTO touched SELECT key FROM billed WHERE transcript = ?", told)
        self.base.execute("DELETE FROM billed WHERE transcript = ?", told)

    def _let_go_of_gone(self) -> None:
        """Count nothing of transcripts that are gone; once it is archived, keep nothing either."""
        every = self.base.execute("SELECT id, path, archived FROM transcript").fetchall()
        gone = [(number, done) for number, path, done in every if not os.path.exists(path)]
        folders = set(io.list_names(paths.sessions_dir(self.home_dir)))
        spools = self.base.execute("SELECT session FROM spool WHERE archived").fetchall()
        silent = [row for row in spools if row[0] not in folders]
        with self._changing() as base:
            base.executemany("DELETE FROM spool WHERE session = ?", silent)
            for number, is_archived in gone:
                self._drop_billed(number)
                if is_archived:
                    base.execute("DELETE FROM transcript WHERE id = ?", (number,))

    @contextlib.contextmanager
    def _changing(self) -> Iterator[sqlite3.Connection]:
        """Let what is written meanwhile be written whole or not at all."""
        with self.base:
            self.base.execute("BEGIN IMMEDIATE")
            yield self.base
            self.base.execute(_COUNT_ONCE)
            self.base.execute("DELETE FROM touched")


_NAMES_AND_STAMPS = """
    SELECT session, stamp, archived FROM spool
    UNION ALL SELECT session, stamp, archived FROM transcript WHERE NOT is_subagent
"""
_COLUMNS = "id, path, stamp, session, project, is_fork, document"
_ADD = """
    ON CONFLICT (transcript, key) DO UPDATE SET model = excluded.model, kind = excluded.kind,
    searches = excluded.searches, input = excluded.input, write_5m = excluded.write_5m,
    write_1h = excluded.write_1h, read = excluded.read, output = excluded.output
"""


def _insert(
    base: sqlite3.Connection, what: str, rows: Sequence[Sequence[Any]], how: str = ""
) -> None:
    """Insert rows; what is no Unicode in a text gets a mark in its place."""
    asked = f"{what} VALUES ({', '.join('?' * len(rows[0]))}) {how}"
    try:
        base.executemany(asked, rows)
    except UnicodeEncodeError:
        # Those before the first such text are there already, and are put there again.
        base.executemany(asked, [tuple(map(_as_unicode, row)) for row in rows])


def _as_unicode(value: Any) -> Any:
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value


def _forgotten_at(gone: dict[str, Any], session_id: str) -> float:
    at: float = gone.get(session_id, {"at": 0.0})["at"]
    return at


def _first_reading(gone: dict[str, Any], path: str) -> Kept | None:
    """What is kept of a transcript that was not read before; None where it cannot be read."""
    found = Transcript(path)
    try:
        found.stamp = stamp_of_file(path)
        found.read_on(partial(_forgotten_at, gone), None)
    except OSError:
        return None
    return found.kept()


def _transcript_of_values(values: tuple[Any, ...], past: list[str]) -> Transcript:
    number, path, stamp, session_id, project, is_fork, document = values
    found = Transcript(
        os.fsdecode(path), stamp, session_id, project, is_fork=bool(is_fork), number=number
    )
    try:
        found.fill_in(document, past)
    except (ValueError, TypeError, KeyError, IndexError) as error:
        raise sqlite3.DatabaseError("malformed figures") from error
    return found


def _spool_of_values(stamp: str, damaged: int, events: str, requests: str) -> Spool:
    measured = [totals.Request(*one) for one in json.loads(requests)]
    return Spool([int(part) for part in stamp.split()], damaged, json.loads(events), measured)


def _changed_at(stamp: str) -> float:
    """When what a stamp was taken of was changed."""
    return int((*stamp.split(), "0", "0")[1]) / 1e9


def measure(home_dir: str, path: str, progress: Progress = None) -> Session:
    """A session since its last compaction; of a large file only what is new is read.

    Raises:
        OSError: it cannot be read.
    """
    if os.path.getsize(path) < _LARGE_BYTES:
        return typed.measure(path, progress)
    with opened(home_dir) as figures:
        return figures.read(path, progress, with_past=False).measured


@contextlib.contextmanager
def opened(home_dir: str | None, *, in_memory: bool = True) -> Iterator[Store]:
    """The file, for as long as it is needed.

    Args:
        home_dir: the data folder; without one nothing is kept.
        in_memory: whether it makes sense without a file, where none can be written.

    Raises:
        StateError: it was damaged and is made anew, cannot be written, or others have it too long.
    """
    path = f"{home_dir}/{FILE}" if home_dir else _IN_MEMORY
    try:
        with contextlib.closing(_connect_or_in_memory(path, in_memory=in_memory)) as base:
            yield Store(base, home_dir or "")
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
        if not _is_damage(error):
            raise StateError(f"{path}, where figures are kept, cannot be used: {error}") from error
        _remove(path)
        raise StateError(f"{path} was damaged and is made anew: try again") from error


def _connect_or_in_memory(path: str, *, in_memory: bool) -> sqlite3.Connection:
    """A connection of one's own; a file that is damaged from its first bytes on is made anew."""
    try:
        if path != _IN_MEMORY:
            io.make_folder_and_parents(os.path.dirname(path))
            io.create_exclusively(path, b"")
            _refuse_other_than_file(path)
            if not os.path.getsize(path):
                remove_files_of_older_versions(os.path.dirname(path))
        try:
            return _connect(path)
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            if not _is_damage(error):
                raise
            _remove(path)
            io.create_exclusively(path, b"")
            return _connect(path)
    except (OSError, sqlite3.OperationalError) as error:
        if in_memory:
            return _connect(_IN_MEMORY)
        told = f"{path}, where figures are kept, cannot be written"
        raise StateError(f"{told}: {getattr(error, 'strerror', None) or error}") from error


def _refuse_other_than_file(path: str) -> None:
    if not stat.S_ISREG(os.lstat(path).st_mode):
        raise OSError("there is something else in its place")
    if not (os.access(path, os.W_OK) and os.access(os.path.dirname(path), os.W_OK)):
        raise OSError("it can only be read")


def _connect(path: str) -> sqlite3.Connection:
    base = sqlite3.connect(path, timeout=_BUSY_S, isolation_level=None)
    try:
        base.execute("PRAGMA synchronous = OFF")  # what a power cut damages is made again
        base.execute("CREATE TEMP TABLE touched (key TEXT)")
        if base.execute("PRAGMA user_version").fetchone()[0] != _FORMAT:
            base.executescript(_SCHEMA)
    except BaseException:
        base.close()
        raise
    return base


def _is_damage(error: Exception) -> bool:
    """Tell whether a failure says that the file is damaged, or not one of ours."""
    if isinstance(error, UnicodeDecodeError) or str(error).startswith(_SIGNS_OF_DAMAGE):
        return True
    return (getattr(error, "sqlite_errorcode", 0) & 0xFF) in _DAMAGED


def remove_files_of_older_versions(home_dir: str) -> None:
    """Delete what 0.2.0 made of transcripts; this file has all of it."""
    for name in ("spending.jsonl", "dashboard.sqlite3"):
        with contextlib.suppress(IsADirectoryError, PermissionError):
            io.remove(f"{home_dir}/{name}")


def _remove(path: str) -> None:
    for end in ("", "-journal"):
        io.remove(path + end)
