"""The real client behind `brimline run`: it goes on as if nothing stood between it and the API."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from brimline.bulk import stub as stubs
from brimline.carry import card
from brimline.mcp import tools

from . import stub_api
from .harness import MODEL, InteractiveClient, PrintResult, _parsed
from .test_mcp import Registered

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from .brimline_home import Installed
    from .harness import Client
    from .stub_api import Request, StubApi

SOURCE = "\n".join(f"def part_{n}(value_{n}): return table_{n}[value_{n}]" for n in range(150))
LOG = "\n".join(f"2026-01-08 12:00:{n % 60:02d} request {n} served" for n in range(400))


class Behind:
    """A client that is started by `brimline run`."""

    def __init__(self, client: Client, root: Path) -> None:
        self.client = client
        self.home = root / "brimline"
        folder = root / "bin"
        folder.mkdir()
        (folder / "claude").symlink_to(client.binary)
        self.path = f"{folder}:/usr/bin:/bin"

    def env(self) -> dict[str, str]:
        """The client's environment, with us in it."""
        own = {"PATH": self.path, "BRIMLINE_HOME": str(self.home)}
        # Every tool is offered by itself, so that no search for it comes first.
        return self.client.env(own | {"ENABLE_TOOL_SEARCH": "false"})

    def command(self, arguments: Sequence[str], *own: str, model: str = MODEL) -> list[str]:
        """What is typed."""
        bypass = ["--permission-mode", "bypassPermissions"]
        start = [sys.executable, "-m", "brimline", "run", *own, "--"]
        return [*start, *arguments, "--model", model, *bypass]

    def print(
        self, prompt: str, *args: str, own: Sequence[str] = (), model: str = MODEL
    ) -> PrintResult:
        """A printed run."""
        stub = self.client.stub
        before = len(stub.requests())
        command = self.command(["-p", prompt, "--output-format", "json", *args], *own, model=model)
        done = subprocess.run(
            command,
            cwd=self.client.project,
            env=self.env(),
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        result = _parsed(done.stdout)
        transcript = self.client._transcript_of(result)
        requests = stub.requests()[before:]
        return PrintResult(done.returncode, done.stdout, done.stderr, result, requests, transcript)

    def files(self, ending: str, contents: Sequence[str]) -> list[Path]:
        """Files in the project."""
        found = [self.client.project / f"f{n}.{ending}" for n in range(len(contents))]
        for path, content in zip(found, contents, strict=True):
            path.write_text(content)
        return found

    def live(self, *args: str) -> InteractiveClient:
        """A session on a terminal."""
        accept = ["--settings", '{"skipDangerousModePermissionPrompt": true}']
        command = self.command([*accept, *args])
        return InteractiveClient(command, self.env(), self.client.project, 160)


@pytest.fixture
def behind(client: Client, tmp_path: Path) -> Behind:
    """A client with `brimline run` before it."""
    return Behind(client, tmp_path)


def results(request: Request) -> list[str]:
    """The tool results of a request."""
    return [json.dumps(block["content"]) for block in request.blocks("tool_result")]


def is_prefix(shorter: Request, longer: Request) -> bool:
    """Whether a request begins with all that another says."""
    said = [_plain(request) for request in (shorter, longer)]
    return said[1][: len(said[0])] == said[0]


def _plain(request: Request) -> list[Any]:
    found: list[Any] = []
    for message in request.messages:
        content = message["content"]
        parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
        plain = [{k: v for k, v in part.items() if k != "cache_control"} for part in parts]
        found += [(message["role"], part) for part in plain]
    return found


@pytest.mark.row("S3-77", "S3-78")
def test_a_run_uses_tools_streams_and_ends_with_the_clients_code(
    behind: Behind, stub: StubApi
) -> None:
    """Bulk arrives as a preview; nothing is left."""
    (behind.client.project / "log.txt").write_text(LOG * 2)
    stub.script(
        stub_api.bash("echo before"),
        stub_api.tool("Read", {"file_path": str(behind.client.project / "log.txt")}),
        stub_api.text("READ-IT"),
    )
    done = behind.print("Look at the log.", own=["--compact-pct", "70"])

    assert done.rc == 0, done.stderr
    assert done.result
    assert done.result["result"] == "READ-IT"
    main = [request for request in done.requests if request.kind == "main"]
    assert "[brimline stored " in results(main[-1])[-1]
    assert is_prefix(main[1], main[2])
    assert not [name for name in os.listdir(behind.client.tmp) if "brimline" in name]


def test_what_a_failed_command_said_is_shown_and_then_let_go(behind: Behind, stub: StubApi) -> None:
    """No hook can reach it; the client cuts it to 10,000 characters itself."""
    (behind.client.project / "log.txt").write_text(LOG * 2)
    stub.script(stub_api.bash("cat log.txt; exit 3"))
    rest = (stub_api.bash(f"sleep 0.{n}") for n in range(5))
    stub.script(*rest, stub_api.bash("echo on", stub_api.filled(970_000)), stub_api.text("ON"))
    done = behind.print("Look at the log.")

    _, first, *_, last = done.main
    failed = [request.blocks("tool_result")[0] for request in (first, last)]
    assert [one["is_error"] for one in failed] == [True, True]
    assert 8_000 < len(first.results()[0]) < 12_000
    assert "[brimline stored " not in first.results()[0]
    assert "recall sha256:" in last.results()[0]


def test_bedrock_and_vertex_are_refused_with_a_sentence(behind: Behind, stub: StubApi) -> None:
    """Also where the client's own settings name them."""
    behind.client.write_settings({"env": {"CLAUDE_CODE_USE_BEDROCK": "1"}})

    done = behind.print("Hello")

    assert done.rc == 1
    assert "CLAUDE_CODE_USE_BEDROCK is set" in done.stderr
    assert not stub.requests()


def test_neither_a_proxy_nor_an_unread_project_gets_what_is_for_the_service(
    behind: Behind, stub: StubApi
) -> None:
    """Everything but the service is behind a proxy, and the project names another service."""
    port = stub.url.rsplit(":", 1)[1]
    nowhere = {"ANTHROPIC_BASE_URL": "http://127.0.0.1:9", "NO_PROXY": ""}
    behind.client.write_settings({"env": nowhere}, "project")
    behind.client.write_settings({"env": {"NO_PROXY": f"127.0.0.1:{port}", "no_proxy": ""}})
    stub.script(stub_api.text("SERVED"))

    done = behind.print("Hello", "--setting-sources", "user")

    assert done.result
    assert done.result["result"] == "SERVED"


@pytest.mark.row("S2-13")
def test_a_session_that_the_api_refuses_goes_on(behind: Behind, stub: StubApi) -> None:
    """Layer 4: the client never hears of it, so that it does not compact."""
    for n in range(6):
        (behind.client.project / f"m{n}.py").write_text(SOURCE.replace("part_", f"part_{n}_"))
        stub.script(stub_api.tool("Read", {"file_path": str(behind.client.project / f"m{n}.py")}))
    stub.script(stub_api.too_long(60_000, 30_000), stub_api.text("WENT-ON"))

    done = behind.print("Read all modules.")

    assert done.result
    assert done.result["result"] == "WENT-ON"
    main = [request for request in done.requests if request.kind == "main"]
    refused, shorter = main[-2:]
    assert len("".join(results(shorter))) < len("".join(results(refused))) / 2
    assert not [request for request in done.requests if request.kind == "compaction"]


@pytest.mark.row("S2-18")
def test_a_compaction_request_is_as_short_as_the_conversation(
    behind: Behind, stub: StubApi
) -> None:
    """It gets what stands in already, so that it shares the prefix, and nothing new."""
    (behind.client.project / "log.txt").write_text(LOG * 6)
    stub.script(
        stub_api.tool("Read", {"file_path": str(behind.client.project / "log.txt")}),
        stub_api.bash("echo on"),
        stub_api.bash("echo and on", stub_api.filled(970_000)),
        stub_api.text("AFTER"),
    )
    done = behind.print("Read the log.", model="claude-opus-5")

    (compaction,) = [request for request in done.requests if request.kind == "compaction"]
    main = [request for request in done.requests if request.kind == "main"]
    assert "[brimline stored " in results(compaction)[0]
    assert results(compaction)[0] == results(main[1])[0]
    assert _plain(compaction)[:3] == _plain(main[1])[:3]


def test_a_conversation_beyond_the_window_is_compacted_from_what_was_sent(
    behind: Behind, stub: StubApi
) -> None:
    """300,000 tokens as the client holds them: its compaction request fits, and hits the cache."""
    bulk = behind.files("log", [f"{n} {(LOG * 2)[:26_500]}" for n in range(28)])
    kept = behind.files("py", [SOURCE.replace("part_", f"part_{n}_") * 2 for n in range(20)])
    read = bulk + kept
    for start in range(0, len(read), 4):
        calls = [("Read", {"file_path": str(path)}) for path in read[start : start + 4]]
        stub.script(replace(stub_api.tools(*calls), usage={}))
    done = behind.print("Read all.", own=["--compact-pct", "70"])

    kinds = [request.kind for request in done.requests if request.kind != "count_tokens"]
    assert kinds.count("compaction") == 1, kinds
    (compaction,) = stub.requests("compaction")
    before = done.main[kinds.index("compaction") - 1]
    whole = sum(path.stat().st_size for path in read[: len(before.results())])
    assert whole // 3 > 300_000
    assert stub_api.measured(before.body) < 150_000
    assert stub_api.measured(compaction.body) < 200_000
    assert is_prefix(before, compaction)


def test_a_resumed_and_a_forked_session_get_the_same_bytes(behind: Behind, stub: StubApi) -> None:
    """Each is behind a gateway of its own."""
    (behind.client.project / "log.txt").write_text(LOG * 2)
    stub.script(
        stub_api.tool("Read", {"file_path": str(behind.client.project / "log.txt")}),
        stub_api.text("ONE"),
    )
    first = behind.print("Read the log.")
    assert first.result
    session = first.result["session_id"]
    stub.script(stub_api.text("TWO"), stub_api.text("THREE"))
    second = behind.print("Go on.", "--resume", session)
    third = behind.print("Go on.", "--resume", session, "--fork-session")

    before = [request for request in first.requests if request.kind == "main"][-1]
    assert "[brimline stored " in results(before)[0]
    for later in (second, third):
        (request,) = [one for one in later.requests if one.kind == "main"]
        assert is_prefix(before, request)


def test_a_subagent_has_a_conversation_of_its_own(behind: Behind, stub: StubApi) -> None:
    """Its bulk is kept out too."""
    (behind.client.project / "log.txt").write_text(LOG * 2)
    read = {"file_path": str(behind.client.project / "log.txt")}
    stub.script(
        stub_api.tool(
            "Agent", {"description": "d", "prompt": "p", "subagent_type": "general-purpose"}
        ),
        stub_api.text("ALL-DONE"),
    )
    stub.script_subagents(stub_api.tool("Read", read), stub_api.text("SEEN"))

    done = behind.print("Let an agent read the log.")

    agent = [request for request in done.requests if request.kind == "subagent"]
    assert "[brimline stored " in results(agent[-1])[0]


def test_with_hooks_and_the_mcp_server_each_effect_comes_once(
    behind: Behind, stub: StubApi, installed: Installed
) -> None:
    """What a hook replaced the gateway leaves alone, and it takes what no hook can reach.

    What was recalled is shown; instructions and the card come once.
    """
    behind.home = installed.data
    (behind.client.project / "log.txt").write_text(log := (LOG * 2)[:27_000])
    stub.script(
        stub_api.bash("cat log.txt"),
        stub_api.agent(),
        stub_api.tool("mcp__brimline__recall", {"query": "request 250 served"}),
        stub_api.bash("echo on", stub_api.filled(970_000)),
        stub_api.text("AFTER"),
    )
    stub.script_subagents(stub_api.bash("cat log.txt"), stub_api.text("SEEN"))
    server = ["--mcp-config", str(Registered(behind.client).config)]
    done = behind.print("Read the log.", *server, model="claude-opus-5")

    (compaction,) = stub.requests("compaction")
    *_, before, after = done.main
    by_hook, _, recalled = before.results()[:3]
    (by_gateway,) = stub.requests("subagent")[-1].results()
    for shown in (by_hook, by_gateway):
        assert shown.count("[brimline") == 1
        assert "request 250 served" not in shown
        reference = stubs.first_reference_in(shown)
        assert reference
        assert installed.command("store", "get", reference.key).stdout.decode() == log
    assert "request 250 served" in recalled
    assert before.seen_text().count(tools.INSTRUCTIONS) == 1
    assert compaction.seen_text().count(card.INSTRUCTIONS) == 1
    assert after.seen_text().count(card.OPENING) == 1
    assert not installed.errors()


def test_a_live_session_is_interrupted_cleared_and_left(behind: Behind, stub: StubApi) -> None:
    """Keys, /clear, /context: the terminal is the client's; its exit code is ours."""
    gate = threading.Event()
    stub.script(stub_api.held(stub_api.text("SLOW"), gate), stub_api.text("AFTER-CLEAR"))
    with behind.live() as live:
        live.ready()
        live.send_line("say something slowly")
        live.wait_for("SLOW")
        live.send_keys("\x1b")
        live.wait_for("Interrupted")
        gate.set()
        live.ready()
        live.send_line("/clear")
        live.wait_for(lambda screen: "SLOW" not in screen)
        live.ready()
        live.send_line("and now")
        live.wait_for("AFTER-CLEAR")
        live.send_line("/context")
        live.wait_until(lambda: bool(stub.requests("count_tokens")))
    assert "SLOW" not in stub.requests("main")[-1].seen_text()
