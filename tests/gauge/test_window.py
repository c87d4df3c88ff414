"""Window, end of a context and ladder: the first source that knows, as tables."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brimline import models
from brimline.fast.policy import Policy
from brimline.gauge import window as brim
from brimline.gauge.reading import Reading
from brimline.gauge.window import (
    CompactionPoint,
    Ladder,
    Window,
    resolve_compaction_point,
    resolve_window,
)

SONNET = "claude-sonnet-4-5-20250929"
OPUS = "claude-opus-5"
# Everything that could answer, strongest first; each row of the table takes one more away.
EVERYTHING: dict[str, Any] = {
    "configured": 300_000,
    "statusline": 400_000,
    "client": {"model": "sonnet[1m]"},
    "occupancy_tokens": 2_500_000,
    "observed": 2_000_000,
    "model": SONNET,
}
POINT = CompactionPoint(
    tokens=167_000,
    source="window",
    effective_window_tokens=200_000,
    enforced=None,
    ending="compaction",
    expected_tokens=167_000,
)
UNITS = ("to_compaction", "remaining", "used", "tokens")
thresholds = st.lists(st.integers(0, 1_000), min_size=1, max_size=9, unique=True)
positions = st.integers(0, 1_100_000)


@pytest.mark.row("S0-28", "S0-29")
@pytest.mark.parametrize(
    ("missing", "tokens", "source"),
    [
        (0, 300_000, "config"),
        (1, 400_000, "statusline"),
        (2, 1_000_000, "settings"),
        (3, 3_000_000, "observed"),
        (4, 2_000_000, "observed"),
        (5, 200_000, "model"),
        (6, 200_000, "default"),
    ],
)
def test_the_strongest_source_that_knows_wins(missing: int, tokens: int, source: str) -> None:
    """Config, status line, client settings, observation, model name, default: in that order."""
    gone = dict.fromkeys(list(EVERYTHING)[:missing])

    window = _window(**EVERYTHING | gone | ({"client": {}} if missing > 2 else {}))

    assert (window.tokens, window.source) == (tokens, source)
    assert window.is_verified is (source not in {"model", "default"})


@pytest.mark.parametrize(
    ("client", "model", "tokens", "source"),
    [
        ({"large_window_off": True}, OPUS, 200_000, "settings"),
        ({"large_window_off": True, "model": "opus[1m]"}, OPUS, 200_000, "settings"),
        ({"large_window_off": True}, SONNET, 200_000, "model"),
        ({"most_tokens": 64_000}, "qwen-coder", 64_000, "settings"),
        ({"most_tokens": 64_000}, SONNET, 200_000, "model"),
        ({"most_tokens": 64_000, "autocompact_enabled": False}, SONNET, 64_000, "settings"),
    ],
)
def test_the_clients_variables_bound_the_window(
    client: dict[str, Any], model: str, tokens: int, source: str
) -> None:
    """A switch takes the large ones away; a figure counts for models it does not know."""
    nothing = dict.fromkeys(("configured", "statusline", "occupancy_tokens", "observed"))

    window = _window(**nothing | {"client": client, "model": model})

    assert (window.tokens, window.source) == (tokens, source)


@pytest.mark.row("S0-29")
@pytest.mark.parametrize(
    ("model", "version", "tokens"),
    [
        (SONNET, "4.5", 200_000),
        ("claude-opus-4-20250514", "4", 200_000),
        ("claude-sonnet-4@20250514", "4", 200_000),
        ("claude-3-5-sonnet-20241022", "3.5", 200_000),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "4.5", 200_000),
        ("claude-sonnet-4-5[1m]", "4.5", 200_000),
        (OPUS, "5", 1_000_000),
        ("claude-opus-4-7", "4.7", 1_000_000),
        ("mystery", "", 200_000),
        ("", "", 200_000),
        (None, "", 200_000),
    ],
)
def test_a_models_name_tells_its_version_and_hints_at_its_window(
    model: str | None, version: str, tokens: int
) -> None:
    """Dates and regions are no versions."""
    assert models.version_text(model) == version
    assert _window(model=model).tokens == tokens


WINDOW, OFF = "autocompact_window", "autocompact_enabled"
BY_MODEL = "autocompact_window_by_model"
# As seen with client 2.1.325: 4.6 in 200,000 and everything from 4.7 on is compacted by itself;
# clients up to 2.1.42 compacted every model; a window in the settings turns it on, clamped to the
# model's, the switch turns it off; a percentage counts only once a window is set, and only lowers;
# a model's own entry is stronger than the general one.
ENDS = json.loads((Path(__file__).parent / "golden" / "ends.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("client", "window", "model", "version", "ending", "tokens", "source"), ENDS
)
def test_the_end_of_a_context_is_the_clients_or_the_apis(
    client: dict[str, Any],
    window: int,
    model: str | None,
    version: str | None,
    ending: str,
    tokens: int,
    source: str,
) -> None:
    """No compaction is announced that will not come (FINDINGS B2)."""
    point = _point(client=client, window=Window(window, "statusline"), model=model, version=version)

    assert (point.ending, point.tokens, point.source) == (ending, tokens, source)
    assert point.expected_tokens == tokens
    compacts = ending == "compaction"
    unseen = "claude" not in (model or "")
    assert point.enforced is (None if unseen else compacts)
    limited = client.get(BY_MODEL, {}).get(model) or client.get(WINDOW)
    assert point.effective_window_tokens == (
        min(limited, window) if limited and compacts else window
    )


@pytest.mark.row("S2-20", "S4-16", "S4-17")
def test_stronger_sources_move_the_point() -> None:
    """Config, then what was learned for this ending, then the preset's assumption."""
    learned = {"200000:200000": 155_000, "200000:200000:refusal": 196_000}

    assert _point(learned=learned).tokens == 196_000
    assert _point(learned=learned, model="claude-sonnet-4-6").tokens == 155_000
    assert _point(learned=learned, client={WINDOW: 150_000}).tokens == 117_000
    assert _point(learned=learned, client={OFF: False}).tokens == 177_000
    assert _point(remaining_percent=16, model="claude-sonnet-4-6").tokens == 168_000
    assert _point(remaining_percent=0, model="claude-sonnet-4-6").tokens == 200_000
    assert _point(remaining_percent=16).tokens == 200_000
    assert _point(remaining_percent=16, client={OFF: False}).tokens == 177_000
    assert _point(learned={"200000:100000": 155_000}).source == "window"
    chosen = _point(learned=learned, configured=150_000, client={WINDOW: 180_000})
    assert (chosen.tokens, chosen.source, chosen.expected_tokens) == (150_000, "config", 147_000)


