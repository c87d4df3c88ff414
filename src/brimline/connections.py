"""A connection to a server of ours that asks for nothing is closed, so that it keeps nobody out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from uvicorn.protocols.http.auto import AutoHTTPProtocol

if TYPE_CHECKING:
    import asyncio

PATIENCE_S = 10.0
MOST_WAITING = 256


class Impatient(AutoHTTPProtocol):  # type: ignore[misc, valid-type]
    """The server's own protocol, for clients that send a request soon."""

    # Those that have not sent one yet, the oldest first.
    waiting: dict[Impatient, asyncio.TimerHandle] = {}  # noqa: RUF012 - of all connections

    def connection_made(self, transport: Any) -> None:
        """Give it some time, unless too many others wait already: then the oldest goes."""
        super().connection_made(transport)
        self.waiting[self] = self.loop.call_later(PATIENCE_S, self.close_if_unused)
        if len(self.waiting) > MOST_WAITING:
            next(iter(self.waiting)).close_if_unused()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting for a connection that is gone."""
        self._stop_waiting()
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        """It has sent a request; the next one may take its time."""
        self._stop_waiting()
        super().on_response_complete()

    def close_if_unused(self) -> None:
        """Close it, if it still has not sent anything."""
        self._stop_waiting()
        if self.cycle is None:  # no head of a request has come
            self.transport.close()

    def _stop_waiting(self) -> None:
        timer = self.waiting.pop(self, None)
        if timer is not None:
            timer.cancel()
