"""Speaks to a server process line by line, as a client does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import brimline

if TYPE_CHECKING:
    from types import TracebackType

RUN = "from brimline.mcp.server import serve; serve()"
PACKAGES = str(Path(brimline.__file__).parents[1])
_END_TIMEOUT_S = 30
HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}


class Server:
    """A running server; leaving the block closes its input and waits for its end."""

    def __init__(self, *, code: str = RUN, cwd: str | None = None) -> None:
        """Start it in the test's own world."""
        self.process = subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=cwd,
            env={**os.environ, "PYTHONPATH": PACKAGES},
        )
        self.count = 0

    def __enter__(self) -> Self:
        """Use it."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End it, whatever happened."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()

    def write(self, line: bytes) -> None:
        """Send a line as it is."""
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def read(self) -> dict[str, Any]:
        """The next message of the server."""
        assert self.process.stdout is not None
        message: dict[str, Any] = json.loads(self.process.stdout.readline())
        return message

    def send(self, method: str, params: dict[str, Any] | None = None) -> int:
        """Send a request; returns its id."""
        self.count += 1
        message = {"jsonrpc": "2.0", "id": self.count, "method": method, "params": params or {}}
        self.write(json.dumps(message).encode())
        return self.count

    def ask(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """Send a request and read its answer."""
        number = self.send(method, params)
        message = self.read()
        assert message["id"] == number, message
        return message

    def hello(self) -> dict[str, Any]:
        """Open the conversation; returns what the server says of itself."""
        answer: dict[str, Any] = self.ask("initialize", HELLO)["result"]
        self.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')
        return answer

    def call(self, name: str, /, **arguments: Any) -> tuple[str, bool]:
        """Call a tool; returns its text and whether it failed."""
        result = self.ask("tools/call", {"name": name, "arguments": arguments})["result"]
        return result["content"][0]["text"], result["isError"]

    def end(self) -> tuple[int, bytes]:
        """Close its input; returns the exit code and what it wrote to standard error."""
        _, err = self.process.communicate(timeout=_END_TIMEOUT_S)
        return self.process.returncode, err
