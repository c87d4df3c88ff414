"""The MCP server in the real client: what is stored reaches the model through `recall`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import brimline
from brimline.fast import policy
from brimline.gauge import hook, reading
from brimline.mcp import tools
from brimline.state.session import SessionState
from brimline.store import put
from brimline.testing import SessionBuilder

from .stub_api import bash, filled, text, tool

if TYPE_CHECKING:
    from .harness import Client, PrintResult
    from .stub_api import StubApi

RECALL, STATUS = "mcp__brimline__recall", "mcp__brimline__context_status"
SESSION = "7c1e90aa-0000-4000-8000-000000000001"
_ROOT = str(Path(brimline.__file__).parents[1])
_RUN = (
    "import os, sys; sys.path.insert(0, {root!r}); open({pid!r}, 'w').write(str(os.getpid())); "
    "from brimline.mcp.server import mcp; mcp()"
)
_GONE_TIMEOUT_S = 20


class Registered:
    """A client that knows our server."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.data = str(client.config / "brimline")
        self.pid_file = client.tmp / "server.pid"
        code = _RUN.format(root=_ROOT, pid=str(self.pid_file))
        self.program = [sys.executable, "-c", code]
        self.config = client.home / "mcp.json"
        server = {"type": "stdio", "command": self.program[0], "args": self.program[1:]}
        document = {"mcpServers": {"brimline": server}}
        self.config.write_text(json.dumps(document), encoding="utf-8")

    def store(self, content: bytes) -> str:
        """Put an output of the client's project into its store."""
        return put.put(self.data, content, {"cwd": str(self.client.project), "tool": "Bash"})

    def run(self, *args: str) -> PrintResult:
        """One printed run."""
        return self.client.run_print("go", args=["--mcp-config", str(self.config), *args])


@pytest.fixture
def registered(client: Client) -> Registered:
    """The client with our server in a configuration of its own."""
    return Registered(client)


def results(run: PrintResult) -> list[str]:
    """The texts of all tool results in the last request, without what the client adds."""
    blocks = run.requests[-1].blocks("tool_result")
    return [_first_text(block["content"]) for block in blocks]


def _first_text(content: Any) -> str:
    if isinstance(content, str):
        return content
    # The client ends a text with a line break where it adds one of its own.
    found: str = content[0]["text"]
    return found.removesuffix("\n")


def test_stored_bytes_are_in_the_next_request(stub: StubApi, registered: Registered) -> None:
    """By key and by query, though the client has not loaded the tool's schema."""
    content = "first line\n\tsecond: grün 東京 𝄞\n" + "x" * 20_000 + "\nneedle at the end"
    key = registered.store(content.encode())
    stub.script(
        tool(RECALL, {"key": key}, filled(1_000)),
        tool(RECALL, {"query": "needle"}, filled(2_000)),
        tool(RECALL, {"key": "../../x"}, filled(3_000)),
        text("end"),
    )

    run = registered.run()

    assert run.rc == 0, run.stderr
    by_key, by_query, failed = results(run)
    assert by_key == f"[brimline recall {key[:19]} (Bash): all 4 lines]\n{content}"
    assert by_query.startswith("[brimline recall: hits 1-1 of 1 that hold 'needle']")
    assert "4: needle at the end" in by_query
    assert "is no key" in failed


def test_the_largest_answers_are_passed_on_whole(stub: StubApi, registered: Registered) -> None:
    """Also of characters that count twice; the client puts nothing into a file."""
    plain = registered.store(b"0123456789\n" * 20_000)
    rare = registered.store("𝄞".encode() * 100_000)
    calls = [tool(RECALL, {"key": key}, filled(1_000)) for key in (plain, rare)]
    stub.script(*calls, text("end"))

    run = registered.run()

    for found in results(run):
        assert found.startswith("[brimline recall sha256:")
        assert "next: lines=" in found.partition("\n")[0]
        assert 25_000 < len(found.encode("utf-16-le")) // 2 <= 30_000


