"""Connections that ask for nothing: which of them are closed, and which are not."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
import uvicorn
from uvicorn.server import ServerState

from brimline import connections

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

TIMEOUT_S = 30.0
REQUEST = b"GET / HTTP/1.1\r\nhost: x\r\n\r\n"
Opened = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Scene:
    """A server whose answer waits for a word, and its clients."""

    def __init__(self) -> None:
        self.may_answer = asyncio.Event()
        self.is_asked = asyncio.Event()
        self.clients: list[Opened] = []
        self.port = 0

    async def answer(self, _scope: Any, _receive: Any, send: Any) -> None:
        """Say hello once it may be said."""
        self.is_asked.set()
        await self.may_answer.wait()
        headers = [(b"content-length", b"5")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"hello"})

    async def connect(self, waiting: int) -> Opened:
        """One more client; goes on when so many are waited for."""
        client = await asyncio.open_connection("127.0.0.1", self.port)
        self.clients.append(client)
        await self.until(waiting)
        return client

    async def until(self, waiting: int) -> None:
        """Wait until so many connections are waited for."""
        while len(connections.Impatient.waiting) != waiting:  # noqa: ASYNC110 - theirs to change
            await asyncio.sleep(0)


@pytest.fixture
def play(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[Scene], Awaitable[None]]], None]:
    """Play a scene in which two connections may wait."""
    monkeypatch.setattr(connections, "PATIENCE_S", 600.0)
    monkeypatch.setattr(connections, "MOST_WAITING", 2)
    monkeypatch.setattr(connections.Impatient, "waiting", {})

    async def run(scenes: Callable[[Scene], Awaitable[None]]) -> None:
        scene, loop = Scene(), asyncio.get_running_loop()
        config = uvicorn.Config(
            scene.answer, interface="asgi3", log_config=None, http=connections.Impatient
        )
        config.load()
        server = await loop.create_server(
            lambda: connections.Impatient(config, ServerState(), {}, loop), "127.0.0.1", 0
        )
        scene.port = server.sockets[0].getsockname()[1]
        await scenes(scene)
        for _, writer in scene.clients:
            writer.close()
        await scene.until(0)
        server.close()

    return lambda scenes: asyncio.run(asyncio.wait_for(run(scenes), TIMEOUT_S))


def test_of_too_many_that_wait_the_oldest_is_closed(
    play: Callable[[Callable[[Scene], Awaitable[None]]], None],
) -> None:
    """As many as may wait do so; those that are gone are not counted."""

    async def scene(here: Scene) -> None:
        oldest = await here.connect(1)
        second = await here.connect(2)
        await here.connect(2)
        assert await oldest[0].read() == b""
        second[1].close()
        await here.until(1)
        await here.connect(2)

    play(scene)


def test_one_that_has_asked_is_not_closed_though_it_is_the_oldest(
    play: Callable[[Callable[[Scene], Awaitable[None]]], None],
) -> None:
    """Its answer may take its time; once it is given nobody waits for it any more."""

    async def scene(here: Scene) -> None:
        busy = await here.connect(1)
        busy[1].write(REQUEST)
        await here.is_asked.wait()
        await here.connect(2)
        await here.connect(2)
        here.may_answer.set()
        assert (await busy[0].readuntil(b"hello")).startswith(b"HTTP/1.1 200")
        busy[1].write(REQUEST)
        assert (await busy[0].readuntil(b"hello")).startswith(b"HTTP/1.1 200")

    play(scene)


def test_one_that_was_answered_does_not_wait(
    play: Callable[[Callable[[Scene], Awaitable[None]]], None],
) -> None:
    """So two others may, and it stays."""

    async def scene(here: Scene) -> None:
        here.may_answer.set()
        busy = await here.connect(1)
        busy[1].write(REQUEST)
        await busy[0].readuntil(b"hello")
        await here.until(0)
        await here.connect(1)
        await here.connect(2)
        busy[1].write(REQUEST)
        assert (await busy[0].readuntil(b"hello")).startswith(b"HTTP/1.1 200")
        await here.until(2)

    play(scene)
