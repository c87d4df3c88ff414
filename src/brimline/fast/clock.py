"""Points in time as the client writes them, without `datetime`.

Fast path: imports only `time`.
"""

from __future__ import annotations

import time

_ISO_LENGTH = len("2026-01-08T15:49:03")
_LAST_MONTH = 12
_DAYS_TO_1970 = 719_468


def now_s() -> float:
    """Seconds since 1970."""
    return time.time()


def parse_utc(text: str | None) -> float | None:
    """Seconds since 1970 of a UTC timestamp such as `2026-01-08T15:49:03.054Z`, or None."""
    if not text or len(text) < _ISO_LENGTH or text[10] not in "T " or text[-1] != "Z":
        return None
    try:
        year, month, day = int(text[0:4]), int(text[5:7]), int(text[8:10])
        hour, minute, second = int(text[11:13]), int(text[14:16]), float(text[17:-1])
    except ValueError:
        return None
    if not 1 <= month <= _LAST_MONTH:
        return None
    return _days_since_1970(year, month, day) * 86_400 + hour * 3_600 + minute * 60 + second


def format_utc(seconds: float) -> str:
    """The reverse of `parse`, to the millisecond."""
    whole, milliseconds = divmod(round(seconds * 1000), 1000)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(whole)) + f".{milliseconds:03d}Z"


def _days_since_1970(year: int, month: int, day: int) -> int:
    """Days since 1970 in the Gregorian calendar, counted from March so that leap days come last."""
    shifted = year - (month <= 2)  # noqa: PLR2004 - January and February
    era = shifted // 400
    year_of_era = shifted - era * 400
    day_of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    day_of_era = year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year
    return era * 146_097 + day_of_era - _DAYS_TO_1970
