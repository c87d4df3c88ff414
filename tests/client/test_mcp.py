"""The MCP server in the real client: what is stored reaches the model through `recall`."""

from __future__ import annotations

import json
import os
import re
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import brimline
from brimline.bulk import put
from brimline.mcp import tools

from .stub_api import bash, filled, text, tool

if TYPE_CHECKING:
    from .harness import Client
    from .stub_api import Request, StubApi

RECALL, STATUS = "mcp__brimline__recall", "mcp__brimline__context_status"
SESSION = "7c1e90aa-0000-4000-8000-000000000001"
_ROOT = str(Path(brimline.__file__).parents[1])
_RUN = (
    "import os, sys; sys.path.insert(0, {root!r}); open({pid!r}, 'w').write(str(os.getpid())); "
    "from brimline.mcp.server import serve; serve()"
)
_GONE_TIMEOUT_S = 120


class Registered:
    """A client that knows our server."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.data = str(client.config / "brimline")
        self.pid_file = client.tmp / "server.pid"
        code = _RUN.format(root=_ROOT, pid=str(self.pid_file))
        self.config = client.home / "mcp.json"
        server = {"type": "stdio", "command": sys.executable, "args": ["-c", code]}
        document = {"mcpServers": {"brimline": server}}
        self.config.write_text(json.dumps(document), encoding="utf-8")

    def store(self, content: str) -> str:
        """Put an output of the client's project into its store."""
        about = {"cwd": str(self.client.project), "tool": "Bash"}
        return put.put(self.data, content.encode(), about)


@pytest.fixture
def registered(client: Client) -> Registered:
    """The client with our server in a configuration of its own."""
    return Registered(client)


def results(request: Request) -> list[str]:
    """The tool results of a request, each without what the client adds in blocks of its own."""
    contents = [block["content"] for block in request.blocks("tool_result")]
    # The client ends a text with a line break where it adds one of its own.
    return [
        content if isinstance(content, str) else content[0].get("text", "").removesuffix("\n")
        for content in contents
    ]


def test_what_is_stored_comes_back(client: Client, stub: StubApi, registered: Registered) -> None:
    """By key and by query, though the schema comes on demand; the largest answers whole.

    The instructions are in the first request, and the server is gone with its client.
    """
    content = "first line\n\tsecond: grün 東京 𝄞\n" + "x" * 20_000 + "\nneedle at the end"
    key = registered.store(content)
    large = [registered.store(words) for words in ("0123456789\n" * 20_000, "𝄞" * 100_000)]
    stub.script(
        tool(RECALL, {"key": key}, filled(1_000)),
        tool(RECALL, {"query": "needle"}, filled(2_000)),
        tool(RECALL, {"key": "../../x"}, filled(3_000)),
        *[tool(RECALL, {"key": one}, filled(4_000)) for one in large],
        tool(STATUS, {}, filled(5_000)),
        tool("ToolSearch", {"query": f"select:{RECALL}"}, filled(6_000)),
        text("end"),
    )

    args = ["--mcp-config", str(registered.config), "--session-id", SESSION]
    run = client.run_print("go", args=args)

    assert run.rc == 0, run.stderr
    by_key, by_query, failed, plain, rare, told, _ = results(run.requests[-1])
    assert by_key == f"[brimline recall {key[:19]} (Bash): all 4 lines]\n{content}"
    assert "[brimline recall: hits 1-1 of 1 that hold 'needle']" in by_query
    assert "4: needle at the end" in by_query
    assert "is not a key" in failed
    for found in (plain, rare):
        # Also of characters that count twice; the client puts nothing into a file.
        assert found.startswith("[brimline recall sha256:")
        assert "next: lines=" in found.partition("\n")[0]
        assert 25_000 < len(found.encode("utf-16-le")) // 2 <= 30_000
    assert told.startswith(f"[brimline context_status] Session {SESSION} (this session):\n")
    # Without the mod, a request is known once its row is written, which may be some calls later.
    assert re.search(r"in use: [1-5],000 of 200,000 tokens", told)
    first, last = run.requests[0], run.requests[-1]
    assert tools.INSTRUCTIONS in first.seen_text()
    assert RECALL not in [offered["name"] for offered in first.body["tools"]]
    (loaded,) = [offered for offered in last.body["tools"] if offered["name"] == RECALL]
    assert loaded["description"] == tools.TOOLS[0]["description"]
    assert loaded["input_schema"]["properties"] == tools.TOOLS[0]["inputSchema"]["properties"]
    deadline = time.monotonic() + _GONE_TIMEOUT_S
    while _runs(int(registered.pid_file.read_text())):
        assert time.monotonic() < deadline, "the server is still there"


def test_after_clear_the_status_is_that_of_the_new_session(
    client: Client, stub: StubApi, registered: Registered
) -> None:
    """The server keeps running and is not told; it finds out."""
    # Rows are written a moment after a reply, which a real model takes longer for.
    slow = bash("sleep 1", filled(2_000))
    stub.script(text("FIRST-END"), slow, tool(STATUS, {}, filled(3_000)), text("LAST-END"))
    with client.interactive(args=["--mcp-config", str(registered.config)]) as live:
        live.say("go", "FIRST-END")
        live.say("/clear")
        live.wait_for(lambda screen: "FIRST-END" not in screen)
        live.say("more", "LAST-END")

    _, second = client.transcripts()
    told = results(stub.requests("main")[-1])[-1]
    assert f"Session {second.stem} (this session):\n" in told
    assert re.search(r"in use: [23],000 of 200,000 tokens", told)


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
