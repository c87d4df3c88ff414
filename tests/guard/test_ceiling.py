"""The gate before skills and agents: advice once, refusals where asked for, always a way out."""

from __future__ import annotations

import json
import re
import subprocess
import uuid
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from tests.hooks.processes import command, environment

from brimline.guard.ceiling import _LONGEST_NAME, Load
from brimline.hooks import table
from brimline.settings import presets
from brimline.settings.catalogue import BY_KEY
from brimline.state.session import SessionState
from brimline.testing import SessionBuilder

from .dialogue import SILENT, Talk, load_event, understood

LOADS = ("Agent", "Task", "Skill")
ALL = list(LOADS)
PRESETS = list(presets.load_presets())
RECOVERY_SKILLS = BY_KEY["guard.recovery_skills"].default
PLAIN_TOOLS = (
    *("Read", "Grep", "Glob", "Bash", "Write", "Edit", "NotebookEdit", "WebFetch", "TodoWrite"),
    "mcp__memory__save",
)
FULL = 198_000
OVER = 90_000
PREFIX = "DEV_TEAM_CONTEXT_"


@pytest.mark.row("S0-05")
def test_the_verdict_is_that_of_the_file_the_payload_names(talk: Talk, world: Path) -> None:
    """Two payloads that name two files get two verdicts, whatever else they share."""
    other = SessionBuilder(str(world / "other.jsonl"), cwd=talk.session.cwd)
    other.reply(OVER)

    assert talk.load(50_000) == SILENT
    assert "90,000 of 200,000" in talk.send(load_event(other)).note


@pytest.mark.row("S0-07", "S0-10", "S0-11")
@pytest.mark.parametrize(
    ("posture", "gated", "outcomes"),
    [
        # What becomes of an agent, a task and a skill over the ceiling.
        ("warn", None, ["silent", "silent", "noted"]),
        ("warn", ALL, ["noted", "noted", "noted"]),
        ("strict", None, ["silent", "silent", "refused"]),
        ("strict", ALL, ["refused", "refused", "refused"]),
        ("strict", ["Agent:warn"], ["not blocked: delegation", "silent", "silent"]),
        ("strict", [], ["silent", "silent", "silent"]),
        ("off", ALL, ["silent", "silent", "silent"]),
    ],
)
def test_each_posture_does_what_it_says(
    posture: str, gated: list[str] | None, outcomes: list[str], talk: Talk
) -> None:
    """Skills are gated, agents where they are named: they save context (FINDINGS B8)."""
    talk.use(guard__ceiling=posture, context_window=200_000)
    if gated is not None:
        talk.use(guard__gate_tools=gated)
    found = []
    for tool in LOADS:
        talk.anew(tool)
        found.append(talk.load(OVER, tool).kind)

    assert found == outcomes
    if posture == "strict" and gated is None:
        talk.anew("large")
        talk.use(context_window=1_000_000)
        assert "ceiling 350,000 (absolute bound)" in talk.load(400_000).refusal
        return
    assert len(talk.audit()) == outcomes.count("refused")
    matcher = table.EVENTS["PreToolUse"].tool_matcher()
    assert matcher is not None
    assert set(LOADS) <= set(matcher.split("|"))


@pytest.mark.row("S0-08", "S0-09")
@pytest.mark.parametrize("preset", PRESETS)
def test_other_tools_pass_without_a_word(preset: str, talk: Talk) -> None:
    """At 99 % with everything set to refuse, what recovery needs is neither held up nor noted."""
    talk.use(guard__preset=preset, context_window=200_000, guard__ceiling="strict")
    talk.use(guard__gate_tools=ALL)
    talk.session.reply(FULL)

    for tool in PLAIN_TOOLS:
        asked = {"tool_name": tool, "tool_input": {"file_path": "/p/plan.md", "content": "x"}}
        assert talk.tell("PreToolUse", **asked) == SILENT


