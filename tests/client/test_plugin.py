"""brimline as a plugin: from an empty home to a recall, beside the command, and away again."""

from __future__ import annotations

import json
import re
import subprocess
import time
from typing import TYPE_CHECKING

import pytest

from .brimline_home import Installed
from .by_plugin import ID, RECALL, ROOT, Plugin
from .modded import fill, lines_in
from .stub_api import bash, filled, text, tool

if TYPE_CHECKING:
    from pathlib import Path

    from .harness import Client, InteractiveClient
    from .stub_api import StubApi

COMMANDS = [ID, "brimline-mod@brimline", "brimline-idle@brimline"]
_LISTENS_WITHIN_S = 10.0


def check_compaction_and_recall(plugin: Plugin, stub: StubApi) -> Installed:
    """In the first session after the install, in permission mode `default`."""
    client = plugin.client
    fill(client, stub, after=[tool(RECALL, {"query": "value 3 of"}, filled(22_000))])
    rules = ["--permission-mode", "default", "--allowedTools", "Read"]
    run = client.run_print("go", args=rules)

    assert run.rc == 0, run.stderr
    # No model was asked for a summary, and the call of `recall` was let pass.
    assert run.kinds == ["main"] * 3
    assert lines_in(run.requests[1])
    assert "[brimline recall: hits 1-10 of " in run.requests[-1].results()[-1]
    here = Installed(client)
    assert here.errors() == ""
    assert here.events(run.session_id).count("UserPromptSubmit") == 1
    return here


def test_two_lines_bring_hooks_mod_and_recall(plugin: Plugin, stub: StubApi) -> None:
    """Into an empty home, by git; commands answer, results are kept out, all of it comes off."""
    client = plugin.client
    plugin.install()
    here = check_compaction_and_recall(plugin, stub)
    bundles = client.config.glob("plugins/cache/*/*/*/brimline/__pycache__/fastpath.*.bin")
    assert list(bundles)
    (runner,) = client.config.glob("plugins/cache/*/*/*/hooks/run")
    assert not runner.read_text(encoding="utf-8").startswith("#!/bin/sh")
    client.write_settings({"autoCompactWindow": 200_000})
    stub.script(bash("seq 1 30000", filled(30_000)), text("END"))
    run = client.run_print("go")
    assert run.requests[-1].results()[-1].startswith("[brimline stored ")
    assert "session" in plugin.answer_of("/brim-history")
    assert "until /brim-on;" in plugin.answer_of("/brim-off")

    plugin.claude("plugin", "uninstall", ID)
    plugin.claude("plugin", "marketplace", "remove", "brimline-plugin")
    stub.script(bash("seq 1 30000", filled(30_000)), text("END"))
    run = client.run_print("go")
    assert "brimline" not in run.requests[-1].seen_text()
    assert plugin.enabled() == {}
    assert here.events(run.session_id) == []


