"""Which lines of an output alarm."""

from __future__ import annotations

import pytest

from brimline.bulk import alarms


@pytest.mark.parametrize(
    ("line", "weight"),
    [
        ("FAILED tests/test_x.py", 3),
        ("3 tests passed", 3),
        ("ok 12", 3),
        ("an Error came", 2),
        ("Deprecation", 1),
        ("WARNING: old", 1),
        ("all is well", 0),
    ],
)
def test_a_failure_or_a_total_alarms_more_than_an_error_and_an_error_than_a_warning(
    line: str, weight: int
) -> None:
    """Whatever the case of the letters."""
    assert alarms.alarm_level_of_line(line) == weight


def test_a_word_that_alarms_on_every_line_is_not_looked_for_for_ever() -> None:
    """More would not be shown."""
    text = "error\n" * (most := alarms._MOST_SEARCHED) * 2

    assert list(alarms.alarming_lines_by_number(text, 0, len(text), 0)) == list(range(most))