@pytest.mark.row("S0-11", "S0-12")
@pytest.mark.parametrize("preset", ["default", "adr11"])
def test_a_refusal_is_given_every_time(preset: str, talk: Talk) -> None:
    """Strict is not deduplicated; whoever relaxes the posture then hears the advice."""
    talk.use(guard__preset=preset, guard__ceiling="strict", context_window=200_000)
    talk.session.reply(100_000)

    assert len({talk.load() for _ in range(3)}) == 1
    assert [line["kind"] for line in talk.audit()] == ["block"] * 3
    # What a subagent loads goes into a context of its own.
    assert talk.send(load_event(talk.session) | {"agent_id": "a1", "agent_type": "x"}) == SILENT
    talk.use(guard__ceiling="warn")
    assert talk.load().kind == "noted"


@pytest.mark.row("S0-17")
@pytest.mark.parametrize(
    ("percents", "spoken"),
    [
        ([50, 50, 70], "x-x"),
        ([50, 54, 55], "x-x"),
        ([40, 44, 45], "x-x"),
        ([39, 40, 39, 40], "-x-x"),
        ([70, 45, 55], "x-x"),
        ([70, 45, 46, 49, 50], "x---x"),
        ([70, 30, 45, 70], "x-xx"),
        ([90, 85, 90], "x-x"),
    ],
)
def test_advice_comes_once_a_bucket_and_climb(percents: list[int], spoken: str, talk: Talk) -> None:
    """A higher bucket speaks again, and a climb after a fall; all loads share it, no session."""
    talk.use(guard__gate_tools=ALL)
    for _ in ("one session", "another"):
        heard = ""
        for percent in percents:
            heard += "x" if talk.load(percent * 2_000).note else "-"
            assert talk.load(None, "Agent") == SILENT
        assert heard == spoken
        talk.anew("another")


@pytest.mark.row("S0-17", "S4-47")
@pytest.mark.parametrize("preset", ["default", "adr11"])
def test_after_a_compaction_advice_is_given_again(preset: str, talk: Talk) -> None:
    """The next climb is news, even if nothing was loaded below the ceiling on the way."""
    talk.use(guard__preset=preset)
    assert talk.load(140_000).note
    talk.compact()
    talk.session.now = 4_000_000_000.0  # what follows is newer than the compaction just now
    talk.session.compact(140_000)

    assert talk.load(140_000).note


@pytest.mark.row("S0-27")
@pytest.mark.parametrize("model", ["claude-sonnet-4-5", "claude-opus-5", "my-own-model", ""])
def test_an_assumed_window_never_refuses(model: str, talk: Talk) -> None:
    """Known from the model's name, or not at all: advice at most. Preset adr11 is literal."""
    talk.session.model = model
    talk.use(guard__ceiling="strict", guard__gate_tools=ALL, guard__ceiling_tokens=70_000)

    assert talk.load(195_000).kind == "not blocked: window unverified"
    assert talk.load(None, "Agent").refusal == ""
    talk.use(guard__preset="adr11")
    assert talk.load(None, "Agent").kind == "refused"


@pytest.mark.row("S0-19", "S0-20")
@pytest.mark.parametrize("preset", ["default", "adr11"])
def test_a_recovery_skill_passes_in_every_posture(preset: str, talk: Talk) -> None:
    """At 99 % strict, behind any prefix; a name that only resembles one does not."""
    talk.use(guard__preset=preset, guard__ceiling="strict", context_window=200_000)
    talk.session.reply(FULL)

    for name in RECOVERY_SKILLS:
        for prefix in ("", "any-plugin:", "a:b:", "/"):
            assert talk.load(name=prefix + name) == SILENT
    for name in ("continued", "con:tinue", "continue:x", "Continue", "", "a:"):
        assert talk.load(name=name).refusal
    talk.use(guard__recovery_skills=["rescue"])
    assert talk.load(name="team:rescue") == SILENT
    assert talk.load(name="continue").refusal


