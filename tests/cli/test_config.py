"""`brimline config`: show, explain, change."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from brimline.fast import paths, policy
from brimline.settings import presets
from brimline.settings.catalogue import BY_KEY, SETTINGS
from brimline.settings.values import default_values

if TYPE_CHECKING:
    from .conftest import Refused, Run

NAMES = ["default", "adr11", "haios-80", "ccm-70-80-90", "guard-30-15-7-3", "off"]


def test_every_setting_in_force_is_listed_with_the_file(home_dir: str, brimline: Run) -> None:
    """As lines for people and as JSON for machines."""
    file = paths.user_config(home_dir)

    found = brimline("config", "list", "--json").document
    lines = brimline("config", "list").out.splitlines()

    assert found == {"file": file, "values": default_values(), "problems": []}
    assert "guard.tiers = [30, 15, 7, 3]" in lines
    assert "context_window = unset" in lines
    assert f"# {file}  (not there)" in lines


def test_a_setting_is_taken_out_again(home_dir: str, project_dir: str, brimline: Run) -> None:
    """What is weaker holds again, at once; the rest of the file stays as it is."""
    Path(home_dir).mkdir()
    file = Path(paths.user_config(home_dir))
    file.write_text("# keep me\n[guard]\ntiers = [9]\npreset = 'off' # why\n")

    done = brimline("config", "unset", "guard.tiers")
    again = brimline("config", "unset", "guard.tiers", "--json").document

    assert done.out.startswith(f"guard.tiers was removed from {file}; in force: [30, 15, 7, 3]")
    assert file.read_text() == "# keep me\n[guard]\npreset = 'off' # why\n"
    assert policy.load(home_dir, project_dir).values["guard.tiers"] == [30, 15, 7, 3]
    assert (again["removed"], again["source"]) == (False, "default")
    brimline("config", "set", "offload.never", "git log")
    brimline("config", "unset", "offload.never")
    assert "[offload]" not in file.read_text()
    file.write_text(file.read_text() + "[store]\n")
    assert "store" not in brimline("config", "list").err


def test_one_setting_is_shown_and_an_unknown_one_refused_with_its_nearest(
    brimline: Run, refused: Refused
) -> None:
    """The bare value; in every command that names one."""
    assert brimline("config", "get", "guard.preset").out == '"default"\n'
    assert brimline("config", "get", "context_window", "--json").out == "null\n"
    for words in ("get guard.tier", "set guard.tier 1", "explain guard.tier", "unset guard.tier"):
        told = refused("config", *words.split())
        assert told == "brimline: there is no setting 'guard.tier'; did you mean guard.tiers?\n"
    told = refused("config", "unset", "foo.bar")
    assert told == "brimline: there is no setting 'foo.bar'; `brimline config list` has them all\n"


def test_tiers_run_with_their_unit(home_dir: str, brimline: Run, refused: Refused) -> None:
    """Figures that run against it are most likely meant in another one; nothing is written."""
    told = refused("config", "set", "guard.tiers", "70,80,90")
    assert "guard.tiers must fall in the unit to_compaction: write 90,80,70, or" in told
    assert "1,000 or above, not '-5'" in refused("config", "set", "context_window", "-5")
    assert not Path(home_dir).exists()


def test_a_setting_is_written_and_in_force_at_once(
    home_dir: str, project_dir: str, brimline: Run
) -> None:
    """File, compiled policy and the next command agree."""
    done = brimline("config", "set", "guard.tiers", "40,20,10,5")

    assert done == (0, f"guard.tiers = [40, 20, 10, 5]  in {paths.user_config(home_dir)}\n", "")
    assert policy.load(home_dir, project_dir).values["guard.tiers"] == [40, 20, 10, 5]
    assert brimline("config", "get", "guard.tiers").out == "[40, 20, 10, 5]\n"


def test_a_wrong_value_is_refused_and_nothing_is_written(home_dir: str, brimline: Run) -> None:
    """One sentence says what the setting takes."""
    done = brimline("config", "set", "guard.preset", "loud")

    assert done.code == 1
    choices = ", ".join(BY_KEY["guard.preset"].choices)
    assert done.err == f"brimline: guard.preset takes one of {choices}, not 'loud'\n"
    assert not Path(home_dir).exists()


def test_every_setting_is_explained_with_its_source(
    brimline: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Meaning, value, who set it, and which variable would."""
    monkeypatch.setenv("BRIMLINE_GUARD_PRESET", "off")

    out = brimline("config", "explain").out
    words = " ".join(out.split())
    for setting in SETTINGS:
        assert setting.doc in words
        assert (f"Environment: {setting.variable}." in words) is setting.project
    assert 'guard.preset = "off"  (from: environment (BRIMLINE_GUARD_PRESET))' in out

    report = json.loads(brimline("config", "explain", "guard.preset", "--json").out)
    assert list(report["settings"]) == ["guard.preset"]
    assert report["settings"]["guard.preset"]["value"] == "off"
    assert report["problems"] == []


def test_problems_are_warned_about_without_stopping(
    home_dir: str, brimline: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command still answers, and stdout stays clean for pipes."""
    Path(home_dir).mkdir()
    Path(paths.user_config(home_dir)).write_text("guard.tires = 1\ncontext_window = 'x'\n")
    monkeypatch.setenv("BRIMLINE_CONTEXT_WINDOWS", "5")

    done = brimline("config", "list", "--json")

    assert done.document["values"] == default_values()
    assert done.err.count("warning: ") == 3
    assert "did you mean guard.tiers?" in done.err
    assert "did you mean BRIMLINE_CONTEXT_WINDOW?" in done.err
    assert len(json.loads(brimline("config", "explain", "--json").out)["problems"]) == 3


@pytest.mark.parametrize("name", NAMES)
def test_choosing_a_preset_puts_its_settings_in_force(name: str, brimline: Run) -> None:
    """It is marked, named as their source, and a value of one's own stays."""
    brimline("config", "set", "guard.ceiling_percent", "33")
    assert brimline("config", "set", "guard.preset", name).code == 0

    listed = brimline("config", "presets", "--json").document
    explained = brimline("config", "explain", "--json").document["settings"]

    assert [preset["name"] for preset in listed] == NAMES
    assert [preset["name"] for preset in listed if preset["in_force"]] == [name]
    assert f"\n* {name} " in "\n" + brimline("config", "presets").out
    chosen = presets.load_presets()[name]["settings"]
    for key, value in chosen.items():
        if key != "guard.ceiling_percent":
            assert (explained[key]["value"], explained[key]["source"]) == (value, f"preset {name}")
    assert explained["guard.ceiling_percent"]["value"] == 33
    assert explained["guard.ceiling_percent"]["source"] == "user"
