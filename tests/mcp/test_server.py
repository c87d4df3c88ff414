"""The server as a process: the protocol on real pipes, bad input, two at once, and its end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from mcp.client import Client
from tests.recall.worlds import SESSION, recorded

from brimline import __version__
from brimline.bulk import put
from brimline.mcp import tools
from mcp import MCPError, StdioServerParameters, stdio_client

from .conversation import PACKAGES, RUN, Server

if TYPE_CHECKING:
    from pathlib import Path

NAMES = ["recall", "recall_elsewhere", "remember", "context_status", "note", "context_budget"]

# Prints the modules that are loaded, and whether our folder exists, when the client is answered.
SPY = """
import os, sys
sys.path.insert(0, {root!r})
from brimline.mcp import server
server.reply({{"method": "initialize", "params": {{"protocolVersion": "2025-06-18"}}}})
ours = sorted(name for name in sys.modules if name.startswith("brimline"))
files = [str(getattr(module, "__file__", "")) for module in sys.modules.values()]
foreign = [file for file in files if "site-packages" in file]
print(*ours, "|", *foreign, "|", os.path.exists(os.environ["BRIMLINE_HOME"]), sep=" ")
"""


def test_the_server_introduces_itself_and_its_tools(home_dir: str) -> None:
    """Before anything of ours exists, and without creating it, also when they are called."""
    with Server() as process:
        hello = process.hello()
        listed = process.ask("tools/list")["result"]["tools"]
        recalled = process.call("recall", query="word")
        status, failed = process.call("context_status")
        code, err = process.end()

    assert hello["serverInfo"] == {"name": "brimline", "version": __version__}
    assert hello["instructions"] == tools.INSTRUCTIONS
    assert [tool["name"] for tool in listed] == NAMES
    assert [tool["inputSchema"] for tool in listed] == [t["inputSchema"] for t in tools.TOOLS]
    told = "[brimline recall: no output of this project is stored yet]"
    assert recalled == (told, False)
    assert (status.startswith("[brimline context_status]"), failed) == (True, False)
    assert (code, err) == (0, b"")
    assert not os.path.exists(home_dir)


def test_little_is_loaded_before_the_first_call() -> None:
    """Nothing but the standard library, and of ours only what describes the tools."""
    code = SPY.format(root=PACKAGES)
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )

    ours, foreign, is_made = done.stdout.split("|")
    rooms = {name.split(".")[1] for name in ours.split() if "." in name}
    assert rooms == {"errors", "fast", "mcp", "settings"}
    assert (foreign, is_made.strip()) == (" ", "False")


@pytest.mark.parametrize(("mode", "revision"), [("legacy", "2025-11-25"), ("auto", "2026-07-28")])
def test_the_official_client_finds_the_tools_and_calls_them(
    mode: str, revision: str, home_dir: str
) -> None:
    """It checks every answer against the protocol; one that it gave up does not come."""
    started = StdioServerParameters(
        command=sys.executable, args=["-c", RUN], env={**os.environ, "PYTHONPATH": PACKAGES}
    )

    async def converse() -> None:
        async with Client(stdio_client(started), mode=mode) as client:
            assert client.protocol_version == revision
            assert client.server_info
            assert client.server_info.version == __version__
            assert client.instructions == tools.INSTRUCTIONS
            assert [tool.name for tool in (await client.list_tools()).tools] == NAMES
            noted = await client.call_tool("note", {"text": "use zlib"})
            failed = await client.call_tool("note", {})
            assert (noted.is_error, failed.is_error) == (False, True)
            with pytest.raises(MCPError, match="Method not found"):
                await client.list_prompts()

    anyio.run(converse)


def test_a_call_that_is_taken_back_is_not_answered(home_dir: str, project_dir: str) -> None:
    """The client waits for it no longer, and others are answered."""
    for number in range(60):
        put.put(home_dir, b"needle %d\n" % number + b"hay\n" * 40_000, {"cwd": project_dir})
    with Server(cwd=project_dir) as process:
        process.hello()
        slow = process.send("tools/call", {"name": "recall", "arguments": {"query": "needle"}})
        notice = {"method": "notifications/cancelled", "params": {"requestId": slow}}
        process.write(json.dumps({"jsonrpc": "2.0"} | notice).encode())
        number = process.send("tools/call", {"name": "context_status", "arguments": {}})
        answered, _ = process.process.communicate(timeout=60)

    assert [json.loads(line)["id"] for line in answered.splitlines()] == [number]


def test_a_projects_variables_do_not_act_before_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """One has the interpreter import what it names, the other has click answer instead of us."""
    monkeypatch.setenv("_PYTHON_SYSCONFIGDATA_NAME", "a_module_of_the_projects_choice")
    monkeypatch.setenv("_BRIMLINE_COMPLETE", "bash_source")
    run = "import sys; sys.argv = ['brimline', 'mcp']; from brimline.cli.main import main; main()"
    with Server(code=run) as process:
        hello = process.hello()

    assert hello["serverInfo"]["name"] == "brimline"


MALFORMED = (
    b"{not json",
    b"",
    b"[]",
    b"null",
    b"\xff\xfe\x00",
    b'{"jsonrpc":"2.0","id":7}',
    b'{"jsonrpc":"1.0","id":7,"method":"ping"}',
    b'{"jsonrpc":"2.0","method":"notifications/unheard_of"}',
    b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":[1]}}',
    b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":[1]}',
    b'{"jsonrpc":"2.0","id":7,"method":"initialize","params":null}',
    b"[" * 10_000,
    b'{"jsonrpc":"2.0","method":"notifications/x","params":{"a":"' + b"x" * 2_000_000 + b'"}}',
)
WRONG: tuple[dict[str, Any], ...] = (
    {"name": "recall", "arguments": {}},
    {"name": "recall", "arguments": {"key": "../../../etc/passwd"}},
    {"name": "recall", "arguments": {"key": {"a": 1}}},
    {"name": "recall"},
    {"name": "no_such_tool" * 99, "arguments": {}},
)


def test_malformed_input_does_not_end_the_server(home_dir: str) -> None:
    """The next request is answered as if nothing had happened."""
    with Server() as process:
        process.hello()
        for line in MALFORMED:
            process.write(line)
            number = process.send("ping")
            message = process.read()
            while message.get("id") != number:
                assert "error" in message, line[:80]
                message = process.read()
            assert message["result"] == {}, line[:80]

        assert process.end()[0] == 0


def test_bad_arguments_are_answered_in_one_line(home_dir: str) -> None:
    """As the tool's own failure, which the model sees."""
    with Server() as process:
        process.hello()
        for params in WRONG:
            result = process.ask("tools/call", params)["result"]

            assert result["isError"], params
            assert "\n" not in result["content"][0]["text"]
            assert len(result["content"][0]["text"]) < 200
            assert "Traceback" not in json.dumps(result)


