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


def test_a_moment_is_written_to_the_nearest_millisecond() -> None:
    """Also where that is the next second."""
    assert clock.format_utc(0.0004) == "1970-01-01T00:00:00.000Z"
    assert clock.format_utc(1.9996) == "1970-01-01T00:00:02.000Z"
