"""Slash commands and the MCP registration in the real client."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from brimline.slash import command_files

from .own_environment import OwnEnvironment
from .stub_api import bash, filled, text

if TYPE_CHECKING:
    from .harness import Client
    from .stub_api import StubApi

_STARTS = 4
NAMES = [command.name for command in command_files.ANSWERED]
BIG = "seq -f 'line %05g of a large result' 1 2000"
# What each command's answer holds, in a session whose last result was large.
ANSWERS = {
    "status": "31,000",
    "history": "session",
    "pin": "pinned",
    "pin next hard why not": "next large result",
    "unpin": "no longer pinned",
    "recall zebra": "zebra",
    "checkpoint": "heckpoint",
    "purge": "brimline session purge",
    "off": "silent",
    "on": "at work",
}


@pytest.fixture
def here(client: Client) -> OwnEnvironment:
    """brimline installed for the user, the client on PATH."""
    made = OwnEnvironment(client)
    made.install()
    return made


@pytest.mark.row("S3-65")
def test_every_command_is_offered_to_the_user_and_none_to_the_model(
    client: Client, stub: StubApi, here: OwnEnvironment
) -> None:
    """The client lists them for typing; no request mentions them."""
    stub.script(text("ok"))

    begun = here.beginning("hello")

    assert {f"brim:{name}" for name in [*NAMES, "card"]} <= set(begun["slash_commands"])
    assert "brim:pin" not in json.dumps([request.body for request in stub.requests()])


@pytest.mark.row("S3-65", "S3-58", "S3-41")
def test_commands_make_no_request_and_leave_nothing(
    client: Client, stub: StubApi, here: OwnEnvironment
) -> None:
    """In `-p`: each is answered, none reaches the model, and the next request knows of none."""
    assert {words.split()[0] for words in ANSWERS} == set(NAMES)
    stub.script(bash(BIG, filled(30_000)), text("end", filled(31_000)))
    first = client.run_print("go")
    assert first.result is not None
    resume = ["--resume", first.result["session_id"], "--permission-mode", "default"]
    before = len(stub.requests())

    for words, answer in ANSWERS.items():
        told = client.run_print(f"/brim:{words}", args=resume)
        assert answer in told.stdout, words

    assert len(stub.requests()) == before
    stub.script(text("done"))
    client.run_print("go on", args=resume)
    after = json.dumps(stub.requests()[-1].body["messages"])
    assert "brim:" not in after
    assert "pinned" not in after
    assert here.errors() == ""


def test_commands_on_the_screen(client: Client, stub: StubApi, here: OwnEnvironment) -> None:
    """In the interactive client: the text is shown, no request is made, nothing stays."""
    stub.script(text("hi there", filled(43_210)))
    with client.interactive() as screen:
        screen.ready()
        screen.send_line("hello")
        screen.wait_for("hi there")
        before = len(stub.requests())
        for words, answer in {
            **ANSWERS,
            "status": "43,210",
            "pin": "no large",
            "unpin": "no large",
        }.items():
            screen.send_line(f"/brim:{words}")
            screen.wait_for(answer)
            assert len(stub.requests()) == before, words
        stub.script(text("all done", filled(43_300)))
        screen.send_line("go on")
        screen.wait_for("all done")

    assert "brim:" not in json.dumps(stub.requests()[-1].body["messages"])
    assert here.errors() == ""


def test_off_is_silent_and_on_is_not(client: Client, stub: StubApi, here: OwnEnvironment) -> None:
    """In this session the model is told nothing and sees every result whole; then again."""
    stub.script(text("end", filled(1_000)))
    first = client.run_print("go")
    assert first.result is not None
    resume = ["--resume", first.result["session_id"]]
    client.run_print("/brim:off", args=resume)
    stub.script(bash("seq -f 'line %05g' 1 2000", filled(2_000)), text("end", filled(9_000)))
    client.run_print("list", args=resume)
    assert "line 01000" in json.dumps(stub.requests()[-1].body)

    client.run_print("/brim:on", args=resume)
    stub.script(bash("seq -f 'row %05g' 1 2000", filled(10_000)), text("end", filled(11_000)))
    client.run_print("list", args=resume)
    assert "row 01000" not in json.dumps(stub.requests()[-1].body)


def test_where_the_hook_is_silent_the_model_names_the_shell_command(
    client: Client, stub: StubApi, here: OwnEnvironment
) -> None:
    """The file's text reaches the model then; nothing is run."""
    stub.script(text("ok"))

    run = client.run_print("/brim:status", env={"BRIMLINE_OFF": "1"})

    assert "brimline status --session" in json.dumps(run.requests[-1].messages[-1])


def test_uninstalling_takes_them_away(client: Client, stub: StubApi, here: OwnEnvironment) -> None:
    """The client then knows no such command, and the folder is gone."""
    here.command("uninstall", "--yes")
    stub.script(text("ok"))

    begun = here.beginning("hello")

    assert not [name for name in begun["slash_commands"] if name.startswith("brim:")]
    assert not (client.config / "commands").exists()


def test_the_mcp_server_is_registered_by_the_client_itself(
    client: Client, here: OwnEnvironment
) -> None:
    """Once; a second installation changes nothing; uninstalling removes it."""
    state = client.config / ".claude.json"
    server = json.loads(state.read_bytes())["mcpServers"]["brimline"]

    assert server["command"] == str(here.python)
    assert server["args"] == ["-I", "-m", "brimline", "mcp"]
    assert server["env"] == {}
    again = here.report("install", "--yes")
    assert (again["changed"], again["client_calls"], again["to_do"]) == (False, [], [])
    out = here.report("uninstall", "--yes")
    assert out["client_calls"] == ["claude mcp remove -s user brimline"]
    assert json.loads(state.read_bytes())["mcpServers"] == {}


def test_a_registered_server_is_connected(
    client: Client, stub: StubApi, here: OwnEnvironment
) -> None:
    """The model is offered its tools."""
    # The client begins without a server that is slow to start, as on a busy machine.
    for _ in range(_STARTS):
        stub.script(text("ok"))
        begun = here.beginning("hello")
        (server,) = [found for found in begun["mcp_servers"] if found["name"] == "brimline"]
        if server["status"] != "pending":
            break

    assert server["status"] == "connected"
    assert "mcp__brimline__recall" in begun["tools"]


def test_another_interpreter_is_registered_anew(client: Client, here: OwnEnvironment) -> None:
    """The client refuses a name that it knows, so that it is removed first."""
    here.claude("mcp", "remove", "-s", "user", "brimline")
    here.claude("mcp", "add", "-s", "user", "brimline", "--", "/old/py", "-m", "brimline", "mcp")

    done = here.report("install", "--yes")

    assert [line.split()[2] for line in done["client_calls"]] == ["remove", "add"]
    server = json.loads((client.config / ".claude.json").read_bytes())["mcpServers"]["brimline"]
    assert server["command"] == str(here.python)
