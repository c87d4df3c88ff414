"""What passes through a gateway, byte for byte, and what it does to requests that are too full."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import http.client
import json
import sqlite3
import threading
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.compaction.talks import Talk, flat
from tests.gateway.upstream import TIMEOUT_S, Answer, Gateway, Upstream

from brimline.bulk import contents, stub
from brimline.errors import BrimlineError
from brimline.fast import paths
from brimline.gateway import proxy
from brimline.gateway.proxies import NO_PROXIES, PROXIES
from brimline.gateway.proxy import MOST_CONNECTIONS
from brimline.settings import config

SESSION = {"X-Claude-Code-Session-Id": "0f0e0d0c-1111-2222-3333-444455556666"}
LOG = "\n".join(f"2026-01-08 12:00:{n % 60:02d} request {n} served" for n in range(400))
TOO_LONG = {
    "type": "invalid_request_error",
    "message": "prompt is too long: 90 tokens > 10 maximum",
}
REFUSED = "The user doesn't want to proceed with this tool use."
WORDS = "Never touch the production database. " * 8
REFUSAL = Answer(400, json.dumps({"type": "error", "error": TOO_LONG}).encode())
USAGE = {"input_tokens": 3, "output_tokens": 4}
# An answer to a request that takes nearly all of its window.
FULL = Answer(body=json.dumps({"content": [], "usage": {"input_tokens": 166_000}}).encode())


def bulky(steps: int = 0) -> Talk:
    """A conversation with one result that is bulk."""
    talk = Talk()
    talk.step("Bash", {"command": "journalctl -u web"}, LOG)
    talk.idle(steps)
    return talk


def raw_of(talk: Talk) -> bytes:
    """A request in bytes."""
    return json.dumps(talk.body()).encode()


def begun(gateway: Gateway) -> http.client.HTTPConnection:
    """A connection on which an answer has begun to arrive."""
    connection = gateway.connect()
    path = "/" + gateway.url.split("/", 3)[3]
    connection.request("POST", f"{path}/v1/messages", b"{}")
    connection.getresponse().read1(10)
    return connection


def errors(home_dir: str) -> list[Any]:
    """The lines of the error log."""
    try:
        with open(paths.error_log(home_dir), encoding="utf-8") as file:
            return [json.loads(line) for line in file]
    except FileNotFoundError:
        return []


def test_what_nothing_applies_to_arrives_byte_for_byte(upstream: Upstream) -> None:
    """Spacing, escapes, order, headers and query included; so does the answer."""
    raw = b'{ "tools":[{"name":"x"}],"b":1.50, "messages":[{"role":"user","content":"\\u00e9"}] }'
    packed = gzip.compress(b'{"usage": {}}')
    upstream.answers = [Answer(200, packed, (("content-encoding", "gzip"), ("x-own", "1")))]
    with Gateway(upstream.url + "/base") as gateway:
        of_this_one = {"TE": "trailers", "Proxy-Authorization": "Basic a2V5", "Connection": "x-hop"}
        sent = {"x-api-key": "k", "X-Hop": "1"} | of_this_one
        status, headers, body = gateway.ask(raw, sent)
        gateway.ask(b'{"a": 1}', path="/v1/messages/count_tokens?beta=true")
        gateway.ask(b"", path="/v1/models?limit=%2F1", method="GET")

    first, second, third = upstream.arrived
    assert first.raw == raw
    assert first.path == "/base/v1/messages?beta=true"
    assert first.headers["x-api-key"] == "k"
    assert not first.headers.keys() & {"te", "proxy-authorization", "x-hop"}
    assert (status, body, headers["x-own"]) == (200, packed, "1")
    assert (second.path, second.raw) == ("/base/v1/messages/count_tokens?beta=true", b'{"a": 1}')
    assert (third.method, third.path) == ("GET", "/base/v1/models?limit=%2F1")


def test_bulk_arrives_as_a_preview_and_is_in_the_store(upstream: Upstream, home_dir: str) -> None:
    """Whole, under the key that stands in the request; nothing else of the body is kept."""
    with Gateway(upstream.url) as gateway:
        gateway.ask(raw_of(bulky()), SESSION | {"x-api-key": "sk-secret"})

    (_, _, (_, result)) = flat(upstream.arrived[0].body)
    told = stub.first_reference_in(result["content"])
    assert told is not None
    assert contents.read_content(home_dir, told.key) == LOG.encode()
    assert not errors(home_dir)
    kept = b"".join(path.read_bytes() for path in Path(home_dir).rglob("*") if path.is_file())
    assert b"sk-secret" not in kept
    assert b"tidy up the parser" not in kept


@pytest.mark.parametrize(
    ("name", "value"),
    [("offload.inline_bytes", "25000"), ("offload.never", "journalctl"), ("offload.preset", "off")],
)
def test_what_the_user_keeps_in_the_window_arrives_whole(
    upstream: Upstream, home_dir: str, name: str, value: str
) -> None:
    """The settings of offloading mean the same behind a gateway."""
    config.write_setting(paths.user_config(home_dir), name, value)
    raw = raw_of(bulky())

    with Gateway(upstream.url) as gateway:
        gateway.ask(raw)

    assert upstream.arrived[0].raw == raw


def test_a_killed_gateway_says_the_same_when_it_is_back(upstream: Upstream) -> None:
    """Also to a fork, which has another session's id."""
    with Gateway(upstream.url) as gateway:
        gateway.ask(raw_of(bulky()), SESSION)
        gateway.kill()
    with Gateway(upstream.url) as gateway:
        gateway.ask(raw_of(bulky(1)), SESSION)
        gateway.ask(raw_of(bulky(2)), {"X-Claude-Code-Session-Id": "another"})

    first, second, third = (flat(one.body) for one in upstream.arrived)
    assert second[: len(first)] == first
    assert third[: len(second)] == second


