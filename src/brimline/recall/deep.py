"""What goes into the search: past sessions, their checkpoints and notes, and the topic files.

Of a session its user's messages, replies, and summaries of compactions are taken in, with project,
session, time and source, secrets masked. All of it comes from files that are elsewhere, so the
search can be made anew; what a session's file held stays known when the client has deleted it, and
what the user wants forgotten is not taken in again.
"""

from __future__ import annotations

import fnmatch
import glob
import os
import re
import time
from functools import cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

from brimline.carry import checkpoint, ledger, links, notes
from brimline.errors import StoreError
from brimline.fast import clock, io, paths
from brimline.masking import mask
from brimline.recall import hits, hot, stored, turns
from brimline.recall.record import Record
from brimline.recall.turns import STEP
from brimline.settings import clientsettings
from brimline.state import forgotten
from brimline.transcript import find, read, row, words
from brimline.transcript.project import is_within, real_folder

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Iterator, Sequence

USER, REPLY, SUMMARY = "user", "reply", "summary"
CHECKPOINT, NOTE, TOPIC = "checkpoint", "note", "topic"
# What a model wrote down as learned, where its summary was asked to.
LESSON = "lesson"
SOURCES = (USER, REPLY, STEP, SUMMARY, LESSON, CHECKPOINT, NOTE, TOPIC)
# However it writes the heading: of its own sections it makes numbered or bold ones.
_LESSONS = re.compile(
    r"^[#*\d. ]*Lessons(?: learned)?[:* ]*\n((?:[ \t]*[-*] .+\n?|[ \t]*\n)+)",
    re.MULTILINE | re.IGNORECASE,
)
_MOST_LESSONS = 20
# A text is split where a paragraph ends; a longer one than all of these is cut.
_PIECE_CHARACTERS = 1_500
_MOST_PIECES = 12
_BREAK = re.compile(r"\n\s*\n|\n(?=[-*#|\d])")
_LARGEST_FILE = 1 << 20
_SPOKEN = (
    *(b'"user"', b'"assistant"', b'"queued_command"', b'"queue-operation"'),
    b'"compact_boundary"',
)
# A result of a tool tells what the user said only where a call was refused or a question answered.
_RESULT = b'"tool_result"'
_ANSWERED = (b"user said:", b"answered", b"user responded:", b'"answers"')
_OF_FILE = "ref = ? OR ref GLOB ?"
# In a checkpoint, what is taken in by itself.
_ELSEWHERE = ("Messages of the user", "Notes")


class Taken(NamedTuple):
    """What came of looking at the sources."""

    added: int
    pending: int
    """Sources that there was no time for."""


class Source(NamedTuple):
    """A file that records come from: how it looks, and how it is read."""

    path: str
    stamp: str
    changed: float
    read: Callable[[Source, str, float], tuple[list[Record], str]]

    @property
    def size_bytes(self) -> int:
        """How large it is."""
        return int(self.stamp.partition(":")[0])

    def records(self, known: str, until: float) -> tuple[list[Record], str]:
        """Return what is in it since it had a stamp, as far as there is time, and its stamp now."""
        return self.read(self, known, until)


def index_sources(
    home_dir: str,
    project_dir: str,
    exclude: Sequence[str] | None = (),
    *,
    until: float = float("inf"),
    progress: Callable[[int], None] = lambda _: None,
) -> Taken:
    """Bring the search up to date, what changed last first.

    Args:
        home_dir: the data folder.
        project_dir: the project whose topic files are known by the client's settings.
        exclude: folders whose sessions stay out, as patterns; None: it is not known which.
        until: on the monotonic clock, when to stop.
        progress: called with the number of bytes of each source that was looked at.

    Raises:
        StoreError: the search cannot be used, or nothing may be taken in.
    """
    if exclude is None:
        raise StoreError(
            "memory.exclude cannot be read: nothing is indexed before `brimline doctor` is content"
        )
    by_path = {source.path: source for source in find_sources(home_dir, project_dir)}
    if not by_path and not os.path.isdir(stored.search_folder(home_dir)):
        return Taken(0, 0)
    intake = _Intake(home_dir, exclude)
    intake.forget_reading_if_exclusions_changed()
    stamps = intake.memory.run_on_database(_read_stamps_of_indexed_sources)
    gone = [path for path in stamps if path not in by_path and path.endswith(".md")]
    intake.drop_gone_and_excluded(gone)
    fresh = sorted(_changed_sources(by_path.values(), stamps), key=lambda source: -source.changed)
    # As long as one connection is open, no other one tidies up the file when it closes.
    return intake.memory.run_on_database(
        lambda _: _index_and_count_entries(intake, fresh, stamps, until, progress)
    )


