"""`brimline install` and `uninstall`: what is there stays, and everything comes off again."""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from brimline.hooks import table
from brimline.install import parts, settingsfile

from . import fake_claude
from .conftest import ORIGINAL, Home, check_golden

if TYPE_CHECKING:
    from collections.abc import Callable

_MAIN = "from brimline.cli.main import main; main()"
ORIGINALS = [
    *(ORIGINAL, b"", b" \n", b"{ }", b'\xef\xbb\xbf{\n  "hooks": {}\n}\n', b'{"a":1}'),
    b'{"statusLine": {"type": "command", "command": "caf\\u00e9"}, "permissions": {"allow": []}}',
]


# --- there and back ---------------------------------------------------------------------------


@pytest.mark.row("S4-11", "S1-23")
@pytest.mark.parametrize("original", ORIGINALS)
def test_a_round_trip_gives_back_every_byte(original: bytes, home: Home) -> None:
    """Every event has one entry, in exec form; a second time there is nothing to do."""
    home.settings.write_bytes(original)
    first, again = home.install(), home.install()

    hooks = json.loads(home.settings.read_bytes().removeprefix(b"\xef\xbb\xbf"))["hooks"]
    for event, answered in table.EVENTS.items():
        (group,) = hooks[event]
        (entry,) = group["hooks"]
        assert (group.get("matcher"), entry["timeout"]) == (
            answered.tool_matcher(),
            answered.timeout_s,
        )
        assert (entry["command"], entry["args"]) == (str(home.launcher), [event])
    for path in [Path(home.data), *Path(home.data).rglob("*")]:
        private = 0o700 if path.is_dir() or path == home.launcher else 0o600
        assert stat.S_IMODE(path.stat().st_mode) == private, path
    assert (first["changed"], again["changed"], again["files"]) == (True, False, [])
    assert Path(first["backup"]).read_bytes() == original
    assert home.uninstall()["settings"] == [str(home.settings)]
    assert home.settings.read_bytes() == original
    assert home.uninstall()["changed"] is False
    assert os.listdir(home.config) == ["settings.json"]


@pytest.mark.parametrize("edited", [True, False])
def test_without_settings_they_are_made_and_taken_away_again(edited: bool, home: Home) -> None:
    """The folder made for them goes too, and no `{}` is left where somebody wrote it anew."""
    shutil.rmtree(home.config)
    home.install()
    assert home.settings.stat().st_mode & 0o777 == 0o600
    if edited:
        home.settings.write_text(json.dumps(home.value, indent=7))

    home.uninstall()

    assert not home.config.exists()


def test_an_edited_file_loses_exactly_our_entries(home: Home) -> None:
    """What the user wrote since then stays, and so does what was there before; upgrades too."""
    home.install()
    home.edit(added={"by": "the user"})
    home.install()
    home.edit(later=True)

    home.uninstall()

    kept = json.loads(ORIGINAL) | {"added": {"by": "the user"}, "later": True}
    assert home.value == kept
    assert list(home.value) == list(kept)


@pytest.mark.parametrize("content", [None, "{}", '{"v": 99, "original": null}', "no JSON"])
def test_without_a_sound_record_the_entries_are_taken_out(content: str | None, home: Home) -> None:
    """The data folder may be gone, or the record damaged."""
    home.install()
    for file in Path(home.data, "install").iterdir():
        file.unlink() if content is None else file.write_text(content)

    home.uninstall()

    assert home.value == json.loads(ORIGINAL)
    assert not (home.config / "commands").exists()


def test_the_record_is_found_in_the_folder_that_the_entries_name(home: Home, world: Path) -> None:
    """Run without the variable of install time: every byte, command, the launcher and data go."""
    other = str(world / "else where")
    home.install(BRIMLINE_HOME=other)

    home.uninstall("--delete-data")

    assert home.settings.read_bytes() == ORIGINAL
    assert not os.path.exists(other)
    assert not (home.config / "commands").exists()


def test_a_record_that_a_projects_entries_name_is_not_believed(home: Home, world: Path) -> None:
    """It may come from a stranger; the entries are taken out all the same."""
    project = Path(home.project, ".claude", "settings.json")
    theirs = str(world / "theirs")
    install_as_earlier(home, "project", theirs)
    home.uninstall()

    assert json.loads(project.read_bytes()) == {}
    assert os.path.exists(f"{theirs}/bin/hook")


def install_as_earlier(home: Home, scope: str, data: str | None = None) -> None:
    """What 0.2.0 wrote into settings of a project."""
    wired = parts.wiring_for_interpreter(home.python, data or home.data)
    path = parts.settings_path(scope, home.project)
    parts.Settings(path, wired.home, wired).plan_or_install(do=True)


