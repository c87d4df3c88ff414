"""What a gateway is started with: the service, the hosts without a proxy, a port, a path."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from brimline.errors import BrimlineError
from brimline.fast import paths
from brimline.gateway import serving
from brimline.gateway.proxies import PROXIES
from brimline.gateway.proxy import LARGEST_BODY_BYTES, MOST_CONNECTIONS, Proxy
from brimline.settings import config, extras
from brimline.state import logs

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.mark.parametrize(
    ("url", "is_service"),
    [
        (" https://api.example ", True),
        ("http://127.0.0.1:8080/base", True),
        ("ftp://api.example", False),
        ("api.example", False),
        ("https://", False),
        ("https://api.example:0", False),
        ("https://api.example:99999", False),
        ("https://api.example/?key=1", False),
        ("https://[::1", False),
    ],
)
def test_a_service_is_a_url_with_a_host_and_no_question(url: str, is_service: bool) -> None:
    """Anything else is told with the name of the setting that says it."""
    if is_service:
        assert serving.checked_url(url, "X") == url.strip()
    else:
        with pytest.raises(BrimlineError, match=r"X is .* which is not a URL of a service"):
            serving.checked_url(url, "X")


def test_a_port_that_is_taken_is_told_and_a_client_gets_the_one_that_was_had() -> None:
    """On loopback alone, below a path that nobody guesses."""
    with serving.listen(0) as listening:
        host, port = listening.getsockname()
        with pytest.raises(
            BrimlineError,
            match=rf"^port {port} cannot be used \(Address already in use\): choose another$",
        ):
            serving.listen(port)
        secret = serving.fresh_secret()
        assert serving.base_url(listening, secret) == f"http://127.0.0.1:{port}/{secret}"

    assert host == "127.0.0.1"
    assert len(secret) == 24
    assert secret != serving.fresh_secret()


def asked(path: str, *, host: str = "127.0.0.1:80", **fields: Any) -> tuple[int, str, list[Any]]:
    """What a gateway without layers answers of its own: status, message and headers."""
    length = str(fields.get("length", 2)).encode()
    scope = {
        "type": "http",
        "method": "POST",
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": [(b"host", host.encode()), (b"content-length", length)],
    }
    sent: list[dict[str, Any]] = []
    coming = [{"type": "http.request", "body": b"{}"}]

    async def receive() -> dict[str, Any]:
        if not coming:
            await asyncio.Event().wait()  # a client that waits for its answer says no more
        return coming.pop()

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    async def run() -> None:
        # Nothing listens on port 1, so what is handed on is answered by the gateway, too.
        proxy = Proxy("http://127.0.0.1:1", "secret", None)
        await proxy(scope, receive, send)
        await proxy.close()

    asyncio.run(run())
    start, body = sent
    return start["status"], json.loads(body["body"])["error"]["message"], start["headers"]


@pytest.mark.parametrize(
    ("path", "fields", "status", "message"),
    [
        ("/secret/v1/messages", {}, 502, "brimline: the gateway cannot reach 127.0.0.1"),
        ("/secret/v1", {"host": "localhost"}, 502, "brimline: the gateway cannot reach"),
        (
            "/secret/v1",
            {"host": "evil.example:80"},
            403,
            "brimline: this is not a host of the gate",
        ),
        ("/secret/v1", {"host": ""}, 403, "brimline: this is not a host of the gateway"),
        ("/guess/v1", {}, 404, "brimline: not found"),
        ("/secret/../v1", {}, 400, "brimline: no path of a service"),
        ("/secret/a%2f%2E%2e/v1", {}, 400, "brimline: no path of a service"),
        ("/secret/..%5Cv1", {}, 400, "brimline: no path of a service"),
        ("/secret/a..b/v1", {}, 502, "brimline: the gateway cannot reach"),
        ("/secret/v1", {"length": LARGEST_BODY_BYTES}, 502, "brimline: the gateway cannot reach"),
        (
            "/secret/v1",
            {"length": LARGEST_BODY_BYTES + 1},
            413,
            f"brimline: more than {LARGEST_BODY_BYTES:,} bytes",
        ),
    ],
)
def test_what_is_not_handed_on_is_answered_in_a_sentence(
    monkeypatch: pytest.MonkeyPatch, path: str, fields: dict[str, Any], status: int, message: str
) -> None:
    """A stranger's connection is closed with it."""
    for name in PROXIES:
        monkeypatch.delenv(name, raising=False)

    got, said, headers = asked(path, **fields)

    assert got == status
    assert said.startswith(message)
    assert ((b"connection", b"close") in headers) is (status in (403, 404))