def test_a_request_that_is_asked_again_is_sent_in_the_same_bytes(upstream: Upstream) -> None:
    """Markers included, after kills too; also one whose successor was edited but never sent."""
    talk = Talk()
    for number in range(3):
        talk.read(f"/w/file{number}.py")
    talk.idle(4)
    last = raw_of(talk)
    talk.idle(1)
    breaking = raw_of(talk)
    upstream.answers = [FULL._replace(headers=(("connection", "close"),))]
    with Gateway(upstream.url) as gateway:
        gateway.ask(last, SESSION)
        before = upstream.arrived[-1].raw
        upstream.close()
        assert gateway.ask(breaking, SESSION)[0] == 502
        gateway.kill()
    back = Upstream()
    for some in ((last, breaking), (breaking, last)):
        with Gateway(back.url) as gateway:
            for raw in some:
                gateway.ask(raw, SESSION)
            gateway.kill()
    back.close()

    once, edited_once, edited_again, again = (one.raw for one in back.arrived)
    assert once == before == again
    assert edited_once == edited_again
    assert edited_once.count(b'"cache_control"') == breaking.count(b'"cache_control"') + 1


def test_a_conversation_keeps_what_it_sent_whatever_another_decides(
    upstream: Upstream, home_dir: str
) -> None:
    """A subagent's window holds the same file, and lets go of it first."""
    config.write_setting(paths.user_config(home_dir), "offload.preset", "off")
    talk, other = Talk(), Talk()
    for one in (talk, other):
        one.step("Bash", {"command": "journalctl -u web"}, LOG)
    small = {"X-Claude-Code-Session-Id": "main"}
    upstream.answers = [Answer(), FULL]
    with Gateway(upstream.url) as gateway:
        talk.idle(1)
        gateway.ask(raw_of(talk), small)
        other.idle(4)
        agent = small | {"X-Claude-Code-Agent-Id": "a1"}
        gateway.ask(raw_of(other), agent)
        other.idle(1)
        gateway.ask(raw_of(other), agent)
        talk.idle(1)
        gateway.ask(raw_of(talk), small)
        gateway.kill()
    with Gateway(upstream.url) as gateway:
        talk.idle(1)
        gateway.ask(raw_of(talk), small)

    *_, let_go, before, after = (flat(one.body) for one in upstream.arrived)
    held, kept = (
        next(block["content"] for _, block in one if block["type"] == "tool_result")
        for one in (let_go, before)
    )
    assert held.startswith("[brimline")
    assert kept == LOG
    assert after[: len(before)] == before


