"""Slash commands and the MCP registration in the real client."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from .own_environment import OwnEnvironment
from .stub_api import bash, filled, text

if TYPE_CHECKING:
    from .harness import Client, PrintResult
    from .stub_api import StubApi

_STARTS = 4
NAMES = ["pin-last", "pin-next", "pin-start", "pin-end", "status", "store"]
BIG = "seq -f 'line %05g of a large result' 1 2000"


@pytest.fixture
def here(client: Client) -> OwnEnvironment:
    """brimline installed for the user, the client on PATH."""
    made = OwnEnvironment(client)
    made.install()
    return made


def last_text(run: PrintResult) -> str:
    """The last thing that the model was sent."""
    block: dict[str, Any] = run.requests[-1].messages[-1]["content"][-1]
    return str(block["text"])


@pytest.mark.row("S3-65")
def test_every_command_is_offered_to_the_user_and_none_to_the_model(
    client: Client, stub: StubApi, here: OwnEnvironment
) -> None:
    """The client lists them for typing; no request mentions them."""
    stub.script(text("ok"))

    begun = here.beginning("hello")

    assert {f"brim:{name}" for name in NAMES} <= set(begun["slash_commands"])
    assert "pin-last" not in json.dumps([request.body for request in stub.requests()])


@pytest.mark.row("S3-65")
@pytest.mark.parametrize("arguments", ["", " hard because it matters"])
def test_a_pin_command_says_its_directive(
    arguments: str, client: Client, stub: StubApi, here: OwnEnvironment
) -> None:
    """The model reads the directive and that there is nothing to do."""
    stub.script(text("Noted."))

    run = client.run_print("/brim:pin-next" + arguments)

    assert last_text(run).startswith(f"brim:pin next{arguments}")
    assert "nothing to do" in last_text(run)
    assert here.errors() == ""


@pytest.mark.row("S3-65", "S3-58")
def test_a_pin_command_pins(client: Client, stub: StubApi, here: OwnEnvironment) -> None:
    """The last large result, with the level and the reason that were typed."""
    stub.script(bash(BIG, filled(30_000)), text("end", filled(31_000)))
    first = client.run_print("go")
    assert first.result is not None
    stub.script(text("Noted."))

    client.run_print(
        "/brim:pin-last hard the build log", args=["--resume", first.result["session_id"]]
    )

    found = json.loads(here.command("store", "list", "--pinned", "--json").stdout)
    assert "'hard'" in str(found)
    assert "the build log" in str(found)


@pytest.mark.parametrize(("home", "mode"), [("", "default"), ("my data é", "acceptEdits")])
def test_status_runs_unasked_and_is_about_this_session(
    home: str, mode: str, client: Client, stub: StubApi
) -> None:
    """In every permission mode, with the usual data folder or one of the user's own."""
    here = OwnEnvironment(client)
    env = {"BRIMLINE_HOME": str(client.home / home)} if home else {}
    assert here.command("install", "--yes", env=env).returncode == 0
    stub.script(text("end", filled(43_210)))
    first = client.run_print("go")
    assert first.result is not None
    session = first.result["session_id"]
    stub.script(text("other", filled(1_000)))
    client.run_print("another session, which is newer")
    stub.script(text("shown"))

    run = client.run_print("/brim:status", args=["--resume", session, "--permission-mode", mode])

    assert "43,210" in last_text(run)
    assert "Show this to the user" in last_text(run)


def test_store_runs_unasked(client: Client, stub: StubApi, here: OwnEnvironment) -> None:
    """In the strictest mode, and it says what is stored."""
    stub.script(bash(BIG, filled(30_000)), text("end", filled(31_000)))
    client.run_print("go")
    stub.script(text("shown"))

    run = client.run_print("/brim:store", args=["--permission-mode", "default"])

    assert "1 blob" in last_text(run)


@pytest.mark.row("S3-41")
def test_purge_shows_what_it_would_save_and_how_to_do_it(
    client: Client, stub: StubApi, here: OwnEnvironment
) -> None:
    """A running client ignores edits, so the command only previews; the session is not touched."""
    rounds = [bash("seq 1 1500", filled(30_000 + 100 * number)) for number in range(14)]
    stub.script(*rounds, text("end", filled(32_000)))
    first = client.run_print("go")
    assert first.result is not None
    assert first.transcript is not None
    before = first.transcript.read_bytes()
    session = first.result["session_id"]
    stub.script(text("shown"))

    args = ["--resume", session, "--permission-mode", "default"]
    run = client.run_print("/brim:purge", args=args)

    shown = last_text(run)
    assert f"brimline session purge --session {session}" in shown
    assert "strategy" in shown
    assert first.transcript.read_bytes().startswith(before)


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
