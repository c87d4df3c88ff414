"""Stored outputs in the search: taken in while there is time, found by words, shown by lines.

Of each output the first 200 kB are indexed, those used last first. What leaves the store leaves the
index with the next look at it, and by `forget` at once.
"""

from __future__ import annotations

import itertools
import os
import re
import time
import unicodedata
from typing import TYPE_CHECKING, Any, NamedTuple

from brimline.bulk import contents, layout
from brimline.bulk.contents import Span
from brimline.errors import StoreError
from brimline.fast import json
from brimline.recall import database
from brimline.recall.record import Hit, Record
from brimline.transcript.project import folder_of_session, real_folder

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Collection, Iterable, Sequence

    from brimline.transcript.project import Project

    Watch = Callable[[int], Callable[[int], None]]

SOURCE = "output"
HEAD_BYTES = 200_000
# Beyond this the oldest outputs keep their titles only: the index must not become a second store.
LARGEST_BYTES = 200_000_000
WHOLE, HEAD, BINARY, DAMAGED, TITLE = "", "head", "binary", "damaged", "title"
MOST_CHARACTERS = 500
MOST_TERMS = 16
_SAMPLE_BYTES = 8_192
_MOST_STRANGE = 0.1
_SHORT_WORD = 5
_PART = re.compile(r'"([^"]*)"|([^\s"]+)')
_TOKEN = re.compile(r"[^\W_]+")
_COLOUR = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
# Control characters but those that occur in the output of programs.
_STRANGE = bytes(set(range(32)) - set(b"\t\n\r\x0b\x0c\x08\x1b"))
_BATCH_CHARACTERS = 1_000_000
_DROPPED_AT_ONCE = 500
_FIELDS = Record._fields[:-1]
_INSERT = f"INSERT INTO documents ({', '.join(_FIELDS)}) VALUES ({', '.join('?' * len(_FIELDS))})"  # noqa: S608 - ours
# By the index, which begins with the source.
_DELETE = f"DELETE FROM documents WHERE source = '{SOURCE}' AND ref = ?"  # noqa: S608 - ours
_OLDEST = f"SELECT {', '.join(_FIELDS)} FROM documents WHERE text > '' ORDER BY at LIMIT ?"  # noqa: S608 - ours
_FITTING = """
    SELECT documents.id FROM words JOIN documents ON documents.id = words.rowid
    WHERE words MATCH ? AND ref IN (SELECT value FROM json_each(?))
    ORDER BY bm25(words, 2.0, 1.0), at DESC
"""
# The plus keeps SQLite from asking for the words anew for every id.
_HITS = """
    SELECT ref, documents.text, session, at, source, project, documents.title, state,
        documents.id, highlight(words, 1, char(1), '')
    FROM words JOIN documents ON documents.id = words.rowid
    WHERE words MATCH ? AND +words.rowid IN (SELECT value FROM json_each(?))
    ORDER BY bm25(words, 2.0, 1.0), at DESC
"""


class Owned:
    """Tells which outputs a project's sessions stored."""

    def __init__(self, home_dir: str, project: Project) -> None:
        self._project, self._folders = project, dict[str, str | None]()
        self._puts: dict[str, list[tuple[object, object]]] = {}
        for line in contents.read_store_events(home_dir):
            if line.get("event") == "put":
                origin = line.get("session"), line.get("cwd")
                self._puts.setdefault(str(line.get("key")), []).append(origin)

    def holds(self, key: str, cwd: object, session: object) -> bool:
        """Whether an output is the project's, by where and by whom it was first stored, or later.

        What a session stored is its project's wherever it had changed to; without a session's
        file, the folder in which the output was made has to do.
        """
        return any(self._is_own(*put) for put in ((session, cwd), *self._puts.get(key, ())))

    def _is_own(self, session: object, cwd: object) -> bool:
        name = session if isinstance(session, str) else ""
        if name and name == self._project.session:
            return True
        if name and name not in self._folders:
            self._folders[name] = folder_of_session(name)
        return self._project.holds(self._folders.get(name) or cwd)


