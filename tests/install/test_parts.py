"""What each part of an installation would change, and what it leaves as it is."""

from __future__ import annotations

import io
import json
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from brimline.errors import InstallError
from brimline.fast import paths
from brimline.hooks import slashcommands
from brimline.install import client, command, entries, parts, pythons, records
from brimline.install.records import Change, Record

from . import fake_claude
from .conftest import Home

if TYPE_CHECKING:
    from .conftest import Home

STARTED = pythons.Program("/v/python", ("-I", "-m", "brimline"), "/data")


def register(home: Home, **server: Any) -> None:
    """Have the client know an MCP server of our name."""
    document = {"mcpServers": {"brimline": server}}
    (home.config / ".claude.json").write_text(json.dumps(document))


def test_several_plans_are_one_with_the_first_backup() -> None:
    """In their order; a plan has changes where there are files or calls."""
    change = Change("/f", None, b"")
    first = parts.Plan(notes=["n1"], backup="")
    second = parts.Plan([change], [("mcp", "a b")], ["t"], ["n2"], ["w"], "one")
    whole = parts.Plan.join_plans([first, second, parts.Plan(backup="two")])

    assert (whole.files, whole.calls, whole.to_do) == ([change], [("mcp", "a b")], ["t"])
    assert (whole.notes, whole.warnings, whole.backup) == (["n1", "n2"], ["w"], "one")
    assert whole.client_call_lines == ["claude mcp 'a b'"]
    assert [plan.has_changes for plan in (first, second, parts.Plan(calls=[("a",)]))] == [
        False,
        True,
        True,
    ]


@pytest.mark.parametrize(
    ("script", "do", "calls", "warnings", "to_do"),
    [
        ("exit 0", True, 2, [], []),
        ("exit 0", False, 2, [], []),
        ("exit 3", False, 2, [], []),
        (
            "echo no; exit 3",
            True,
            0,
            ["`claude a` failed: no"],
            ["claude a    # it", "claude b    # it"],
        ),
        (
            'test "$1" = a || exit 3',
            True,
            1,
            ["`claude b` failed: it ended with code 3"],
            ["claude b    # it"],
        ),
        (None, False, 0, [], ["claude a    # it", "claude b    # it"]),
        (None, True, 0, [], ["claude a    # it", "claude b    # it"]),
    ],
)
def test_what_the_client_does_not_do_is_left_to_the_user(
    no_client: Path,
    script: str | None,
    do: bool,
    calls: int,
    warnings: list[str],
    to_do: list[str],
) -> None:
    """From the first call on that failed; without a client all of it, and that is not a failure."""
    if script is not None:
        fake_claude.script(no_client, f"#!/bin/sh\n{script}\n")
    plan = parts.Plan(calls=[("a",), ("b",)])
    plan.call_client("it", do=do)

    assert (len(plan.calls), plan.warnings, plan.to_do) == (calls, warnings, to_do)


@pytest.mark.parametrize(
    ("server", "calls", "notes"),
    [
        (None, ["add"], 0),
        ({}, [], 0),
        ({"command": "/old"}, ["remove", "add"], 0),
        ({"args": ["-I", "-m", "brimline", "mcp"]}, ["remove", "add"], 0),
        ({"command": "x", "args": ["theirs", "mcp"]}, [], 1),
        ({"command": "x", "args": ["brimline", "serve"]}, [], 1),
    ],
)
def test_the_server_is_added_once_and_anothers_stays(
    client: Home, server: Any, calls: list[str], notes: int
) -> None:
    """One that starts something else is added anew."""
    if server is not None:
        register(client, **STARTED.mcp_server_entry() | server)
    plan = parts.McpServer(STARTED).plan_or_install(do=False)

    assert [call[1] for call in plan.calls] == calls
    assert (len(plan.notes), plan.to_do) == (notes, [])
    if calls[-1:] == ["add"]:
        words = ("mcp", "add", "-s", "user", "brimline", "--", "/v/python", "-I", "-m", "brimline")
        _, folder, home = paths.folders_to_pin()
        told = ("mcp", "--data", "/data", "--home", home, "--client", folder)
        assert plan.calls[-1] == (*words, *told)


