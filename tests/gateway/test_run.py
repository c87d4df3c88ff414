"""`brimline run` with a stand-in for the client: its arguments, signals and exit code."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from brimline.fast import paths

TIMEOUT_S = 60
CLIENT = """#!/bin/sh
printf '%s\\n' "$@" > "$TOLD"
if [ "$WAITS" ]; then
  trap 'exit 9' TERM
  echo ready
  while :; do sleep 0.05; done
fi
exit 7
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
    first, settings, *rest = start.read_text().splitlines()
    assert (first, rest) == ("--settings", ["-p", "hi"])
    told = json.loads(settings)
    assert told["model"] == "opus"
    assert told["env"].pop("ANTHROPIC_BASE_URL").startswith("http://127.0.0.1:")
    assert told["env"] == {
        "A": "1",
        "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "70",
        "CLAUDE_CODE_AUTO_COMPACT_WINDOW": "1000000",
    }


def test_a_signal_reaches_the_client_and_nothing_is_left(
    start: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever stops us stops the client, which may take its time."""
    monkeypatch.setenv("WAITS", "1")
    with subprocess.Popen(command(), stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        address = json.loads(start.read_text().splitlines()[1])["env"]["ANTHROPIC_BASE_URL"]
        process.send_signal(signal.SIGTERM)
        assert process.wait(TIMEOUT_S) == 9

    port = int(address.split(":")[2].partition("/")[0])
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), TIMEOUT_S)


def test_a_gateway_that_cannot_be_started_again_says_what_to_do(
    start: Path, home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The service's own kind of error, which clients show instead of asking again and again."""
    monkeypatch.setenv("WAITS", "1")
    with subprocess.Popen(command(), stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        address = urlsplit(
            json.loads(start.read_text().splitlines()[1])["env"]["ANTHROPIC_BASE_URL"]
        )
        (gateway,) = children(process.pid, "brimline gateway")
        # So that none that is started in its place can live.
        Path(paths.gateway_file(home_dir)).unlink(missing_ok=True)
        Path(paths.gateway_file(home_dir)).mkdir(parents=True)
        os.kill(gateway, signal.SIGKILL)
        connection = http.client.HTTPConnection("127.0.0.1", address.port, timeout=TIMEOUT_S)
        connection.request("POST", f"{address.path}/v1/messages", b"x" * 1_000_000)
        answer = connection.getresponse()
        told = json.loads(answer.read())
        process.send_signal(signal.SIGTERM)
        process.wait(TIMEOUT_S)

    assert answer.status == 400
    assert told["error"]["type"] == "invalid_request_error"
    assert "`brimline run -- --continue`" in told["error"]["message"]
    assert "without the gateway with `claude --continue`" in told["error"]["message"]


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
