"""Limits and modes of the installer, asked at both sides of each."""

from __future__ import annotations

import json
import os
import stat
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from brimline.errors import InstallError
from brimline.fast import paths
from brimline.install import client, pythons, records, settingsfile, switches
from brimline.install.datafolder import Stored
from brimline.install.records import Change, Record
from brimline.settings import clientsettings, config

if TYPE_CHECKING:
    from .conftest import Home


@pytest.mark.parametrize(
    ("version", "said"),
    [
        ((3, 10, 99), "it is Python 3.10.99, and 3.11 is the oldest supported"),
        ((3, 11, 0), None),
        ((3, 12, 0), None),
        ((4, 0, 0), None),
        ((2, 99, 0), "it is Python 2.99.0, and 3.11 is the oldest supported"),
    ],
)
def test_hooks_take_python_3_11_and_newer(
    version: tuple[int, ...], said: str | None, python: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its version, whatever comes behind the second number."""
    monkeypatch.setattr(pythons, "version_and_path_of_interpreter", lambda path: (version, path))

    assert pythons.why_interpreter_unusable(python) == said


@pytest.mark.parametrize(
    ("told", "found"),
    [
        ("3 11 4 /a b/python", ((3, 11, 4), "/a b/python")),
        ("3 11 4", None),
        ("three 11 4 /python", None),
        ("", None),
    ],
)
def test_an_interpreter_tells_its_version_and_its_path(
    told: str, found: tuple[tuple[int, ...], str] | None, tmp_path: Path
) -> None:
    """One that says anything else is none."""
    program = tmp_path / "python"
    program.write_text(f"#!/bin/sh\necho '{told}'\n")
    program.chmod(0o755)

    assert pythons.version_and_path_of_interpreter(str(program)) == found


@pytest.mark.parametrize(
    ("version", "has_sdk"),
    [("1.99.9", False), ("2.0.0", True), ("2", True), ("3.1", True), ("x.1", False), (None, False)],
)
def test_the_server_needs_the_second_version_of_its_library(
    version: str | None, has_sdk: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or a newer one."""

    def installed(_name: str) -> str:
        if version is None:
            raise metadata.PackageNotFoundError
        return version

    monkeypatch.setattr(metadata, "version", installed)

    assert pythons._has_mcp_sdk() is has_sdk


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("echo first >&2; echo last >&2; echo '  ' >&2; exit 1", "last"),
        ("exit 1", "it does not start"),
        ("echo odd >&2; exit 0", None),
    ],
)
def test_why_code_does_not_run_is_the_last_line_that_it_said(
    script: str, said: str | None, tmp_path: Path
) -> None:
    """Blank lines aside; what ends well has no problem, whatever it said."""
    program = tmp_path / "python"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    told = said and f"cannot precompile /r/brimline with {program}: {said}"

    assert pythons.precompile(str(program), "/r") == told
    assert pythons.is_precompiled(str(program), "/r") is (said is None)
    assert pythons.can_interpreter_import_hooks(str(program), "/r") is (said is None)


@pytest.mark.parametrize(("fails", "tries"), [(0, 1), (1, 2), (4, 5)])
def test_settings_that_another_program_changes_are_tried_up_to_five_times(
    fails: int, tries: int
) -> None:
    """Then they are its."""
    tried: list[int] = []

    def attempt() -> str:
        tried.append(len(tried))
        if len(tried) <= fails:
            raise settingsfile.ChangedMeanwhileError
        return "done"

    assert settingsfile.retry_if_changed(attempt) == "done"
    assert len(tried) == tries
    tried.clear()
    fails = 99
    with pytest.raises(settingsfile.ChangedMeanwhileError):
        settingsfile.retry_if_changed(attempt)
    assert len(tried) == 5