def test_conversations_that_begin_alike_are_told_apart(upstream: Upstream) -> None:
    """Side by side, without a session's id: each as if it were alone, a restart included."""
    alone: dict[str, list[Any]] = {"left": [], "right": []}
    beside: dict[str, list[Any]] = {"left": [], "right": []}
    talks = {side: Talk() for side in alone}
    upstream.answers = [FULL] * 200
    for steps in (range(12), range(12, 20)):
        with Gateway(upstream.url) as gateway:
            for step in steps:
                for side, talk in talks.items():
                    gateway.ask(raw_of(talk))
                    beside[side].append(upstream.arrived[-1].body)
                    gateway.ask(raw_of(talk), {"X-Claude-Code-Session-Id": side})
                    alone[side].append(upstream.arrived[-1].body)
                    talk.read(f"/w/{side}{step}.py") if step < 4 else talk.idle(1)

    assert alone == beside
    for found in alone.values():
        assert "[brimline" in json.dumps(found[-1])


def test_a_stream_is_given_as_it_comes(upstream: Upstream) -> None:
    """The first event is there before the second is made."""
    released = threading.Event()

    def stream(handler: Any) -> None:
        for part in (b"event: one\n\n", b"event: two\n\n"):
            handler.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
            handler.wfile.flush()
            released.wait(TIMEOUT_S)
        handler.wfile.write(b"0\r\n\r\n")

    upstream.answers = [Answer(headers=(("content-type", "text/event-stream"),), stream=stream)]
    with Gateway(upstream.url) as gateway:
        connection = gateway.connect()
        connection.request("POST", gateway.url.split("/", 3)[3].join(("/", "/v1/messages")), b"{}")
        response = connection.getresponse()
        first = response.read1(100)
        released.set()
        rest = response.read()
        connection.close()

    assert (first, rest) == (b"event: one\n\n", b"event: two\n\n")


def test_an_answer_that_is_cut_is_cut_for_the_client_too(upstream: Upstream, home_dir: str) -> None:
    """It must not look whole; and it is not a failure of ours to be told of."""

    def stream(handler: Any) -> None:
        handler.wfile.write(b"5\r\nhello\r\n")
        handler.wfile.flush()
        handler.connection.close()
        handler.close_connection = True

    upstream.answers = [Answer(stream=stream)]
    with Gateway(upstream.url) as gateway:
        with pytest.raises((OSError, http.client.HTTPException)):
            gateway.ask(b"{}")
        gateway.process.terminate()
        assert gateway.process.stdout is not None
        said = gateway.process.stdout.read()

    assert said == b""
    assert not errors(home_dir)


def test_many_at_once_get_their_own_answers(upstream: Upstream) -> None:
    """In pieces, to bodies of up to 4 MB, some cut off: nothing is mixed up or looks whole."""

    def parts(mark: str) -> list[bytes]:
        return [f"{mark} {n}\n".encode() for n in range(30)]

    def stream(handler: Any) -> None:
        mark = handler.headers["x-mark"]
        for part in parts(mark):
            handler.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
            handler.wfile.flush()
        if mark.startswith("cut"):
            handler.connection.close()
            handler.close_connection = True
        else:
            handler.wfile.write(b"0\r\n\r\n")

    def ask(number: int) -> bytes:
        mark = f"{'cut' if number % 5 == 4 else 'whole'}{number}"
        talk = bulky()
        lines = 400_000 if number % 10 == 0 else 500
        talk.step("Read", {"file_path": f"/w/{mark}.py", "offset": 1}, "value = 1\n" * lines)
        try:
            answer = gateway.ask(raw_of(talk), {"x-mark": mark, "X-Claude-Code-Session-Id": mark})
        except http.client.IncompleteRead as error:
            return b"cut" * mark.startswith("cut") + error.partial
        return answer[2]

    upstream.answers = [Answer(stream=stream) for _ in range(40)]
    with Gateway(upstream.url) as gateway, ThreadPoolExecutor(40) as pool:
        answers = list(pool.map(ask, range(40)))

    assert answers[0] == b"".join(parts("whole0"))
    for number, answer in enumerate(answers):
        is_cut = number % 5 == 4
        assert answer == b"cut" * is_cut + b"".join(parts(f"{'cut' * is_cut or 'whole'}{number}"))
    for one in upstream.arrived:
        assert f"/w/{one.headers['x-mark']}.py".encode() in one.raw