def _index_and_count_entries(
    intake: _Intake,
    fresh: list[Source],
    stamps: dict[str, str],
    until: float,
    progress: Callable[[int], None],
) -> Taken:
    """Take sources in as long as there is time, one in any case."""
    added = 0
    for number, source in enumerate(fresh):
        if number and time.monotonic() > until:
            return Taken(added, len(fresh) - number)
        added += intake.index_source(source, stamps.get(source.path, ""), until)
        progress(source.size_bytes)
    return Taken(added, 0)


def reindex_topic(home_dir: str, project_dir: str, path: str, exclude: Sequence[str] = ()) -> None:
    """Take in a topic that was made just now.

    Raises:
        StoreError: the search cannot be used.
    """
    intake = _Intake(home_dir, exclude)
    for source in _yield_source_if_there(path, partial(_read_topic, project_dir)):
        intake.index_source(source, "", float("inf"))


def find_sources(home_dir: str, project_dir: str) -> Iterator[Source]:
    """Every file that entries come from."""
    for path in hits.unforgotten_session_files(home_dir):
        yield from _yield_source_if_there(path, _read_session)
    read_checkpoint, read_notes, read_topic = (
        partial(_read_checkpoint, home_dir),
        partial(_read_notes, home_dir),
        partial(_read_topic, project_dir),
    )
    for name in io.list_names(paths.carry_dir(home_dir)):
        if name not in (links.CLIENTS, links.PROJECTS):
            folder = paths.carry_session_dir(home_dir, name)
            yield from _yield_source_if_there(f"{folder}/{checkpoint.MARKDOWN}", read_checkpoint)
            yield from _yield_source_if_there(f"{folder}/{notes.FILE_NAME}", read_notes)
            yield from _yield_source_if_there(f"{folder}/{ledger.LEDGER_FILE}", read_notes)
    folders = glob.glob(f"{glob.escape(paths.client_config_dir())}/projects/*/memory")
    for folder in dict.fromkeys([clientsettings.memory_folder(project_dir), *folders]):
        for name in hot.topic_file_names(folder):
            yield from _yield_source_if_there(f"{folder}/{name}", read_topic)


def bytes_of_unread_sources(home_dir: str, project_dir: str) -> int:
    """The size of all sources that have changed since they were read."""
    known = hits.open_or_make_memory(home_dir).run_on_database(_read_stamps_of_indexed_sources)
    changed = _changed_sources(find_sources(home_dir, project_dir), known)
    return sum(source.size_bytes for source in changed)


def _changed_sources(files: Iterable[Source], stamps: dict[str, str]) -> list[Source]:
    return [source for source in files if stamps.get(source.path, "").split("@")[0] != source.stamp]


def entries_of_what_was_said(
    rows: Iterable[tuple[int, dict[str, Any]]], *, goes_on: bool = False
) -> Iterator[tuple[int, Record]]:
    """The user's messages, replies, and summaries, in their order.

    Args:
        rows: those of a session, each with where it begins.
        goes_on: whether another session has what was said before its first compaction.

    Yields:
        Each with where the turn begins that it belongs to: from there one can read on later.
    """
    speech, copies = _Speech(), read.Copies(has_past=goes_on)
    for offset, fields in rows:
        if not copies.is_copy(fields):
            yield from speech.read_row(offset, fields)
    yield from speech.entries_at_end_of_turn()


