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

import pytest

from brimline.fast import paths

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.gateway.upstream import Upstream

TIMEOUT_S = 60
CLIENT = """#!/bin/sh
printf '%s\\n' "$@" > "$TOLD"
cp -p "$2" "$TOLD.settings"
ls -ld "${2%/*}" "$2" | cut -c1-10 > "$TOLD.modes"
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

    done = subprocess.run(words, check=False, timeout=TIMEOUT_S, capture_output=True, text=True)

    assert done.returncode == 7
    (line,) = done.stderr.splitlines()
    assert "resume it with `brimline run -- --resume`" in line
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


def test_a_client_that_begins_no_session_is_told_nothing_about_sessions(start: Path) -> None:
    """Of `--version` there is nothing to resume."""
    words = command("--", "--version")

    done = subprocess.run(words, check=False, timeout=TIMEOUT_S, capture_output=True, text=True)

    assert (done.returncode, done.stderr) == (7, "")


def test_the_settings_are_the_users_alone_and_none_are_left(start: Path, home_dir: str) -> None:
    """Not among the arguments, which everybody can see; one of a killed run goes with the next."""
    left = Path(home_dir, "gateway", "run-killed")
    left.parent.mkdir(parents=True, mode=0o700)
    left.write_text("{}")
    os.utime(left, (0, 0))

    subprocess.run(command(), check=False, timeout=TIMEOUT_S)

    assert start.with_suffix(".modes").read_text().split() == ["drwx------", "-rw-------"]
    assert "http" not in start.read_text()
    assert not list(Path(home_dir).rglob("run-*"))


@pytest.mark.parametrize("name", ["HTTPS_PROXY", "http_proxy", "ALL_PROXY"])
def test_the_way_to_the_gateway_is_by_no_proxy(
    name: str, start: Path, world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would see key and prompts in clear text; what else is reached without one stays."""
    monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.setenv("no_proxy", "a.example b.example")
    write_settings(world, {"NO_PROXY": "c.example"})

    subprocess.run(command(), check=False, timeout=TIMEOUT_S)

    hosts = {"a.example", "b.example", "c.example", "127.0.0.1", "localhost"}
    for variable in ("NO_PROXY", "no_proxy"):
        assert set(settings(start)["env"][variable].split(",")) == hosts


def write_settings(world: Path, env: dict[str, str], folder: str = "") -> None:
    """Variables in the client's settings: the user's, or those of a project."""
    file = Path(folder or paths.client_config_dir()) / "settings.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"env": env}))


