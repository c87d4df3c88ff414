"""Named sets of settings and words, read from one data file. A preset fills in what nobody set.

Fast path: imports only `fast.io` and `launch`; hooks find the preset in the compiled settings.
"""

from __future__ import annotations

from brimline.fast import io
from brimline.fast.paths import PACKAGE_DIR

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

FILE = f"{PACKAGE_DIR}/guard/presets.toml"
_DEFAULTS: dict[str, Any] = {
    "settings": {},
    "environment": [],
    "events": ["PostToolUse", "UserPromptSubmit"],
    "names": {},
    "ceiling": "brimline",
    "verified": True,
    **dict.fromkeys(("tiers", "person", "dispatch", "point_remaining")),
    **dict.fromkeys(("persistent", "repeats", "quiet"), False),
}
_read: dict[str, dict[str, Any]] = {}


def load_presets() -> dict[str, dict[str, Any]]:
    """Every preset by name, each with all its fields and its words."""
    if not _read:
        import tomllib

        with open(FILE, "rb") as file:
            document = tomllib.load(file)
        words = document.pop("words")
        for name, fields in document.items():
            preset = {"name": name} | _DEFAULTS | fields
            preset |= {kind: texts.get(preset[kind]) for kind, texts in words.items()}
            _read[name] = preset
    return _read


def preset_or_default(name: str) -> dict[str, Any]:
    """The preset of that name; the default one for a name from another version."""
    found = load_presets()
    return found.get(name, found["default"])


def fill_by_preset(
    values: dict[str, Any], defaults: dict[str, Any], explicit: set[str]
) -> set[str]:
    """Give every setting that nobody set the value of the preset in force; returns their names."""
    chosen = preset_or_default(values["guard.preset"])["settings"]
    if _has_tiers_of_other_unit(values, chosen, explicit):
        explicit = explicit - {"guard.tiers"}
    for preset in load_presets().values():
        for key in preset["settings"]:
            if key not in explicit:
                values[key] = chosen.get(key, defaults[key])
    return {key for key in chosen if key not in explicit}


def apply_preset_environment(
    values: dict[str, Any], preset: dict[str, Any], read: Callable[[str], str | None]
) -> None:
    """Let the variables of a preset's source change settings; malformed ones change nothing."""
    for entry in preset["environment"]:
        found = io.parse_positive_number((read(entry["variable"]) or "").strip())
        if found is not None:
            values[entry["setting"]] = found


def _has_tiers_of_other_unit(
    values: dict[str, Any], chosen: dict[str, Any], explicit: set[str]
) -> bool:
    """Tell whether falling thresholds of the usual unit would meet a preset that counts upwards."""
    if "guard.tiers" not in explicit or "guard.tier_unit" in explicit:
        return False
    thresholds = values["guard.tiers"]
    falling = thresholds[0] > thresholds[-1]
    return falling and chosen.get("guard.tier_unit") in ("used", "tokens")
