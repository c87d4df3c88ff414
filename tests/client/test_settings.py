"""Installing into and uninstalling from the settings that the real client reads."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from .brimline_home import Installed
from .stub_api import bash, filled, text

if TYPE_CHECKING:
    from .harness import Client
    from .stub_api import StubApi

THEIRS = """{
    "model": "claude-sonnet-4-5",
    "unknownKey": {"kept": [1, 2.50, "\\u00e9"]},
    "hooks": {"PostToolUse": [{"matcher": "Bash", "hooks": [
        {"type": "command", "command": "echo ran >> theirs.log"}]}]}
}"""


@pytest.mark.row("S1-23")
def test_in_two_files_each_hook_runs_once_and_uninstalling_leaves_the_bytes(
    client: Client, stub: StubApi
) -> None:
    """The client runs identical entries once, theirs beside them; all of ours are taken out."""
    client.settings_path().write_bytes(THEIRS.encode())
    installed = Installed(client)
    installed.install()
    hooks = json.loads(client.settings_path().read_bytes())["hooks"]
    local = client.settings_path("local")
    local.parent.mkdir(exist_ok=True)
    local.write_text(json.dumps({"hooks": hooks}), encoding="utf-8")
    stub.script(bash("true", filled(30_000)), text("end", filled(31_000)))

    run = client.run_print("go")

    assert installed.events(run.session_id).count("PostToolUse") == 1
    assert (client.project / "theirs.log").read_text(encoding="utf-8") == "ran\n"
    assert installed.command("uninstall", "--yes").returncode == 0
    assert client.settings_path().read_bytes() == THEIRS.encode()
    assert b"bin/hook" not in local.read_bytes()


def test_where_the_client_leaves_all_hooks_out_nothing_is_measured_or_said(
    client: Client, stub: StubApi
) -> None:
    """Without them the mod rests, too."""
    installed = Installed(client)
    installed.install()
    turns = [bash("sleep 0.3", filled(160_000)), text("end", filled(161_000))]
    stub.script(*turns, *turns)

    run = client.run_print("go")
    silent = client.run_print("go", args=["--settings", '{"disableAllHooks": true}'])

    assert "PostToolUse" in installed.events(run.session_id)
    assert installed.spool(silent.session_id) == []
    assert "brimline" not in json.dumps([request.body for request in silent.requests])