@given(model=st.text(max_size=20), version=st.text("0123456789.²٣-abc", max_size=12))
@settings(max_examples=100)
def test_foreign_names_and_versions_never_raise(model: str, version: str) -> None:
    """Both come from files that others write."""
    window = _window(model=model, client={"model": model + "[1m]"})

    assert _point(window=window, model=model, version=version).tokens > 0


@given(one=positions, other=positions, thresholds=thresholds, unit=st.sampled_from(UNITS))
@pytest.mark.row("S4-12", "S4-13")
def test_fuller_is_no_lower_tier(one: int, other: int, thresholds: list[float], unit: str) -> None:
    """No gaps, no way back on the way up, and the order of the thresholds does not matter."""
    calm, full = sorted((one, other))

    ladder = _ladder(thresholds, unit)

    assert 0 <= ladder.tier_at(calm) <= ladder.tier_at(full) <= len(thresholds)
    assert ladder.begins == _ladder(thresholds[::-1], unit).begins


@pytest.mark.row("S4-19")
@pytest.mark.parametrize(
    ("unit", "thresholds", "begins", "left"),
    [
        ("to_compaction", [3, 30, 15], [107_000, 137_000, 161_000], 132_999),
        ("remaining", [20, 30], [140_000, 160_000], 155_999),
        ("used", [80, 70], [140_000, 160_000], 155_999),
        ("tokens", [90_000, 70_000], [70_000, 90_000], 85_999),
    ],
)
def test_a_tier_begins_at_so_many_tokens_and_is_left_past_the_slack(
    unit: str, thresholds: list[float], begins: list[int], left: int
) -> None:
    """In whichever order thresholds are written; two points of the window are the slack."""
    ladder = _ladder(thresholds, unit)

    assert ladder.begins == begins
    assert (ladder.tier_at(begins[1] - 1), ladder.tier_at(begins[1])) == (1, 2)
    assert ladder.is_clearly_below(2, left, 2)
    assert not ladder.is_clearly_below(2, left + 1, 2)
    assert ladder.is_clearly_below(len(begins) + 1, begins[-1], 2)  # a tier that is gone