@pytest.mark.parametrize(
    ("server", "calls"),
    [
        (None, []),
        ({"command": "x", "args": ["theirs"]}, []),
        ({"command": "x", "args": "brimline mcp"}, []),
        (STARTED.mcp_server_entry(), [("mcp", "remove", "-s", "user", "brimline")]),
    ],
)
def test_only_a_server_of_ours_is_removed(
    client: Home, server: Any, calls: list[tuple[str, ...]]
) -> None:
    """However it was started."""
    if server:
        register(client, **server)

    assert parts.McpServer(STARTED).plan_or_remove(do=False).calls == calls


def test_commands_are_written_once_and_those_of_others_are_named(home: Home) -> None:
    """A file that the user changed stays; one of another name is no affair of ours."""
    part = parts.Commands(home.data, STARTED)
    first = part.plan_or_install(do=True)
    again = part.plan_or_install(do=True)
    folder = Path(parts.slash_commands_folder())
    name = min(file.name for file in folder.iterdir())
    (folder / name).write_text("my own")
    (folder / "other.md").write_text("theirs")

    changed, removed = part.plan_or_install(do=False), part.plan_or_remove(do=True)

    assert len(first.files) > 5
    assert (again.files, again.notes, again.warnings) == ([], [], [])
    assert changed.notes == [f"{folder}/{name} is not brimline's, or was changed: left"]
    assert (changed.files, removed.notes) == ([], changed.notes)
    assert sorted(file.name for file in folder.iterdir()) == sorted([name, "other.md"])
    assert Path(home.data, "command").exists() is False


def test_a_command_that_the_client_cannot_check_is_left_out_and_told(home: Home) -> None:
    """With what it would start."""
    odd = STARTED._replace(interpreter="/a(b)/python")
    plain, told = (
        parts.Commands(home.data, one).plan_or_install(do=False) for one in (STARTED, odd)
    )

    assert plain.warnings == []
    assert [text.startswith("/brim:card left out: ") for text in told.warnings] == [True]
    assert "/a(b)/python" in told.warnings[0]
    names = {os.path.basename(change.path) for change in plain.files}
    assert names >= {f"{slashcommands.CARD.name}.md", "command"}


@pytest.mark.parametrize(("mode", "is_written"), [(0o700, False), (0o600, True)])
def test_a_launcher_that_cannot_be_started_is_written_again(
    home: Home, mode: int, is_written: bool
) -> None:
    """And one that is as it must be is not."""
    home.install()
    home.launcher.chmod(mode)

    assert (str(home.launcher) in home.install()["files"]) is is_written
    assert stat.S_IMODE(home.launcher.stat().st_mode) == 0o700


def test_entries_of_a_project_start_nothing_but_our_launcher(home: Home) -> None:
    """Those in the user's settings, or the organisation's, are the user's."""
    started = entries.Installed("Stop", None, "/p", "/r", "/h")
    own = started._replace(launcher=str(home.launcher))
    project = parts.settings_path("project", home.project)
    user = parts.settings_path("user", home.project)

    assert [parts.is_trusted_entry(one, user, home.data) for one in (started, own)] == [True, True]
    assert [parts.is_trusted_entry(one, project, home.data) for one in (started, own)] == [
        False,
        True,
    ]


@pytest.mark.parametrize(
    "raw", [b"brimline is not in here", b'{"a": "brimline"}', b'{"a": 1}', b"\xff", b"[]"]
)
def test_settings_that_hold_nothing_of_ours_are_not_touched(home: Home, raw: bytes) -> None:
    """They need not even be valid, unless they speak of brimline."""
    home.settings.write_bytes(raw)
    part = parts.Settings(str(home.settings), home.data)
    if raw.startswith(b"brimline"):
        with pytest.raises(InstallError, match=r"not valid JSON.*; nothing was changed"):
            part.plan_or_remove(do=True)
    else:
        assert not part.plan_or_remove(do=True).has_changes
    assert home.settings.read_bytes() == raw


def test_records_are_kept_by_the_file_they_are_of(home: Home) -> None:
    """Each byte of the original comes back; one of another format is none."""
    raw = bytes(range(256))
    for path, original in (("/a", raw), ("/b", None)):
        records.save_record(home.data, Record(path, ["d1", "d2"], original))

    assert records.load_record(home.data, "/a") == Record("/a", ["d1", "d2"], raw)
    assert records.load_record(home.data, "/b") == Record("/b", ["d1", "d2"], None)
    assert records.load_record(home.data, "/c") is None
    assert sorted(record.path for record in records.load_all_records(home.data)) == ["/a", "/b"]
    records.forget_record(home.data, "/a")
    assert records.load_record(home.data, "/a") is None
    (file,) = Path(home.data, "install").iterdir()
    file.write_text(file.read_text().replace('"v": 2', '"v": 1'))
    assert records.load_all_records(home.data) == []


