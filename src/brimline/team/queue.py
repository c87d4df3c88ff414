"""What goes to the team's server: the difference between the search and what is known to be there.

The queue is no file of its own, and so cannot be lost: the search file also lists the points that
the server confirmed. What is in the search and not on the list is yet to be sent; what is on the
list and no longer in the search is yet to be deleted. A point is on the list before it is sent, so
that whoever dies in between leaves nothing there that nobody knows of. Where the search file is
made anew, all is sent again, which changes nothing there, and what the user had forgotten goes.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from brimline.carry.clean import clean
from brimline.errors import TeamError
from brimline.fast import paths
from brimline.memory import deep
from brimline.state import forgotten
from brimline.team import points
from brimline.team.qdrant import NOT_FOUND, RefusedError, Server

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterator, Sequence

    from brimline.search.turns import Other
    from brimline.search.vectors import Table
    from brimline.team.qdrant import Place

_AT_ONCE = 64
_CONFLICT = 409
_ENTRIES = """
    SELECT own.id, own.ref, own.project, own.session, own.at, own.source, own.text, own.before,
        previous.ref, previous.text
    FROM entries AS own LEFT JOIN entries AS previous ON previous.id = own.before_id WHERE {}
"""
# Of an output its command and its beginning.
_OUTPUTS = """
    SELECT -id, 'output:' || ref, project, session, at, source,
        title || char(10) || substr(text, 1, 1500), '', NULL, NULL
    FROM documents WHERE source = 'output' AND state IN ('', 'head') AND {}
"""
# All of them, or those that a list names.
_SHARED = """
    SELECT point, state FROM shared
    WHERE server = ?1 AND (?2 = '' OR point IN (SELECT value FROM json_each(?2)))
