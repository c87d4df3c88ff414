"""Installing into and uninstalling from the settings that the real client reads."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from .brimline_home import Installed
from .stub_api import bash, filled, text

if TYPE_CHECKING:
    from .harness import Client, Scope
    from .stub_api import StubApi

THEIRS = """{
    "model": "claude-sonnet-4-5",
    "unknownKey": {"kept": [1, 2.50, "\\u00e9"]},
    "hooks": {"PostToolUse": [{"matcher": "Bash", "hooks": [
        {"type": "command", "command": "echo ran >> theirs.log"}]}]}
}"""


def test_uninstall_leaves_the_settings_byte_identical(client: Client, stub: StubApi) -> None:
    """Install, a session with both hooks running, uninstall: the file is what it was."""
    client.settings_path().write_bytes(THEIRS.encode())
    installed = Installed(client)
    installed.install()
    stub.script(bash("true", filled(30_000)), text("end", filled(31_000)))

    run = client.run_print("go")

    assert run.result is not None
    assert "PostToolUse" in [e["event"] for e in installed.spool(run.result["session_id"])]
    assert (client.project / "theirs.log").read_text(encoding="utf-8") == "ran\n"
    assert installed.command("uninstall", "--yes").returncode == 0
    assert client.settings_path().read_bytes() == THEIRS.encode()


@pytest.mark.parametrize("scope", ["project", "local"])
def test_hooks_fire_from_project_scopes(client: Client, stub: StubApi, scope: Scope) -> None:
    """The other two scopes work as well, and uninstalling removes the file that only we wrote."""
    installed = Installed(client)
    installed.install("--scope", scope)
    stub.script(bash("true", filled(30_000)), text("end", filled(31_000)))

    run = client.run_print("go")

    assert run.result is not None
    assert "PostToolUse" in [e["event"] for e in installed.spool(run.result["session_id"])]
    assert installed.command("uninstall", "--yes").returncode == 0
    assert not client.settings_path(scope).exists()


@pytest.mark.row("S1-23")
def test_installed_in_two_scopes_each_hook_runs_once(
    client: Client, stub: StubApi, installed: Installed
) -> None:
    """The client runs identical entries of two settings files once."""
    installed.install("--scope", "local")
    stub.script(bash("true", filled(30_000)), text("end", filled(31_000)))

    run = client.run_print("go")

    assert run.result is not None
    events = [e["event"] for e in installed.spool(run.result["session_id"])]
    assert events.count("PostToolUse") == 1


@pytest.mark.row("S3-30")
def test_the_off_switch_silences_every_hook(
    client: Client, stub: StubApi, installed: Installed
) -> None:
    """With BRIMLINE_OFF=1 in the client's environment nothing is measured or said."""
    stub.script(bash("sleep 0.3", filled(160_000)), text("end", filled(161_000)))

    run = client.run_print("go", env={"BRIMLINE_OFF": "1"})

    assert run.result is not None
    assert installed.spool(run.result["session_id"]) == []
    assert "brimline" not in json.dumps([request.body for request in run.requests])
