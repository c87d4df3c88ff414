"""Every file of the data folder, damaged in every way, under every command.

`make test` takes a sample of the product, chosen by a fixed rule, `make test-long` all of it. A new
file is among them by itself, since the folder is walked, and so is a new command.

Whatever happened to a file, a command ends with an answer or with one sentence and a code that is
not 0, hooks keep still, `doctor` names the file, and `forget` forgets all that is in the others.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from tests import console_world
from tests.install.test_delete_data import documented as documented_names
from tests.mcp import conversation

from brimline.cli import surface
from brimline.hooks import table
from brimline.install import checks_files
from brimline.mcp import tools
from brimline.testing import SessionBuilder, bash_event, event, statusline_event

from . import whole_world

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import click

ROOT = Path(__file__).parents[2]
ONE = whole_world.SESSION[:8]
# What is given to commands; one that is not named here gets a word for each argument that it needs.
LINES = {
    "install": ["--yes"],
    "uninstall": ["--yes", "--delete-data --yes"],
    "demo": [],  # it plays in a folder of its own
    "status": ["", f"--session {ONE} --composition", "--json"],
    "history": ["", "--compactions", f"--session {ONE}"],
    "cost": ["", "--by project --since 7d"],
    "session inspect": [ONE],
    "session purge": [f"{ONE} --yes", "7c1e90aa --dry-run"],
    "session repair": [f"{ONE} --yes"],
    "session restore": ["7c1e90aa --yes"],
    "session backups": ["", "--prune 0 --yes"],
    "store list": ["", "--pinned"],
    "store get": ["last", "cfa530682013"],
    "store search": ["compiling", "--everywhere compiling"],
    "store pin": ["last --level soft"],
    "store unpin": ["last"],
    "store prune": ["--unreferenced --yes", "--max-age-days 0 --dry-run"],
    "store forget": ["last --yes"],
    "carry show": [f"--session {ONE}"],
    "carry add": [f"--session {ONE} words"],
    "carry done": [f"--session {ONE} 1"],
    "carry reopen": [f"--session {ONE} 1"],
    "carry forget": [f"--session {ONE} 1 --yes"],
    "carry card": [f"--session {ONE}"],
    "carry checkpoint": [f"--session {ONE}"],
    "memory search": ["feeds", "--everywhere feeds"],
    "memory show": ["m1"],
    "memory add": ["new --type project --description one words"],
    "memory index": ["", "--rebuild"],
    "forget": [
        f"--session {ONE} --yes",
        "--session 7c1e90aa --yes",
        "--before 2036-01-31 --yes",
        "--project . --yes",
        f"--session {ONE} --dry-run",
    ],
    "budget": [f"--session {ONE}", f"list --session {ONE}", f"alerts --session {ONE}"],
    "rules explain": ["src/batch.py"],
    "config get": ["guard.tiers"],
    "config set": ["guard.tiers 40,20,10,5"],
    "config unset": ["store.max_mb"],
    "config explain": ["guard.tiers"],
    "config autocompact": ["200000"],
    "scout init": ["--force"],
    "gateway": ["--port 0"],
    "run": ["-- -p hello"],
    "dashboard": ["--no-open"],
    "report": [f"{ONE} -o out.html --full"],
    "hook": list(table.EVENTS),
    "mod": ["alive", "pause", "command", "pane", "compact", "failed"],
}
PAGES = (
    *("/", "/?q=import&sort=cost", "/overall", "/stored", "/day"),
    *("/memory?q=feeds", "/memory/m1", "/rules", "/health"),
    *(f"/session/{whole_world.SESSION}", f"/session/{whole_world.SESSION}/request/3"),
    "/stored/cfa530682013",
)
# How a file is damaged, and where in it.
DAMAGES = (
    *(("flip", 5), ("flip", 0.35), ("high", 22), ("high", 0.5), ("cut", 0), ("empty", 0)),
    *(("garbage", 0), ("link", 0), ("dangling", 0), ("pipe", 0), ("folder", 0)),
    *([("closed", 0)] if os.geteuid() else []),
)
_LOG = "".join(f"{n} compiling a module\n" for n in range(900))
_FAILS = {"error": "Exit code 1\nit failed"}
EVENTS: dict[str, list[dict[str, Any]]] = {
    "SessionStart": [{"source": source} for source in ("startup", "resume", "compact", "clear")],
    "UserPromptSubmit": [
        {"prompt": prompt}
        for prompt in (
            *("go on", "brim:keep this", "/brim:status", "/brim:history", "/brim:card"),
            *("/brim:recall compiling", "/brim:pin last", "/brim:purge", "/brim:checkpoint"),
        )
    ],
    "PreToolUse": [
        {"tool_name": "Skill", "tool_input": {"skill": "docs"}},
        {"tool_name": "Write", "tool_input": {"file_path": "/a", "content": "x"}},
    ],
    "PostToolUse": [{}, {"tool_response": {"stdout": _LOG, "stderr": ""}}],
    "PostToolUseFailure": [_FAILS],
    "Stop": [{}],
    "PreCompact": [{"trigger": "auto", "custom_instructions": ""}],
    "PostCompact": [{"trigger": "auto", "compact_summary": "The summary."}],
    "SessionEnd": [{"reason": "other"}],
}
_TALK = [
    {"role": "assistant", "text": "", "handle": "h0", "toolResults": [],
     "toolUses": [{"tool_use_id": "t1", "tool": "Bash", "input": {"command": "make"}}]},
    {"role": "user", "text": "", "handle": "h1", "toolUses": [],
     "toolResults": [{"tool_use_id": "t1", "text": _LOG, "isError": False, "result": None}]},
]  # fmt: skip
MOD_REQUESTS: dict[str, dict[str, Any]] = {
    "alive": {"client": "2.1.325"},
    "pause": {},
    "command": {"name": "status", "arguments": ""},
    "pane": {},
    "failed": {"message": "its own"},
    "compact": {
        "trigger": "auto",
        "instructions": None,
        "model": "claude-opus-5-5",
        "window_tokens": 200_000,
        "brim_tokens": 167_000,
        "used_tokens": 150_000,
        "messages": [
            *_TALK,
            *[m for n in range(20) for m in json.loads(json.dumps(_TALK).replace("t1", f"s{n}"))],
        ],
    },
}
TOOLS: dict[str, list[dict[str, Any]]] = {
    "recall": [{"query": "feeds"}, {"key": "m1"}, {"key": "cfa530682013", "query": "compiling"}],
    "recall_elsewhere": [{"query": "feeds"}],
    "remember": [{"name": "a", "type": "project", "description": "b", "text": "c"}],
    "note": [{"text": "a", "reason": "b"}],
    "context_budget": [{"operation": name} for name in ("get", "alerts", "log", "list")],
}
# Of which contents `doctor` cannot know, or need not: marks whose names say all, what is made anew
# with the next look, and what is as good as another.
_EMPTY = r"history\.jsonl|config\.toml|store/last_key|.*\.sqlite3"
UNSEEN = {
    how: re.compile(
        r"gateway/run-.*|sessions/[^/]*/(?!spool|.*json)[^/]*|.*\.lock|store/tidied|carry/clients/.*"
        rf"|memory/confirmed|carry/.*/checkpoint\.md|{more}"
    )
    for how, more in {
        **dict.fromkeys(("link", "dangling", "pipe", "folder", "closed")),
        "high": r"store/(clients|blobs/.*)|.*\.sqlite3",
        "cut": "store/format",
        "empty": _EMPTY,
        "garbage": r"\Z",
        "flip": ".*",
    }.items()
    if more
}
_HOOKS = ("hook", "mod", "statusline")


class Line(NamedTuple):
    """A command line, what it reads, and what it prints before it is interrupted."""

    words: tuple[str, ...]
    stdin: str = ""
    until: str = ""


class World:
    """The world, and the process that runs commands in it."""

    def __init__(self, folder: Path) -> None:
        """Make it in a folder with a short path."""
        self.place, self.pristine = folder / "w", folder / "pristine"
        self.place.mkdir()
        self.home = self.place / console_world.HOME
        self.project = str(self.place / console_world.PROJECT)
        here = Path(__file__).parent
        environment = console_world.environment(self.place) | {"PYTHONPATH": str(ROOT)}
        settings: dict[str, Any] = {"env": environment, "text": True}
        program = [sys.executable, str(here / "whole_world.py"), str(self.place)]
        subprocess.run(program, check=True, timeout=300, **settings)
        shutil.copytree(self.place, self.pristine, symlinks=True)
        program = [sys.executable, str(here / "zygote.py"), str(self.pristine), str(self.place)]
        settings |= {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "cwd": self.project}
        self.process = subprocess.Popen(program, **settings)
        self.data = (self.home / ".claude/brimline").relative_to(self.place)
        self.files = self._one_file_of_each_kind()

    def _one_file_of_each_kind(self) -> list[str]:
        """Every file of the data folder, of those that differ in an id or a number one."""
        found = sorted(
            (self.pristine / self.data).rglob("*"), key=lambda path: ONE not in str(path)
        )
        kinds: dict[str, str] = {}
        for path in found:
            if path.is_file():
                name = str(path.relative_to(self.pristine / self.data))
                kinds.setdefault(_shape(name), name)
        return sorted(kinds.values())

    def run(
        self, line: Line, files: Sequence[str] = (), damage: tuple[str, float] = ("", 0)
    ) -> dict[str, Any]:
        """What a command does in the world with some files damaged."""
        job: dict[str, Any] = {"files": [f"{self.data}/{file}" for file in files]}
        job |= {"damage": damage[0], "at": damage[1]} | line._asdict()
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(job) + "\n")
        self.process.stdin.flush()
        found: dict[str, Any] = json.loads(self.process.stdout.readline())
        return found

    def files_that_mention(self, name: str) -> set[str]:
        """The files of the data folder, as the last command left it, in which a name stands."""
        folder = self.place / self.data
        return {
            str(path.relative_to(folder))
            for path in folder.rglob("*")
            if name in str(path) or (path.is_file() and name.encode() in path.read_bytes())
        }

    def lines(self) -> list[Line]:
        """Every command that there is, with what it is given."""
        found = [Line(("pages", *PAGES))]
        for name, command in commands_below(surface.program):
            needed = [p for p in command.params if p.required and p.param_type_name == "argument"]
            for words in LINES.get(name, [" ".join("last" for _ in needed)]):
                line = Line((*name.split(), *shlex.split(words)))
                if name in _HOOKS:
                    found += [line._replace(stdin=one) for one in self._payloads(name, words)]
                else:
                    until = {"gateway": "http://", "dashboard": "http://"}.get(name, "")
                    stdin = self._conversation() if name == "mcp" else ""
                    found.append(line._replace(stdin=stdin, until=until))
        return found

    def _payloads(self, door: str, name: str) -> Iterator[str]:
        """What the client gives to a hook or the status line, or the mod to its process."""
        session = SessionBuilder(self._transcript(), whole_world.SESSION, self.project)
        if door == "statusline":
            yield json.dumps(statusline_event(session, 200_000, 150_000))
            return
        if door == "mod":
            asked = {"session": session.session_id, "cwd": self.project, "columns": 100, "rows": 40}
            yield json.dumps(MOD_REQUESTS[name] | asked)
            return
        for fields in EVENTS[name]:
            made = bash_event(session) if name.startswith("PostTool") else event(name, session)
            yield json.dumps(made | fields)

    def _transcript(self) -> str:
        (found,) = self.pristine.rglob(f"{whole_world.SESSION}.jsonl")
        return str(self.place / found.relative_to(self.pristine))

    def _conversation(self) -> str:
        """A client's words to the MCP server: every tool is called."""
        calls = [
            {"name": tool["name"], "arguments": arguments}
            for tool in tools.TOOLS
            for arguments in TOOLS.get(tool["name"], [{}])
        ]
        asked = [("initialize", conversation.HELLO), ("tools/list", {})]
        asked += [("tools/call", call) for call in calls]
        rows = [{"id": at, "method": name, "params": more} for at, (name, more) in enumerate(asked)]
        rows.insert(1, {"method": "notifications/initialized"})
        rows = [{"jsonrpc": "2.0"} | row for row in rows]
        return "".join(f"{json.dumps(row)}\n" for row in rows)


