"""The gate before agents and skills: advice once, refusals where asked for, always a way out."""

from __future__ import annotations

import json
import subprocess
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tests.hooks.processes import command, environment

from brimline import presets
from brimline.guard.ceiling import Ceiling, Load
from brimline.hooks import table
from brimline.settings import BY_KEY, defaults
from brimline.testing import SessionBuilder

from .dialogue import (
    SILENT,
    Answer,
    after_compaction,
    after_tool,
    audit,
    before_compaction,
    before_load,
    before_tool,
    kept,
    load_event,
    send,
    show_window,
    understood,
    use,
)

if TYPE_CHECKING:
    from collections.abc import Callable

LOADS = ("Agent", "Task", "Skill")
PRESETS = list(presets.load())
RECOVERY_SKILLS = BY_KEY["guard.recovery_skills"].default
# Tools that recovery needs, with what they are called with.
PLAIN_TOOLS: dict[str, dict[str, Any]] = {
    "Read": {"file_path": "/home/dev/project/plan.md"},
    "Grep": {"pattern": "TODO", "path": "src"},
    "Glob": {"pattern": "src/*.py"},
    "Bash": {"command": "make test"},
    "Write": {"file_path": "/home/dev/project/plan.md", "content": "x"},
    "Edit": {"file_path": "/home/dev/project/plan.md", "old_string": "a", "new_string": "b"},
    "NotebookEdit": {"notebook_path": "/home/dev/project/a.ipynb", "new_source": "x"},
    "WebFetch": {"url": "https://example.com", "prompt": "x"},
    "TodoWrite": {"todos": []},
    "mcp__memory__save": {"text": "x"},
}
FULL = 198_000
# Of a window of 200,000: the ceiling is 80,000, where nothing is verified by itself.
OVER = 90_000


@pytest.mark.row("S0-05")
def test_the_verdict_is_that_of_the_file_the_payload_names(
    session: SessionBuilder, home_dir: str, world: Path
) -> None:
    """Two payloads that name two files get two verdicts, whatever else they share."""
    other = SessionBuilder(str(world / "other.jsonl"), cwd=session.cwd)
    session.reply(50_000)
    other.reply(OVER)

    assert before_load(session, home_dir) == SILENT
    assert "90,000 of 200,000" in before_load(other, home_dir).note


@pytest.mark.row("S0-07")
@pytest.mark.parametrize("tool", LOADS)
def test_what_loads_more_is_asked_about(tool: str, session: SessionBuilder, home_dir: str) -> None:
    """Each of the three tools is registered, and advised against over the ceiling."""
    matcher = table.EVENTS["PreToolUse"].matcher()
    session.reply(OVER)

    assert matcher is not None
    assert tool in matcher.split("|")
    assert "Over the context ceiling" in before_load(session, home_dir, tool).note