@pytest.mark.row("S0-20")
@pytest.mark.parametrize(
    ("tool", "tool_input", "name"),
    [
        ("Skill", {"skill": "a:b:continue"}, "a:b:continue"),
        ("Skill", {"name": "continue"}, "continue"),
        ("Skill", {"skill": "", "name": "continue"}, "continue"),
        ("Skill", {"command": "/continue"}, "/continue"),
        ("Skill", {"skill": "plan", "name": "continue"}, "plan"),
        ("Agent", {"subagent_type": "scout", "name": "x"}, "scout"),
        ("Task", {"name": "worker"}, "worker"),
        ("Skill", {}, ""),
        ("Skill", {"skill": 7}, ""),
        ("Skill", {"skill": "a\nb"}, "a b"),
        ("Skill", {"skill": "x" * 20_000}, "x" * (_LONGEST_NAME - 1) + "…"),
    ],
)
def test_a_loads_name_is_in_its_input(tool: str, tool_input: dict[str, Any], name: str) -> None:
    """Where the client puts it, now or formerly, as one short line; anything else is unnamed."""
    load = Load(tool, tool_input)

    assert load.name == name
    assert f"'{name or 'unnamed'}'" in load.action_text


@pytest.mark.row("S0-21")
@settings(
    max_examples=100,
    phases=[Phase.explicit, Phase.generate],
)
@given(
    tokens=st.integers(1, 1_200_000),
    window=st.sampled_from([None, 100_000, 200_000, 1_000_000]),
    preset=st.sampled_from(PRESETS),
    posture=st.sampled_from(["warn", "strict", "off"]),
    percent=st.integers(0, 100),
    eager=st.booleans(),
)
def test_the_way_back_is_never_closed(
    tokens: int,
    window: int | None,
    preset: str,
    posture: str,
    percent: int,
    eager: bool,
    talk: Talk,
) -> None:
    """At any fill and setting every recovery skill passes, and a refusal names a way out."""
    talk.anew(str(uuid.uuid4()))
    talk.session.reply(tokens)
    with pytest.MonkeyPatch.context() as patch:
        here = Talk(talk.session, talk.home_dir, patch)
        here.use(guard__preset=preset, guard__ceiling=posture, guard__ceiling_percent=percent)
        here.use(guard__gate_tools=ALL if eager else ["Skill"])
        if window:
            here.use(context_window=window)

        answers = [here.load(None, tool) for tool in LOADS]

        refused = [answer for answer in answers if answer.refusal]
        assert all(re.search("to a file|Writing files", answer.refusal) for answer in refused)
        assert all("/compact" in answer.person for answer in refused)
        for skill in RECOVERY_SKILLS:
            assert here.load(name=skill) == SILENT


@pytest.mark.row("S4-20")
@pytest.mark.parametrize("tool", ["Agent", "Task"])
def test_the_last_tier_of_its_preset_refuses_to_dispatch_agents(tool: str, talk: Talk) -> None:
    """From three points before 84 % of the window; it was announced, and the rest stays open."""
    talk.use(guard__preset="guard-30-15-7-3", guard__velocity_points=0)
    assert talk.load(161_999 - 120, tool) == SILENT
    assert "tier L4" in talk.after_tool(162_000 - 120).note

    refused = talk.load(None, tool, "explorer").refusal

    assert "Not loading agent 'explorer'" in refused
    *escalations, block = talk.audit()
    assert [(line["kind"], line["level"]) for line in escalations] == [
        ("escalation", level) for level in (1, 2, 3, 4)
    ]
    assert (block["kind"], block["subject"]) == ("block", "loading agent 'explorer'")
    assert talk.tell("PreToolUse", tool_name="Bash", tool_input={"command": "ls"}) == SILENT
    assert talk.load() == SILENT
    talk.use(guard__preset="default")
    assert talk.load(None, tool).refusal == ""


@pytest.mark.row("S0-22")
@pytest.mark.parametrize("preset", ["default", "adr11"])
def test_an_unknown_fill_is_neither_advised_on_nor_refused(preset: str, talk: Talk) -> None:
    """No file, an empty one, one without usage, a path of any kind: the load goes on in silence."""
    talk.use(guard__preset=preset, guard__ceiling="strict", context_window=200_000)
    talk.use(guard__ceiling_tokens=1_000, guard__gate_tools=ALL)
    for content in (b"", b"{}\n", b"not json\n"):
        assert [talk.load(None, tool) for tool in LOADS] == [SILENT] * 3
        talk.session.raw(content)
    odd: list[object] = ["", "/nowhere/session.jsonl", None, 7, ["x"], {}]
    for path in odd:
        assert talk.send(load_event(talk.session) | {"transcript_path": path}) == SILENT