@pytest.mark.parametrize("scope", ["project", "local"])
def test_what_earlier_versions_wrote_into_a_project_goes_too(
    scope: str, home: Home, monkeypatch: pytest.MonkeyPatch, world: Path
) -> None:
    """Found from anywhere, launcher and all."""
    install_as_earlier(home, scope)
    file = Path(parts.settings_path(scope, home.project))
    assert file.exists()
    monkeypatch.chdir(world)

    home.uninstall()

    assert not file.parent.exists()
    assert not home.launcher.parent.exists()


# --- what people see --------------------------------------------------------------------------


def test_the_texts_for_people(client: Home) -> None:
    """Ten lines or so, and what there is already; each is on record."""
    client.settings.write_bytes(b'{"model": "x"}\n')
    told = [
        client.run(*words)
        for words in (
            ["install", "--dry-run"],
            ["install", "--yes"],
            ["install", "--dry-run"],
            ["install", "--yes"],
            ["uninstall", "--yes"],
            ["uninstall", "--yes"],
        )
    ]

    assert [done.code for done in told] == [0] * 6
    assert len(told[0].out.splitlines()) <= 13
    already = f"Already installed in {client.settings}; nothing to change.\n"
    assert told[2].out == told[3].out == already
    text = "\n---\n".join(re.sub(r"\d{8}_\d{6}", "TIME", done.out) for done in told)
    check_golden("install", text, client)


def test_without_a_terminal_nothing_is_changed_unasked(client: Home) -> None:
    """Every command that changes files wants --yes there, with one clear sentence."""
    before = client.everything()
    done = client.run("install")
    assert (done.code, "--yes" in done.err) == (1, True)
    assert client.everything() == before
    client.install()
    before = client.everything()
    for option in ("--delete-data", "--json"):
        assert client.run("uninstall", option).code == 1
    assert client.everything() == before


# --- what can go wrong ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("raw", "named"),
    [
        (b"{,}", "line 1, column"),
        (b"[]", "JSON object"),
        (b'{"a": "\xff"}', "UTF-8"),
        (b'{"hooks": null}', '"hooks"'),
        (b'{"hooks": {"PostToolUse": null}}', '"PostToolUse"'),
    ],
)
def test_settings_that_cannot_be_edited_stay(raw: bytes, named: str, home: Home) -> None:
    """One sentence that names them once; nothing is written, not even a record."""
    home.settings.write_bytes(raw)
    done = home.run("install", "--yes")

    assert done.code == 1
    assert done.err.count(str(home.settings)) == 1
    assert named in done.err
    assert "nothing was changed" in done.err
    assert home.everything() == {str(home.settings): raw}


@pytest.mark.parametrize("arguments", [["install"], ["uninstall"], ["uninstall", "--delete-data"]])
def test_read_only_settings_change_nothing_at_all(arguments: list[str], client: Home) -> None:
    """Neither the file nor commands, server, launcher or data; even for root."""
    if arguments[0] == "uninstall":
        client.install()
    before = client.everything()
    client.settings.chmod(0o444)

    done = client.run(*arguments, "--yes")

    assert done.code == 1
    assert "read-only" in done.err
    assert "nothing was changed" in done.err
    assert client.everything() == before


def test_one_broken_file_does_not_keep_the_others_wired(home: Home) -> None:
    """The rest is taken out, ours is named and keeps its data; a stranger's is not even parsed."""
    home.install()
    install_as_earlier(home, "local")
    local = Path(home.project, ".claude", "settings.local.json")
    local.write_bytes(local.read_bytes() + b"}")
    local.with_name("settings.json").write_text("{bad")

    done = home.run("uninstall", "--yes", "--delete-data")

    assert done.code == 1
    assert str(local) in done.err
    assert "was kept" in done.err
    assert str(local.with_name("settings.json")) not in done.err
    assert home.settings.read_bytes() == ORIGINAL
    assert os.path.isdir(home.data)


class Killed(BaseException):
    """Stands in for a kill: nothing that tidies up may run on it."""


