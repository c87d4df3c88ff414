"""The ceiling, the ladder and the scout, in the real client, asserted on what the model is sent."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from .stub_api import bash, filled, text, tool

if TYPE_CHECKING:
    from .brimline_home import Installed
    from .harness import Client
    from .stub_api import Request, StubApi, Turn

OVER = "Over the context ceiling"


def rounds(*occupancies: int) -> list[Turn]:
    """Tool calls that take as long as the client takes to write its rows, as real ones do."""
    return [bash("sleep 0.3", filled(tokens)) for tokens in occupancies]


def skill(name: str, occupancy: int) -> Turn:
    """A skill load."""
    return tool("Skill", {"skill": name}, filled(occupancy))


def errors(request: Request) -> list[str]:
    """The tool results that were refused."""
    found = [block for block in request.blocks("tool_result") if block.get("is_error")]
    return [str(block["content"]) for block in found]


def write_skill(client: Client, name: str) -> None:
    """A skill that the client can load."""
    folder = client.config / "skills" / name
    folder.mkdir(parents=True)
    body = f"---\nname: {name}\ndescription: {name} for tests\n---\nSKILL-BODY-{name}\n"
    (folder / "SKILL.md").write_text(body, encoding="utf-8")


@pytest.mark.row("S0-07", "S0-10", "S0-30", "S0-31")
@pytest.mark.parametrize("gated", [True, False])
def test_loading_an_agent_over_the_ceiling_is_advised_against_where_asked_and_runs(
    gated: bool, client: Client, stub: StubApi, installed: Installed
) -> None:
    """The advice reaches the model with the agent's result; the agent was not held up."""
    if gated:
        installed.command("config", "set", "guard.gate_tools", "Agent,Skill")
    task = {"description": "d", "prompt": "look", "subagent_type": "general-purpose"}
    stub.script(
        *rounds(90_000, 90_500),
        tool("Agent", {**task, "run_in_background": False}, filled(91_000)),
        text("end", filled(92_000)),
    )
    stub.script_subagents(text("FROM-THE-AGENT"))

    run = client.run_print("go")

    seen = run.requests[-1].seen_text()
    assert "FROM-THE-AGENT" in seen
    assert seen.count(OVER) == (1 if gated else 0)
    assert ("loading agent 'general-purpose'" in seen) is gated
    assert ("ceiling 80,000 (percentage bound)" in seen) is gated
    assert not errors(run.requests[-1])


@pytest.mark.row("S0-08", "S0-09")
def test_other_tools_are_never_gated(client: Client, stub: StubApi, installed: Installed) -> None:
    """Far over the ceiling with a strict posture, plain tools run and hear nothing of it."""
    installed.command("config", "set", "guard.ceiling", "strict")
    stub.script(*rounds(99_000, 99_500, 99_600), text("end", filled(99_700)))

    run = client.run_print("go")

    assert OVER not in run.requests[-1].seen_text()
    assert not errors(run.requests[-1])


@pytest.mark.row("S0-11", "S0-12", "S0-19", "S0-20", "S0-21")
def test_a_strict_ceiling_refuses_skills_but_never_a_recovery_skill(
    client: Client, stub: StubApi, installed: Installed
) -> None:
    """Refused twice in a row with the way out; the recovery skill beside it loads."""
    for name in ("planner", "handoff"):
        write_skill(client, name)
    installed.command("config", "set", "guard.ceiling", "strict")
    installed.command("config", "set", "context_window", "200000")
    stub.script(
        *rounds(99_000, 99_500),
        skill("planner", 99_600),
        skill("planner", 99_700),
        skill("handoff", 99_800),
        text("end", filled(99_900)),
    )

    run = client.run_print("go")

    refused = errors(run.requests[-1])
    assert len(refused) == 2
    assert all("Way out" in reason and "planner" in reason for reason in refused)
    seen = run.requests[-1].seen_text()
    assert "SKILL-BODY-handoff" in seen
    assert "SKILL-BODY-planner" not in seen
    audit = (installed.data / "audit.jsonl").read_text(encoding="utf-8").splitlines()
    blocks = [json.loads(line) for line in audit if json.loads(line)["kind"] == "block"]
    assert len(blocks) == 2


def test_an_unverified_window_never_refuses(
    client: Client, stub: StubApi, installed: Installed
) -> None:
    """Where the window is only assumed, a strict ceiling advises and says why it does no more."""
    write_skill(client, "planner")
    installed.command("config", "set", "guard.ceiling", "strict")
    stub.script(*rounds(99_000, 99_500), skill("planner", 99_600), text("end", filled(99_900)))

    run = client.run_print("go")

    seen = run.requests[-1].seen_text()
    assert "[not blocked: window unverified]" in seen
    assert "SKILL-BODY-planner" in seen


