"""The mod: its folder, the two settings that name it, and what `doctor` says of it."""

from __future__ import annotations

import json
import re
import stat
from pathlib import Path
from typing import Any

import pytest

from brimline.install import checks_mod
from brimline.settings import config, plugins
from brimline.state.session import MOD_ALIVE, SessionState

from . import fake_claude
from .conftest import ORIGINAL, Home

MOD = "brimline-mod@brimline"
IDLE = "brimline-idle@brimline"
MODULE = "mod/brimline/hooks/register.js"


def told(home: Home, level: str) -> list[str]:
    """What `doctor` says of the mod, on one level."""
    rows = home.run("doctor", "--json").report["findings"]
    return [row["what"] for row in rows if (row["check"], row["level"]) == ("mod", level)]


@pytest.mark.row("S4-44")
def test_the_client_is_told_of_a_private_folder_and_forgets_it_to_the_byte(home: Home) -> None:
    """Two settings keys, eight files that nobody else reads, and nothing left of either."""
    home.install()

    place = str(Path(home.data, "mod"))
    source = {"source": {"source": "directory", "path": place}}
    assert home.value["extraKnownMarketplaces"] == {"brimline": source}
    assert home.value["enabledPlugins"] == {MOD: True, IDLE: True}
    files = [path for path in Path(place).rglob("*") if path.is_file()]
    assert len(files) == 8
    assert not any(stat.S_IMODE(path.stat().st_mode) & 0o077 for path in files)
    started = json.loads(Path(place, "brimline", "brimline.json").read_bytes())
    assert started["command"] == [str(home.launcher), "mod"]

    home.uninstall()

    assert home.settings.read_bytes() == ORIGINAL
    assert not Path(place).exists()


def test_other_plugins_stay(home: Home) -> None:
    """They keep their places, also where somebody edited the settings after us."""
    theirs = {"b@market": True, "a@market": False}
    home.edit(enabledPlugins=theirs, extraKnownMarketplaces={})
    before = home.value
    home.install()
    assert list(home.value["enabledPlugins"]) == [*theirs, MOD, IDLE]
    home.edit(x=1)

    home.uninstall()

    assert home.value == before | {"x": 1}


def test_it_can_be_left_out_and_taken_out(home: Home) -> None:
    """`--no-mod` adds nothing, and takes back what an earlier installation added."""
    home.install("--no-mod")
    assert not {"enabledPlugins", "extraKnownMarketplaces"} & home.value.keys()
    assert not Path(home.data, "mod").exists()
    assert told(home, "note") == ["the mod is not installed"]
    home.install()
    home.install("--no-mod")
    assert not {"enabledPlugins", "extraKnownMarketplaces"} & home.value.keys()


def test_one_that_was_disabled_stays_so(home: Home) -> None:
    """The client's own menu writes `false`, which an upgrade must not overrule."""
    home.install()
    home.edit(enabledPlugins={MOD: False})
    home.install()
    assert home.value["enabledPlugins"] == {MOD: False, IDLE: True}
    assert told(home, "note") == [f"the mod {MOD} is disabled in the client"]


def test_settings_of_a_strange_shape_are_left_alone(home: Home) -> None:
    """What the client does not understand is not made an object."""
    home.edit(enabledPlugins=[], extraKnownMarketplaces=3)
    home.install()
    assert (home.value["enabledPlugins"], home.value["extraKnownMarketplaces"]) == ([], 3)
    assert "hooks" in home.value


def test_a_folder_that_is_not_ours_is_not_taken(home: Home) -> None:
    """One sentence, and nothing is changed."""
    Path(home.data, "mod").mkdir(parents=True)
    Path(home.data, "mod", "mine.txt").write_text("mine")

    done = home.run("install", "--yes")

    assert (done.code, "move it" in done.err) == (1, True)
    assert home.settings.read_bytes() == ORIGINAL


def test_what_one_agrees_to_says_what_it_does_and_costs(home: Home) -> None:
    """In the summary, before anything is written."""
    words = " ".join(home.run("install", "--dry-run").out.split())
    assert "without a model request" in words
    assert "an eighth more input" in words
    assert "--no-mod" not in " ".join(home.run("install", "--dry-run", "--no-mod").out.split())


def test_the_client_forgets_its_record(client: Home) -> None:
    """By its own command, after which the settings are what they were."""
    client.install()
    known = client.config / "plugins" / "known_marketplaces.json"
    known.parent.mkdir()
    source = {"source": "directory", "path": str(Path(client.data, "mod"))}
    known.write_text(json.dumps({"brimline": {"source": source}}))

    report = client.uninstall()

    assert report["client_calls"][-1] == "claude plugin marketplace remove brimline"
    assert json.loads(known.read_bytes()) == {}
    assert client.settings.read_bytes() == ORIGINAL