class _Speech:
    """What is said in a session, row by row."""

    def __init__(self) -> None:
        self._turn_at = 0
        self._steps: list[Record] = []
        self._closing: list[Record] = []
        self._tools: dict[str, str] = {}
        # Messages that wait in the client's queue, by their text.
        self._queued: dict[str, tuple[int, Record]] = {}

    def read_row(self, offset: int, fields: dict[str, Any]) -> Iterator[tuple[int, Record]]:
        """Yield what one row adds, and what it shows to be said for good."""
        if row.uuid_of(fields) is None:
            self._note_queued_message(fields)
        elif row.is_summary(fields):
            text = row.content_text(row.blocks_sent_to_model(fields))
            yield offset, _record_of_row(fields, _LESSONS.sub("", text), SUMMARY)
            for number, lesson in enumerate(_lessons_in_summary(text)):
                ref = f"{row.uuid_of(fields)}:lesson{number}"
                yield offset, _record_of_row(fields, lesson, LESSON, ref)
        elif text := words.users_own_message(fields):
            self._queued.pop(text, None)  # it was sent now
            yield from self.entries_at_end_of_turn()
            self._turn_at = offset
            yield offset, _record_of_row(fields, text, USER)
        elif row.type_of(fields) == "assistant":
            self._note_reply(fields)
        else:
            for result in row.main_thread_results(fields):
                tool = self._tools.get(result.call_id, "")
                text = words.refusal_words(tool, result) or words.answer_words(tool, result)
                if text:
                    yield self._turn_at, _record_of_row(fields, text, USER)

    def entries_at_end_of_turn(self) -> Iterator[tuple[int, Record]]:
        """Its replies, and messages that never got a row of theirs."""
        yield from self._queued.values()
        for entry in (*_join_short_steps(self._steps), *self._closing):
            yield self._turn_at, entry
        self._queued, self._steps, self._closing = {}, [], []

    def _note_queued_message(self, fields: dict[str, Any]) -> None:
        """A message that was typed while the assistant worked; what is taken back was not said."""
        operation, whole = row.queue_operation_and_text(fields)
        text = words.users_part_of_prompt(whole)
        if operation == "enqueue" and text and not text.startswith("/"):
            ref = f"queued:{row.session_id_in(fields)}:{row.timestamp_text_of(fields)}"
            self._queued[text] = (self._turn_at, _record_of_row(fields, text, USER, ref))
        elif operation == "popAll":
            self._queued.pop(text, None)

    def _note_reply(self, fields: dict[str, Any]) -> None:
        calls = list(row.main_thread_calls(fields))
        self._tools |= {call.id: call.name for call in calls}
        if calls:
            self._steps += self._closing
            self._closing = []
        text = row.content_text(row.blocks_sent_to_model(fields)).strip()
        if text:
            self._closing.append(_record_of_row(fields, text, REPLY))


def _lessons_in_summary(text: str) -> list[str]:
    """The lines of the section that our instructions for summaries ask for."""
    section = _LESSONS.search(text)
    lines = [line.strip(" \t-*") for line in section[1].splitlines()] if section else []
    return [line for line in lines if line][:_MOST_LESSONS]


def _record_of_row(fields: dict[str, Any], text: str, source: str, ref: str = "") -> Record:
    at = clock.parse_utc(row.timestamp_text_of(fields)) or 0.0
    return Record(ref or row.uuid_of(fields) or "", text, "", at, source)


def _join_short_steps(steps: Iterable[Record]) -> list[Record]:
    """Return what was said between calls, most of it a line, as texts of about one part's size."""
    joined: list[Record] = []
    for step in steps:
        last = joined[-1] if joined else None
        if last and len(last.text) + len(step.text) <= _PIECE_CHARACTERS:
            text, rows = f"{last.text}\n\n{step.text}", f"{last.rows or last.ref} {step.ref}"
            joined[-1] = last._replace(text=text, rows=rows)
        else:
            joined.append(step._replace(source=STEP))
    return joined


def split_entry_into_pieces(entry: Record) -> Iterator[Record]:
    """A text in parts that are small enough to be about one thing; the first keeps its name."""
    parts: list[str] = []
    for paragraph in _BREAK.split(mask(entry.text).strip()):
        for start in range(0, len(paragraph), _PIECE_CHARACTERS):
            part = paragraph[start : start + _PIECE_CHARACTERS]
            if parts and len(parts[-1]) + len(part) <= _PIECE_CHARACTERS:
                parts[-1] += f"\n{part}"
            else:
                parts.append(part)
    for number, part in enumerate(parts[:_MOST_PIECES]):
        yield entry._replace(ref=f"{entry.ref}#{number + 1}" if number else entry.ref, text=part)


