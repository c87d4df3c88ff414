"""The pane and the notice in the real client, and that every door shows the same figures."""

from __future__ import annotations

import html
import json
import re
import threading
from typing import TYPE_CHECKING, Any

from tests.mcp.conversation import HELLO, RUN, Server

from brimline.gauge import wording

from .modded import answer_with
from .stub_api import bash, filled, held, text, tool

if TYPE_CHECKING:
    from pathlib import Path

    from .brimline_home import Installed
    from .harness import Client
    from .stub_api import StubApi

MODEL = "claude-sonnet-4-6"
STATUS = "mcp__brimline__context_status"


def asked(installed: Installed) -> list[str]:
    """What the mod asked Python for; from now on it is written down."""
    log = installed.data / "asked"
    if not log.exists():
        log.write_text("")
        launcher = installed.data / "bin" / "hook"
        answer_with(
            installed, "/bin/sh", "-c", f'echo "$1" >>{log}; exec {launcher} mod "$1"', "sh"
        )
    return log.read_text(encoding="utf-8").split()


def server_of(installed: Installed) -> list[str]:
    """The client's arguments that register our server."""
    path = installed.data / "mcp.json"
    program, *arguments = [*installed.program, "mcp"]
    server = {"type": "stdio", "command": program, "args": arguments}
    path.write_text(json.dumps({"mcpServers": {"brimline": server}}), encoding="utf-8")
    return ["--mcp-config", str(path)]


def told_by_server(installed: Installed, session_id: str) -> str:
    """What the tool answers to whoever asks now, in the client's environment."""
    env = installed.client.env({"CLAUDE_CODE_SESSION_ID": session_id})
    with Server(code=f"import os; os.environ.clear(); os.environ.update({env!r}); {RUN}") as server:
        server.ask("initialize", HELLO)
        answer = server.ask("tools/call", {"name": "context_status", "arguments": {}})
    return str(answer["result"]["content"][0]["text"])


def pane_of(screen: str) -> str:
    """The words of a pane that is docked at the right."""
    lines = [line.partition("│")[2] for line in screen.splitlines()]
    return " ".join(" ".join(lines).split())


def check_pane(shown: str, report: dict[str, Any]) -> None:
    """The pane has the figures of `status`, in its words."""
    assert wording.in_use_text(report) in shown
    assert wording.next_request_text(report) in shown
    assert f"{wording.ending_at_text(report)}, {wording.margin_left_text(report)}" in shown
    assert wording.requests_left_text(report) in shown
    assert f"What the {report['occupancy_tokens']:,} tokens are" in shown