def test_what_a_client_does_not_read_is_not_fetched(upstream: Upstream) -> None:
    """The service has to wait: the gateway holds no more than a piece."""
    waits = threading.Event()

    def stream(handler: Any) -> None:
        part = b"x" * 1_000_000
        handler.connection.settimeout(2.0)
        try:
            for _ in range(64):
                handler.connection.sendall(b"%x\r\n%s\r\n" % (len(part), part))
        except TimeoutError:
            waits.set()
        handler.close_connection = True

    upstream.answers = [Answer(stream=stream)]
    with Gateway(upstream.url) as gateway:
        connection = begun(gateway)
        assert waits.wait(TIMEOUT_S)
        connection.close()


def test_a_client_that_leaves_takes_its_request_along(upstream: Upstream) -> None:
    """Nobody pays for an answer that nobody reads."""
    gone = threading.Event()

    def stream(handler: Any) -> None:
        part = b"x" * 1_000
        try:
            while True:
                handler.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
                handler.wfile.flush()
        except OSError:
            gone.set()

    upstream.answers = [Answer(stream=stream)]
    with Gateway(upstream.url) as gateway:
        connection = begun(gateway)
        connection.close()
        assert gone.wait(TIMEOUT_S)


def test_errors_of_the_service_reach_the_client_as_they_are(upstream: Upstream) -> None:
    """With what they say about when to come back."""
    upstream.answers = [Answer(529, b'{"busy": 1}', (("retry-after", "7"),))]
    with Gateway(upstream.url) as gateway:
        status, headers, body = gateway.ask(raw_of(bulky()), SESSION)

    assert (status, headers["retry-after"], body) == (529, "7", b'{"busy": 1}')
    assert len(upstream.arrived) == 1


@pytest.mark.row("S2-13", "S2-16", "S2-17")
def test_a_request_that_is_too_long_is_sent_once_more_and_shorter(upstream: Upstream) -> None:
    """Then the refusal is the client's to deal with, and nothing is tried before it has shrunk."""
    talk = Talk()
    for n in range(8):
        talk.read(f"/w/file{n}.py", 9_000)
    talk.step("Bash", {"command": "journalctl -u web"}, LOG)
    upstream.answers = [REFUSAL, Answer(), REFUSAL, REFUSAL, REFUSAL]
    with Gateway(upstream.url) as gateway:
        assert gateway.ask(raw_of(talk), SESSION)[0] == 200
        talk.idle(1)
        status, _, body = gateway.ask(raw_of(talk), SESSION | {"x": "1"})
        talk.idle(1)
        gateway.ask(raw_of(talk), SESSION)

    whole, shorter, *_ = upstream.arrived
    assert b"[brimline stored " in whole.raw
    assert len(shorter.raw) < len(whole.raw) / 2
    assert (status, body) == (400, REFUSAL.body)
    assert len(upstream.arrived) <= 5


def test_a_shorter_request_that_fails_for_another_reason_is_tried_again(
    upstream: Upstream,
) -> None:
    """Only a second refusal for its length says that nothing can be done."""
    talk = Talk()
    for n in range(8):
        talk.read(f"/w/file{n}.py", 9_000)
    upstream.answers = [REFUSAL, Answer(400, b'{"error": "of another kind"}')]
    with Gateway(upstream.url) as gateway:
        assert gateway.ask(raw_of(talk), SESSION)[0] == 400
        for n in range(8, 16):
            talk.read(f"/w/file{n}.py", 9_000)
        upstream.answers = [REFUSAL, Answer()]
        assert gateway.ask(raw_of(talk), SESSION)[0] == 200


def test_answers_are_asked_for_in_an_encoding_that_can_be_read(upstream: Upstream) -> None:
    """Where a refusal or the usage is to be read; elsewhere the client's wish is handed on."""
    wishes = "br, gzip, zstd"
    with Gateway(upstream.url) as gateway:
        gateway.ask(raw_of(bulky()), SESSION | {"Accept-Encoding": wishes})
        gateway.ask(raw_of(bulky()), SESSION | {"Accept-Encoding": "br"})
        gateway.ask(b"{}", {"Accept-Encoding": wishes}, "/v1/messages/count_tokens")

    asked = [one.headers["accept-encoding"] for one in upstream.arrived]
    assert asked == ["gzip", "identity", wishes]