def test_the_line_of_the_readme_brings_it_and_another_takes_it_away(plugin: Plugin) -> None:
    """Typed into the client, with the answers that it asks for."""
    blocks = re.findall(r"```text\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    (install,), (*_, remove, _) = (block.splitlines() for block in blocks)
    plugin.publish()
    with plugin.client.interactive() as live:
        live.ready()
        live.send_line(install)
        answer_question(live, "y", "Press y to add", "Install for you (user scope)")
        answer_question(live, "\r", "Install for you (user scope)", "Plugin is now active")
        assert plugin.enabled() == {ID: True}
        live.say(remove, "Uninstalled brimline")

    assert plugin.enabled() == {}


def answer_question(live: InteractiveClient, key: str, asked: str, wanted: str) -> None:
    """Press a key; once more where it was lost, because the page did not listen yet."""
    pressed_at = 0.0

    def is_there(screen: str) -> bool:
        nonlocal pressed_at
        if asked in screen and time.monotonic() - pressed_at > _LISTENS_WITHIN_S:
            live.send_keys(key)
            pressed_at = time.monotonic()
        return wanted in screen

    live.wait_for(is_there)


def test_the_status_line_and_what_is_stored_are_the_users(plugin: Plugin, stub: StubApi) -> None:
    """One key is written and taken back, with theirs inside; deleting is asked twice."""
    client = plugin.client
    own = {"type": "command", "command": "echo mine"}
    client.write_settings({"statusLine": own})
    plugin.install()
    before = client.settings_path().read_bytes()
    stub.script(bash("seq 1 30000", filled(30_000)), text("END"))
    session = client.run_print("go").session_id

    assert "was: echo mine" in plugin.answer_of("/brim-statusline on")
    command = json.loads(client.settings_path().read_bytes())["statusLine"]["command"]
    event = json.dumps({"session_id": session, "transcript_path": "", "cwd": "/"})
    shown = subprocess.run(
        ["/bin/sh", "-c", command],
        input=event.encode(),
        capture_output=True,
        check=True,
        timeout=60,
    )
    assert shown.stdout.decode().splitlines()[-1] == "mine"
    plugin.answer_of("/brim-statusline off")
    assert client.settings_path().read_bytes() == before

    asked = plugin.answer_of("/brim-forget project")
    assert "This would delete for good: " in asked
    assert " sessions, 1 output, " in asked
    here = Installed(client)
    assert here.events(session)
    assert "Deleted" in plugin.answer_of("/brim-forget everything yes")
    assert not here.events(session)
    assert not list(here.data.glob("store/blobs/*/*"))
    assert client.transcripts()


def test_a_new_version_comes_with_an_update(plugin: Plugin, stub: StubApi) -> None:
    """Data are the same; the status line starts the new one from the next session on."""
    client, here = plugin.client, Installed(plugin.client)
    plugin.install()
    plugin.answer_of("/brim-statusline on")
    manifest = plugin.checkout / "plugin" / ".claude-plugin" / "plugin.json"
    about = json.loads(manifest.read_bytes())
    manifest.write_text(json.dumps(about | {"version": "99.0.0"}), encoding="utf-8")
    plugin.publish()
    plugin.claude("plugin", "marketplace", "update", "brimline-plugin")
    plugin.claude("plugin", "update", ID)

    stub.script(bash("seq 1 30000", filled(30_000)), bash("sleep 2"), text("END"))
    run = client.run_print("go")

    assert run.requests[-1].results()[0].startswith("[brimline stored ")
    assert "/brimline/99.0.0'" in (here.data / "bin" / "hook").read_text(encoding="utf-8")
    assert here.errors() == ""


@pytest.mark.parametrize("is_first", [True, False], ids=["plugin first", "install first"])
def test_beside_what_the_command_installed_the_plugin_acts(
    is_first: bool, plugin: Plugin, stub: StubApi
) -> None:
    """Nothing is doubled; each is told of the other, and neither takes the other out."""
    client = plugin.client
    here = Installed(client)
    here.env = {"PATH": f"{client.binary.parent}:/usr/bin:/bin"}
    steps = [plugin.install, here.install]
    for step in steps if is_first else steps[::-1]:
        step()
    assert sorted(plugin.enabled()) == sorted(COMMANDS)

    stub.script(bash("seq 1 30000", filled(30_000)), tool(RECALL, {"query": "29999"}), text("END"))
    run = client.run_print("go", args=["--allowedTools", "Bash"])
    assert run.rc == 0, run.stderr
    results = run.requests[-1].results()
    assert results[0].startswith("[brimline stored ")
    assert "hits 1-1 of 1" in results[1]
    events = here.events(run.session_id)
    assert [events.count(name) for name in ("SessionStart", "UserPromptSubmit", "Stop")] == [1] * 3
    assert events.count("Offloaded") == 1
    assert run.requests[0].seen_text().count("Text that begins `[brimline stored") == 1
    told = here.command("doctor").stdout.decode()
    assert f"the plugin {ID}" in told
    assert ID in here.command("install", "--dry-run").stdout.decode()

    done = here.command("uninstall", "--yes")
    assert ID in done.stdout.decode()
    assert plugin.enabled() == {ID: True}
    stub.script(bash("seq 1 40000", filled(30_000)), text("END"))
    run = client.run_print("go")
    assert run.requests[-1].results()[-1].startswith("[brimline stored ")


def test_the_directory_of_plugins_would_take_it(client: Client, tmp_path: Path) -> None:
    """The client's own check, without a warning."""
    plugin = Plugin(client, tmp_path / "plugin")
    plugin.publish()
    folder = str(plugin.checkout / "plugin")

    told = plugin.claude("plugin", "validate", "--profile", "directory", folder)

    assert "found nothing to report" in told, told
    assert "without .catch" not in told
