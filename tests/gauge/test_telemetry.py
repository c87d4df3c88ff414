"""The figures for programs that poll: one small file, renewed when something moved."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from brimline.figures import spool
from brimline.gauge import session_status
from brimline.gauge.hook import _STEP_RATIO
from brimline.settings import config
from brimline.transcript.typed import measure

if TYPE_CHECKING:
    from tests.guard.dialogue import Talk


@pytest.mark.row("S4-36", "S4-37", "S4-41")
@pytest.mark.parametrize("preset", ["default", "off", "adr11", "guard-30-15-7-3"])
def test_level_velocity_and_exhaustion_stand_in_one_file(preset: str, talk: Talk) -> None:
    """With the fill, the window, the end and their sources; the command says the same."""
    talk.use(guard__preset=preset)
    for tokens in (120_000, 121_000, 123_000):
        talk.session.reply(tokens)
    talk.after_tool(126_000)

    told = _told(talk)

    point = (168_000, "preset") if preset.startswith("guard-") else (167_000, "window")
    assert (told["v"], told["session_id"]) == (1, talk.session.session_id)
    assert (told["level"], told["tier"]) == (1, 1)
    assert told["velocity_tokens_per_op"] == 2_000
    assert (told["occupancy_tokens"], told["projected_tokens"]) == (126_000, 126_120)
    assert (told["window_tokens"], told["window_source"]) == (200_000, "model")
    assert (told["compaction_tokens"], told["compaction_source"]) == point
    assert (told["margin_tokens"], told["ending"]) == (point[0] - 126_120, "compaction")
    assert told["measured_by"] == "transcript"
    assert told["measured_at"].endswith("Z")
    ops = [told[f"predicted_exhaustion_ops{end}"] for end in ("_low", "", "_high")]
    assert ops == sorted(ops)
    settings = config.build_live_policy(talk.home_dir, talk.session.cwd)
    recorded = measure(talk.session.path)
    shown = session_status.status_document(talk.session.path, recorded, talk.home_dir, settings)
    assert shown["tier"] == told["level"]
    assert shown["velocity_tokens_per_op"] == told["velocity_tokens_per_op"]
    assert [shown[f"forecast_ops{end}"] for end in ("_low", "", "_high")] == ops


@pytest.mark.row("S4-36", "S4-37")
@pytest.mark.parametrize("speak", ["after_tool", "at_prompt", "at_stop"])
def test_a_calm_session_has_a_velocity_and_a_forecast_too(speak: str, talk: Talk) -> None:
    """Whoever plans ahead does so long before the first tier; one request predicts nothing."""
    getattr(talk, speak)(40_000)
    assert _told(talk)["velocity_tokens_per_op"] is None
    assert _told(talk)["predicted_exhaustion_ops"] is None
    talk.session.reply(41_000)
    getattr(talk, speak)(44_000)

    told = _told(talk)

    assert (told["level"], told["velocity_tokens_per_op"]) == (0, 2_000)
    assert told["predicted_exhaustion_ops"] > 0


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"v": 99}', b'{"v": 1}', b"\xff"])
def test_a_damaged_file_is_renewed(content: bytes, talk: Talk) -> None:
    """With the very next tool."""
    talk.after_tool(100_000)
    talk.kept("telemetry.json").write_bytes(content)

    talk.after_tool()

    assert _told(talk)["occupancy_tokens"] == 100_000


def _told(talk: Talk) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(talk.kept("telemetry.json").read_bytes())
    return found


STEP = round(_STEP_RATIO * 200_000)


@pytest.mark.parametrize(("growth", "is_news"), [(STEP - 1, False), (STEP, True), (-STEP, True)])
def test_a_small_part_of_the_window_is_worth_telling(
    growth: int, is_news: bool, talk: Talk
) -> None:
    """In either direction; a smaller step waits for the end of the turn."""
    talk.after_tool(40_000)
    talk.after_tool(40_000 + growth)

    assert _told(talk)["occupancy_tokens"] == (40_000 + growth if is_news else 40_000)
    talk.at_stop(40_000 + growth)
    assert _told(talk)["occupancy_tokens"] == 40_000 + growth


@pytest.mark.parametrize(
    ("speak", "event", "tail"),
    [("after_tool", "PostToolUse", 120), ("at_prompt", "UserPromptSubmit", 121)],
)
def test_every_reading_is_on_record(speak: str, event: str, tail: int, talk: Talk) -> None:
    """With what was measured, in which window, and the tier."""
    getattr(talk, speak)(126_000)

    lines = spool.read_spooled_events(talk.home_dir, talk.session.session_id)

    (line,) = [one for one in lines if one["event"] == event]
    recorded = [line[name] for name in ("occupancy", "tail", "window", "compaction", "tier")]
    assert recorded == [126_000, tail, 200_000, 167_000, 1]
    assert (line["window_source"], line["model"]) == ("model", talk.session.model)
