"""The world in which the pages of the documentation are run: `python console_world.py FOLDER`.

In it, `/home/dev` is a home in which brimline is installed, with two sessions of the project
`importer`, played through the hooks: an older one that was compacted, and one that is well filled,
with stored output and notes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import brimline
from brimline.fast import paths
from brimline.hooks import statusline
from brimline.hooks.entry import respond
from brimline.mod import request
from brimline.testing import SessionBuilder, event, statusline_event, text_block

HOME = "home/dev"
PROJECT = f"{HOME}/importer"
_NOW = time.time()
_MODEL = "claude-sonnet-4-6"
_CHARACTERS_PER_TOKEN = 2.85
_OLDER = "7c1e90aa-0b52-4c1d-9e35-d2a6c0f3b411"
_NEWER = "1f0c2d3e-8a41-4f0b-b6a7-6f1f0a5b9c20"
_SOURCE = "".join(
    f"def step_{n}(rows):\n    return [row * {n} for row in rows]\n" for n in range(300)
)
_LOG = "".join(
    f"[{n:4}] compiling module_{n}.c{' warning: unused variable' if n == 413 else ''}\n"
    for n in range(800)
)
_PROSE = "What a feed holds, and how often it comes, is said here.\n"
_FAILED = "tests/importer/test_batch.py F\nAssertionError: 999 != 1000\n1 failed, 40 passed in 3.2s"
_REFUSED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was "
    "a file edit, the new_string was NOT written to the file). To tell you how to proceed, the "
    "user said:\nno, I did not say commit anything"
)
_INSTRUCTIONS = """# importer

