"""Memory's part of the search: short texts that follow each other, found by their words.

A text is searched together with the one before it in its group (its session): an answer rarely
repeats the words of its question.
"""

from __future__ import annotations

import functools
import itertools
import json
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

from brimline.errors import StoreError
from brimline.recall import database, question, ranking
from brimline.recall.ranking import Found
from brimline.recall.record import Hit, Record

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from brimline.transcript.project import Project

    Answer = TypeVar("Answer")
    Others = Callable[[], Sequence[tuple[Hit, Found]]]

# How many candidates each way of searching offers.
CANDIDATES = 200
# How many of the best are read for the words that they hold.
_READ = 60
_WHOLE = 10
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
    SELECT {", ".join(_FIELDS)}, value, id, before || ' ' || hidden, before_id
    FROM entries LEFT JOIN facts ON name = 'rows:' || ref
    WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id
"""  # noqa: S608 - ours
_BEFORE = "SELECT id, before_id FROM entries WHERE id IN (SELECT value FROM json_each(?))"
_AROUND = """
    SELECT id FROM entries
    WHERE before_id = ?1 OR id IN (?1, (SELECT before_id FROM entries WHERE id = ?1))
"""
_INSERT = (
    f"INSERT INTO entries ({', '.join(_FIELDS)}, before_id, before, hidden) "  # noqa: S608 - ours
    f"VALUES ({', '.join('?' * len(_FIELDS))}, ?, ?, ?)"
)
_DELETE = (
    "DELETE FROM facts WHERE name = (SELECT 'rows:' || ref FROM entries WHERE id = ?)",
    "DELETE FROM entries WHERE id = ?",
    "UPDATE entries SET before_id = NULL, before = '' WHERE before_id = ?",
)
_WITHIN = """
    AND +rowid IN (
        SELECT id FROM entries WHERE project IN (SELECT value FROM json_each(:projects))
    )
"""


class Memory:
    """The entries in one folder, for any number of processes.

    Args:
        folder: where the file lies, made where it is missing, and anew where it is damaged.
    """

    def __init__(self, folder: str) -> None:
        self.folder = folder

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
            added += self.run_on_database(functools.partial(put_batch, entries=batch))
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
            may_be_none: leave out what is about something else, even if nothing is left, copies,
                and all but the best part of a text that was taken in by parts (`id#2`).

        Raises:
            StoreError: the file cannot be used.
        """

        def search_in_database(connection: sqlite3.Connection) -> list[Hit]:
            words = question.words_but_stop_words(query)
            found = _read_candidates(connection, words, within, others, limit) if words else []
            texts = [f"{hit.before}\n{hit.record.text}" for hit in found]
            shares = question.shares_held(connection, query, words, texts)
            ranked = ranking.best_first(found, shares)
            if not may_be_none:
                return [hit for hit, _ in ranked][:limit]
            return [*itertools.islice(ranking.one_of_each(ranking.above_floor(ranked)), limit)]

        return self.run_on_database(search_in_database)

    def run_on_database(self, work: Callable[[sqlite3.Connection], Answer]) -> Answer:
        """Let some work have the database.

        Raises:
            StoreError: it cannot be used.
        """
        return database.run_on_database(self.folder, work)


def _read_candidates(
    connection: sqlite3.Connection,
    words: list[str],
    within: Project | None,
    others: Others,
    limit: int,
) -> list[Hit]:
    """The best of all that may be meant, here and elsewhere, and whatever holds all of the words.

    What several said alike is listed once: as it is here, else as it was said last.
    """
    projects = None if within is None else _folders_of(connection, within)
    whole = _score_by_words(connection, question.all_in_one(words), projects)
    fits = whole | _score_by_words(connection, question.any_of(words), projects)
    forms = _score_by_words(connection, question.any_form_of(words), projects)
    fits |= {key: fits.get(key, Found()).with_forms(fit) for key, fit in forms.items()}
    local = connection.execute(_BEFORE, (json.dumps(list(fits)),)).fetchall()
    found: dict[Any, tuple[Found, object]] = {key: (fits[key], before) for key, before in local}
    in_time = sorted(others(), key=lambda other: other[0].record.at)
    newest = {other.record.text: (other, fit) for other, fit in in_time}
    found |= {other.id: (fit, other.previous) for other, fit in newest.values()}
    scores = ranking.fuse_scores(found)
    chosen = dict.fromkeys([*[*whole][:_WHOLE], *[*scores][: max(limit, _READ)]])
    hits = _read_hits(connection, [key for key in chosen if key in fits])
    here = {hit.record.text for hit in hits}
    hits += [hit for text, (hit, _) in newest.items() if hit.id in chosen and text not in here]
    return [hit._replace(score=scores[hit.id if hit.author else hit.number]) for hit in hits]


def put_batch(connection: sqlite3.Connection, entries: Sequence[Record]) -> int:
    """Take entries in; returns how many were new."""
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
        raise StoreError(f"`at` of entry {ref!r} is not a time in ISO form") from error


def _insert_entry(connection: sqlite3.Connection, entry: Record) -> None:
    previous = connection.execute(
        "SELECT id, text FROM entries WHERE session = ? AND session > '' AND source <> ? "
        "ORDER BY id DESC LIMIT 1",
        (entry.session, STEP),
    )
    before_id, before = previous.fetchone() or (None, "")
    hidden = question.hidden_words(entry.text)
    connection.execute(_INSERT, (*entry[: len(_FIELDS)], before_id, before[-_MOST_BEFORE:], hidden))
    if entry.rows:
        name = f"rows:{entry.ref}"
        connection.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, entry.rows))


def _delete_entries(connection: sqlite3.Connection, ids: Sequence[int]) -> None:
    """Take entries out; what follows them keeps no copy of their words."""
    for statement in _DELETE:
        connection.executemany(statement, [(key,) for key in ids])


def _score_by_words(
    connection: sqlite3.Connection, expression: str, projects: list[str] | None
) -> dict[int, Found]:
    among = None if projects is None else json.dumps(projects)
    sql = _BY_WORDS.format("" if among is None else _WITHIN)
    values = {"expression": expression, "limit": CANDIDATES, "projects": among}
    rows = connection.execute(sql, values).fetchall() if expression else []
    return {key: Found(own, pair) for key, own, pair in rows}


def _folders_of(connection: sqlite3.Connection, within: Project) -> list[str]:
    """The folders with entries that are the project's."""
    rows = connection.execute("SELECT DISTINCT project FROM entries").fetchall()
    return [folder for (folder,) in rows if within.holds(folder)]


def _read_hits(connection: sqlite3.Connection, ids: Sequence[int]) -> list[Hit]:
    """Some entries, in the order in which they were taken in."""
    return [
        Hit(Record(*own)._replace(rows=rows or ""), number, before=before, previous=previous)
        for *own, rows, number, before, previous in connection.execute(_HITS, (json.dumps(ids),))
    ]