@pytest.mark.row("S0-12", "S0-17")
@pytest.mark.parametrize(("posture", "noted", "refused"), [("warn", 1, 0), ("strict", 0, 10)])
def test_of_parallel_processes_one_advises_or_all_refuse(
    posture: str, noted: int, refused: int, talk: Talk, world: Path
) -> None:
    """Ten processes on one session, as the client starts them; none refuses by its exit code."""
    talk.session.reply(100_000)
    talk.use(guard__ceiling=posture)
    extra = {"BRIMLINE_CONTEXT_WINDOW": "200000"}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    started = [
        subprocess.Popen(command("PreToolUse"), env=environment(world, **extra), **pipes)  # type: ignore[call-overload]
        for _ in range(10)
    ]
    payload = json.dumps(load_event(talk.session)).encode()
    answers = [understood("PreToolUse", one.communicate(payload)[0]) for one in started]

    assert [one.returncode for one in started] == [0] * 10
    kinds = [answer.kind for answer in answers]
    assert (kinds.count("noted"), kinds.count("refused")) == (noted, refused)
    assert len(talk.audit()) == refused


# Preset adr11: variables of its source and settings, the session, and what becomes of a load.
CASES = json.loads((Path(__file__).parent / "golden" / "adr11.json").read_text(encoding="utf-8"))


@pytest.mark.row("S0-11", "S0-13", "S0-14", "S0-37")
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_cases_of_adr11(case: tuple[dict[str, str], int, str, str], talk: Talk) -> None:
    """What it warned about is noted, and what it refused with exit code 2 is denied."""
    variables, tokens, tool, outcome = case
    talk.use(guard__preset="adr11")
    for name, value in variables.items():
        if "." in name:
            talk.use(**{name.replace(".", "__"): value})
        else:
            talk.patch.setenv(PREFIX + name, value)

    answer = talk.load(tokens, tool)

    assert answer.kind == outcome
    window = int(variables.get("WINDOW", "200000"))
    assert (f"That is {100 * tokens // window}%" in answer.note + answer.refusal) is (
        outcome != "silent"
    )
    assert talk.after_tool(166_000) == SILENT


@pytest.mark.row("S0-15")
@pytest.mark.parametrize("name", ["CEILING_PCT", "WINDOW", "ABS_CEILING"])
@pytest.mark.parametrize("value", ["abc", "0", "-5", "", " ", "4.5", "1e3", "9" * 5_000, "٤٢"])
def test_a_malformed_number_leaves_the_default(name: str, value: str, talk: Talk) -> None:
    """The boundary stays at 80,000, to the token."""
    talk.use(guard__preset="adr11")
    talk.patch.setenv(PREFIX + name, value)

    assert talk.load(79_999) == SILENT
    assert "ceiling of 80000 tokens" in talk.load(80_000).note


def test_a_refusal_names_two_of_the_skills_that_always_pass(talk: Talk) -> None:
    """Those with the shortest names."""
    talk.use(guard__ceiling="strict", context_window=200_000)
    talk.use(guard__recovery_skills=["rescue", "save", "handover"])

    assert "; save and rescue pass, if installed." in talk.load(OVER).refusal


def test_a_refusal_is_on_record_with_what_was_refused(talk: Talk) -> None:
    """In the session's spool and in the audit log."""
    talk.use(guard__ceiling="strict", context_window=200_000)

    assert talk.load(FULL, name="planner").refusal

    state = SessionState(talk.home_dir, talk.session.session_id)
    told = state.last_spooled_row_of("Blocked")
    assert (told["blocked"], told["tool"], told["subject"]) == (
        *(True, "Skill"),
        "invoking skill 'planner'",
    )
    (block,) = talk.audit()
    assert (block["kind"], block["reason"]) == ("block", "context ceiling")
