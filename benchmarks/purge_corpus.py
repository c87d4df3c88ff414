"""What a purge saves on recorded sessions: `BENCH_CORPUS=DIR python benchmarks/purge_corpus.py`.

Every session of the folder is copied, purged with the defaults, purged again, gone on with, and
restored. The table numbers the sessions in the order of their names and says nothing else of them.
Disk is what the file lost. Context is what the next request loses, estimated from characters,
beside what the last request took. Sound: no more faults after than before, by the search of
`session repair`.
"""

from __future__ import annotations

import glob
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))


from brimline.session import purge, repair, restore
from brimline.session.purge import Options, Plan

_OLD = 1_700_000_000
_LATE = b'{"type":"user","uuid":"late","message":{"role":"user","content":"late"}}\n'
_HEAD = (
    "| session | size | disk saved | | context saved | of last request | old "
    "| copies | progress | twice = once | sound | restored | CPU s |\n"
    "|---:|---:|---:|---:|---:|---:|---:|---:|---:|---|---|---|---:|"
)


class Found(NamedTuple):
    """One session's figures."""

    size_bytes: int
    saved_bytes: int
    saved_tokens: int
    occupancy_tokens: int | None
    items: dict[str, int]
    is_idempotent: bool
    is_sound: bool
    is_restored: bool
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
    path, home_dir = f"{folder}/session.jsonl", f"{folder}/b"
    shutil.copyfile(source, path)
    original = _content(path)
    faults = len(repair.examine(path).faults)
    begun = time.process_time()
    plan = _purge(path, home_dir)
    cpu_s = time.process_time() - begun
    purged = _content(path)
    sound = len(repair.examine(path).faults) <= faults
    again = not _purge(path, home_dir).changes and _content(path) == purged
    with open(path, "ab") as file:
        file.write(_LATE)
    _rest(path)
    back = restore.plan_full_restore(path, home_dir)
    if back.undone:
        restore.restore(back, quiet_s=0.01)
    return Found(
        len(original),
        len(original) - len(purged),
        plan.saved_context_tokens,
        plan.survey.occupancy_tokens,
        {name: saving.items for name, saving in plan.savings.items()},
        again,
        sound,
        _content(path) == original + _LATE,
        cpu_s,
    )


def _purge(path: str, home_dir: str) -> Plan:
    _rest(path)
    plan = purge.plan_purge(path, Options(), home_dir)
    if plan.changes:
        purge.purge(path, plan, home_dir, quiet_s=0.01)
    return plan


def _rest(path: str) -> None:
    os.utime(path, (_OLD, _OLD))


def _content(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _sum(found: list[Found]) -> Found:
    return Found(
        sum(one.size_bytes for one in found),
        sum(one.saved_bytes for one in found),
        sum(one.saved_tokens for one in found),
        sum(one.occupancy_tokens or 0 for one in found),
        {name: sum(one.items[name] for one in found) for name in found[0].items},
        all(one.is_idempotent for one in found),
        all(one.is_sound for one in found),
        all(one.is_restored for one in found),
        sum(one.cpu_s for one in found),
    )


def _row(name: str, found: Found) -> str:
    share = f"{found.saved_bytes / found.size_bytes:.0%}" if found.size_bytes else "–"
    of_last = (
        f"{found.saved_tokens / found.occupancy_tokens:.0%}"
        if found.occupancy_tokens
        else "unknown"
    )
    items = [str(found.items[key]) for key in purge.STRATEGIES if key in found.items]
    proofs = (found.is_idempotent, found.is_sound, found.is_restored)
    cells = [
        name,
        f"{found.size_bytes / 1e6:.2f} MB",
        f"{found.saved_bytes / 1e6:.2f} MB",
        share,
        f"~{found.saved_tokens:,} tokens",
        of_last,
        *items,
        *["yes" if proof else "**no**" for proof in proofs],
        f"{found.cpu_s:.2f}",
    ]
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
