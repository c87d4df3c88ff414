"""The steps of a request through the gateway, each by itself: headers, encodings, usage."""

from __future__ import annotations

import asyncio
import gzip
import json
import logging
import zlib
from typing import Any

import click
import httpx2
import pytest

from brimline import clock
from brimline.compaction.layers import LAYERS, PREVIEWS
from brimline.errors import BrimlineError
from brimline.gateway import gateway_commands, proxy, serving
from brimline.settings import config
from brimline.state import logs

USAGE = {"input_tokens": 3, "output_tokens": 4}


def answer(data: bytes = b"", **headers: str) -> httpx2.Response:
    """One of the service, with these headers."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx2.Response(200, headers=named, stream=httpx2.ByteStream(data))


@pytest.mark.parametrize(
    ("connection", "left"),
    [
        ([], ["x-one", "x-two", "accept"]),
        (["close"], ["x-one", "x-two", "accept"]),
        (["X-One"], ["x-two", "accept"]),
        (["close, x-one ,X-TWO", "accept"], []),
    ],
)
def test_headers_of_one_connection_are_not_handed_on(
    connection: list[str], left: list[str]
) -> None:
    """Nor those that it names as such, in any of its headers, whatever their case."""
    names = ["Keep-Alive", "X-One", "te", "upgrade", "Transfer-Encoding", "x-two", "Accept"]
    headers = [(b"Connection", value.encode()) for value in connection]
    headers += [(name.encode(), b"Value") for name in names]

    assert proxy._end_to_end_headers(headers) == [(name.encode(), b"Value") for name in left]


@pytest.mark.parametrize(
    ("encoding", "body", "said"),
    [
        ("", b"plain", b"plain"),
        ("br", b"plain", b"plain"),
        ("gzip", gzip.compress(b"plain"), b"plain"),
        ("deflate", zlib.compress(b"plain"), b"plain"),
        ("gzip", gzip.compress(b"plain" * 99)[:-9], b"plain"),
        ("gzip", b"no gzip", b"no gzip"),
        ("gzip", gzip.compress(b"x" * ((1 << 20) + 1)), b"x" * (1 << 20)),
    ],
    ids=["none", "unknown", "gzip", "deflate", "cut", "wrong", "large"],
)
def test_a_body_is_decoded_as_far_as_that_can_be_done(
    encoding: str, body: bytes, said: bytes
) -> None:
    """Up to a megabyte; what cannot be decoded stays as it is."""
    assert proxy._decode_body(answer(content_encoding=encoding), body).startswith(said)
    assert len(proxy._decode_body(answer(content_encoding=encoding), body)) <= 1 << 20


def heard(pieces: list[bytes], content_type: str) -> tuple[list[bool], Any, bool]:
    """What the pieces of an answer complete, the usage, and whether thinking was left out."""
    usage = proxy._Usage(answer(content_type=content_type))
    completed = [usage.add_chunk(piece) for piece in pieces]
    return completed, usage.tokens, usage.has_dropped_thinking


def test_the_usage_of_an_answer_is_heard_where_it_is_complete() -> None:
    """At the start of a stream, or in the whole of an answer; once."""
    started = json.dumps({"type": "message_start", "message": {"usage": USAGE}}).encode()
    stream = [b"event: message_start\ndata: ", started + b"\n\n", b'data: {"usage": {"a": 1}}\n\n']
    whole = json.dumps({"content": [], "usage": USAGE}).encode()

    assert heard(stream, "text/event-stream; charset=utf-8") == ([False, True, False], USAGE, False)
    assert heard([whole[:30], whole[30:]], "application/json") == ([False, True], USAGE, False)
    assert heard([whole, whole], "application/json") == ([True, False], USAGE, False)


@pytest.mark.parametrize("body", [b"{}", b'{"usage": 3}', b'["usage"]', b'{"usage": {}}', b"no"])
def test_an_answer_without_a_usage_says_nothing(body: bytes) -> None:
    """Whatever stands there instead."""
    assert heard([body], "application/json")[1] is None
    assert heard([b"data: " + body + b"\n"], "text/event-stream")[1] is None


def test_a_usage_is_looked_for_in_the_beginning_of_an_answer_only() -> None:
    """Of a stream 64 kilobytes, else a megabyte: what comes later is not kept."""
    late = b'data: {"usage": {"input_tokens": 1}}\n'

    assert heard([b"\n" * (64 << 10), late], "text/event-stream")[0] == [False, False]
    assert heard([b"\n" * ((64 << 10) - 1), late], "text/event-stream")[0] == [False, True]
    assert heard([b" " * (1 << 20), late[6:]], "application/json")[0] == [False, False]


def test_thinking_that_the_service_left_out_is_noticed() -> None:
    """By two words that stand there together."""
    told = {"usage": USAGE, "thinking_dropped": {"reason": "prefix_binding_mismatch"}}
    other = {"usage": USAGE, "thinking_dropped": {"reason": "other"}}

    assert heard([json.dumps(told).encode()], "application/json")[2]
    assert not heard([json.dumps(other).encode()], "application/json")[2]


@pytest.mark.parametrize(
    ("body", "is_continuation"),
    [
        (b'{"thread": {"type": "continue"}}', True),
        (b'{"thread": {"type": "start"}}', False),
        (b'{"thread": "continue"}', False),
        (b'{"messages": ["\\"thread\\""]}', False),
        (b'["thread"]', False),
        (b'"thread', False),
    ],
)
def test_a_request_of_what_is_new_alone_is_known_by_its_thread(
    body: bytes, is_continuation: bool
) -> None:
    """Any other holds everything."""
    assert proxy._is_thread_continuation(body) is is_continuation


@pytest.mark.parametrize(
    ("accepted", "asked"), [(b"br, gzip", b"gzip"), (b"br, zstd", b"identity"), (b"gzip", b"gzip")]
)
def test_an_answer_is_asked_for_in_an_encoding_that_can_be_read(
    accepted: bytes, asked: bytes
) -> None:
    """All other headers stay."""
    headers = [(b"accept-encoding", accepted), (b"x", b"gzip, br")]

    scope = proxy._scope_with_readable_encodings({"headers": headers, "a": 1}, dict(headers))

    assert scope == {"headers": [(b"accept-encoding", asked), (b"x", b"gzip, br")], "a": 1}


def test_the_beginning_of_an_answer_is_read_ahead_and_handed_on_all_the_same() -> None:
    """As long as a refusal can be; the chunks stay as they came."""
    sizes = [200 << 10, 60 << 10, 5]

    async def read() -> tuple[int, list[int]]:
        async def chunks() -> Any:
            for size in sizes:
                yield b"x" * size

        found = proxy._Answer(httpx2.Response(400, content=chunks()))
        ahead = await found.read_start_of_body()
        return len(ahead), [len(chunk) async for chunk in found.chunks_from_first_on()]

    assert asyncio.run(read()) == (260 << 10, sizes)


def test_a_replayed_request_has_the_time_it_was_recorded_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What has none, or a wrong one, is of now."""
    monkeypatch.setattr(clock, "now_s", lambda: 7.0)

    assert serving._time_in_replay_header({b"x-replay-time": b"12.5"}) == 12.5
    assert serving._time_in_replay_header({b"x-replay-time": b"soon"}) == 7.0
    assert serving._time_in_replay_header({}) == 7.0
    assert serving._time_ignoring_headers({b"x-replay-time": b"12.5"}) == 7.0


