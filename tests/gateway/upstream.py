"""A service on loopback that keeps every byte it was sent, and a gateway process in front of it."""

from __future__ import annotations

import http.client
import json
import os
import signal
import ssl
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, NamedTuple, Self
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from types import TracebackType

    from tests.binding import Binding

Json = dict[str, Any]
TIMEOUT_S = 60.0
USAGE = {"input_tokens": 3, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 5}
ANSWER = {"type": "message", "content": [{"type": "text", "text": "ok"}], "usage": USAGE}


class Arrived(NamedTuple):
    """One request as it came."""

    method: str
    path: str
    headers: dict[str, str]
    raw: bytes

    @property
    def body(self) -> Json:
        """What it says."""
        found: Json = json.loads(self.raw)
        return found


class Answer(NamedTuple):
    """What is given back, for status 0 nothing; `stream` gets the handler and writes the body."""

    status: int = 200
    body: bytes = json.dumps(ANSWER).encode()
    headers: tuple[tuple[str, str], ...] = (("content-type", "application/json"),)
    stream: Callable[[Any], None] | None = None


class Upstream:
    """The service: answers in turn, then with the last."""

    def __init__(self) -> None:
        self.arrived: list[Arrived] = []
        self.answers: list[Answer] = []
        self.binding: Binding | None = None
        """Where it is set, the service thinks before it answers, and takes that back by a rule."""
        upstream = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: object) -> None:
                """Keep quiet."""

            def do_POST(self) -> None:
                """Keep and answer."""
                raw = self.rfile.read(int(self.headers.get("content-length") or 0))
                headers = {name.lower(): value for name, value in self.headers.items()}
                upstream.arrived.append(Arrived(self.command, self.path, headers, raw))
                answers = upstream.answers
                answer = answers.pop(0) if answers else upstream.thoughtful(raw)
                if not answer.status:
                    self.close_connection = True
                    return
                self.send_response(answer.status)
                for name, value in answer.headers:
                    self.send_header(name, value)
                if answer.stream:
                    self.send_header("transfer-encoding", "chunked")
                    self.end_headers()
                    answer.stream(self)
                else:
                    self.send_header("content-length", str(len(answer.body)))
                    self.end_headers()
                    self.wfile.write(answer.body)

            do_GET = do_POST  # noqa: N815 - the base class asks for it

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def thoughtful(self, raw: bytes) -> Answer:
        """The usual answer; of a service that binds its thinking, with a thought or a refusal."""
        if self.binding is None:
            return Answer()
        refusal = self.binding.refusal(body := json.loads(raw))
        if refusal is not None:
            error = {"type": "invalid_request_error", "message": refusal}
            return Answer(400, json.dumps({"type": "error", "error": error}).encode())
        content = [self.binding.thought(body), {"type": "text", "text": "ok"}]
        usage = USAGE | {"cache_read_input_tokens": len(raw) // 3}
        return Answer(body=json.dumps(ANSWER | {"content": content, "usage": usage}).encode())

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def encrypt(self, certificate: Path, key: Path) -> None:
        """From now on it speaks TLS."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)

    def close(self) -> None:
        """End it."""
        self._server.shutdown()
        self._server.server_close()


class Gateway:
    """A gateway process; enter it with `with`."""

    def __init__(self, upstream: str | None, *options: str) -> None:
        command = [sys.executable, "-m", "brimline", "gateway", *options]
        command += ["--upstream", upstream] if upstream else []
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        assert self.process.stdout is not None
        self.url = self.process.stdout.readline().decode().strip()
        assert self.url.startswith("http://127.0.0.1:"), self.url
        assert b"Ctrl-C stops it." in self.process.stdout.readline()

    def __enter__(self) -> Self:
        """It serves already."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End it if it lives."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        self.process.wait(TIMEOUT_S)
        assert self.process.stdout is not None
        self.process.stdout.close()

    def kill(self) -> None:
        """End it without a word."""
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait(TIMEOUT_S)

    def connect(self) -> http.client.HTTPConnection:
        """A connection to it."""
        parts = urlsplit(self.url)
        assert parts.hostname
        return http.client.HTTPConnection(parts.hostname, parts.port, timeout=TIMEOUT_S)

    def ask(
        self,
        raw: bytes,
        headers: dict[str, str] | None = None,
        path: str = "/v1/messages?beta=true",
        method: str = "POST",
    ) -> tuple[int, dict[str, str], bytes]:
        """One request: status, headers and body of its answer."""
        connection = self.connect()
        try:
            sent = {"content-type": "application/json"} | (headers or {})
            connection.request(method, urlsplit(self.url).path + path, raw, sent)
            response = connection.getresponse()
            found = {name.lower(): value for name, value in response.getheaders()}
            return response.status, found, response.read()
        finally:
            connection.close()
