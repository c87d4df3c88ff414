"""What the commands of the installer say, line by line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from brimline.install import command, entries, modfolder, parts, pythons
from brimline.install.modfolder import Mod
from brimline.install.parts import Plan
from brimline.install.records import Change

if TYPE_CHECKING:
    from pathlib import Path

STARTED = pythons.Program("/v/python", ("-I", "-m", "brimline"), None)
WIRED = entries.Wiring("/usr/bin/python3", "/r", "/data")
NOTHING: dict[str, Any] = {
    "settings": [],
    "restored_sessions": [],
    "data_deleted": False,
    "backups_deleted": [],
    "left": [],
    "backups_left": [],
}
STILL = "Sessions that are running keep their hooks until they end."
NONE = "brimline was in no settings file; nothing was removed."


@pytest.mark.parametrize(
    ("report", "lines"),
    [
        ({}, [NONE]),
        ({"settings": ["/s"]}, ["Removed from /s.", STILL]),
        ({"restored_sessions": ["/t"]}, [NONE, "Restored in a copy: /t."]),
        ({"data_deleted": True}, [NONE, "Data deleted: /gone"]),
        ({"backups_deleted": ["/b"]}, [NONE, "Deleted 1 backup beside sessions."]),
        ({"backups_deleted": ["/b", "/c"]}, [NONE, "Deleted 2 backups beside sessions."]),
        ({"left": ["a", "b"]}, [NONE, "Left in there, as brimline did not write it: a, b"]),
        (
            {"backups_left": ["/b"]},
            [NONE, "Left: /b, all that there is of a session that is gone."],
        ),
    ],
)
def test_an_uninstall_says_what_went_and_what_is_left(
    report: dict[str, Any], lines: list[str]
) -> None:
    """A line each, in this order."""
    assert command._uninstall_lines([], NOTHING | report, "/gone") == lines


def test_what_was_taken_out_beside_settings_is_named(tmp_path: Path) -> None:
    """Settings by their path, once; a data folder that is there is said to be kept."""
    home = str(tmp_path)
    out: list[Any] = [parts.Settings("/s", home), parts.McpServer(STARTED), Mod(home)]

    lines = command._uninstall_lines(out, NOTHING | {"settings": ["/s"]}, home)

    assert lines == [
        "Removed from /s.",
        "Removed: the MCP server `brimline`.",
        f"Removed: the mod ({home}/mod).",
        STILL,
        f"Data kept: {home}",
    ]


def test_an_install_says_what_it_writes_and_changes() -> None:
    """Files of a folder of ours on one line; how they are started is not a file of its own."""
    new, old = Change("/a.md", None, b"x"), Change("/b.md", b"y", b"z")
    note = Change("/data/command", None, b"x")
    commands = parts.Commands("/data", STARTED)
    subject = commands.subject

    def lines(part: Any, *files: Change) -> list[str]:
        return command._file_lines(part, Plan(list(files)))

    assert lines(parts.Settings("/s", "/data"), new, old) == [
        "write   /a.md",
        "change  /b.md",
    ]
    assert lines(commands, new, note) == [f"write   {subject} (1 file)"]
    assert lines(commands, new, old, note) == [f"change  {subject} (2 files)"]
    assert lines(commands, note) == [f"write   {subject} (1 file)"]
    assert lines(Mod("/data"), new, note) == ["write   the mod (/data/mod) (2 files)"]
    assert lines(commands) == []


def test_an_install_says_what_it_means_and_how_to_undo_it() -> None:
    """The client that is not there, what is allowed, what the mod does; nothing for no change."""
    settings, server = parts.Settings("/s", "/data"), parts.McpServer(STARTED)
    change = Plan([Change("/s", None, b"{}")])

    assert command._lines_of_plans([settings, server], [Plan(), Plan()], WIRED) == []
    plain = command._lines_of_plans([settings], [Plan([Change("/s", None, b"{}")])], WIRED)
    whole = command._lines_of_plans(
        [settings, server, Mod("/data")], [change, Plan(), Plan()], WIRED
    )

    end = [
        "allow   the model to fetch unasked what the same project stored",
        "python  /usr/bin/python3",
        "data    /data",
        "stores  usage figures, large results, messages and replies, past sessions too",
        "undo    brimline uninstall",
    ]
    assert plain == ["write   /s", *end]
    assert whole == [
        "write   /s",
        "later   the MCP server: `claude` is not on PATH; install again once it is",
        *modfolder.EFFECT,
        *end,
    ]
    called = command._lines_of_plans([settings], [Plan(calls=[("mcp", "remove")])], WIRED)
    assert called[0] == "run     claude mcp remove"