def test_layers_are_a_list_of_their_numbers_or_off() -> None:
    """What is no layer is told with those that there are."""
    numbers = sorted(str(layer.number) for layer in LAYERS)

    assert gateway_commands._parse_layers(None, None, "off") == ()
    assert {one.number for one in gateway_commands._parse_layers(None, None, " 2,1 ")} == {1, 2}
    with pytest.raises(click.BadParameter, match=f"a list out of {', '.join(numbers)}, or off"):
        gateway_commands._parse_layers(None, None, "1,9")


def test_a_secret_is_made_where_none_is_given() -> None:
    """Of 24 characters that fit a path; a given one has such characters only."""
    made = {gateway_commands._checked_or_fresh_secret(None) for _ in range(3)}

    assert len(made) == 3
    assert {len(secret) for secret in made} == {24}
    assert gateway_commands._checked_or_fresh_secret("aZ9-_.~") == "aZ9-_.~"
    for wrong in ("a/b", "ü", "a b", "٣"):
        with pytest.raises(BrimlineError, match="--path takes letters, digits and"):
            gateway_commands._checked_or_fresh_secret(wrong)


def test_where_offloading_is_off_no_previews_are_made(home_dir: str, project_dir: str) -> None:
    """The other layers apply."""
    policy = config.current_policy(home_dir, project_dir)
    plan = serving.Plan("http://a.example", "s", tuple(LAYERS))
    usual = serving._layer_settings(plan, policy)
    policy.values["offload.preset"] = "off"

    assert usual.layers == tuple(LAYERS)
    assert serving._layer_settings(plan, policy).layers == tuple(
        layer for layer in LAYERS if layer is not PREVIEWS
    )


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


