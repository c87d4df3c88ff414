"""`brimline config presets`: what there is to choose from, and what is in force."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from brimline import presets
from brimline.settings import BY_KEY, coerce

if TYPE_CHECKING:
    from collections.abc import Callable

    from .conftest import Outcome

NAMES = ["default", "adr11", "haios-80", "ccm-70-80-90", "guard-30-15-7-3", "off"]


def test_every_preset_is_listed_with_what_it_does(brimline: Callable[..., Outcome]) -> None:
    """One line each, the one in force marked."""
    lines = brimline("config", "presets").out.splitlines()

    assert [line[2:].split()[0] for line in lines] == NAMES
    assert [line for line in lines if line.startswith("*")] == [lines[0]]
    for line, preset in zip(lines, presets.load().values(), strict=True):
        assert line.endswith(preset["doc"])


@pytest.mark.parametrize("name", NAMES)
def test_the_one_in_force_is_marked(name: str, brimline: Callable[..., Outcome]) -> None:
    """After it was set, and for programs too."""
    assert brimline("config", "set", "guard.preset", name).code == 0

    (marked,) = [
        line for line in brimline("config", "presets").out.splitlines() if line.startswith("*")
    ]
    listed = json.loads(brimline("config", "presets", "--json").out)

    assert marked.split()[1] == name
    assert [preset["name"] for preset in listed if preset["in_force"]] == [name]


def test_a_program_reads_what_each_sets(brimline: Callable[..., Outcome]) -> None:
    """Settings by name, with the values they get where nobody set them."""
    outcome = brimline("config", "presets", "--json")

    listed = {preset["name"]: preset for preset in json.loads(outcome.out)}

    assert outcome.code == 0
    assert list(listed) == NAMES
    assert listed["default"]["sets"] == {}
    assert listed["ccm-70-80-90"]["sets"]["guard.tiers"] == [70, 80, 90]
    assert listed["haios-80"]["sets"]["guard.tier_unit"] == "used"
    assert all(set(preset) == {"name", "meaning", "sets", "in_force"} for preset in listed.values())


@pytest.mark.parametrize("name", NAMES)
def test_choosing_one_puts_its_settings_in_force(
    name: str, brimline: Callable[..., Outcome]
) -> None:
    """`config explain` names the preset as their source, and a value of one's own stays."""
    brimline("config", "set", "guard.ceiling_percent", "33")
    brimline("config", "set", "guard.preset", name)

    explained = json.loads(brimline("config", "explain", "--json").out)["settings"]

    chosen = presets.load()[name]["settings"]
    for key, value in chosen.items():
        if key != "guard.ceiling_percent":
            assert (explained[key]["value"], explained[key]["source"]) == (value, f"preset {name}")
    assert explained["guard.ceiling_percent"]["value"] == 33
    assert explained["guard.ceiling_percent"]["source"] == "user"


def test_every_preset_can_be_chosen_and_sets_what_there_is() -> None:
    """The choices of the setting are the presets, and their values are ones it takes."""
    assert list(BY_KEY["guard.preset"].choices) == list(presets.load())
    for preset in presets.load().values():
        for key, value in preset["settings"].items():
            assert coerce(BY_KEY[key], value) == value


def test_an_unknown_preset_is_refused_with_the_known_ones(
    brimline: Callable[..., Outcome],
) -> None:
    """One sentence, and nothing is written."""
    outcome = brimline("config", "set", "guard.preset", "haios")

    assert outcome.code == 1
    assert outcome.err.startswith("brimline: guard.preset takes one of default, adr11, haios-80")
    assert json.loads(brimline("config", "get", "guard.preset", "--json").out) == "default"


def test_help_has_an_example(brimline: Callable[..., Outcome]) -> None:
    """Every command shows how it is used."""
    outcome = brimline("config", "presets", "--help")

    assert outcome.code == 0
    assert "brimline config set guard.preset haios-80" in outcome.out