def refuse_other_projects(home_dir: str, project: Project, key: str, meta: dict[str, Any]) -> None:
    """Keep an output from whoever asks for a project's own.

    Raises:
        StoreError: no session of the project stored it.
    """
    if not Owned(home_dir, project).holds(key, meta.get("cwd"), meta.get("session")):
        raise StoreError(
            f"{layout.shorten_key(key)} was not stored by a session of this project: "
            "`recall_elsewhere` asks for it"
        )


class Found(NamedTuple):
    """What a search found, and what it could not look into."""

    total: int = 0
    hits: Sequence[Hit] = ()  # those that were picked
    span: Span = Span(1, 0)  # which ones they are
    all_words: bool = True
    states: Sequence[str] = ()  # of all outputs that were searched
    pending: int = 0  # outputs that there was no time for


def search_folder(home_dir: str) -> str:
    """Return where the search keeps its file."""
    return home_dir + "/search"


def find_outputs(
    home_dir: str,
    query: str,
    project: Project | None,
    pick: Callable[[int], Span],
    *,
    until: float = float("inf"),
    watch: Watch = lambda _: lambda _: None,
) -> Found:
    """The stored outputs that hold the words of a query: all of them, else some, the best first.

    Args:
        home_dir: the data folder.
        query: words and quoted phrases; neither case nor accents matter.
        project: whose outputs are searched; None for all.
        pick: which hits to return, by how many there are.
        until: on the monotonic clock, when to stop taking new outputs in.
        watch: called with how many there are to take in; what it returns, after each.

    Raises:
        StoreError: the query is empty or too long, or the store cannot be read.
    """
    wanted = parse_terms(query)
    if not os.path.isdir(layout.store_folder(home_dir)):
        return Found()

    def search_index(connection: sqlite3.Connection) -> Found:
        pending = _index_and_count_left_over(connection, home_dir, until, watch)
        known = _state_and_origin_by_digest(connection)
        if project is not None:
            owned = Owned(home_dir, project)
            known = {
                digest: (state, *at)
                for digest, (state, *at) in known.items()
                if owned.holds(layout.PREFIX + digest, *at)
            }
        seen = [state for state, *_ in known.values()]
        for joined_by in ("AND", "OR"):
            asked = fts_terms_joined_by(wanted, joined_by)
            ids = _ids_of_fitting(connection, asked, known)
            if ids:
                span = pick(len(ids))
                hits = _read_hits(connection, asked, ids[span.first - 1 : span.last])
                return Found(len(ids), hits, span, joined_by == "AND", seen, pending)
        return Found(states=seen, pending=pending)

    return database.run_on_database(search_folder(home_dir), search_index)


def _state_and_origin_by_digest(connection: sqlite3.Connection) -> dict[str, tuple[str, ...]]:
    """State, project and session of every output that is known."""
    rows = connection.execute("SELECT ref, state, project, session FROM documents").fetchall()
    return {digest: tuple(rest) for digest, *rest in rows}


def _ids_of_fitting(
    connection: sqlite3.Connection, expression: str, among: Collection[str]
) -> list[int]:
    """The numbers of those that an expression of FTS5 fits, best first."""
    values = (expression, json.dumps(list(among)))
    return [row[0] for row in connection.execute(_FITTING, values)] if expression else []


def _read_hits(connection: sqlite3.Connection, expression: str, ids: list[int]) -> list[Hit]:
    """Outputs that were found, with the parts that fit, the best first."""
    rows = connection.execute(_HITS, (expression, json.dumps(ids))).fetchall()
    return [
        Hit(Record(*fields), number, snippet=_words_around_match(marked))
        for *fields, number, marked in rows
    ]


def _words_around_match(marked: str) -> str:
    """The first match, marked by \\1, with a few words around it.

    FTS5's own `snippet` takes minutes for a text that matches everywhere.
    """
    before, _, after = marked.partition("\1")
    return " ".join(before.split()[-8:] + after.replace("\1", "").split()[:16])