@pytest.fixture(scope="module")
def world_of_files() -> Iterator[World]:
    """The world with every file."""
    with tempfile.TemporaryDirectory(prefix="b", dir="/tmp") as folder:
        made = World(Path(folder).resolve())
        with made.process:
            yield made


def problem(found: dict[str, Any]) -> str:
    """What is wrong with how a command ended; empty where nothing is."""
    if found["escaped"]:
        return str(found["escaped"]).strip()
    if "Traceback" in found["out"] + found["err"]:
        return "it printed a traceback"
    if found["words"][0] in _HOOKS:
        return "a hook is not silent" if found["code"] or found["err"] else ""
    if found["code"] < 0:
        return f"signal {-found['code']}"
    if found["code"] and not found["out"]:
        told = [line for line in found["err"].splitlines() if not line.startswith("note:")]
        told = told[:1] if found["words"][0] == "run" else told  # the client has its own words
        if len(told) != 1 or not told[0].startswith("brimline: "):
            return f"{found['code']} without one sentence: {found['err']!r}"
    return ""


def commands_below(tree: surface.Tree) -> Iterator[tuple[str, click.Command]]:
    """Every command there is with its full name, hidden ones included."""
    for name in tree.entries:
        command = tree.get_command(None, name)  # type: ignore[arg-type]
        assert command is not None
        if isinstance(command, surface.Tree):
            yield from ((f"{name} {rest}", inner) for rest, inner in commands_below(command))
        else:
            yield name, command


