"""A question to the server: its answer, or one sentence that says why there is none."""

from __future__ import annotations

import contextlib
import os
import socket
import ssl
from typing import TYPE_CHECKING, Any

import httpx2
import pytest
from tests.recall.conftest import KEY

from brimline.errors import TeamError
from brimline.recall import place, qdrant

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.recall.conftest import Answering

TOLD = qdrant._TOLD_CHARACTERS - len("a - b")


@contextlib.contextmanager
def connected(host: str) -> Iterator[qdrant.Server]:
    """A server at this place, which is waited for."""
    url = f"qdrant+http://mia@{host}/team"
    with contextlib.closing(qdrant.Server(place.parse_place(url), 60.0)) as server:
        yield server


def refusal(server: qdrant.Server) -> tuple[str, int | None]:
    """What is said of a question, and the status of the answer."""
    with pytest.raises(TeamError) as caught:
        server.ask("GET", "/")
    return str(caught.value), getattr(caught.value, "status", None)


@pytest.mark.parametrize(
    ("body", "answer"),
    [({"result": [1]}, [1]), ({"version": "1"}, {"version": "1"}), ({"result": None}, None)],
)
def test_an_answer_is_its_result_or_all_of_it(
    answering: Callable[..., Answering], body: Any, answer: Any
) -> None:
    """The question goes to the collection."""
    server = answering((299, body))
    with connected(server.host) as nodes:
        assert nodes.ask_collection("POST", "/points", {"a": 1}) == answer

    assert server.asked == [("POST", "/collections/team/points", {"a": 1}, None)]


@pytest.mark.parametrize(
    ("status", "body", "said", "told_status"),
    [
        (400, b'{"status":{"error":"bad\\u001b"}}', "says 400: bad", 400),
        (400, b'{"error":"a\n- b%s' % (b"c" * 999), f"says 400: a - b{'c' * TOLD}", 400),
        (401, b"", f"says 401: it refuses the key: is {place.KEY} right?", 401),
        (403, b"", f"says 403: it refuses the key: is {place.KEY} right?", 403),
        (402, b"", "says 402: no reason", 402),
        (404, b'{"error":"%s of it"}' % KEY.encode(), "says 404: … of it", 404),
        (500, b'{"error":"%s"}' % (b"x" * 999), f"says 500: {'x' * qdrant._TOLD_CHARACTERS}", 500),
        (300, b"", "leads elsewhere, where the key is not sent", None),
        (302, b"", "leads elsewhere, where the key is not sent", None),
        (399, b"", "leads elsewhere, where the key is not sent", None),
        (200, b"[1]", "does not answer as a Qdrant server: is memory.url right?", None),
        (200, b"no json", "does not answer as a Qdrant server: is memory.url right?", None),
        (
            200,
            b"1" * (qdrant._LARGEST_ANSWER_BYTES + 1),
            "answers with too much to be a Qdrant server",
            None,
        ),
    ],
)
def test_a_refusal_is_one_sentence_without_the_key(
    answering: Callable[..., Answering],
    monkeypatch: pytest.MonkeyPatch,
    status: int,
    body: bytes,
    said: str,
    told_status: int | None,
) -> None:
    """It begins with the node that said it; the key was sent."""
    monkeypatch.setenv(place.KEY, KEY)
    server = answering((status, body))
    with connected(server.host) as nodes:
        text, got = refusal(nodes)

    assert text.startswith(f"{server.host} {said}")
    assert "x" * (qdrant._TOLD_CHARACTERS + 1) not in text
    assert got == told_status
    assert server.asked[0][3] == KEY


def test_an_answer_may_be_large(answering: Callable[..., Answering]) -> None:
    """And is read whole."""
    server = answering((200, b'"' + b"x" * (qdrant._LARGEST_ANSWER_BYTES - 2) + b'"'))
    with connected(server.host) as nodes:
        text, _ = refusal(nodes)

    assert "does not answer as a Qdrant server" in text


