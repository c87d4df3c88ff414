"""The ceiling and the scout in the real client, asserted on what the model is sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from .stub_api import agent, bash, filled, rounds, text, tool

if TYPE_CHECKING:
    from .brimline_home import Installed
    from .harness import Client
    from .stub_api import StubApi, Turn

OVER = "Over the context ceiling"


def skill(name: str, occupancy: int) -> Turn:
    """A skill load."""
    return tool("Skill", {"skill": name}, filled(occupancy))


@pytest.mark.row("S0-07", "S0-10", "S0-30", "S0-31", "S0-38")
def test_loading_an_agent_over_the_ceiling_is_advised_against_where_asked_and_runs(
    client: Client, stub: StubApi, installed: Installed
) -> None:
    """The advice comes with the agent's result; what the agent does moves no reading of ours."""
    installed.command("config", "set", "guard.gate_tools", "Agent,Skill")
    stub.script(*rounds(90_000, 90_500), agent(usage=filled(91_000)), text("end", filled(92_000)))
    stub.script_subagents(bash("echo sub", filled(190_000)), text("FROM-IT", filled(195_000)))

    run = client.run_print("go")

    seen = run.requests[-1].seen_text()
    assert "FROM-IT" in seen
    assert seen.count(OVER) == 1
    assert "loading agent 'general-purpose'" in seen
    assert "ceiling 80,000 (percentage bound)" in seen
    assert not run.requests[-1].errors()
    assert all("Context tier" not in request.seen_text() for request in run.requests)
    assert all("[brimline" not in request.seen_text() for request in stub.requests("subagent"))
    assert installed.status(run.session_id)["occupancy_tokens"] == 92_000


@pytest.mark.row("S0-08", "S0-09", "S0-11", "S0-12", "S0-19", "S0-20", "S0-21")
def test_a_strict_ceiling_refuses_skills_but_neither_other_tools_nor_a_recovery_skill(
    client: Client, stub: StubApi, installed: Installed
) -> None:
    """Refused twice in a row with the way out; the recovery skill beside it loads."""
    for name in ("planner", "handoff"):
        folder = client.config / "skills" / name
        folder.mkdir(parents=True)
        body = f"---\nname: {name}\ndescription: {name} for tests\n---\nSKILL-BODY-{name}\n"
        (folder / "SKILL.md").write_text(body, encoding="utf-8")
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

    refused = run.requests[-1].errors()
    assert len(refused) == 2
    assert all("Way out" in reason and "planner" in reason for reason in refused)
    assert OVER not in run.requests[2].seen_text()
    seen = run.requests[-1].seen_text()
    assert "SKILL-BODY-handoff" in seen
    assert "SKILL-BODY-planner" not in seen
    assert [line["kind"] for line in installed.audit()] == ["block"] * 2


@pytest.mark.row("S2-46")
def test_the_scout_watches_reads_once_it_is_on_and_costs_nothing_before_and_after(
    client: Client, stub: StubApi, installed: Installed
) -> None:
    """A read into node_modules is refused; a build command beside it passes."""
    before = client.settings_path().read_bytes()
    assert b"Read|Glob" not in before
    ignored = client.project / "node_modules" / "pkg"
    ignored.mkdir(parents=True)
    (ignored / "index.js").write_text("NODE-CONTENT\n", encoding="utf-8")
    installed.command("config", "set", "scout.mode", "block")
    assert installed.command("scout", "on").returncode == 0
    assert b"Read|Glob|Grep|Bash" in client.settings_path().read_bytes()
    stub.script(
        bash("cat node_modules/pkg/index.js", filled(20_000)),
        bash("echo npm run build", filled(21_000)),
        text("end", filled(22_000)),
    )

    run = client.run_print("go")

    seen = run.requests[-1].seen_text()
    (refused,) = run.requests[-1].errors()
    assert "[brimline] Refused: `node_modules/" in refused
    assert "npm run build" in seen
    assert "scout off" not in seen
    assert "NODE-CONTENT" not in seen
    installed.command("scout", "off")
    assert client.settings_path().read_bytes() == before
