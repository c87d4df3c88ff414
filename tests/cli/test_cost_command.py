"""`brimline cost --since`: what it takes, and from when on."""

from __future__ import annotations

import time

import click
import pytest

from brimline.cli import cost_command
from brimline.fast import clock


@pytest.mark.parametrize(
    ("text", "ago_s"),
    [
        ("1h", 3_600),
        ("24h", 86_400),
        ("1d", 86_400),
        ("7d", 604_800),
        ("1w", 604_800),
        ("2w", 1_209_600),
        ("0h", 0),
        ("99999h", 359_996_400),
    ],
)
def test_since_some_hours_days_or_weeks_is_counted_from_now(text: str, ago_s: int) -> None:
    """To the second."""
    before = clock.now_s()
    begun = cost_command._parse_since(text)

    assert before <= begun + ago_s <= clock.now_s()


def test_since_a_day_is_from_its_beginning_here() -> None:
    """In the time of this machine."""
    begun = time.localtime(cost_command._parse_since("2026-11-01"))

    assert tuple(begun)[:6] == (2026, 11, 1, 0, 0, 0)


@pytest.mark.parametrize("text", ["100000h", "7", "d", "7m", "2026-13-01", "yesterday", "1.5d"])
def test_since_takes_nothing_else(text: str) -> None:
    """What it takes is said with what was given."""
    with pytest.raises(click.UsageError) as raised:
        cost_command._parse_since(text)

    told = f"--since takes a day (2026-11-01), 24h, 7d or 2w, not {text!r}"
    assert raised.value.message == told
