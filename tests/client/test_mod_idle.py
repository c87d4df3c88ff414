"""A pause that outlives the cache: the session is compacted then, if the person has set so."""

from __future__ import annotations

import re
import sys
import time
from typing import TYPE_CHECKING

import pytest

from .modded import answer_with, lines_in, read_all, write_files
from .stub_api import agent, bash, filled, text

if TYPE_CHECKING:
    from pathlib import Path

    from .brimline_home import Installed
    from .by_plugin import Plugin
    from .harness import Client, InteractiveClient
    from .stub_api import StubApi

MODEL = "claude-opus-5-5"
SEAM = "compacted here, without a model: "
LARGE = filled(212_000)
# Answers the mod as brimline does, but has it ask every second, and a cache lives for two.
_SHORT_LIVED = """
import json, sys, time
sys.path.insert(0, {root!r})
from brimline.figures import expiry
from brimline.mod import request
last_cache = expiry.cache_of_last_request
def short_lived(transcript):
    cache = last_cache(transcript)
    return cache and cache._replace(lifetime_s=2)
expiry.cache_of_last_request = short_lived
if sys.argv[1] == "compact" and {is_slow}:
    open({log!r} + "-begun", "x").close()
    time.sleep(2)
answer = request.respond(sys.argv[1], json.loads(sys.stdin.buffer.read()), {data!r})
with open({log!r}, "a") as file:
    file.write(sys.argv[1] + " " + json.dumps(answer)[:300] + "\\n")
if sys.argv[1] == "alive":
    answer["cold"]["after_s"] = 3
print(json.dumps(answer))
"""


