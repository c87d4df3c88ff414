"""Memory's part of the search: short texts that follow each other, found by words and by meaning.

A text is searched together with the one before it in its group (its session): an answer rarely
repeats the words of its question. Vectors are kept in blocks of 256, by the number of the entry,
so that numpy can scan all of them at once; the entry before lends its vector too.
"""

from __future__ import annotations

import functools
import json
import zlib
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

from brimline.errors import StoreError
from brimline.recall import database, question, ranking, vectors
from brimline.recall.ranking import RELATED, Found, Vectors
from brimline.recall.record import Hit, Record

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from brimline.recall.vectors import Table
    from brimline.transcript.project import Project

    Answer = TypeVar("Answer")
    Others = Callable[[], Sequence[tuple[Hit, Found]]]

# How many candidates each way of searching offers.
CANDIDATES = 200
# So many times the hits that are wanted are held against the floor.
_LOOKED_AT = 3
_BLOCK = 256
_MOST_BEFORE = 1_500
_AT_ONCE = 500
# The source of what was said on the way to an answer: what follows does not answer that.
STEP = "step"
# `rank` is the score over both columns, by which FTS5 itself sorts.
_BY_WORDS = """
    SELECT rowid, -bm25(turns, 0.0, 1.0), -rank FROM turns
    WHERE turns MATCH :expression {} ORDER BY rank LIMIT :limit
"""
_FIELDS = Record._fields[:6]
_HITS = f"""
    SELECT {", ".join(_FIELDS)}, value, id, before, before_id
    FROM entries LEFT JOIN facts ON name = 'rows:' || ref
    WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id
"""  # noqa: S608 - ours
_AROUND = """
    SELECT id FROM entries
    WHERE before_id = ?1 OR id IN (?1, (SELECT before_id FROM entries WHERE id = ?1))
"""
_WITHOUT_VECTOR = """
    SELECT id, coalesce(before_id, 0), number, text, before
    FROM entries JOIN projects USING (project) WHERE NOT has_vector ORDER BY id LIMIT ?
"""
_INSERT = (
    f"INSERT INTO entries ({', '.join(_FIELDS)}, before_id, before) "  # noqa: S608 - ours
    f"VALUES ({', '.join('?' * len(_FIELDS))}, ?, ?)"
)
_DELETE = (
    "DELETE FROM facts WHERE name = (SELECT 'rows:' || ref FROM entries WHERE id = ?)",
    "DELETE FROM entries WHERE id = ?",
    "UPDATE entries SET before_id = NULL, before = '', has_vector = 0 WHERE before_id = ?",
)
_WITHIN = """
    AND +rowid IN (
        SELECT id FROM entries WHERE project IN (SELECT value FROM json_each(:projects))
    )
"""