@pytest.mark.row("S4-12", "S4-19", "S4-42")
def test_a_climb_is_announced_tier_by_tier_and_the_last_one_persists(
    client: Client, stub: StubApi, installed: Installed
) -> None:
    """L1 to L3 are told once each, L4 with every further request; each escalation is audited."""
    installed.command("config", "set", "guard.velocity_points", "0")
    occupancies = (110_000, 111_000, 140_000, 141_000, 154_000, 155_000, 162_000, 163_000, 164_000)
    stub.script(*rounds(*occupancies), text("end", filled(165_000)))

    run = client.run_print("go", model="claude-sonnet-4-6")

    seen = run.requests[-1].seen_text()
    assert [seen.count(f"Context tier L{level}") for level in (1, 2, 3)] == [1, 1, 1]
    assert seen.count("Context tier L4") >= 2
    audit = (installed.data / "audit.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["level"] for line in audit] == [1, 2, 3, 4]
    assert run.result is not None
    folder = installed.data / "carry" / run.result["session_id"]
    checkpoint = json.loads((folder / "checkpoint.json").read_text(encoding="utf-8"))
    assert [message["text"] for message in checkpoint["ledger"]["messages"]] == ["go"]
    assert checkpoint["reading"]["tier"] == 4


@pytest.mark.row("S2-46")
@pytest.mark.parametrize("mode", ["advise", "block"])
def test_the_scout_watches_reads_once_it_is_on(
    client: Client, stub: StubApi, installed: Installed, mode: str
) -> None:
    """A read into node_modules gets a hint or a refusal; a build command beside it passes."""
    ignored = client.project / "node_modules" / "pkg"
    ignored.mkdir(parents=True)
    (ignored / "index.js").write_text("NODE-CONTENT\n", encoding="utf-8")
    installed.command("config", "set", "scout.mode", mode)
    assert installed.command("scout", "on").returncode == 0
    stub.script(
        bash("cat node_modules/pkg/index.js", filled(20_000)),
        bash("echo npm run build", filled(21_000)),
        text("end", filled(22_000)),
    )

    run = client.run_print("go")

    seen = run.requests[-1].seen_text()
    assert seen.count("node_modules") >= 1
    assert ("[brimline] Advised, not refused" in seen) is (mode == "advise")
    assert ("[brimline] Refused" in seen) is (mode == "block")
    assert "scout off" not in seen
    assert ("NODE-CONTENT" in seen) is (mode == "advise")
    assert len(errors(run.requests[-1])) == (0 if mode == "advise" else 1)


def test_the_scout_costs_nothing_while_it_is_off(
    client: Client, stub: StubApi, installed: Installed
) -> None:
    """Unasked, no hook is registered for reads; switched off again, none is left."""
    before = client.settings_path().read_bytes()
    assert b"Read|Glob" not in before
    installed.command("scout", "on")
    assert b"Read|Glob|Grep|Bash" in client.settings_path().read_bytes()

    installed.command("scout", "off")

    assert client.settings_path().read_bytes() == before


@pytest.mark.row("S1-01", "S1-03")
def test_preset_haios_80_says_its_line_with_the_prompt(
    client: Client, stub: StubApi, installed: Installed
) -> None:
    """At 85 % the exact line stands before the next prompt."""
    installed.command("config", "set", "guard.preset", "haios-80")
    stub.script(text("one", filled(170_000)))
    first = client.run_print("go")
    assert first.result is not None
    stub.script(text("two", filled(170_500)))

    run = client.run_print("go on", args=["--resume", first.result["session_id"]])

    line = "CONTEXT: ~85% used. Consider /brim:checkpoint before context exhaustion."
    assert line in run.requests[-1].seen_text()


@pytest.mark.row("S2-41", "S2-51")
def test_a_reminder_is_injected_at_the_start_and_when_it_changes(
    client: Client, stub: StubApi, installed: Installed
) -> None:
    """The user's reminder is in the first request, and comes again only once it changed."""
    reminder = client.home / "reminder.md"
    reminder.write_text("RULE-ONE: no force pushes\n", encoding="utf-8")
    installed.command("config", "set", "reminder.file", str(reminder))
    stub.script(text("one", filled(20_000)))
    first = client.run_print("go")
    assert first.result is not None
    resume = ["--resume", first.result["session_id"]]
    assert first.requests[0].seen_text().count("RULE-ONE") == 1
    reminder.write_text("RULE-TWO: ask first\n", encoding="utf-8")
    stub.script(text("two", filled(20_500)))

    run = client.run_print("go on", args=resume)

    assert run.requests[-1].seen_text().count("RULE-TWO") == 1
