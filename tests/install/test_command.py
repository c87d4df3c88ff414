"""The commands `install`, `uninstall` and `doctor`, run as the user runs them."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pexpect
import pytest
from click.testing import CliRunner

from brimline.cli.session_commands import purge_command
from brimline.fast import paths
from brimline.hooks import table
from brimline.install import entries
from brimline.install.command import uninstall
from brimline.slash.command_files import COMMANDS
from brimline.testing import SessionBuilder

from . import fake_claude

if TYPE_CHECKING:
    from collections.abc import Callable

    Run = Callable[..., subprocess.CompletedProcess[str]]

ORIGINAL = b'{\r\n\t"model": "opus",\r\n\t"statusLine": {"type": "command", "command": "date"}\r\n}'


@pytest.fixture
def client(no_client: Path, user_settings: Path) -> Path:
    """A client on PATH that does what it is asked for; its configuration folder."""
    fake_claude.put_on_path(no_client)
    return user_settings.parent


@pytest.fixture
def settings(user_settings: Path) -> Path:
    """The user's settings as they were before us."""
    user_settings.write_bytes(ORIGINAL)
    return user_settings


def everything(folder: Path) -> dict[str, bytes]:
    """Every file below a folder with its content."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def hook_command(settings_file: Path, event: str) -> list[str]:
    """The command that the client would start at an event."""
    entry = json.loads(settings_file.read_bytes())["hooks"][event][0]["hooks"][0]
    return [entry["command"], *entry["args"]]


def test_a_round_trip_gives_the_settings_back(settings: Path, run: Run, python: str) -> None:
    """Install, install again, uninstall: the bytes are those of the beginning."""
    first = run("install", "--yes", "--interpreter", python)
    installed = settings.read_bytes()
    second = run("install", "--yes")

    assert (first.returncode, second.returncode) == (0, 0), first.stderr + second.stderr
    assert "Installed in" in first.stdout
    assert "Backup: " in first.stdout
    assert "nothing to change" in second.stdout
    assert settings.read_bytes() == installed
    assert run("uninstall", "--yes").returncode == 0
    assert settings.read_bytes() == ORIGINAL


def test_a_dry_run_shows_the_exact_change_and_writes_nothing(
    settings: Path, run: Run, python: str, world: Path
) -> None:
    """The patch it prints turns the old bytes into the ones that an install writes."""
    before = everything(world)
    shown = run("install", "--dry-run", "--json", "--interpreter", python)
    assert everything(world) == before
    diff, *_ = re.split(r"^(?=--- )", json.loads(shown.stdout)["diff"], flags=re.MULTILINE)[1:]

    if not shutil.which("patch"):
        pytest.skip("there is no patch to apply the change with")
    patch = world / "change.patch"
    patch.write_bytes(diff.encode())
    copy = world / "copy.json"
    copy.write_bytes(ORIGINAL)
    subprocess.run(["patch", "--binary", str(copy), str(patch)], check=True, capture_output=True)
    run("install", "--yes", "--interpreter", python)

    assert copy.read_bytes() == settings.read_bytes()


def test_a_dry_run_without_anything_to_do_says_so(run: Run, settings: Path, python: str) -> None:
    """Also where it is installed already."""
    run("install", "--yes", "--no-mcp", "--interpreter", python)

    assert run("install", "--dry-run", "--no-mcp").stdout == "Nothing to change.\n"


def test_without_a_terminal_nothing_is_changed_unasked(
    settings: Path, run: Run, python: str, home_dir: str
) -> None:
    """Every command that changes files wants --yes there, with one clear sentence."""
    run("install", "--yes", "--interpreter", python)
    installed, data = settings.read_bytes(), everything(Path(home_dir))
    settings.write_bytes(ORIGINAL)
    refused = run("install", "--interpreter", python)
    assert settings.read_bytes() == ORIGINAL
    settings.write_bytes(installed)

    for done in (refused, run("uninstall"), run("uninstall", "--delete-data", "--json")):
        assert done.returncode == 1
        assert re.fullmatch("brimline: .*--yes.*\n", done.stderr.splitlines(keepends=True)[-1])
    assert settings.read_bytes() == installed
    assert everything(Path(home_dir)) == data


@pytest.mark.parametrize(("answer", "changed"), [("y", True), ("n", False)])
def test_on_a_terminal_it_asks(
    answer: str, changed: bool, settings: Path, run: Run, python: str
) -> None:
    """The change is shown first, and only a yes makes it."""
    code = "from brimline.cli.main import main; main()"
    arguments = ["-c", code, "install", "--interpreter", python]
    terminal = pexpect.spawn(sys.executable, arguments, encoding="utf-8", timeout=60)
    terminal.expect("bin/hook")
    terminal.expect(r"Change .*\?")
    terminal.sendline(answer)
    terminal.expect(pexpect.EOF)
    terminal.close()

    assert (terminal.exitstatus == 0) is changed
    assert (settings.read_bytes() != ORIGINAL) is changed


def test_every_report_is_json_on_request(settings: Path, run: Run, python: str) -> None:
    """Standard output holds one document and nothing else."""
    installed = json.loads(run("install", "--yes", "--json", "--interpreter", python).stdout)
    again = json.loads(run("install", "--yes", "--json").stdout)
    taken = json.loads(run("uninstall", "--yes", "--json").stdout)

    assert installed["changed"] is True
    assert installed["interpreter"] == python
    assert Path(installed["backup"]).read_bytes() == ORIGINAL
    assert installed["warnings"] == []
    assert (again["changed"], again["backup"]) == (False, None)
    assert taken["settings"] == [str(settings)]


@pytest.mark.parametrize(
    ("scope", "name"), [("project", "settings.json"), ("local", "settings.local.json")]
)
def test_other_scopes_have_their_own_file(
    scope: str, name: str, settings: Path, run: Run, python: str, project_dir: str
) -> None:
    """They carry the user's status line, and leave with the folder that was made for them."""
    done = run("install", "--yes", "--scope", scope, "--interpreter", python)
    file = Path(project_dir, ".claude", name)
    line = entries.parse_statusline(json.loads(file.read_bytes())["statusLine"]["command"])

    assert done.returncode == 0
    assert settings.read_bytes() == ORIGINAL
    assert line is not None
    assert line.wrapped == "date"
    assert ("usually shared" in done.stdout) is (scope == "project")
    assert run("uninstall", "--yes").returncode == 0
    assert os.listdir(project_dir) == []


