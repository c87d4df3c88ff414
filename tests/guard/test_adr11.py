"""Preset adr11: the cases of its source, driven through the hook as the client would."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from tests.hooks.processes import run_hook

from brimline.fast.paths import safe_session_id

from .dialogue import (
    SILENT,
    Answer,
    after_tool,
    audit,
    before_load,
    load_event,
    send,
    understood,
    use,
)

if TYPE_CHECKING:
    from pathlib import Path

    from brimline.testing import SessionBuilder

PREFIX = "DEV_TEAM_CONTEXT_"
OVER = 100_000


@pytest.fixture(autouse=True)
def preset(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the preset in force and drop what the machine may have set for it."""
    for name in list(os.environ):
        if name.startswith(PREFIX):
            monkeypatch.delenv(name)
    use(monkeypatch, guard__preset="adr11")


class Case(NamedTuple):
    """One case of the source: what is set, what the session is like, what comes of it."""

    env: dict[str, str]
    tokens: int | None
    tool: str
    name: str
    outcome: str


CASES = {
    "silent below the ceiling": Case({}, 79_999, "Agent", "x", "silent"),
    "warns on an agent over the ceiling": Case({}, OVER, "Agent", "x", "noted"),
    "refuses under strict": Case({"STRICT": "on"}, OVER, "Agent", "x", "refused"),
    "a recovery skill is never gated": Case(
        {"STRICT": "on"}, 180_000, "Skill", "continue", "silent"
    ),
    "other tools are ignored": Case({"STRICT": "on"}, 180_000, "Read", "x", "silent"),
    "disabled by off": Case({"CEILING": "off", "STRICT": "on"}, 180_000, "Agent", "x", "silent"),
    "the window changes the verdict": Case({"WINDOW": "1000000"}, OVER, "Agent", "x", "silent"),
    "a lower percentage triggers earlier": Case(
        {"CEILING_PCT": "25"}, 60_000, "Agent", "x", "noted"
    ),
    "passes without a transcript": Case({"STRICT": "on"}, None, "Agent", "x", "silent"),
}


