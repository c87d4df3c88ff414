"""A spooled line as a row of the time series: known fields in columns, all others kept as JSON."""

from __future__ import annotations

from typing import Any

from brimline import fastjson

_LARGEST_INTEGER = (1 << 63) - 1
# By the name in the spool: the column and what it holds.
_COLUMNS: dict[str, tuple[str, type]] = {
    "occupancy": ("occupancy", int),
    "tail": ("tail", int),
    "window": ("window", int),
    "window_source": ("window_source", str),
    "compaction": ("compaction", int),
    "tier": ("tier", int),
    "offset": ("transcript_offset", int),
    "trigger": ("trigger", str),
    "spoke": ("spoke", int),
    "blocked": ("blocked", bool),
    "tool": ("tool", str),
    "summary_characters": ("summary_characters", int),
    "source": ("source", str),
    "model": ("model", str),
    "cwd": ("cwd", str),
    "transcript_path": ("transcript", str),
}
_KEY = ["spool", "offset", "session", "at", "event"]
_NAMES = [*_KEY, *[column for column, _ in _COLUMNS.values()], "extra"]
INSERT = "INSERT OR IGNORE INTO event ({}) VALUES ({})".format(  # noqa: S608 - names of ours
    ", ".join(f'"{name}"' for name in _NAMES), ", ".join("?" * len(_NAMES))
)


def values(fields: dict[str, Any]) -> list[Any]:
    """The values for `INSERT` that follow file, place and session.

    Whatever has no column, or does not fit into it, is kept as JSON in the last one.
    """
    left = dict(fields)
    name = left.pop("event")
    found: list[Any] = [float(left.pop("at")), _fitting(name, str) or ascii(name)]
    if left.get("v") == 1:
        del left["v"]
    for key, (_, kind) in _COLUMNS.items():
        value = left.get(key)
        fitting = _fitting(value, kind)
        found.append(fitting)
        if key in left and (fitting is not None or value is None):
            del left[key]
    found.append(_as_json(left) if left else None)
    return found


def _fitting(value: Any, kind: type) -> int | str | None:
    """The value if its column can hold it: no flag for a number, no number beyond SQLite's."""
    if isinstance(value, str):
        return value if kind is str and _is_text(value) else None
    if not isinstance(value, int) or isinstance(value, bool) != (kind is bool):
        return None
    return int(value) if kind is not str and abs(value) <= _LARGEST_INTEGER else None


def _is_text(value: str) -> bool:
    """Half of a surrogate pair is no text for SQLite; JSON can keep it."""
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _as_json(value: dict[str, Any]) -> str:
    try:
        return fastjson.dumps(value)
    except RecursionError:
        return '{"lost":"nested too deeply"}'
