"""A gateway that serves: its socket, its secret path, its beginning and its end."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import secrets
import signal
import socket
import sqlite3
import threading
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from brimline import output
from brimline.bulk import judge
from brimline.compaction.compactor import Settings
from brimline.errors import BrimlineError
from brimline.fast import clock, paths
from brimline.settings import config, extras
from brimline.state import logs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import uvicorn

    from brimline.fast.policy import Policy
    from brimline.gateway.proxy import Proxy

HOST = "127.0.0.1"
SERVICE, BASE_URL = "https://api.anthropic.com", "ANTHROPIC_BASE_URL"
AUTHORITIES = ("SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS")
_SECRET_BYTES = 18
_BACKLOG = 256
_KEEP_ALIVE_S = 300
_GOODBYE_S = 5


class Plan(NamedTuple):
    """What a gateway is to do."""

    upstream: str
    secret: str


def fresh_secret() -> str:
    """A path that nobody guesses."""
    return secrets.token_urlsafe(_SECRET_BYTES)


def listen(port: int) -> socket.socket:
    """A socket on loopback; port 0 is any that is free.

    Raises:
        BrimlineError: the port is taken.
    """
    # The protocol by name: only then does the loop switch Nagle's delay off, 40 ms per answer.
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((HOST, port))
        found.listen(_BACKLOG)
    except OSError as error:
        found.close()
        reason = error.strerror or error
        raise BrimlineError(f"port {port} cannot be used ({reason}): choose another") from None
    return found


def base_url(listening: socket.socket, secret: str) -> str:
    """Return what a client is given instead of the upstream's URL."""
    return f"http://{HOST}:{listening.getsockname()[1]}/{secret}"


def checked_url(url: str, source: str) -> str:
    """The URL of a service.

    Raises:
        BrimlineError: it is none.
    """
    url = url.strip()
    try:
        parts = urlsplit(url)
        is_service = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        is_service = False
    if not is_service or parts.query:
        raise BrimlineError(f"{source} is {url!r}, which is not a URL of a service")
    return url


def require_libraries() -> None:
    """Say what is missing before anything is started.

    Raises:
        BrimlineError: a library is.
    """
    if extras.is_extra_missing("gateway"):
        raise BrimlineError(extras.text_with_install_hint("the gateway needs uvicorn and httpx2"))


def serve(plan: Plan, listening: socket.socket, ready: Callable[[], None]) -> None:
    """Serve until a signal comes.

    Raises:
        BrimlineError: a library is missing, or what is needed to reach the service.
    """
    require_libraries()

    def stop_by_signals(server: uvicorn.Server) -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, _stop_server, server)
        ready()

    asyncio.run(_serve(plan, listening, stop_by_signals))


@contextlib.contextmanager
def serving_meanwhile(plan: Plan, listening: socket.socket) -> Iterator[None]:
    """Serve from a thread for as long as something else goes on.

    Raises:
        BrimlineError: something that is needed to reach the service is missing.
    """
    started: Future[uvicorn.Server] = Future()

    def serve_in_thread() -> None:
        try:
            asyncio.run(_serve(plan, listening, started.set_result))
        except BaseException as error:  # noqa: BLE001 - the top of this thread
            if not started.done():
                started.set_exception(error)

    thread = threading.Thread(target=serve_in_thread, daemon=True)
    thread.start()
    server = started.result()
    try:
        yield
    finally:
        _stop_server(server)
        thread.join(2 * _GOODBYE_S)


def _stop_server(server: uvicorn.Server) -> None:
    server.should_exit = True


async def _serve(
    plan: Plan, listening: socket.socket, ready: Callable[[uvicorn.Server], None]
) -> None:
    from brimline.gateway.conversations import Conversations
    from brimline.gateway.proxy import Proxy
    from brimline.gateway.stickiness import Stickiness

    asyncio.get_running_loop().set_exception_handler(_ignore_accept_errors)
    home_dir = paths.data_dir()
    stickiness = known = None
    try:
        stickiness = Stickiness(home_dir, clock.now_s())
        policy = config.build_live_policy(home_dir, os.getcwd())
        known = Conversations(home_dir, _layer_settings(policy), policy, stickiness)
    except (OSError, sqlite3.Error) as error:
        file = paths.stand_ins_database(home_dir)
        output.complain(f"brimline: requests pass as they are: {file} cannot be used ({error})")
    server_log = logging.getLogger("uvicorn")
    server_log.addHandler(_Failures(home_dir))
    server_log.propagate = False
    app = Proxy(plan.upstream, plan.secret, known)
    server = _make_server(app)
    # The server's own way would end the process before its files are closed.
    server.capture_signals = contextlib.nullcontext  # type: ignore[method-assign,assignment]
    ready(server)
    try:
        await server.serve(sockets=[listening])
    finally:
        await app.close()
        if stickiness:
            stickiness.close()


def _make_server(app: Proxy) -> uvicorn.Server:
    import uvicorn

    config = uvicorn.Config(
        app,
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        ws="none",
        timeout_keep_alive=_KEEP_ALIVE_S,
        timeout_graceful_shutdown=_GOODBYE_S,
    )
    return uvicorn.Server(config)


def _ignore_accept_errors(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """While too many connections are open the loop would say so again and again."""
    if "accept" not in str(context.get("message")):
        loop.default_exception_handler(context)


class _Failures(logging.Handler):
    """What the server says of failures of ours is a line in the error log, all else is dropped."""

    def __init__(self, home_dir: str) -> None:
        super().__init__(logging.ERROR)
        self._home = home_dir

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info and record.exc_info[1]:
            with contextlib.suppress(OSError):
                logs.record_failure(self._home, "Gateway", record.exc_info[1])


def _layer_settings(policy: Policy) -> Settings:
    """Return how hard the layers are: what the user keeps in the window stays in it here, too."""
    values = policy.values
    rules = judge.Rules(*[values[f"offload.{name}"] for name in judge.Rules._fields])
    has_previews = values["offload.preset"] != "off"
    return Settings(has_previews=has_previews, rules=rules)