"""
# How the entries of one session are grouped.
_GROUPS = ("", "/notes", "/checkpoint")


class Waiting(NamedTuple):
    """What is yet to be sent, with the number of each entry and its state, and to be deleted."""

    sends: dict[str, tuple[int, str]]
    deletes: list[str]

    @property
    def total(self) -> int:
        """How many points wait."""
        return len(self.sends) + len(self.deletes)


class Queue:
    """What waits for one server.

    Everything here raises StoreError where the search cannot be used.
    """

    def __init__(self, home_dir: str, place: Place, *, outputs: bool) -> None:
        self.place, self._home, self._outputs = place, home_dir, outputs
        self._name = paths.fingerprint(",".join((*place.hosts, place.collection)))
        self._memory = deep.opened(home_dir)
        self._labels: dict[str, str] = {}

    def waiting(self, *, rebuild: bool = False) -> Waiting:
        """What is yet to be done; with `rebuild` all is sent, whatever the server confirmed."""
        sent = self._listed(None)
        here = self._memory.use(self._here)
        sends = {point: one for point, one in here.items() if rebuild or sent.get(point) != one[1]}
        return Waiting(sends, [point for point in sent if point not in here])

    def drain(
        self,
        waiting: Waiting,
        *,
        until: float = float("inf"),
        progress: Callable[[int], None] = lambda _: None,
    ) -> dict[str, int]:
        """Delete and send, a batch at a time; what is not confirmed stays in the queue.

        Raises:
            TeamError: the server cannot be asked, or does not fit.
        """
        done = {"sent": 0, "deleted": 0}
        with contextlib.closing(Server(self.place)) as server:
            prepare(server, table := points.table())
            labels = [(f"label:{folder}", label) for folder, label in self._labels.items()]
            self._write("INSERT OR REPLACE INTO facts VALUES (?, ?)", labels)
            if not self._listed(None):
                self._delete_forgotten(server)
            # What is to be forgotten goes first.
            for batch in _batches(waiting.deletes, until):
                server.change("POST", "/points/delete", {"points": batch})
                rows = [(self._name, point) for point in batch]
                self._write("DELETE FROM shared WHERE server = ? AND point = ?", rows)
                done["deleted"] += len(batch)
                progress(len(batch))
            for batch in _batches(list(waiting.sends), until):
                self._send(server, table, {point: waiting.sends[point] for point in batch})
                done["sent"] += len(batch)
                progress(len(batch))
        return done | {"waiting": waiting.total - sum(done.values())}

    def foreign(self, found: list[Other]) -> list[Other]:
        """Those of others: one's own are in the search here, unless they were forgotten."""
        own = self._listed([one.hit.id for one in found])
        return [one for one in found if one.hit.id not in own]

    def _delete_forgotten(self, server: Server) -> None:
        """What was forgotten when there was another list, or none."""
        names = [f"{name}{end}" for name in forgotten.sessions(self._home) for end in _GROUPS]
        if names:
            condition = {"must": [{"key": "session", "match": {"any": names}}]}
            server.change("POST", "/points/delete", {"filter": condition})

    def _send(self, server: Server, table: Table, batch: dict[str, tuple[int, str]]) -> None:
        numbers = [number for number, _ in batch.values()]
        found = self._memory.use(lambda base: list(self._entries(base, numbers)))
        items = [item for item in map(self._item, found) if item.id in batch]
        listed = "INSERT OR REPLACE INTO shared VALUES (?, ?, ?)"
        self._write(listed, [(self._name, item.id, "") for item in items])
        if items:
            made = points.points(items, table, self.place.author)
            server.change("PUT", "/points", {"points": made})
        self._write(listed, [(self._name, item.id, batch[item.id][1]) for item in items])

    def _here(self, base: sqlite3.Connection) -> dict[str, tuple[int, str]]:
        """All that is to be on the server."""
        found = {}
        for row in self._entries(base, None):
            item = self._item(row)
            told = f"{item.before}\0{item.previous}".encode()
            found[item.id] = (row[0], hashlib.blake2b(told, digest_size=8).hexdigest())
        return found

    def _entries(self, base: sqlite3.Connection, numbers: list[int] | None) -> Iterator[Any]:
        """Entries, and outputs where they are shared: some by their numbers, or all."""
        marks = ", ".join("?" * len(numbers or ()))
        for asked, column in ((_ENTRIES, "own.id"), (_OUTPUTS, "-id"))[: 1 + self._outputs]:
            condition = "1" if numbers is None else f"{column} IN ({marks})"
            yield from base.execute(asked.format(condition), numbers or ())

    def _item(self, row: Any) -> points.Item:
        _, ref, folder, group, at, source, text, before, previous, said = row
        text = clean(text) if source == "output" else text  # the others were when taken in
        # The path of a topic file stays here.
        project, session = self.label(folder), "topic" if group.startswith("/") else group
        return points.Item(
            points.point_id(project, session, ref, text),
            text[: points.MOST_CHARACTERS],
            before,
            points.point_id(project, session, previous, said) if previous else "",
            *(project, session, at, source),
        )

    def label(self, folder: str) -> str:
        """What a project is called there: once a repository's name is known, it stays that."""
        if folder not in self._labels:
            known = self._read("SELECT value FROM facts WHERE name = ?", f"label:{folder}")
            label = known[0][0] if known else ""
            self._labels[folder] = label if "/" in label else points.project_label(folder)
        return self._labels[folder]

    def _listed(self, asked: list[str] | None) -> dict[str, str]:
        """The points on the list, or some of them, and their states."""
        return dict(self._read(_SHARED, self._name, "" if asked is None else json.dumps(asked)))

    def _read(self, sql: str, *values: str) -> list[Any]:
        return self._memory.use(lambda base: base.execute(sql, values).fetchall())

    def _write(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        def work(base: sqlite3.Connection) -> None:
            with base:
                base.execute("BEGIN IMMEDIATE")
                base.executemany(sql, rows)

        if rows:
            self._memory.use(work)


def prepare(server: Server, table: Table) -> None:
    """Make the collection where it is missing, and see that it fits.

    Raises:
        TeamError: it was made for another model, or cannot be made.
    """
    wanted = points.schema(table)
    try:
        told = server.of_collection("GET")
    except RefusedError as error:
        if error.status != NOT_FOUND:
            raise
        # A write waits for every copy whose node is up. To demand more would refuse all writes
        # while one node is down, and leave its copies behind without anybody's notice.
        copies = {"replication_factor": server.place.replicas, "write_consistency_factor": 1}
        try:
            server.of_collection("PUT", body=wanted | copies)
        except RefusedError as refused:
            if refused.status != _CONFLICT:  # somebody else was quicker
                raise
        told = server.of_collection("GET")
    try:
        known = told["config"]["params"]
        there = {name: one["size"] for name, one in known["vectors"].items()}
        names = (known.get("sparse_vectors") or {}).keys()
    except (KeyError, TypeError, AttributeError):
        there, names = {}, set()
    own = {name: one["size"] for name, one in wanted["vectors"].items()}
    if there != own or not wanted["sparse_vectors"].keys() <= names:
        raise TeamError(
            f"{server.place.name} was made for another model ({clean(str(there))[:100]}) than "
            f"this brimline's ({own}): name another collection in memory.url; nothing was written"
        )
    for field in points.INDEXED - (told.get("payload_schema") or {}).keys():
        body = {"field_name": field, "field_schema": "keyword"}
        server.of_collection("PUT", "/index?wait=true", body)


def _batches(found: list[str], until: float) -> Iterator[list[str]]:
    starts = range(0, len(found), _AT_ONCE)
    in_time = itertools.takewhile(lambda _: time.monotonic() < until, starts)
    return (found[start : start + _AT_ONCE] for start in in_time)