def test_uninstalling_finds_every_scope_from_anywhere(
    settings: Path, run: Run, python: str, project_dir: str, world: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """Projects it was installed in are remembered; --scope takes out one only."""
    for scope in ("user", "local"):
        run("install", "--yes", "--scope", scope, "--interpreter", python)
    monkeypatch.chdir(world)
    (only,) = json.loads(run("uninstall", "--yes", "--json", "--scope", "user").stdout)["settings"]
    (rest,) = json.loads(run("uninstall", "--yes", "--json").stdout)["settings"]

    assert only == str(settings)
    assert rest == f"{project_dir}/.claude/settings.local.json"


def test_one_broken_file_does_not_keep_the_others_wired(
    settings: Path, run: Run, python: str, project_dir: str, home_dir: str
) -> None:
    """The rest is taken out, the broken one is named, and the data it needs is kept."""
    for scope in ("user", "local"):
        run("install", "--yes", "--scope", scope, "--interpreter", python)
    local = Path(project_dir, ".claude", "settings.local.json")
    local.write_bytes(local.read_bytes() + b"}")

    done = run("uninstall", "--yes", "--delete-data")

    assert done.returncode == 1
    assert f"Taken out of {settings}" in done.stdout
    assert str(local) in done.stderr
    assert "was kept" in done.stderr
    assert settings.read_bytes() == ORIGINAL
    assert os.path.isdir(f"{home_dir}/install")


def test_broken_settings_of_others_do_not_matter_to_uninstalling(
    settings: Path, run: Run, python: str, project_dir: str
) -> None:
    """A project's invalid file that holds nothing of ours is left alone without complaint."""
    run("install", "--yes", "--interpreter", python)
    theirs = Path(project_dir, ".claude", "settings.json")
    theirs.parent.mkdir()
    theirs.write_text("{bad")

    assert run("uninstall", "--yes").returncode == 0
    assert settings.read_bytes() == ORIGINAL


def test_data_stays_unless_it_is_to_be_deleted(
    settings: Path, run: Run, python: str, home_dir: str
) -> None:
    """And then all of it goes, hooks and status line having run meanwhile."""
    run("install", "--yes", "--interpreter", python)
    event = json.dumps(
        {"session_id": "s", "cwd": "/", "hook_event_name": "x", "transcript_path": ""}
    )
    for name in table.EVENTS:
        command = hook_command(settings, name)
        subprocess.run(command, input=event.encode(), check=True, capture_output=True)
    line = json.loads(settings.read_bytes())["statusLine"]["command"]
    shown = subprocess.run(line, shell=True, input=event.encode(), check=True, capture_output=True)  # noqa: S602
    assert len(shown.stdout.splitlines()) == 2
    assert os.listdir(f"{home_dir}/sessions") == ["s"]

    assert "Data kept" in run("uninstall", "--yes").stdout
    assert os.listdir(f"{home_dir}/sessions") == ["s"]
    assert "Data deleted" in run("uninstall", "--yes", "--delete-data").stdout
    assert not os.path.exists(home_dir)


def test_a_data_folder_that_only_the_entries_know_is_named(
    settings: Path, run: Run, python: str, home_dir: str
) -> None:
    """Run without the variable of install time, uninstalling says where data is left."""
    run("install", "--yes", "--interpreter", python)

    done = run("uninstall", "--yes", BRIMLINE_HOME="")

    assert f"Hooks kept data in {home_dir} too" in done.stdout
    assert settings.read_bytes() == ORIGINAL


def test_paths_of_any_kind_reach_the_hook(
    user_settings: Path, run: Run, python: str, world: Path
) -> None:
    """Spaces, quotes and other letters in the interpreter's and the data folder's path."""
    odd = world / 'my dir\'s "é" $HOME'
    odd.mkdir()
    (odd / "python3").symlink_to(python)
    home = f"{odd}/data folder"
    done = run("install", "--yes", "--interpreter", f"{odd}/python3", BRIMLINE_HOME=home)
    assert done.returncode == 0, done.stderr
    env = {"PATH": os.environ["PATH"]}
    event = b'{"session_id": "odd", "cwd": "/"}'

    command = hook_command(user_settings, "PreCompact")
    subprocess.run(command, input=event, env=env, check=True, timeout=60)
    line = json.loads(user_settings.read_bytes())["statusLine"]["command"]
    shown = subprocess.run(  # noqa: S602 - the client hands it to a shell as well
        line, shell=True, input=event, env=env, check=True, capture_output=True, timeout=60
    )

    assert b"ctx" in shown.stdout
    assert os.listdir(f"{home}/sessions") == ["odd"]
    assert not os.path.exists(f"{home}/errors.jsonl")


@pytest.mark.parametrize("raw", [b"{bad", b'{"hooks": null}', b"\xff"])
def test_a_problem_is_one_sentence_and_changes_nothing(
    raw: bytes, user_settings: Path, run: Run, python: str, world: Path
) -> None:
    """Exit code 1, no traceback, every file as it was."""
    user_settings.write_bytes(raw)
    before = everything(world)

    done = run("install", "--yes", "--interpreter", python)

    assert done.returncode == 1
    assert re.fullmatch(r"brimline: [^\n]*settings\.json[^\n]*\n", done.stderr)
    assert everything(world) == before


def test_a_data_folder_that_cannot_be_one_is_told(
    settings: Path, run: Run, python: str, world: Path
) -> None:
    """A file in its place stops the installation before anything is changed."""
    (world / "file").write_text("x")

    for home in (f"{world}/file", f"{world}/file/below"):
        done = run("install", "--yes", "--interpreter", python, BRIMLINE_HOME=home)
        assert done.returncode == 1
        assert re.search(f"brimline: .*{re.escape(home)}.*BRIMLINE_HOME", done.stderr)
    assert settings.read_bytes() == ORIGINAL


def test_a_package_that_cannot_be_compiled_is_installed_with_a_warning(
    settings: Path, python: str, root: Path
) -> None:
    """A folder that only the system's administrator may write to: hooks work, only slower."""
    cache = root / "brimline" / "__pycache__"
    for file in cache.iterdir():
        file.unlink()
    cache.rmdir()
    cache.write_text("in the way")
    code = (
        f"import sys; sys.path.insert(0, {str(root)!r}); from brimline.cli.main import main; main()"
    )

    done = subprocess.run(
        [sys.executable, "-c", code, "install", "--yes", "--json", "--interpreter", python],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    report: dict[str, Any] = json.loads(done.stdout)

    assert "takes longer" in report["warnings"][0]
    assert str(root) in Path(hook_command(settings, "PreCompact")[0]).read_text()
    event = b'{"session_id": "slow"}'
    subprocess.run(hook_command(settings, "PreCompact"), input=event, check=True, timeout=60)


def test_doctor_ends_with_1_only_where_something_is_broken(
    settings: Path, run: Run, python: str
) -> None:
    """Before the installation it is broken, afterwards it is not; both as text and as JSON."""
    before, told = run("doctor"), run("doctor", "--json")
    run("install", "--yes", "--interpreter", python)
    after = run("doctor", "--json")

    assert (before.returncode, told.returncode, after.returncode) == (1, 1, 0)
    assert "BROKEN" in before.stdout
    assert "\x1b" not in before.stdout
    assert json.loads(told.stdout)["ok"] is False
    report = json.loads(after.stdout)
    assert report["ok"] is True
    assert set(report["findings"][0]) == {"check", "level", "what", "why", "fix"}


@pytest.mark.parametrize(("no_color", "coloured"), [("", True), ("1", False)])
def test_doctor_is_coloured_on_a_terminal_only(
    no_color: str, coloured: bool, world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """NO_COLOR is respected there."""
    monkeypatch.setenv("NO_COLOR", no_color)
    code = "from brimline.cli.main import main; main()"
    terminal = pexpect.spawn(sys.executable, ["-c", code, "doctor"], encoding="utf-8", timeout=60)
    terminal.expect(pexpect.EOF)
    terminal.close()

    assert ("\x1b[1;31mBROKEN" in terminal.before) is coloured
    assert ("\x1b" in terminal.before) is coloured


def test_with_a_client_everything_comes_and_goes(
    settings: Path, run: Run, python: str, client: Path, world: Path
) -> None:
    """Settings, slash commands, MCP server; a second run changes nothing; nothing is left."""
    before = everything(client) | {fake_claude.CALLS: b""}
    dry = json.loads(run("install", "--dry-run", "--json", "--interpreter", python).stdout)
    assert everything(client) == {settings.name: ORIGINAL}
    done = json.loads(run("install", "--yes", "--json", "--interpreter", python).stdout)
    again = json.loads(run("install", "--yes", "--json").stdout)

    assert dry["files"] == done["files"]
    assert dry["client_calls"] == done["client_calls"]
    assert len(done["files"]) == len(COMMANDS) + 3
    assert len(done["client_calls"]) == 1
    assert (done["to_do"], done["warnings"]) == ([], [])
    assert ["--no-allow" in note for note in done["notes"]] == [True]
    assert (again["changed"], again["files"], again["client_calls"]) == (False, [], [])
    out = json.loads(run("uninstall", "--yes", "--json").stdout)
    assert out["client_calls"] == ["claude mcp remove -s user brimline"]
    assert len(out["files"]) == len(COMMANDS) + 2
    left = everything(client) | {fake_claude.CALLS: b""}
    assert json.loads(left.pop(".claude.json")) == {"mcpServers": {}}
    assert left == before


def test_a_person_sees_every_file_and_call_before_and_after(
    settings: Path, run: Run, python: str, client: Path
) -> None:
    """The dry run shows them whole, the real one says what was done."""
    dry = run("install", "--dry-run", "--interpreter", python).stdout
    done = run("install", "--yes", "--interpreter", python).stdout
    out = run("uninstall", "--yes").stdout

    for told in (dry, done):
        assert f"+++ {client}/commands/brim/pin.md" in told
        assert "+brimline did not answer this command. In a shell: `brimline store pin KEY`" in told
        assert "$ claude mcp add -s user brimline " in told
    assert f"Written: {len(COMMANDS) + 1} files in {client}/commands/brim" in done
    assert "Done: claude mcp add -s user brimline" in done
    assert f"Removed: the slash commands in {client}/commands/brim." in out
    assert "Removed: the MCP server `brimline`." in out


def test_without_a_client_the_command_is_left_to_the_user(
    settings: Path, run: Run, python: str
) -> None:
    """The rest is installed; the line can be pasted as it is."""
    done = run("install", "--yes", "--interpreter", python)

    assert done.returncode == 0
    assert "Left for you to run:\n  claude mcp add -s user brimline " in done.stdout


@pytest.mark.parametrize("text", ["#!/bin/sh\necho broken >&2\nexit 1\n", "#!/nowhere\n"])
def test_a_client_that_fails_does_not_fail_the_installation(
    text: str, settings: Path, run: Run, python: str, no_client: Path
) -> None:
    """One warning, and the command to run later."""
    fake_claude.script(no_client, text)

    done = run("install", "--yes", "--json", "--interpreter", python)
    report = json.loads(done.stdout)

    assert done.returncode == 0
    assert report["changed"] is True
    assert len(report["warnings"]) == 1
    assert report["to_do"][0].startswith("claude mcp add ")


def test_a_folder_for_commands_that_cannot_be_one_does_not_fail_the_installation(
    settings: Path, run: Run, python: str
) -> None:
    """The hooks are what matters; the rest is one warning."""
    (settings.parent / "commands").write_text("a file")

    done = run("install", "--yes", "--json", "--interpreter", python)
    report = json.loads(done.stdout)

    assert done.returncode == 0
    assert hook_command(settings, "Stop")
    assert len(report["warnings"]) == 1
    assert re.match(r"cannot write .*/commands/brim/\S+\.md: ", report["warnings"][0])


def test_no_mcp_leaves_the_client_alone(
    settings: Path, run: Run, python: str, client: Path
) -> None:
    """Neither registered nor handed over."""
    report = json.loads(
        run("install", "--yes", "--json", "--no-mcp", "--interpreter", python).stdout
    )

    assert (report["client_calls"], report["to_do"]) == ([], [])
    assert fake_claude.calls(client) == []


@pytest.mark.parametrize("scope", ["project", "local"])
def test_other_scopes_bring_hooks_only(
    scope: str, settings: Path, run: Run, python: str, client: Path
) -> None:
    """Commands and server are the user's; it is said where to get them."""
    report = json.loads(
        run("install", "--yes", "--json", "--scope", scope, "--interpreter", python).stdout
    )

    assert [name.rpartition("/")[2] for name in report["files"]][1:] == ["hook"]
    assert fake_claude.calls(client) == []
    assert any("--scope user" in note for note in report["notes"])
    assert not (client / "commands").exists()


def test_taking_one_project_out_keeps_what_is_the_users(
    settings: Path, run: Run, python: str, client: Path
) -> None:
    """--scope means that scope."""
    for scope in ("user", "local"):
        run("install", "--yes", "--scope", scope, "--interpreter", python)

    run("uninstall", "--yes", "--scope", "local")

    assert (client / "commands" / "brim" / "status.md").exists()
    assert "brimline" in json.loads((client / ".claude.json").read_bytes())["mcpServers"]


def test_a_plugin_round_trip_gives_the_settings_back(
    settings: Path, run: Run, python: str, client: Path, home_dir: str
) -> None:
    """Through the client, which writes them anew in between."""
    first = json.loads(
        run("install", "--as", "plugin", "--yes", "--json", "--interpreter", python).stdout
    )
    edited = settings.read_bytes()
    second = json.loads(run("install", "--as", "plugin", "--yes", "--json").stdout)

    assert (first["as"], first["settings"], first["changed"]) == ("plugin", None, True)
    assert Path(first["backup"]).read_bytes() == ORIGINAL
    assert edited != ORIGINAL
    assert "hooks" not in json.loads(edited)
    assert second["changed"] is False
    assert '"statusLine": {' in first["notes"][0]
    assert run("uninstall", "--yes").returncode == 0
    assert settings.read_bytes() == ORIGINAL
    assert not os.path.exists(f"{home_dir}/plugin")


@pytest.mark.parametrize("order", [("settings", "plugin"), ("plugin", "settings")])
def test_both_ways_go_without_a_trace_in_either_order(
    order: tuple[str, str], settings: Path, run: Run, python: str, client: Path
) -> None:
    """Whoever wrote the settings last is taken out first."""
    for way in order:
        run("install", "--as", way, "--yes", "--interpreter", python)
    noted = json.loads(run("install", "--dry-run", "--json", "--as", order[1]).stdout)["notes"]

    assert any("yield" in note for note in noted)
    assert run("uninstall", "--yes").returncode == 0
    assert settings.read_bytes() == ORIGINAL


@pytest.mark.parametrize(("way", "stays"), [("settings", "plugin"), ("plugin", "settings")])
def test_one_way_can_be_taken_out_alone(
    way: str, stays: str, settings: Path, run: Run, python: str, client: Path
) -> None:
    """The other one works on."""
    for each in ("settings", "plugin"):
        run("install", "--as", each, "--yes", "--interpreter", python)

    assert run("uninstall", "--as", way, "--yes").returncode == 0

    found = json.loads(settings.read_bytes())
    assert ("hooks" in found) is (stays == "settings")
    assert bool(found.get("enabledPlugins")) is (stays == "plugin")
    assert json.loads(run("install", "--as", stays, "--dry-run", "--json").stdout)["files"] == []


def test_a_plugin_has_no_scope(run: Run, settings: Path) -> None:
    """A wrong combination is a usage error."""
    for command in ("install", "uninstall"):
        done = run(command, "--as", "plugin", "--scope", "local", "--yes")
        assert done.returncode == 2
        assert "--scope goes with settings" in done.stderr
    assert settings.read_bytes() == ORIGINAL


def test_a_plugin_is_asked_for_too(settings: Path, run: Run, python: str, client: Path) -> None:
    """Without a terminal nothing is written and the client is not asked."""
    done = run("install", "--as", "plugin", "--interpreter", python)

    assert done.returncode == 1
    assert "--yes" in done.stderr
    assert fake_claude.calls(client) == []
    run("install", "--as", "plugin", "--yes", "--interpreter", python)
    assert run("uninstall").returncode == 1
    assert len(fake_claude.calls(client)) == 2


def test_deleting_the_data_takes_the_plugin_along(
    settings: Path, run: Run, python: str, client: Path, home_dir: str
) -> None:
    """Nothing of it is left, and nothing is said to be somebody else's."""
    for way in ("settings", "plugin"):
        run("install", "--as", way, "--yes", "--interpreter", python)

    done = json.loads(run("uninstall", "--yes", "--delete-data", "--json").stdout)

    assert (done["data_deleted"], done["left"]) == (True, [])
    assert not os.path.exists(home_dir)
    assert settings.read_bytes() == ORIGINAL


def test_commands_are_found_by_the_data_folder_that_the_entries_name(
    settings: Path, run: Run, python: str, client: Path
) -> None:
    """Run without the variable of install time, uninstalling takes them out all the same."""
    run("install", "--yes", "--interpreter", python)

    run("uninstall", "--yes", BRIMLINE_HOME="")

    assert not (client / "commands").exists()
    assert settings.read_bytes() == ORIGINAL


def test_the_plugin_is_found_by_the_folder_that_the_client_names(
    settings: Path, run: Run, python: str, client: Path, home_dir: str
) -> None:
    """Also where the data folder is not the usual one."""
    run("install", "--as", "plugin", "--yes", "--interpreter", python)

    run("uninstall", "--yes", BRIMLINE_HOME="")

    assert not os.path.exists(f"{home_dir}/plugin")
    assert settings.read_bytes() == ORIGINAL


@pytest.mark.parametrize("command", ["install", "uninstall", "doctor"])
def test_help_has_an_example(command: str, run: Run) -> None:
    """Every command shows how it is used."""
    assert f"brimline {command}" in run(command, "--help").stdout.partition("Example:")[2]


def test_purged_sessions_are_restored_before_the_data_is_deleted(world: Path) -> None:
    """Their references would lead nowhere."""
    session = SessionBuilder(str(world / "purged.jsonl"), session_id="purged")
    call = session.tool_call(10_000, "Bash", command="make")
    session.tool_result(call, "a line of the log\n" * 2_000)
    for number in range(12):
        session.reply(10_000 + number)
    before = Path(session.path).read_bytes()
    long_ago = time.time() - 3_600
    os.utime(session.path, (long_ago, long_ago))
    runner = CliRunner()
    done = runner.invoke(purge_command, [session.path, "--yes"])
    assert done.exit_code == 0, done.output
    assert Path(session.path).read_bytes() != before
    os.utime(session.path, (long_ago, long_ago))

    done = runner.invoke(uninstall, ["--delete-data", "--yes"])

    assert done.exit_code == 0, done.output
    assert Path(session.path).read_bytes() == before


def purged_session(path: Path) -> tuple[SessionBuilder, bytes]:
    """A purged session, and what it was."""
    path.parent.mkdir(parents=True, exist_ok=True)
    session = SessionBuilder(str(path), session_id=path.stem)
    call = session.tool_call(10_000, "Bash", command="make")
    session.tool_result(call, "a line of the log\n" * 2_000)
    for number in range(12):
        session.reply(10_000 + number)
    before = path.read_bytes()
    os.utime(path, (1_700_000_000, 1_700_000_000))
    done = CliRunner().invoke(purge_command, [session.path, "--yes"])
    assert done.exit_code == 0, done.output
    assert path.read_bytes() != before
    os.utime(path, (1_700_000_000, 1_700_000_000))
    return session, before


def test_purged_sessions_are_found_where_they_were_moved_to_and_with_the_same_id(
    world: Path,
) -> None:
    """Two projects with one id each get back what is theirs; so does a session that was moved."""
    projects = Path(paths.client_config_dir()) / "projects"
    one, before_one = purged_session(projects / "a" / "same.jsonl")
    other, before_other = purged_session(projects / "b" / "same.jsonl")
    moved, before_moved = purged_session(world / "moved.jsonl")
    (projects / "c").mkdir()
    os.rename(moved.path, projects / "c" / "moved.jsonl")

    done = CliRunner().invoke(uninstall, ["--delete-data", "--yes"])

    assert done.exit_code == 0, done.output
    assert Path(one.path).read_bytes() == before_one
    assert Path(other.path).read_bytes() == before_other
    assert (projects / "c" / "moved.jsonl").read_bytes() == before_moved
    assert f"Restored the purged session {one.path}." in done.output


@pytest.mark.parametrize("fault", ["changed", "rewritten", "record", "in use"])
def test_data_that_a_purged_session_still_needs_is_kept(world: Path, fault: str) -> None:
    """The file is named; other sessions are restored all the same."""
    hurt, _ = purged_session(world / "hurt.jsonl")
    sound, before = purged_session(world / "sound.jsonl")
    path = Path(hurt.path)
    named = str(path)
    if fault == "changed":
        path.write_bytes(path.read_bytes().replace(b"[brimline stored", b"[ brimline stored"))
    elif fault == "rewritten":
        key = path.read_bytes().partition(b"sha256:")[2][:64]
        path.write_bytes(b'{"type":"user","uuid":"u","message":{"content":"sha256:%s"}}\n' % key)
    elif fault == "record":
        record = Path(paths.home()) / "backups/purges/hurt/000001.jsonl"
        record.write_text("not json")
        named = str(record)
    os.utime(path, None if fault == "in use" else (1_700_000_000, 1_700_000_000))

    done = CliRunner().invoke(uninstall, ["--delete-data", "--yes", "--json"])

    assert done.exit_code != 0
    told = json.loads(done.stdout)
    assert told["data_deleted"] is False
    assert told["restored_sessions"][-1:] == [sound.path]
    assert any(named in problem for problem in told["problems"])
    assert "--live" not in str(told["problems"])
    assert Path(sound.path).read_bytes() == before
