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


def test_a_list_of_settings_names_files_that_are_not_there(
    home_dir: str, project_dir: str, brimline: Run
) -> None:
    """And those that are, without a word more."""
    os.makedirs(home_dir)
    with open(paths.user_config(home_dir), "w", encoding="utf-8") as file:
        file.write("context_window = 5000\n")

    out = brimline("config", "list").out
    flat = out.replace("\n", " ")

    assert f"# user: {paths.user_config(home_dir)} # project" in flat
    assert f"# project: {paths.project_config(project_dir)}  (not there)" in flat
    assert json.loads(brimline("config", "list", "--json").out)["values"]["context_window"] == 5_000
