"""The figures for programs that poll: one small file, renewed when something moved."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest
from tests.guard.dialogue import (
    after_tool,
    at_prompt,
    at_stop,
    before_load,
    before_tool,
    kept,
    show_window,
    use,
)

from brimline.cli import status_commands
from brimline.gauge import hook
from brimline.gauge.reading import Reading
from brimline.gauge.window import CompactionPoint, Window
from brimline.state.session import SessionState

if TYPE_CHECKING:
    from brimline.testing import SessionBuilder


@pytest.mark.row("S4-36", "S4-41")
def test_level_velocity_and_exhaustion_stand_in_one_file(
    session: SessionBuilder, home_dir: str
) -> None:
    """With the fill, the window and where each figure comes from."""
    for tokens in (120_000, 121_000, 123_000, 126_000):
        session.reply(tokens)
    after_tool(session, home_dir)

    told = _told(session, home_dir)

    assert (told["v"], told["session_id"]) == (1, session.session_id)
    assert (told["level"], told["tier_name"]) == (1, "Warning")
    assert told["velocity_tokens_per_op"] == 2_000
    assert told["predicted_exhaustion_ops_low"] <= told["predicted_exhaustion_ops"]
    assert told["predicted_exhaustion_ops"] <= told["predicted_exhaustion_ops_high"]
    assert (told["occupancy_tokens"], told["projected_tokens"]) == (126_000, 126_120)
    assert (told["window_tokens"], told["window_source"]) == (200_000, "model")
    assert (told["compaction_tokens"], told["compaction_source"]) == (167_000, "window")
    assert told["margin_tokens"] == 40_880
    assert told["measured_by"] == "transcript"
    assert told["measured_at"].endswith("Z")


@pytest.mark.row("S4-41")
@pytest.mark.parametrize(("tokens", "ratio"), [(119_999, 0.599995), (120_000, 0.6)])
def test_who_rations_work_by_the_share_used_can_reckon_it(
    tokens: int, ratio: float, session: SessionBuilder, home_dir: str
) -> None:
    """A rule such as 60 % of the window needs nothing but this file."""
    show_window(session, home_dir, 200_000)
    session.reply(tokens)
    at_prompt(session, home_dir)

    told = _told(session, home_dir)

    assert told["window_source"] == "statusline"
    assert told["occupancy_tokens"] / told["window_tokens"] == ratio


@pytest.mark.row("S4-36", "S4-37")
def test_the_file_and_the_command_agree(session: SessionBuilder, home_dir: str) -> None:
    """Level, velocity and forecast are the same figures as those of `brimline status`."""
    for tokens in range(60_000, 140_000, 3_000):
        session.reply(tokens)
    after_tool(session, home_dir)

    told = _told(session, home_dir)
    shown = status_commands.read_status(session.path, home_dir, session.cwd)

    assert (told["level"], told["velocity_tokens_per_op"]) == (
        shown["tier"],
        shown["velocity_tokens_per_op"],
    )
    assert [told[f"predicted_exhaustion_ops{end}"] for end in ("", "_low", "_high")] == [
        shown[f"forecast_ops{end}"] for end in ("", "_low", "_high")
    ]


@pytest.mark.row("S4-37")
def test_a_faster_session_is_exhausted_sooner(session: SessionBuilder, home_dir: str) -> None:
    """At the same fill, growth of five points a turn leaves fewer operations than one of half."""
    predicted = []
    for name, step in (("slow", 1_000), ("fast", 10_000)):
        session.session_id = name
        session.compact(1)
        for back in range(8, -1, -1):
            session.reply(120_000 - back * step)
        after_tool(session, home_dir)
        predicted.append(_told(session, home_dir)["predicted_exhaustion_ops"])

    slow, fast = predicted
    assert 0 < fast < slow


@pytest.mark.row("S4-37")
def test_past_the_compaction_point_nothing_is_left(session: SessionBuilder, home_dir: str) -> None:
    """Zero operations, not a negative number of them."""
    for tokens in (160_000, 170_000):
        session.reply(tokens)
    after_tool(session, home_dir)

    assert _told(session, home_dir)["predicted_exhaustion_ops"] == 0


@pytest.mark.row("S4-36", "S4-37")
@pytest.mark.parametrize("speak", [after_tool, at_prompt, at_stop])
def test_a_calm_session_has_a_velocity_and_a_forecast_too(
    speak: Any, session: SessionBuilder, home_dir: str
) -> None:
    """Whoever plans ahead does so long before the first tier."""
    for tokens in (40_000, 41_000, 43_000, 46_000):
        session.reply(tokens)
    speak(session, home_dir)

    told = _told(session, home_dir)

    assert (told["level"], told["velocity_tokens_per_op"]) == (0, 2_000)
    assert told["predicted_exhaustion_ops"] > 0


@pytest.mark.row("S4-37")
def test_one_request_predicts_nothing(session: SessionBuilder, home_dir: str) -> None:
    """Unknown is null, never 0."""
    session.reply(100_000)
    after_tool(session, home_dir)

    told = _told(session, home_dir)

    assert told["velocity_tokens_per_op"] is None
    assert told["predicted_exhaustion_ops"] is None


@pytest.mark.parametrize(
    ("before", "after", "renewed"),
    [
        (80_000, 80_000, False),
        (80_000, 81_999, False),
        (80_000, 82_000, True),
        (80_000, 78_001, False),
        (80_000, 78_000, True),
        (106_700, 106_900, True),
        (139_000, 139_001, False),
    ],
)
def test_after_a_tool_the_file_is_renewed_when_a_point_or_the_tier_moved(
    before: int, after: int, renewed: bool, session: SessionBuilder, home_dir: str
) -> None:
    """A point of the window either way, or another tier; otherwise it is not touched."""
    session.reply(before)
    after_tool(session, home_dir)
    first = _stamp(session, home_dir)
    session.reply(after)
    after_tool(session, home_dir)

    assert (_stamp(session, home_dir) != first) is renewed
    assert _told(session, home_dir)["occupancy_tokens"] == (after if renewed else before)


def test_small_steps_add_up(session: SessionBuilder, home_dir: str) -> None:
    """The measure is what the file says, not the last reading."""
    told = []
    for tokens in range(80_000, 84_500, 500):
        session.reply(tokens)
        after_tool(session, home_dir)
        told.append(_told(session, home_dir)["occupancy_tokens"])

    assert told == [80_000] * 4 + [82_000] * 4 + [84_000]


@pytest.mark.parametrize("speak", [at_prompt, at_stop])
def test_prompts_and_ends_of_turns_renew_it_always(
    speak: Any, session: SessionBuilder, home_dir: str
) -> None:
    """Whoever polls between turns finds the figures of the last one."""
    session.reply(80_000)
    after_tool(session, home_dir)
    first = _stamp(session, home_dir)
    session.reply(80_001)

    speak(session, home_dir)

    assert _stamp(session, home_dir) != first
    assert _told(session, home_dir)["occupancy_tokens"] == 80_001


def test_what_comes_before_a_tool_leaves_it_alone(session: SessionBuilder, home_dir: str) -> None:
    """Gates measure for themselves."""
    session.reply(100_000)
    before_load(session, home_dir)
    before_tool(session, home_dir, "Read", file_path="/home/dev/project/a.py")

    assert not kept(session, home_dir, "telemetry.json").exists()


def test_an_unknown_fill_keeps_the_last_figures(session: SessionBuilder, home_dir: str) -> None:
    """Right after a compaction there is nothing better to tell."""
    session.reply(140_000)
    after_tool(session, home_dir)
    first = _stamp(session, home_dir)
    session.compact(167_000)

    for speak in (after_tool, at_prompt, at_stop):
        speak(session, home_dir)

    assert _stamp(session, home_dir) == first


def test_a_subagent_moves_nothing(session: SessionBuilder, home_dir: str) -> None:
    """Its results never enter the main context."""
    session.reply(140_000)
    after_tool(session, home_dir, agent_id="agent-1")

    assert not kept(session, home_dir, "telemetry.json").exists()


@pytest.mark.parametrize("preset", ["off", "adr11", "haios-80", "ccm-70-80-90", "guard-30-15-7-3"])
def test_every_preset_tells_the_figures(
    preset: str, session: SessionBuilder, home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also those that say nothing themselves."""
    use(monkeypatch, guard__preset=preset)
    session.reply(100_000)
    after_tool(session, home_dir)

    assert _told(session, home_dir)["occupancy_tokens"] == 100_000


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"v": 99}', b'{"v": 1}', b"\xff"])
def test_a_damaged_file_is_renewed(content: bytes, session: SessionBuilder, home_dir: str) -> None:
    """With the very next tool."""
    session.reply(100_000)
    after_tool(session, home_dir)
    kept(session, home_dir, "telemetry.json").write_bytes(content)

    after_tool(session, home_dir)

    assert _told(session, home_dir)["occupancy_tokens"] == 100_000