@pytest.mark.parametrize("number", ["1e400", "0.12345678901234567891", "123456789012345678901.5"])
def test_a_request_whose_numbers_no_float_can_say_stays(number: str, upstream: Upstream) -> None:
    """Written again, they would be others."""
    raw = raw_of(bulky()).replace(b'"journalctl -u web"', b'"journalctl -u web", "n": %a' % 0.5)
    with Gateway(upstream.url) as gateway:
        gateway.ask(raw.replace(b"0.5", number.encode()), SESSION)
        gateway.ask(raw, SESSION)

    first, second = upstream.arrived
    assert first.raw == raw.replace(b"0.5", number.encode())
    assert b"[brimline stored " in second.raw
    assert b'"n":0.5' in second.raw


@pytest.mark.parametrize("what", ["store", "gateway"])
def test_whatever_fails_of_ours_the_request_goes_on(
    what: str, upstream: Upstream, home_dir: str, world: Path
) -> None:
    """As it was sent, with a line in the error log."""
    with Gateway(upstream.url) as gateway:
        if what == "store":
            (world / "brimline").mkdir(exist_ok=True)
            (world / "brimline" / "store").write_text("no folder")
        else:
            for name in ("", "-wal", "-shm"):
                (world / "brimline" / "gateway" / f"stand-ins.sqlite3{name}").write_bytes(b"x" * 99)
        status, _, _ = gateway.ask(raw_of(bulky()), SESSION)

    assert status == 200
    assert upstream.arrived[0].raw == raw_of(bulky())
    assert [line["event"] for line in errors(home_dir)] == ["Gateway"]


def test_what_stands_in_is_sent_where_writing_fails(upstream: Upstream, home_dir: str) -> None:
    """A locked file costs no cache: nothing new is replaced, and nothing comes back."""
    with Gateway(upstream.url) as gateway:
        gateway.ask(raw_of(bulky()), SESSION)
        held = sqlite3.connect(paths.stand_ins_database(home_dir), isolation_level=None)
        held.execute("BEGIN IMMEDIATE")
        later = bulky(1)
        later.step("Bash", {"command": "journalctl -u mail"}, LOG.replace("request", "letter"))
        gateway.ask(raw_of(later), SESSION)
        held.execute("ROLLBACK")
        held.close()

    first, second = (flat(one.body) for one in upstream.arrived)
    assert "Preview" in str(first)
    assert second[: len(first)] == first
    assert "letter 399" in str(second)
    assert errors(home_dir)


def test_a_damaged_file_of_stand_ins_is_begun_anew(upstream: Upstream, home_dir: str) -> None:
    """Layers work at this start already, not never again."""
    path = Path(paths.stand_ins_database(home_dir))
    path.parent.mkdir(parents=True)
    path.write_bytes(b"garbage" * 1_000)
    with Gateway(upstream.url) as gateway:
        gateway.ask(raw_of(bulky()), SESSION)

    assert "Preview" in str(flat(upstream.arrived[0].body))
    assert path.read_bytes().startswith(b"SQLite format 3")


def test_a_refusal_without_an_end_is_handed_on_as_it_comes(upstream: Upstream) -> None:
    """Only so much of it is looked at; the rest is neither waited for nor kept."""
    part, heard, in_time = b"x" * 65_536, threading.Event(), list[bool]()

    def stream(handler: Any) -> None:
        for number in range(20):
            handler.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
            if number == 10:
                in_time.append(heard.wait(TIMEOUT_S / 6))
        handler.wfile.write(b"0\r\n\r\n")

    upstream.answers = [Answer(400, stream=stream)]
    with Gateway(upstream.url) as gateway:
        connection = gateway.connect()
        path = "/" + gateway.url.split("/", 3)[3]
        connection.request("POST", f"{path}/v1/messages", raw_of(bulky()), SESSION)
        answer = connection.getresponse()
        size = len(answer.read(100_000))
        heard.set()
        size += len(answer.read())
        connection.close()

    assert (answer.status, size, in_time) == (400, len(part) * 20, [True])


