"""Settings by name, their defaults, and how a value is checked or parsed.

Fast path: imports only `brimline.settings.catalogue`.
"""

from __future__ import annotations

from brimline.settings.catalogue import SETTINGS, Setting

__all__ = ["BY_KEY", "SETTINGS", "Setting", "coerce", "defaults"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

BY_KEY = {setting.key: setting for setting in SETTINGS}
_MOST_TIERS = 9
_MOST_DIGITS = 12


def defaults() -> dict[str, Any]:
    """Every setting at its default."""
    return {setting.key: setting.default for setting in SETTINGS}


def coerce(setting: Setting, raw: Any) -> Any:
    """Check a value from a file, or parse one from the environment or the command line.

    Raises:
        ValueError: one phrase saying what the setting takes.
    """
    return _COERCIONS[setting.kind](setting, raw)


def _tokens(setting: Setting, raw: Any) -> int:
    if isinstance(raw, str):
        digits = raw.strip().replace("_", "")
        plain = digits.isascii() and digits.isdigit() and len(digits) <= _MOST_DIGITS
        raw = int(digits) if plain else None
    least = max(1, setting.least)
    if isinstance(raw, int) and not isinstance(raw, bool) and least <= raw < 10**_MOST_DIGITS:
        return raw
    raise ValueError(f"takes a whole number of tokens, {least:,} or above")


def _choice(setting: Setting, raw: Any) -> str:
    if isinstance(raw, str) and raw.strip() in setting.choices:
        return raw.strip()
    raise ValueError("takes one of " + ", ".join(setting.choices))


def _numbers(setting: Setting, raw: Any) -> list[float]:
    problem = "takes one to nine different numbers, such as [30, 15, 7, 3]"
    items = raw.strip().strip("[]").split(",") if isinstance(raw, str) else raw
    if not isinstance(items, list) or not 1 <= len(items) <= _MOST_TIERS:
        raise ValueError(problem)
    try:
        numbers = [_number(setting, item) for item in items]
    except ValueError:
        raise ValueError(problem) from None
    if len(set(numbers)) != len(numbers):
        raise ValueError(problem)
    return numbers


def _number(setting: Setting, raw: Any) -> float:
    try:
        value = -1.0 if isinstance(raw, bool) else float(raw)
    except (TypeError, ValueError, OverflowError):
        value = -1.0
    if not setting.least <= value < 10**_MOST_DIGITS:  # also refuses what is no number at all
        raise ValueError(f"takes a number, {setting.least} or above")
    return int(value) if value == int(value) else value


def _count(setting: Setting, raw: Any) -> int:
    number = _number(setting, raw)
    if not isinstance(number, int):
        raise ValueError("takes a whole number, 0 or above")
    return number


def _flag(_: Setting, raw: Any) -> bool:
    word = raw.strip().lower() if isinstance(raw, str) else raw
    if word is True or word in ("true", "1", "yes", "on"):
        return True
    if word is False or word in ("false", "0", "no", "off"):
        return False
    raise ValueError("takes true or false")


def _path(_: Setting, raw: Any) -> str:
    if isinstance(raw, str) and raw.strip() and "\0" not in raw:
        return raw
    raise ValueError("takes a path")


def _texts(setting: Setting, raw: Any) -> list[str]:
    items = [item.strip() for item in raw.split(",")] if isinstance(raw, str) else raw
    if isinstance(items, list) and all(isinstance(item, str) for item in items):
        texts = [item for item in items if item]
        if not setting.choices or set(texts) <= set(setting.choices):
            return texts
    known = f" out of {', '.join(setting.choices)}" if setting.choices else ""
    raise ValueError(f"takes a list of texts{known}")


def _url(_: Setting, raw: Any) -> str:
    if isinstance(raw, str) and raw.strip().startswith(("qdrant+https://", "qdrant+http://")):
        return raw.strip()
    raise ValueError("takes an address such as qdrant+https://host/collection")


_COERCIONS: dict[str, Any] = {
    "tokens": _tokens,
    "choice": _choice,
    "numbers": _numbers,
    "number": _number,
    "count": _count,
    "flag": _flag,
    "texts": _texts,
    "path": _path,
    "url": _url,
}