def test_every_file_is_among_them(world_of_files: World) -> None:
    """All that the page on the data folder names, but what lies there for a moment only."""
    folder = world_of_files.pristine / world_of_files.data
    moment = r".*(-wal|-shm|-journal|\.tmp|\.old)|(dashboard|spending).*|.*/off|backups/.*"
    passing = re.compile(moment)
    shapes = {_shape(name) for name in world_of_files.files}
    documented = {re.sub(r"(?<=/)s1\b", whole_world.SESSION, name) for name in documented_names()}
    missing = [
        name
        for name in documented
        if not passing.fullmatch(name) and _shape(name) not in shapes
        if not (folder / name).exists()
    ]

    assert missing == []


def _shape(name: str) -> str:
    return re.sub(r"\b[0-9a-f][0-9a-f-]{7,}\b|(?<=/)[0-9a-f]{2}(?=/)|\d+", "#", name)


def _sample(world: World, every: int) -> Iterator[tuple[str, tuple[str, float], int]]:
    """Every so manieth of all files with all damages, each with its number."""
    for number, (file, damage) in enumerate(itertools.product(world.files, DAMAGES)):
        if number % every == 0:
            yield file, damage, number


def check_commands(world: World, jobs: Iterable[tuple[str, tuple[str, float], Line]]) -> None:
    """Run them all, then tell of each that went wrong."""
    wrong = []
    for file, damage, line in jobs:
        if told := problem(world.run(line, [file], damage)):
            wrong.append(f"{file} {damage}: {shlex.join(line.words)[:80]}\n{told}")
    assert not wrong, "\n\n".join([f"{len(wrong)} in all", *wrong[:10]])


