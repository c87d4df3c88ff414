"""What goes to the team's server: the difference between the search and what is known to be there.

The queue is no file of its own, and so cannot be lost: the search file also lists the points that
the server confirmed. What is in the search and not on the list is yet to be sent; what is on the
list and no longer in the search is yet to be deleted. Every point names the home that sent it, by
an id that lies outside the search: where the server has fewer points of this home than the list,
all are sent again. Those that it has beyond the list may be all that there is of a session that
Claude Code has deleted: they stay, unless the user wants all of it anew.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
import time
import uuid
from typing import TYPE_CHECKING, Any, NamedTuple

from brimline.errors import TeamError
from brimline.fast import io
from brimline.masking import mask
from brimline.recall import database, hits, points
from brimline.recall.qdrant import NOT_FOUND, RefusedError, Server, refuse_strange_answers
from brimline.recall.record import Record

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterator, Sequence

    from brimline.recall.place import Place

_AT_ONCE = 64
_CONFLICT = 409
_ENTRIES = """
    SELECT own.id, own.before, previous.ref, previous.text, own.ref, own.text, own.session, own.at,
        own.source, own.project
    FROM entries AS own LEFT JOIN entries AS previous ON previous.id = own.before_id WHERE {}
"""


class Waiting(NamedTuple):
    """What is yet to be sent, with the number of each entry and its state, and to be deleted."""

    sends: dict[str, tuple[int, str]]
    deletes: list[str]
    unknown: int = 0
    """Points of this home that are neither here nor on the list."""

    @property
    def total(self) -> int:
        """How many points wait."""
        return len(self.sends) + len(self.deletes)


class Queue:
    """What waits for one server.

    Everything here raises StoreError where the search cannot be used.
    """

    def __init__(self, home_dir: str, place: Place) -> None:
        self.place, self.home = place, _read_or_make_home_id(home_dir)
        # Not by the address, which has several spellings; the count tells another server.
        self._name = place.collection
        self._memory = hits.open_or_make_memory(home_dir)
        self._labels: dict[str, str] = {}

    def find_waiting(self) -> Waiting:
        """Return what is yet to be done, as far as is known here."""
        return _find_sends_and_deletes(
            self._read_listed_states(),
            self._memory.run_on_database(self._row_id_and_state_by_point),
        )

    def sync_list_and_find_waiting(self, *, rebuild: bool = False) -> Waiting:
        """The same, once the server was asked; with `rebuild` it gets all that is here and no more.

        Raises:
            TeamError: the server cannot be asked, or does not fit.
        """
        listed = self._read_listed_states()
        own = {"filter": {"must": [points.match_condition("home", self.home)]}}
        with contextlib.closing(Server(self.place)) as server, refuse_strange_answers():
            prepare_collection(server)
            if rebuild:
                server.change_points("POST", "/points/delete", own)
            count = server.ask_collection("POST", "/points/count", own | {"exact": True})["count"]
        if rebuild or count < len(listed):
            listed = dict.fromkeys(listed, "")
            self._list(listed)
        here = self._memory.run_on_database(self._row_id_and_state_by_point)
        unknown = max(0, count - len(listed.keys() | here.keys()))
        return _find_sends_and_deletes(listed, here)._replace(unknown=unknown)

    def server_version_and_points(self, timeout_s: float) -> dict[str, Any]:
        """The version of the server, and how many points it has in all.

        Raises:
            TeamError: the server cannot be asked, or does not fit.
        """
        with contextlib.closing(Server(self.place, timeout_s)) as server, refuse_strange_answers():
            check_collection(server.ask_collection("GET"), self.place)
            number = int(server.ask_collection("POST", "/points/count", {})["count"])
            return {"version": mask(str(server.ask("GET", "/")["version"]))[:20], "points": number}

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
            labels = [(f"label:{folder}", label) for folder, label in self._labels.items()]
            self._execute_per_row("INSERT OR REPLACE INTO facts VALUES (?, ?)", labels)
            # What is to be forgotten goes first.
            for batch in _batches_until(waiting.deletes, until):
                server.change_points("POST", "/points/delete", {"points": batch})
                rows = [(self._name, point) for point in batch]
                self._execute_per_row("DELETE FROM shared WHERE server = ? AND point = ?", rows)
                done["deleted"] += len(batch)
                progress(len(batch))
            for batch in _batches_until(list(waiting.sends), until):
                self._send_batch(server, {point: waiting.sends[point] for point in batch})
                done["sent"] += len(batch)
                progress(len(batch))
        return done | {"waiting": waiting.total - sum(done.values()), "unknown": waiting.unknown}

    def _send_batch(self, server: Server, batch: dict[str, tuple[int, str]]) -> None:
        asked = f"own.id IN ({', '.join(str(number) for number, _ in batch.values())})"
        found = self._memory.run_on_database(lambda base: [*self._items(base, asked)])
        items = [item for _, item in found if item.record.ref in batch]
        # Before it is sent: should this be killed, what is there is still known.
        self._list({item.record.ref: "" for item in items})
        if items:
            common = {"author": self.place.author, "home": self.home}
            made = points.to_points(items, common)
            server.change_points("PUT", "/points", {"points": made})
        self._list({item.record.ref: batch[item.record.ref][1] for item in items})

    def _row_id_and_state_by_point(self, base: sqlite3.Connection) -> dict[str, tuple[int, str]]:
        """All that is to be on the server."""
        wanted = {}
        for number, item in self._items(base, "1"):
            content = f"{item.before}\0{item.previous}\0{self.place.author}".encode()
            state = hashlib.blake2b(content, digest_size=8).hexdigest()
            wanted[item.record.ref] = (number, state)
        return wanted

    def _items(self, base: sqlite3.Connection, condition: str) -> Iterator[tuple[int, points.Item]]:
        """Entries with their numbers, as they are sent."""
        for number, before, previous, said, *fields in base.execute(_ENTRIES.format(condition)):
            own = Record(*fields)
            project = self.project_label(own.project)
            # The path of a topic file stays here.
            session = "topic" if own.session.startswith("/") else own.session
            key, key_before = (
                ref and points.point_id(self.home, project, session, ref, text)
                for ref, text in ((own.ref, own.text), (previous, said))
            )
            text = own.text[: points.MOST_CHARACTERS]
            sent = own._replace(ref=key, text=text, project=project, session=session)
            yield number, points.Item(sent, before, key_before or "")

    def project_label(self, folder: str) -> str:
        """Return what a project is called there; of a folder that is gone, what it was called."""
        if folder not in self._labels:
            known = self._rows_of_query("SELECT value FROM facts WHERE name = ?", f"label:{folder}")
            self._labels[folder] = points.project_label(folder, known[0][0] if known else "")
        return self._labels[folder]

    def _read_listed_states(self) -> dict[str, str]:
        """The points on the list, and their states."""
        asked = "SELECT point, state FROM shared WHERE server = ?"
        return dict(self._rows_of_query(asked, self._name))

    def _list(self, states: dict[str, str]) -> None:
        rows = [(self._name, *one) for one in states.items()]
        self._execute_per_row("INSERT OR REPLACE INTO shared VALUES (?, ?, ?)", rows)

    def _rows_of_query(self, sql: str, *values: str) -> list[Any]:
        return self._memory.run_on_database(lambda base: base.execute(sql, values).fetchall())

    def _execute_per_row(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        def write_rows(base: sqlite3.Connection) -> None:
            with database.changing(base):
                base.executemany(sql, rows)

        if rows:
            self._memory.run_on_database(write_rows)


def _read_or_make_home_id(home_dir: str) -> str:
    """By which the points of this home are told from those of others, made once."""
    path = f"{home_dir}/memory/home"
    try:
        io.create_exclusively(path, uuid.uuid4().hex.encode())
        known = io.read_file(path)
    except OSError as error:
        raise TeamError(f"{path} cannot be used: {error.strerror or error}") from error
    if not re.fullmatch(rb"[0-9a-f]{32}", known):
        raise TeamError(f"{path} is damaged: delete it, and all is sent anew")
    return known.decode()


def _find_sends_and_deletes(listed: dict[str, str], here: dict[str, tuple[int, str]]) -> Waiting:
    sends = {point: one for point, one in here.items() if listed.get(point) != one[1]}
    return Waiting(sends, [point for point in listed if point not in here])


def prepare_collection(server: Server) -> None:
    """Make the collection where it is missing, and see that it fits.

    Raises:
        TeamError: it was made for something else, or cannot be made.
    """
    try:
        told = server.ask_collection("GET")
    except RefusedError as error:
        if error.status != NOT_FOUND:
            raise
        try:
            server.ask_collection("PUT", body=points.points_schema())
        except RefusedError as refused:
            if refused.status != _CONFLICT:  # somebody else was quicker
                raise
        told = server.ask_collection("GET")
    check_collection(told, server.place)
    for field in points.INDEXED - told["payload_schema"].keys():
        body = {"field_name": field, "field_schema": "keyword"}
        server.ask_collection("PUT", "/index?wait=true", body)


def check_collection(description: Any, place: Place) -> None:
    """See that a collection fits; those of version 0.2.0 do, and keep vectors that nobody asks for.

    Raises:
        TeamError: it was made for something else.
    """
    sparse = description["config"]["params"].get("sparse_vectors") or {}
    if not {points.WORDS, points.PAIR} <= sparse.keys():
        raise TeamError(
            f"{place.name} was not made by brimline: name another collection in memory.url; "
            "nothing was written"
        )


def _batches_until(found: list[str], until: float) -> Iterator[list[str]]:
    for start in range(0, len(found), _AT_ONCE):
        if time.monotonic() < until:
            yield found[start : start + _AT_ONCE]
