"""Which clients use this store: the folders under which transcripts may mention its keys.

Fast path: imports only `brimline.fastio`, `brimline.paths` and `brimline.store.layout`.

One data folder can serve several configuration folders of the client. Whoever collects garbage must
look in all of them, not only in the one of the moment.
"""

from __future__ import annotations

from brimline import fastio, paths
from brimline.store import layout


def remember(home_dir: str) -> None:
    """Note the present client.

    Raises:
        OSError: it cannot be noted.
    """
    client = paths.client_config_dir()
    if client not in _noted(home_dir) and "\n" not in client:
        fastio.append_line(file(home_dir), client)


def known(home_dir: str) -> list[str]:
    """The configuration folder of every client, the present one first."""
    return list(dict.fromkeys([paths.client_config_dir(), *filter(None, _noted(home_dir))]))


def file(home_dir: str) -> str:
    """Where they are noted, one on a line."""
    return layout.root(home_dir) + "/clients"


def _noted(home_dir: str) -> list[str]:
    try:
        return fastio.read_file(file(home_dir)).decode("utf-8", "surrogateescape").split("\n")
    except FileNotFoundError:
        return []