class Memory:
    """The entries in one folder, for any number of processes.

    Args:
        folder: where the file lies, made where it is missing.
        derived: whether the entries can be had again from elsewhere. Otherwise it is an error where
            the file is found damaged; it is begun anew either way.
    """

    def __init__(self, folder: str, *, derived: bool = False) -> None:
        self.folder = folder
        self._derived = derived
        self._scanned: tuple[object, Any] = (None, None)

    def add(self, entries: Iterable[Mapping[str, Any]]) -> int:
        """Take entries in: `id` and `text`, maybe `group`, `at`, `source`, `project`.

        Those of a group come in their order. One that is known by its id is replaced. When this
        returns they are on the disk.

        Raises:
            StoreError: an entry is wrong, or they cannot be written.
        """
        return self.put_entries([_entry_from_mapping(given) for given in entries])

    def put_entries(self, entries: Sequence[Record]) -> int:
        """The same for entries that are made already; returns how many of them were new."""
        added = 0
        for start in range(0, len(entries), _AT_ONCE):
            batch = entries[start : start + _AT_ONCE]
            work = functools.partial(put_batch, entries=batch, table=vectors.load_table())
            added += self.run_on_database(work)
        return added

    def search(
        self,
        query: str,
        limit: int = 10,
        within: Project | None = None,
        others: Others = tuple,
        *,
        may_be_none: bool = False,
    ) -> list[Hit]:
        """The entries that fit a query, the best first.

        Args:
            query: words, or a question.
            limit: how many at most.
            within: the project that is meant; None for all.
            others: entries from elsewhere, asked for when those of here are found.
            may_be_none: leave out what is about something else, even if nothing is left, and all
                but the best part of a text that was taken in by parts (`id#2`).

        Raises:
            StoreError: the file cannot be used.
        """

        def search_in_database(connection: sqlite3.Connection) -> list[Hit]:
            best = self._candidates_best_first(connection, query, within, others)
            if not may_be_none:
                return best[:limit]
            parts: dict[str, Hit] = {}
            for hit in best:
                parts.setdefault(hit.id.partition("#")[0], hit)
            looked_at = [*parts.values()][: _LOOKED_AT * limit]
            texts = {at: f"{hit.before}\n{hit.record.text}" for at, hit in enumerate(looked_at)}
            above = question.keys_above_floor(
                connection, query, question.words_but_stop_words(query), texts
            )
            return [looked_at[at] for at in above[:limit]]

        return self.run_on_database(search_in_database)

    def run_on_database(self, work: Callable[[sqlite3.Connection], Answer]) -> Answer:
        """Let some work have the database.

        Raises:
            StoreError: it cannot be used, or was damaged and is no copy of something else.
        """
        return database.run_on_database(self.folder, work, in_memory=False, derived=self._derived)

    def _candidates_best_first(
        self, connection: sqlite3.Connection, query: str, within: Project | None, others: Others
    ) -> list[Hit]:
        """All that may be meant, by words and by meaning, here and elsewhere.

        What several said alike is listed once: as it is here, else as it was said last.
        """
        fits = self._scores_of_fitting(connection, query, within)
        found = {hit.number: (hit, fits[hit.number]) for hit in _read_hits(connection, list(fits))}
        here = {hit.record.text for hit, _ in found.values()}
        in_time = sorted(others(), key=lambda other: other[0].record.at)
        newest = {other[0].record.text: other for other in in_time}
        elsewhere = [other for text, other in newest.items() if text not in here]
        found |= {-number: other for number, other in enumerate(elsewhere, 1)}
        names: dict[object, int] = {hit.id: key for key, (hit, _) in found.items() if key < 0}
        scores = ranking.fuse_scores(
            {key: fit for key, (_, fit) in found.items()},
            {key: names.get(hit.previous, hit.previous) for key, (hit, _) in found.items()},
        )
        best = sorted(scores, key=lambda key: (-scores[key], key))
        return [found[key][0]._replace(score=scores[key]) for key in best]

    def _scores_of_fitting(
        self, connection: sqlite3.Connection, query: str, within: Project | None
    ) -> dict[int, Found]:
        """Return what holds words of the query, or is near it; and how near all of that is."""
        table = vectors.load_table()
        projects = None if within is None else _numbers_by_project(connection, within)
        found = _score_by_words(connection, query, projects)
        if table is None or not query.strip():
            return found
        related = question.related_words(connection, table, question.words_but_stop_words(query))
        for key, more in _score_by_words(connection, " ".join(related), projects).items():
            words, pair, _ = found.get(key, Found())
            found[key] = Found(words + RELATED * more.words, pair + RELATED * more.pair)
        known = self._read_vectors_where_changed(connection, table)
        numbers = None if projects is None else list(projects)
        near = known.nearest_scores(table.encode([query])[0], numbers, CANDIDATES, list(found))
        for key, cosine in near.items():
            found[key] = found.get(key, Found())._replace(meaning=cosine)
        return found

    def _read_vectors_where_changed(self, connection: sqlite3.Connection, table: Table) -> Vectors:
        """All vectors, as they were read before where nothing was added or taken out since."""
        key = (_read_fact(connection, "changes"), _read_fact(connection, "table"))
        if self._scanned[0] != key:
            asked = "SELECT max(block), length(records) FROM vectors WHERE ?"
            last, size = connection.execute(asked, (table_digest(table) == key[1],)).fetchone()
            rows = connection.execute("SELECT block, records FROM vectors") if size else ()
            self._scanned = (key, Vectors(rows, last, _BLOCK, (size or 0) // _BLOCK))
        known: Vectors = self._scanned[1]
        return known


def put_batch(
    connection: sqlite3.Connection, entries: Sequence[Record], table: Table | None
) -> int:
    """Take entries in, with their vectors where there is a table; returns how many were new."""
    fresh: dict[str, Record] = {}
    former: list[int] = []
    known = "SELECT id, text FROM entries WHERE ref = ?"
    with database.changing(connection):
        for entry in [Record(*database.storable_values(entry)) for entry in entries]:
            number, text = connection.execute(known, (entry.ref,)).fetchone() or (0, None)
            # A fork's copy of a row has the name of the first, which stays where it is.
            if text != entry.text and entry.ref not in fresh:
                fresh[entry.ref] = entry
                former.append(number)
        _delete_entries(connection, list(filter(None, former)))
        for entry in fresh.values():
            _insert_entry(connection, entry)
        if table:
            make_batch_of_missing_vectors(connection, table)
    return len(fresh)


def remove_where(connection: sqlite3.Connection, condition: str, values: Sequence[Any]) -> int:
    """Take out the entries that a condition of SQL fits, with every trace of their words."""
    asked = f"SELECT id FROM entries WHERE {condition}"  # noqa: S608 - conditions are ours
    with database.changing(connection):
        ids = [row[0] for row in connection.execute(asked, values)]
        _delete_entries(connection, ids)
    if ids:
        database.erase_deleted_words(connection, "turns")
    return len(ids)


def entry_and_neighbours(connection: sqlite3.Connection, number: int) -> list[Hit]:
    """An entry, with the one before and the one after it in its session."""
    return _read_hits(connection, [row[0] for row in connection.execute(_AROUND, (number,))])


def make_batch_of_missing_vectors(connection: sqlite3.Connection, table: Table) -> int:
    """Give entries that have none their vector, as part of a transaction; how many got one."""
    mark = table_digest(table)
    if _read_fact(connection, "table") != mark:
        connection.execute("DELETE FROM vectors")
        connection.execute("UPDATE entries SET has_vector = 0 WHERE has_vector")
        _set_fact(connection, "table", mark)
    rows = connection.execute(_WITHOUT_VECTOR, (2 * _AT_ONCE,)).fetchall()
    if rows:
        own, before = (table.encode([row[at] for row in rows]) for at in (3, 4))
        made = ranking.pack_entry_records([row[:3] for row in rows], own, before)
        _write_vector_records(connection, [row[0] for row in rows], made)
        done = [(row[0],) for row in rows]
        connection.executemany("UPDATE entries SET has_vector = 1 WHERE id = ?", done)
    return len(rows)


def _entry_from_mapping(given: Mapping[str, Any]) -> Record:
    ref, text = given.get("id"), given.get("text")
    if not isinstance(ref, str) or not ref or not isinstance(text, str):
        raise StoreError("an entry needs an `id` and a `text`")
    others = [given.get(name) or "" for name in ("group", "source", "project")]
    if not all(isinstance(other, str) for other in others):
        raise StoreError(f"`group`, `source` and `project` of entry {ref!r} must be texts")
    group, source, project = others
    return Record(ref, text, group, _parse_time(ref, given.get("at") or 0.0), source, project)


def _parse_time(ref: str, at: Any) -> float:
    try:
        return datetime.fromisoformat(at).timestamp() if isinstance(at, str) else float(at)
    except (ValueError, TypeError) as error:
        raise StoreError(f"`at` of entry {ref!r} is no time in ISO form") from error


def _insert_entry(connection: sqlite3.Connection, entry: Record) -> None:
    previous = connection.execute(
        "SELECT id, text FROM entries WHERE session = ? AND session > '' AND source <> ? "
        "ORDER BY id DESC LIMIT 1",
        (entry.session, STEP),
    )
    before_id, before = previous.fetchone() or (None, "")
    connection.execute("INSERT OR IGNORE INTO projects (project) VALUES (?)", (entry.project,))
    connection.execute(_INSERT, (*entry[: len(_FIELDS)], before_id, before[-_MOST_BEFORE:]))
    if entry.rows:
        _set_fact(connection, f"rows:{entry.ref}", entry.rows)


def _delete_entries(connection: sqlite3.Connection, ids: Sequence[int]) -> None:
    """Take entries out; what follows them keeps no copy of their words."""
    for statement in _DELETE:
        connection.executemany(statement, [(key,) for key in ids])
    if ids:
        _write_vector_records(connection, ids, None)


def _write_vector_records(connection: sqlite3.Connection, ids: Sequence[int], made: Any) -> None:
    """Put records into their blocks, or blanks where there are none."""
    connection.execute(
        "INSERT INTO facts VALUES ('changes', '1') "
        "ON CONFLICT (name) DO UPDATE SET value = CAST(value AS INTEGER) + 1"
    )
    size = len(made[0]) if made else 0
    for block in sorted({key // _BLOCK for key in ids}):
        row = connection.execute("SELECT records FROM vectors WHERE block = ?", (block,)).fetchone()
        if row is None and not made:
            continue
        held = bytearray(row[0] if row else size * _BLOCK)
        size = len(held) // _BLOCK
        for number, key in enumerate(ids):
            if key // _BLOCK == block:
                place = key % _BLOCK * size
                held[place : place + size] = made[number] if made else bytes(size)
        connection.execute("INSERT OR REPLACE INTO vectors VALUES (?, ?)", (block, bytes(held)))


def _score_by_words(
    connection: sqlite3.Connection, query: str, projects: dict[int, str] | None
) -> dict[int, Found]:
    asked = question.fts_expression_of_any_word(query)
    among = None if projects is None else json.dumps(list(projects.values()))
    sql = _BY_WORDS.format("" if among is None else _WITHIN)
    values = {"expression": asked, "limit": CANDIDATES, "projects": among}
    rows = connection.execute(sql, values).fetchall() if asked else []
    return {key: Found(words=own, pair=pair) for key, own, pair in rows}


def _numbers_by_project(connection: sqlite3.Connection, within: Project) -> dict[int, str]:
    """The folders with entries that are the project's, by their numbers."""
    known = connection.execute("SELECT number, project FROM projects").fetchall()
    return {number: folder for number, folder in known if within.holds(folder)}


def _read_hits(connection: sqlite3.Connection, ids: Sequence[int]) -> list[Hit]:
    """Some entries, in the order in which they were taken in."""
    return [
        Hit(Record(*own)._replace(rows=rows or ""), number, before=before, previous=previous)
        for *own, rows, number, before, previous in connection.execute(_HITS, (json.dumps(ids),))
    ]


def table_digest(table: Table) -> str:
    """By which vectors of one table are told from those of another."""
    return f"{zlib.crc32(table.mark):08x}"


def _read_fact(connection: sqlite3.Connection, name: str) -> str:
    row = connection.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
    return str(row[0]) if row else ""


def _set_fact(connection: sqlite3.Connection, name: str, value: str) -> None:
    connection.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, value))