@pytest.mark.parametrize("words", [["--setting-sources", "user"], ["--setting-sources=user"]])
def test_the_service_is_read_from_what_the_client_reads(
    words: list[str], start: Path, world: Path, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A key must not go to a service that a project names where its settings are not used."""
    monkeypatch.chdir(world / "project")
    write_settings(world, {"ANTHROPIC_BASE_URL": f"{upstream.url}/user"})
    write_settings(
        world, {"ANTHROPIC_BASE_URL": f"{upstream.url}/project"}, f"{world}/project/.claude"
    )
    with waiting(monkeypatch, "--", *words):
        assert ask(start, b"{}")[0].status == 200

    assert upstream.arrived[0].path == "/user/v1/messages"


@pytest.mark.parametrize("trusted", [True, False])
def test_a_project_names_the_service_only_where_it_is_trusted(
    trusted: bool, start: Path, world: Path, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the user's key would go there before the client has asked; the person is told."""
    project = world / "project"
    monkeypatch.chdir(project)
    write_settings(world, {"ANTHROPIC_BASE_URL": f"{upstream.url}/user"})
    write_settings(world, {"ANTHROPIC_BASE_URL": f"{upstream.url}/project"}, f"{project}/.claude")
    projects = {str(project): {"hasTrustDialogAccepted": trusted}}
    notes = Path(paths.client_config_dir())
    notes = notes if os.environ.get("CLAUDE_CONFIG_DIR") else notes.parent
    (notes / ".claude.json").write_text(json.dumps({"projects": projects}))
    with waiting(monkeypatch, stderr=subprocess.PIPE) as process:
        assert ask(start, b"{}")[0].status == 200
        process.send_signal(signal.SIGTERM)
        assert process.stderr is not None
        told = process.stderr.read().decode()

    assert upstream.arrived[0].path == f"/{'project' if trusted else 'user'}/v1/messages"
    assert ("not used before you have told the client" in told) is not trusted


def test_nothing_of_the_folder_runs(
    start: Path, world: Path, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A repository may hold modules named like ours."""
    folder = world / "repository"
    (folder / "brimline").mkdir(parents=True)
    for name in ("click.py", "json.py", "uvicorn.py", "brimline/__init__.py"):
        (folder / name).write_text(f"open({str(world / 'ran')!r}, 'w').write({name!r})\n")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", upstream.url)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PYTHONPATH", ".")
    with waiting(monkeypatch, python=("-P", "-E")):
        assert ask(start, b"{}")[0].status == 200

    assert not (world / "ran").exists()


def test_the_service_is_reached_by_the_proxy_of_the_client(
    start: Path, world: Path, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever its variable is called, and in whichever settings."""
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://service.invalid/base")
    write_settings(world, {"HTTPS_PROXY": upstream.url})
    with waiting(monkeypatch):
        assert ask(start, b"{}")[0].status == 200

    assert upstream.arrived[0].path == "http://service.invalid/base/v1/messages"


@pytest.mark.skipif(not shutil.which("openssl"), reason="makes a certificate")
def test_a_service_with_an_authority_of_its_own_is_trusted(
    start: Path, world: Path, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one that the client's settings name, beside the usual ones."""
    key, certificate = world / "key.pem", world / "certificate.pem"
    made = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=brimline"]
    names = ["-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run(
        ["openssl", *made, *names, "-keyout", str(key), "-out", str(certificate)],
        check=True,
        capture_output=True,
        timeout=TIMEOUT_S,
    )
    upstream.encrypt(certificate, key)
    monkeypatch.setenv("ANTHROPIC_BASE_URL", upstream.url.replace("http:", "https:"))
    write_settings(world, {"NODE_EXTRA_CA_CERTS": str(certificate)})
    with waiting(monkeypatch):
        assert ask(start, b"{}")[0].status == 200


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("SSL_CERT_FILE", "/nope", "SSL_CERT_FILE"),
        ("ANTHROPIC_BASE_URL", "foo", "ANTHROPIC_BASE_URL is 'foo'"),
        ("ANTHROPIC_BASE_URL", "https://service.invalid/?a=b", "ANTHROPIC_BASE_URL is"),
        ("ALL_PROXY", "socks5://127.0.0.1:9", "ALL_PROXY"),
    ],
)
def test_a_gateway_that_cannot_start_says_why_before_the_client_starts(
    name: str, value: str, told: str, start: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one line."""
    monkeypatch.setenv(name, value)

    done = subprocess.run(command(), capture_output=True, text=True, check=False, timeout=TIMEOUT_S)

    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert told in done.stderr
    assert not start.exists()


def test_without_a_place_for_our_files_requests_pass_as_they_are(
    start: Path, world: Path, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The person is told in one line, and the session goes on."""
    (world / "file").write_text("")
    monkeypatch.setenv("BRIMLINE_HOME", str(world / "file"))
    monkeypatch.setenv("TMPDIR", str(world))
    monkeypatch.setenv("ANTHROPIC_BASE_URL", upstream.url)
    with waiting(monkeypatch, stderr=subprocess.PIPE) as process:
        assert ask(start, b'{ "messages": []}')[0].status == 200
        assert process.stderr is not None
        line = process.stderr.readline()

    assert b"requests pass as they are" in line
    assert upstream.arrived[0].raw == b'{ "messages": []}'
    assert not list(world.glob("brimline-run-*"))


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


@contextlib.contextmanager
def waiting(
    monkeypatch: pytest.MonkeyPatch,
    *words: str,
    stderr: int | None = None,
    python: tuple[str, ...] = (),
) -> Iterator[subprocess.Popen[bytes]]:
    """A run whose client waits for a signal."""
    monkeypatch.setenv("WAITS", "1")
    # In a session of its own there is no terminal whose keys could be meant.
    interpreter, *rest = command(*words)
    process = subprocess.Popen(
        [interpreter, *python, *rest], stdout=subprocess.PIPE, stderr=stderr, start_new_session=True
    )
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


def test_without_a_client_there_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    """And nothing was started."""
    monkeypatch.setenv("PATH", "/nowhere")

    done = subprocess.run(command(), capture_output=True, text=True, check=False, timeout=TIMEOUT_S)

    assert done.returncode == 1
    assert "`claude` is not on the PATH" in done.stderr