@pytest.mark.row("S0-37")
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_cases_of_the_source(
    case: Case, session: SessionBuilder, home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it warned about is noted, and what it refused with exit code 2 is denied."""
    _set(monkeypatch, **case.env)
    if case.tokens is not None:
        session.reply(case.tokens)

    answer = before_load(session, home_dir, case.tool, case.name)

    assert _kind(answer) == case.outcome
    if case.outcome != "silent":
        assert f"{100 * (case.tokens or 0) // 200_000}%" in answer.note + answer.refusal
        assert "/brim:checkpoint" in answer.note + answer.refusal


@pytest.mark.row("S0-37", "S0-23")
@pytest.mark.parametrize("raw", [b"", b"{", b"not json", b'{"tool_name": "Agent"', b"[]", b"null"])
def test_a_malformed_event_passes(raw: bytes, world: Path) -> None:
    """The tenth case: exit code 0 and nothing on stdout, also under strict."""
    extra = {"BRIMLINE_GUARD_PRESET": "adr11", PREFIX + "STRICT": "on"}

    done = run_hook(world, "PreToolUse", raw, extra=extra)

    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@pytest.mark.row("S0-37")
def test_a_warning_is_given_once_per_bucket(session: SessionBuilder, home_dir: str) -> None:
    """The eleventh case: 50 %, 50 %, 70 % warn, stay silent, warn."""
    heard = []
    for tokens in (100_000, 100_000, 140_000):
        session.reply(tokens)
        heard.append(bool(before_load(session, home_dir, "Agent").note))

    assert heard == [True, False, True]


def test_a_refusal_leaves_with_exit_code_0(session: SessionBuilder, world: Path) -> None:
    """As a process: the client is answered in JSON, never by exit code 2."""
    session.reply(OVER)
    extra = {"BRIMLINE_GUARD_PRESET": "adr11", PREFIX + "STRICT": "on"}

    done = run_hook(world, "PreToolUse", load_event(session, "Agent"), extra=extra)

    assert (done.returncode, done.stderr) == (0, b"")
    assert "[blocked: context ceiling]" in understood("PreToolUse", done.stdout).refusal


@pytest.mark.row("S0-13")
@pytest.mark.parametrize(
    ("percent", "tokens", "fires"),
    [
        (None, 79_999, False),
        (None, 80_000, True),
        ("25", 49_999, False),
        ("25", 50_000, True),
        ("25", 60_000, True),
        ("60", 119_999, False),
        ("60", 120_000, True),
        (" 60 ", 100_000, False),
    ],
)
def test_the_ceiling_is_a_share_of_the_window(
    percent: str | None,
    tokens: int,
    fires: bool,
    session: SessionBuilder,
    home_dir: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """40 % or what the variable says, and the exact figure is already over."""
    _set(monkeypatch, CEILING_PCT=percent)
    session.reply(tokens)

    assert bool(before_load(session, home_dir).note) is fires


@pytest.mark.row("S0-14")
@pytest.mark.parametrize(
    ("window", "tokens", "fires"),
    [
        (None, 80_000, True),
        ("1000000", 100_000, False),
        ("1000000", 350_000, True),
        ("100000", 39_999, False),
        ("100000", 40_000, True),
    ],
)
def test_the_window_is_what_the_variable_says(
    window: str | None,
    tokens: int,
    fires: bool,
    session: SessionBuilder,
    home_dir: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without it and without a model that tells more, 200,000."""
    _set(monkeypatch, WINDOW=window)
    session.model = "some-model"
    session.reply(tokens)

    assert bool(before_load(session, home_dir).note) is fires


@pytest.mark.row("S0-15")
@pytest.mark.parametrize("name", ["CEILING_PCT", "WINDOW", "ABS_CEILING"])
@pytest.mark.parametrize("value", ["abc", "0", "-5", "", " ", "4.5", "1e3", "9" * 5_000, "٤٢"])
def test_a_malformed_number_leaves_the_default(
    name: str, value: str, session: SessionBuilder, home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The boundary stays at 80,000, to the token."""
    _set(monkeypatch, **{name: value})
    session.reply(79_999)
    assert before_load(session, home_dir) == SILENT
    session.reply(80_000)

    assert "ceiling of 80000 tokens" in before_load(session, home_dir).note


@pytest.mark.row("S0-16")
@pytest.mark.parametrize("word", ["off", "OFF", " Off "])
def test_the_ceiling_is_disabled_by_off(
    word: str, session: SessionBuilder, home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither a note nor a refusal, whatever else is set."""
    _set(monkeypatch, CEILING=word, STRICT="on")
    session.reply(180_000)

    assert [before_load(session, home_dir, tool) for tool in ("Agent", "Skill")] == [SILENT] * 2
    assert audit(home_dir) == []


@pytest.mark.row("S0-16")
@pytest.mark.parametrize("word", ["on", "of", "no", "0", ""])
def test_no_other_word_disables_the_ceiling(
    word: str, session: SessionBuilder, home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A typo does not take the guard away."""
    _set(monkeypatch, CEILING=word)
    session.reply(OVER)

    assert before_load(session, home_dir).note


@pytest.mark.row("S0-11")
@pytest.mark.parametrize("tool", ["Agent", "Task", "Skill"])
@pytest.mark.parametrize(
    ("word", "outcome"),
    [
        ("on", "refused"),
        ("ON", "refused"),
        ("1", "refused"),
        ("onn", "refused"),
        ("of", "refused"),
        ("off", "noted"),
        (" OFF ", "noted"),
        ("", "noted"),
        ("  ", "noted"),
        (None, "noted"),
    ],
)
def test_strict_is_whatever_is_not_off(
    word: str | None,
    outcome: str,
    tool: str,
    session: SessionBuilder,
    home_dir: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whoever sets the switch and misspells it gets the refusal; unset, it warns."""
    _set(monkeypatch, STRICT=word)
    session.reply(OVER)

    assert _kind(before_load(session, home_dir, tool)) == outcome


@pytest.mark.row("S0-12")
def test_strict_refuses_every_time(
    session: SessionBuilder, home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two identical calls get two identical refusals, each in the audit trail."""
    _set(monkeypatch, STRICT="on")
    session.reply(OVER)

    first, second = (before_load(session, home_dir, "Agent") for _ in range(2))

    assert first == second
    assert first.refusal
    assert [line["reason"] for line in audit(home_dir)] == ["context ceiling"] * 2


@pytest.mark.parametrize("model", ["", "some-model", "claude-sonnet-4-5"])
def test_strict_refuses_on_an_assumed_window_too(
    model: str, session: SessionBuilder, home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """This preset is literal; the default one would advise."""
    _set(monkeypatch, STRICT="on")
    session.model = model
    session.reply(OVER)

    assert before_load(session, home_dir, "Agent").refusal


@pytest.mark.parametrize(("word", "outcome"), [("warn", "noted"), ("block", "refused")])
def test_agents_can_be_let_through_under_strict(
    word: str,
    outcome: str,
    session: SessionBuilder,
    home_dir: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Then the note says why this was not refused, while skills still are."""
    _set(monkeypatch, STRICT="on", GATE_AGENT=word)
    session.reply(OVER)

    answer = before_load(session, home_dir, "Agent")

    assert _kind(answer) == outcome
    assert ("[not blocked: delegation]" in answer.note) is (word == "warn")
    assert before_load(session, home_dir, "Skill").refusal


@pytest.mark.parametrize(
    ("window", "cap", "tokens", "fires"),
    [
        ("1000000", None, 349_999, False),
        ("1000000", None, 350_000, True),
        ("1000000", "120000", 119_999, False),
        ("1000000", "120000", 120_000, True),
        ("1000000", "380000", 379_999, False),
        ("1000000", "380000", 380_000, True),
        ("1000000", "900000", 399_999, False),
        ("1000000", "900000", 400_000, True),
        ("1000000", "none", 349_999, False),
        ("1000000", "none", 350_000, True),
        ("200000", None, 79_999, False),
        ("200000", None, 80_000, True),
    ],
)
def test_the_absolute_cap_counts_where_it_is_lower(
    window: str,
    cap: str | None,
    tokens: int,
    fires: bool,
    session: SessionBuilder,
    home_dir: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """At the cap and not one token before; on 200,000 it changes nothing; malformed, 350,000."""
    _set(monkeypatch, WINDOW=window, ABS_CEILING=cap)
    session.reply(tokens)

    assert bool(before_load(session, home_dir).note) is fires


def test_the_absolute_cap_measures_nothing_without_a_transcript(
    session: SessionBuilder, home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unknown is not over."""
    _set(monkeypatch, ABS_CEILING="1", STRICT="on")

    assert before_load(session, home_dir) == SILENT


@pytest.mark.parametrize(
    ("env", "model", "provenance"),
    [
        ({"WINDOW": "200000"}, "claude-sonnet-4-5", "override"),
        ({"WINDOW": "200000"}, "some-model", "override"),
        ({}, "claude-sonnet-4-5", "detected"),
        ({}, "claude-opus-4-1-20250805", "detected"),
        ({}, "some-model", "default"),
        ({}, "", "default"),
    ],
)
def test_the_text_says_how_the_window_is_known(
    env: dict[str, str],
    model: str,
    provenance: str,
    session: SessionBuilder,
    home_dir: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Told, recognised by the model's name, or assumed."""
    _set(monkeypatch, **env)
    session.model = model
    session.reply(OVER)

    assert f"window {provenance})" in before_load(session, home_dir).note


def test_a_setting_of_ours_moves_the_preset_too(
    session: SessionBuilder, home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A preset fills in what the user did not set; its own variable still wins."""
    use(monkeypatch, guard__ceiling_percent=60)
    session.reply(OVER)
    assert before_load(session, home_dir) == SILENT
    _set(monkeypatch, CEILING_PCT="30")

    assert "ceiling of 60000 tokens" in before_load(session, home_dir).note


@pytest.mark.parametrize(
    ("tokens", "opening"),
    [
        (80_000, "🪟"),
        (99_999, "🪟"),
        (100_000, "🪟"),
        (119_999, "🪟"),
        (120_000, "Run /brim:checkpoint before"),
    ],
)
def test_the_bands_begin_at_their_exact_multiples(
    tokens: int, opening: str, session: SessionBuilder, home_dir: str
) -> None:
    """The lower two lead with the diagnostic, the top one with the directive."""
    session.reply(tokens)

    note = before_load(session, home_dir).note

    assert note.startswith(opening)
    assert ("Consider /brim:checkpoint soon" in note) is (tokens < 100_000)
    assert ("Run /brim:checkpoint now" in note) is (100_000 <= tokens < 120_000)


def test_a_rising_band_breaks_through_the_bucket(
    session: SessionBuilder, home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At 1.25 times the ceiling the warning comes again within its five points."""
    _set(monkeypatch, CEILING_PCT="41")
    heard = []
    for tokens in (101_000, 102_499, 102_500, 102_501):
        session.reply(tokens)
        heard.append(bool(before_load(session, home_dir).note))

    assert heard == [True, False, True, False]


@pytest.mark.row("S0-38")
def test_a_subagents_rows_are_not_the_main_threads(
    session: SessionBuilder, home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A small subagent does not hide a full context, a large one does not fill an empty one."""
    _set(monkeypatch, STRICT="on")
    session.reply(20_000)
    session.reply(300_000, isSidechain=True)
    assert before_load(session, home_dir) == SILENT
    session.reply(190_000)
    session.reply(5_000, isSidechain=True)

    assert "190000 of 200000" in before_load(session, home_dir).refusal


@pytest.mark.parametrize("model", [None, 7, "", ["x"]])
def test_a_row_without_a_model_is_measured_against_the_default(
    model: Any, session: SessionBuilder, home_dir: str
) -> None:
    """The field may be missing or of any kind."""
    usage = {"input_tokens": OVER, "output_tokens": 1}
    message = {"id": "m", "role": "assistant", "content": [], "usage": usage}
    if model is not None:
        message["model"] = model
    session.row("assistant", message=message)

    assert "window default)" in before_load(session, home_dir).note


@pytest.mark.row("S0-22")
@pytest.mark.parametrize("path", ["", "/nowhere/session.jsonl", None, 7, ["x"], {}])
def test_a_transcript_that_is_not_there_passes(
    path: Any, session: SessionBuilder, home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Missing, empty or of the wrong kind: the load goes on in silence."""
    _set(monkeypatch, STRICT="on")

    assert send(home_dir, load_event(session) | {"transcript_path": path}) == SILENT


@pytest.mark.row("S0-18")
@pytest.mark.parametrize(
    ("given", "kept_as"),
    [
        ("abc", "abc"),
        ("s-1_A", "s-1_A"),
        ("a b c", "abc"),
        ("../weird", "weird"),
        ("", "nosession"),
        ("!!!", "nosession"),
    ],
)
def test_a_session_id_becomes_a_plain_name(
    given: str, kept_as: str, session: SessionBuilder, home_dir: str, world: Path
) -> None:
    """What is remembered of its warnings stays inside the data folder."""
    session.session_id = given
    session.reply(OVER)
    assert before_load(session, home_dir).note

    assert safe_session_id(given) == kept_as
    assert [path.name for path in (world / "brimline" / "sessions").iterdir()] == [kept_as]
    assert before_load(session, home_dir) == SILENT


def test_the_tiers_are_silent_in_this_preset(session: SessionBuilder, home_dir: str) -> None:
    """It is only about what is loaded."""
    session.reply(166_000)

    assert after_tool(session, home_dir) == SILENT


def test_the_variables_are_read_in_this_preset_only(
    session: SessionBuilder, home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In any other they mean nothing."""
    use(monkeypatch, guard__preset="default")
    _set(monkeypatch, STRICT="on", CEILING_PCT="1", WINDOW="1000")
    session.reply(79_999)

    assert before_load(session, home_dir) == SILENT


def _set(monkeypatch: pytest.MonkeyPatch, **variables: str | None) -> None:
    """Set variables of the source; None leaves one unset."""
    for name, value in variables.items():
        if value is not None:
            monkeypatch.setenv(PREFIX + name, value)


def _kind(answer: Answer) -> str:
    return "refused" if answer.refusal else "noted" if answer.note else "silent"
