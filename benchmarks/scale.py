"""What commands cost beside the least that reading the same sessions can cost, and how that grows.

    python benchmarks/scale.py TRANSCRIPT... [--megabytes 400 1600] [--sessions 50 200 1000]
        [--rounds 3] [--peer /path/to/ccusage]

The transcripts are copied into projects of a temporary home, each copy under ids of its own, until
there is as much as was asked for, and into single sessions. The floor of a command is a process
that looks for the lines of replies in the same files and parses these by `json`. Every command runs
in turn with its floor; figures are CPU time, the children's too, as ratios of medians. A peer is
ccusage, run on the same folder, offline, and compared by the time that passes.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

_ID = re.compile(rb"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_MADE_ID = re.compile(rb'"(msg|req|toolu)_\w+"')
_SESSION = re.compile(rb'"sessionId":"[^"]*"')
_BRIMLINE = [sys.executable, "-m", "brimline"]
_EMPTY = [sys.executable, "-I", "-S", "-c", "pass"]
_DASHBOARD = (
    "from brimline.dashboard.web import Dashboard as D; import sys; D(sys.argv[1]).refresh()"
)
_HOOK = "from brimline.hooks.entry import main; main('SessionStart')"
_MEGABYTE = 1_000_000


class Cost(NamedTuple):
    """What one process took."""

    cpu_s: float
    wall_s: float


def main() -> None:
    """Make the sessions, measure, print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("transcripts", nargs="+", type=Path)
    parser.add_argument("--megabytes", type=int, nargs="+", default=[400, 1_600])
    parser.add_argument("--sessions", type=int, nargs="+", default=[50, 200, 1_000])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--peer")
    asked = parser.parse_args()
    print("| what | CPU s | × floor | wall s |\n|---|---:|---:|---:|")
    with tempfile.TemporaryDirectory(prefix="brimline-bench-scale-") as folder:
        for megabytes in asked.megabytes:
            home = f"{folder}/{megabytes}"
            fill_projects(home, asked.transcripts, megabytes * _MEGABYTE)
            _measure_projects(home, megabytes, asked.rounds, asked.peer)
            shutil.rmtree(home)
        for megabytes in asked.sessions:
            home, name = f"{folder}/one", f"{megabytes:08}-0000-4000-8000-000000000000"
            path = make_session(home, asked.transcripts, megabytes * _MEGABYTE, name)
            _measure_session(home, path, megabytes, asked.rounds)
            shutil.rmtree(home)
        _measure_start(f"{folder}/start", asked.rounds * 3)


def fill_projects(home: str, sources: list[Path], size: int) -> None:
    """Copy sessions until there are so many bytes, each copy as a session of its own."""
    done = 0
    for number in itertools.count():
        parent = Path(home, ".claude", "projects", f"-work-{number}")
        parent.mkdir(parents=True)
        for source in sources:
            name = hashlib.sha256(f"{number} {source.name}".encode()).hexdigest()
            name = "-".join((name[:8], name[8:12], name[12:16], name[16:20], name[20:32]))
            done += (parent / f"{name}.jsonl").write_bytes(_renamed(source, number, name))
            if done >= size:
                return


def make_session(home: str, sources: list[Path], size: int, name: str) -> str:
    """Write one session of so many bytes, of the rows of all."""
    path = Path(home, ".claude", "projects", "-work", f"{name}.jsonl")
    path.parent.mkdir(parents=True)
    with path.open("wb") as file:
        for number, source in enumerate(itertools.cycle(sources)):
            file.write(_renamed(source, number, name).removesuffix(b"\n") + b"\n")
            if file.tell() >= size:
                break
    return str(path)


def _renamed(source: Path, number: int, session: str) -> bytes:
    """A session under other ids, which nothing else has."""
    tag = b"%04x" % number
    data = _ID.sub(lambda found: tag + found[0][4:], source.read_bytes())
    data = _MADE_ID.sub(lambda found: found[0][:-5] + tag + b'"', data)
    return _SESSION.sub(b'"sessionId":"%b"' % session.encode(), data)


