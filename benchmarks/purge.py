"""What a purge costs beside two other tools: `python benchmarks/purge.py [--sizes 10 100 1000]`.

Every tool gets a copy of the same generated session and a home of its own, in turn, round after
round. CPU time and memory are the kernel's account of the whole process. The other tools are
installed from PyPI into an environment in the benchmark's folder; where that fails, they are left
out and the table says so. They do not do the same: claude-code-tools shortens results in a new
session and keeps nothing of what it cut, cozempic takes usage and thinking out too and keeps a
backup, brimline stores what it takes out and proves that it can be put back. The folder is in
memory where there is room, because creating files costs CPU time too, on some disks forty times as
much; `--folder` puts it elsewhere.
"""

from __future__ import annotations

import argparse
import json
import os
import pty
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

MEGABYTE = 1_000_000
SESSION = "11111111-2222-4333-8444-555555555555"
CPU_TARGET_S, RSS_TARGET_BYTES = 3.0, 60 * MEGABYTE
OURS, THEIRS = "brimline", ("claude-code-tools", "cozempic")
_OLD = 1_700_000_000
_BAR_FROM_MEGABYTES = 500
_INSTALL_TIMEOUT_S = 600
_RUN_TIMEOUT_S = 1_800
_PROGRAM = "import sys; sys.path.insert(0, {root!r}); from brimline.cli.main import main; main()"


class Sample(NamedTuple):
    """What one run cost and left."""

    cpu_s: float
    rss_bytes: int
    wall_s: float
    size_bytes: int
    messages: int
    usage_rows: int
    drew_bar: bool


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--sizes", type=int, nargs="+", default=[10, 100], metavar="MB")
    options.add_argument("--samples", type=int, default=3)
    options.add_argument("--folder", help="where to work; by default in memory if there is room")
    options.add_argument("--alone", action="store_true", help="leave the other tools out")
    given = options.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder or _roomy(max(given.sizes))) as folder:
        notes: list[str] = []
        tools = {OURS: [sys.executable, "-c", _PROGRAM.format(root=str(ROOT / "src"))]}
        if not given.alone:
            tools |= _installed(folder, notes)
        print(f"Python {sys.version.split()[0]}, {os.cpu_count()} cores, in {_kind(folder)}.\n")
        print(_HEAD)
        results: dict[tuple[str, int], list[Sample]] = {}
        for size in given.sizes:
            _measure(folder, tools, size, given.samples, results)
        for note in notes:
            print(f"\n{note}")
        print(_verdict(results, given.sizes, _longest_bytes(folder)))


_HEAD = (
    "| session | tool | CPU s | CPU s per 100 MB | peak MB | wall s | left on disk "
    "| messages kept | usage rows kept |\n|---:|---|---:|---:|---:|---:|---:|---:|---:|"
)


def _measure(
    folder: str,
    tools: dict[str, list[str]],
    megabytes: int,
    samples: int,
    results: dict[tuple[str, int], list[Sample]],
) -> None:
    source = f"{folder}/{megabytes}.jsonl"
    _generate(source, megabytes)
    whole = _count(source)
    # The others hold the whole session in memory several times over.
    chosen = tools if megabytes < _BAR_FROM_MEGABYTES else {OURS: tools[OURS]}
    rounds = samples if megabytes < _BAR_FROM_MEGABYTES else 1
    for _ in range(rounds):
        for name, command in chosen.items():
            sample = _run(folder, name, command, source, megabytes)
            results.setdefault((name, megabytes), []).append(sample)
    for name in chosen:
        print(_row(name, megabytes, results[name, megabytes], whole), flush=True)
    os.unlink(source)