class Refused:
    """What stays out: excluded folders, and what was forgotten until it was said."""

    def __init__(self, home_dir: str, exclude: Sequence[str]) -> None:
        self.folders = [os.path.expanduser(one).rstrip("/") for one in exclude]
        self._forgotten = forgotten.read_forgotten_lines(home_dir)

    def __call__(self, entry: Record) -> bool:
        """Tell whether it stays out."""
        session = entry.session.partition("/")[0]
        return is_excluded_project(entry.project, self.folders) or any(
            entry.at <= told.get("at", 0)
            and (
                told.get("session") == session
                or is_within(entry.project, told.get("project") or "\0")
                or entry.at < told.get("before", 0)
            )
            for told in self._forgotten
        )


def is_excluded_project(project: str, folders: Sequence[str]) -> bool:
    """Tell whether a project is in, or is, one of the folders."""
    return any(
        fnmatch.fnmatchcase(project, one) or fnmatch.fnmatchcase(project, f"{one}/*")
        for one in folders
    )


def _yield_source_if_there(path: str, read: Any) -> Iterator[Source]:
    try:
        told = os.stat(path)
    except OSError:
        return
    yield Source(path, f"{told.st_size}:{told.st_mtime_ns}", told.st_mtime, read)


def _read_stamps_of_indexed_sources(connection: sqlite3.Connection) -> dict[str, str]:
    """Return how each source looked, and how far a session was read."""
    asked = "SELECT substr(name, 6), value FROM facts WHERE name GLOB 'file:*'"
    return dict(connection.execute(asked).fetchall())


class _Intake:
    """Takes sources in, one after the other."""

    def __init__(self, home_dir: str, exclude: Sequence[str]) -> None:
        self.memory = hits.open_or_make_memory(home_dir)
        self._refused = Refused(home_dir, exclude)

    def forget_reading_if_exclusions_changed(self) -> None:
        """Have all read anew where other folders are excluded than before: some may come back."""
        excluded = "\n".join(f"{folder}/" for folder in self._refused.folders)

        def forget_stamps_if_changed(connection: sqlite3.Connection) -> None:
            row = connection.execute("SELECT value FROM facts WHERE name = 'excluded'").fetchone()
            if excluded != (row[0] if row else ""):
                connection.execute("DELETE FROM facts WHERE name GLOB 'file:*'")
                connection.execute("REPLACE INTO facts VALUES ('excluded', ?)", (excluded,))

        self.memory.run_on_database(forget_stamps_if_changed)

    def drop_gone_and_excluded(self, gone: Sequence[str]) -> None:
        """Take out what files held that are gone, and what is excluded by now."""

        def remove_rows(connection: sqlite3.Connection) -> None:
            for path in gone:
                turns.remove_where(connection, _OF_FILE, (path, glob.escape(path) + "#*"))
                connection.execute("DELETE FROM facts WHERE name = ?", (f"file:{path}",))
            for (project,) in connection.execute("SELECT DISTINCT project FROM entries").fetchall():
                if is_excluded_project(project, self._refused.folders):
                    turns.remove_where(connection, "project = ?", (project,))

        if gone or self._refused.folders:
            self.memory.run_on_database(remove_rows)

    def index_source(self, source: Source, known: str, until: float) -> int:
        """Take in what is new in one source; how many entries that is."""
        try:
            made, stamp = source.records(known, until)
        except (OSError, ValueError):
            return 0  # it is as if it were not there, until it can be read
        fitting = [
            part for one in made if not self._refused(one) for part in split_entry_into_pieces(one)
        ]

        def drop_outdated_and_note_stamp(connection: sqlite3.Connection) -> None:
            _drop_entries_not_in_file(connection, source.path, {entry.ref for entry in fitting})
            values = (f"file:{source.path}", stamp)
            connection.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", values)

        added = self.memory.put_entries(fitting)
        self.memory.run_on_database(drop_outdated_and_note_stamp)
        return added


