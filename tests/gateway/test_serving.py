"""What a gateway is started with: the service, the hosts without a proxy, a port, a path."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import pytest

from brimline.errors import BrimlineError
from brimline.gateway import serving
from brimline.gateway.proxy import Proxy


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
        with pytest.raises(BrimlineError, match=r"X is .* which is no URL of a service"):
            serving.checked_url(url, "X")


def test_hosts_without_a_proxy_are_those_of_both_variables() -> None:
    """By commas or spaces."""
    assert serving.no_proxy_hosts({"no_proxy": "a, b c", "NO_PROXY": "d"}) == ["a", "b", "c", "d"]
    assert serving.no_proxy_hosts({}) == []


def test_a_port_that_is_taken_is_told_and_a_client_gets_the_one_that_was_had() -> None:
    """On loopback alone, below a path that nobody guesses."""
    with serving.listen(0) as listening:
        host, port = listening.getsockname()
        with pytest.raises(BrimlineError, match=f"port {port} cannot be used .*: choose another"):
            serving.listen(port)
        secret = serving.fresh_secret()
        assert serving.base_url(listening, secret) == f"http://127.0.0.1:{port}/{secret}"

    assert host == "127.0.0.1"
    assert len(secret) >= 24
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
        proxy = Proxy("http://127.0.0.1:1", "secret", None, lambda _: time.time())
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
        ("/secret/v1", {"host": "evil.example:80"}, 403, "brimline: this is no host of the gate"),
        ("/secret/v1", {"host": ""}, 403, "brimline: this is no host of the gateway"),
        ("/guess/v1", {}, 404, "brimline: not found"),
        ("/secret/../v1", {}, 400, "brimline: no path of a service"),
        ("/secret/a%2f%2E%2e/v1", {}, 400, "brimline: no path of a service"),
        ("/secret/..%5Cv1", {}, 400, "brimline: no path of a service"),
        ("/secret/a..b/v1", {}, 502, "brimline: the gateway cannot reach"),
        ("/secret/v1", {"length": 64 << 20}, 502, "brimline: the gateway cannot reach"),
        ("/secret/v1", {"length": (64 << 20) + 1}, 413, "brimline: more than 67,108,864 bytes"),
    ],
)
def test_what_is_not_handed_on_is_answered_in_a_sentence(
    monkeypatch: pytest.MonkeyPatch, path: str, fields: dict[str, Any], status: int, message: str
) -> None:
    """A stranger's connection is closed with it."""
    for name in serving.PROXIES:
        monkeypatch.delenv(name, raising=False)

    got, said, headers = asked(path, **fields)

    assert got == status
    assert said.startswith(message)
    assert ((b"connection", b"close") in headers) is (status in (403, 404))
