"""Times the dashboard over many generated sessions, as ratios to `status` and `session inspect`.

    python benchmarks/dashboard.py [--sessions 5000] [--megabytes 2000]

Sessions are made of one recorded shape (prompts, tool calls, results, a compaction), in a temporary
home. Every figure is the median of five runs in this order: ours, theirs, ours, theirs.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
import uuid
from http.cookiejar import CookieJar
from typing import Any

from brimline.bulk import put
from brimline.testing import SessionBuilder

_RUNS = 5
_PAGE_RUNS = 15
_ROOM_PAGES = ("/stored", "/day", "/memory", "/rules", "/health")
_OUTPUTS = 300
_PROGRAM = [sys.executable, "-m", "brimline"]
_LINE = "    assert carry(rows, batch) == expected  # of the nightly import\n"


def main() -> None:
    """Make the sessions, measure, print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=int, default=5_000)
    parser.add_argument("--megabytes", type=int, default=2_000)
    asked = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="brimline-bench-dashboard-")
    os.environ |= {"HOME": folder, "CLAUDE_CONFIG_DIR": f"{folder}/.claude"}
    os.environ["BRIMLINE_HOME"] = f"{folder}/brimline"
    try:
        large = generate(folder, asked.sessions, asked.megabytes * 1_000_000)
        report(folder, large, asked.sessions)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def generate(folder: str, count: int, total_bytes: int) -> str:
    """Write all sessions; returns the id of one of 4 MB."""
    shape = f"{folder}/shape.jsonl"
    write(shape, total_bytes // count)
    with open(shape, encoding="utf-8") as file:
        text = file.read()
    for number in range(count):
        name = str(uuid.UUID(int=number + 1))
        place = f"{folder}/.claude/projects/-p{number % 50}"
        os.makedirs(place, exist_ok=True)
        with open(f"{place}/{name}.jsonl", "w", encoding="utf-8") as file:
            file.write(text.replace("SESSION", name).replace("/project", f"/project{number % 50}"))
    large = str(uuid.UUID(int=10**9))
    write(f"{folder}/.claude/projects/-p0/{large}.jsonl", 4_000_000)
    furnish(folder)
    return large


def furnish(folder: str) -> None:
    """Install brimline there; a project with instructions, topics and stored outputs."""
    project = f"{folder}/work"
    os.makedirs(f"{project}/src")
    with open(f"{project}/CLAUDE.md", "w", encoding="utf-8") as file:
        file.write("- Never push to main.\n" * 40)
    os.chdir(project)
    subprocess.run([*_PROGRAM, "install", "--yes"], check=True, stdout=subprocess.DEVNULL)
    words = ["memory", "add", "deploys", "--type", "project", "--description", "How", "By tag."]
    subprocess.run([*_PROGRAM, *words], check=True, stdout=subprocess.DEVNULL)
    for number in range(_OUTPUTS):
        text = f"output {number}\n" + _LINE * 200
        put.put(os.environ["BRIMLINE_HOME"], text.encode(), {"tool": "Bash", "source": "make"})


def write(path: str, size_bytes: int) -> None:
    """One session of about a size: results of 6 kB, a request each, compacted when it is full."""
    session = SessionBuilder(path, session_id="SESSION", cwd="/home/dev/project")
    session.prompt("go on")
    tokens = 24_000
    while not os.path.exists(path) or os.path.getsize(path) < size_bytes:
        call = session.tool_call(tokens, "Read", file_path=f"/src/part_{tokens % 97}.py")
        session.tool_result(call, _LINE * 50)
        tokens += 1_900
        if tokens > 160_000:
            session.compact(tokens, summary="Summary. " * 800)
            tokens = 40_000


def report(folder: str, large: str, count: int) -> None:
    """Measure and print."""
    size = sum(
        os.path.getsize(f"{place}/{name}")
        for place, _, names in os.walk(f"{folder}/.claude")
        for name in names
    )
    begun = time.monotonic()
    first = start()
    while "data-busy" in (page := first.page("/")) or "/session/" not in page:
        time.sleep(1)
    indexed = time.monotonic() - begun
    pages: dict[str, list[float]] = {name: [] for name in ("start", "status", "page", "inspect")}
    for _ in range(_RUNS):
        begun = time.monotonic()
        later = start()
        later.page("/")
        pages["start"].append(time.monotonic() - begun)
        later.stop()
        pages["status"].append(timed("status", "--session", large))
        # Another dashboard each time: the first has the page in its memory.
        later = start()
        begun = time.monotonic()
        later.page(f"/session/{large}")
        pages["page"].append(time.monotonic() - begun)
        later.stop()
        pages["inspect"].append(timed("session", "inspect", "--session", large))
    middle = {name: statistics.median(times) for name, times in pages.items()}
    for path in (f"/session/{large}", "/overall"):
        first.page(path)
    answers = rooms(first)
    first.stop()
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1_000
    print(f"{count:,} sessions, {size / 1e6:,.0f} MB")
    print(f"first index                      {indexed:8.1f} s")
    print(f"later start to the first page    {middle['start'] / middle['status']:8.2f} x status")
    print(f"page of a 4 MB session           {middle['page'] / middle['inspect']:8.2f} x inspect")
    for path in _ROOM_PAGES:
        print(f"page {path:<28}{answers[path] / answers['/']:8.2f} x /")
    print(f"largest process                  {peak:8.0f} MB")
    print(json.dumps(middle))


def rooms(running: Running) -> dict[str, float]:
    """How long each page takes that shows the document of a room; one after the other, 15 times."""
    times: dict[str, list[float]] = {path: [] for path in ("/", *_ROOM_PAGES)}
    for _ in range(_PAGE_RUNS):
        for path, measured in times.items():
            begun = time.monotonic()
            running.page(path)
            measured.append(time.monotonic() - begun)
    return {path: statistics.median(measured) for path, measured in times.items()}


def timed(*words: str) -> float:
    """How long a command takes."""
    begun = time.monotonic()
    subprocess.run([*_PROGRAM, *words], check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - begun


class Running:
    """A dashboard that was started, and who may look at it."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        told = b""
        while not told.endswith(b"}\n"):
            line = process.stdout.readline() if process.stdout else b""
            if not line:
                raise SystemExit("the dashboard did not start")
            told += line
        self.url = json.loads(told)["url"]
        cookies: Any = urllib.request.HTTPCookieProcessor(CookieJar())
        self.opener = urllib.request.build_opener(cookies)
        self.page(re.sub(r"^http://[^/]+", "", self.url))

    def page(self, path: str) -> str:
        """What a page says."""
        base = self.url.partition("/enter")[0]
        with self.opener.open(base + path, timeout=600) as answer:
            text: str = answer.read().decode()
        return text

    def stop(self) -> None:
        """End it."""
        self.process.terminate()
        self.process.communicate(timeout=60)


def start() -> Running:
    """Start a dashboard."""
    words = ["dashboard", "--no-open", "--json"]
    return Running(subprocess.Popen([*_PROGRAM, *words], stdout=subprocess.PIPE))


if __name__ == "__main__":
    main()
