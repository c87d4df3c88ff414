"""Nothing goes to an address before a person has confirmed it on a terminal."""

from __future__ import annotations

import contextlib
import os
import pty
import shutil
import socket
import subprocess
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.cli.conftest import PROGRAM
from tests.mcp.conversation import Server
from tests.recall.answers import say

from brimline.errors import TeamError
from brimline.fast import paths
from brimline.recall import confirmation, together
from brimline.recall.place import parse_place

if TYPE_CHECKING:
    from collections.abc import Iterator

_URL = "qdrant+http://mia@a.example:1/team"
# The server, which says on standard error that it has come to the end of a round of sharing.
_ROUNDS = """import sys
from brimline.mcp import server, tools
share = tools.send_waiting_entries_to_team
def share_and_tell():
    share()
    print("shared", file=sys.stderr, flush=True)
tools.send_waiting_entries_to_team, server._SHARE_AFTER_S = share_and_tell, 0
server.serve()"""


class Listener:
    """Takes connections on loopback, counts them, and hangs up."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self.connections = 0
        threading.Thread(target=self._count, daemon=True).start()

    def _count(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                self._socket.accept()[0].close()
                self.connections += 1

    def close(self) -> None:
        """Listen no more."""
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()


@pytest.fixture
def listeners() -> Iterator[list[Listener]]:
    """The team's server, and the proxy of somebody else."""
    both = [Listener(), Listener()]
    yield both
    for one in both:
        one.close()


def set_url(home_dir: str, url: str) -> None:
    """Write it into the user's settings, without a word of confirmation."""
    os.makedirs(home_dir, exist_ok=True)
    with open(paths.user_config(home_dir), "w", encoding="utf-8") as file:
        file.write(f'[memory]\nurl = "{url}"\n')


def on_a_terminal(typed: bytes) -> str:
    """What a person sees of `memory sync`, who types something."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*PROGRAM, "memory", "sync"], stdin=theirs, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    os.write(ours, typed)
    seen = b""
    with contextlib.suppress(OSError):  # the terminal's end
        while part := os.read(ours, 4_096):
            seen += part
    os.close(ours)
    process.wait(timeout=60)
    return " ".join(seen.decode().split())


def share_once_and_search() -> str:
    """A round of the MCP server's, and what it says to a search."""
    with Server(code=_ROUNDS) as server:
        assert server.process.stderr is not None
        assert server.process.stderr.readline() == b"shared\n"
        server.hello()
        return server.call("recall", query="otter")[0]


def test_nothing_leaves_before_a_person_has_confirmed_the_address(
    home_dir: str, listeners: list[Listener], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By no door, nor by somebody's proxy afterwards; no is no, and nobody else can say yes."""
    team, elsewhere = listeners
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{elsewhere.port}")
    say(home_dir, "an otter swims")
    set_url(home_dir, f"qdrant+http://mia@127.0.0.1:{team.port}/holts")
    asks = f"nothing is sent to 127.0.0.1:{team.port}/holts, not even a search, before"

    assert asks in share_once_and_search()
    for words in (
        ["memory", "search", "otter"],
        ["memory", "status"],
        ["doctor"],
        ["memory", "sync"],
    ):
        done = subprocess.run([*PROGRAM, *words], input=b"y\n", capture_output=True, check=False)
        assert asks in " ".join((done.stdout + done.stderr).decode().split())
    with monkeypatch.context() as in_the_client:  # whose model makes itself a terminal
        in_the_client.setenv("CLAUDECODE", "1")
        assert asks in on_a_terminal(b"y\n")
    running = Path(paths.client_config_dir(), "sessions", f"{os.getpid()}.json")
    running.parent.mkdir(parents=True)
    running.write_text("{}")
    assert asks in on_a_terminal(b"y\n")
    running.unlink()
    refused = on_a_terminal(b"n\n")
    assert "entries 1 since 1970-01-01" in refused
    assert "shop (1)" in refused
    assert f"http://127.0.0.1:{team.port} (not encrypted) collection holts label mia" in refused
    assert asks in share_once_and_search()
    assert team.connections == 0

    assert "cannot be reached" in on_a_terminal(b"y\n")
    asked = team.connections
    assert asked > 0
    assert "[from this machine alone: " in share_once_and_search()
    assert team.connections > asked
    assert elsewhere.connections == 0


def test_a_data_folder_does_not_bring_its_own_confirmation(
    home_dir: str, project_dir: str, tmp_path: Path
) -> None:
    """One that was copied, or came with a repository; nor is a link, or another text, one."""
    set_url(home_dir, _URL)
    confirmation.keep(home_dir, parse_place(_URL))
    planted = shutil.copytree(home_dir, tmp_path / "planted")
    with pytest.raises(TeamError, match="is sent to"):
        together.open_queue(str(planted), project_dir)

    kept = os.path.join(home_dir, confirmation.FILE)
    os.rename(kept, tmp_path / "kept")
    os.symlink(tmp_path / "kept", kept)
    with pytest.raises(TeamError, match="is sent to"):
        together.open_queue(home_dir, project_dir)