def test_backups_of_one_second_are_numbered_from_one_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Behind the time."""
    monkeypatch.setattr("time.strftime", lambda _form: "20260921_141300")
    file = settingsfile.SettingsFile("/x/settings.json", "/x/settings.json", b"{}")
    folder = tmp_path / "backups"

    names = [os.path.basename(settingsfile.back_up(file, str(folder))) for _ in range(3)]

    first = "settings.json.20260921_141300"
    assert names == [first, f"{first}.1", f"{first}.2"]
    assert settingsfile.back_up(file._replace(raw=None), str(folder)) == ""
    assert sorted(os.listdir(folder)) == names


def test_what_is_written_is_private_and_the_launcher_can_be_started(home: Home) -> None:
    """By the user alone; a file that is in the way is named."""
    launcher, other = Path(home.data, "bin", "hook"), Path(home.data, "command")
    for path in (launcher, other):
        Change(str(path), None, b"x").carry_out()

    assert [stat.S_IMODE(path.stat().st_mode) for path in (launcher, other)] == [0o700, 0o600]
    Change(str(other), b"x", None).carry_out()
    assert not other.exists()
    for after, verb in ((b"y", "write"), (None, "remove")):
        with pytest.raises(InstallError, match=f"^cannot {verb} {launcher}/below: "):
            Change(f"{launcher}/below", None, after).carry_out()


def test_a_record_has_a_short_name_made_from_the_path(home: Home) -> None:
    """Sixteen digits of it, so that every version of brimline finds it again."""
    records.save_record(home.data, Record("/a/settings.json", ["d"], b"{}"))

    digest = settingsfile.sha256_of_content(b"/a/settings.json")
    assert os.listdir(f"{home.data}/install") == [f"{digest[:16]}.json"]


@pytest.mark.parametrize(
    ("window", "percent", "point"),
    [
        (200_000, None, 167_000),
        (200_000, 100, 167_000),
        (200_000, 93, 167_000),
        (200_000, 92, 165_600),
        (200_000, 1, 1_800),
        (100_000, None, 67_000),
        (100_000, 84, 67_000),
        (100_000, 83, 66_400),
    ],
)
def test_a_percentage_lowers_the_point_and_never_lifts_it(
    window: int, percent: int | None, point: int
) -> None:
    """It is of the window less 20,000 tokens for the reply."""
    assert switches._compaction_point(window, percent) == point


@pytest.mark.parametrize(
    ("arguments", "is_taken"),
    [
        (["100000"], True),
        (["1000000"], True),
        (["200000", "--percent", "1"], True),
        (["200000", "--percent", "100"], True),
        (["200000", "--percent", "0"], False),
        (["200000", "--percent", "101"], False),
        (["0"], False),
        (["-5"], False),
    ],
)
def test_a_window_is_taken_from_100_000_to_a_million_tokens(
    arguments: list[str], is_taken: bool, home: Home
) -> None:
    """And a percentage from 1 to 100; else nothing is written."""
    before = home.settings.read_bytes()

    done = home.run("config", "autocompact", *arguments)

    assert (done.code == 0) is is_taken
    assert (home.settings.read_bytes() == before) is not is_taken


def test_a_scout_that_refuses_still_does_when_it_is_switched_on_again(home: Home) -> None:
    """Off, and on again, it gives advice."""
    home.install()
    config.change_setting(paths.user_config(home.data), "scout.mode", "block", project=False)

    modes = []
    for word in ("on", "off", "on"):
        home.run("scout", word)
        modes.append(config.load(home.data, home.project).values["scout.mode"])

    assert modes == ["block", "off", "advise"]


def test_an_ignore_file_is_written_with_its_patterns_counted(home: Home) -> None:
    """One that is there stays, unless that is wanted."""
    report = home.run("scout", "init", "--json").report
    again, forced = home.run("scout", "init"), home.run("scout", "init", "--force")

    assert report["file"] == f"{home.project}/.brimlineignore"
    assert len(report["patterns"]) > 1
    assert again.code == 1
    count = len(report["patterns"])
    assert forced.out == f"Wrote {report['file']} with {count} patterns. Edit it to taste.\n"


@pytest.mark.parametrize(
    ("noted", "found", "is_ours"),
    [
        ({"command": "/v/py", "args": ["-m", "brimline", "mcp"]}, True, True),
        ({"command": "/v/py", "args": ["-m", "brimline", "mcp", "x"]}, True, False),
        ({"command": "brimline", "args": ["mcp"]}, True, False),
        ({"command": "/v/py", "args": "brimline mcp"}, True, False),
        ({"command": "/v/py"}, True, False),
        ("brimline", False, False),
        (None, False, False),
    ],
)
def test_a_registered_server_is_ours_by_its_last_words(
    noted: object, found: bool, is_ours: bool, home: Home
) -> None:
    """Whatever shape the client's record has."""
    servers = {} if noted is None else {"brimline": noted}
    (home.config / ".claude.json").write_text(json.dumps({"mcpServers": servers}))

    server = client.registered_mcp_server()

    assert (server is not None) is found
    assert bool(server and client.is_our_server(server)) is is_ours
    assert server is None or server["env"] == {}


@pytest.mark.parametrize(
    ("scopes", "is_on"),
    [
        ({}, None),
        ({"user": True}, True),
        ({"user": True, "project": False}, False),
        ({"user": False, "local": True}, True),
        ({"user": True, "local": "yes"}, True),
        ({"managed": False, "local": True}, False),
    ],
)
def test_the_strongest_settings_that_name_the_plugin_decide(
    scopes: dict[str, object], is_on: bool | None, home: Home
) -> None:
    """What is neither yes nor no says nothing."""
    files = clientsettings.settings_files(home.project)
    for scope, value in scopes.items():
        Path(files[scope]).parent.mkdir(parents=True, exist_ok=True)
        Path(files[scope]).write_text(json.dumps({"enabledPlugins": {client.PLUGIN_ID: value}}))

    assert client.plugin_is_on(home.project) is is_on


def test_what_deleting_means_is_told_even_where_there_is_little(home: Home) -> None:
    """Without purged sessions and backups two lines are left."""
    lines = Stored(home.data).lines_on_what_deleting_means()

    assert lines == [
        f"Delete everything brimline has stored in {home.data}.",
        "Keys that previews and compactions left in sessions then lead nowhere.",
    ]
    data = Stored(home.data)
    data.backups = ["/a"]
    data.problems = ["unclear"]
    assert data.lines_on_what_deleting_means()[0] == "Restore 0 purged sessions first."
    assert data.lines_on_what_deleting_means()[-1] == "Delete 1 backup beside sessions."
    data.backups = ["/a", "/b"]
    assert data.lines_on_what_deleting_means()[-1] == "Delete 2 backups beside sessions."