@pytest.mark.row("S0-08", "S0-09")
@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("tool", PLAIN_TOOLS)
def test_other_tools_pass_without_a_word(
    tool: str,
    preset: str,
    session: SessionBuilder,
    home_dir: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """At 99 % with everything set to refuse, what recovery needs is neither held up nor noted."""
    use(monkeypatch, guard__preset=preset, context_window=200_000, guard__ceiling="strict")
    use(monkeypatch, guard__block_delegation=True, guard__block_dispatch_at_critical=True)
    monkeypatch.setenv("DEV_TEAM_CONTEXT_STRICT", "on")
    session.reply(FULL)

    assert before_tool(session, home_dir, tool, **PLAIN_TOOLS[tool]) == SILENT


@pytest.mark.row("S0-10")
@pytest.mark.parametrize("tool", LOADS)
def test_by_default_a_load_over_the_ceiling_goes_ahead_with_a_note(
    tool: str, session: SessionBuilder, home_dir: str
) -> None:
    """The model reads the advice; permission is left as the client would have it."""
    session.reply(100_000)

    answer = before_load(session, home_dir, tool)

    assert "It may go ahead" in answer.note
    assert (answer.refusal, answer.person) == ("", "")
    assert audit(home_dir) == []


@pytest.mark.row("S0-11", "S0-12")
def test_a_refusal_is_given_every_time(
    session: SessionBuilder, home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Strict is not deduplicated: the same load is refused as often as it is tried, and audited."""
    use(monkeypatch, guard__ceiling="strict", context_window=200_000)
    session.reply(100_000)

    answers = [before_load(session, home_dir) for _ in range(3)]

    assert len(set(answers)) == 1
    assert "not invoking skill 'planner'" in answers[0].refusal
    assert answers[0].note == ""
    assert [line["kind"] for line in audit(home_dir)] == ["block"] * 3


def test_a_refusal_leaves_no_advice_unsaid(
    session: SessionBuilder, home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever was refused and relaxes the posture hears the advice; it was never given."""
    use(monkeypatch, guard__ceiling="strict", context_window=200_000)
    session.reply(100_000)
    before_load(session, home_dir)
    use(monkeypatch, guard__ceiling="warn")

    assert "It may go ahead" in before_load(session, home_dir).note


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
def test_advice_is_given_once_per_bucket_and_climb(
    percents: list[int], spoken: str, session: SessionBuilder, home_dir: str
) -> None:
    """A higher bucket speaks again, and so does a climb after a fall; the fall itself is silent."""
    heard = ""
    for percent in percents:
        session.reply(percent * 2_000)
        heard += "x" if before_load(session, home_dir).note else "-"

    assert heard == spoken


@pytest.mark.row("S0-17")
def test_agents_and_skills_share_their_buckets(session: SessionBuilder, home_dir: str) -> None:
    """The advice is about the context, not about who is loaded."""
    session.reply(100_000)

    notes = [before_load(session, home_dir, tool).note for tool in LOADS]

    assert [bool(note) for note in notes] == [True, False, False]


@pytest.mark.row("S0-17")
def test_sessions_do_not_share_their_buckets(session: SessionBuilder, home_dir: str) -> None:
    """What one session heard, another has not."""
    session.reply(100_000)
    assert before_load(session, home_dir).note
    session.session_id = "another"

    assert before_load(session, home_dir).note


@pytest.mark.row("S0-17", "S4-47")
@pytest.mark.parametrize("preset", ["default", "adr11"])
def test_after_a_compaction_advice_is_given_again(
    preset: str, session: SessionBuilder, home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next climb is news, even if nothing was loaded below the ceiling on the way."""
    use(monkeypatch, guard__preset=preset)
    session.reply(140_000)
    assert before_load(session, home_dir).note
    before_compaction(session, home_dir)
    after_compaction(session, home_dir)
    session.now = 4_000_000_000.0  # what follows is newer than the compaction just now
    session.compact(140_000)
    session.reply(140_000)

    assert before_load(session, home_dir).note


def test_a_rising_band_breaks_through_the_bucket(
    session: SessionBuilder, home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At exactly 1.25 and 1.5 times the ceiling the advice is news within its bucket."""
    use(monkeypatch, guard__ceiling_percent=41)
    climb = {
        81_999: "",
        82_000: "finish or save",
        84_000: "",
        101_000: "finish or save",
        102_499: "",
        102_500: "well over",
        102_501: "",
        121_000: "well over",
        122_999: "",
        123_000: "far over",
        123_001: "",
    }

    heard = {}
    for tokens in climb:
        session.reply(tokens)
        note = before_load(session, home_dir).note
        found = [words for words in ("finish or save", "well over", "far over") if words in note]
        heard[tokens] = "".join(found)

    assert heard == climb


@pytest.mark.parametrize(
    ("window", "tokens", "bound"),
    [
        (200_000, 80_000, "percentage"),
        (874_999, 349_999, "percentage"),
        (875_000, 350_000, "percentage"),
        (875_003, 350_000, "absolute"),
        (1_000_000, 350_000, "absolute"),
    ],
)
def test_the_lower_bound_is_the_ceiling_and_gives_its_name(
    window: int, tokens: int, bound: str
) -> None:
    """40 % of the window or 350,000, whichever is less; a tie is called percentage."""
    ceiling = Ceiling(window, defaults())

    assert (ceiling.tokens, ceiling.bound) == (tokens, bound)


POSTURES = {
    # posture, asked to block delegation: what becomes of a skill and of an agent
    ("warn", False): ("noted", "noted"),
    ("warn", True): ("noted", "noted"),
    ("off", False): ("silent", "silent"),
    ("off", True): ("silent", "silent"),
    ("strict", False): ("refused", "not blocked: delegation"),
    ("strict", True): ("refused", "refused"),
}


@pytest.mark.parametrize(("posture", "delegation"), POSTURES)
@pytest.mark.parametrize("tool", LOADS)
def test_each_posture_does_what_it_says_in_a_verified_window(
    tool: str,
    posture: str,
    delegation: bool,
    session: SessionBuilder,
    home_dir: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Refusing is opt-in and for skills; agents are refused only where that is asked for too."""
    use(monkeypatch, context_window=200_000)
    use(monkeypatch, guard__ceiling=posture, guard__block_delegation=delegation)
    session.reply(OVER)

    skill, agent = POSTURES[posture, delegation]
    assert _kind(before_load(session, home_dir, tool)) == (skill if tool == "Skill" else agent)


@pytest.mark.row("S0-27")
@pytest.mark.parametrize("delegation", [False, True])
@pytest.mark.parametrize("model", ["claude-sonnet-4-5", "claude-opus-5", "my-own-model", ""])
def test_an_assumed_window_never_refuses(
    model: str,
    delegation: bool,
    session: SessionBuilder,
    home_dir: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A window known from the model's name, or not at all, advises at most and says why."""
    use(monkeypatch, guard__ceiling="strict", guard__block_delegation=delegation)
    session.model = model
    use(monkeypatch, guard__ceiling_tokens=70_000)
    session.reply(195_000)

    skill, agent = before_load(session, home_dir), before_load(session, home_dir, "Agent")

    assert (skill.refusal, agent.refusal) == ("", "")
    assert "[not blocked: window unverified]" in skill.note


def _configured(session: SessionBuilder, home_dir: str, patch: pytest.MonkeyPatch) -> None:
    use(patch, context_window=1_000_000)
    session.reply(400_000)


def _shown(session: SessionBuilder, home_dir: str, patch: pytest.MonkeyPatch) -> None:
    show_window(session, home_dir, 1_000_000)
    session.reply(400_000)


def _asked_for(session: SessionBuilder, home_dir: str, patch: pytest.MonkeyPatch) -> None:
    session.reply(400_000, requestedModel="claude-sonnet-4-5[1m]")


def _observed(session: SessionBuilder, home_dir: str, patch: pytest.MonkeyPatch) -> None:
    session.reply(400_000)


@pytest.mark.parametrize("verify", [_configured, _shown, _asked_for, _observed])
def test_every_way_to_know_the_window_lets_a_strict_ceiling_refuse(
    verify: Callable[[SessionBuilder, str, pytest.MonkeyPatch], None],
    session: SessionBuilder,
    home_dir: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Config, status line, the model as it was asked for, and an occupancy that proves it."""
    use(monkeypatch, guard__ceiling="strict")
    verify(session, home_dir, monkeypatch)

    answer = before_load(session, home_dir)

    assert "400,000 of 1,000,000" in answer.refusal
    assert "ceiling 350,000 (absolute bound)" in answer.refusal


@pytest.mark.row("S0-19", "S0-20")
@pytest.mark.parametrize("name", RECOVERY_SKILLS)
@pytest.mark.parametrize("prefix", ["", "any-plugin:", "a:b:", "/"])
@pytest.mark.parametrize("preset", ["default", "adr11"])
def test_a_recovery_skill_passes_in_every_posture(
    name: str,
    prefix: str,
    preset: str,
    session: SessionBuilder,
    home_dir: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """At 99 % strict, behind any prefix: no refusal and not a word."""
    use(monkeypatch, guard__preset=preset, guard__ceiling="strict", context_window=200_000)
    monkeypatch.setenv("DEV_TEAM_CONTEXT_STRICT", "on")
    session.reply(FULL)

    assert before_load(session, home_dir, "Skill", prefix + name) == SILENT


@pytest.mark.row("S0-19")
def test_the_user_names_the_recovery_skills(
    session: SessionBuilder, home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A list of one's own replaces the shipped one."""
    use(monkeypatch, guard__ceiling="strict", context_window=200_000)
    use(monkeypatch, guard__recovery_skills=["rescue"])
    session.reply(FULL)

    assert before_load(session, home_dir, "Skill", "team:rescue") == SILENT
    assert before_load(session, home_dir, "Skill", "continue").refusal


@pytest.mark.row("S0-20")
@pytest.mark.parametrize("name", ["continued", "con:tinue", "continue:x", "Continue", "", "a:"])
def test_a_name_that_only_resembles_a_recovery_skill_is_gated(
    name: str, session: SessionBuilder, home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bare name has to be on the list."""
    use(monkeypatch, guard__ceiling="strict", context_window=200_000)
    session.reply(FULL)

    assert before_load(session, home_dir, "Skill", name).refusal


@pytest.mark.row("S0-20")
@pytest.mark.parametrize(
    ("tool", "tool_input", "name", "bare"),
    [
        ("Skill", {"skill": "a:b:continue"}, "a:b:continue", "continue"),
        ("Skill", {"name": "continue"}, "continue", "continue"),
        ("Skill", {"skill": "", "name": "continue"}, "continue", "continue"),
        ("Skill", {"command": "/continue"}, "/continue", "continue"),
        ("Skill", {"skill": "plan", "name": "continue"}, "plan", "plan"),
        ("Agent", {"subagent_type": "scout", "name": "x"}, "scout", "scout"),
        ("Task", {"name": "worker"}, "worker", "worker"),
        ("Skill", {}, "", ""),
        ("Skill", {"skill": 7}, "", ""),
    ],
)
def test_the_name_of_a_load_is_found_in_its_input(
    tool: str, tool_input: dict[str, Any], name: str, bare: str
) -> None:
    """Where the client puts it, now or formerly; anything else is unnamed."""
    load = Load(tool, tool_input)

    assert (load.name, load.bare_name) == (name, bare)
    assert f"'{name or 'unnamed'}'" in load.label


@pytest.mark.row("S0-21")
@settings(
    max_examples=150,
    deadline=None,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    tokens=st.integers(1, 1_200_000),
    window=st.sampled_from([None, 100_000, 200_000, 1_000_000]),
    preset=st.sampled_from(PRESETS),
    posture=st.sampled_from(["warn", "strict", "off"]),
    percent=st.integers(0, 100),
    eager=st.booleans(),
)
def test_the_way_back_is_never_closed(  # noqa: PLR0913, PLR0917 - what can be set, and fixtures
    tokens: int,
    window: int | None,
    preset: str,
    posture: str,
    percent: int,
    eager: bool,
    session: SessionBuilder,
    home_dir: str,
) -> None:
    """At any fill and setting every recovery skill passes, and a refusal names a way out."""
    Path(session.path).unlink(missing_ok=True)
    session.session_id = str(uuid.uuid4())
    session.reply(tokens)
    with pytest.MonkeyPatch.context() as patch:
        use(patch, guard__preset=preset, guard__ceiling=posture, guard__ceiling_percent=percent)
        use(patch, guard__block_delegation=eager, guard__block_dispatch_at_critical=eager)
        patch.setenv("DEV_TEAM_CONTEXT_STRICT", "on" if eager else "off")
        if window:
            use(patch, context_window=window)

        refusals = [before_load(session, home_dir, tool).refusal for tool in LOADS]

        assert all("/compact" in text or "/brim:checkpoint" in text for text in refusals if text)
        for skill in RECOVERY_SKILLS:
            assert before_load(session, home_dir, "Skill", skill) == SILENT


@pytest.mark.row("S4-20")
@pytest.mark.parametrize("tool", ["Agent", "Task"])
def test_the_last_tier_refuses_to_dispatch_agents(
    tool: str, session: SessionBuilder, home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was announced before, the refusal is audited, and all other tools stay open."""
    use(monkeypatch, guard__preset="guard-30-15-7-3")
    session.reply(164_000)

    announced = after_tool(session, home_dir)
    refused = before_load(session, home_dir, tool, "explorer")

    assert "tier L4 Critical" in announced.note
    assert "not loading agent 'explorer'" in refused.refusal
    escalation, block = audit(home_dir)
    assert (escalation["kind"], escalation["level"]) == ("escalation", 4)
    assert (block["kind"], block["subject"]) == ("block", "loading agent 'explorer'")
    assert escalation["at"] <= block["at"]
    for name, tool_input in PLAIN_TOOLS.items():
        assert before_tool(session, home_dir, name, **tool_input) == SILENT
    assert before_load(session, home_dir, "Skill") == SILENT
    assert "Still critical" in after_tool(session, home_dir).note


@pytest.mark.row("S4-20")
@pytest.mark.parametrize(("tokens", "refused"), [(161_999, False), (162_000, True)])
def test_dispatch_is_refused_from_the_last_tier_on(
    tokens: int,
    refused: bool,
    session: SessionBuilder,
    home_dir: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In preset guard-30-15-7-3 that is three points before 84 % of the window."""
    use(monkeypatch, guard__preset="guard-30-15-7-3")
    session.reply(tokens - 120)

    assert bool(before_load(session, home_dir, "Agent").refusal) is refused


@pytest.mark.row("S4-20")
def test_by_default_the_last_tier_dispatches(session: SessionBuilder, home_dir: str) -> None:
    """Without the setting an agent is only advised against."""
    session.reply(165_000)

    answer = before_load(session, home_dir, "Agent")

    assert "It may go ahead" in answer.note
    assert answer.refusal == ""


def test_a_subagent_is_not_gated(
    session: SessionBuilder, home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it loads goes into a context of its own."""
    use(monkeypatch, guard__ceiling="strict", context_window=200_000)
    session.reply(FULL)
    payload = load_event(session) | {"agent_id": "agent-1", "agent_type": "explorer"}

    assert send(home_dir, payload) == SILENT


@pytest.mark.parametrize("write", [None, b"", b"{}\n", b"not json\n"])
def test_an_unknown_fill_is_neither_advised_on_nor_refused(
    write: bytes | None, session: SessionBuilder, home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No file, an empty one, or one without usage: the load goes on in silence."""
    use(monkeypatch, guard__ceiling="strict", context_window=200_000)
    if write is not None:
        session.raw(write)

    assert [before_load(session, home_dir, tool) for tool in LOADS] == [SILENT] * 3


@pytest.mark.row("S0-17")
def test_of_parallel_hooks_exactly_one_advises(session: SessionBuilder, home_dir: str) -> None:
    """Sixteen at the same instant, bucket after bucket: one voice each time."""
    for tokens in (90_000, 100_000, 130_000):
        session.reply(tokens)
        gate = Barrier(16)

        def load(_: int, gate: Barrier = gate) -> str:
            gate.wait()
            return before_load(session, home_dir).note

        with ThreadPoolExecutor(16) as pool:
            notes = list(pool.map(load, range(16)))

        assert len([note for note in notes if note]) == 1


@pytest.mark.row("S0-12", "S0-17")
@pytest.mark.parametrize(("posture", "noted", "refused"), [("warn", 1, 0), ("strict", 0, 10)])
def test_of_parallel_processes_one_advises_or_all_refuse(
    posture: str, noted: int, refused: int, session: SessionBuilder, home_dir: str, world: Path
) -> None:
    """Ten processes on one session, as the client starts them for parallel calls."""
    session.reply(100_000)
    extra = {"BRIMLINE_GUARD_CEILING": posture, "BRIMLINE_CONTEXT_WINDOW": "200000"}
    started = [
        subprocess.Popen(
            command("PreToolUse"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment(world, **extra),
        )
        for _ in range(10)
    ]
    payload = json.dumps(load_event(session)).encode()
    answers = [understood("PreToolUse", one.communicate(payload)[0]) for one in started]

    assert [one.returncode for one in started] == [0] * 10
    assert len([answer for answer in answers if answer.note]) == noted
    assert len([answer for answer in answers if answer.refusal]) == refused
    assert len(audit(home_dir)) == refused


@pytest.mark.parametrize("tool", LOADS)
def test_the_off_preset_is_stronger_than_any_posture(
    tool: str, session: SessionBuilder, home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever switches the guard off hears and suffers nothing, whatever else is set."""
    use(monkeypatch, guard__preset="off", guard__ceiling="strict", context_window=200_000)
    use(monkeypatch, guard__block_delegation=True, guard__block_dispatch_at_critical=True)
    session.reply(FULL)

    assert before_load(session, home_dir, tool) == SILENT


def test_reads_are_not_looked_at_while_the_scout_is_off(
    session: SessionBuilder, home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A session that still asks because it was on when it started gets no answer."""
    ignored = {"file_path": f"{session.cwd}/node_modules/pkg/index.js"}

    assert before_tool(session, home_dir, "Read", **ignored) == SILENT
    use(monkeypatch, scout__mode="advise")
    assert "node_modules" in before_tool(session, home_dir, "Read", **ignored).note


@pytest.mark.parametrize("preset", ["haios-80", "ccm-70-80-90", "guard-30-15-7-3", "off"])
def test_presets_without_a_ceiling_say_nothing_about_loads(
    preset: str, session: SessionBuilder, home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the default and adr11 have one."""
    use(monkeypatch, guard__preset=preset)
    session.reply(150_000)

    assert [before_load(session, home_dir, tool) for tool in LOADS] == [SILENT] * 3
    assert not kept(session, home_dir, "ceiling-15.3").exists()


def _kind(answer: Answer) -> str:
    if answer.refusal:
        return "refused"
    if "[not blocked: " in answer.note:
        return answer.note.partition("[")[2].partition("[")[2].partition("]")[0]
    return "noted" if answer.note else "silent"
