"""`brimline config`: show, explain, change."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from brimline.fast import paths, policy
from brimline.settings import BY_KEY, SETTINGS, defaults

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest

    from .conftest import Outcome


def test_the_files_are_named(
    home_dir: str, project_dir: str, brimline: Callable[..., Outcome]
) -> None:
    """Both paths, and whether they are there."""
    found = json.loads(brimline("config", "path", "--json").out)

    assert found == {
        "user": paths.user_config(home_dir),
        "project": paths.project_config(project_dir),
    }
    assert brimline("config", "path").out.count("(not there)") == 2


def test_every_setting_in_force_is_shown(brimline: Callable[..., Outcome]) -> None:
    """As lines for people and as JSON for machines."""
    assert json.loads(brimline("config", "show", "--json").out) == defaults()
    lines = brimline("config", "show").out.splitlines()
    assert "guard.tiers = [30, 15, 7, 3]" in lines
    assert "context_window = unset" in lines
    assert len(lines) == len(SETTINGS)


def test_one_setting_is_shown(brimline: Callable[..., Outcome]) -> None:
    """The bare value."""
    assert brimline("config", "get", "guard.preset").out == '"default"\n'
    assert brimline("config", "get", "context_window", "--json").out == "null\n"


def test_an_unknown_setting_is_refused_with_its_nearest(brimline: Callable[..., Outcome]) -> None:
    """In every command that names one."""
    for arguments in (("get", "guard.tier"), ("set", "guard.tier", "1"), ("explain", "guard.tier")):
        done = brimline("config", *arguments)
        assert done.code == 1
        assert done.err == "brimline: there is no setting 'guard.tier'; did you mean guard.tiers?\n"


def test_a_setting_is_written_and_in_force_at_once(
    home_dir: str, project_dir: str, brimline: Callable[..., Outcome]
) -> None:
    """File, compiled policy and the next command agree; comments stay."""
    Path(home_dir).mkdir()
    Path(paths.user_config(home_dir)).write_text("# keep me\n[guard]\npreset = 'off' # why\n")

    done = brimline("config", "set", "guard.tiers", "40,20,10,5")

    assert done.code == 0
    assert done.out == f"guard.tiers = [40, 20, 10, 5]  in {paths.user_config(home_dir)}\n"
    assert done.err == ""
    assert Path(paths.user_config(home_dir)).read_text() == (
        "# keep me\n[guard]\npreset = 'off' # why\ntiers = [40, 20, 10, 5]\n"
    )
    assert policy.load(home_dir, project_dir).values["guard.tiers"] == [40, 20, 10, 5]
    assert brimline("config", "get", "guard.tiers").out == "[40, 20, 10, 5]\n"


def test_a_project_setting_is_written_into_the_project(
    project_dir: str, brimline: Callable[..., Outcome]
) -> None:
    """Where it may stand there at all."""
    done = brimline("config", "set", "--project", "context_window", "1000000", "--json")

    assert json.loads(done.out) == {
        "key": "context_window",
        "value": 1_000_000,
        "file": paths.project_config(project_dir),
    }
    refused = brimline("config", "set", "--project", "store.pin_level", "hard")
    assert refused.code == 1
    assert "only be set in the user's own file" in refused.err


def test_a_wrong_value_is_refused_and_nothing_is_written(
    home_dir: str, brimline: Callable[..., Outcome]
) -> None:
    """One sentence says what the setting takes."""
    done = brimline("config", "set", "guard.preset", "loud")

    assert done.code == 1
    choices = ", ".join(BY_KEY["guard.preset"].choices)
    assert done.err == f"brimline: guard.preset takes one of {choices}, not 'loud'\n"
    assert not Path(home_dir).exists()


def test_a_setting_that_has_no_effect_is_pointed_out(
    project_dir: str, brimline: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The project's file or the environment may be stronger than what was just written."""
    brimline("config", "set", "--project", "context_window", "5")
    done = brimline("config", "set", "context_window", "6")
    assert done.err == "note: context_window is overridden by project\n"

    monkeypatch.setenv("BRIMLINE_CONTEXT_WINDOW", "7")
    done = brimline("config", "set", "--project", "context_window", "8")
    assert "overridden by environment (BRIMLINE_CONTEXT_WINDOW)" in done.err


def test_every_setting_is_explained_with_its_source(
    brimline: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Meaning, value, who set it, and which variable would."""
    monkeypatch.setenv("BRIMLINE_GUARD_PRESET", "off")

    out = brimline("config", "explain").out
    for setting in SETTINGS:
        assert setting.doc in out
        assert setting.env in out
    assert 'guard.preset = "off"  (from: environment (BRIMLINE_GUARD_PRESET)' in out

    report = json.loads(brimline("config", "explain", "guard.preset", "--json").out)
    assert list(report["settings"]) == ["guard.preset"]
    assert report["settings"]["guard.preset"]["value"] == "off"
    assert report["problems"] == []


def test_problems_are_warned_about_without_stopping(
    home_dir: str, brimline: Callable[..., Outcome]
) -> None:
    """The command still answers, and stdout stays clean for pipes."""
    Path(home_dir).mkdir()
    Path(paths.user_config(home_dir)).write_text("guard.tires = 1\ncontext_window = 'x'\n")

    done = brimline("config", "show", "--json")

    assert done.code == 0
    assert json.loads(done.out) == defaults()
    assert done.err.count("warning: ") == 2
    assert "did you mean guard.tiers?" in done.err
    assert len(json.loads(brimline("config", "explain", "--json").out)["problems"]) == 2


def test_a_file_that_cannot_be_written_is_one_sentence(
    home_dir: str, brimline: Callable[..., Outcome]
) -> None:
    """A file where the folder should be: no traceback, nothing lost."""
    Path(home_dir).write_text("I am a file")

    done = brimline("config", "set", "guard.preset", "off")

    assert done.code == 1
    assert done.err.startswith(f"brimline: cannot change {paths.user_config(home_dir)}: ")
    assert Path(home_dir).read_text() == "I am a file"
