"""The files of the mod: what the client reads in them, and what is written and removed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from brimline import __version__
from brimline.errors import InstallError
from brimline.hooks import slashcommands
from brimline.install import modfolder
from brimline.install.entries import Wiring

if TYPE_CHECKING:
    from .conftest import Home

LAUNCHED = Wiring("/usr/bin/python3", "/root", "/data", "/data/bin/hook")
BY_CODE = Wiring("/usr/bin/python3", "/root", "/data")


def documents(wired: Wiring) -> dict[str, Any]:
    """The JSON files of the mod as values."""
    files = modfolder.mod_files(wired)
    return {name: json.loads(raw) for name, raw in files.items() if name.endswith(".json")}


def test_the_client_finds_two_plugins_in_a_marketplace_of_ours() -> None:
    """Of this version, from folders beside it, with one module each."""
    found = documents(LAUNCHED)

    assert (
        found[".claude-plugin/marketplace.json"]["name"],
        found[".claude-plugin/marketplace.json"]["owner"],
    ) == (
        "brimline",
        {"name": "brimline"},
    )
    names = {"brimline": "brimline-mod", "idle": "brimline-idle"}
    for plugin, (folder, name) in zip(
        found[".claude-plugin/marketplace.json"]["plugins"], names.items(), strict=True
    ):
        about = {"name": name, "version": __version__}
        assert plugin.items() >= (about | {"source": f"./{folder}"}).items()
        own = found[f"{folder}/.claude-plugin/plugin.json"]
        assert own.items() >= (about | {"author": {"name": "brimline"}}).items()
        assert found[f"{folder}/hooks/hooks.json"] == {"modules": ["./register.js"]}


@pytest.mark.parametrize("wired", [LAUNCHED, BY_CODE], ids=["launcher", "code"])
def test_what_the_mod_starts_is_what_hooks_start(wired: Wiring) -> None:
    """Its own word, or that of an event."""
    started = documents(wired)["brimline/brimline.json"]

    assert started["command"] == wired.hook_argv("mod")
    assert [*started["hook"], "Stop"] == wired.hook_argv("Stop")


def test_every_slash_command_that_a_hook_answers_is_the_mods_too() -> None:
    """With its words, and a hint where it takes some."""
    told = documents(LAUNCHED)["brimline/brimline.json"]["commands"]
    answered = (*slashcommands.ANSWERED, slashcommands.PANE)

    assert [one["name"] for one in told] == [f"brim-{command.name}" for command in answered]
    assert [one["description"] for one in told] == [command.description for command in answered]
    assert [one.get("argumentHint") for one in told] == [
        command.hint or None for command in answered
    ]


def test_the_files_are_laid_out_for_people() -> None:
    """Two blanks, letters as they are, and a line break at the end."""
    for name, raw in modfolder.mod_files(LAUNCHED).items():
        if name.endswith(".json"):
            value = json.loads(raw)
            assert raw == (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode()
            assert raw.startswith(b'{\n  "')


def test_only_what_is_missing_or_changed_is_written(home: Home) -> None:
    """A dry run writes nothing; what is gone or edited comes back."""
    mod = modfolder.Mod(home.data, LAUNCHED)
    names = [f"{home.data}/mod/{name}" for name in modfolder.mod_files(LAUNCHED)]

    assert [change.path for change in mod.plan_or_install(do=False).files] == names
    assert not Path(home.data, "mod").exists()
    assert [change.path for change in mod.plan_or_install(do=True).files] == names
    assert mod.plan_or_install(do=True).files == []
    Path(names[1]).write_text("edited")
    Path(names[2]).unlink()
    assert [change.path for change in mod.plan_or_install(do=True).files] == names[1:3]
    assert mod.plan_or_install(do=False).files == []


def test_a_folder_that_is_not_ours_is_neither_taken_nor_removed(home: Home) -> None:
    """Whatever is in it."""
    folder = Path(home.data, "mod")
    folder.mkdir(parents=True)
    mod = modfolder.Mod(home.data, LAUNCHED)
    assert mod.plan_or_install(do=False).files, "an empty one can be taken"
    (folder / "mine.txt").write_text("mine")

    with pytest.raises(InstallError, match="is not brimline's and in the mod's place: move it"):
        mod.plan_or_install(do=False)
    assert mod.plan_or_remove(do=True).files == []
    assert (folder / "mine.txt").read_text() == "mine"


def test_all_of_the_folder_goes_and_a_dry_run_only_says_so(home: Home) -> None:
    """What somebody put into it too: it is ours."""
    mod = modfolder.Mod(home.data, LAUNCHED)
    mod.plan_or_install(do=True)
    Path(home.data, "mod", "more.txt").write_text("more")

    planned = mod.plan_or_remove(do=False)
    assert len(planned.files) == 9
    assert Path(home.data, "mod", "more.txt").exists()
    assert [change.path for change in mod.plan_or_remove(do=True).files] == [
        change.path for change in planned.files
    ]
    assert not Path(home.data, "mod").exists()
    assert mod.plan_or_remove(do=True).files == []
