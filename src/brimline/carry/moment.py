"""Dates in the format language of moment.js, in which Obsidian names its daily notes. Pure.

Names of months and days are English ones: which language Obsidian runs in is not in the vault.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

_YEAR = "January February March April May June July August September October November December"
_MONTHS = _YEAR.split()
_DAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
_TOKEN = re.compile(
    r"\[([^\[\]]*)\]|YYYY|YY|Y|Qo|Q|MMMM|MMM|MM|Mo|M|DDDD|DDDo|DDD|DD|Do|D|dddd|ddd|dd|do|d|e|E"
    r"|ww|wo|w|WW|Wo|W|gggg|gg|GGGG|GG|HH|H|hh|h|kk|k|mm|m|ss|s|A|a|X|x"
)
_TEENS = (11, 12, 13)
_ENDINGS = {1: "st", 2: "nd", 3: "rd"}
_NOON = 12


def formatted(at: datetime, pattern: str) -> str:
    """A point in local time as a pattern says; `[text]` stands for itself."""

    def replaced(match: re.Match[str]) -> str:
        if match[1] is not None:
            return match[1]
        return _TOKENS[match[0]](at)

    return _TOKEN.sub(replaced, pattern)


def _ordinal(number: int) -> str:
    if number % 100 in _TEENS:
        return f"{number}th"
    return f"{number}{_ENDINGS.get(number % 10, 'th')}"


def _weekday(at: datetime) -> int:
    """Counted from Sunday, as 0."""
    return at.isoweekday() % 7


def _week(at: datetime) -> tuple[int, int]:
    """Year and number of the week; the first has the first of January in it, Sunday comes first."""
    day = at.timetuple().tm_yday
    in_year = (day - 1 + _weekday(at.replace(month=1, day=1))) // 7 + 1
    if at.month == 12 and at.day - _weekday(at) + 6 > 31:  # noqa: PLR2004 - its Saturday is January
        return at.year + 1, 1
    return at.year, in_year


_TOKENS: dict[str, Callable[[datetime], str]] = {
    "YYYY": lambda at: f"{at.year:04}",
    "YY": lambda at: f"{at.year % 100:02}",
    "Y": lambda at: str(at.year),
    "Q": lambda at: str((at.month + 2) // 3),
    "Qo": lambda at: _ordinal((at.month + 2) // 3),
    "MMMM": lambda at: _MONTHS[at.month - 1],
    "MMM": lambda at: _MONTHS[at.month - 1][:3],
    "MM": lambda at: f"{at.month:02}",
    "Mo": lambda at: _ordinal(at.month),
    "M": lambda at: str(at.month),
    "DDDD": lambda at: f"{at.timetuple().tm_yday:03}",
    "DDDo": lambda at: _ordinal(at.timetuple().tm_yday),
    "DDD": lambda at: str(at.timetuple().tm_yday),
    "DD": lambda at: f"{at.day:02}",
    "Do": lambda at: _ordinal(at.day),
    "D": lambda at: str(at.day),
    "dddd": lambda at: _DAYS[_weekday(at)],
    "ddd": lambda at: _DAYS[_weekday(at)][:3],
    "dd": lambda at: _DAYS[_weekday(at)][:2],
    "do": lambda at: _ordinal(_weekday(at)),
    "d": lambda at: str(_weekday(at)),
    "e": lambda at: str(_weekday(at)),
    "E": lambda at: str(at.isoweekday()),
    "ww": lambda at: f"{_week(at)[1]:02}",
    "wo": lambda at: _ordinal(_week(at)[1]),
    "w": lambda at: str(_week(at)[1]),
    "WW": lambda at: f"{at.isocalendar().week:02}",
    "Wo": lambda at: _ordinal(at.isocalendar().week),
    "W": lambda at: str(at.isocalendar().week),
    "gggg": lambda at: f"{_week(at)[0]:04}",
    "gg": lambda at: f"{_week(at)[0] % 100:02}",
    "GGGG": lambda at: f"{at.isocalendar().year:04}",
    "GG": lambda at: f"{at.isocalendar().year % 100:02}",
    "HH": lambda at: f"{at.hour:02}",
    "H": lambda at: str(at.hour),
    "hh": lambda at: f"{at.hour % _NOON or _NOON:02}",
    "h": lambda at: str(at.hour % _NOON or _NOON),
    "kk": lambda at: f"{at.hour or 24:02}",
    "k": lambda at: str(at.hour or 24),
    "mm": lambda at: f"{at.minute:02}",
    "m": lambda at: str(at.minute),
    "ss": lambda at: f"{at.second:02}",
    "s": lambda at: str(at.second),
    "A": lambda at: "AM" if at.hour < _NOON else "PM",
    "a": lambda at: "am" if at.hour < _NOON else "pm",
    "X": lambda at: str(int(at.timestamp())),
    "x": lambda at: str(int(at.timestamp() * 1000)),
}