- Never run TRUNCATE on the orders table. (ENFORCED)
- Run `pytest -q` before you say that something works.
"""
_CLAUDE = """#!/bin/sh
if [ "$1" = --version ]; then echo "2.1.325 (Claude Code)"; exit; fi
exec {python} {file} "$@"
"""


def main(folder: Path) -> None:
    """Make the world below a folder, whose environment this process already has."""
    project = folder / PROJECT
    (project / "src").mkdir(parents=True)
    (project / "src" / "batch.py").write_text(_SOURCE, encoding="utf-8")
    (project / "CLAUDE.md").write_text(_INSTRUCTIONS, encoding="utf-8")
    client = Path(paths.client_config_dir())
    client.mkdir()
    (client / "settings.json").write_text('{\n  "model": "sonnet"\n}\n', encoding="utf-8")
    programs = folder / HOME / ".local" / "bin"
    programs.mkdir(parents=True)
    stand_in = Path(__file__).parent / "install" / "fake_claude.py"
    program = programs / "claude"
    program.write_text(_CLAUDE.format(python=sys.executable, file=stand_in), encoding="utf-8")
    program.chmod(0o755)
    (folder / "tmp").mkdir()
    os.chdir(project)
    command = [sys.executable, "-m", "brimline", "install", "--yes"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    _compacted(Play(_OLDER, project, hours_ago=26))
    _filled(Play(_NEWER, project, hours_ago=2))


def link_package_beside(folder: Path) -> Path:
    """A package for the world below a folder: what an install notes beside it is not the source's.

    Returns:
        Where it is to be found.
    """
    source, site = Path(brimline.__file__).parent, folder.parent / "site"
    (site / "brimline").mkdir(parents=True)
    for path in source.iterdir():
        if not path.match("installed-*"):
            (site / "brimline" / path.name).symlink_to(path)
    return site


def environment(folder: Path) -> dict[str, str]:
    """All that a child may know of this machine, in the world below a folder."""
    home = folder / HOME
    programs = [home / ".local" / "bin", Path(sys.executable).parent, "/usr/bin", "/bin"]
    return {
        "HOME": str(home),
        "CLAUDE_CONFIG_DIR": str(home / ".claude"),
        "PATH": ":".join(map(str, programs)),
        "TMPDIR": str(folder / "tmp"),
        "PYTHONPATH": str(folder.parent / "site"),
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "NO_COLOR": "1",
        **dict.fromkeys(("HTTPS_PROXY", "HTTP_PROXY"), "http://127.0.0.1:9"),
    }


class Play:
    """A session, played row by row with its hooks."""

    def __init__(self, session_id: str, project: Path, hours_ago: float) -> None:
        """Begin it."""
        place = f"{paths.project_transcripts_dir(str(project))}/{session_id}.jsonl"
        now = _NOW - hours_ago * 3_600
        self.session = SessionBuilder(place, session_id, str(project), _MODEL, now=now)
        time.time = lambda: self.session.now
        self.tokens = 31_000
        self.hook("SessionStart", source="startup")
        alive = {"session": session_id, "cwd": str(project), "client": "2.1.325"}
        request.respond("alive", alive, paths.data_dir())
        self.status(None)

    def hook(self, name: str, **fields: Any) -> dict[str, Any]:
        """What the hooks answer to an event."""
        payload = json.dumps(event(name, self.session, **fields)).encode()
        answer = respond(name, payload, paths.data_dir())
        return json.loads(answer) if answer.startswith(b"{") else {}

    def status(self, tokens: int | None) -> None:
        """The status line is drawn."""
        payload = json.dumps(statusline_event(self.session, 200_000, tokens)).encode()
        statusline.respond(payload, paths.data_dir())

    def say(self, text: str) -> None:
        """The user writes something."""
        self.hook("UserPromptSubmit", prompt=text)
        self.session.prompt(text)

    def call(self, tool: str, response: dict[str, Any], **asked: Any) -> None:
        """A tool is called, its result goes through the hook and into the transcript."""
        call_id = self.begin(tool, **asked)
        told = {"tool_name": tool, "tool_input": asked, "tool_use_id": call_id}
        answer = self.hook("PostToolUse", **told, tool_response=response, duration_ms=210)
        swapped = answer.get("hookSpecificOutput", {}).get("updatedToolOutput", response)
        text = swapped["file"]["content"] if "file" in swapped else swapped.get("stdout", "done")
        self.session.tool_result(call_id, text, toolUseResult=swapped)
        self.tokens += round(len(text) / _CHARACTERS_PER_TOKEN)

    def begin(self, tool: str, **asked: Any) -> str:
        """A request that ends in a call."""
        self.session.now += 19
        call_id = self.session.tool_call(self.tokens, tool, output_tokens=100, **asked)
        self.tokens += 100
        return call_id

    def run(self, command: str, output: str) -> None:
        """A command of the shell."""
        result = {"stdout": output, "stderr": "", "interrupted": False, "isImage": False}
        self.call("Bash", result, command=command)

    def read(self, path: str, text: str) -> None:
        """A file of the project is read."""
        place = f"{self.session.cwd}/{path}"
        lines = {"numLines": text.count("\n"), "startLine": 1, "totalLines": text.count("\n")}
        result = {"type": "text", "file": {"filePath": place, "content": text, **lines}}
        self.call("Read", result, file_path=place)

    def fail(self, command: str, text: str) -> None:
        """A command that fails, or is refused."""
        call = self.begin("Bash", command=command)
        block = {"type": "tool_result", "tool_use_id": call, "content": text, "is_error": True}
        message = {"role": "user", "content": [block]}
        self.session.row("user", message=message, toolUseResult=f"Error: {text}")

    def end(self) -> None:
        """The client is left; the file is as old as its last row."""
        self.hook("Stop")
        self.hook("SessionEnd", reason="other")
        os.utime(self.session.path, (self.session.now, self.session.now))


def _compacted(play: Play) -> None:
    """It filled up, was compacted, and went on."""
    play.say("Which of the feeds are slow? Measure, do not guess.")
    while play.tokens < 159_000:
        play.read(f"src/feed_{play.tokens}.py", _SOURCE)
    play.session.reply(play.tokens)
    play.hook("PreCompact", trigger="auto", custom_instructions="")
    summary = "The user asked which feeds are slow. Feed 3 is, by far. " * 40
    play.session.compact(play.tokens, summary=summary)
    play.hook("SessionStart", source="compact")
    play.hook("PostCompact", trigger="auto", compact_summary=summary)
    play.tokens = 41_000
    play.say("Fix feed 3 then.")
    play.read("src/feed_3.py", _SOURCE)
    play.run("make bench", "ok")
    play.end()


def _filled(play: Play) -> None:
    """One that was left in the middle of the work."""
    play.say(
        "The nightly import drops rows; find out why and fix it. Never run TRUNCATE on the orders "
        "table."
    )
    play.run("make", _LOG)
    play.read("src/batch.py", _SOURCE)
    play.run("git log -3 --oneline", "fa11ed0 Import in batches")
    play.say("brim:keep The staging database is on port 5433.")
    asked = {"subject": "Write a regression test", "activeForm": "Writing a regression test"}
    play.call("TaskCreate", {"task": {"id": "1", "subject": asked["subject"]}}, **asked)
    batch = f"{play.session.cwd}/src/batch.py"
    edit = {"file_path": batch, "old_string": "row * 1", "new_string": "row"}
    play.call("Edit", {"filePath": batch, "type": "update"}, **edit)
    play.read("src/batch.py", _SOURCE.replace("row * 1]", "row]"))
    play.fail("pytest -q tests/importer", f"Exit code 1\n{_FAILED}")
    play.fail("git commit -am wip", _REFUSED)
    play.say("now the docs, please")
    for page in range(6):
        play.read(f"docs/feed_{page}.md", f"# Feed {page}\n\n" + _PROSE * 300)
    while play.tokens < 119_500:
        play.run("make docs", f"{_PROSE * 70}{play.tokens}")
    play.session.reply(121_000, text_block("The docs are up to date."), output_tokens=120)
    play.end()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
