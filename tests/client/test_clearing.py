"""Results that the client drops after a pause: named in the same request, kept, had back."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from tests.binding import Binding

from brimline.bulk import layout, put

from .harness import read_rows
from .modded import answer_with, lines_in, read_all, recalled, write_files
from .stub_api import bash, filled, text, tool
from .test_mcp import RECALL, Registered

if TYPE_CHECKING:
    from .brimline_home import Installed
    from .harness import Client, PrintResult
    from .stub_api import Request, StubApi

MODEL = "claude-opus-5-5"
BOUND = "claude-fable-5-2"
# What makes the client drop results after more than 65 minutes; and what makes it tell the model.
CLEARING = {"tengu_jiggly_blossom": "on", "tengu_wise_pearl": {"write_records": True}}
NOTE = {"tengu_humble_tide": True}
ENV = {"CLAUDE_CODE_GB_DISK_CACHE_WHEN_TELEMETRY_OFF": "1"}
PAUSE = timedelta(hours=2)
CALLS, DROPPED = 36, 22
STAND_IN = "[Old tool result content cleared]"
TOLD = f"[brimline] The client dropped {DROPPED} results (~"


def work_then_pause(
    client: Client, stub: StubApi, *, has_note: bool, by: str = "client", model: str = MODEL
) -> PrintResult:
    """A session with many results that nobody has touched for two hours."""
    calls = [bash(f"seq {n}000 {n}900", filled(20_000 + 1_500 * n)) for n in range(CALLS)]
    stub.script(*calls, text("DONE", filled(80_000)))
    run = client.run_print("Count.", model=model, env=ENV)
    assert run.transcript is not None
    rows = read_rows(run.transcript)
    for row in rows:
        if "timestamp" in row:
            earlier = datetime.fromisoformat(row["timestamp"]) - PAUSE
            row["timestamp"] = earlier.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    run.transcript.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    path = client.config / ".claude.json"
    wanted = CLEARING | (NOTE if has_note else {})
    if by == "service":
        wanted["tengu_wise_pearl"] = {}
    flags = {"cachedGrowthBookFeatures": wanted}
    path.write_text(json.dumps(json.loads(path.read_bytes()) | flags), encoding="utf-8")
    return run


def check_dropped(request: Request) -> None:
    """The oldest results are not sent."""
    assert request.results()[:CALLS].count(STAND_IN) == DROPPED


@pytest.mark.parametrize("has_note", [True, False])
def test_the_model_gets_the_keys_with_the_clients_note_or_with_the_next_call(
    has_note: bool, client: Client, stub: StubApi, installed: Installed
) -> None:
    """Once; a key and words give results back; resumed without the mod, or forked, it stands."""
    run = work_then_pause(client, stub, has_note=has_note)
    originals = run.main[-1].results()
    key = layout.shorten_key(layout.PREFIX + put.sha256(originals[0].encode()))
    found = [tool(RECALL, {"key": key}), tool(RECALL, {"query": '"seq 3000"'})]
    stub.script(bash("true"), *found, text("END"))
    resume = ["--resume", run.session_id]
    mcp = ["--mcp-config", str(Registered(client).config)]

    again = client.run_print("Go on.", model=MODEL, env=ENV, args=[*resume, *mcp])

    told = [request.seen_text().count(TOLD) for request in again.main]
    assert told == [int(has_note), 1, 1, 1]
    check_dropped(again.main[0])
    assert key in again.main[1].seen_text()
    by_key, by_words = again.main[-1].results()[-2:]
    assert by_key.endswith(originals[0])
    assert '(Bash "seq 3000 3900")' in by_words
    document = json.loads(installed.command("session", "inspect", run.session_id, "--json").stdout)
    assert [(one["by"], one["results"]) for one in document["cleared"]] == [("client", DROPPED)]
    cleared = [row for row in installed.spool(run.session_id) if row["event"] == "Cleared"]
    assert [row["results"] for row in cleared] == [DROPPED]
    assert installed.errors() == ""

    stub.script(text("ON"), text("FORKED"))
    installed.install("--no-mod")
    for fork in ([], ["--fork-session"]):
        later = client.run_print("On.", model=MODEL, env=ENV, args=[*resume, *fork]).main[-1]
        check_dropped(later)
        assert later.seen_text().count(TOLD) == 1


@pytest.mark.parametrize(
    ("has_note", "reading"), [(True, None), (False, None), (True, "error"), (True, "silent")]
)
def test_a_compaction_behind_a_clearing_makes_the_context_smaller_and_keeps_the_keys(
    has_note: bool, reading: str | None, client: Client, stub: StubApi, installed: Installed
) -> None:
    """The client writes down again what it has cut, so its words stay in the place of our lines.

    No model is asked, and one that binds its thinking takes it; without the mod it stands.
    """
    stub.binding = binding = Binding(reading) if reading else None
    model = BOUND if binding else MODEL
    run = work_then_pause(client, stub, has_note=has_note, model=model)
    original = run.main[-1].results()[0]
    stub.script(bash("true"), read_all(write_files(client)), text("ON"))
    resume = ["--resume", run.session_id]
    before = client.run_print("Go on.", model=model, env=ENV, args=resume).main[-1]
    check_dropped(before)
    refused = binding and (len(binding.refusals), sum(binding.failed))

    assert client.run_print("/compact", model=model, env=ENV, args=resume).kinds == []
    after = client.run_print("On.", model=model, env=ENV, args=resume).main[-1]
    installed.install("--no-mod")
    later = client.run_print("On.", model=model, env=ENV, args=resume).main[-1]

    key = layout.PREFIX + put.sha256(original.encode())
    for request in (after, later):
        assert len(lines_in(request)) > CALLS - DROPPED
        assert len(json.dumps(request.messages)) < len(json.dumps(before.messages)) / 2
        assert layout.shorten_key(key) in request.seen_text()
    assert recalled(installed, key) == original
    assert refused == (binding and (len(binding.refusals), sum(binding.failed)))
    assert installed.errors() == ""


def test_where_no_mod_runs_the_hooks_say_it(
    client: Client, stub: StubApi, installed: Installed
) -> None:
    """With the call after the one that lacked them."""
    installed.install("--no-mod")
    run = work_then_pause(client, stub, has_note=True)
    stub.script(bash("sleep 1"), bash("sleep 1"), text("END"))

    again = client.run_print("Go on.", model=MODEL, env=ENV, args=["--resume", run.session_id])

    check_dropped(again.main[0])
    assert [request.seen_text().count(TOLD) for request in again.main] == [0, 1, 1]
    assert installed.errors() == ""


def test_what_the_service_leaves_out_is_said_once(
    client: Client, stub: StubApi, installed: Installed
) -> None:
    """The client asks it to; its reply says how many results there were, and words find them."""
    run = work_then_pause(client, stub, has_note=True, by="service")
    edit = {"type": "clear_tool_uses_20250919", "cleared_tool_uses": DROPPED}
    edit |= {"cleared_input_tokens": 21_000}
    found = tool(RECALL, {"query": '"seq 3000"'}, filled(51_500))
    turns = [bash("sleep 1", filled(51_000)), found, text("END")]
    stub.script(*(replace(turn, applied_edits=(edit,)) for turn in turns))
    args = ["--resume", run.session_id, "--mcp-config", str(Registered(client).config)]

    again = client.run_print("Go on.", model=MODEL, env=ENV, args=args)

    assert "clear_tool_uses" in str(again.main[0].body["context_management"])
    told = f"The service left {DROPPED} results (~21k tokens) out of the last request"
    assert [request.seen_text().count(told) for request in again.main] == [0, 1, 1]
    assert '(Bash "seq 3000 3900")' in again.main[-1].results()[-1]
    assert installed.errors() == ""


def test_where_the_mod_gets_no_answer_the_note_is_the_clients_own(
    client: Client, stub: StubApi, installed: Installed
) -> None:
    """A hook names the results, with the next call."""
    run = work_then_pause(client, stub, has_note=True)
    answer_with(installed, "/bin/sh", "-c", "exit 3")
    stub.script(bash("sleep 1"), text("END"))

    again = client.run_print("Go on.", model=MODEL, env=ENV, args=["--resume", run.session_id])

    assert again.result is not None
    assert again.result["result"] == "END"
    assert "resumed after a long pause" in again.main[0].seen_text()
    assert [request.seen_text().count(TOLD) for request in again.main] == [0, 1]


def test_after_a_summary_the_card_counts_what_recall_finds(
    client: Client, stub: StubApi, installed: Installed
) -> None:
    """Nobody had stored it: it is in the session's own file."""
    stub.script(bash("seq 1000 1900"), bash("seq 3000 3900"), text("DONE"))
    run = client.run_print("Count.", model=MODEL)
    resume = ["--resume", run.session_id]
    assert client.run_print("/compact in two words", model=MODEL, args=resume).rc == 0
    stub.script(tool(RECALL, {"query": '"seq 3000"'}), text("END"))
    mcp = ["--mcp-config", str(Registered(client).config)]

    later = client.run_print("What was it?", model=MODEL, args=[*resume, *mcp])

    assert "Results of 2 tool calls came before this" in later.main[0].seen_text()
    assert "3333\n" not in later.main[0].seen_text()
    found = later.main[-1].results()[-1]
    assert '(Bash "seq 3000 3900")' in found
    assert installed.errors() == ""


def test_the_person_reads_one_line(client: Client, stub: StubApi, installed: Installed) -> None:
    """Until the next prompt; where a later one clears nothing, nothing is said."""
    run = work_then_pause(client, stub, has_note=True)
    stub.script(text("ON", filled(60_000)), text("END", filled(60_100)))

    with client.interactive(model=MODEL, args=["--resume", run.session_id], env=ENV) as screen:
        screen.say("Go on.", "ON", f"brimline: the client dropped {DROPPED} results (~27k tokens)")
        assert "nothing is lost: /brim-recall" in screen.text
        screen.say("And on.", "END")
        assert "the client dropped" not in screen.text
    assert installed.errors() == ""
