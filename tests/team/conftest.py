"""Puts real servers in a test's hands; without one the suite skips, or fails where one must be."""

from __future__ import annotations

import functools
import os
import uuid
from typing import TYPE_CHECKING

import pytest
from tests.cli.conftest import brimline
from tests.team.homes import Homes
from tests.team.servers import Node, fetch

from brimline.team import together
from brimline.team.qdrant import Server

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.cli.conftest import Run

    from brimline.team.place import Place

__all__ = ["brimline"]

# Read at import: inside a test HOME is a temporary folder.
_ENVIRON = dict(os.environ)
KEY = "a-key-for-the-loopback-server"


@pytest.fixture(scope="session")
def qdrant() -> Path:
    """The pinned server, fetched once per machine."""
    fetched = fetch(_ENVIRON)
    if fetched.binary is not None:
        return fetched.binary
    reason = f"Qdrant suite not run: {fetched.reason}"
    if _ENVIRON.get("QDRANT_REQUIRED"):
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def node(qdrant: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    """One server that wants a key."""
    server = Node(qdrant, tmp_path_factory.mktemp("qdrant") / "node", key=KEY, peer=False)
    try:
        server.start()
        yield server
    finally:
        server.kill()


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """However busy the machine is, the server's answer is waited for; connections end after all."""
    opened: list[Server] = []

    def made(place: Place) -> Server:
        opened.append(Server(place, 30.0, 0.2))
        return opened[-1]

    monkeypatch.setattr(together, "WAIT_S", 30.0)
    monkeypatch.setattr(together, "_server", functools.cache(made))
    yield
    for server in opened:
        server.close()


@pytest.fixture
def homes(world: Path, monkeypatch: pytest.MonkeyPatch, brimline: Run, patient: None) -> Homes:
    """Two people at two machines, who know the key."""
    monkeypatch.setenv("BRIMLINE_QDRANT_API_KEY", KEY)
    return Homes(world, monkeypatch, brimline)


@pytest.fixture
def collection() -> str:
    """A name that no other test uses."""
    return f"test-{uuid.uuid4().hex}"
