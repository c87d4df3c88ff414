"""A measured warning reaches the model in the real client, and nothing else does."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from .stub_api import bash, filled, text, too_long, tool

if TYPE_CHECKING:
    from .brimline_home import Installed
    from .harness import Client
    from .stub_api import StubApi, Turn

OURS = "[brimline]"


def rounds(*occupancies: int) -> list[Turn]:
    """Tool calls that take as long as the client takes to write its rows, as real ones do."""
    return [bash("sleep 0.3", filled(tokens)) for tokens in occupancies]


@pytest.mark.row("S4-10", "S4-11")
def test_installed_hooks_fire_in_exec_form(
    client: Client, stub: StubApi, installed: Installed
) -> None:
    """After `brimline install` every hook event of a run is recorded, started without a shell."""
    stub.script(bash("true", filled(30_000)), text("end", filled(31_000)))

    run = client.run_print("go")

    assert run.result is not None
    events = [line["event"] for line in installed.spool(run.result["session_id"])]
    assert events == ["SessionStart", "UserPromptSubmit", "PostToolUse", "Stop"]
    settings = json.loads(client.settings_path().read_text(encoding="utf-8"))
    hooks = [h for groups in settings["hooks"].values() for g in groups for h in g["hooks"]]
    launcher = str(installed.data / "bin" / "hook")
    assert {hook["command"] for hook in hooks} == {launcher}
    assert installed.errors() == ""


@pytest.mark.row("S1-24")
def test_a_crossed_tier_is_in_the_next_request(
    client: Client, stub: StubApi, installed: Installed
) -> None:
    """Driven past L1 by the recorded usage, the session's next request carries our text, once."""
    stub.script(*rounds(104_000, 110_000, 111_000, 112_000), text("end", filled(113_000)))

    run = client.run_print("go", model="claude-sonnet-4-6")

    counts = [request.seen_text().count(OURS) for request in run.requests]
    # A tool may finish before its own reply is recorded, so the note may come one request later.
    assert counts[:2] == [0, 0]
    assert counts[3:] == [1, 1]
    seen = run.requests[-1].seen_text()
    assert "Context tier L1 Warning" in seen
    assert "compaction expected at 167,000" in seen


# A model, what it is asked to hold, and what it is told while nothing else has happened.
ENDS = {
    "claude-sonnet-4-5": (200_000, "the API refuses at about 200,000"),
    "claude-sonnet-4-6": (167_000, "compaction expected at 167,000"),
    "claude-opus-5": (967_000, "compaction expected at 967,000"),
    "claude-sonnet-4-5[1m]": (1_000_000, "the API refuses at about 1,000,000"),
}


@pytest.mark.row("S4-12", "S4-16")
@pytest.mark.parametrize("model", ENDS)
def test_every_model_is_told_the_truth_to_its_last_token(
    model: str, client: Client, stub: StubApi, installed: Installed
) -> None:
    """Climbing to its end it hears of that end only, and the client compacts there, not before."""
    installed.command("config", "set", "guard.velocity_points", "0")
    end, words = ENDS[model]
    point = 10_000 if end > 200_000 else 2_000
    climb = [end - left * point for left in (31, 29, 14, 6, 4, 2, 1)]
    climb += [end - 1_000, end - 500, end - 400]
    refused = [too_long(end + 10_000, end)] if "refuses" in words else []
    last = [] if refused else rounds(end + 100)
    stub.script(*rounds(*climb), *last, *refused, *rounds(40_000), text("end", filled(41_000)))

    run = client.run_print("go", model=model)

    assert stub.requests("compaction")
    before = [request for request in run.requests if "STUB-SUMMARY" not in request.seen_text()]
    mains = [request for request in before if request.kind == "main"]
    # All of the climb was reached without a compaction, and the API's refusal where it comes.
    assert len(mains) == len(climb) + len(last) + len(refused)
    seen = mains[-1].seen_text()
    assert [seen.count(f"Context tier L{level}") for level in (1, 2, 3)] == [1, 1, 1]
    assert seen.count("Context tier L4") >= 2
    assert seen.count(words) == seen.count(OURS)
    assert run.transcript is not None
    samples = (installed.data / "learned.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["ending"] for line in samples] == [
        "refusal" if refused else "compaction"
    ]


