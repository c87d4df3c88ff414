"""Presets: what they fill in, what the variables of their sources change."""

from __future__ import annotations

from typing import Any

import pytest

from brimline.settings import presets
from brimline.settings.values import default_values


def filled(name: str, explicit: set[str], tiers: list[int]) -> tuple[dict[str, Any], set[str]]:
    """The values under a preset, and which of them are from it."""
    values = default_values() | {"guard.preset": name, "guard.tiers": tiers}
    return values, presets.fill_by_preset(values, default_values(), explicit)


@pytest.mark.parametrize("name", list(presets.load_presets()))
def test_a_preset_gives_its_own_values_and_all_others_are_the_defaults(name: str) -> None:
    """Whatever another preset had given before."""
    own = presets.preset_or_default(name)["settings"]
    everywhere = {key for preset in presets.load_presets().values() for key in preset["settings"]}
    values = (
        default_values()
        | {"guard.preset": name}
        | dict.fromkeys(everywhere - {"guard.preset"}, "x")
    )

    from_preset = presets.fill_by_preset(values, default_values(), set())

    assert from_preset == {*own}
    assert {key: values[key] for key in everywhere} == {
        key: own.get(key, default_values()[key]) for key in everywhere
    }


def test_what_somebody_set_is_not_filled_in() -> None:
    """And is not named as the preset's."""
    values, from_preset = filled("haios-80", {"guard.tiers"}, [70, 85])

    assert values["guard.tiers"] == [70, 85]
    assert "guard.tiers" not in from_preset
    assert "guard.tier_unit" in from_preset


@pytest.mark.parametrize(
    ("tiers", "explicit", "is_kept"),
    [
        ([20, 10], {"guard.tiers"}, False),
        ([20, 10], {"guard.tiers", "guard.tier_unit"}, True),
        ([10, 20], {"guard.tiers"}, True),
        ([20, 20], {"guard.tiers"}, True),
        ([20], {"guard.tiers"}, True),
    ],
)
def test_falling_tiers_give_way_to_a_preset_that_counts_upwards(
    tiers: list[int], explicit: set[str], is_kept: bool
) -> None:
    """Unless their unit was set too; one that counts down takes them."""
    values, from_preset = filled("haios-80", explicit, list(tiers))

    assert (values["guard.tiers"] == tiers) is is_kept
    assert ("guard.tiers" not in from_preset) is is_kept
    usual, _ = filled("default", explicit, list(tiers))
    assert usual["guard.tiers"] == tiers


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


NUMBER = {"variable": "N", "setting": "a"}


@pytest.mark.parametrize(
    ("variables", "values"),
    [
        ({}, {"a": 0, "b": 0}),
        ({"N": "7"}, {"a": 7, "b": 0}),
        ({"N": " 7 "}, {"a": 7, "b": 0}),
        ({"N": "0"}, {"a": 0, "b": 0}),
        ({"N": "x"}, {"a": 0, "b": 0}),
    ],
)
def test_a_presets_variables_change_settings_where_they_make_sense(
    variables: dict[str, str], values: dict[str, int]
) -> None:
    """A whole number above 0."""
    found = {"a": 0, "b": 0}
    presets.apply_preset_environment(found, {"environment": [NUMBER]}, variables.get)

    assert found == values
