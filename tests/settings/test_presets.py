"""Presets: what they fill in, what the variables of their sources change."""

from __future__ import annotations

from typing import Any

from brimline.settings import presets
from brimline.settings.values import default_values


def filled(name: str, explicit: set[str], tiers: list[int]) -> tuple[dict[str, Any], set[str]]:
    """The values under a preset, and which of them are from it."""
    values = default_values() | {"guard.preset": name, "guard.tiers": tiers}
    return values, presets.fill_by_preset(values, default_values(), explicit)


def test_what_somebody_set_is_not_filled_in() -> None:
    """And is not named as the preset's."""
    values, from_preset = filled("haios-80", {"guard.tiers"}, [70, 85])

    assert values["guard.tiers"] == [70, 85]
    assert "guard.tiers" not in from_preset
    assert "guard.tier_unit" in from_preset


def test_a_name_from_another_version_is_the_default_preset() -> None:
    """Every preset has all fields, and the words of its tiers and its ceiling."""
    assert presets.preset_or_default("of-tomorrow") is presets.preset_or_default("default")
    fields = {frozenset(preset) for preset in presets.load_presets().values()}
    assert len(fields) == 1
    for name, preset in presets.load_presets().items():
        assert preset["name"] == name
        assert isinstance(preset["ceiling"], dict)
        assert preset["tiers"] is None or preset["tiers"]
        assert {
            type(preset[field]) for field in ("persistent", "repeats", "quiet", "verified")
        } == {bool}
    assert presets.load_presets() is presets.load_presets()
