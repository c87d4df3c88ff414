"""What the commands of the installer say, line by line."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import pytest

from brimline.fast import paths
from brimline.install import command, entries, modfolder, parts, pythons
from brimline.install.modfolder import Mod
from brimline.install.parts import Plan
from brimline.install.records import Change
from brimline.recall import hits
from brimline.testing import SessionBuilder

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
    out: list[Any] = [parts.Settings("/s", home, "/p"), parts.McpServer(STARTED), Mod(home)]

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

    assert lines(parts.Settings("/s", "/data", "/p"), new, old) == [
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
    settings, server = parts.Settings("/s", "/data", "/p"), parts.McpServer(STARTED)
    change = Plan([Change("/s", None, b"{}")], notes=[parts.ALLOWED])

    assert command._lines_of_plans([settings, server], [Plan(), Plan()], WIRED) == []
    plain = command._lines_of_plans([settings], [Plan([Change("/s", None, b"{}")])], WIRED)
    whole = command._lines_of_plans(
        [settings, server, Mod("/data")], [change, Plan(), Plan()], WIRED
    )

    end = [
        "python  /usr/bin/python3",
        "data    /data",
        "stores  usage figures, large results, messages and replies, past sessions too",
        "undo    brimline uninstall",
        "diff    brimline install --dry-run --diff",
    ]
    assert plain == ["write   /s", *end]
    assert whole == [
        "write   /s",
        "later   the MCP server: `claude` is not on PATH; install again once it is",
        "allow   the model to fetch unasked what the same project stored (--no-allow: ask)",
        *modfolder.EFFECT,
        *end,
    ]
    called = command._lines_of_plans([settings], [Plan(calls=[("mcp", "remove")])], WIRED)
    assert called[0] == "run     claude mcp remove"


@pytest.mark.parametrize(
    ("scope", "flags", "chosen"),
    [
        ("user", {}, ["Settings", "Mod", "Commands", "McpServer"]),
        ("user", {"no_mcp": True}, ["Settings", "Mod", "Commands"]),
        ("user", {"no_mod": True}, ["Settings", "Commands", "McpServer"]),
        ("project", {}, ["Settings"]),
        ("local", {}, ["Settings"]),
    ],
)
def test_what_is_installed_depends_on_the_scope_and_the_flags(
    scope: str, flags: dict[str, bool], chosen: list[str]
) -> None:
    """Recalls are not let pass by settings that others share, the mod is for the user alone."""
    asked = dict.fromkeys(("no_mcp", "no_mod", "no_allow"), False) | flags
    options = command._Asked(scope, **asked, interpreter=None)
    found = command._parts_to_install(options, WIRED, "/data", "/p")
    settings = found[0]

    assert [type(part).__name__ for part in found] == chosen
    assert isinstance(settings, parts.Settings)
    assert settings.wired.allow is (scope != "project" and not flags.get("no_mcp", False))
    mod = "" if flags.get("no_mod") else "/data/mod"
    assert settings.wired.mod == (mod if scope == "user" else None)
    without = command._parts_to_install(options._replace(no_allow=True), WIRED, "/data", "/p")[0]
    assert isinstance(without, parts.Settings)
    assert without.wired.allow is False


@pytest.mark.parametrize(
    ("scope", "chosen"),
    [
        (None, ["Commands", "McpServer", "Settings", "Settings", "Settings", "Mod"]),
        ("user", ["Commands", "McpServer", "Settings", "Mod"]),
        ("local", ["Settings"]),
    ],
)
def test_what_is_taken_out_depends_on_the_scope(
    scope: str | None, chosen: list[str], home_dir: str, project_dir: str
) -> None:
    """Without one it is all, and the mod comes last."""
    found = command._parts_to_remove(scope, home_dir, project_dir)

    assert [type(part).__name__ for part in found] == chosen


class Terminal(io.StringIO):
    """A person at a terminal, and what they type."""

    def isatty(self) -> bool:
        """They can be asked."""
        return True


@pytest.mark.parametrize(
    ("typed", "count", "is_read"),
    [("\n", 1, True), ("y\n", 2, True), ("n\n", 1, False), (None, 2, False)],
)
def test_past_sessions_are_read_where_somebody_says_so(
    typed: str | None,
    count: int,
    is_read: bool,
    home_dir: str,
    project_dir: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Just Enter is a yes; where nobody can be asked, what is left is told."""
    for number in range(count):
        path = f"{paths.project_transcripts_dir(project_dir)}/s{number}.jsonl"
        SessionBuilder(path, session_id=f"s{number}", cwd=project_dir).prompt("Where is it?")
    monkeypatch.setattr("sys.stdin", io.StringIO() if typed is None else Terminal(typed))

    command._ask_to_index_past_sessions(home_dir, project_dir, yes=False)

    told = " ".join(capsys.readouterr().err.split())
    sessions = "1 past session" if count == 1 else f"{count} past sessions"
    question = f"Read {sessions} into the search of memory, about 1 s?"
    rest = f"0 of {count} sessions read; `brimline memory index` reads the rest (about 1 s)"
    assert (question in told) is (typed is not None)
    assert (rest in told) is not is_read
    assert (hits.reading_progress_if_unfinished(home_dir) is None) is is_read


def test_where_all_past_sessions_were_read_nothing_is_asked(
    home_dir: str, project_dir: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nor where there are none."""
    command._ask_to_index_past_sessions(home_dir, project_dir, yes=False)

    assert capsys.readouterr() == ("", "")