def test_doctor_says_whether_the_last_session_had_it(home: Home) -> None:
    """And why not, where that can be known."""
    home.install()
    assert told(home, "ok") == ["the mod is installed; no session has begun since"]
    state = SessionState(home.data, "s1")
    state.spool_event("SessionStart", {})
    assert "--bare" in told(home, "warning")[0]
    home.edit(disableAllHooks=True)
    assert "disableAllHooks" in told(home, "warning")[0]
    home.edit(disableAllHooks=False)
    state.save_document(MOD_ALIVE, {"at": 1.0, "client": "2.1.325", "inside": "keep"})
    assert "client 2.1.325, compaction.inside = keep" in told(home, "ok")[0]


def test_doctor_names_an_old_client(home: Home, no_client: Path) -> None:
    """One before mods neither loads it nor complains."""
    program = no_client / "claude"
    program.write_text("#!/bin/sh\necho '2.1.286 (Claude Code)'\n")
    program.chmod(0o755)
    home.install()
    SessionState(home.data, "s1").spool_event("SessionStart", {})
    assert "older than 2.1.287" in told(home, "warning")[0]


def test_doctor_says_what_keeps_it_from_answering(home: Home) -> None:
    """Another's PreCompact hook, a setting, a changed file."""
    home.install()
    hooks = home.value["hooks"]
    hooks["PreCompact"].append({"hooks": [{"type": "command", "command": "save.sh"}]})
    home.edit(hooks=hooks)
    Path(home.data, MODULE).write_text("changed")

    said = told(home, "warning")

    assert any("save.sh" in text for text in said)
    assert any("not what this version would write" in text for text in said)
    config.write_setting(f"{home.data}/config.toml", "compaction.inside", "off")
    assert "compaction.inside is off" in told(home, "note")[0]


def test_the_client_loads_one_file(home: Home) -> None:
    """Older clients let nothing of theirs into functions of another file."""
    home.install()
    module = Path(home.data, MODULE).read_text(encoding="utf-8")
    lines = module.splitlines()
    assert not [line for line in lines if line.startswith("import ")]
    assert [line for line in lines if line.startswith("export ")] == [
        "export const register = on => {"
    ]
    assert "function draw(on)" in module


def test_each_function_of_the_module_has_a_name_of_its_own(home: Home) -> None:
    """Older clients refuse a module that declares a name twice and hands their `$` to it."""
    home.install()
    module = Path(home.data, MODULE).read_text(encoding="utf-8")
    declared = r"\b(?:const|let|function) (\w+)|, (\w+) = new \w+\(\)|\b(\w+) =>"
    names = ["".join(found) for found in re.findall(declared, module)]
    given = re.findall(r"(?:function (\w+)\(\$|const (\w+) = (?:async )?\(?\$)", module)
    assert [name for pair in given for name in pair if name and names.count(name) > 1] == []
    assert len(given) > 10


@pytest.mark.parametrize(
    ("settings", "version", "reason"),
    [
        ([{"disableAllHooks": True}, {}], "", 'settings have "disableAllHooks"'),
        ([{"disableAllHooks": False}, {}], "", "it began before the mod was installed"),
        ([{}, {"allowManagedModsOnly": True}], "", "the organisation's settings allow no other"),
        ([{"allowManagedModsOnly": True}, {}], "", "it began before the mod was installed"),
        ([{}], "2.1.286", "the client is older than 2.1.287"),
        ([{}], "2.1.287", "it began before the mod was installed"),
    ],
)
def test_why_a_session_had_no_mod_is_guessed_from_settings_and_version(
    no_client: Path, settings: list[dict[str, Any]], version: str, reason: str
) -> None:
    """What an organisation forbids counts in its own settings alone."""
    if version:
        fake_claude.script(no_client, f"#!/bin/sh\necho {version}\n")

    assert checks_mod._why_mod_not_loaded(settings).startswith(reason)


@pytest.mark.parametrize(
    ("source", "place"),
    [
        (None, None),
        ({"source": "directory", "path": "/m"}, "/m"),
        ({"source": "github", "repo": "a/b"}, None),
        ({"path": 5}, None),
        ("/m", None),
    ],
)
def test_the_clients_record_says_where_the_marketplace_is(
    home: Home, source: Any, place: str | None
) -> None:
    """A folder; none where it is from elsewhere."""
    folder = home.config / "plugins"
    folder.mkdir()
    known = {} if source is None else {"brimline": {"source": source}}
    (folder / "known_marketplaces.json").write_text(json.dumps(known))

    assert plugins.folder_of_marketplace("brimline") == place
