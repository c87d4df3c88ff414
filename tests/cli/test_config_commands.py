"""`brimline config`: tiers in their unit, and the files that are named."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

from brimline.fast import paths

if TYPE_CHECKING:
    from .conftest import Run


@pytest.mark.parametrize(
    ("unit", "tiers", "said"),
    [
        ("used", "50,100", ""),
        ("used", "50,101", "guard.tiers must be 0 to 100 in the unit used"),
        ("used", "60,50", "guard.tiers must rise in the unit used: write 50,60"),
        ("remaining", "100,50", ""),
        ("remaining", "100.5,50", "guard.tiers must be 0 to 100 in the unit remaining"),
        ("to_compaction", "3,30", "guard.tiers must fall in the unit to_compaction: write 30,3"),
        ("tokens", "50000,100000", ""),
        ("tokens", "100000,50000", "guard.tiers must rise in the unit tokens: write 50000,100000"),
    ],
)
def test_tiers_are_points_up_to_a_hundred_in_their_order(
    unit: str, tiers: str, said: str, brimline: Run
) -> None:
    """Tokens have no such end."""
    assert brimline("config", "set", "guard.tier_unit", unit).code == 0

    done = brimline("config", "set", "guard.tiers", tiers)

    assert (done.code == 0) is (said == "")
    assert said in done.err


def test_a_list_of_settings_names_the_file_that_is_there(home_dir: str, brimline: Run) -> None:
    """Without a word more."""
    os.makedirs(home_dir)
    with open(paths.user_config(home_dir), "w", encoding="utf-8") as file:
        file.write("context_window = 5000\n")

    out = brimline("config", "list").out

    assert out.endswith(f"\n# {paths.user_config(home_dir)}\n")
    assert json.loads(brimline("config", "list", "--json").out)["values"]["context_window"] == 5_000


def test_a_change_says_where_it_was_written_and_what_overrides_it(
    home_dir: str, brimline: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And where more has to be done, what."""
    file = paths.user_config(home_dir)

    plain = brimline("config", "set", "guard.velocity_points", "3")
    assert (plain.out, plain.err) == (f"guard.velocity_points = 3  in {file}\n", "")
    monkeypatch.setenv("BRIMLINE_GUARD_VELOCITY_POINTS", "7")
    over = brimline("config", "set", "guard.velocity_points", "4")
    by = "environment (BRIMLINE_GUARD_VELOCITY_POINTS)"
    assert f"guard.velocity_points is overridden by {by}" in over.err
    nowhere = brimline("config", "set", "reminder.file", "~/none.md")
    assert nowhere.err == "note: there is no ~/none.md yet\n"
    index = brimline("config", "set", "memory.exclude", "/secret")
    assert "`brimline memory index` brings the search in line, or the next session" in index.err
    removed = brimline("config", "unset", "guard.velocity_points").out
    assert removed == (f"guard.velocity_points was removed from {file}; in force: 7 ({by})\n")
    again = brimline("config", "unset", "guard.velocity_points").out
    assert again.startswith(f"guard.velocity_points was not in {file}; in force: 7 (")


def test_the_preset_that_is_in_force_has_a_star(brimline: Run) -> None:
    """All others have none."""
    assert brimline("config", "set", "guard.preset", "haios-80").code == 0

    lines = brimline("config", "presets").out.split("\n")
    rows = brimline("config", "presets", "--json").document

    assert [line.split()[1] for line in lines if line.startswith("* ")] == ["haios-80"]
    assert [row["name"] for row in rows if row["in_force"]] == ["haios-80"]
    assert {line.index(line.split()[2]) for line in lines if line.startswith("* ")} == {19}
    below = [line for line in lines if line.startswith("   ")]
    assert below
    assert {len(line) - len(line.lstrip()) for line in below} == {19}