@pytest.mark.parametrize(
    ("tool", "text", "is_error"),
    [
        ("Bash", f"{REFUSED} To tell you how to proceed, the user said:\n{WORDS}", True),
        ("AskUserQuestion", f'User has answered your questions: "Which?"="{WORDS}".', False),
        ("ExitPlanMode", f"User has approved your plan.\n{WORDS}", False),
    ],
)
def test_the_users_own_words_stay(tool: str, text: str, is_error: bool, upstream: Upstream) -> None:
    """However old they are, and after a refusal of the service too."""
    talk = Talk()
    talk.step(tool, {"command": "psql prod"}, text + LOG)
    talk.messages[-1]["content"][0]["is_error"] = is_error
    talk.read("/w/a.py", 30_000)
    talk.idle(60)
    upstream.answers = [REFUSAL]
    with Gateway(upstream.url) as gateway:
        gateway.ask(raw_of(talk), SESSION)

    for arrived in upstream.arrived:
        assert WORDS in str(arrived.body)
    assert "[brimline" in str(upstream.arrived[-1].body)


def test_the_service_of_the_environment_is_used(
    upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As `brimline run` does; an option is stronger."""
    monkeypatch.setenv("ANTHROPIC_BASE_URL", f"{upstream.url}/own")
    with Gateway(None) as gateway:
        gateway.ask(b"{}")
    with Gateway(f"{upstream.url}/named") as gateway:
        gateway.ask(b"{}")

    paths_asked = [one.path.partition("/v1")[0] for one in upstream.arrived]
    assert paths_asked == ["/own", "/named"]


def test_only_loopback_names_and_the_secret_path_are_answered(upstream: Upstream) -> None:
    """A page in a browser knows neither."""
    with Gateway(upstream.url, "--path", "secret") as gateway:
        assert gateway.url.endswith("/secret")
        assert gateway.ask(b"{}", {"Host": "evil.example"})[0] == 403
        gateway.url = gateway.url.removesuffix("/secret")
        assert gateway.ask(b"{}")[0] == 404
        assert gateway.ask(b"{}", path="/secret2/v1/messages")[0] == 404
        assert (
            gateway.ask(
                b"", {"content-length": str(proxy.LARGEST_BODY_BYTES + 1)}, "/secret/v1/messages"
            )[0]
            == 413
        )

    assert upstream.arrived == []


def test_a_service_that_cannot_be_reached_is_named(upstream: Upstream) -> None:
    """In the shape in which the service tells of errors."""
    upstream.close()
    with Gateway(upstream.url) as gateway:
        status, _, body = gateway.ask(raw_of(bulky()), SESSION)

    assert status == 502
    assert "cannot reach 127.0.0.1" in json.loads(body)["error"]["message"]


def test_what_is_asked_is_what_was_asked_once_and_whole(upstream: Upstream) -> None:
    """Bytes in the query stay; no path leads out of the service's; a cut body goes nowhere."""
    with Gateway(upstream.url + "/base") as gateway:
        connection = gateway.connect()
        connection.putrequest("POST", "/" + gateway.url.split("/", 3)[3] + "/v1/messages")
        connection.putheader("content-length", "100")
        connection.endheaders(b'{"messages": []}')
        connection.close()
        for path in ("/../x", "/v1/%2e%2e/%2E./x", "/v1/..\\..\\x"):
            assert gateway.ask(b"{}", path=path)[0] == 400
        upgrade = {"Connection": "Upgrade", "Upgrade": "websocket"}
        assert gateway.ask(b"", upgrade, '/v1/models?q="<>', "GET")[0] == 200

    assert [one.path for one in upstream.arrived] == ['/base/v1/models?q="<>']


def test_a_request_is_sent_again_only_where_a_kept_connection_had_ended(
    upstream: Upstream,
) -> None:
    """On a new one the service may have answered it."""
    with Gateway(upstream.url) as gateway:
        upstream.answers = [Answer(0)]
        assert gateway.ask(b"{}")[0] == 502
        assert len(upstream.arrived) == 1
        upstream.answers = [Answer(), Answer(0), Answer()]
        assert [gateway.ask(b"{}")[0] for _ in range(2)] == [200, 200]


def test_connections_without_the_secret_keep_nobody_out(upstream: Upstream) -> None:
    """However many there are; one that does not know it is closed after its answer."""
    with Gateway(upstream.url) as gateway, contextlib.ExitStack() as open_ones:
        for _ in range(MOST_CONNECTIONS + 44):
            connection = gateway.connect()
            connection.connect()
            open_ones.callback(connection.close)
        assert gateway.ask(b"{}")[0] == 200
        stranger = gateway.connect()
        stranger.request("POST", "/nothing", b"")
        assert stranger.getresponse().getheader("connection") == "close"
        stranger.close()


def test_a_body_is_read_up_to_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """In however many pieces; one byte more, or a client that leaves, and there is none."""
    monkeypatch.setattr(proxy, "LARGEST_BODY_BYTES", 10)

    def read(*pieces: bytes, last: str = "http.request") -> bytes | None:
        kinds = ["http.request"] * (len(pieces) - 1) + [last]
        told = [
            {"type": kind, "body": piece, "more_body": number < len(pieces)}
            for number, (kind, piece) in enumerate(zip(kinds, pieces, strict=True), 1)
        ]

        async def receive() -> dict[str, Any]:
            return told.pop(0)

        return asyncio.run(proxy._read_body(receive))

    assert read(b"01234", b"56789") == b"0123456789"
    assert read(b"01234", b"56789", b"x") is None
    assert read(b"01234", b"", last="http.disconnect") is None


async def _hello(_scope: Any, _receive: Any, send: Any) -> None:
    headers = [(b"content-length", b"5")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b"hello"})


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
def test_headers_of_a_connection_are_not_handed_on(connection: list[str], left: list[str]) -> None:
    """Nor those that it names as such, in any of its headers, whatever their case."""
    names = ["Keep-Alive", "X-One", "te", "upgrade", "Transfer-Encoding", "x-two", "Accept"]
    headers = [(b"Connection", value.encode()) for value in connection]
    headers += [(name.encode(), b"Value") for name in names]

    assert proxy._end_to_end_headers(headers) == [(name.encode(), b"Value") for name in left]