def _measure_projects(home: str, megabytes: int, rounds: int, peer: str | None) -> None:
    changing = next(Path(home).rglob("*.jsonl"))
    own = f"{home}/brimline"
    cold = {"cost": [*_BRIMLINE, "cost", "--json"], "history": [*_BRIMLINE, "history", "--json"]}
    floors: list[Cost] = []
    found: dict[str, list[Cost]] = {}

    def note(name: str, command: list[str]) -> None:
        found.setdefault(name, []).append(run(command, home))

    for _ in range(rounds):
        floors.append(run(_floor_of(f"{home}/.claude/projects/*/*.jsonl"), home))
        if peer:
            note("ccusage session", [peer, "session", "--offline", "--json"])
        shutil.rmtree(own, ignore_errors=True)
        note("dashboard, first start", [sys.executable, "-c", _DASHBOARD, own])
        for name, command in cold.items():
            shutil.rmtree(own, ignore_errors=True)
            note(name, command)
            note(f"{name} again", command)
        with changing.open("ab") as file:
            file.write(b"\n")
        note("cost, one session changed", cold["cost"])
        note("memory search", [*_BRIMLINE, "memory", "search", "nothing", "--json"])
    _print_row(f"floor, {megabytes:,} MB", floors, floors)
    for name, costs in found.items():
        _print_row(f"`{name}`, {megabytes:,} MB", costs, floors)


def _measure_session(home: str, path: str, megabytes: int, rounds: int) -> None:
    named = ["--session", Path(path).stem, "--json"]
    commands = {
        "status": [*_BRIMLINE, "status", *named],
        "status again": [*_BRIMLINE, "status", *named],
        "status --composition": [*_BRIMLINE, "status", "--composition", *named],
        "session inspect": [*_BRIMLINE, "session", "inspect", *named],
    }
    floors: list[Cost] = []
    found: dict[str, list[Cost]] = {name: [] for name in commands}
    for _ in range(rounds):
        shutil.rmtree(f"{home}/brimline", ignore_errors=True)
        floors.append(run(_floor_of(path), home))
        for name, command in commands.items():
            found[name].append(run(command, home))
    _print_row(f"floor, a session of {megabytes:,} MB", floors, floors)
    for name, costs in found.items():
        _print_row(f"`{name}`, {megabytes:,} MB", costs, floors)


def _measure_start(home: str, rounds: int) -> None:
    """A session's start, against an empty interpreter, by the time until the client may go on."""
    os.makedirs(home)
    event = {"hook_event_name": "SessionStart", "session_id": "a", "source": "startup"}
    told = json.dumps(event | {"cwd": home, "transcript_path": f"{home}/a.jsonl"}).encode()
    path = f"import sys; sys.path[:0] = {[each for each in sys.path if each]!r}; {_HOOK}"
    empty, started = [], []
    for _ in range(rounds):
        empty.append(run(_EMPTY, home))
        started.append(run([sys.executable, "-I", "-S", "-c", path], home, told))
    base = statistics.median(each.wall_s for each in empty)
    ratio = statistics.median(each.wall_s for each in started) / base
    print(f"\nSessionStart: answered and over after {ratio:.1f} × an empty interpreter.")


def run(command: list[str], home: str, told: bytes = b"") -> Cost:
    """Run a command in a home of its own, without a network, and say what it took."""
    environment = {"PATH": os.defpath, "HOME": home, "CLAUDE_CONFIG_DIR": f"{home}/.claude"}
    environment |= {"BRIMLINE_HOME": f"{home}/brimline", "LOG_LEVEL": "0"}
    environment |= dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9")
    work = f"{home}/work"  # what a data folder lies in is no project
    os.makedirs(work, exist_ok=True)
    before, begun = os.times(), time.monotonic()
    done = subprocess.run(
        command, input=told, cwd=work, env=environment, capture_output=True, check=False
    )
    after, wall_s = os.times(), time.monotonic() - begun
    if done.returncode:
        sys.exit(f"{' '.join(command)[:200]}: {done.stderr.decode(errors='replace')}")
    spent = after.children_user - before.children_user
    return Cost(spent + after.children_system - before.children_system, wall_s)


def _floor_of(pattern: str) -> list[str]:
    program = (
        "import glob, json, sys\n"
        "for path in glob.glob(sys.argv[1]):\n"
        "    for line in open(path, 'rb'):\n"
        "        if b'\"usage\"' in line or b'ompact' in line:\n"
        "            try: json.loads(line)\n"
        "            except ValueError: pass\n"
    )
    return [sys.executable, "-c", program, pattern]


def _print_row(name: str, costs: list[Cost], floors: list[Cost]) -> None:
    cpu_s, floor_s = (statistics.median(one.cpu_s for one in each) for each in (costs, floors))
    wall_s = statistics.median(one.wall_s for one in costs)
    print(f"| {name} | {cpu_s:.2f} | {cpu_s / floor_s:.2f} | {wall_s:.2f} |", flush=True)


if __name__ == "__main__":
    main()
