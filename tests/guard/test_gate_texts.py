"""What the gate says, in both voices: the figure, its source, what to do next, how to tune it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from .dialogue import Answer, before_load, use

if TYPE_CHECKING:
    from brimline.testing import SessionBuilder

LABELS = {
    "Agent": "loading agent 'x:planner'",
    "Task": "loading agent 'x:planner'",
    "Skill": "invoking skill 'x:planner'",
}
# One occupancy in each band of a window of 200,000.
BANDS = (81_234, 101_234, 121_234)
OUR_KNOBS = ("guard.ceiling", "guard.ceiling_percent", "guard.ceiling_tokens")
THEIR_KNOBS = (
    "DEV_TEAM_CONTEXT_CEILING_PCT",
    "DEV_TEAM_CONTEXT_ABS_CEILING",
    "DEV_TEAM_CONTEXT_WINDOW",
    "DEV_TEAM_CONTEXT_CEILING=off",
)
ORDERS_TO_STOP = re.compile(
    r"\b(stop|halt|abort|cease|quit|give up|end the (session|turn|task)|no further work|"
    r"do not (continue|proceed|go on)|must not)\b",
    re.IGNORECASE,
)


@pytest.mark.row("S0-30")
@pytest.mark.parametrize("tool", LABELS)
@pytest.mark.parametrize("posture", ["warn", "strict"])
def test_our_voice_states_fill_window_ceiling_and_load(
    tool: str,
    posture: str,
    session: SessionBuilder,
    home_dir: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Advice and refusal alike carry all four, and where the window is known from."""
    use(monkeypatch, guard__ceiling=posture, guard__block_delegation=True, context_window=200_000)
    session.reply(BANDS[0])

    text = _said(before_load(session, home_dir, tool, "x:planner"))

    assert "Measured: 81,234 of 200,000 tokens in use (41%; window from: config)" in text
    assert "ceiling 80,000 (percentage bound)" in text
    assert LABELS[tool] in text