def test_where_offloading_is_off_no_previews_are_made(home_dir: str, project_dir: str) -> None:
    """The other layers apply."""
    policy = config.build_live_policy(home_dir, project_dir)
    usual = serving._layer_settings(policy)
    policy.values["offload.preset"] = "off"

    assert usual.has_previews
    assert not serving._layer_settings(policy).has_previews


def test_what_the_server_says_of_a_failure_is_a_line_and_all_else_is_dropped(home_dir: str) -> None:
    """By the error that it had; a mere sentence is none."""
    handler = serving._Failures(home_dir)
    error = ValueError("of ours")
    record = logging.LogRecord("uvicorn", logging.ERROR, "", 0, "said", (), None)
    handler.emit(record)
    quiet = logs.recent_failures(home_dir, 0.0)
    record.exc_info = (ValueError, error, None)
    handler.emit(record)

    (line,) = logs.recent_failures(home_dir, 0.0)
    assert quiet == []
    assert line["event"] == "Gateway"
    assert "of ours" in json.dumps(line)
    assert handler.level == logging.ERROR


@pytest.mark.parametrize(
    ("message", "is_told"), [("socket.accept() out of system resource", False), ("other", True)]
)
def test_that_no_connection_can_be_accepted_is_not_said_again_and_again(
    caplog: pytest.LogCaptureFixture, message: str, is_told: bool
) -> None:
    """Any other failure of the loop is."""
    loop = asyncio.new_event_loop()
    serving._ignore_accept_errors(loop, {"message": message})
    loop.close()

    assert bool(caplog.records) is is_told


def test_a_gateway_says_nothing_of_itself_and_keeps_connections_for_a_while() -> None:
    """What a service answers comes through with no header of ours; it ends within seconds."""
    told = serving._make_server(Proxy("http://127.0.0.1:1", "s", None)).config

    said = (told.server_header, told.date_header, told.proxy_headers, told.access_log)
    assert said == (False, False, False, False)
    assert (told.lifespan, told.ws, told.log_config) == ("off", "none", None)
    kept_s = (told.timeout_keep_alive, told.timeout_graceful_shutdown)
    assert kept_s == (serving._KEEP_ALIVE_S, serving._GOODBYE_S)


def test_a_socket_is_one_that_answers_at_once() -> None:
    """By the name of its protocol the loop knows not to wait for more to send."""
    with serving.listen(0) as listening:
        assert listening.proto == socket.IPPROTO_TCP
        assert listening.getsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR) != 0
        assert listening.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN) == 1


def test_what_a_library_is_missing_for_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything is started."""
    serving.require_libraries()
    monkeypatch.setattr(extras, "is_extra_missing", lambda name: name == "gateway")

    with pytest.raises(BrimlineError, match="the gateway needs uvicorn and httpx2"):
        serving.require_libraries()


def test_as_many_connections_are_kept_as_requests_are_answered() -> None:
    """Of those that nobody uses, fewer."""
    proxy = Proxy("http://127.0.0.1:1", "s", None)
    transport: Any = proxy._client._transport
    asyncio.run(proxy.close())

    pool = transport._pool
    assert pool._max_keepalive_connections < pool._max_connections == MOST_CONNECTIONS


@pytest.fixture
def server_log() -> Iterator[logging.Logger]:
    """Where the server says what fails; it is as it was afterwards."""
    log = logging.getLogger("uvicorn")
    before = list(log.handlers), log.propagate
    yield log
    log.handlers, log.propagate = before


def serve_once() -> None:
    """Serve for a moment."""
    with serving.listen(0) as listening:
        plan = serving.Plan("http://127.0.0.1:1", "s")
        with serving.serving_meanwhile(plan, listening):
            pass


@pytest.mark.usefixtures("server_log")
@pytest.mark.parametrize("is_usable", [True, False])
def test_where_stand_ins_cannot_be_kept_requests_pass_as_they_are_and_that_is_told(
    home_dir: str, capsys: pytest.CaptureFixture[str], is_usable: bool
) -> None:
    """Before it serves."""
    file = Path(paths.stand_ins_database(home_dir))
    if not is_usable:
        file.parent.parent.mkdir(parents=True, exist_ok=True)
        file.parent.write_text("no folder")

    serve_once()

    said = capsys.readouterr().err
    if is_usable:
        assert said == ""
        assert [one.name for one in file.parent.iterdir()] == [file.name]
    else:
        assert said.startswith(f"brimline: requests pass as they are: {file} cannot be used (")


def test_what_a_server_says_of_failures_is_in_the_error_log_alone(
    home_dir: str, server_log: logging.Logger
) -> None:
    """Nothing of it reaches a terminal."""
    before = list(server_log.handlers)

    serve_once()

    added = [one for one in server_log.handlers if one not in before]
    assert [type(one) for one in added] == [serving._Failures]
    assert server_log.propagate is False
