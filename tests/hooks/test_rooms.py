"""A room is a plug-in: it disappears with its folder and its words in the table of rooms."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from brimline.fast.paths import PACKAGE_DIR
from brimline.rooms import TRACES

if TYPE_CHECKING:
    from pathlib import Path

# All that no other capability is built on.
ROOMS = ("budget", "compaction", "dashboard", "gateway", "mcp", "mod", "scout", "slash")
EVERYTHING = """
import json, sys
from click.testing import CliRunner
from brimline.cli.surface import program
from brimline.hooks import entry, table
from brimline.hooks.turn import ask_rooms

home, project = sys.argv[1:]
fields = {"session_id": "s1", "transcript_path": "", "cwd": project, "source": "startup"}
fields |= {"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_response": {"stdout": "x"}}
fields |= {"prompt": "Go on.", "trigger": "auto", "compact_summary": "So far."}
for name in table.EVENTS:
    raw = json.dumps(fields | {"hook_event_name": name}).encode()
    turn = entry.open_turn(name, raw, home)
    ask_rooms(turn)
    if name == table.TIDY_AFTER:
        entry.tidy(turn)
for words in (["--help"], ["config", "autocompact", "--help"], ["doctor", "--json"]):
    done = CliRunner().invoke(program, words)
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
print(done.output)
"""


@pytest.mark.parametrize("room", ROOMS)
def test_without_a_room_all_else_works(room: str, tmp_path: Path) -> None:
    """Help, `doctor` and a hook of each event, with nothing in the error log."""
    package = tmp_path / "lib" / "brimline"
    shutil.copytree(PACKAGE_DIR, package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.rmtree(package / room)
    for words in (package / "hooks" / "table.py", package / "rooms.py"):
        text = words.read_text(encoding="utf-8")
        words.write_text(re.sub(rf'"{room}"(: "[^"]*")?,? ?', "", text))
    home = tmp_path / "data"
    places = {"HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": str(tmp_path / ".claude")}
    places |= {"BRIMLINE_HOME": str(home), "PATH": os.environ["PATH"]}
    project = tmp_path / "project"

    done = subprocess.run(
        [sys.executable, "-c", EVERYTHING, str(home), str(project)],
        env=places | {"PYTHONPATH": str(tmp_path / "lib")},
        cwd=project,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    checks = [finding["check"] for finding in json.loads(done.stdout)["findings"]]
    assert {"entries", "hook-errors", "retention"} <= set(checks)
    assert not (home / "errors.jsonl").exists(), (home / "errors.jsonl").read_text()


def test_every_room_that_leaves_files_is_asked_about_them() -> None:
    """A `traces.py` that the table does not name would never be read."""
    rooms = {
        name
        for name in os.listdir(PACKAGE_DIR)
        if os.path.isfile(f"{PACKAGE_DIR}/{name}/traces.py")
    }

    assert rooms == set(TRACES)