def test_calls_are_answered_while_another_one_runs(home_dir: str, project_dir: str) -> None:
    """One that has much to take in holds nobody up."""
    for number in range(60):
        put.put(home_dir, b"needle %d\n" % number + b"hay\n" * 40_000, {"cwd": project_dir})
    with Server(cwd=project_dir) as process:
        process.hello()
        process.ask("tools/call", {"name": "context_status", "arguments": {}})
        slow = process.send("tools/call", {"name": "recall", "arguments": {"query": "needle"}})
        quick = process.send("tools/call", {"name": "context_status", "arguments": {}})
        answers = [process.read(), process.read()]

    assert [answer["id"] for answer in answers] == [quick, slow]
    assert not answers[1]["result"]["isError"]


def test_the_server_is_gone_when_its_input_closes(home_dir: str) -> None:
    """Also before it was ever spoken to, and in the middle of a line."""
    with Server() as silent:
        assert silent.end() == (0, b"")
    with Server() as torn:
        assert torn.process.stdin is not None
        torn.process.stdin.write(b'{"jsonrpc":"2.0","id":1,"met')
        assert torn.end()[0] == 0


def test_the_clients_goodbye_ends_the_server_without_a_word(home_dir: str) -> None:
    """It sends SIGINT first; a traceback would be noise in its log."""
    with Server() as process:
        process.hello()
        process.process.send_signal(signal.SIGINT)
        code, err = process.end()

    assert (code, err) == (-signal.SIGINT, b"")


def test_the_server_works_in_the_project_of_the_session_that_asks(
    home_dir: str, world: Path, project_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever a variable says, by key and by query; another's session gives nothing."""
    content = "one\nneedle 東京\n"
    key = put.put(home_dir, content.encode(), {"cwd": project_dir})
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(world))
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", SESSION)
    recorded(project_dir).prompt("go")

    with Server(cwd=str(world / "home")) as server:
        server.hello()
        for asked in ({"query": "needle"}, {"key": key}):
            told, failed = server.call("recall", **asked)
            assert failed
            assert told == f"the session began in {project_dir}, this server in {world / 'home'}"
    with Server(cwd=project_dir) as server:
        server.hello()
        by_query = server.call("recall", query="needle")
        by_key = server.call("recall", key=key)

    assert "hits 1-1 of 1" in by_query[0]
    assert not by_query[1]
    assert by_key == (f"[brimline recall {key[:19]}: all 2 lines]\none\nneedle 東京", False)
