"""The settings' defaults, and how a value is checked or parsed.

Fast path: imports only `fast.io`, `models` and `settings.catalogue`.
"""

from __future__ import annotations

from brimline import models
from brimline.fast import clock, io
from brimline.settings.catalogue import SETTINGS, Setting

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

_MOST_TIERS = 9
_MOST_DIGITS = 12
_WHOLE = 100


def default_values() -> dict[str, Any]:
    """Every setting at its default."""
    return {setting.key: setting.default for setting in SETTINGS}


def coerce(setting: Setting, raw: Any) -> Any:
    """Check a value from a file, or parse one from the environment or the command line.

    Raises:
        ValueError: one phrase saying what the setting takes.
    """
    return _COERCIONS[setting.kind](setting, raw)


def _to_tokens(setting: Setting, raw: Any) -> int:
    tokens = io.parse_positive_number(raw.strip().replace("_", "")) if isinstance(raw, str) else raw
    least = max(1, setting.least)
    if type(tokens) is int and least <= tokens < 10**_MOST_DIGITS:
        return tokens
    raise ValueError(f"takes a whole number of tokens, {least:,} or above")


def _to_choice(setting: Setting, raw: Any) -> str:
    if isinstance(raw, str) and raw.strip() in setting.choices:
        return raw.strip()
    raise ValueError("takes one of " + ", ".join(setting.choices))


def _to_numbers(setting: Setting, raw: Any) -> list[float]:
    items = raw.strip().strip("[]").split(",") if isinstance(raw, str) else raw
    try:
        numbers = [_to_number(setting, item) for item in items] if isinstance(items, list) else []
    except ValueError:
        numbers = []
    if 1 <= len(numbers) <= _MOST_TIERS and len(set(numbers)) == len(numbers):
        return numbers
    raise ValueError("takes one to nine different numbers, such as [30, 15, 7, 3]")


def _to_number(setting: Setting, raw: Any) -> float:
    try:
        value = -1.0 if isinstance(raw, bool) else float(raw)
    except (TypeError, ValueError, OverflowError):
        value = -1.0
    if not setting.least <= value < 10**_MOST_DIGITS:  # also refuses what is not a number at all
        raise ValueError(f"takes a number, {setting.least} or above")
    return int(value) if value == int(value) else value


def _to_percent(setting: Setting, raw: Any) -> float:
    number = _to_number(setting, raw.rstrip("% ") if isinstance(raw, str) else raw)
    if number <= _WHOLE:
        return number
    raise ValueError("takes a number from 0 to 100")


def _to_count(setting: Setting, raw: Any) -> int:
    number = _to_number(setting, raw)
    if not isinstance(number, int):
        raise ValueError("takes a whole number, 0 or above")
    return number


def _to_flag(_: Setting, raw: Any) -> bool:
    word = raw.strip().lower() if isinstance(raw, str) else raw
    if word is True or word in ("true", "1", "yes", "on"):
        return True
    if word is False or word in ("false", "0", "no", "off"):
        return False
    raise ValueError("takes true or false")


def _to_path(_: Setting, raw: Any) -> str:
    # What is relative would be whatever the current project has in that place.
    if isinstance(raw, str) and raw.startswith(("/", "~/")) and "\0" not in raw:
        return raw
    raise ValueError("takes a path that begins with / or ~/")


def _to_texts(setting: Setting, raw: Any) -> list[str]:
    items = raw.split(",") if isinstance(raw, str) else raw
    if items == [] or _are_texts(items):
        texts = [item.strip() for item in items if item.strip()]
        if not setting.choices or set(texts) <= set(setting.choices):
            return texts
    known = f" out of {', '.join(setting.choices)}" if setting.choices else ""
    raise ValueError(f"takes a list of texts{known}")


def _to_folders(setting: Setting, raw: Any) -> list[str]:
    folders = _to_texts(setting, raw)
    if all(folder.startswith(("/", "~", "*")) for folder in folders):
        return folders
    raise ValueError("takes a list of folders that begin with /, ~ or *")


def _to_qdrant_url(_: Setting, raw: Any) -> str:
    if isinstance(raw, str) and raw.strip().startswith(("qdrant+https://", "qdrant+http://")):
        return raw.strip()
    raise ValueError("takes an address such as qdrant+https://host/collection")


_COERCIONS: dict[str, Any] = {
    "tokens": _to_tokens,
    "choice": _to_choice,
    "numbers": _to_numbers,
    "number": _to_number,
    "percent": _to_percent,
    "count": _to_count,
    "flag": _to_flag,
    "texts": _to_texts,
    "folders": _to_folders,
    "path": _to_path,
    "url": _to_qdrant_url,
}


def check_and_complete_model(entry: Any) -> dict[str, Any]:
    """Check a user's row of models; complete it by what its name would be taken for without it.

    Raises:
        ValueError: one phrase saying what is wrong with it.
    """
    if not isinstance(entry, dict) or not isinstance(entry.get("families"), list):
        raise ValueError('needs families = ["…"], the words of the names that it is about')
    for key, value in entry.items():
        if key not in models.UNKNOWN or not _fits_model_field(key, value):
            raise ValueError(f"cannot have {key} = {value!r}")
    versions = entry.get("versions", [])
    taken_for = models.lookup_model(" ".join([*entry["families"][:1], *versions[:1]])).row
    return (
        models.UNKNOWN | taken_for | entry | {"versions": list(map(models.version_text, versions))}
    )


def _fits_model_field(key: str, value: Any) -> bool:
    """Tell whether a value is of the kind that a field takes."""
    if key == "families":
        return _are_texts(value)
    if key == "versions":
        return _are_texts(value) and all(map(models.version_text, value))
    if key == "prices_before":
        return isinstance(value, list) and all(map(_are_prices_until, value))
    if key.startswith("prices"):
        return isinstance(value, dict) and _are_prices(value, is_above=key == "prices_above")
    if key == "binds_thinking":
        return isinstance(value, bool)
    is_whole = not key.endswith("_tokens") or isinstance(value, int)
    return is_whole and _are_zero_or_more([value]) and (value > 0 or key == "compacts_up_to_tokens")


def _are_prices(prices: dict[Any, Any], *, is_above: bool) -> bool:
    names = {*models.PRICE_NAMES, "tokens"} if is_above else {*models.PRICE_NAMES}
    return prices.keys() == names and _are_zero_or_more(prices.values())


def _are_prices_until(prices: Any) -> bool:
    """Tell whether these are prices that held until a day."""
    if not isinstance(prices, dict) or clock.parse_utc(f"{prices.get('until')}T00:00:00Z") is None:
        return False
    return _are_prices({name: prices[name] for name in prices if name != "until"}, is_above=False)


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(text, str) for text in value)


def _are_zero_or_more(values: Iterable[Any]) -> bool:
    return all(type(value) in (int, float) and 0 <= value < 10**_MOST_DIGITS for value in values)