@pytest.mark.parametrize("then", ["install", "uninstall"])
@pytest.mark.parametrize("upgrade", [True, False])
def test_killed_in_the_middle_whatever_is_run_next_is_right(
    upgrade: bool, then: str, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The record is ahead of the settings and names the old and the new content."""
    if upgrade:
        home.install()
        home.settings.write_bytes(home.settings.read_bytes())

    def die(*_arguments: object, **_named: object) -> str:
        raise Killed

    wired = parts.wiring_for_interpreter(home.python, home.data)._replace(
        root="/new", launcher=None
    )
    piece = parts.Settings(str(home.settings), home.data, wired)
    with monkeypatch.context() as patch:
        patch.setattr(settingsfile, "replace_settings", die)
        with pytest.raises(Killed):
            piece.plan_or_install(do=True)

    if then == "install":
        piece.plan_or_install(do=True)
        assert b"/new" in home.settings.read_bytes()
    home.uninstall()
    assert home.settings.read_bytes() == ORIGINAL


def _racing(home: Home, times: int) -> Callable[..., str]:
    """Another program writes the settings just before we do, so many times."""
    real, left = settingsfile.replace_settings, list(range(times))

    def raced(*arguments: Any, **named: Any) -> str:
        if left:
            home.edit(**{f"theirs{left.pop()}": True})
        return real(*arguments, **named)

    return raced


def test_a_write_of_another_program_leads_to_a_new_try(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both changes are in the file, and uninstalling keeps theirs; where it never rests, we do.

    The one value that `config autocompact` writes is no exception.
    """
    with monkeypatch.context() as patch:
        patch.setattr(settingsfile, "replace_settings", _racing(home, 99))
        assert "another program" in home.run("install", "--yes").err
    assert "hooks" not in home.value
    before = home.value
    with monkeypatch.context() as patch:
        patch.setattr(settingsfile, "replace_settings", _racing(home, 3))
        home.install()
    with monkeypatch.context() as patch:
        patch.setattr(settingsfile, "replace_settings", _racing(home, 4))
        home.run("config", "autocompact", "200000")
    assert {"hooks", "theirs0", "theirs1", "theirs2", "theirs3"} <= set(home.value)

    home.uninstall()
    added = dict.fromkeys(("theirs0", "theirs1", "theirs2", "theirs3"), True)
    assert home.value == before | added | {"autoCompactWindow": 200_000}


def test_installs_at_once_end_in_one_that_can_be_undone(home: Home) -> None:
    """Whoever loses the race finds the work done and does not spoil the record."""
    command = [sys.executable, "-c", _MAIN, "install", "--yes", "--interpreter", home.python]
    running = [subprocess.Popen(command, stdout=subprocess.DEVNULL) for _ in range(4)]

    assert [process.wait() for process in running] == [0] * 4
    home.uninstall()
    assert home.settings.read_bytes() == ORIGINAL


def test_a_disk_that_fills_up_at_any_point_leaves_the_settings(home: Home) -> None:
    """A limit on file sizes fails the launcher, the backup, the record or the settings."""
    code = (
        "import resource, signal, sys\nsignal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "limit = int(sys.argv.pop(1))\nfrom brimline.install import pythons\n"
        "from brimline.settings import config\nconfig.compile_policy = lambda *_: None\n"
        "pythons.precompile_or_problem = lambda *_: None\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))\n" + _MAIN
    )
    for limit in (30, 120, 400, 1500):
        arguments = ["install", "--yes", "--interpreter", home.python]
        done = subprocess.run(
            [sys.executable, "-B", "-c", code, str(limit), *arguments],
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, "cannot write" in done.stderr) == (1, True), done.stderr
        assert home.settings.read_bytes() == ORIGINAL
        assert sorted(os.listdir(home.config)) == ["settings.json"]
        home.uninstall()


def test_a_data_folder_that_cannot_be_one_is_told(home: Home) -> None:
    """A file in its place stops the installation before anything is changed."""
    Path(home.data).write_text("a file")
    done = home.run("install", "--yes")

    assert done.code == 1
    assert "BRIMLINE_HOME" in done.err
    assert home.settings.read_bytes() == ORIGINAL


def test_a_package_that_cannot_be_compiled_is_installed_with_a_warning(
    home: Home, root: Path
) -> None:
    """Hooks work, only slower."""
    shutil.rmtree(root / "brimline" / "__pycache__")
    (root / "brimline" / "__pycache__").write_text("in the way")

    report = home.install()

    assert "takes longer" in report["warnings"][0]
    assert home.findings()["bytecode"]["level"] == "warning"
    subprocess.run(home.hook("PreCompact"), input=b'{"session_id": "slow"}', check=True, timeout=60)


# --- what comes along -------------------------------------------------------------------------


def test_with_a_client_everything_comes_and_goes(client: Home) -> None:
    """Settings, mod, commands, MCP server; what a dry run says is done; nothing is left."""
    before = client.everything()
    dry = client.run("install", "--dry-run", "--json").report
    done, again = client.install(), client.install()

    for key in ("files", "client_calls"):
        assert dry[key] == done[key]
        assert again[key] == []
    assert len(done["files"]) == 12  # launcher, settings, mod, the card, the note for a shell
    assert len(done["client_calls"]) == 1
    assert (done["to_do"], done["warnings"]) == ([], [])
    client.uninstall("--delete-data")
    calls, state = (str(client.config / name) for name in (fake_claude.CALLS, ".claude.json"))
    assert client.everything().keys() - {calls, state} == before.keys()
    assert client.settings.read_bytes() == ORIGINAL


def test_rules_of_an_earlier_version_go_with_the_next_install(home: Home) -> None:
    """The user's own stay."""
    home.edit(permissions={"allow": ["Bash(ls:*)"]})
    before = home.value
    home.install()
    old = ["Bash(ls:*)", "Bash(brimline store get:*)", "mcp__brimline__recall"]
    home.edit(permissions={"allow": old})

    home.install()

    assert home.value["permissions"] == before["permissions"]
    home.uninstall()
    assert home.value == before


@pytest.mark.parametrize("fault", ["no client", "client fails", "no folder"])
def test_what_comes_along_does_not_fail_the_installation(
    fault: str, client: Home, no_client: Path
) -> None:
    """The hooks are what matters; the rest is one sentence, and the command to run later."""
    if fault == "no client":
        (no_client / "claude").unlink()
    elif fault == "client fails":
        fake_claude.script(no_client, "#!/bin/sh\necho words; echo it is broken >&2\nexit 3\n")
    else:
        (client.config / "commands").write_text("a file")
    report = client.install()

    assert client.hook("Stop")
    told = " ".join([*report["warnings"], *report["to_do"]])
    expected = {"no client": "claude mcp add", "client fails": "it is broken"}
    expected |= {"no folder": "cannot write"}
    assert expected[fault] in told
    assert ("claude mcp add" in " ".join(report["to_do"])) is fault.startswith(
        ("no client", "client f")
    )


def test_commands_that_are_not_ours_stay(home: Home) -> None:
    """Somebody's own file, one that was changed, and a link are left alone both ways."""
    folder = home.config / "commands" / "brim"
    folder.mkdir(parents=True)
    (folder / "status.md").write_text("mine")
    (folder / "purge.md").symlink_to(home.settings)
    report = home.install("--no-mod")
    (folder / "pin.md").write_text((folder / "pin.md").read_text() + "changed")
    gone = home.uninstall()

    assert sum("not brimline's" in note for note in report["notes"]) == 2
    assert [note for note in gone["notes"] if "pin.md is not brimline's, or was changed" in note]
    assert {path.name for path in folder.iterdir()} == {"status.md", "purge.md", "pin.md"}


def test_a_server_that_is_not_ours_stays(client: Home) -> None:
    """And one that starts another copy of brimline is replaced."""
    theirs = {"mcpServers": {"brimline": {"command": "other", "args": ["serve"]}}}
    state = client.config / ".claude.json"
    state.write_text(json.dumps(theirs))
    assert "not ours" in " ".join(client.install()["notes"])
    client.uninstall()
    assert json.loads(state.read_bytes()) == theirs

    state.write_text(json.dumps(theirs).replace("serve", '-m", "brimline", "mcp'))
    assert len(client.install()["client_calls"]) == 2
    assert client.findings()["mcp"]["level"] == "ok"


@pytest.mark.parametrize("name", ["data é", 'it\'s "here"', "$HOME;x"])
def test_paths_of_any_kind_reach_the_hook(name: str, home: Home, world: Path) -> None:
    """Spaces, quotes and other letters in the data folder's and the interpreter's path."""
    data = str(world / name)
    python = world / f"python {name}"
    python.symlink_to(home.python)
    for chosen, fits in ((home.python, True), (str(python), False)):
        home.install("--interpreter", chosen, BRIMLINE_HOME=data)
        assert (home.hook("Stop")[0] == f"{data}/bin/hook") is fits
        env = {"HOME": os.environ["HOME"]}
        event = json.dumps({"session_id": "s"}).encode()
        subprocess.run(home.hook("Stop"), input=event, env=env, check=True, timeout=60)
        line = subprocess.run(
            ["/bin/sh", "-c", home.value["statusLine"]["command"]],
            input=event,
            env=env | {"PATH": "/usr/bin:/bin"},
            capture_output=True,
            check=True,
        )
        assert len(line.stdout.splitlines()) == 2
        assert Path(data, "sessions", "s", "spool.jsonl").exists()
        home.uninstall(BRIMLINE_HOME=data)
        assert home.settings.read_bytes() == ORIGINAL


def test_the_plan_says_what_waits_for_the_client(home: Home, no_client: Path) -> None:
    """Its own command registers the server, which is not a line of the plan without it."""
    waits = "later   the MCP server: `claude` is not on PATH; install again once it is"
    assert waits in home.run("install", "--dry-run").out

    fake_claude.put_on_path(no_client)

    planned = home.run("install", "--dry-run").out
    assert waits not in planned
    assert "run     claude mcp add" in planned