def test_commands_end_with_an_answer_or_a_sentence(world_of_files: World) -> None:
    """Commands in turn, so that each meets many files and each file many commands."""
    lines = world_of_files.lines()
    check_commands(
        world_of_files,
        (
            (file, damage, lines[number * 37 % len(lines)])
            for file, damage, number in _sample(world_of_files, every=3)
        ),
    )


@pytest.mark.parametrize(
    ("file", "damage", "words"),
    [
        (r"history\.jsonl", ("high", 22), "history --compactions"),
        (r"history\.jsonl", ("high", 22), f"forget --session {whole_world.SESSION} --yes"),
        (r"memory/.*\.lock", ("pipe", 0), "memory add new --type user --description one words"),
        (r"install/.*\.json", ("pipe", 0), "doctor"),
        (r"gateway/run-.*", ("pipe", 0), "run -- -p hello"),
        (r"mod/.claude-plugin/.*", ("garbage", 0), "install --yes"),
    ],
)
def test_what_once_failed_or_hung_does_not(
    world_of_files: World, file: str, damage: tuple[str, float], words: str
) -> None:
    """Also where the sample takes others."""
    (damaged,) = [name for name in world_of_files.files if re.fullmatch(file, name)]
    check_commands(world_of_files, [(damaged, damage, Line(tuple(words.split())))])


@pytest.mark.long
@pytest.mark.parametrize("damage", DAMAGES, ids=str)
def test_every_command_ends_whatever_file_is_damaged(
    world_of_files: World, damage: tuple[str, float]
) -> None:
    """All of the product."""
    lines = world_of_files.lines()
    jobs = itertools.product(world_of_files.files, [damage], lines)
    check_commands(world_of_files, jobs)


def test_doctor_names_what_is_damaged(world_of_files: World) -> None:
    """Some files at a time, the launcher alone: without it there seems to be no installation."""
    launcher, *others = sorted(world_of_files.files, key=lambda name: name != "bin/hook")
    parts = -(-len(others) // checks_files.MOST_NAMED)
    groups = [[launcher], *[others[at::parts] for at in range(parts)]]
    missed = []
    for damage, group in itertools.product(DAMAGES, groups):
        unseen = UNSEEN.get(damage[0])
        named = [file for file in group if not (unseen and unseen.fullmatch(file))]
        told = world_of_files.run(Line(("doctor",)), named, damage)
        shown = " ".join(told["out"].split())
        missing = [file for file in named if f"/{file}" not in shown]
        missed += [f"{damage}: {one}" for one in (problem(told), *missing) if one]

    assert not missed, "\n".join(missed)


@pytest.mark.parametrize("every", [11, pytest.param(1, marks=pytest.mark.long)])
def test_forgetting_goes_on_in_all_other_files(world_of_files: World, every: int) -> None:
    """It says what failed; nowhere else is the session's name left."""
    left = []
    line = Line(("forget", "--session", ONE, "--yes"))
    for file, damage, _ in _sample(world_of_files, every):
        told = world_of_files.run(line, [file], damage)
        mentions = world_of_files.files_that_mention(whole_world.SESSION)
        here = {file, f"{file}/file"} if told["code"] else set()
        if wrong := problem(told) or sorted(mentions - here - {"memory/forgotten.jsonl"}):
            left.append((file, damage, wrong, told["err"]))

    assert left == []
