"""How long the store takes: puts as a hook does them, and the commands over 100,000 blobs.

`python benchmarks/store.py [--blobs N] [--keep FOLDER]`. Everything happens in a temporary folder;
`--keep` makes the store in a folder that stays, and uses the one that is there.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import hashlib
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from brimline.bulk import layout, put

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_SEED = 40
_ROUNDS = 5
_PUTS = 40
_PROGRAM = "from brimline.cli.main import main\nmain()\n"
_COMMANDS = (
    ["list"],
    ["prune", "--max-size-mb", "100", "--dry-run"],
    ["prune", "--max-size-mb", "100", "--max-age-days", "20", "--dry-run", "--json"],
    ["prune", "--max-age-days", "0", "--dry-run"],
)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--blobs", type=int, default=100_000)
    parser.add_argument("--keep", metavar="FOLDER", help="make or use a store there")
    options = parser.parse_args()
    with _folder(options.keep) as folder:
        _isolate(folder)
        home_dir = f"{folder}/brimline"
        if not os.path.isdir(layout.store_folder(home_dir) + "/blobs"):
            print(f"making {options.blobs:,} blobs …", flush=True)
            fill(home_dir, options.blobs)
        with tempfile.TemporaryDirectory(dir=folder) as fresh:
            _print_puts(fresh)
        _print_commands()


def fill(home_dir: str, blobs: int) -> None:
    """Make a store of that many blobs, used over the last two months, one in a hundred pinned."""
    chance = random.Random(_SEED)
    now = time.time_ns()
    for folder in (
        layout.store_folder(home_dir) + "/blobs",
        layout.store_folder(home_dir) + "/meta",
    ):
        for shard in range(256):
            os.makedirs(f"{folder}/{shard:02x}", mode=0o700)
    for number in range(blobs):
        data = b"output %d of a tool\n" % number * chance.randrange(20, 400)
        digest = hashlib.sha256(data).hexdigest()
        used = now - chance.randrange(60 * 86_400) * 10**9
        _write(layout.stored_path(home_dir, digest), put.pack_blob(data), used)
        sidecar = '{"v":1,"key":"sha256:%s","bytes":%d,"lines":1,"tool":"Bash","created":1}'
        _write(
            layout.stored_path(home_dir, digest, "json"),
            (sidecar % (digest, len(data))).encode(),
            used,
        )
        if number % 100 == 0:
            level = "hard" if number % 200 else "soft"
            pin = f'{{"v":1,"level":"{level}","reason":null,"at":1}}'
            _write(layout.stored_path(home_dir, digest, "pin"), pin.encode(), used)


def _write(path: str, data: bytes, used_ns: int) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
    os.write(descriptor, data)
    os.close(descriptor)
    os.utime(path, ns=(used_ns, used_ns))


def _print_puts(home_dir: str) -> None:
    """Put new and known content, and what waiting for the disk is of it."""
    print("\nput, milliseconds (median, in the running process; the last two for the file alone)\n")
    print("| content | new | known | write, no fsync | write + fsync | + fsync of the folder |")
    print("|---|---|---|---|---|---|")
    for size in (10_000, 100_000, 1_000_000, 10_000_000):
        contents = [_log(number, size) for number in range(_PUTS if size < 10**7 else 5)]
        packed = put.pack_blob(contents[0])
        target = layout.store_folder(home_dir) + "/written"
        put.put(home_dir, contents.pop(), {})  # makes the folders
        figures = [
            _median(_putting(home_dir, data) for data in contents),
            _median(_putting(home_dir, data) for data in contents),
            _median(_writing(home_dir, target, packed, sync=False) for _ in contents),
            _median(_writing(home_dir, target, packed, sync=True) for _ in contents),
            _median(_writing(home_dir, target, packed, sync=True, folder=True) for _ in contents),
        ]
        cells = " | ".join(f"{1_000 * figure:.2f}" for figure in figures)
        print(f"| {size:,} bytes | {cells} |", flush=True)


def _putting(home_dir: str, data: bytes) -> Callable[[], object]:
    return lambda: put.put(home_dir, data, {})


def _writing(
    home_dir: str, target: str, packed: bytes, *, sync: bool, folder: bool = False
) -> Callable[[], object]:
    def work() -> None:
        layout.write_atomically(home_dir, target, packed, sync=sync)
        if folder:
            descriptor = os.open(os.path.dirname(target), os.O_RDONLY)
            os.fsync(descriptor)
            os.close(descriptor)

    return work


def _median(works: Iterable[Callable[[], object]]) -> float:
    return statistics.median([_timed(work) for work in works])


def _log(number: int, size: int) -> bytes:
    chance = random.Random(number)
    lines = [
        b"2026-01-08 15:49:03 INFO worker-%d: item %d took %d ms\n"
        % (chance.randrange(9), n, chance.randrange(10**6))
        for n in range(size // 50)
    ]
    return b"".join(lines)[:size]


def _print_commands() -> None:
    print("\ncommands, seconds (whole process, warm cache)\n")
    print("| command | median | slowest | CPU |\n|---|---|---|---|")
    for arguments in _COMMANDS:
        command = [sys.executable, "-c", _PROGRAM, "store", *arguments]
        _run(command)
        before = os.times()
        taken = [_timed(functools.partial(_run, command)) for _ in range(_ROUNDS)]
        after = os.times()
        used = after.children_user + after.children_system
        used = (used - before.children_user - before.children_system) / _ROUNDS
        cells = f"{statistics.median(taken):.2f} | {max(taken):.2f} | {used:.2f}"
        print(f"| `store {' '.join(arguments)}` | {cells} |", flush=True)


def _run(command: list[str]) -> None:
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def _timed(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def _isolate(folder: str) -> None:
    """Nothing outside the folder is read or written."""
    os.environ["HOME"] = f"{folder}/home"
    os.environ["CLAUDE_CONFIG_DIR"] = f"{folder}/home/.claude"
    os.environ["BRIMLINE_HOME"] = f"{folder}/brimline"


@contextlib.contextmanager
def _folder(kept: str | None) -> Iterator[str]:
    if kept is not None:
        os.makedirs(kept, exist_ok=True)
        yield os.path.abspath(kept)
        return
    with tempfile.TemporaryDirectory() as folder:
        yield folder


if __name__ == "__main__":
    main()