@pytest.mark.parametrize(("asked", "status"), [(255, 502), (256, 503)])
def test_256_requests_are_answered_at_once(asked: int, status: int) -> None:
    """One more is told so; each that ended makes room."""
    sent: list[dict[str, Any]] = []
    scope = {"type": "http", "method": "POST", "raw_path": b"/s/v1", "query_string": b""}
    scope |= {"headers": [(b"host", b"127.0.0.1")]}

    async def receive() -> dict[str, Any]:
        if len(sent) or receiving:
            await asyncio.Event().wait()
        receiving.append(1)
        return {"type": "http.request", "body": b"{}"}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    async def run() -> int:
        app = proxy.Proxy("http://127.0.0.1:1", "s", None, lambda _: 0.0)
        app._asked = asked
        await app(scope, receive, send)
        await app({"type": "lifespan"}, receive, send)
        await app.close()
        return app._asked

    receiving: list[int] = []
    left = asyncio.run(run())

    assert (left, sent[0]["status"], len(sent)) == (asked, status, 2)
    told = json.loads(sent[1]["body"])["error"]
    if status == 503:
        assert told["message"] == "brimline: more than 256 requests at once"
        assert told["type"] == "permission_error"
    else:
        assert told["type"] == "api_error"


def test_a_plan_is_for_the_time_of_now_and_nobodys_lifeline() -> None:
    """Unless it says so."""
    plan = serving.Plan("http://a.example", "s", ())

    assert (plan.has_test_clock, plan.lifeline) == (False, None)


def test_a_gateway_says_nothing_of_itself_and_keeps_connections_for_five_minutes() -> None:
    """What a service answers comes through with no header of ours; it ends within seconds."""
    told = serving._make_server(proxy.Proxy("http://127.0.0.1:1", "s", None, lambda _: 0.0)).config

    said = (told.server_header, told.date_header, told.proxy_headers, told.access_log)
    assert said == (False, False, False, False)
    assert (told.lifespan, told.ws, told.log_config) == ("off", "none", None)
    assert (told.timeout_keep_alive, told.timeout_graceful_shutdown) == (300, 5)


@pytest.mark.parametrize(
    ("env", "is_by_proxy"),
    [
        ({}, False),
        ({"https_proxy": "http://p.example:1"}, True),
        ({"HTTP_PROXY": "p.example:1"}, True),
        ({"ALL_PROXY": "http://p.example:1", "no_proxy": "other"}, True),
        ({"https_proxy": "http://p.example:1", "no_proxy": "a.example"}, False),
        ({"https_proxy": "http://p.example:1", "NO_PROXY": "x, .example"}, False),
        ({"https_proxy": "http://p.example:1", "no_proxy": "*"}, False),
        ({"https_proxy": ""}, False),
    ],
)
def test_a_service_is_reached_as_the_client_reaches_it(
    monkeypatch: pytest.MonkeyPatch, env: dict[str, str], is_by_proxy: bool
) -> None:
    """It may think as long as it likes, is not followed elsewhere, and is connected to in 30 s."""
    for name in (*serving.PROXIES, *serving.NO_PROXIES):
        monkeypatch.delenv(name, raising=False)
    for name, value in env.items():
        monkeypatch.setenv(name, value)

    client = proxy._make_http_client("https://a.example")
    asyncio.run(client.aclose())

    assert bool(client._mounts) is is_by_proxy
    assert (client.timeout.connect, client.timeout.read) == (30.0, None)
    assert (client.follow_redirects, client.trust_env) == (False, False)


@pytest.mark.parametrize(
    ("name", "value", "doubtful"),
    [
        ("https_proxy", "gopher://p.example", "https_proxy"),
        ("SSL_CERT_FILE", "/nowhere", "SSL_CERT_FILE or SSL_CERT_DIR"),
    ],
)
def test_what_a_service_cannot_be_reached_with_is_named(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, doubtful: str
) -> None:
    """Extra authorities that cannot be read are ignored, as the client does."""
    for other in serving.PROXIES:
        monkeypatch.delenv(other, raising=False)
    monkeypatch.setenv("NODE_EXTRA_CA_CERTS", "/nowhere")
    asyncio.run(proxy._make_http_client("https://a.example").aclose())
    monkeypatch.setenv(name, value)

    with pytest.raises(BrimlineError, match=rf"cannot be set up with {doubtful} \("):
        proxy._make_http_client("https://a.example")


@pytest.mark.parametrize(
    ("sizes", "ahead"),
    [([256 << 10, 7], 256 << 10), ([(256 << 10) - 1, 7, 9], (256 << 10) + 6), ([5, 6], 11)],
)
def test_a_refusal_is_read_ahead_up_to_256_kilobytes(sizes: list[int], ahead: int) -> None:
    """By whole chunks."""

    async def read() -> int:
        async def chunks() -> Any:
            for size in sizes:
                yield b"x" * size

        return len(await proxy._Answer(httpx2.Response(400, content=chunks())).read_start_of_body())

    assert asyncio.run(read()) == ahead
