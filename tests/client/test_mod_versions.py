"""What the mod relies on in the client, version by version; the first that differs is named."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from .brimline_home import Installed
from .conftest import _ENVIRON, require
from .fetch import VERSION, cache_dir, fetch
from .harness import Client
from .modded import check_history, fill, lines_in
from .stub_api import filled, text
from .test_mod_calls import check_judged, climb, count

if TYPE_CHECKING:
    from pathlib import Path

    from .stub_api import StubApi

# The first that loads mods, one in between, and the one that all other tests drive.
VERSIONS = ("2.1.287", "2.1.306", VERSION)
PROMPT = "Count the values of every part."
PROBE = """
export const register = on => {
  on("session.compact", async ($, e, next) => {
    const { hooks } = await $.settings.read()
    const usage = await $.session.usage({ breakdown: "summary" })
    const sent = await $.session.messages({ as: "api" })
    const version = await $.session.version(), id = await $.session.id()
    const seen = { e, hooks, usage, sent, version, id }
    await $.fs.write(`${await $.session.cwd()}/seen.json`, JSON.stringify(seen))
    return next(e)
  })
}
"""


def equip(version: str, stub: StubApi, folder: Path) -> tuple[Client, Installed]:
    """A client of that version, with brimline."""
    binary = require(fetch(cache_dir(_ENVIRON), version), _ENVIRON)
    client = Client(binary, stub, folder / "client")
    installed = Installed(client)
    installed.install()
    return client, installed


def add_probe(folder: Path) -> None:
    """A mod of its own, which only looks."""
    for part in (".claude-plugin", "hooks"):
        (folder / part).mkdir(parents=True)
    about = {"name": "probe", "version": "1.0.0", "description": "looks"}
    (folder / ".claude-plugin" / "plugin.json").write_text(json.dumps(about))
    (folder / "hooks" / "hooks.json").write_text('{"modules": ["./register.js"]}')
    (folder / "hooks" / "register.js").write_text(PROBE)


def check_event(seen: dict[str, Any], calls: list[str], rows: set[str]) -> None:
    """The shapes that `register.js` takes apart."""
    entries = seen["e"]["messages"]
    assert seen["e"]["trigger"] == "auto", "the trigger at the brim"
    assert "agentId" not in seen["e"], "no agentId in the main conversation"
    assert {"role", "text", "toolUses", "handle"} <= entries[0].keys(), "an entry's fields"
    assert entries[0]["text"] == PROMPT, "a prompt is an entry"
    assert {entry["handle"] for entry in entries} <= rows, "a handle is the id of a row"
    uses = [use for entry in entries for use in entry["toolUses"]]
    assert [use["tool_use_id"] for use in uses] == calls, "an entry for each call"
    assert {"tool_use_id", "tool", "input"} <= uses[0].keys(), "a call's fields"
    results = [result for entry in entries for result in entry.get("toolResults") or ()]
    assert {"tool_use_id", "text", "isError"} <= results[0].keys(), "a result's fields"
    assert sorted(r["tool_use_id"] for r in results) == sorted(calls), "an entry for each result"
    blocks = [block["type"] for message in seen["sent"] for block in message["content"]]
    assert {"text", "tool_use", "tool_result"} == set(blocks), "the request, block by block"
    assert "PreCompact" in seen["hooks"], "settings as the client merged them"
    context = seen["usage"]["context"]
    assert {"tokens", "window", "breakdown"} <= context.keys(), "how full it is"
    assert "autoCompactThreshold" in context["breakdown"], "where it compacts"


@pytest.mark.long
@pytest.mark.parametrize("version", VERSIONS)
def test_what_the_mod_relies_on(version: str, stub: StubApi, tmp_path: Path) -> None:
    """Events and their shapes; no model request; what a resume without the mod loads."""
    client, installed = equip(version, stub, tmp_path)
    add_probe(tmp_path / "probe")
    calls = fill(client, stub)

    run = client.run_print(PROMPT, args=["--plugin-dir", str(tmp_path / "probe")])

    assert (client.project / "seen.json").exists(), "session.compact was not raised"
    seen = json.loads((client.project / "seen.json").read_bytes())
    assert seen["version"]["version"] == version, "session.version"
    assert seen["id"] == run.session_id, "session.id"
    check_event(seen, calls, {str(row.get("uuid")) for row in run.rows})
    assert set(run.kinds) == {"main"}, "the client did not take the answer"
    check_history(run.main[-1], calls, PROMPT)
    installed.install("--no-mod")
    resumed = client.run_print("Go on.", args=["--resume", run.session_id]).main[-1]
    check_history(resumed, calls, PROMPT)
    assert len(lines_in(resumed)) == len(lines_in(run.main[-1])) > 0, "a resume undid it"
    assert installed.errors() == ""


# The last that knows no mods comes first.
@pytest.mark.long
@pytest.mark.parametrize("version", ["2.1.250", *VERSIONS])
def test_every_result_is_judged_once_in_every_version(
    version: str, stub: StubApi, tmp_path: Path
) -> None:
    """By the mod or, where a client does not leave the calls to it, by the hooks."""
    client, installed = equip(version, stub, tmp_path)
    climb(stub)

    run = client.run_print("go")

    check_judged(run, installed, 2)
    # 2.1.287 asks no mod about its settings.
    is_left_to_the_mod = version in VERSIONS[1:]
    assert count(run, installed, "PostToolUse") == (3 if is_left_to_the_mod else 4)


@pytest.mark.long
@pytest.mark.parametrize("version", VERSIONS)
def test_the_pane_opens_follows_and_closes_in_every_version(
    version: str, stub: StubApi, tmp_path: Path
) -> None:
    """Docked at the right, with the figures of the last request."""
    client, installed = equip(version, stub, tmp_path)
    stub.script(text("ANSWER-ONE", filled(90_001)), text("ANSWER-TWO", filled(123_457)))
    with client.interactive(columns=140) as live:
        live.say("go", "ANSWER-ONE")
        (transcript,) = client.transcripts()
        # The client writes a row a moment after it has drawn it.
        live.wait_until(lambda: "ANSWER-ONE" in transcript.read_text(encoding="utf-8"))
        live.say("/brim-pane", "What the 90,001 tokens are")
        live.say("more", "ANSWER-TWO", "What the 123,457 tokens are")
        live.say("/brim-pane")
        live.wait_for(lambda screen: "How it filled" not in screen)
    assert installed.errors() == ""
