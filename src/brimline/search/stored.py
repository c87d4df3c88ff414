"""Stored outputs in the search: taken in while there is time, those used last first, and found.

Of each output the first 200 kB are indexed. What leaves the store leaves the index with the next
look at it, and by `forget` at once.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, NamedTuple

from brimline.errors import StoreError
from brimline.search import documents, words
from brimline.search.documents import Document
from brimline.store import contents, layout
from brimline.store.contents import Span

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Sequence

SOURCE = "output"
HEAD_BYTES = 200_000
# Beyond this the oldest outputs keep their titles only: the index must not become a second store.
LARGEST_BYTES = 200_000_000
WHOLE, HEAD, BINARY, DAMAGED, TITLE = "", "head", "binary", "damaged", "title"
_BATCH_CHARACTERS = 1_000_000
_DROPPED_AT_ONCE = 500


class Found(NamedTuple):
    """What a search found, and what it could not look into."""

    total: int = 0
    hits: Sequence[documents.Hit] = ()  # those that were picked
    span: Span = Span(1, 0)  # which ones they are
    all_words: bool = True
    states: Sequence[str] = ()  # of all outputs that were searched
    pending: int = 0  # outputs that there was no time for


def folder(home_dir: str) -> str:
    """Where the search keeps its file."""
    return home_dir + "/search"


def find(
    home_dir: str,
    query: str,
    project_dir: str | None,
    pick: Callable[[int], Span],
    *,
    until: float,
) -> Found:
    """The stored outputs that hold the words of a query: all of them, else some, the best first.

    Args:
        home_dir: the data folder.
        query: words and quoted phrases; neither case nor accents matter.
        project_dir: the project whose outputs are searched, those of folders below it included;
            None for all.
        pick: which hits to return, by how many there are.
        until: on the monotonic clock, when to stop taking new outputs in.

    Raises:
        StoreError: the query is empty or too long, or the store cannot be read.
    """
    wanted = words.terms(query)
    if not os.path.isdir(layout.root(home_dir)):
        return Found()
    project = None if project_dir is None else place(project_dir)

    def work(connection: sqlite3.Connection) -> Found:
        pending = _take_in(connection, home_dir, until)
        states = list(documents.states(connection, SOURCE, project).values())
        for joined_by in ("AND", "OR"):
            expression = words.expression(wanted, joined_by)
            ids = documents.search(connection, expression, SOURCE, project)
            if ids:
                span = pick(len(ids))
                hits = documents.hits(connection, expression, ids[span.first - 1 : span.last])
                return Found(len(ids), hits, span, joined_by == "AND", states, pending)
        return Found(states=states, pending=pending)

    return documents.use(folder(home_dir), work)


def tidy(home_dir: str, *, until: float) -> None:
    """Take in what is new, for housekeeping; nothing where there is no store.

    Raises:
        StoreError: the store cannot be read, or there is no full-text search here.
    """
    if os.path.isdir(layout.root(home_dir)):
        documents.use(folder(home_dir), lambda found: _take_in(found, home_dir, until))


def forget(home_dir: str, keys: Iterable[str]) -> None:
    """Take outputs that were forgotten out of the search, with every trace of their words.

    Raises:
        StoreError: the file cannot be written.
    """
    digests = [layout.digest_of(key) for key in keys]
    if digests and os.path.isdir(folder(home_dir)):

        def work(connection: sqlite3.Connection) -> None:
            documents.erase(connection, SOURCE, digests)

        documents.use(folder(home_dir), work, in_memory=False)


def place(cwd: object) -> str:
    """A folder by its one real name; empty where it is none."""
    try:
        return os.path.realpath(cwd) if isinstance(cwd, str) and os.path.isabs(cwd) else ""
    except (OSError, ValueError):  # no path of this system
        return ""


def _take_in(connection: sqlite3.Connection, home_dir: str, until: float) -> int:
    """Bring the index up to date; returns how many outputs the time did not suffice for."""
    blobs = sorted(contents.blobs(home_dir), key=lambda blob: blob.used_ns, reverse=True)
    known = documents.states(connection, SOURCE)
    documents.remove(connection, SOURCE, known.keys() - {blob.digest for blob in blobs})
    # A damaged one may have been stored again meanwhile.
    fresh = [blob.digest for blob in blobs if known.get(blob.digest, DAMAGED) == DAMAGED]
    batch: list[Document] = []
    for number, digest in enumerate(fresh):
        late = number > 0 and time.monotonic() > until
        if late or sum(len(document.text) for document in batch) > _BATCH_CHARACTERS:
            _write(connection, home_dir, batch)
            batch = []
        if late:
            return len(fresh) - number
        batch.append(_document(home_dir, digest))
    _write(connection, home_dir, batch)
    return 0


def _write(connection: sqlite3.Connection, home_dir: str, batch: list[Document]) -> None:
    documents.add(connection, batch)
    # Whoever forgets an output takes it out of here after that. So either we see that it is gone,
    # or what we wrote is taken out.
    gone = [one.ref for one in batch if not os.path.lexists(layout.file(home_dir, one.ref))]
    if gone:
        documents.erase(connection, SOURCE, gone)
    if batch and documents.used_bytes(connection) > LARGEST_BYTES:
        oldest = connection.execute(
            "SELECT source, ref, project, session, at, title, '', ? FROM documents "
            "WHERE source = ? AND text > '' ORDER BY at LIMIT ?",
            (TITLE, SOURCE, _DROPPED_AT_ONCE),
        )
        documents.add(connection, [Document(*row) for row in oldest.fetchall()])


def _document(home_dir: str, digest: str) -> Document:
    key = layout.PREFIX + digest
    known = contents.meta(home_dir, key)
    state, text = WHOLE, ""
    try:
        data = contents.get(home_dir, key, touch=False)
    except StoreError:
        state = DAMAGED
    else:
        if words.is_binary(data):
            state = BINARY
        else:
            state = WHOLE if len(data) <= HEAD_BYTES else HEAD
            text = words.plain(data[:HEAD_BYTES].decode("utf-8", "replace"))
    at = known.get("created")
    title = " ".join(str(known[name]) for name in ("tool", "source") if known.get(name))
    session = known.get("session")
    return Document(
        *(SOURCE, digest, place(known.get("cwd")), session if isinstance(session, str) else ""),
        *(at if isinstance(at, int | float) and at == at else 0.0, title, text, state),  # noqa: PLR0124
    )