def parse_terms(query: str) -> list[str]:
    """The words and quoted phrases of a query.

    Raises:
        StoreError: there are none, or too many.
    """
    if len(query) > MOST_CHARACTERS:
        raise StoreError(f"the query is too long: give at most {MOST_CHARACTERS} characters")
    clean = query.encode("utf-8", "replace").decode().replace("\x00", " ")
    found = [" ".join((phrase or word).split()) for phrase, word in _PART.findall(clean)]
    unique = list(dict.fromkeys(term for term in found if term))
    if not unique:
        raise StoreError("the query is empty: give the words to look for")
    if len(unique) > MOST_TERMS:
        raise StoreError(f"the query has too many words: give at most {MOST_TERMS}")
    return unique


def fts_terms_joined_by(wanted: list[str], joined_by: str) -> str:
    """The query in SQLite's language: every term a phrase whose last word may go on.

    Quoted, nothing in a term has a meaning of its own; terms hold no quotes themselves.
    """
    return f" {joined_by} ".join(f'"{term}" *' for term in wanted if _TOKEN.search(term))


def indices_of_lines_with_terms(lines: list[str], wanted: list[str]) -> list[int]:
    """The positions of the lines that hold every term, also inside of words, in their order.

    Where none does: of those that hold some of the words, the ones with the rarest word first.
    """
    folded = [folded_text(without_colours(line)) for line in lines]
    parts = {folded_text(term) for term in wanted}
    # The search knows words by their stems: `errors` is found by `error`, and shown by `erro`.
    stems = set(map(stem, itertools.chain(*map(_TOKEN.findall, parts))))
    for sought in (parts, stems):
        whole = [at for at, line in enumerate(folded) if all(part in line for part in sought)]
        if whole:
            return whole
    held = [[at for at, line in enumerate(folded) if part in line] for part in stems]
    return list(dict.fromkeys(itertools.chain(*sorted(held, key=len))))


def stem(word: str) -> str:
    """The beginning of a word that its other forms have too."""
    return word[:-2] if len(word) > _SHORT_WORD else word


def lines_with_terms(text: str, wanted: list[str], most: int) -> list[str]:
    """The lines of a text that hold the terms, each with its number, long ones clipped."""
    lines = text.split("\n")
    found = indices_of_lines_with_terms(lines, wanted)
    return [f"{at + 1}: {clip_line_around_term(lines[at], wanted, most)}" for at in found]