MOST = b"x" * proxy._LARGEST_ANSWER_BYTES


@pytest.mark.parametrize(
    ("encoding", "body", "said"),
    [
        ("", b"plain", b"plain"),
        ("br", b"plain", b"plain"),
        ("gzip", gzip.compress(b"plain"), b"plain"),
        ("deflate", zlib.compress(b"plain"), b"plain"),
        ("gzip", gzip.compress(b"plain" * 99)[:-9], b"plain"),
        ("gzip", b"no gzip", b"no gzip"),
        ("gzip", gzip.compress(MOST + b"x"), MOST),
    ],
    ids=["none", "unknown", "gzip", "deflate", "cut", "wrong", "large"],
)
def test_a_body_is_decoded_as_far_as_possible(encoding: str, body: bytes, said: bytes) -> None:
    """Up to a megabyte; what cannot be decoded stays as it is."""
    assert proxy._decode_body(answer(content_encoding=encoding), body).startswith(said)
    assert len(proxy._decode_body(answer(content_encoding=encoding), body)) <= 1 << 20


def heard(pieces: list[bytes], content_type: str) -> tuple[list[bool], Any]:
    """What the pieces of an answer complete, and the usage."""
    usage = proxy._Usage(answer(content_type=content_type))
    completed = [usage.add_chunk(piece) for piece in pieces]
    return completed, usage.tokens


def test_the_usage_of_an_answer_is_heard_where_it_is_complete() -> None:
    """At the start of a stream, or in the whole of an answer; once."""
    started = json.dumps({"type": "message_start", "message": {"usage": USAGE}}).encode()
    stream = [b"event: message_start\ndata: ", started + b"\n\n", b'data: {"usage": {"a": 1}}\n\n']
    whole = json.dumps({"content": [], "usage": USAGE}).encode()

    assert heard(stream, "text/event-stream; charset=utf-8") == ([False, True, False], USAGE)
    assert heard([whole[:30], whole[30:]], "application/json") == ([False, True], USAGE)
    assert heard([whole, whole], "application/json") == ([True, False], USAGE)


@pytest.mark.parametrize("body", [b"{}", b'{"usage": 3}', b'["usage"]', b'{"usage": {}}', b"no"])
def test_an_answer_without_a_usage_says_nothing(body: bytes) -> None:
    """Whatever stands there instead."""
    assert heard([body], "application/json")[1] is None
    assert heard([b"data: " + body + b"\n"], "text/event-stream")[1] is None


