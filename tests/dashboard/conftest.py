"""A played session, and the dashboard over it as a process of its own."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
import tempfile
import threading
import time
from typing import IO, TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

import pytest
from tests.dashboard.played import Played

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# No test waits longer than this for anything: a failure that is told, not a run that hangs.
PATIENCE_S = 60.0


class Answer(NamedTuple):
    """What came back."""

    status: int
    text: str
    headers: dict[str, str]


class Served:
    """A running dashboard; requests carry its cookie unless told otherwise."""

    def __init__(self, process: subprocess.Popen[bytes], complaints: IO[bytes]) -> None:
        assert process.stdout is not None
        too_late = threading.Timer(PATIENCE_S, process.kill)
        too_late.start()
        lines = b""
        while not lines.endswith(b"}\n"):
            line = process.stdout.readline()
            assert line, complaints.seek(0) or complaints.read()
            lines += line
        too_late.cancel()
        self.complaints = complaints
        self.process, document = process, json.loads(lines)
        self.url, self.file = document["url"], document["file"]
        self.host = urlsplit(self.url).netloc
        entered = self.get(f"/enter?{urlsplit(self.url).query}")
        self.cookie = entered.headers["set-cookie"].partition(";")[0]

    cookie = ""

    def ask(self, method: str, path: str, body: str | None = None, **headers: str) -> Answer:
        """One request on a connection of its own; `Host=""` and such replace what is sent."""
        sent = {"Host": self.host, "Cookie": self.cookie} | {
            name.replace("_", "-"): value for name, value in headers.items()
        }
        connection = http.client.HTTPConnection(self.host, timeout=PATIENCE_S)
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        if body is not None:
            sent["Content-Length"] = str(len(body))
        for name, value in sent.items():
            if value:
                connection.putheader(name, value)
        connection.endheaders(body.encode() if body is not None else None)
        answer = connection.getresponse()
        text = answer.read().decode("utf-8")
        connection.close()
        told = {name.lower(): value for name, value in answer.getheaders()}
        return Answer(answer.status, text, told)

    def get(self, path: str, **headers: str) -> Answer:
        """A page."""
        return self.ask("GET", path, **headers)

    def settled(self) -> Served:
        """Once every session is in."""
        until = time.monotonic() + PATIENCE_S
        while "data-busy" in (page := self.get("/").text) or "/session/" not in page:
            assert time.monotonic() < until, page
            time.sleep(0.1)
        return self


@pytest.fixture
def played(world: Path, home_dir: str) -> Played:
    """A whole session."""
    return Played(str(world / "home" / ".claude"), home_dir).play()


@pytest.fixture
def served(played: Played) -> Iterator[Served]:
    """The dashboard over it."""
    command = [sys.executable, "-m", "brimline", "dashboard", "--no-open", "--json"]
    # To a file: a pipe that nobody reads would stop the process once it is full.
    with tempfile.TemporaryFile() as complaints:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=complaints)
        try:
            yield Served(process, complaints).settled()
        finally:
            process.terminate()
            try:
                process.communicate(timeout=PATIENCE_S)
            finally:
                process.kill()
