"""`dashboard` and `report`: how they begin and end, and what they say."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import pytest
from click.testing import CliRunner
from tests.dashboard.conftest import PATIENCE_S
from tests.dashboard.played import NAME

from brimline.cli.surface import program
from brimline.dashboard import page_commands
from brimline.errors import BrimlineError
from brimline.testing import SessionBuilder

if TYPE_CHECKING:
    from tests.dashboard.conftest import Served

ID = "1f0c2d3e-aaaa-4bbb-8ccc-000000000002"


@pytest.fixture
def session(world: Path) -> SessionBuilder:
    """An empty session, in a file of its name."""
    return SessionBuilder(str(world / f"{ID}.jsonl"), ID)


def answer(*words: str) -> Any:
    """What a command tells programs."""
    done = CliRunner().invoke(program, [*words, "--json"])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_a_port_that_is_taken_is_told_with_the_reason() -> None:
    """In a sentence; nothing is begun."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = CliRunner().invoke(program, ["dashboard", "--no-open", "--port", str(port)])

    assert isinstance(done.exception, BrimlineError)
    assert str(done.exception).startswith(f"port {port} cannot be used: Address already in use")


@pytest.mark.parametrize(("requests", "counted"), [(1, "1 request"), (1_200, "1,200 requests")])
def test_a_report_says_where_it_is_and_what_is_in_it(
    session: SessionBuilder, requests: int, counted: str
) -> None:
    """Named after the session unless told otherwise; without texts unless told otherwise."""
    for number in range(requests):
        session.reply(20_000 + number)
    told = [
        CliRunner().invoke(program, ["report", session.path, *more]).stdout.strip()
        for more in ((), ("--full",), ("--redact", "-o", "own.html"))
    ]

    usual = f"brimline-{ID[:8]}.html"
    assert told == [
        f"{usual}: {counted}, no text, no path.",
        f"{usual}: {counted}, with texts, paths, commands: look before you share it.",
        f"own.html: {counted}, no text, no path.",
    ]
    assert Path("own.html").stat().st_size > 1_000


def test_a_report_tells_programs_its_file_and_size(session: SessionBuilder) -> None:
    """And how many requests it is about, and whether texts were left out."""
    session.reply(20_000)
    session.reply(21_000)

    told = answer("report", session.path)

    file = os.path.abspath(f"brimline-{ID[:8]}.html")
    size = Path(file).stat().st_size
    about = {"session_id": ID, "file": file, "requests": 2}
    assert told == about | {"bytes": size, "redacted": True}
    assert answer("report", session.path, "--full")["redacted"] is False


def test_a_dashboard_prints_a_link_that_works_once(served: Served) -> None:
    """On a free port of this machine, with a key of 32 characters that the file does not have."""
    host, _, port = served.host.partition(":")
    key = served.url.partition("?key=")[2]

    assert served.url == f"http://127.0.0.1:{port}/enter?key={key}"
    assert host == "127.0.0.1"
    assert int(port) > 0
    assert len(key) == 32
    assert key not in Path(served.file).read_text()


def test_nothing_is_left_of_it_when_it_ends(served: Served) -> None:
    """Neither is the file that opened the browser."""
    served.process.terminate()
    served.process.wait(60)

    assert not os.path.exists(served.file)


def test_a_port_that_is_taken_is_named(served: Served) -> None:
    """In a sentence, with a code."""
    port = served.host.partition(":")[2]
    command = [sys.executable, "-m", "brimline", "dashboard", "--no-open", "--port", port]

    done = subprocess.run(command, capture_output=True, timeout=PATIENCE_S, check=False)

    assert done.returncode == 1
    assert f"port {port} cannot be used" in done.stderr.decode()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_at_once_while_pages_are_open(served: Served, number: signal.Signals) -> None:
    """With a connection that a browser keeps, and an answer that is still being made."""
    kept = http.client.HTTPConnection(served.host, timeout=PATIENCE_S)
    kept.request("GET", f"/session/{NAME}", headers={"Cookie": served.cookie})
    kept.getresponse().read()
    asked = http.client.HTTPConnection(served.host, timeout=PATIENCE_S)
    asked.request("GET", "/overall", headers={"Cookie": served.cookie})

    served.process.send_signal(number)

    assert served.process.wait(timeout=PATIENCE_S) in (0, -number)
    kept.close()
    asked.close()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_whoever_ends_it_is_not_told_of_answers_that_are_cut_off(
    served: Served, number: signal.Signals
) -> None:
    """A form that never comes keeps an answer waiting until the end."""
    host, port = served.host.split(":")
    with socket.create_connection((host, int(port)), timeout=PATIENCE_S) as connection:
        head = f"POST /enter HTTP/1.1\r\nHost: {served.host}\r\nContent-Length: 9\r\n\r\n"
        connection.sendall(head.encode())
        served.get("/overall")  # by now the form is waited for
        served.process.send_signal(number)
        served.process.wait(timeout=PATIENCE_S)

    served.complaints.seek(0)
    assert served.complaints.read() == b""


@pytest.mark.parametrize("port", ["-1", "65536", "x"])
def test_a_port_that_cannot_be_is_refused(port: str) -> None:
    """Before anything is started."""
    done = CliRunner().invoke(program, ["dashboard", "--port", port])

    assert done.exit_code == 2
    assert "--port" in done.output


def test_the_file_that_opens_the_browser_is_the_users_alone(home_dir: str) -> None:
    """With the key in a form, so that it is in no address."""
    file = Path(page_commands._write_login_page("http://127.0.0.1:1/enter", "the-key"))

    assert file == Path(home_dir, f"dashboard-{os.getpid()}.html")
    assert file.stat().st_mode & 0o777 == 0o600
    text = file.read_text()
    assert '<form method="post" action="http://127.0.0.1:1/enter">' in text
    assert 'name="key" value="the-key"' in text


def test_a_port_is_any_that_there_is_and_a_free_one_by_default() -> None:
    """None below zero."""
    (port,) = [one for one in page_commands.dashboard.params if one.name == "port"]

    assert isinstance(port.type, click.IntRange)
    assert (port.type.min, port.type.max, port.default) == (0, 65_535, 0)
