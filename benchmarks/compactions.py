"""Replays the compactions of recorded sessions: what their summaries kept, and what the card holds.

`BRIMLINE_CORPUS=folder python benchmarks/compactions.py [--lost]`. Every session is played up to
each of its compactions through the real hook entry, in a temporary folder; then `brimline history`
has to report each compaction with the figures of its boundary row, or this ends with code 1.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from brimline.carry import audit

_PROJECT = "-home-dev-project"
_CWD = "/home/dev/project"


class Boundary(NamedTuple):
    """A compaction as the client recorded it."""

    session: str
    pre_tokens: int
    trigger: str
    summary: str
    rows_before: int


def main() -> int:
    """Replay, print a table, compare with the recorded figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus", nargs="?", default=os.environ.get("BRIMLINE_CORPUS"))
    parser.add_argument("--lost", action="store_true", help="list what the summaries lost")
    options = parser.parse_args()
    if not options.corpus:
        parser.error("name a folder of sessions, or set BRIMLINE_CORPUS")
    folder = tempfile.mkdtemp(prefix="brimline-compactions-")
    try:
        recorded = [
            boundary
            for path in sorted(Path(options.corpus).glob("*.jsonl"))
            for boundary in replay(path, folder)
        ]
        reported = _reported(folder)
        _print(reported, folder, lost=options.lost)
    finally:
        shutil.rmtree(folder)
    expected = sorted((one.session, one.trigger, one.pre_tokens) for one in recorded)
    found = sorted((one["session_id"], one["trigger"], one["pre_tokens"]) for one in reported)
    print(f"{len(found)} reported, {len(expected)} recorded, equal: {found == expected}")
    return 0 if found == expected else 1


def replay(path: Path, folder: str) -> list[Boundary]:
    """Play one session up to each of its compactions, as the client calls hooks."""
    lines = path.read_bytes().splitlines(keepends=True)
    found = boundaries(path.stem, lines)
    copy = Path(folder, "claude", "projects", _PROJECT, path.name)
    copy.parent.mkdir(parents=True, exist_ok=True)
    done = 0
    for boundary in found:
        with copy.open("ab") as file:
            file.write(b"".join(lines[done : boundary.rows_before]))
        done = boundary.rows_before
        told = {"trigger": boundary.trigger}
        _hook("PreCompact", copy, folder, told)
        _hook("SessionStart", copy, folder, {"source": "compact"})
        _hook("PostCompact", copy, folder, told | {"compact_summary": boundary.summary})
    with copy.open("ab") as file:
        file.write(b"".join(lines[done:]))
    return found


def boundaries(session: str, lines: list[bytes]) -> list[Boundary]:
    """The compactions of a session, read without any code of the product."""
    found = []
    for number, line in enumerate(lines):
        if b'"compact_boundary"' not in line:
            continue
        row = json.loads(line)
        if row.get("subtype") == "compact_boundary":
            told = row["compactMetadata"]
            summary = _summary(lines[number + 1 : number + 4])
            found.append(Boundary(session, told["preTokens"], told["trigger"], summary, number))
    return found


def _summary(lines: list[bytes]) -> str:
    for line in lines:
        row = json.loads(line)
        if row.get("isCompactSummary"):
            content = row["message"]["content"]
            if isinstance(content, str):
                return content
            return "\n".join(block.get("text", "") for block in content)
    return ""


def _environment(folder: str) -> dict[str, str]:
    return {
        "PATH": os.defpath,
        "HOME": folder,
        "CLAUDE_CONFIG_DIR": f"{folder}/claude",
        "BRIMLINE_HOME": f"{folder}/brimline",
    }


def _hook(name: str, transcript: Path, folder: str, fields: dict[str, Any]) -> None:
    payload = {
        "session_id": transcript.stem,
        "transcript_path": str(transcript),
        "cwd": _CWD,
        "hook_event_name": name,
    } | fields
    subprocess.run(
        [sys.executable, "-m", "brimline", "hook", name],
        input=json.dumps(payload).encode(),
        env=_environment(folder),
        stdout=subprocess.DEVNULL,
        check=True,
    )


def _reported(folder: str) -> list[dict[str, Any]]:
    done = subprocess.run(
        [sys.executable, "-m", "brimline", "history", "--compactions", "--json"],
        env=_environment(folder),
        stdout=subprocess.PIPE,
        check=True,
    )
    found: list[dict[str, Any]] = json.loads(done.stdout)["compactions"]
    return found


def _print(reported: list[dict[str, Any]], folder: str, *, lost: bool) -> None:
    print(f"{'session':28} {'trigger':7} {'before':>8} {'after':>7} {'summary':>7}", end="")
    print(f" {'kept':>5} {'other':>5} {'lost':>5} {'restored':>8}")
    for one in reported:
        counts = [one[f"items_{name}"] for name in ("kept", "paraphrased", "lost", "restored")]
        print(
            f"{one['session_id'][:28]:28} {one['trigger']:7} {one['pre_tokens']:8,}"
            f" {one['post_tokens'] or 0:7,} {one['summary_characters'] or 0:7,}"
            + "".join(f" {'' if count is None else count:>5}" for count in counts)
        )
    for session in sorted({one["session_id"] for one in reported}) if lost else []:
        for made in audit.load_all(f"{folder}/brimline", session):
            for item in made["items"]:
                text = " ".join(item["text"].split())[:140]
                print(f"{session[:8]} {made['number']} {item['verdict']:11} ", end="")
                print(f"{item['score']:5} {item['why'] or '':8} {item['kind']:10} {text}")


if __name__ == "__main__":
    begun = time.perf_counter()
    code = main()
    print(f"{time.perf_counter() - begun:.1f} s")
    sys.exit(code)
