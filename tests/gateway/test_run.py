"""`brimline run` with a stand-in for the client: its arguments, signals and exit code."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import pty
import shutil
import signal
import socket
import subprocess
import sys
import tty
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import certifi
import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.gateway.upstream import Upstream

TIMEOUT_S = 60
CLIENT = """#!/bin/sh
printf '%s\\n' "$@" > "$TOLD"
cp -p "$2" "$TOLD.settings"
if [ "$WAITS" ]; then
  trap 'printf x >> "$TOLD.signals"; sleep 0.3; exit 9' TERM INT QUIT
  echo ready
  while :; do sleep 0.05; done
fi
exit 7
"""
# Makes the terminal on standard input its own, and becomes what it is told.
ON_TERMINAL = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""


@pytest.fixture
def start(world: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A `claude` that notes what it was told."""
    folder = world / "bin"
    folder.mkdir()
    (folder / "claude").write_text(CLIENT)
    (folder / "claude").chmod(0o700)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setenv("TOLD", str(world / "told"))
    return world / "told"


def settings(start: Path) -> dict[str, Any]:
    """What the client was given by --settings."""
    found: dict[str, Any] = json.loads(start.with_suffix(".settings").read_text())
    return found


def command(*words: str) -> list[str]:
    """What is typed."""
    return [sys.executable, "-m", "brimline", "run", *words]


@pytest.mark.row("S3-77", "S3-78")
def test_the_client_gets_its_arguments_and_gives_its_exit_code(start: Path) -> None:
    """The address comes by --settings, beside what the user had there; no flag is added."""
    own = json.dumps({"model": "opus", "env": {"A": "1"}})
    words = command("--compact-pct", "70", "--", "-p", "hi", "--settings", own)

    done = subprocess.run(words, check=False, timeout=TIMEOUT_S)

    assert done.returncode == 7
    first, _, *rest = start.read_text().splitlines()
    assert (first, rest) == ("--settings", ["-p", "hi"])
    told = settings(start)
    assert told["model"] == "opus"
    assert told["env"].pop("ANTHROPIC_BASE_URL").startswith("http://127.0.0.1:")
    assert told["env"] == {
        "A": "1",
        "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "70",
        "CLAUDE_CODE_AUTO_COMPACT_WINDOW": "1000000",
    }


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGQUIT"])
def test_a_signal_reaches_the_client_and_nothing_is_left(
    name: str, start: Path, home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever stops us stops the client, which may take its time."""
    with waiting(monkeypatch) as process:
        address = settings(start)["env"]["ANTHROPIC_BASE_URL"]
        process.send_signal(getattr(signal, name))
        assert process.wait(TIMEOUT_S) == 9

    port = int(address.split(":")[2].partition("/")[0])
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), TIMEOUT_S)
    assert not list(Path(home_dir).rglob("run-*"))


@pytest.mark.parametrize("has_keys", [True, False])
def test_a_key_on_the_terminal_reaches_the_client_once(
    has_keys: bool, start: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The terminal tells both of us; one that makes no signals of keys leaves it to us."""
    monkeypatch.setenv("WAITS", "1")
    ours, theirs = pty.openpty()
    if not has_keys:
        tty.setraw(theirs)
    process = subprocess.Popen(
        [sys.executable, "-c", ON_TERMINAL, *command()],
        stdin=theirs,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        if has_keys:
            os.write(ours, b"\x1c")
        else:
            process.send_signal(signal.SIGQUIT)
        assert process.wait(TIMEOUT_S) == 9
        assert start.with_suffix(".signals").read_text() == "x"
    finally:
        process.kill()
        process.communicate(timeout=TIMEOUT_S)
        os.close(ours)
        os.close(theirs)


def test_a_gateway_that_cannot_be_started_again_says_what_to_do(
    start: Path, world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The service's own kind of error, which clients show instead of asking again and again."""
    authorities = world / "authorities.pem"
    shutil.copy(certifi.where(), authorities)
    monkeypatch.setenv("SSL_CERT_FILE", str(authorities))
    with waiting(monkeypatch) as process:
        authorities.unlink()
        (gateway,) = children(process.pid, "brimline gateway")
        os.kill(gateway, signal.SIGKILL)
        answer, told = ask(start, b"x" * 1_000_000)

    assert answer.status == 400
    assert told["error"]["type"] == "invalid_request_error"
    assert "`brimline run -- --continue`" in told["error"]["message"]
    assert "without the gateway with `claude --continue`" in told["error"]["message"]
    assert "SSL_CERT_FILE" in told["error"]["message"]


def test_a_young_gateway_that_is_killed_is_back(
    start: Path, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever asks meanwhile waits, and gets an answer."""
    monkeypatch.setenv("ANTHROPIC_BASE_URL", upstream.url)
    with waiting(monkeypatch) as process:
        for _ in range(2):
            (gateway,) = children(process.pid, "brimline gateway")
            os.kill(gateway, signal.SIGKILL)
            answer, _ = ask(start, b"{}")
            assert answer.status == 200


@contextlib.contextmanager
def waiting(monkeypatch: pytest.MonkeyPatch) -> Iterator[subprocess.Popen[bytes]]:
    """A run whose client waits for a signal."""
    monkeypatch.setenv("WAITS", "1")
    # In a session of its own there is no terminal whose keys could be meant.
    process = subprocess.Popen(command(), stdout=subprocess.PIPE, start_new_session=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=TIMEOUT_S)


def ask(start: Path, raw: bytes) -> tuple[http.client.HTTPResponse, Any]:
    """A request to the address that the client was given."""
    address = urlsplit(settings(start)["env"]["ANTHROPIC_BASE_URL"])
    connection = http.client.HTTPConnection("127.0.0.1", address.port, timeout=TIMEOUT_S)
    connection.request("POST", f"{address.path}/v1/messages", raw)
    answer = connection.getresponse()
    told = json.loads(answer.read())
    connection.close()
    return answer, told


def children(pid: int, name: str) -> list[int]:
    """The processes that another started, by what they were called with."""
    ps = ["ps", "-o", "pid=,args=", "--ppid", str(pid)]
    lines = subprocess.run(ps, capture_output=True, text=True, check=False).stdout.splitlines()
    return [int(line.split()[0]) for line in lines if name in line]


def test_without_a_client_there_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    """And nothing was started."""
    monkeypatch.setenv("PATH", "/nowhere")

    done = subprocess.run(command(), capture_output=True, text=True, check=False, timeout=TIMEOUT_S)

    assert done.returncode == 1
    assert "`claude` is not on the PATH" in done.stderr
