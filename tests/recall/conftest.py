"""Puts real servers in a test's hands; without one the suite skips, or fails where one must be."""

from __future__ import annotations

import functools
import json
import os
import threading
import uuid
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TYPE_CHECKING, Any

import pytest
from tests.cli.conftest import brimline
from tests.recall.homes import Homes
from tests.recall.servers import Node, fetch

from brimline.recall import together
from brimline.recall.qdrant import Server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.cli.conftest import Run

    from brimline.recall.place import Place

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
    server = Node(qdrant, tmp_path_factory.mktemp("qdrant") / "node", key=KEY)
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
        opened.append(Server(place, 30.0))
        return opened[-1]

    monkeypatch.setattr(together, "WAIT_S", 30.0)
    monkeypatch.setattr(together, "_cached_server", functools.cache(made))
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


class Answering:
    """A server on loopback that gives prepared answers, one after the other."""

    def __init__(self, *coming: tuple[int, Any]) -> None:
        """Begin to listen.

        Args:
            coming: status and body of each answer; what is no bytes is sent as JSON.
        """
        self.asked: list[tuple[str, str, Any, str | None]] = []
        """Of each request: method, path, body and key."""
        left, asked = list(coming), self.asked

        class Handler(BaseHTTPRequestHandler):
            def _answer(self) -> None:
                raw = self.rfile.read(int(self.headers.get("content-length") or 0))
                body = json.loads(raw) if raw else None
                asked.append((self.command, self.path, body, self.headers.get("api-key")))
                status, told = left.pop(0)
                answer = told if isinstance(told, bytes) else json.dumps(told).encode()
                self.send_response(status)
                self.send_header("content-length", str(len(answer)))
                self.send_header("location", "/elsewhere")
                self.end_headers()
                self.wfile.write(answer)

            do_GET = do_PUT = do_POST = _answer  # noqa: N815 - as the library has it

            def log_message(self, *_: Any) -> None:
                """Nobody is told."""

        self._http = HTTPServer(("127.0.0.1", 0), Handler)
        self.host = f"127.0.0.1:{self._http.server_port}"
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.05,))
        self._thread.start()

    def close(self) -> None:
        """Listen no more."""
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()


@pytest.fixture
def answering() -> Iterator[Callable[..., Answering]]:
    """Servers with prepared answers."""
    servers: list[Answering] = []

    def start(*coming: tuple[int, Any]) -> Answering:
        servers.append(Answering(*coming))
        return servers[-1]

    yield start
    for server in servers:
        server.close()