def test_every_door_shows_the_same_figures(
    client: Client, stub: StubApi, installed: Installed, tmp_path: Path
) -> None:
    """Status line, `status`, the tool of the server, pane and page, to the token.

    The pane follows each request, and once it is closed nothing is asked for it. Where nobody is
    at a screen it is a text.
    """
    calls = [bash("true", filled(40_001)), bash("true", filled(80_002))]
    stub.script(*calls, tool(STATUS, {}, filled(101_234)), text("ANSWER-ONE", filled(123_457)))
    stub.script(text("ANSWER-TWO", filled(131_313)), text("ANSWER-THREE", filled(135_555)))
    asked(installed)
    with client.interactive(model=MODEL, columns=140, args=server_of(installed)) as live:
        live.say("go", "ANSWER-ONE")
        assert "pane" not in asked(installed)
        (transcript,) = client.transcripts()
        # The client writes a row a moment after it has drawn it.
        live.wait_until(lambda: "ANSWER-ONE" in transcript.read_text(encoding="utf-8"))
        live.say("/brim-pane")
        shown = pane_of(live.wait_for("What the 123,457 tokens are"))
        report = installed.status(transcript.stem)
        parts = wording.status_line_parts_by_name(report)
        live.wait_for(lambda screen: parts["distance"] in screen and parts["used"] in screen)
        kept = installed.data / "sessions" / transcript.stem / "statusline.json"
        assert json.loads(kept.read_bytes())["occupancy_tokens"] == 123_457

        check_pane(shown, report)
        told = told_by_server(installed, transcript.stem)
        assert told.splitlines()[1:] == [
            f"{heading}: {text}" for heading, text in wording.status_rows(report)
        ]
        page = tmp_path / "page.html"
        assert installed.command("report", transcript.stem, "-o", str(page)).returncode == 0
        assert wording.status_sentence(report) in html.unescape(page.read_text(encoding="utf-8"))

        live.say("more", "ANSWER-TWO")
        shown = pane_of(live.wait_for("What the 131,313 tokens are"))
        check_pane(shown, installed.status(transcript.stem))
        live.say("/brim-pane")
        live.wait_for(lambda screen: "How it filled" not in screen)
        before = asked(installed).count("pane")
        live.say("again", "ANSWER-THREE")
        live.wait_for("68% of 200k window")
        assert asked(installed).count("pane") == before

    results = stub.requests("main")[3].results()
    (called,) = [found for found in results if found.startswith("[brimline context_status]")]
    # Until Python has told where the session's files are, the row of this call may not be there.
    assert re.search("in use: (80,002|101,234) of 200,000 tokens", called)
    assert "brim-pane" not in stub.requests("main")[-1].seen_text()
    printed = client.run_print("/brim-pane", args=["--resume", transcript.stem])
    assert "135,555 of 200,000 tokens (68%)" in printed.stdout
    assert printed.requests == []
    assert installed.errors() == ""


def test_a_tier_is_a_line_above_the_prompt_until_the_next_request_is_answered(
    client: Client, stub: StubApi, installed: Installed
) -> None:
    """It fits a screen of 80 columns, as the pane does, which stands above the prompt there."""
    gate = threading.Event()
    stub.script(bash("true", filled(60_000)), bash("true", filled(120_000)))
    stub.script(held(text("ANSWER-ONE", filled(125_000)), gate))
    installed.command("config", "set", "guard.velocity_points", "0")
    with client.interactive(model=MODEL, columns=80) as live:
        live.say("go")
        screen = live.wait_for("from here on tier L1")
        (line,) = [line for line in screen.splitlines() if "from here on" in line]
        assert line.startswith("brimline: ")
        assert " tokens to compaction; from here on tier L1" in line
        gate.set()
        live.wait_for(lambda screen: "ANSWER-ONE" in screen and "from here on" not in screen)
        live.say("/brim-pane", "125,000 of 200,000", "What the 125,000 tokens are")
        # The pane takes the room above the prompt, so it shows what a command answers.
        live.say("/brim-status", "Session ", "125,000 of 200,000", "compactions   0 so far")
        assert "How it filled" not in live.text
        live.say("/brim-recall 0123456789ab", "is not in the store", "file again")
        live.say("/brim-pane", "How it filled")
        # Until the next request it is an estimate, and every door says so.
        live.say(
            "/compact", "estimated: no model request since", "from 125,020 tokens, by a summary"
        )
        live.wait_for(lambda screen: "What the" not in screen)
        assert " 125,000 " not in live.text

    assert installed.errors() == ""


def test_an_open_pane_ends_each_turn_with_its_last_request(
    client: Client, stub: StubApi, installed: Installed
) -> None:
    """Also where the reply's row is in the file only after the turn, as with instant replies."""
    stub.script(text("HELLO", filled(30_000)))
    with client.interactive(model=MODEL, columns=140) as live:
        live.say("hi", "HELLO")
        live.say("/brim-pane", "30,000 of 200,000")
        for tokens in range(31_000, 41_000, 1_000):
            stub.script(bash("true", filled(tokens - 500)), text(f"END-{tokens}", filled(tokens)))
            live.say("go", f"END-{tokens}", f"{tokens:,} of 200,000")

    assert installed.errors() == ""
