"""Prepared answers of a server, and entries that are to be sent to it."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from brimline.errors import TeamError
from brimline.fast import paths
from brimline.recall import confirmation, hits, place, points
from brimline.recall.queue import Queue
from brimline.recall.record import Record

if TYPE_CHECKING:
    from tests.recall.conftest import Answering

DONE = (200, {"result": {"status": "completed"}})
MADE = {
    "config": {"params": points.points_schema()},
    "payload_schema": {name: {} for name in points.INDEXED},
}
READY = (200, {"result": MADE})


def counted(number: int) -> tuple[int, Any]:
    """What the server says about how many points it has."""
    return 200, {"result": {"count": number}}


def queue_for(home_dir: str, server: Answering, author: str = "mia") -> Queue:
    """What waits for a server."""
    return Queue(home_dir, place.parse_place(f"qdrant+http://{author}@{server.host}/team"))


def say(home_dir: str, *texts: str) -> None:
    """Entries of one session."""
    entries = [Record(f"/f/{text}", text, "s1", 5.0, "user", "/gone/shop") for text in texts]
    hits.open_or_make_memory(home_dir).put_entries(entries)


def states(home_dir: str) -> dict[str, str]:
    """The points on the list."""
    asked = "SELECT point, state FROM shared WHERE server = 'team'"
    return dict(
        hits.open_or_make_memory(home_dir).run_on_database(
            lambda base: base.execute(asked).fetchall()
        )
    )


def name_server(home_dir: str, url: str) -> None:
    """Have the user's settings name it, as one that was confirmed."""
    path = Path(paths.user_config(home_dir))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'[memory]\nurl = "{url}"\n')
    with contextlib.suppress(TeamError):
        confirmation.keep(home_dir, place.parse_place(url))
