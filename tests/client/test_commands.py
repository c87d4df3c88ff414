"""Slash commands and the MCP registration in the real client."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from brimline.hooks import slashcommands

from .own_environment import OwnEnvironment
from .stub_api import bash, filled, text

if TYPE_CHECKING:
    from .harness import Client
    from .stub_api import StubApi

NAMES = [command.name for command in slashcommands.ANSWERED]
# What each command's answer holds, in a session whose last result was large.
ANSWERS = {
    "status": "31,000",
    "history": "session",
    "pin": "pinned",
    "unpin": "no longer pinned",
    "recall zebra": "zebra",
    "checkpoint": "heckpoint",
    "purge": "Nothing to purge",
    "off": "silent",
    "on": "at work",
}


@pytest.fixture
def here(client: Client) -> OwnEnvironment:
    """brimline installed for the user, the client on PATH; no mod, which has its own commands."""
    made = OwnEnvironment(client)
    made.install("--no-mod")
    return made


@pytest.mark.row("S3-65", "S3-58", "S3-41")
def test_commands_make_no_request_nor_stay(
    client: Client, stub: StubApi, here: OwnEnvironment
) -> None:
    """In `-p`: each is offered and answered, none reaches the model, the next request has none."""
    assert {words.split()[0] for words in ANSWERS} == set(NAMES)
    stub.script(bash("seq -f 'line %05g of a large result' 1 2000", filled(30_000)))
    stub.script(text("end", filled(31_000)), text("done"))

    begun, (_, *told, _) = client.converse(
        *("go", *[f"/brim:{words}" for words in ANSWERS], "go on"),
        args=["--permission-mode", "default"],
    )

    assert {f"brim:{name}" for name in [*NAMES, "card"]} <= set(begun["slash_commands"])
    assert [answer in found for found, answer in zip(told, ANSWERS.values(), strict=True)] == (
        [True] * len(ANSWERS)
    )
    assert len(stub.requests("main")) == 3
    assert "brim:" not in json.dumps([request.body for request in stub.requests()])
    assert "pinned" not in json.dumps(stub.requests("main")[-1].messages)
    # The server that was registered with it is connected, and the model offered its tools.
    servers = {server["name"]: server["status"] for server in begun["mcp_servers"]}
    assert servers == {"brimline": "connected"}
    assert "mcp__brimline__recall" in begun["tools"]
    assert here.errors() == ""


def test_commands_on_the_screen(client: Client, stub: StubApi, here: OwnEnvironment) -> None:
    """In the interactive client: the text as we broke it; no request is made, nothing stays."""
    stub.script(text("hi there", filled(43_210)), text("all done", filled(43_300)))
    shown = ANSWERS | {"status": "156,770 tokens left", "pin": "no large", "unpin": "no large"}
    with client.interactive(columns=80) as screen:
        screen.say("hello", "hi there")
        before = len(stub.requests("main"))
        for words, answer in shown.items():
            screen.send_line(f"/brim:{words}")
            screen.wait_for(answer)
            assert len(stub.requests("main")) == before, words
        screen.say("go on", "all done")

    assert "brim:" not in json.dumps(stub.requests("main")[-1].messages)
    assert here.errors() == ""


def test_off_is_silent_and_on_is_not(client: Client, stub: StubApi, here: OwnEnvironment) -> None:
    """In this session the model sees every result whole; then again not.

    Where no hook answers, the file's text reaches the model, and names the shell command.
    """
    lines, rows = (bash(f"seq -f '{word} %05g' 1 2000", filled(2_000)) for word in ("line", "row"))
    stub.script(text("end"), lines, text("end"), rows, text("end"))

    client.converse("go", "/brim:off", "list", "/brim:on", "list")
    silent = client.run_print("/brim:status", args=["--settings", '{"disableAllHooks": true}'])

    seen = json.dumps(stub.requests("main")[-2].body)
    assert "line 01000" in seen
    assert "row 01000" not in seen
    assert "brimline status --session" in json.dumps(silent.requests[-1].messages[-1])


def test_the_server_is_registered_by_the_client_itself_and_goes_with_the_commands(
    client: Client, stub: StubApi, here: OwnEnvironment
) -> None:
    """Once; another interpreter anew, for which the old one is removed first."""
    state = client.config / ".claude.json"

    def registered() -> object:
        return json.loads(state.read_bytes())["mcpServers"].get("brimline")

    args = ["-I", "-m", "brimline", "mcp", "--data", str(here.data)]
    args += ["--home", str(client.home), "--client", str(client.config)]
    wanted = {"type": "stdio", "command": str(here.python), "args": args, "env": {}}
    assert registered() == wanted
    again = here.report("install", "--yes", "--no-mod")
    assert (again["changed"], again["client_calls"], again["to_do"]) == (False, [], [])
    here.claude("mcp", "remove", "-s", "user", "brimline")
    here.claude("mcp", "add", "-s", "user", "brimline", "--", "/old/py", "-m", "brimline", "mcp")

    done = here.report("install", "--yes", "--no-mod")
    assert [line.split()[2] for line in done["client_calls"]] == ["remove", "add"]
    assert registered() == wanted
    out = here.report("uninstall", "--yes")
    assert out["client_calls"] == ["claude mcp remove -s user brimline"]
    assert registered() is None
    begun, _ = client.converse("hello")
    assert not [name for name in begun["slash_commands"] if name.startswith("brim:")]
    assert not (client.config / "commands").exists()