@pytest.mark.row("S4-12")
def test_with_automatic_compaction_off_the_end_is_told(
    client: Client, stub: StubApi, installed: Installed
) -> None:
    """The client ends the session there; what was told before it says so."""
    settings = json.loads(client.settings_path().read_text(encoding="utf-8"))
    client.write_settings(settings | {"autoCompactEnabled": False})
    stub.script(*rounds(100_000, 160_000, 173_000, 176_000, 178_000), text("end", filled(179_000)))

    run = client.run_print("go", model="claude-sonnet-4-6")

    assert run.rc == 1
    assert run.result is not None
    assert "Prompt is too long" in run.result["result"]
    assert "the client ends the session at about 177,000" in run.requests[-1].seen_text()
    assert "compaction expected" not in run.requests[-1].seen_text()


@pytest.mark.row("S1-05", "S2-03")
def test_below_every_tier_no_request_carries_anything_of_ours(
    client: Client, stub: StubApi, installed: Installed
) -> None:
    """A session that stays calm sends not one character of ours to the model."""
    stub.script(bash("echo one", filled(60_000)), text("end", filled(80_000)))

    run = client.run_print("go")

    assert run.rc == 0
    assert "brimline" not in json.dumps([request.body for request in run.requests])


@pytest.mark.row("S1-01")
def test_a_prompt_is_warned_about_before_the_first_tool_call(
    client: Client, stub: StubApi, installed: Installed
) -> None:
    """UserPromptSubmit evaluates too: a resumed full session is announced with its next prompt."""
    stub.script(text("one", filled(150_000)))
    first = client.run_print("go")
    assert first.result is not None
    stub.script(text("two", filled(150_500)))

    run = client.run_print("go on", args=["--resume", first.result["session_id"]])

    assert "Context tier L1 Warning" in run.requests[-1].seen_text()


@pytest.mark.row("S0-38")
def test_a_subagents_tools_are_not_taken_for_the_main_thread(
    client: Client, stub: StubApi, installed: Installed
) -> None:
    """What a subagent does neither speaks to it nor changes the main session's reading."""
    task = {"description": "d", "prompt": "look", "subagent_type": "general-purpose"}
    stub.script(
        tool("Agent", {**task, "run_in_background": False}, filled(50_000)),
        text("end", filled(51_000)),
    )
    stub.script_subagents(bash("echo sub", filled(190_000)), text("sub end", filled(195_000)))

    run = client.run_print("go")

    assert all(OURS not in request.seen_text() for request in run.requests)
    assert run.result is not None
    assert installed.status(run.result["session_id"])["occupancy_tokens"] == 51_000


@pytest.mark.row("S4-47")
def test_after_a_compaction_the_tiers_speak_again(
    client: Client, stub: StubApi, installed: Installed
) -> None:
    """A climb, a compaction, a second climb: the tier is announced once in each."""
    installed.command("config", "set", "guard.velocity_points", "0")
    stub.script(
        *rounds(150_000, 151_000, 152_000),
        too_long(210_000, 200_000),
        *rounds(40_000, 41_000, 150_000, 151_000),
        text("end", filled(152_000)),
    )

    run = client.run_print("go")

    after = [r for r in run.requests if "STUB-SUMMARY" in r.seen_text() and r.kind == "main"]
    assert after[0].seen_text().count("Context tier L1") == 0
    assert after[-1].seen_text().count("Context tier L1") == 1
    assert installed.status(run.transcript.stem if run.transcript else "")["compactions"] == 1
