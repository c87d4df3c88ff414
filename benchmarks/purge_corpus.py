"""What a purge saves on recorded sessions: `BENCH_CORPUS=DIR python benchmarks/purge_corpus.py`.

Every session of the folder is copied to a folder of its own, and purged with the defaults while a
program appends to it, half a line at a time; the purged copy is purged again. The table numbers the
sessions in the order of their names and says nothing else of them. Disk is by how much the copy is
smaller. Context is what the next request loses, estimated from characters, beside what the last
request took. Sound: the copy has no more faults than what was copied, by the search of `session
repair`. Untouched: the session is byte for byte what it was, and what was appended.
"""

from __future__ import annotations

import glob
import os
import shutil
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from brimline.session import faults, purge
from brimline.session.purge import Options
from brimline.transcript import read

_LATE = b'{"type":"system","uuid":"late","content":"late"}\n'
_HEAD = (
    "| session | size | disk saved | | context saved | of last request | results "
    "| twice = once | sound | untouched | CPU s |\n"
    "|---:|---:|---:|---:|---:|---:|---:|---|---|---|---:|"
)


class Found(NamedTuple):
    """One session's figures."""

    size_bytes: int
    saved_bytes: int
    saved_tokens: int
    occupancy_tokens: int | None
    results: int
    is_idempotent: bool
    is_sound: bool
    is_untouched: bool
    cpu_s: float


def main() -> None:
    """Print the table."""
    corpus = os.environ.get("BENCH_CORPUS")
    if not corpus:
        sys.exit("BENCH_CORPUS names no folder with sessions: nothing to measure")
    print(_HEAD)
    found = []
    for number, source in enumerate(sorted(glob.glob(f"{glob.escape(corpus)}/*.jsonl")), 1):
        with tempfile.TemporaryDirectory() as folder:
            one = _measure(source, folder)
        found.append(one)
        print(_row(str(number), one), flush=True)
    print(_row("all", _sum(found)))


def _measure(source: str, folder: str) -> Found:
    os.environ.update(HOME=folder, CLAUDE_CONFIG_DIR=f"{folder}/c", BRIMLINE_HOME=f"{folder}/b")
    path = f"{folder}/session.jsonl"
    shutil.copyfile(source, path)
    original, appended, is_over = _content(path), bytearray(), threading.Event()
    writer = threading.Thread(target=_append_halves, args=(path, appended, is_over))
    writer.start()
    begun = time.process_time()
    plan = purge.plan_purge(path, Options(), f"{folder}/b")
    copy = purge.purge(path, plan, f"{folder}/b").path if plan.changes else path
    cpu_s = time.process_time() - begun
    is_over.set()
    writer.join()
    return Found(
        len(original),
        len(original) - os.path.getsize(copy) if plan.changes else 0,
        plan.saved_context_tokens,
        plan.survey.occupancy_tokens,
        len(plan.results),
        not purge.plan_purge(copy, Options(), f"{folder}/b").changes,
        not plan.changes
        or _count_faults(copy, os.path.getsize(copy)) <= _count_faults(path, plan.survey.length),
        _content(path) == original + appended,
        cpu_s,
    )


def _count_faults(path: str, length: int) -> int:
    """How many faults the first bytes of a session have."""
    with open(path, "rb") as file:
        return len(faults.find_faults(read.lines_of_stream(file, length)).faults)


def _append_halves(path: str, appended: bytearray, is_over: threading.Event) -> None:
    """Append to a session as its client does, but with every line in two halves."""
    half = len(_LATE) // 2
    while not is_over.is_set():
        for piece in (_LATE[:half], _LATE[half:]):
            with open(path, "ab") as file:
                file.write(piece)
            appended += piece
            is_over.wait(0.002)


def _content(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _sum(found: list[Found]) -> Found:
    return Found(
        sum(one.size_bytes for one in found),
        sum(one.saved_bytes for one in found),
        sum(one.saved_tokens for one in found),
        sum(one.occupancy_tokens or 0 for one in found),
        sum(one.results for one in found),
        all(one.is_idempotent for one in found),
        all(one.is_sound for one in found),
        all(one.is_untouched for one in found),
        sum(one.cpu_s for one in found),
    )


def _row(name: str, found: Found) -> str:
    share = f"{found.saved_bytes / found.size_bytes:.0%}" if found.size_bytes else "–"
    of_last = (
        f"{found.saved_tokens / found.occupancy_tokens:.0%}"
        if found.occupancy_tokens
        else "unknown"
    )
    proofs = (found.is_idempotent, found.is_sound, found.is_untouched)
    cells = [
        name,
        f"{found.size_bytes / 1e6:.2f} MB",
        f"{found.saved_bytes / 1e6:.2f} MB",
        share,
        f"~{found.saved_tokens:,} tokens",
        of_last,
        str(found.results),
        *["yes" if proof else "**no**" for proof in proofs],
        f"{found.cpu_s:.2f}",
    ]
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