def test_the_model_is_told_of_previews_and_the_tool_can_be_loaded(
    stub: StubApi, registered: Registered
) -> None:
    """The instructions are in the first request, the schema comes on demand."""
    stub.script(tool("ToolSearch", {"query": f"select:{RECALL}"}, filled(1_000)), text("end"))

    run = registered.run()

    first, last = run.requests[0], run.requests[-1]
    assert tools.INSTRUCTIONS in first.seen_text()
    assert RECALL not in [offered["name"] for offered in first.body["tools"]]
    (loaded,) = [offered for offered in last.body["tools"] if offered["name"] == RECALL]
    assert loaded["description"] == tools.TOOLS[0]["description"]
    assert loaded["input_schema"]["properties"] == tools.TOOLS[0]["inputSchema"]["properties"]


def test_the_status_is_that_of_the_session_that_asks(stub: StubApi, registered: Registered) -> None:
    """The client tells the server which one it began with."""
    built = SessionBuilder(str(registered.client.tmp / "s.jsonl"), SESSION)
    built.reply(104_000)
    state = SessionState(registered.data, SESSION)
    found = reading.measure(built.path, state, policy.load(registered.data, built.cwd))
    hook.publish(found, state)
    stub.script(tool(STATUS, {}, filled(1_000)), text("end"))

    run = registered.run("--session-id", SESSION)

    (told,) = results(run)
    assert told.startswith(f"[brimline context_status] Session {SESSION} (this session), read ")
    assert "In use: 104,000 of 200,000 tokens (52%)." in told


def test_after_clear_the_status_is_that_of_the_new_session(
    client: Client, stub: StubApi, registered: Registered
) -> None:
    """The server keeps running and is not told; it finds out."""
    # Rows are written a moment after a reply, which a real model takes longer for.
    slow = bash("sleep 1", filled(2_000))
    stub.script(text("FIRST-END"), slow, tool(STATUS, {}, filled(3_000)), text("LAST-END"))
    with client.interactive(args=["--mcp-config", str(registered.config)]) as live:
        live.ready()
        live.send_line("go")
        live.wait_for("FIRST-END")
        live.send_line("/clear")
        live.wait_for(lambda screen: "FIRST-END" not in screen)
        live.ready()
        live.send_line("more")
        live.wait_for("LAST-END")

    _, second = client.transcripts()
    told = _first_text(stub.requests("main")[-1].blocks("tool_result")[-1]["content"])
    assert f"Session {second.stem} (this session): unknown" in told


def test_the_server_does_not_outlive_its_client(stub: StubApi, registered: Registered) -> None:
    """One process for each, gone with it."""
    stub.script(tool(STATUS, {}, filled(1_000)), text("end"))

    registered.run()

    pid = int(registered.pid_file.read_text())
    deadline = time.monotonic() + _GONE_TIMEOUT_S
    while _runs(pid):
        assert time.monotonic() < deadline, "the server is still there"


def test_the_clients_own_command_registers_the_server(
    client: Client, stub: StubApi, registered: Registered
) -> None:
    """As the installer does it; without a configuration file of ours."""
    key = registered.store(b"registered by the client")
    add = [str(client.binary), "mcp", "add", "--scope", "user", "brimline", "--"]
    done = subprocess.run(
        [*add, *registered.program],
        cwd=client.project,
        env=client.env(),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    stub.script(tool(RECALL, {"key": key[:15]}, filled(1_000)), text("end"))

    run = client.run_print("go")

    assert results(run)[0].endswith("registered by the client")


def test_the_client_asks_its_user_unless_a_rule_allows_the_tool(
    client: Client, stub: StubApi, registered: Registered
) -> None:
    """Nobody is there to be asked in a printed run, so the call is refused."""
    key = registered.store(b"allowed by a rule")
    asked = ["--permission-mode", "default"]
    for allow in ([], [RECALL]):
        client.write_settings({"permissions": {"allow": allow}})
        stub.script(tool(RECALL, {"key": key}, filled(1_000)), text("end"))

        (found,) = results(registered.run(*asked))

        assert ("allowed by a rule" in found) is bool(allow)


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
