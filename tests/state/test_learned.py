"""Learned compaction points: medians of automatic compactions, and nothing else gets in."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from brimline.state import learned

if TYPE_CHECKING:
    from collections.abc import Iterable

WINDOW = 200_000
KEY = "200000:200000"


def sample(
    tokens: int, *, trigger: str = "auto", window: int = WINDOW, effective: int | None = None
) -> learned.Sample:
    """A compaction at some tokens."""
    return learned.Sample(
        at=1.5,
        session="abc",
        window=window,
        effective=effective or window,
        tokens=tokens,
        trigger=trigger,
    )


def remaining(*points: int, trigger: str = "auto") -> list[learned.Sample]:
    """Compactions on 200,000 with so many percent of the window left."""
    return [sample(WINDOW * (100 - left) // 100, trigger=trigger) for left in points]


def record(home_dir: str, found: Iterable[learned.Sample]) -> None:
    """Keep several."""
    for one in found:
        learned.record(home_dir, one)


@pytest.mark.row("S4-16")
def test_the_point_is_the_median_of_what_really_happened(home_dir: str) -> None:
    """Compactions with 18 to 22 percent left put the point at 20 percent left."""
    record(home_dir, remaining(18, 19, 20, 21, 22))

    assert learned.points(home_dir) == {KEY: WINDOW * 80 // 100}


@pytest.mark.row("S4-16")
def test_only_the_last_ten_count(home_dir: str) -> None:
    """Whatever came before them has no say."""
    record(home_dir, remaining(*[10] * 40, *[20] * 10))

    assert learned.points(home_dir) == {KEY: 160_000}


@pytest.mark.row("S4-17")
def test_without_data_nothing_is_learned(home_dir: str) -> None:
    """No file, an empty one, or too few samples: the caller's other sources decide, no floor."""
    assert learned.points(home_dir) == {}

    record(home_dir, remaining(20, 20))

    assert learned.points(home_dir) == {}
    assert len(learned.samples(home_dir)) == 2


@pytest.mark.row("S4-18")
@pytest.mark.parametrize("points", [(85, 90, 94, 88), (20, 20, 20, 20), (17, 16, 18)])
def test_a_compaction_that_was_asked_for_never_feeds_the_point(
    points: tuple[int, ...], home_dir: str
) -> None:
    """Neither with most of the window left nor right where the client would have compacted."""
    record(home_dir, remaining(*points, trigger="manual"))

    assert learned.points(home_dir) == {}


@pytest.mark.row("S4-18")
def test_samples_far_from_every_expected_point_are_set_aside(home_dir: str) -> None:
    """Even when they claim to be automatic, and however many they are."""
    record(home_dir, remaining(18, 20, 22))
    record(home_dir, remaining(*[85, 90, 94, 88, 1, 0, 40] * 5))
    record(home_dir, remaining(85, 94, trigger="manual"))

    assert learned.points(home_dir) == {KEY: 160_000}


@pytest.mark.parametrize("trigger", ["", "Auto", "AUTO", "api", "manual"])
def test_a_sample_is_automatic_only_by_its_recorded_trigger(trigger: str) -> None:
    """What the client did not call automatic is not."""
    assert not learned.is_usable(sample(167_000, trigger=trigger))


@pytest.mark.parametrize(
    ("tokens", "usable"), [(147_000, True), (187_000, True), (146_999, False), (187_001, False)]
)
def test_ten_points_of_the_effective_window_are_near(tokens: int, usable: bool) -> None:
    """On either side of window minus 33,000, the bounds included."""
    assert learned.is_usable(sample(tokens)) is usable


def test_a_point_of_the_settings_is_expected_too(home_dir: str) -> None:
    """A lowered threshold makes compactions there believable, for those settings only."""
    lowered = [sample(90_000, effective=180_000)._replace(expected=90_000) for _ in range(3)]
    record(home_dir, lowered + [sample(90_000) for _ in range(3)])

    assert learned.points(home_dir) == {"200000:180000": 90_000}


def test_windows_and_settings_are_learned_apart(home_dir: str) -> None:
    """A point of one says nothing about another."""
    record(home_dir, remaining(20, 20, 20))
    record(home_dir, [sample(967_000, window=1_000_000)] * 3)
    record(home_dir, [sample(147_000, window=1_000_000, effective=180_000)] * 3)

    assert learned.points(home_dir) == {
        KEY: 160_000,
        "1000000:1000000": 967_000,
        "1000000:180000": 147_000,
    }


def test_an_even_number_of_samples_meets_in_the_middle(home_dir: str) -> None:
    """The median is the mean of the middle two."""
    record(home_dir, [sample(tokens) for tokens in (160_000, 161_000, 165_000, 150_000)])

    assert learned.points(home_dir) == {KEY: 160_500}


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"garbage\n",
        b'{"v":1,"at":1,"session":"abc","window":2000',
        b'{"v":2,"at":1,"session":"a","window":200000,"effective":200000,"tokens":1}\n',
        b'{"v":1,"at":1,"session":"a","window":0,"effective":1,"tokens":1,"trigger":"auto"}\n',
        b'{"v":1,"at":1,"session":"a","window":1,"effective":1,"tokens":true,"trigger":"auto"}\n',
        b'{"v":1,"at":1,"session":"a","window":1,"effective":1,"tokens":1,"trigger":null}\n',
        b'{"v":1,"at":1,"session":7,"window":1,"effective":1,"tokens":1,"trigger":"auto"}\n',
        b'{"v":1,"at":"1","session":"a","window":1,"effective":1,"tokens":1,"trigger":"auto"}\n',
        b"[]\nnull\n\xff\xfe\n",
    ],
)
def test_damaged_samples_are_passed_over(damage: bytes, home_dir: str) -> None:
    """And the ones after them are still read, also behind a torn line."""
    record(home_dir, remaining(20))
    with Path(home_dir, "learned.jsonl").open("ab") as file:
        file.write(damage)
    record(home_dir, remaining(20, 20))

    assert [one.tokens for one in learned.samples(home_dir)] == [160_000] * 3
    assert learned.points(home_dir) == {KEY: 160_000}


def test_samples_are_private_and_come_back_as_they_were(home_dir: str) -> None:
    """Mode 600, a version on each line, every field."""
    kept = sample(166_000, trigger="manual", window=1_000_000, effective=500_000)

    learned.record(home_dir, kept)
    (found,) = learned.samples(home_dir)

    path = Path(home_dir, "learned.jsonl")
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.read_text().startswith('{"v":1,"at":1.5,')
    assert [getattr(found, name) for name in learned.Sample._fields] == [
        getattr(kept, name) for name in learned.Sample._fields
    ]
