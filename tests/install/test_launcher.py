"""The launcher: what the client starts at every event, in both forms, and how it is known again."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from pathlib import Path

import pytest

from brimline.fast import io, paths
from brimline.hooks import table
from brimline.install import entries, parts, pythons, settingsfile
from brimline.launch import bootstrap_code

from .conftest import ORIGINAL, Home

# What is written where no launcher can be.
CODE = ["-I", "-S", "-c", bootstrap_code("/old/root", "/d")]


def write(wired: entries.Wiring) -> None:
    """Put the launcher in its place."""
    io.replace_file(wired.launcher or "", wired.launcher_bytes(), 0o700)


def start(program: str, *arguments: str, home: str = "") -> subprocess.CompletedProcess[bytes]:
    """Start it as the client does."""
    return subprocess.run(
        [program, *arguments],
        input=b'{"session_id": "s1", "hook_event_name": "Stop"}',
        env={"HOME": os.environ["HOME"]} | ({"BRIMLINE_HOME": home} if home else {}),
        capture_output=True,
        check=False,
        timeout=60,
    )


def test_it_answers_and_knows_its_data_folder(python: str, home_dir: str) -> None:
    """Nothing but the event's name is on the command line, and no variable changes it."""
    wired = parts.wiring_for_interpreter(python, home_dir)
    write(wired)
    launcher = Path(wired.launcher or "")

    done = start(*wired.hook_argv("Stop"))
    start(*wired.hook_argv("Stop"), home=home_dir + "2")

    assert wired.hook_argv("Stop") == [f"{home_dir}/bin/hook", "Stop"]
    assert launcher.read_text().startswith(f"#!{wired.interpreter} -IS\n")
    assert launcher.stat().st_mode & 0o777 == 0o700
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    spool = Path(home_dir, "sessions/s1/spool.jsonl").read_bytes()
    assert spool.count(b"\n") == 2
    assert not os.path.exists(home_dir + "2")