def clip_line_around_term(line: str, wanted: list[str], most: int) -> str:
    """A line, or of a long one the part around the last term to occur in it."""
    if len(line) <= most:
        return line
    start = max(0, max(folded_text(line).find(folded_text(term)) for term in wanted) - most // 4)
    before = "…" if start else ""
    return f"{before}{line[start : start + most]}… ({len(line):,} characters)"


def without_colours(text: str) -> str:
    """A text without colours, which would stick to the words beside them."""
    return _COLOUR.sub(" ", text) if "\x1b" in text else text


def folded_text(text: str) -> str:
    """A text in which case and accents make no difference."""
    folded = text.casefold()
    if folded.isascii():
        return folded
    apart = unicodedata.normalize("NFKD", folded)
    return "".join([c for c in apart if not unicodedata.combining(c)])


def is_binary(data: bytes) -> bool:
    """Tell whether some content is not for reading."""
    sample = data[:_SAMPLE_BYTES]
    if b"\x00" in sample:
        return True
    text = sample.decode("utf-8", "replace")
    strange = len(sample) - len(sample.translate(None, _STRANGE)) + text.count("\ufffd")
    return strange > _MOST_STRANGE * len(text)


def tidy(home_dir: str, *, until: float) -> None:
    """Take in what is new, for housekeeping.

    Raises:
        StoreError: the store cannot be read, or there is no full-text search here.
    """
    database.run_on_database(
        search_folder(home_dir),
        lambda base: _index_and_count_left_over(base, home_dir, until, lambda _: lambda _: None),
    )


def forget(home_dir: str, keys: Iterable[str]) -> None:
    """Take outputs that were forgotten out of the search, with every trace of their words.

    Raises:
        StoreError: the file cannot be written.
    """
    digests, place = [layout.digest_of_key(key) for key in keys], search_folder(home_dir)
    if digests and os.path.isdir(place):
        database.run_on_database(place, lambda base: _erase(base, digests))


def _index_and_count_left_over(
    connection: sqlite3.Connection, home_dir: str, until: float, watch: Watch
) -> int:
    """Bring the index up to date; returns how many outputs the time did not suffice for."""
    blobs = sorted(contents.list_blobs(home_dir), key=lambda blob: blob.used_ns, reverse=True)
    known = _state_and_origin_by_digest(connection)
    _remove(connection, known.keys() - {blob.digest for blob in blobs})
    # A damaged one may have been stored again meanwhile.
    fresh = [blob.digest for blob in blobs if known.get(blob.digest, (DAMAGED,))[0] == DAMAGED]
    done, room, batch, advance = 0, _BATCH_CHARACTERS, list[Record](), watch(len(fresh))
    for digest in fresh:
        if done and time.monotonic() > until:
            break
        done += 1
        advance(1)
        batch.append(_record_of_output(home_dir, digest))
        room -= len(batch[-1].text)
        if room < 0:
            _index_batch(connection, home_dir, batch)
            room, batch = _BATCH_CHARACTERS, []
    _index_batch(connection, home_dir, batch)
    return len(fresh) - done


def _index_batch(connection: sqlite3.Connection, home_dir: str, batch: list[Record]) -> None:
    _put(connection, batch)
    # Whoever forgets an output takes it out of here after that. So either we see that it is gone,
    # or what we wrote is taken out.
    gone = [one.ref for one in batch if not os.path.lexists(layout.stored_path(home_dir, one.ref))]
    if gone:
        _erase(connection, gone)
    if batch and database.bytes_of_used_pages(connection) > LARGEST_BYTES:
        oldest = [Record(*row) for row in connection.execute(_OLDEST, (_DROPPED_AT_ONCE,))]
        _put(connection, [one._replace(text="", state=TITLE) for one in oldest])


def _put(connection: sqlite3.Connection, outputs: Iterable[Record]) -> None:
    """Take outputs in, each in the place of what it was before."""
    with database.changing(connection):
        for one in outputs:
            connection.execute(_DELETE, (one.ref,))
            connection.execute(_INSERT, database.storable_values(one[: len(_FIELDS)]))


def _remove(connection: sqlite3.Connection, digests: Collection[str]) -> None:
    """Take outputs out; their words may stay in unused parts of the file for a while."""
    if digests:
        with database.changing(connection):
            rows = [(digest,) for digest in digests]
            connection.executemany(_DELETE, rows)


def _erase(connection: sqlite3.Connection, digests: Collection[str]) -> None:
    """Take outputs out, and every trace of their words."""
    _remove(connection, digests)
    database.erase_deleted_words(connection, "words")


def _record_of_output(home_dir: str, digest: str) -> Record:
    key = layout.PREFIX + digest
    known = contents.read_sidecar(home_dir, key)
    state, text = WHOLE, ""
    try:
        data = contents.read_content(home_dir, key, touch=False)
    except StoreError:
        state = DAMAGED
    else:
        if is_binary(data):
            state = BINARY
        else:
            state = WHOLE if len(data) <= HEAD_BYTES else HEAD
            text = without_colours(data[:HEAD_BYTES].decode("utf-8", "replace"))
    at, session = known.get("created"), known.get("session")
    return Record(
        digest,
        text,
        session if isinstance(session, str) else "",
        at if isinstance(at, int | float) and at == at else 0.0,  # noqa: PLR0124 - a number
        SOURCE,
        real_folder(known.get("cwd")),
        " ".join(str(known[name]) for name in ("tool", "source") if known.get(name)),
        state,
    )