def _run(folder: str, name: str, command: list[str], source: str, megabytes: int) -> Sample:
    """Purge a fresh copy in a fresh home."""
    home = tempfile.mkdtemp(dir=folder)
    project = f"{home}/project"
    place = f"{home}/.claude/projects/-project"
    path = f"{place}/{SESSION}.jsonl"
    os.makedirs(place)
    os.makedirs(f"{home}/out")
    os.makedirs(project)
    shutil.copyfile(source, path)
    os.utime(path, (_OLD, _OLD))
    arguments = {
        OURS: ["session", "purge", path, "--yes", "--json"],
        "claude-code-tools": ["trim", path, *_TRIM, "-o", f"{home}/out"],
        "cozempic": ["treat", path, "--execute"],
    }[name]
    with_bar = megabytes >= _BAR_FROM_MEGABYTES
    cpu_s, rss_bytes, wall_s, drew_bar = _watch([*command, *arguments], home, project, with_bar)
    left = [*Path(f"{home}/out").glob("*.jsonl"), Path(path)][0]
    messages, usage_rows = _count(str(left))
    size = left.stat().st_size
    shutil.rmtree(home)
    return Sample(cpu_s, rss_bytes, wall_s, size, messages, usage_rows, drew_bar)


_TRIM = ("--simple-ui", "--agent", "claude", "-l", "5000")


def _watch(
    command: list[str], home: str, project: str, with_bar: bool
) -> tuple[float, int, float, bool]:
    """Run a process to its end; its standard error is a terminal where a bar is wanted."""
    environment = {
        "PATH": "/usr/bin:/bin",
        "HOME": home,
        "CLAUDE_CONFIG_DIR": f"{home}/.claude",
        "BRIMLINE_HOME": f"{home}/.claude/brimline",
        "LANG": "C.UTF-8",
        "TERM": "xterm",
        "HTTPS_PROXY": "http://127.0.0.1:9",
        "HTTP_PROXY": "http://127.0.0.1:9",
        "COZEMPIC_NO_TELEMETRY": "1",
        "COZEMPIC_NO_GLOBAL_INIT": "1",
        "COZEMPIC_NO_AUTO_INIT": "1",
    }
    drawn: list[bytes] = []
    ours, theirs = pty.openpty() if with_bar else (-1, subprocess.DEVNULL)
    begun = time.monotonic()
    process = subprocess.Popen(
        command,
        cwd=project,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=theirs,
    )
    if with_bar:
        os.close(theirs)
        threading.Thread(target=_read, args=(ours, drawn), daemon=True).start()
    timer = threading.Timer(_RUN_TIMEOUT_S, process.kill)
    timer.start()
    _, status, usage = os.wait4(process.pid, 0)
    timer.cancel()
    process.returncode = os.waitstatus_to_exitcode(status)
    wall_s = time.monotonic() - begun
    if process.returncode:
        raise SystemExit(f"{command[-4:]} ended with {process.returncode}")
    scale = 1 if sys.platform == "darwin" else 1_024
    text = b"".join(drawn)
    bar = b"Reading" in text and b"Copying" in text
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * scale, wall_s, bar


def _read(descriptor: int, drawn: list[bytes]) -> None:
    try:
        while data := os.read(descriptor, 65_536):
            drawn.append(data)
    except OSError:  # the other end is gone
        pass


def _generate(path: str, megabytes: int) -> None:
    """In a process of its own: a large parent would count as memory of its children."""
    code = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r})\n"
        "from benchmarks.purge_session import write\n"
        f"write({path!r}, {megabytes * MEGABYTE})"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def _count(path: str) -> tuple[int, int]:
    """How many messages there are, and how many of them say what their request cost."""
    messages = usage_rows = 0
    with open(path, "rb") as file:
        for line in file:
            if b'"type":"assistant"' in line[:4_000] or re.search(
                rb'"type": ?"(user|assistant)"', line
            ):
                messages += 1
                usage_rows += b'"input_tokens"' in line
    return messages, usage_rows


