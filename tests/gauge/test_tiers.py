"""The ladder as a function: which tier a position is in, in any unit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brimline.gauge import tiers
from brimline.gauge.reading import Reading
from brimline.gauge.window import CompactionPoint, Window

LADDER = [30.0, 15.0, 7.0, 3.0]
UNITS = ("to_compaction", "remaining", "used", "tokens")
ladders = st.lists(st.integers(0, 1_000), min_size=1, max_size=9, unique=True)
positions = st.floats(-100, 1_100)


@pytest.mark.row("S4-12")
@pytest.mark.parametrize(
    ("at", "tier"),
    [(31, 0), (30.001, 0), (30, 1), (16, 1), (15, 2), (8, 2), (7, 3), (4, 3), (3, 4), (-50, 4)],
)
def test_a_threshold_belongs_to_the_tier_it_opens(at: float, tier: int) -> None:
    """Distances fall, and the exact figure is already inside."""
    assert tiers.tier_of(at, LADDER) == tier


@pytest.mark.row("S4-13")
@pytest.mark.parametrize(
    ("unit", "inside", "outside"),
    [("to_compaction", 50, 51), ("remaining", 50, 51), ("used", 50, 49), ("tokens", 50, 49)],
)
def test_every_unit_has_its_direction(unit: str, inside: float, outside: float) -> None:
    """Less room and more use both mean fuller."""
    assert tiers.tier_of(inside, [50], unit) == 1
    assert tiers.tier_of(outside, [50], unit) == 0


@given(at=positions, ladder=ladders, unit=st.sampled_from(UNITS))
def test_the_order_of_the_thresholds_does_not_matter(
    at: float, ladder: list[float], unit: str
) -> None:
    """However the user writes the list, the tiers are the same."""
    found = tiers.tier_of(at, ladder, unit)

    assert found == tiers.tier_of(at, ladder[::-1], unit)
    assert found is not None
    assert 0 <= found <= len(ladder)


@given(one=positions, other=positions, ladder=ladders, unit=st.sampled_from(UNITS))
def test_fuller_is_never_a_lower_tier(
    one: float, other: float, ladder: list[float], unit: str
) -> None:
    """The ladder has no gaps and no way back on the way up."""
    low, high = sorted((one, other), reverse=unit in {"to_compaction", "remaining"})

    calmer, fuller = tiers.tier_of(low, ladder, unit), tiers.tier_of(high, ladder, unit)

    assert calmer is not None
    assert fuller is not None
    assert calmer <= fuller


@pytest.mark.parametrize("unit", UNITS)
def test_an_unknown_position_has_no_tier(unit: str) -> None:
    """Unknown is not calm."""
    reading = _reading()

    assert tiers.position(reading, unit) is None
    assert tiers.tier_of(None, LADDER, unit) is None
    assert tiers.raised(None, 9.0, 5, 4) is None


@pytest.mark.parametrize(
    ("unit", "at"),
    [("to_compaction", 33.0), ("remaining", 90.0), ("used", 10.0), ("tokens", 101_000)],
)
def test_a_position_is_read_in_its_unit(unit: str, at: float) -> None:
    """Shares of the window are the client's; points to compaction are of what it compacts by."""
    reading = _reading(100_000, 101_000)

    assert tiers.position(reading, unit) == at


@pytest.mark.row("S4-14", "S4-15")
@pytest.mark.parametrize(
    ("tier", "growth", "limit", "raised"),
    [
        (1, 5.0, 5, 2),
        (1, 4.999, 5, 1),
        (2, 5.0, 5, 3),
        (3, 50.0, 5, 4),
        (4, 50.0, 5, 4),
        (0, 50.0, 5, 0),
        (1, None, 5, 1),
        (1, 50.0, 0, 1),
        (1, -9.0, 5, 1),
    ],
)
def test_steep_growth_raises_by_one(
    tier: int, growth: float | None, limit: float, raised: int
) -> None:
    """All but calm and the last; 0 switches it off."""
    assert tiers.raised(tier, growth, limit, 4) == raised


@pytest.mark.parametrize(
    ("level", "count", "name"),
    [
        (0, 4, "Calm"),
        (1, 4, "Warning"),
        (2, 4, "Advisory"),
        (3, 4, "Yellow Alert"),
        (4, 4, "Critical"),
        (0, 1, "Calm"),
        (1, 1, "Warning"),
        (2, 2, "Critical"),
        (3, 3, "Critical"),
        (4, 6, "Level 4"),
        (6, 6, "Critical"),
    ],
)
def test_tiers_are_named_by_their_place(level: int, count: int, name: str) -> None:
    """The last of several is always the critical one."""
    assert tiers.name_of(level, count) == name


@pytest.mark.row("S4-19")
@pytest.mark.parametrize(
    ("unit", "ladder", "stays", "left"),
    [
        ("to_compaction", [30, 15], 17.0, 17.1),
        ("remaining", [15, 30], 17.0, 17.1),
        ("used", [70, 80], 78.0, 77.9),
        ("tokens", [70_000, 80_000], 76_000, 75_999),
    ],
)
def test_a_tier_is_left_only_past_the_slack(
    unit: str, ladder: list[float], stays: float, left: float
) -> None:
    """Two points of the window, whatever the unit; the second tier of each ladder."""
    assert not tiers.has_left(stays, 2, ladder, unit, 2, 200_000)
    assert tiers.has_left(left, 2, ladder, unit, 2, 200_000)


@pytest.mark.parametrize("unit", UNITS)
def test_a_tier_that_is_no_longer_on_the_ladder_is_left(unit: str) -> None:
    """After the user shortened the list."""
    assert tiers.has_left(50, 3, [30, 15], unit, 2, 200_000)


def _reading(occupancy: int | None = None, projected: int | None = None) -> Reading:
    """A reading of a window of 1,000,000 that the client compacts by 300,000 of it."""
    point = CompactionPoint(200_000, "settings", 300_000, enforced=True)
    reading = Reading(Window(1_000_000, "config"), point)
    reading.occupancy_tokens, reading.projected_tokens = occupancy, projected
    reading.margin_tokens = None if projected is None else point.tokens - projected
    return reading