def _drop_entries_not_in_file(connection: sqlite3.Connection, path: str, refs: set[str]) -> None:
    """Take out the parts that are named after a file, and that it does not have any more."""
    asked = f"SELECT ref FROM entries WHERE {_OF_FILE}"  # noqa: S608 - nothing foreign is put in
    for (ref,) in connection.execute(asked, (path, glob.escape(path) + "#*")).fetchall():
        if ref not in refs:
            turns.remove_where(connection, "ref = ?", (ref,))


def _read_session(source: Source, known: str, until: float) -> tuple[list[Record], str]:
    begun = int(known.partition("@")[2] or 0)
    made, offset, is_whole = _new_session_entries(source.path, begun, until)
    return made, f"{source.stamp if is_whole else 'cut'}@{offset}"


def _new_session_entries(path: str, start: int, until: float) -> tuple[list[Record], int, bool]:
    """What was said in a session since it was read last, where to read on, whether that is all."""
    made: list[Record] = []
    session, project = find.session_id_of(path), real_folder(find.folder_it_began_in(path))
    with read.open_transcript_file(path) as file:
        if start and os.pread(file.fileno(), 1, start - 1) != b"\n":
            start = 0  # it was rewritten
        file.seek(start)
        offset = start
        folder = os.path.dirname(path)
        is_elsewhere = cache(lambda origin: os.path.isfile(f"{folder}/{origin}.jsonl"))
        rows = (
            (at, fields)
            for at, fields in _rows_that_may_hold_speech(read.lines_of_stream(file))
            # What a copy has from a session that is there is that session's.
            if not is_elsewhere(row.forked_from_session(fields))
        )
        goes_on = start == 0 and find.transcript_it_went_on_from(path) is not None
        for begun, entry in entries_of_what_was_said(rows, goes_on=goes_on):
            if begun > offset and time.monotonic() > until and made:
                return made, begun, False
            made.append(entry._replace(session=session, project=project))
            offset = max(offset, begun)
    return made, offset, True


def _rows_that_may_hold_speech(lines: Iterable[read.Line]) -> Iterator[tuple[int, dict[str, Any]]]:
    for line in lines:
        raw = line.raw
        marks = _ANSWERED if _RESULT in raw else _SPOKEN
        if line.part is None and any(mark in raw for mark in marks):
            for record in line.records:
                yield line.offset, record.value


def _read_topic(project_dir: str, source: Source, *_: Any) -> tuple[list[Record], str]:
    folder = os.path.dirname(source.path)
    project = project_dir
    if folder != clientsettings.memory_folder(project_dir):
        sessions = glob.glob(f"{glob.escape(os.path.dirname(folder))}/*.jsonl")
        project = next((one for one in map(find.folder_it_began_in, sessions) if one), "")
    raw = io.read_file(source.path, _LARGEST_FILE)
    topic = hot.parse_topic(source.path, raw)
    title = ": ".join(filter(None, (topic.name, topic.description)))
    text = f"{title}\n{topic.text}".strip()
    own = Record(source.path, text, source.path, source.changed, TOPIC, real_folder(project))
    return [own], source.stamp


def _read_notes(home_dir: str, source: Source, *_: Any) -> tuple[list[Record], str]:
    session, record = _session_and_ledger(home_dir, source)
    project, made = real_folder(record.folder), []
    for note in record.notes.values():
        at = clock.parse_utc(str(note["at"])) or source.changed
        ref = f"note:{session}:{note['id']}"
        made.append(Record(ref, note["text"], f"{session}/notes", at, NOTE, project))
    return made, source.stamp


def _read_checkpoint(home_dir: str, source: Source, *_: Any) -> tuple[list[Record], str]:
    session, record = _session_and_ledger(home_dir, source)
    text = io.read_file(source.path, _LARGEST_FILE).decode("utf-8", "replace")
    sections = [part for part in text.split("\n## ") if not part.startswith(_ELSEWHERE)]
    own = Record(
        *(source.path, "\n## ".join(sections), f"{session}/checkpoint"),
        *(source.changed, CHECKPOINT, real_folder(record.folder)),
    )
    return [own] if len(sections) > 1 else [], source.stamp


def _session_and_ledger(home_dir: str, source: Source) -> tuple[str, ledger.Ledger]:
    session = os.path.basename(os.path.dirname(source.path))
    return session, notes.merge_notes_into_ledger(home_dir, ledger.load(home_dir, session))