def _row(name: str, megabytes: int, samples: list[Sample], whole: tuple[int, int]) -> str:
    cpu_s = statistics.median(sample.cpu_s for sample in samples)
    last = samples[-1]
    return (
        f"| {megabytes} MB | {name} | {cpu_s:.2f} | {cpu_s * 100 / megabytes:.2f} "
        f"| {max(sample.rss_bytes for sample in samples) / MEGABYTE:.0f} "
        f"| {statistics.median(sample.wall_s for sample in samples):.1f} "
        f"| {last.size_bytes / MEGABYTE:.1f} MB | {last.messages / whole[0]:.0%} "
        f"| {last.usage_rows / whole[1]:.0%} |"
    )


def _verdict(
    results: dict[tuple[str, int], list[Sample]], sizes: list[int], longest_bytes: int
) -> str:
    ours = {size: results[OURS, size] for size in sizes}
    per_100 = {
        size: statistics.median(sample.cpu_s for sample in samples) * 100 / size
        for size, samples in ours.items()
    }
    allowed = RSS_TARGET_BYTES + 3 * longest_bytes
    lines = ["", "| target | found | |", "|---|---|---|"]
    for size, samples in ours.items():
        peak = max(sample.rss_bytes for sample in samples)
        if size == 100:
            met = "met" if per_100[size] <= CPU_TARGET_S else "missed"
            lines.append(
                f"| 100 MB in at most {CPU_TARGET_S:.0f} s of CPU | {per_100[size]:.2f} s | {met} |"
            )
            met = "met" if peak <= allowed else "missed"
            lines.append(
                f"| peak at most 60 MB + 3 × longest parsed line ({allowed / MEGABYTE:.0f} MB) "
                f"| {peak / MEGABYTE:.0f} MB | {met} |"
            )
        if size >= _BAR_FROM_MEGABYTES:
            drew = all(sample.drew_bar for sample in samples)
            lines.append(
                f"| {size} MB completes with a progress bar | {samples[0].wall_s:.0f} s, peak "
                f"{peak / MEGABYTE:.0f} MB | {'met' if drew else 'missed'} |"
            )
    if len(per_100) > 1:
        found = ", ".join(f"{size} MB: {cpu:.2f} s per 100 MB" for size, cpu in per_100.items())
        lines.append(f"| linear in size | {found} | |")
    return "\n".join(lines)


def _longest_bytes(folder: str) -> int:
    """The longest line of the generated sessions."""
    path = f"{folder}/longest.jsonl"
    _generate(path, 100)
    with open(path, "rb") as file:
        found = max(len(line) for line in file)
    os.unlink(path)
    return found


def _installed(folder: str, notes: list[str]) -> dict[str, list[str]]:
    """The commands of the other tools, those that could be installed."""
    programs = {"claude-code-tools": "aichat", "cozempic": "cozempic"}
    found = {}
    for name in THEIRS:
        place = f"{folder}/{name}"
        try:
            subprocess.run([sys.executable, "-m", "venv", place], check=True, capture_output=True)
            subprocess.run(
                [f"{place}/bin/pip", "install", "--quiet", name],
                check=True,
                capture_output=True,
                timeout=_INSTALL_TIMEOUT_S,
            )
        except (OSError, subprocess.SubprocessError) as error:
            notes.append(f"{name} is not in the table: it could not be installed ({error}).")
            continue
        listed = subprocess.run(
            [f"{place}/bin/pip", "list", "--format", "json"], check=True, capture_output=True
        )
        version = {one["name"]: one["version"] for one in json.loads(listed.stdout)}.get(name, "?")
        notes.append(f"{name} is version {version} from PyPI.")
        found[name] = [f"{place}/bin/{programs[name]}"]
    return found


def _roomy(megabytes: int) -> str | None:
    """A folder in memory with room for everything, or None for the usual one."""
    memory = "/dev/shm"  # noqa: S108 - a folder of our own is made in it
    needed = (4 * megabytes + 1_500) * MEGABYTE
    return memory if os.path.isdir(memory) and shutil.disk_usage(memory).free > needed else None


def _kind(folder: str) -> str:
    return "memory" if folder.startswith("/dev/shm") else "a temporary folder on the disk"  # noqa: S108


if __name__ == "__main__":
    main()
