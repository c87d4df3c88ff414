"""The way of one request through the gateway and back: checked, sent on, streamed. An ASGI app.

Bytes go both ways as they are: the answer's encoding is not undone, its chunks are not gathered.
Only what belongs to one connection (RFC 9110, 7.6.1, 11.7) and the host's name are not handed on.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import json
import os
import zlib
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote_to_bytes
from urllib.request import proxy_bypass_environment  # type: ignore[attr-defined]

import httpx2

from brimline.errors import BrimlineError
from brimline.gateway.proxies import PROXIES, hosts_listed_in_no_proxy

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable

    from brimline.gateway.conversations import Conversations, Passing

    Scope = dict[str, Any]
    Receive = Callable[[], Awaitable[dict[str, Any]]]
    Send = Callable[[dict[str, Any]], Awaitable[None]]

LARGEST_BODY_BYTES = 64 << 20
MOST_CONNECTIONS = 256
_LARGEST_ANSWER_BYTES = 1 << 20
_LARGEST_START_BYTES = 64 << 10
_LARGEST_REFUSAL_BYTES = 256 << 10
_CONNECT_TIMEOUT_S = 30.0
_HOSTS = ("127.0.0.1", "localhost")
_OF_ONE_CONNECTION = frozenset(
    b"connection keep-alive te trailer transfer-encoding upgrade proxy-connection"
    b" proxy-authenticate proxy-authentication-info proxy-authorization".split()
)
_MESSAGES, _COUNT = b"/v1/messages", b"/v1/messages/count_tokens"
# A client that sends only what is new would be edited blindly; told this, it sends everything.
_DELTA = b'"thread"'
_NO_THREADS = "capability_rejected: beta_header:message-threads-2026-08-12"
_BAD_REQUEST, _FORBIDDEN, _NOT_FOUND = 400, 403, 404
_TOO_LONG = b"prompt is too long"
# Newer models take their thinking back only with nothing changed before it.
_BOUND = b"bound to a different conversation"


class Proxy:
    """The app, for one upstream and one secret path."""

    def __init__(self, upstream: str, secret: str, conversations: Conversations | None) -> None:
        self._client, self._upstream = _make_http_client(upstream), httpx2.URL(upstream)
        self._base = self._upstream.raw_path.rstrip(b"/")
        self._secret = secret.encode()
        self._conversations = conversations
        self._asked = 0

    async def close(self) -> None:
        """End all connections to the upstream."""
        await self._client.aclose()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        headers = dict(scope["headers"])
        host = headers.get(b"host", b"").decode("latin-1").rpartition(":")
        path = scope["raw_path"].lstrip(b"/")
        secret, slash, rest = path.partition(b"/")
        if (host[0] or host[2]) not in _HOSTS:
            await _send_error(send, _FORBIDDEN, "this is not a host of the gateway")
        elif not hmac.compare_digest(secret, self._secret):
            await _send_error(send, _NOT_FOUND, "not found")
        elif b".." in unquote_to_bytes(rest).replace(b"\\", b"/").split(b"/"):
            await _send_error(send, 400, "no path of a service")
        elif self._asked >= MOST_CONNECTIONS:
            await _send_error(send, 503, f"more than {MOST_CONNECTIONS} requests at once")
        else:
            length = headers.get(b"content-length", b"")
            too_large = length.isdigit() and int(length) > LARGEST_BODY_BYTES
            self._asked += 1
            try:
                raw = None if too_large else await _read_body(receive)
                if raw is None:
                    await _send_error(send, 413, f"more than {LARGEST_BODY_BYTES:,} bytes")
                else:
                    work = self._forward_request(scope, headers, slash + rest, raw, send)
                    await _run_while_client_is_connected(work, receive)
            finally:
                self._asked -= 1

    async def _forward_request(
        self, scope: Scope, headers: dict[bytes, bytes], path: bytes, raw: bytes, send: Send
    ) -> None:
        talks, is_post = self._conversations, scope["method"] == "POST"
        passing: Passing | None = None
        if talks and is_post and path.endswith(_COUNT):
            raw = await asyncio.to_thread(talks.body_as_if_sent, raw, headers)
        elif talks and is_post and path.endswith(_MESSAGES):
            if _lacks_earlier_messages(raw):
                await _send_error(send, _BAD_REQUEST, _NO_THREADS, "invalid_request_error")
                return
            passing = await asyncio.to_thread(talks.prepare_request, raw, headers)
            raw, scope = passing.raw, _scope_with_readable_encodings(scope, headers)
        query = scope["query_string"]
        target = (self._base + path or b"/") + (b"?" + query if query else b"")
        try:
            answer = await self._ask_service_and_retry_refused(scope, target, raw, passing)
        except httpx2.RequestError as error:
            host = self._upstream.host
            message = f"the gateway cannot reach {host} ({type(error).__name__}): {error}"
            await _send_error(send, 502, message.rstrip(": "), "api_error")
            return
        await self._stream_back(answer, passing, send)

    async def _ask_service_and_retry_refused(
        self, scope: Scope, target: bytes, raw: bytes, passing: Passing | None
    ) -> _Answer:
        """The answer to a request, or to another form of it where that one was refused."""
        answer = _Answer(await self._send_to_upstream(scope, target, raw))
        if passing is None or answer.response.status_code != _BAD_REQUEST:
            return answer
        again = await self._send_other_forms_of_refused(scope, target, passing, answer)
        if again is None:
            return answer
        await answer.response.aclose()
        return _Answer(again)

    async def _stream_back(self, answer: _Answer, passing: Passing | None, send: Send) -> None:
        """Give every chunk as it comes; learn what it says of the request before that."""
        response, usage = answer.response, _Usage(answer.response)
        try:
            await _send_head(send, response.status_code, _end_to_end_headers(response.headers.raw))
            async for chunk in answer.chunks_from_first_on():
                # A client that has read it may send its next request at once.
                if passing and usage.add_chunk(chunk):
                    await asyncio.to_thread(self._note_answer, passing, usage)
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
            await send({"type": "http.response.body", "body": b""})
        except httpx2.RequestError:
            pass  # the service broke off; an answer without its end tells the client the same
        finally:
            if passing and usage.tokens is None:
                asyncio.get_running_loop().run_in_executor(None, self._note_answer, passing, usage)
            await response.aclose()

    def _note_answer(self, passing: Passing, usage: _Usage) -> None:
        if self._conversations:
            self._conversations.note_answer(passing, usage.tokens)

    async def _send_other_forms_of_refused(
        self, scope: Scope, target: bytes, passing: Passing, refusal: _Answer
    ) -> httpx2.Response | None:
        """Send other forms of a refused request; None where none was answered."""
        talks, message = self._conversations, await refusal.read_start_of_body()
        if talks is None:
            return None
        forms = {
            _BOUND: [partial(talks.drop_thinking_in_place, passing)],
            _TOO_LONG: [partial(talks.shorten_refused_in_place, passing, message)],
        }
        is_sent = False
        while attempts := next((forms[reason] for reason in forms if reason in message), []):
            if not await asyncio.to_thread(attempts.pop(0)):
                continue
            again, is_sent = await self._send_to_upstream(scope, target, passing.raw), True
            if again.status_code != _BAD_REQUEST:
                return again
            message = await _Answer(again).read_start_of_body()
            await again.aclose()
        if _TOO_LONG in message and is_sent:
            await asyncio.to_thread(talks.note_second_refusal, passing)
        return None

    async def _send_to_upstream(self, scope: Scope, target: bytes, raw: bytes) -> httpx2.Response:
        passed_on = _end_to_end_headers(scope["headers"])
        headers = [item for item in passed_on if item[0] not in (b"host", b"content-length")]
        connected: list[str] = []

        async def note_connect_event(event: str, _: object) -> None:
            if event.endswith("connect_tcp.started"):
                connected.append(event)

        request = httpx2.Request(
            scope["method"],
            self._upstream,
            headers=headers,
            content=raw or None,
            extensions={"target": target, "trace": note_connect_event},
        )
        try:
            return await self._client.send(request, stream=True)
        except (httpx2.RemoteProtocolError, httpx2.ReadError, httpx2.WriteError):
            if connected:
                raise
            # The service had closed a connection that was kept; clients would ask again, too.
            return await self._client.send(request, stream=True)


def _make_http_client(upstream: str) -> httpx2.AsyncClient:
    """What reaches a service by the proxy, and trusts the authorities, that the client would.

    Raises:
        BrimlineError: there is something wrong with one of them.
    """
    env, proxy, doubtful = os.environ, None, upstream
    name = next(filter(env.get, PROXIES), None)
    try:
        host = httpx2.URL(upstream).netloc.decode("ascii")
        direct = ",".join(hosts_listed_in_no_proxy(env))
        if name and not proxy_bypass_environment(host, {"no": direct}):
            proxy = env[name] if "://" in env[name] else f"http://{env[name]}"
        doubtful = "SSL_CERT_FILE or SSL_CERT_DIR"
        context = httpx2.create_ssl_context()
        if extra := env.get("NODE_EXTRA_CA_CERTS"):
            with contextlib.suppress(OSError):  # the client ignores it then, too
                context.load_verify_locations(extra)
        doubtful = str(name)
        return httpx2.AsyncClient(
            verify=context,
            proxy=proxy,
            timeout=httpx2.Timeout(None, connect=_CONNECT_TIMEOUT_S),
            limits=httpx2.Limits(max_connections=MOST_CONNECTIONS, max_keepalive_connections=32),
            follow_redirects=False,
            trust_env=False,
        )
    except (OSError, ValueError, ImportError, httpx2.InvalidURL) as error:
        raise BrimlineError(f"the gateway cannot be set up with {doubtful} ({error})") from None


async def _read_body(receive: Receive) -> bytes | None:
    """The whole body; None where it is too large, or the client has left before its end."""
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > LARGEST_BODY_BYTES:
            return None
        if not message.get("more_body"):
            return b"".join(parts)


def _scope_with_readable_encodings(scope: Scope, headers: dict[bytes, bytes]) -> Scope:
    """A request whose answer can be read here: a refusal, the usage."""
    encodings = b"gzip" if b"gzip" in headers.get(b"accept-encoding", b"") else b"identity"
    own = [(n, encodings if n == b"accept-encoding" else v) for n, v in scope["headers"]]
    return scope | {"headers": own}


def _lacks_earlier_messages(raw: bytes) -> bool:
    """Tell whether a request holds only what is new, and the service has the rest."""
    if _DELTA not in raw:
        return False
    try:
        thread = json.loads(raw).get("thread")
    except (ValueError, AttributeError):
        return False
    return isinstance(thread, dict) and thread.get("type") == "continue"


async def _run_while_client_is_connected(task: Coroutine[Any, Any, None], receive: Receive) -> None:
    """Work for as long as somebody waits for the answer."""
    work = asyncio.ensure_future(task)
    gone = asyncio.ensure_future(_await_disconnect(receive))
    try:
        await asyncio.wait((work, gone), return_when=asyncio.FIRST_COMPLETED)
    finally:
        gone.cancel()
        work.cancel()
    with contextlib.suppress(asyncio.CancelledError):  # nobody is left to be told
        await work


async def _await_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


class _Answer:
    """What the service says, chunk by chunk; its beginning can be read ahead."""

    def __init__(self, response: httpx2.Response) -> None:
        self.response = response
        self._coming = response.aiter_raw()
        self._ahead: list[bytes] = []

    async def read_start_of_body(self) -> bytes:
        """Read ahead as much as a refusal can be long, decoded."""
        size = 0
        while size < _LARGEST_REFUSAL_BYTES and (chunk := await anext(self._coming, None)):
            self._ahead.append(chunk)
            size += len(chunk)
        return _decode_body(self.response, b"".join(self._ahead))

    async def chunks_from_first_on(self) -> AsyncIterator[bytes]:
        """Everything, from the first byte on."""
        for chunk in self._ahead:
            yield chunk
        async for chunk in self._coming:
            yield chunk


async def _send_head(send: Send, status: int, headers: list[tuple[bytes, bytes]]) -> None:
    await send({"type": "http.response.start", "status": status, "headers": headers})


async def _send_error(send: Send, code: int, message: str, kind: str = "permission_error") -> None:
    """An error in the shape that clients of the service show to people."""
    error = {"type": "error", "error": {"type": kind, "message": f"brimline: {message}"}}
    body = json.dumps(error).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    if code in (_FORBIDDEN, _NOT_FOUND):
        headers.append((b"connection", b"close"))  # a stranger's
    await _send_head(send, code, headers)
    await send({"type": "http.response.body", "body": body})


def _end_to_end_headers(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """All headers but those of one connection, and those that it names as such."""
    pairs = [(name.lower(), value) for name, value in headers]
    named = b",".join(value for name, value in pairs if name == b"connection").lower()
    left_out = _OF_ONE_CONNECTION.union(map(bytes.strip, named.split(b",")))
    return [item for item in pairs if item[0] not in left_out]


def _decode_body(response: httpx2.Response, body: bytes) -> bytes:
    """Return what a body says, where its encoding is one that can be undone here."""
    if response.headers.get("content-encoding") not in ("gzip", "deflate"):
        return body
    try:
        return zlib.decompressobj(47).decompress(body, _LARGEST_ANSWER_BYTES)
    except zlib.error:
        return body


class _Usage:
    """Listens for the usage in an answer that passes by; never holds it up."""

    def __init__(self, response: httpx2.Response) -> None:
        self._is_stream = "event-stream" in response.headers.get("content-type", "")
        self._left = _LARGEST_START_BYTES if self._is_stream else _LARGEST_ANSWER_BYTES
        self._parts: list[bytes] = []
        self._response = response
        self.tokens: dict[str, Any] | None = None

    def add_chunk(self, chunk: bytes) -> bool:
        """Hear one more piece; True where it completes what is said about the usage."""
        if self.tokens is not None or self._left <= 0:
            return False
        self._left -= len(chunk)
        self._parts.append(chunk)
        data = _decode_body(self._response, b"".join(self._parts))
        self.tokens = self._usage_found_so_far(data)
        return self.tokens is not None

    def _usage_found_so_far(self, data: bytes) -> dict[str, Any] | None:
        for line in data.split(b"\n") if self._is_stream else [data]:
            text = line.removeprefix(b"data:") if self._is_stream else line
            if b'"usage"' not in text:
                continue
            try:
                told = json.loads(text)
                usage = told.get("usage") or told["message"]["usage"]
            except (ValueError, KeyError, TypeError, AttributeError):
                return None
            return usage if isinstance(usage, dict) else None
        return None
