"""The search over both: what is here, and what the team's server has, within a moment."""

from __future__ import annotations

import functools
import threading
import time
from typing import TYPE_CHECKING, Any

from brimline.errors import BrimlineError, TeamError
from brimline.fast import io, paths

if TYPE_CHECKING:
    from brimline.recall.place import Place
    from brimline.recall.qdrant import Server
    from brimline.recall.queue import Queue
    from brimline.recall.ranking import Found
    from brimline.recall.record import Hit
    from brimline.recall.turns import Memory
    from brimline.transcript.project import Project

WAIT_S = 0.3
# An answer that comes too late leaves a connection for the next question.
_LATE_S, _STATUS_S = 2.0, 3.0


def is_server_named(home_dir: str) -> bool:
    """Tell whether the user may have named a server: nothing is loaded to find out."""
    try:
        return b"qdrant+" in io.read_file(paths.user_config(home_dir))
    except OSError:
        return False


def named_place(home_dir: str, project_dir: str) -> Place | None:
    """Return where the user has said that the team's memory is, confirmed or not.

    Raises:
        TeamError: `memory.url` is wrong.
    """
    if not is_server_named(home_dir):
        return None
    from brimline.recall.place import parse_place
    from brimline.settings import config

    url = config.load(home_dir, project_dir, environment=False).values["memory.url"]
    return parse_place(url) if url else None


def open_queue(home_dir: str, project_dir: str) -> Queue | None:
    """Return what waits for the team's server; None where the user has named none.

    Raises:
        TeamError: `memory.url` is wrong or not confirmed, or a package is missing.
    """
    place = named_place(home_dir, project_dir)
    if place is None:
        return None
    from brimline.recall import confirmation
    from brimline.recall.queue import Queue

    confirmation.require(home_dir, place)
    return Queue(home_dir, place)


def search_both(
    home_dir: str, project_dir: str, memory: Memory, query: str, limit: int, within: Project | None
) -> tuple[list[Hit], str]:
    """The entries of both that fit a query, and why the server's are missing, if they are.

    Raises:
        StoreError: the search here cannot be used.
    """
    try:
        queue = open_queue(home_dir, project_dir)
        question = _Question(queue, query, within) if queue else None
    except TeamError as error:
        return memory.search(query, limit, within, may_be_none=True), str(error)
    others = question.answer if question else tuple
    hits = memory.search(query, limit, within, others, may_be_none=True)
    return hits, question.problem if question else ""


def document(
    home_dir: str, project_dir: str, query: str, limit: int, within: Project | None
) -> dict[str, Any]:
    """Return what a search finds, here and on the team's server, for those who show it.

    Raises:
        StoreError: the search here cannot be used.
    """
    from brimline.recall import hits

    memory = hits.open_or_make_memory(home_dir)
    found, problem = search_both(home_dir, project_dir, memory, query, limit, within)
    return hits.document(found, query, home_dir) | {"problem": problem}


class _Question:
    """One that is asked beside the search here."""

    def __init__(self, queue: Queue, query: str, within: Project | None) -> None:
        from brimline.recall import points

        self.problem, self._server, self._query = "", _cached_server(queue.place), query
        self._found: list[tuple[Hit, Found]] | BrimlineError | None = None
        self._project = queue.project_label(within.folders[0]) if within else None
        asked = points.make_searches(query, queue.home, self._project)
        self._asked = {"searches": asked}
        self._until = time.monotonic() + WAIT_S
        self._thread = threading.Thread(target=self._ask_and_keep_answer, daemon=True)
        self._thread.start()

    def answer(self) -> list[tuple[Hit, Found]]:
        """Return what was found there; nothing where it takes too long."""
        self._thread.join(max(0.0, self._until - time.monotonic()))
        found = self._found
        if isinstance(found, list):
            return found
        self.problem = str(found or "the team's server did not answer in time")
        return []

    def _ask_and_keep_answer(self) -> None:
        from brimline.recall import points

        try:
            answers = self._server.ask_collection("POST", "/points/query/batch", self._asked)
            self._found = points.read_search_answers(answers, self._query, self._project)
        except BrimlineError as error:
            self._found = error


@functools.lru_cache(maxsize=1)
def _cached_server(place: Place) -> Server:
    from brimline.recall.qdrant import Server

    return Server(place, _LATE_S)


def status(home_dir: str, project_dir: str) -> dict[str, Any] | None:
    """How it is with the team's server, and how much waits for it; None where there is none."""
    told: dict[str, Any] = dict.fromkeys(("server", "version", "points", "waiting"))
    told["problem"] = ""
    try:
        queue = open_queue(home_dir, project_dir)
        if queue is None:
            return None
        told |= {"server": queue.place.name, "waiting": queue.find_waiting().total}
        told |= queue.server_version_and_points(_STATUS_S)
    except BrimlineError as error:
        told["problem"] = str(error)
    return told


def status_text(status: dict[str, Any]) -> str:
    """The same in a line."""
    version, number = status["version"], status["points"]
    here = f"{status['server']}, Qdrant {version}: {number} points"
    waiting = "" if status["waiting"] is None else f"; {status['waiting']:,} waiting here"
    return (status["problem"] or here) + waiting