@pytest.mark.parametrize(
    ("result", "is_done"),
    [({"status": "completed"}, True), ({"status": "acknowledged"}, False), ("completed", False)],
)
def test_a_change_is_done_when_the_server_says_so(
    answering: Callable[..., Answering], result: Any, is_done: bool
) -> None:
    """Anything less is told as not certain."""
    server = answering((200, {"result": result}))
    doubt = pytest.raises(TeamError, match=r"127\.0\.0\.1:\d+/team did not confirm a change")
    with connected(server.host) as nodes, contextlib.nullcontext() if is_done else doubt:
        nodes.change_points("PUT", "/points", {})

    assert server.asked[0][:2] == ("PUT", "/collections/team/points?wait=true")


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (httpx2.ReadTimeout("x"), "a did not answer in time"),
        (
            httpx2.ConnectError("[SSL: CERTIFICATE_VERIFY_FAILED]"),
            "the certificate of a is not trusted: add ?authority=/file of its issuer",
        ),
        (httpx2.ConnectError("[SSL: WRONG]"), "a does not speak TLS: is it qdrant+http?"),
        (httpx2.ConnectError("refused"), "a cannot be reached (ConnectError)"),
    ],
)
def test_why_a_node_cannot_be_reached_is_told(error: Exception, said: str) -> None:
    """With what may be wrong in the address."""
    assert qdrant._why_unreachable("a", error) == said


@pytest.mark.parametrize("error", [KeyError, TypeError, ValueError, AttributeError, OverflowError])
def test_an_answer_of_another_shape_is_one_sentence(error: type[Exception]) -> None:
    """Whatever the shape breaks."""
    with (
        pytest.raises(TeamError, match="something else than was asked"),
        qdrant.refuse_strange_answers(),
    ):
        raise error


def test_nothing_but_the_server_sees_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """No proxy, no other address."""
    rerouting = ("LOCALDOMAIN", "RES_OPTIONS", "HOSTALIASES", "SSL_CERT_DIR")
    for name in ("https_proxy", *rerouting):
        monkeypatch.setenv(name, "http://p.example:1")
    monkeypatch.setenv("BRIMLINE_QDRANT_API_KEY", "k")
    where = place.parse_place("qdrant+http://mia@127.0.0.1:1/team")
    with contextlib.closing(qdrant.Server(where, 8.0)) as server:
        client = server._client
        assert (client.follow_redirects, client.trust_env, client._mounts) == (False, False, {})
        assert client.headers["api-key"] == "k"
        assert client.headers["accept-encoding"] == "identity"
        assert client.timeout.read == 8.0
    assert not os.environ.keys() & {*rerouting}
    monkeypatch.delenv("BRIMLINE_QDRANT_API_KEY")
    with contextlib.closing(qdrant.Server(where, 2.0)) as server:
        assert "api-key" not in server._client.headers
    for wrong in ("kéy", "k\n"):
        monkeypatch.setenv("BRIMLINE_QDRANT_API_KEY", wrong)
        with pytest.raises(TeamError, match="BRIMLINE_QDRANT_API_KEY holds characters that no key"):
            qdrant.Server(where)


@pytest.mark.parametrize(
    ("scheme", "mode"), [("https", ssl.CERT_REQUIRED), ("http", ssl.CERT_NONE)]
)
def test_a_node_that_speaks_tls_has_to_prove_who_it_is(scheme: str, mode: ssl.VerifyMode) -> None:
    """Before it gets the key."""
    where = place.parse_place(f"qdrant+{scheme}://mia@127.0.0.1:1/team")
    with contextlib.closing(qdrant.Server(where)) as server:
        transport: Any = server._client._transport

    assert transport._pool._ssl_context.verify_mode == mode
    assert qdrant.RefusedError("no").status == 0


def test_a_server_that_says_nothing_is_named_and_the_next_question_is_asked_anew() -> None:
    """Whatever it still sends, nobody reads it."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        host = f"127.0.0.1:{silent.getsockname()[1]}"
        where = place.parse_place(f"qdrant+http://mia@{host}/team")
        with contextlib.closing(qdrant.Server(where, 0.2)) as server:
            before = server._client
            before.timeout = httpx2.Timeout(60.0)  # so that it is we who give up
            told = refusal(server)
            assert server._client is not before
            assert before.is_closed
            silent.accept()[0].close()

    assert told == (f"{host} did not answer in time", 0)