def test_no_variable_of_the_interpreter_brings_code_in(
    python: str, home_dir: str, world: Path
) -> None:
    """Neither through the launcher nor through what the MCP server is registered with."""
    wired = parts.wiring_for_interpreter(python, home_dir)
    write(wired)
    planted = world / "planted"
    planted.mkdir()
    for name in ("sitecustomize", "usercustomize", "marshal", "json", "brimline", "click"):
        (planted / f"{name}.py").write_text(f"open({str(world / 'was-run')!r}, 'w')\n")
    names = ("PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "PYTHONUSERBASE", "PYTHONPLATLIBDIR")
    env = dict.fromkeys(names, str(planted)) | {"HOME": str(world), "PYTHONINSPECT": "1"}
    server = pythons.program_of_this_process(home_dir).mcp_server_entry()

    for command in (wired.hook_argv("Stop"), [server["command"], *server["args"], "--help"]):
        done = subprocess.run(
            command, input=b"", env=env, cwd=planted, capture_output=True, check=False, timeout=60
        )
        assert done.returncode == 0, done.stderr
    assert not (world / "was-run").exists()


@pytest.mark.parametrize(
    ("interpreter", "home"),
    [("/opt/my python/python3", "/d"), ("/" + "x" * 121, "/d")],
)
def test_where_a_script_cannot_name_the_interpreter_code_is_given(
    interpreter: str, home: str
) -> None:
    """A blank ends the name, and some systems cut the line after 127 bytes."""
    assert entries.launcher_path_if_usable(interpreter, home) is None
    assert entries.launcher_path_if_usable("/" + "x" * 120, home) == f"{home}/bin/hook"
    folders = (home, *paths.folders_to_pin()[1:])
    code = [interpreter, "-I", "-S", "-c", bootstrap_code("/r", *folders), "Stop"]

    assert entries.Wiring(interpreter, "/r", home).hook_argv("Stop") == code


def test_somebody_elses_program_in_its_place_stays_and_code_does_the_same(
    python: str, home_dir: str
) -> None:
    """A data folder may be one that the user has had for long."""
    theirs = Path(home_dir, "bin", "hook")
    theirs.parent.mkdir(parents=True)
    theirs.write_text("#!/bin/sh\necho theirs\n")
    wired = parts.wiring_for_interpreter(python, home_dir)

    done = start(*wired.hook_argv("Stop"))

    assert wired.launcher is None
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert os.path.exists(f"{home_dir}/sessions/s1/spool.jsonl")


@pytest.mark.parametrize("fault", ["package gone", "half upgraded", "older package", "cut short"])
def test_whatever_is_broken_the_client_is_not_refused(
    fault: str, root: Path, python: str, home_dir: str
) -> None:
    """Never exit code 2, never a word on stdout."""
    wired = parts.wiring_for_interpreter(python, home_dir)
    write(wired)
    launch = root / "brimline" / "launch.py"
    if fault == "package gone":
        (root / "brimline").rename(root / "gone")
    elif fault == "half upgraded":
        (root / "brimline" / "hooks" / "turn.py").write_text("(((")
    elif fault == "older package":
        launch.write_text(launch.read_text().replace("def main(*installed: str)", "def main()"))
    else:
        launcher = Path(wired.launcher or "")
        launcher.write_bytes(launcher.read_bytes()[:-20])

    for event in (*table.EVENTS, "statusline"):
        done = start(*wired.hook_argv(event))
        assert done.returncode in ((0, 1) if fault == "cut short" else (0,)), event
        assert done.stdout == b"" or event == "statusline"


def test_without_the_package_the_users_own_status_line_is_shown(
    python: str, home_dir: str, tmp_path: Path
) -> None:
    """Ours says what is wrong in its place; one that wraps nothing says just that."""
    wired = parts.wiring_for_interpreter(python, home_dir)._replace(root=str(tmp_path / "gone"))
    write(wired)
    said = b"brimline: package not found, run `brimline doctor`\n"

    wrapping = start(*wired.hook_argv("statusline"), "printf 'mine: '; wc -c")
    alone = start(*wired.hook_argv("statusline"))

    assert (wrapping.returncode, wrapping.stdout) == (0, said + b"mine: 47\n")
    assert (alone.returncode, alone.stdout, alone.stderr) == (0, said, b"")


def test_installing_over_entries_with_code_renews_them(home: Home) -> None:
    """No Python source is left in the settings, and uninstalling leaves nothing."""
    hook = {"type": "command", "command": home.python, "args": [*CODE, "Stop"]}
    line = {"type": "command", "command": shlex.join([home.python, *CODE, "statusline", "date"])}
    home.settings.write_text(
        json.dumps({"hooks": {"Stop": [{"hooks": [hook]}]}, "statusLine": line}, indent=1)
    )

    home.install()

    assert b"import sys" not in home.settings.read_bytes()
    assert home.hook("Stop") == [str(home.launcher), "Stop"]
    assert home.value["statusLine"]["command"] == f"{home.launcher} statusline date"
    home.uninstall()
    assert home.value == {"statusLine": {"type": "command", "command": "date"}}
    assert not home.launcher.parent.exists()


def test_a_record_of_an_earlier_launcher_restores_every_byte(home: Home) -> None:
    """Installed again over a home that it left: its record is still good."""
    home.install()
    (file,) = [p for p in Path(home.data, "install").glob("*.json") if len(p.stem) == 16]
    record = json.loads(file.read_bytes())
    text = home.settings.read_text().replace(str(home.launcher), "/old/brimline/bin/hook")
    home.settings.write_text(text, newline="")
    record["written"] = [settingsfile.sha256_of_content(home.settings.read_bytes())]
    file.write_text(json.dumps(record))

    home.install()
    home.uninstall()

    assert home.settings.read_bytes() == ORIGINAL
