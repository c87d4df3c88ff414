"""How long the MCP server takes to answer its client's first message, against the SDK alone.

`python benchmarks/mcp.py [--samples N]`. Both servers are started in turn, in a temporary folder;
the time runs from the start of the process to the reply. The bare one has two tools that do
nothing. The first message is `initialize`, and what the client of today sends in its place,
`server/discover`.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks import stats

ROOT = str(Path(__file__).resolve().parent.parent)
LARGEST_RATIO = 0.1
_SEED = 50
_CLIENT = {"name": "benchmark", "version": "1"}
_MESSAGES: dict[str, dict[str, Any]] = {
    "initialize": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": _CLIENT},
    "server/discover": {
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": _CLIENT,
            "io.modelcontextprotocol/clientCapabilities": {},
        }
    },
}
_BARE = """
from mcp.server import MCPServer
server = MCPServer("bare")
@server.tool()
def one(text: str) -> str:
    "One."
    return text
@server.tool()
def two() -> str:
    "Two."
    return "two"
server.run()
"""
_OURS = ["-m", "brimline", "mcp", "--data", "brimline"]
_COMMANDS = {"the SDK alone": ["-c", _BARE], "brimline mcp": _OURS}


class Figures(NamedTuple):
    """Seconds to the reply, for both servers, of one first message."""

    message: str
    bare: list[float]
    ours: list[float]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--samples", type=int, default=40, help="starts of each server")
    parser.add_argument("--warmup", type=int, default=2, help="rounds that do not count")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="brimline-bench-") as folder:
        found = measure(folder, options.samples, options.warmup)
        if os.path.exists(f"{folder}/brimline"):
            sys.exit("The server created its data folder before anything was asked of it.")
    print(render(found))


def measure(folder: str, samples: int, warmup: int) -> list[Figures]:
    """Start both servers in turn, in a new order every round."""
    cases = [(message, name) for message in _MESSAGES for name in _COMMANDS]
    taken: dict[tuple[str, str], list[float]] = {case: [] for case in cases}
    shuffle = random.Random(_SEED).shuffle
    for number in range(warmup + samples):
        shuffle(cases)
        for message, name in cases:
            seconds = _to_reply(folder, _COMMANDS[name], message)
            if number >= warmup:
                taken[message, name].append(seconds)
    bare, ours = _COMMANDS
    return [Figures(m, taken[m, bare], taken[m, ours]) for m in _MESSAGES]


def render(found: list[Figures]) -> str:
    """The table, and whether the target is met."""
    lines = [
        "| first message | the SDK alone, ms | brimline mcp, ms | ratio | 95 % interval | minima |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for message, bare, ours in found:
        ratio = stats.ratio(ours, bare)
        times = f"{stats.figures(bare).median_ms:.0f} | {stats.figures(ours).median_ms:.0f}"
        interval = f"{ratio.low:.2f}–{ratio.high:.2f}"
        lines.append(
            f"| `{message}` | {times} | {ratio.of_medians:.2f} | {interval} "
            f"| {ratio.of_minima:.2f} |"
        )
    largest = max(stats.ratio(ours, bare).of_medians for _, bare, ours in found)
    verdict = "met" if largest <= LARGEST_RATIO else "**missed**"
    return "\n".join([*lines, "", f"Target: at most {LARGEST_RATIO:g} of it. {verdict}"])


def _to_reply(folder: str, arguments: list[str], message: str) -> float:
    """Start a server, ask, wait for the reply, let it end; returns the seconds to the reply."""
    line = json.dumps(
        {"jsonrpc": "2.0", "id": 1, "method": message, "params": _MESSAGES[message]}
    ).encode()
    begun = time.perf_counter()
    with subprocess.Popen(
        [sys.executable, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=folder,
        env=_environment(folder),
    ) as process:
        assert process.stdin is not None  # noqa: S101 - both are pipes
        assert process.stdout is not None  # noqa: S101
        process.stdin.write(line + b"\n")
        process.stdin.flush()
        reply = json.loads(process.stdout.readline())
        taken = time.perf_counter() - begun
        process.stdin.close()
    if "result" not in reply or process.returncode != 0:
        sys.exit(f"{arguments[-1]} did not answer {message}: {reply}")
    return taken


def _environment(folder: str) -> dict[str, str]:
    return {
        "PATH": os.defpath,
        "HOME": folder,
        "BRIMLINE_HOME": f"{folder}/brimline",
        "PYTHONPATH": f"{ROOT}/src",
    }


if __name__ == "__main__":
    main()