def _ladder(thresholds: list[float], unit: str) -> Ladder:
    values = {"guard.tiers": thresholds, "guard.tier_unit": unit}
    return Ladder(values, Window(200_000, "config"), POINT)


def _window(**known: Any) -> Window:
    unknown: dict[str, Any] = dict.fromkeys(EVERYTHING) | {"client": {}}
    facts = unknown | known
    policy = Policy(
        values={"context_window": facts.pop("configured")}, client=facts.pop("client"), learned={}
    )
    return resolve_window(policy, models.lookup_model(facts.pop("model")), **facts)


def _point(**known: Any) -> CompactionPoint:
    usual: dict[str, Any] = {
        "configured": None,
        "client": {},
        "window": Window(200_000, "default"),
        "model": SONNET,
        "version": "2.1.325",
    }
    return _resolve(**usual | known)


def _resolve(**facts: Any) -> CompactionPoint:
    learned = {"points": facts.get("learned")}
    values = {"compaction_tokens": facts["configured"]}
    policy = Policy(values=values, client=facts["client"], learned=learned)
    model, remaining = models.lookup_model(facts["model"]), facts.get("remaining_percent")
    return resolve_compaction_point(policy, facts["window"], model, facts["version"], remaining)


@pytest.mark.parametrize(
    ("occupancy", "window"),
    [
        (None, None),
        (0, None),
        (200_000, None),
        (200_001, 1_000_000),
        (1_000_000, 1_000_000),
        (1_000_001, 2_000_000),
    ],
)
def test_an_occupancy_proves_the_next_size_up(occupancy: int | None, window: int | None) -> None:
    """Above 200,000 tokens, by millions."""
    assert brim.window_proved_by_occupancy(occupancy) == window


@pytest.mark.parametrize(
    ("version", "numbers"),
    [("2.1.42", (2, 1, 42)), ("2.x", (2, 0)), ("", (0,)), (None, (0,))],
)
def test_a_version_can_be_compared(version: str | None, numbers: tuple[int, ...]) -> None:
    """An unknown one is the oldest."""
    assert brim.parse_client_version(version) == numbers


@pytest.mark.parametrize(
    ("client", "version", "tokens"),
    [
        ({}, "2.1.298", None),
        ({}, "2.1.299", 200_000),
        ({"idle_least_tokens": 99_999}, "2.1.299", 100_000),
        ({"idle_least_tokens": 150_000}, "3.0", 150_000),
        ({"idle_enabled": True}, "3.0", 200_000),
        ({"idle_enabled": False}, "3.0", None),
        ({"autocompact_enabled": False}, "3.0", None),
    ],
)
def test_an_idle_session_is_compacted_by_newer_clients(
    client: dict[str, Any], version: str, tokens: int | None
) -> None:
    """From 200,000 tokens on, or as the user says, but not below 100,000."""
    assert brim.idle_compaction_tokens(client, version) == tokens


def test_newer_clients_compact_the_windows_that_were_seen() -> None:
    """Above them the API refuses; without a version nobody knows."""
    most = models.lookup_model(OPUS).compacts_up_to_tokens
    assert most is not None
    for tokens, ending in ((most, "compaction"), (most + 1, "refusal")):
        point = _point(window=Window(tokens, "config"), version="2.1.43", model=OPUS)
        assert (point.ending, point.enforced) == (ending, ending == "compaction")
    assert _point(window=Window(1_000_000, "config"), version="2.1.42", model=OPUS).enforced is True
    assert _point(version="2.1.43", model="gpt-9").enforced is None