def test_only_a_plain_file_is_read(tmp_path: Path) -> None:
    """A link is somebody's, and a folder is none."""
    file, link = tmp_path / "file", tmp_path / "link"
    file.write_bytes(b"x")
    link.symlink_to(file)

    assert [records.read_if_plain_file(str(path)) for path in (file, link, tmp_path)] == [
        b"x",
        None,
        None,
    ]


def test_remarks_say_what_is_wrong_then_what_stays_then_what_to_run() -> None:
    """What stands on a line of its own stays on it."""
    plan = parts.Plan(notes=["n\ncopy this"], warnings=["w"], to_do=["do a", "do b"])

    lines = ["Warning: w", "Note: n", "copy this", "Left for you to run:", "  do a", "  do b"]
    assert command._warning_and_note_lines(plan) == lines
    assert command._warning_and_note_lines(parts.Plan()) == []
    assert client.claude_shell_line(["a b"]) == "claude 'a b'"


@pytest.mark.parametrize(
    ("edit", "original"),
    [
        (b"", b'{"a": 1}'),
        (b" ", b'{"a": 1} '),
    ],
)
def test_what_is_put_back_is_the_first_original_while_nobody_else_wrote(
    home: Home, edit: bytes, original: bytes
) -> None:
    """Else the settings as somebody left them, without us."""
    home.settings.write_bytes(b'{"a": 1}')
    first = entries.Wiring("/usr/bin/python3", "/one", home.data)
    part = parts.Settings(str(home.settings), home.data, first)
    assert part.plan_or_install(do=True).has_changes
    assert not part.plan_or_install(do=True).has_changes
    home.settings.write_bytes(home.settings.read_bytes() + edit)
    second = first._replace(root="/two")
    again = parts.Settings(str(home.settings), home.data, second)
    assert again.plan_or_install(do=True).has_changes

    record = records.load_record(home.data, str(home.settings))

    assert record is not None
    assert (record.original, len(record.written)) == (original, 1 if edit else 2)
    assert again.plan_or_remove(do=True).has_changes
    assert home.settings.read_bytes() == original
    assert records.load_record(home.data, str(home.settings)) is None


def test_the_launcher_goes_once_no_settings_name_it(home: Home) -> None:
    """One that is not ours stays, and so does what else is in its folder."""
    home.install("--no-mod")
    assert parts.remove_launcher_if_unused(home.data, home.project) == []
    home.settings.write_text("{}")
    (home.launcher.parent / "other").write_text("")

    (change,) = parts.remove_launcher_if_unused(home.data, home.project)

    assert (change.path, change.after) == (str(home.launcher), None)
    assert [file.name for file in home.launcher.parent.iterdir()] == ["other"]
    home.launcher.write_text("theirs")
    assert parts.remove_launcher_if_unused(home.data, home.project) == []
    assert home.launcher.exists()


def test_a_path_that_settings_cannot_hold_is_refused(home: Home) -> None:
    """They are UTF-8, and paths need not be."""
    with pytest.raises(InstallError, match=r"a path is not UTF-8, as settings must be"):
        parts.wiring_for_interpreter("/usr/bin/python\udcff", home.data)
    assert parts.wiring_for_interpreter("/usr/bin/python", home.data).home == home.data


@pytest.mark.parametrize("is_terminal", [True, False])
def test_a_person_is_told_what_the_client_is_asked_for(
    is_terminal: bool, client: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may take its time; a program is told nothing of it."""
    told = io.StringIO()
    monkeypatch.setattr(told, "isatty", lambda: is_terminal)
    monkeypatch.setattr("sys.stderr", told)
    server = parts.McpServer(pythons.program_of_this_process(client.data))

    server.plan_or_install(do=True)

    assert (told.getvalue().startswith("asking the client: claude mcp add -s user ")) is is_terminal
    assert told.getvalue().count("\n") == is_terminal
