"""Timestamps as the client writes them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brimline.fast import clock

brisk = settings(max_examples=300)
FIRST, LAST = datetime(1970, 1, 2), datetime(2200, 1, 1)  # noqa: DTZ001 - the strategy adds the zone
moments = st.datetimes(FIRST, LAST, timezones=st.just(UTC))


@given(moment=moments)
@brisk
def test_a_timestamp_is_the_moment_it_names(moment: datetime) -> None:
    """On any day, leap days included, it agrees with the standard library."""
    moment = moment.replace(microsecond=moment.microsecond // 1000 * 1000)
    text = moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")

    assert clock.parse_utc(text) == pytest.approx(moment.timestamp(), abs=1e-5)
    assert clock.parse_utc(f"{text[:19]}Z") == int(moment.timestamp())


@given(milliseconds=st.integers(0, 7_000_000_000_000))
@brisk
def test_writing_is_the_reverse_of_reading(milliseconds: int) -> None:
    """No millisecond is lost or gained on the way."""
    text = clock.format_utc(milliseconds / 1000)
    moment = clock.parse_utc(text)

    assert moment is not None
    assert round(moment * 1000) == milliseconds
    assert clock.format_utc(moment) == text


@pytest.mark.parametrize(
    "text",
    [
        *(None, "", "soon", "2026-01-08", "2026-01-08T15:49:03", "2026-13-08T15:49:03Z"),
        *("2026-xx-08T15:49:03Z", "2026-01-08T15:49:03+02:00", "2026-01-08T15:49:0xZ"),
    ],
)
def test_what_is_no_utc_timestamp_is_none(text: str | None) -> None:
    """Unknown is None, never a guess."""
    assert clock.parse_utc(text) is None


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("1970-01-01T00:00:00Z", 0.0),
        ("1970-01-01 00:00:01Z", 1.0),
        ("2000-02-29T00:00:00Z", 951_782_400.0),
        ("2000-03-01T00:00:00.5Z", 951_868_800.5),
        ("2100-03-01T00:00:00Z", 4_107_542_400.0),
        ("1969-12-31T23:59:59Z", -1.0),
        ("2026-12-31T23:59:59Z", 1_798_761_599.0),
        ("2026-00-08T15:49:03Z", None),
        ("2026-12-08X15:49:03Z", None),
    ],
)
def test_days_that_are_easily_miscounted(text: str, moment: float | None) -> None:
    """The first, leap days and what follows them, the last of a year."""
    assert clock.parse_utc(text) == moment


def test_a_moment_is_written_to_the_nearest_millisecond() -> None:
    """Also where that is the next second."""
    assert clock.format_utc(0.0004) == "1970-01-01T00:00:00.000Z"
    assert clock.format_utc(1.9996) == "1970-01-01T00:00:02.000Z"