@pytest.fixture
def asked(installed: Installed, tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A cache that expires within seconds, and the setting that has the session compacted then."""
    log = tmp_path / "asked"
    named = {"root": str(installed.root), "data": str(installed.data), "log": str(log)}
    program = _SHORT_LIVED.format(**named, is_slow="waits" in request.node.name)
    answer_with(installed, sys.executable, "-c", program)
    installed.command("config", "set", "compaction.when_cold", "do")
    return log


def begun(live: InteractiveClient, client: Client, stub: StubApi) -> None:
    """Do enough that a compaction is worth it."""
    stub.script(read_all(write_files(client, 40), LARGE), text("BEGUN", LARGE))
    live.say("Look at the parts.", "BEGUN")


def test_it_is_compacted_and_a_draft_is_kept(
    client: Client, stub: StubApi, installed: Installed, asked: Path
) -> None:
    """No model is asked; the line says what it saves."""
    with client.interactive(model=MODEL) as live:
        begun(live, client, stub)
        stub.script(text("GOING-ON", filled(90_000)))
        live.send_keys("half a thought")
        shown = " ".join(live.wait_for("place of").split())
        live.send_keys(" is enough\r")
        live.wait_for("GOING-ON")

    sent = stub.requests("main")[-1]
    assert lines_in(sent)
    assert "half a thought is enough" in sent.seen_text()
    assert stub.requests("compaction") == []
    assert re.search(rf"{SEAM}.* The cache had expired: the next request costs about \$", shown)
    assert asked.read_text().count("pause ") == 1
    assert installed.errors() == ""


def test_a_prompt_that_is_sent_meanwhile_waits_and_goes_out_small(
    client: Client, stub: StubApi, installed: Installed, asked: Path
) -> None:
    """Nobody has to type it again."""
    with client.interactive(model=MODEL) as live:
        begun(live, client, stub)
        stub.script(text("GOING-ON", filled(90_000)))
        live.wait_until(lambda: asked.with_name("asked-begun").exists())
        live.send_line("meanwhile")
        live.wait_for("GOING-ON")

    sent = stub.requests("main")[-1]
    assert lines_in(sent)
    assert "meanwhile" in sent.seen_text()
    assert stub.requests("compaction") == []
    assert installed.errors() == ""


def test_plan_mode_stays(client: Client, stub: StubApi, installed: Installed, asked: Path) -> None:
    """Also with the next prompt."""
    with client.interactive(model=MODEL, args=["--permission-mode", "plan"]) as live:
        begun(live, client, stub)
        live.wait_for("place of")
        stub.script(text("GOING-ON", filled(90_000)))
        screen = live.say("go on", "GOING-ON")

    assert "plan mode on" in screen
    assert lines_in(stub.requests("main")[-1])
    assert stub.requests("compaction") == []
    assert installed.errors() == ""


def test_it_is_only_said_while_an_agent_works(
    client: Client, stub: StubApi, installed: Installed, asked: Path
) -> None:
    """In the background, behind a turn that has ended."""
    stub.script(read_all(write_files(client, 40), LARGE))
    task = agent("SUBTASK", LARGE)
    task.blocks[0]["input"]["run_in_background"] = True
    stub.script(task, text("BEGUN", LARGE))
    stub.script_subagents(bash("sleep 20"), text("SEEN"))
    stub.script(*[text("NOTIFIED", LARGE)] * 2)
    with client.interactive(model=MODEL) as live:
        live.say("Look at the parts.", "BEGUN")
        live.wait_for("expired")
        during = list(stub.requests("main"))
        live.wait_for("NOTIFIED")

    assert not any(map(lines_in, during))
    assert stub.requests("compaction") == []
    assert installed.errors() == ""


def test_it_is_only_said_while_a_dialog_is_open(
    client: Client, stub: StubApi, installed: Installed, asked: Path
) -> None:
    """The line stands there when it closes."""
    with client.interactive(model=MODEL) as live:
        begun(live, client, stub)
        live.send_line("/theme")
        live.wait_until(lambda: "saving" in asked.read_text())
        until = time.monotonic() + 4
        live.wait_until(lambda: time.monotonic() > until)
        assert SEAM not in live.text
        live.send_keys("\x1b")
        live.wait_for("expired")
        stub.script(text("GOING-ON", filled(90_000)))
        live.say("go on", "GOING-ON")

    assert lines_in(stub.requests("main")[-1]) == []
    assert stub.requests("compaction") == []
    assert installed.errors() == ""


def test_a_printed_run_is_never_held_up_by_it(
    client: Client, stub: StubApi, installed: Installed, asked: Path
) -> None:
    """Whatever time goes by in it between two prompts."""
    stub.script(read_all(write_files(client, 40), LARGE), text("BEGUN", LARGE))
    stub.script(text("GOING-ON", LARGE))

    _, answers = client.converse("Look at the parts.", "Go on.", pause_s=6)

    assert answers == ["BEGUN", "GOING-ON"]
    assert "pause" not in asked.read_text()
    assert lines_in(stub.requests("main")[-1]) == []
    assert stub.requests("compaction") == []
    assert installed.errors() == ""


def test_without_the_second_mod_it_is_only_said(
    client: Client, stub: StubApi, installed: Installed, asked: Path
) -> None:
    """Who brought the plugin may not have it."""
    client.write_settings({"enabledPlugins": {"brimline-mod@brimline": True}})
    with client.interactive(model=MODEL) as live:
        begun(live, client, stub)
        live.wait_for("expired")

    assert "saving" in asked.read_text()
    assert {request.kind for request in stub.requests()} == {"main"}
    assert installed.errors() == ""


def test_the_plugins_users_install_the_second_mod_apart(plugin: Plugin, stub: StubApi) -> None:
    """By one line more."""
    package = plugin.checkout / "src" / "brimline" / "figures"
    for name, was, now in (
        ("__init__.py", "SHORTEST_S = 300", "SHORTEST_S = 3"),
        ("expiry.py", "spent.cache_lifetime_s, usage.model", "2, usage.model"),
    ):
        source = (package / name).read_text()
        assert was in source
        (package / name).write_text(source.replace(was, now))
    client = plugin.client
    plugin.install()
    plugin.claude("plugin", "install", "brimline-idle@brimline-plugin")
    (client.config / "brimline").mkdir()
    settings = '[compaction]\nwhen_cold = "do"\n'
    (client.config / "brimline" / "config.toml").write_text(settings)
    with client.interactive(model=MODEL) as live:
        begun(live, client, stub)
        live.wait_for("place of")

    assert stub.requests("compaction") == []