@pytest.mark.row("S0-30")
@pytest.mark.parametrize("tool", LABELS)
@pytest.mark.parametrize("strict", ["off", "on"])
def test_the_voice_of_adr11_states_fill_window_ceiling_and_load(
    tool: str,
    strict: str,
    session: SessionBuilder,
    home_dir: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its template, word for word, with the share of the window behind it."""
    _literal(monkeypatch, strict)
    session.reply(BANDS[0])

    text = _said(before_load(session, home_dir, tool, "x:planner"))

    assert text.startswith(
        "🪟 Context at 81234 of 200000 tokens — over the effective ceiling of 80000 tokens "
        f"(percentage bound; window detected) before {LABELS[tool]}. That is 40% of the window.\n"
    )


@pytest.mark.row("S0-31")
@pytest.mark.parametrize("tokens", BANDS)
@pytest.mark.parametrize("posture", ["warn", "strict"])
def test_our_voice_names_a_way_back_and_the_settings(
    tokens: int,
    posture: str,
    session: SessionBuilder,
    home_dir: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In every band: saving the work leads the way, and the settings can be looked up by name."""
    use(monkeypatch, guard__ceiling=posture, context_window=200_000)
    session.reply(tokens)

    text = _said(before_load(session, home_dir))

    assert "save" in text or "/compact" in text
    assert all(f"`{knob}`" in text for knob in OUR_KNOBS)


@pytest.mark.row("S0-31")
@pytest.mark.parametrize(
    ("tokens", "action", "knobs"),
    [
        (BANDS[0], "Consider /brim:checkpoint soon", True),
        (BANDS[1], "Run /brim:checkpoint now", True),
        (BANDS[2], "Run /brim:checkpoint before anything else", False),
    ],
)
def test_the_voice_of_adr11_names_a_way_back_and_its_variables(
    tokens: int,
    action: str,
    knobs: bool,
    session: SessionBuilder,
    home_dir: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The lower bands begin with the diagnostic and end with the knobs, the top one directs."""
    _literal(monkeypatch, "off")
    session.reply(tokens)

    lines = before_load(session, home_dir).note.split("\n")

    diagnostic, directive = (0, 1) if knobs else (1, 0)
    assert lines[diagnostic].startswith("🪟 Context at")
    assert lines[directive].startswith(action)
    assert all(knob in lines[-1] for knob in THEIR_KNOBS) is knobs
    assert len(lines) == (3 if knobs else 2)


@pytest.mark.row("S0-31")
@pytest.mark.parametrize("tokens", BANDS)
@pytest.mark.parametrize("tool", LABELS)
def test_every_refusal_of_the_ceiling_names_the_way_out(
    tokens: int, tool: str, session: SessionBuilder, home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In either voice and every band: how to go on, what passes, how to be warned instead."""
    use(monkeypatch, guard__ceiling="strict", guard__block_delegation=True, context_window=200_000)
    session.reply(tokens)
    ours = before_load(session, home_dir, tool).refusal
    _literal(monkeypatch, "on")
    theirs = before_load(session, home_dir, tool).refusal

    assert "Way out: write the state of the work to a file and run /compact" in ours
    assert "`guard.recovery_skills` always pass" in ours
    assert "(warn, strict, off)" in ours
    assert "[blocked: context ceiling] Run /brim:checkpoint, or a recovery skill" in theirs
    assert "those are never gated" in theirs
    assert "DEV_TEAM_CONTEXT_STRICT=off warns instead" in theirs


@pytest.mark.row("S0-31")
def test_the_refusal_to_dispatch_names_the_way_out(
    session: SessionBuilder, home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What to do, what still works, which setting it is, and the figure."""
    use(monkeypatch, guard__preset="guard-30-15-7-3")
    session.reply(165_000)

    assert before_load(session, home_dir, "Agent", "explorer").refusal == (
        "[brimline] Compaction is imminent: not loading agent 'explorer', because its result would "
        "come back into a context that has no room for it. Way out: save the state of the work, "
        "then /compact; Read, Write, Edit and Bash all work. Tune: "
        "`guard.block_dispatch_at_critical`. Measured: 165,000 of 200,000 tokens in use."
    )


@pytest.mark.parametrize("tokens", BANDS)
@pytest.mark.parametrize("tool", LABELS)
@pytest.mark.parametrize("strict", ["off", "on"])
def test_nothing_reads_like_an_order_to_stop_working(
    tokens: int,
    tool: str,
    strict: str,
    session: SessionBuilder,
    home_dir: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Models obey such sentences: a full window is a reason to save, not to leave off."""
    use(monkeypatch, guard__ceiling="strict" if strict == "on" else "warn", context_window=200_000)
    session.reply(tokens)
    ours = _said(before_load(session, home_dir, tool))
    session.session_id = "another"
    _literal(monkeypatch, strict)
    theirs = _said(before_load(session, home_dir, tool))

    assert ours
    assert theirs
    assert [ORDERS_TO_STOP.search(text) for text in (ours, theirs)] == [None, None]


def test_our_voice_keeps_changing_figures_at_the_end(
    session: SessionBuilder, home_dir: str
) -> None:
    """Two notes of one band share everything before the figures, as prompt caches reward."""
    session.reply(81_000)
    first = before_load(session, home_dir).note
    session.reply(91_000)
    second = before_load(session, home_dir).note

    heads = {text.partition("Measured:")[0] for text in (first, second)}

    assert first != second
    assert len(heads) == 1
    assert not re.search(r"\d", heads.pop())


def test_an_excuse_stands_beside_the_advice(
    session: SessionBuilder, home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever asked for refusals reads why this was none."""
    use(monkeypatch, guard__ceiling="strict")
    session.reply(BANDS[0])

    note = before_load(session, home_dir).note

    assert "'planner'. [not blocked: window unverified] It may go ahead" in note
    assert "window from: model" in note


@pytest.mark.parametrize(
    ("name", "shown"), [("", "unnamed"), ("a\nb", "a b"), ("x" * 20_000, "x" * 200)]
)
def test_an_odd_name_becomes_one_short_line(
    name: str, shown: str, session: SessionBuilder, home_dir: str
) -> None:
    """The label is foreign text in a message that has to stay small; none is said to be unnamed."""
    session.reply(BANDS[0])

    note = before_load(session, home_dir, name=name).note

    assert f"invoking skill '{shown}'" in note
    assert len(note) < 9_000


def _literal(monkeypatch: pytest.MonkeyPatch, strict: str) -> None:
    """Put preset adr11 in force, without settings of ours and with the window it finds itself."""
    for name in ("BRIMLINE_CONTEXT_WINDOW", "BRIMLINE_GUARD_CEILING"):
        monkeypatch.delenv(name, raising=False)
    use(monkeypatch, guard__preset="adr11")
    monkeypatch.setenv("DEV_TEAM_CONTEXT_STRICT", strict)


def _said(answer: Answer) -> str:
    """The advice or the refusal; never both."""
    assert not (answer.note and answer.refusal)
    return answer.note or answer.refusal