def test_a_reader_never_sees_half_a_file(home_dir: str) -> None:
    """It is replaced whole, however often and by however many."""
    state = SessionState(home_dir, "abc")
    state.save_telemetry({"text": "x" * 5_000})

    def write(number: int) -> None:
        state.save_telemetry({"number": number, "text": "x" * 5_000})

    def read(_: int) -> dict[str, Any]:
        return SessionState(home_dir, "abc").telemetry()

    with ThreadPoolExecutor(8) as pool:
        writes = pool.map(write, range(200))
        found = list(pool.map(read, range(200)))
        list(writes)

    assert all(len(told["text"]) == 5_000 for told in found)


@pytest.mark.parametrize(
    ("occupancy", "tier", "known", "due"),
    [
        (None, None, {}, False),
        (50_000, 0, {}, True),
        (50_000, 0, {"occupancy_tokens": "50000", "level": 0}, True),
        (50_000, 0, {"occupancy_tokens": 50_000, "level": 0}, False),
        (50_000, 1, {"occupancy_tokens": 50_000, "level": 0}, True),
        (59_999, 0, {"occupancy_tokens": 50_000, "level": 0}, False),
        (60_000, 0, {"occupancy_tokens": 50_000, "level": 0}, True),
    ],
)
def test_a_point_is_one_of_the_window(
    occupancy: int | None, tier: int | None, known: dict[str, Any], due: bool
) -> None:
    """In a window of 1,000,000 that is 10,000 tokens."""
    point = CompactionPoint(967_000, "window", 1_000_000, enforced=True)
    reading = Reading(Window(1_000_000, "config"), point)
    reading.occupancy_tokens, reading.tier = occupancy, tier

    assert hook.is_due(reading, known) is due


def _told(session: SessionBuilder, home_dir: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(kept(session, home_dir, "telemetry.json").read_bytes())
    return found


def _stamp(session: SessionBuilder, home_dir: str) -> tuple[int, int]:
    """What changes whenever the file is replaced."""
    found = kept(session, home_dir, "telemetry.json").stat()
    return found.st_ino, found.st_mtime_ns
