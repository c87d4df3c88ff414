"""A measured warning reaches the model in the real client, and nothing else does."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from .stub_api import bash, filled, rounds, text, too_long

if TYPE_CHECKING:
    from .brimline_home import Installed
    from .harness import Client
    from .stub_api import StubApi

OURS = "[brimline]"


@pytest.mark.row("S4-10", "S4-11", "S1-05", "S2-03")
def test_installed_hooks_fire_in_exec_form_and_a_calm_session_hears_nothing(
    client: Client, stub: StubApi, installed: Installed
) -> None:
    """Every event is recorded, started without a shell; not one character reaches the model."""
    stub.script(bash("true", filled(60_000)), text("end", filled(80_000)))

    run = client.run_print("go")

    events = ["SessionStart", "UserPromptSubmit", "PostToolUse", "Stop"]
    assert installed.events(run.session_id) == events
    settings = json.loads(client.settings_path().read_text(encoding="utf-8"))
    hooks = [h for groups in settings["hooks"].values() for g in groups for h in g["hooks"]]
    launcher = str(installed.data / "bin" / "hook")
    assert {hook["command"] for hook in hooks} == {launcher}
    assert "brimline" not in json.dumps([request.body for request in run.requests])
    assert installed.errors() == ""


# A model, what it is asked to hold, and what it is told while nothing else has happened.
ENDS = {
    "claude-sonnet-4-5": (200_000, "the API refuses at about 200,000"),
    "claude-sonnet-4-6": (167_000, "compaction expected at 167,000"),
    "claude-opus-5": (967_000, "compaction expected at 967,000"),
    "claude-sonnet-4-5[1m]": (1_000_000, "the API refuses at about 1,000,000"),
}


@pytest.mark.row("S1-24", "S4-12", "S4-16", "S4-19", "S4-42", "S4-47")
@pytest.mark.parametrize("model", ENDS)
def test_every_model_is_told_the_truth_to_its_last_token(
    model: str, client: Client, stub: StubApi, installed: Installed
) -> None:
    """Climbing to its end it hears of that end only, and the client compacts there, not before.

    L1 to L3 are told once each, L4 with every further request; after the compaction again.
    """
    installed.command("config", "set", "guard.velocity_points", "0")
    end, words = ENDS[model]
    point = 10_000 if end > 200_000 else 2_000
    climb = [end - left * point for left in (31, 29, 14, 6, 4, 2, 1)]
    climb += [end - 1_000, end - 500, end - 400]
    refused = [too_long(end + 10_000, end)] if "refuses" in words else []
    last = [] if refused else rounds(end + 100)
    again = rounds(40_000, 41_000, climb[1], climb[1] + 500)
    stub.script(*rounds(*climb), *last, *refused, *again, text("end", filled(climb[1] + 1_000)))

    run = client.run_print("go", model=model)

    assert run.kinds.count("compaction") == 1
    mains = [request for request in run.main if "STUB-SUMMARY" not in request.seen_text()]
    # All of the climb was reached without a compaction, and the API's refusal where it comes.
    assert len(mains) == len(climb) + len(last) + len(refused)
    assert [request.seen_text().count(OURS) for request in mains[:2]] == [0, 0]
    seen = mains[-1].seen_text()
    assert [seen.count(f"Context tier L{level}") for level in (1, 2, 3)] == [1, 1, 1]
    assert seen.count("Context tier L4") >= 2
    assert seen.count(words) == seen.count(OURS)
    after = run.main[len(mains) :]
    told = [after[place].seen_text().count("Context tier L1") for place in (0, -1)]
    assert told == [0, 1]
    assert [line["level"] for line in installed.audit()] == [1, 2, 3, 4, 1]
    samples = (installed.data / "learned.jsonl").read_text(encoding="utf-8").splitlines()
    ending = "refusal" if refused else "compaction"
    assert [json.loads(line)["ending"] for line in samples] == [ending]
    assert installed.status(run.session_id)["compactions"] == 1


@pytest.mark.row("S4-12")
def test_with_automatic_compaction_off_the_end_is_told(
    client: Client, stub: StubApi, installed: Installed
) -> None:
    """The client ends the session there; what was told before it says so."""
    client.write_settings({"autoCompactEnabled": False})
    stub.script(*rounds(100_000, 160_000, 173_000, 176_000, 178_000), text("end", filled(179_000)))

    run = client.run_print("go", model="claude-sonnet-4-6")

    assert run.rc == 1
    assert run.result is not None
    assert "Prompt is too long" in run.result["result"]
    assert "the client ends the session at about 177,000" in run.requests[-1].seen_text()
    assert "compaction expected" not in run.requests[-1].seen_text()


@pytest.mark.row("S1-01", "S2-41", "S2-51")
def test_a_prompt_comes_with_the_tier_and_a_reminder_that_changed(
    client: Client, stub: StubApi, installed: Installed
) -> None:
    """The reminder is in the first request; a resumed full session is announced at once."""
    reminder = client.home / "reminder.md"
    reminder.write_text("RULE-ONE: no force pushes\n", encoding="utf-8")
    installed.command("config", "set", "reminder.file", str(reminder))
    stub.script(text("one", filled(150_000)))
    first = client.run_print("go")
    assert first.requests[0].seen_text().count("RULE-ONE") == 1
    reminder.write_text("RULE-TWO: ask first\n", encoding="utf-8")
    stub.script(text("two", filled(150_500)))

    run = client.run_print("go on", args=["--resume", first.session_id])

    assert run.requests[-1].seen_text().count("RULE-TWO") == 1
    assert "Context tier L1" in run.requests[-1].seen_text()


@pytest.mark.parametrize(
    "sessions", [2, pytest.param(20, marks=pytest.mark.long)], ids=["two", "twenty"]
)
def test_with_the_mod_a_warning_stands_in_the_very_next_request(
    sessions: int, client: Client, stub: StubApi, installed: Installed
) -> None:
    """Also where tools are instant, and the client has not written the reply down yet."""
    installed.command("config", "set", "guard.velocity_points", "0")
    climb = [200_000 - left * 2_000 for left in (31, 29, 14, 6, 2)]
    for _ in range(sessions):
        stub.script(*(bash("true", filled(tokens)) for tokens in climb))
        stub.script(text("end", filled(climb[-1])))

        run = client.run_print("go")

        heard = [request.seen_text().count("Context tier") for request in run.main]
        assert heard == [0, 0, 1, 2, 3, 4]
        assert installed.status(run.session_id)["occupancy_tokens"] == climb[-1]
    assert installed.errors() == ""