def test_a_usage_is_looked_for_in_the_beginning_of_an_answer_only() -> None:
    """Of a stream less than of another: what comes later is not kept."""
    start, most = proxy._LARGEST_START_BYTES, proxy._LARGEST_ANSWER_BYTES
    late = b'data: {"usage": {"input_tokens": 1}}\n'

    assert heard([b"\n" * start, late], "text/event-stream")[0] == [False, False]
    assert heard([b"\n" * (start - 1), late], "text/event-stream")[0] == [False, True]
    assert heard([b" " * most, late[6:]], "application/json")[0] == [False, False]


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
def test_a_request_of_new_things_is_known_by_its_thread(body: bytes, is_continuation: bool) -> None:
    """Any other holds everything."""
    assert proxy._lacks_earlier_messages(body) is is_continuation


def test_the_beginning_of_an_answer_is_read_ahead_and_handed_on_all_the_same() -> None:
    """As long as a refusal can be; the chunks stay as they came."""
    sizes = [READ - 9, 60 << 10, 5]

    async def read() -> tuple[int, list[int]]:
        async def chunks() -> Any:
            for size in sizes:
                yield b"x" * size

        found = proxy._Answer(httpx2.Response(400, content=chunks()))
        ahead = await found.read_start_of_body()
        return len(ahead), [len(chunk) async for chunk in found.chunks_from_first_on()]

    assert asyncio.run(read()) == (sum(sizes[:2]), sizes)


@pytest.mark.parametrize(
    ("asked", "status"), [(MOST_CONNECTIONS - 1, 502), (MOST_CONNECTIONS, 503)]
)
def test_so_many_requests_are_answered_at_once(asked: int, status: int) -> None:
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
        app = proxy.Proxy("http://127.0.0.1:1", "s", None)
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
        assert told["message"] == f"brimline: more than {MOST_CONNECTIONS} requests at once"
        assert told["type"] == "permission_error"
    else:
        assert told["type"] == "api_error"


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
    """It may think as long as it likes, is not followed elsewhere, and is connected to soon."""
    for name in (*PROXIES, *NO_PROXIES):
        monkeypatch.delenv(name, raising=False)
    for name, value in env.items():
        monkeypatch.setenv(name, value)

    client = proxy._make_http_client("https://a.example")
    asyncio.run(client.aclose())

    assert bool(client._mounts) is is_by_proxy
    assert (client.timeout.connect, client.timeout.read) == (proxy._CONNECT_TIMEOUT_S, None)
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
    for other in PROXIES:
        monkeypatch.delenv(other, raising=False)
    monkeypatch.setenv("NODE_EXTRA_CA_CERTS", "/nowhere")
    asyncio.run(proxy._make_http_client("https://a.example").aclose())
    monkeypatch.setenv(name, value)

    with pytest.raises(BrimlineError, match=rf"cannot be set up with {doubtful} \("):
        proxy._make_http_client("https://a.example")


READ = proxy._LARGEST_REFUSAL_BYTES


@pytest.mark.parametrize(
    ("sizes", "ahead"),
    [([READ, 7], READ), ([READ - 1, 7, 9], READ + 6), ([5, 6], 11)],
)
def test_a_refusal_is_read_ahead_so_far(sizes: list[int], ahead: int) -> None:
    """By whole chunks."""

    async def read() -> int:
        async def chunks() -> Any:
            for size in sizes:
                yield b"x" * size

        return len(await proxy._Answer(httpx2.Response(400, content=chunks())).read_start_of_body())

    assert asyncio.run(read()) == ahead


def test_work_for_a_client_ends_with_it_and_what_fails_is_told() -> None:
    """What was begun has ended when the client is known to have left."""
    steps: list[str] = []

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            steps.append("ended")

    async def fail() -> None:
        raise ValueError("of ours")

    async def leave() -> dict[str, Any]:
        return {"type": "http.disconnect"}

    async def stay() -> dict[str, Any]:
        await asyncio.Event().wait()
        return {}

    async def run() -> None:
        await proxy._run_while_client_is_connected(work(), leave)
        steps.append("left")
        with pytest.raises(ValueError, match="of ours"):
            await proxy._run_while_client_is_connected(fail(), stay)

    asyncio.run(run())

    assert steps == ["ended", "left"]