def test_a_learned_point_is_kept_by_its_settings_and_ending() -> None:
    """A compaction needs no name."""
    assert brim.key_of_learned_point(1, 2, "compaction") == "1:2"
    assert brim.key_of_learned_point(1, 2, "stop") == "1:2:stop"


def test_an_ending_of_another_version_is_a_compaction() -> None:
    """As far as words go."""
    assert brim.word_for_ending("new") == "compaction"
    assert brim.ending_at_text("stop", 1_000) == "the client ends the session at about 1,000"
    assert brim.ending_at_text(None, 1_000) == "compaction expected at 1,000"


def _at(occupancy: int | None = 80_000, projected: int | None = 110_000, **known: Any) -> Reading:
    """A reading of a window of 200,000 tokens that is compacted at 167,000."""
    ladder = _ladder([30, 15, 7, 3], "to_compaction")
    reading = Reading(
        window=Window(200_000, "config"),
        compaction=POINT,
        ladder=ladder,
        known_model=models.lookup_model(SONNET),
        model=SONNET,
        client={},
        version=None,
        history=[],
    )
    reading.occupancy_tokens, reading.projected_tokens = occupancy, projected
    reading.margin_tokens = None if projected is None else 167_000 - projected
    for name, value in known.items():
        setattr(reading, name, value)
    return reading


@pytest.mark.parametrize(
    ("unit", "tokens"),
    [("tokens", 110_000), ("to_compaction", 110_000), ("used", 80_000), ("remaining", 80_000)],
)
def test_tiers_go_by_what_is_in_use_or_by_the_next_request(unit: str, tokens: int) -> None:
    """As the client's own percentage does, or as a compaction does."""
    assert _at(ladder=_ladder([5], unit)).ladder_tokens == tokens


# The brim is 57,000 tokens away.
PACE = -(-57_000 // brim.NEAR_REQUESTS)
STEEP = [PACE * step for step in range(1, brim._PACE_READINGS + 1)]


@pytest.mark.parametrize(
    ("tier", "history", "is_raised"),
    [
        # A calm session is raised by a pace of which a few steps reach the brim.
        (0, STEEP, True),
        (0, [STEEP[0] + 1, *STEEP[1:]], False),
        (0, STEEP[1:], False),
        # Any other tier but the last by steps of five points of the window: 10,000 tokens.
        (1, [90_000, 100_000], True),
        (1, [90_001, 100_000], False),
        (3, [90_000, 100_000], True),
        (4, [90_000, 100_000], False),
    ],
)
def test_steep_growth_raises_a_tier(tier: int, history: list[int], is_raised: bool) -> None:
    """By one, and never above the last; one step alone is no pace."""
    assert brim.is_growth_steep_enough_to_lift_tier(_at(history=history), tier, 5) is is_raised


def test_a_calm_reading_past_the_brim_is_not_raised() -> None:
    """Where the unit looks at something else, its distance is no pace to speak of."""
    past = _at(projected=167_001, history=[1_000, 2_000, 3_000])
    exact = _at(projected=167_000, history=[1_000, 2_000, 3_000])
    assert (
        brim.is_growth_steep_enough_to_lift_tier(past, 0, 5),
        brim.is_growth_steep_enough_to_lift_tier(exact, 0, 5),
    ) == (
        False,
        True,
    )


@pytest.mark.parametrize(("tier", "tokens"), [(0, 57_000 // (brim.NEAR_REQUESTS + 1)), (1, 10_000)])
def test_growth_below_so_many_tokens_raises_no_tier(tier: int, tokens: int) -> None:
    """A part of the way that is left, or the points that the setting says."""
    assert brim.least_steep_growth_tokens(_at(tier=tier), 5) == tokens
