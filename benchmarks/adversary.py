"""Purges and restores sessions while somebody begins to write them, kills that, looks for losses.

`python benchmarks/adversary.py` does it at full size: 20 purges and restores of 10 MB and 5 of
100 MB, during each of which a program starts to append a numbered row every 2 ms, holding the file
open and reopening it in turn, some rows in two halves; then purges and restores of 1 MB under such
a writer until 200 of them were killed at a random moment. `--purges`, `--kills` and `--seed` make
it smaller or different, `--blind` does it as on systems that cannot tell whether a file is open.
Everything happens in a temporary folder.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import mmap
import os
import random
import re
import signal
import struct
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

from brimline.session import disk, in_use, purge, recovery, restore
from brimline.session.purge import Options

if TYPE_CHECKING:
    from collections.abc import Callable

MEGABYTE = 1_000_000
FULL = ((20, 10), (5, 100))
FULL_KILLS = 200
_INTERVAL_S = 0.002
_LONG_AGO = 1_700_000_000
_NAME = re.compile(rb'"uuid":"(base|more)-(\d+)"')
_WRONG = ("lost_before", "lost_after", "out_of_order", "not_restored")
_COUNT = struct.Struct("<q")


@dataclass
class Found:
    """The numbered rows of one or several files."""

    base: set[int] = field(default_factory=set)
    more: set[int] = field(default_factory=set)
    is_ordered: bool = True
    strange: int = 0


def make_session(path: Path, size_bytes: int) -> int:
    """Write a session of numbered rows, calls and their large results; returns how many."""
    # Fewer results in larger sessions: how fast files are made in the store is not the question.
    result_bytes = 6_000 if size_bytes <= 10 * MEGABYTE else 60_000
    written = count = 0
    with path.open("wb") as file:
        while written < size_bytes:
            call = {
                "type": "tool_use",
                "id": f"t{count}",
                "name": "Bash",
                "input": {"command": "x"},
            }
            told = f"{count} " + "x" * result_bytes
            result = {"type": "tool_result", "tool_use_id": f"t{count}", "content": told}
            for kind, block in (("assistant", call), ("user", result)):
                parent = f"base-{count - 1}" if count else None
                message = {"role": kind, "id": f"m{count}", "content": [block]}
                row = {"parentUuid": parent, "type": kind, "message": message}
                written += file.write(_line(row | {"uuid": f"base-{count}"}))
                count += 1
    return count


def read(path: Path) -> Found:
    """Collect a file's rows, and see whether they are in order."""
    found = Found()
    last = (False, -1)
    with path.open("rb") as file:
        for line in file:
            names = _NAME.findall(line)
            if len(names) != 1 or not line.startswith(b"{") or not line.endswith(b"}\n"):
                found.strange += 1
                continue
            is_more, number = names[0][0] == b"more", int(names[0][1])
            found.is_ordered &= (is_more, number) > last
            last = (is_more, number)
            (found.more if is_more else found.base).add(number)
    return found


def beside(path: Path) -> Found:
    """The rows of the session, of every file it was, and of every backup, taken together."""
    together = Found()
    for other in path.parent.iterdir():
        is_kept = disk.is_former_file_name(other.name) or ".backup." in other.name
        if other == path or (is_kept and other.name.startswith(path.name)):
            found = read(other)
            together.base |= found.base
            together.more |= found.more
    return together


class Appender:
    """A process that appends numbered rows to a file, from when it is told to until it is ended."""

    def __init__(self, path: Path, seed: int, first: int = 0) -> None:
        self._tally = path.with_name(path.name + ".tally")
        self._go = path.with_name(path.name + ".go")
        self._go.unlink(missing_ok=True)
        self._tally.write_bytes(_COUNT.pack(first - 1))
        command = [sys.executable, __file__, "--append", str(path), "--seed", str(seed)]
        self._process = subprocess.Popen([*command, "--first", str(first)])
        while self.written < first:  # it has come as far as its first row
            time.sleep(0.001)

    def __enter__(self) -> Self:
        """Let it wait."""
        return self

    def __exit__(self, *_: object) -> None:
        """End it, whatever it is doing."""
        self.resume()
        self.stop()

    def begin(self) -> None:
        """Let it write."""
        self._go.touch()

    @property
    def written(self) -> int:
        """How many rows are in some file for sure."""
        number: int = _COUNT.unpack(self._tally.read_bytes())[0]
        return number

    def pause(self) -> None:
        """Let it stand still, with the file open or not."""
        self._process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self._process.pid, os.WSTOPPED | os.WNOWAIT)

    def resume(self) -> None:
        """Let it go on."""
        self._process.send_signal(signal.SIGCONT)

    def stop(self) -> int:
        """Let it finish its row; returns how many it wrote."""
        self._process.terminate()
        self._process.wait(30)
        return self.written


def append(path: Path, seed: int, number: int) -> None:
    """What the appender's process does."""
    chance = random.Random(seed)
    stopping: list[int] = []
    signal.signal(signal.SIGTERM, lambda signum, _: stopping.append(signum))
    with path.with_name(path.name + ".tally").open("r+b") as tally:
        count = mmap.mmap(tally.fileno(), _COUNT.size)
        count[:] = _COUNT.pack(number)
        while not stopping and not path.with_name(path.name + ".go").exists():
            time.sleep(0.0005)
        while not stopping:
            holds = chance.random() < 0.5
            turn = chance.randrange(5, 80)
            descriptor = _open(path)
            for _ in range(turn):
                if not holds:
                    os.close(descriptor)
                    descriptor = _open(path)
                _write(descriptor, _more(number, chance.randrange(300)), chance)
                number += 1
                count[:] = _COUNT.pack(number)
                time.sleep(_INTERVAL_S)
                if stopping:
                    break
            os.close(descriptor)


class Round:
    """One session that is purged and restored, with a writer that starts during each of the two."""

    def __init__(self, folder: Path, size_bytes: int, seed: int) -> None:
        self.path, self.home_dir = folder / "purged.jsonl", str(folder / "home")
        self.rows = make_session(self.path, size_bytes)
        self.size = self.path.stat().st_size
        self.original = self._digest()
        self.chance = random.Random(seed)
        self.written = self.lost = self.late = self.still_open = 0
        self.is_right = True

    def play(self) -> float:
        """Do both; returns how long the purge took."""
        begun = time.perf_counter()
        self._work(self._purge, self.size)
        spent = time.perf_counter() - begun
        self._work(self._restore, self.size)
        self.is_right &= self._digest() == self.original
        # Where nobody can tell whether a file is open, the old ones stay for a day.
        self.is_right &= bool(self.still_open) or not _left_behind(self.path)
        for other in self.path.parent.glob(self.path.name + "*"):
            other.unlink()
        return spent

    def _work(self, work: Callable[[Any], Any], size_bytes: int) -> None:
        os.utime(self.path, (_LONG_AGO, _LONG_AGO))
        moment, seen = self.chance.uniform(0, size_bytes), 0
        with Appender(self.path, self.chance.randrange(1 << 30), self.written) as appender:

            def progress(count: int) -> None:
                nonlocal seen
                if seen < moment <= seen + count:
                    appender.begin()
                seen += count

            done = work(progress)
            appender.begin()
            target = appender.written + 5
            while appender.written < target:
                time.sleep(_INTERVAL_S)
            self.written = appender.stop()
        self.late += done.late_lines
        self.still_open += not done.is_over
        recovery.finish_rewrites_at_path(str(self.path))
        found = read(self.path)
        self.lost += _lost(found, self.rows, self.written)
        self.is_right &= found.is_ordered and not found.strange

    def _purge(self, progress: Any) -> Any:
        plan = purge.plan_purge(str(self.path), Options(keep_requests=0), self.home_dir)
        return purge.purge(str(self.path), plan, self.home_dir, progress=progress)

    def _restore(self, progress: Any) -> Any:
        return restore.restore(
            restore.plan_full_restore(str(self.path), self.home_dir), progress=progress
        )

    def _digest(self) -> str:
        with self.path.open("rb") as file:
            return hashlib.sha256(file.read(self.size)).hexdigest()


def purges(folder: Path, count: int, size_bytes: int, seed: int) -> dict[str, Any]:
    """Purge and restore sessions while an appender begins to write them."""
    begun = time.perf_counter()
    rounds = [Round(folder, size_bytes, seed)]
    spent = [rounds[0].play()]
    for index in range(1, count):
        rounds.append(Round(folder, size_bytes, seed + index))
        spent.append(rounds[-1].play())
    return {
        "purges_and_restores": count,
        "size_mb": size_bytes // MEGABYTE,
        "appended": sum(one.written for one in rounds),
        "late_lines": sum(one.late for one in rounds),
        "old_file_held_at_the_end": sum(one.still_open for one in rounds),
        "lost": sum(one.lost for one in rounds),
        "all_in_order_and_byte_exact": all(one.is_right for one in rounds),
        "seconds": round(time.perf_counter() - begun, 1),
        "median_purge_s": round(sorted(spent)[len(spent) // 2], 2),
    }


def kills(folder: Path, count: int, size_bytes: int, seed: int) -> dict[str, Any]:
    """Kill purges and restores at random moments; count the rows that are nowhere."""
    path, home_dir = folder / "killed.jsonl", str(folder / "home")
    rows = make_session(path, size_bytes)
    original = path.read_bytes()
    chance = random.Random(seed)
    report: dict[str, Any] = dict.fromkeys(
        ("kills", "with_an_old_file", *_WRONG, "merged_later"), 0
    )
    in_use.RECENT_S = 0.0  # the writer writes all the time
    longest = _duration(path, home_dir)
    with Appender(path, seed) as appender:
        appender.begin()
        while report["kills"] < count:
            report["kills"] += _killed(path, home_dir, chance.uniform(0, longest))
            appender.pause()
            report["with_an_old_file"] += any(
                map(disk.is_former_file_name, os.listdir(path.parent))
            )
            written = appender.written
            report["lost_before"] += _lost(beside(path), rows, written)
            report["merged_later"] += sum(
                one.lines for one in recovery.finish_rewrites_at_path(str(path))
            )
            found = read(path)
            report["lost_after"] += _lost(found, rows, written)
            report["out_of_order"] += not found.is_ordered
            if path.read_bytes().startswith(original):  # what is not purged needs no backup
                for backup in path.parent.glob("*.backup.*"):
                    backup.unlink()
            appender.resume()
        report["appended"] = written = appender.stop()
    recovery.finish_rewrites_at_path(str(path))
    back = restore.plan_full_restore(str(path), home_dir)
    if back.undone:
        restore.restore(back)
    found = read(path)
    report["lost_after"] += _lost(found, rows, written)
    report["out_of_order"] += not found.is_ordered or bool(found.strange)
    report["not_restored"] += not path.read_bytes().startswith(original)
    return report | {"left_behind": _left_behind(path)}


def _duration(path: Path, home_dir: str) -> float:
    """How long a purge takes that nobody kills, with some room; the store has all of it by then."""
    for _ in range(2):
        _killed(path, home_dir, None)
    begun = time.perf_counter()
    _killed(path, home_dir, None)
    return 1.2 * (time.perf_counter() - begun)


def _killed(path: Path, home_dir: str, delay_s: float | None) -> bool:
    """Purge or restore in a child and kill it after a delay; False where it was done before."""
    child = os.fork()
    if child == 0:
        with contextlib.suppress(BaseException):
            plan = purge.plan_purge(str(path), Options(keep_requests=0), home_dir)
            if not plan.changes:
                back = restore.plan_full_restore(str(path), home_dir)
                restore.restore(back, quiet_s=0.05)
            else:
                purge.purge(str(path), plan, home_dir, quiet_s=0.05)
        os._exit(0)
    if delay_s is not None:
        time.sleep(delay_s)
        os.kill(child, signal.SIGKILL)
    return bool(os.WIFSIGNALED(os.waitpid(child, 0)[1]))


def _lost(found: Found, rows: int, written: int) -> int:
    """Rows that were written for sure and are not there; one more may be on its way."""
    return len(set(range(rows)) - found.base) + len(set(range(written)) - found.more)


def _left_behind(path: Path) -> list[str]:
    return sorted([n for n in os.listdir(path.parent) if disk.session_of_our_file(n) == path.name])


def _line(row: dict[str, Any]) -> bytes:
    return json.dumps(row, separators=(",", ":")).encode() + b"\n"


def _more(number: int, size: int) -> bytes:
    message = {"role": "user", "content": "x" * size}
    return _line({"type": "user", "message": message, "uuid": f"more-{number}"})


def _open(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)


def _write(descriptor: int, line: bytes, chance: random.Random) -> None:
    if chance.random() < 0.9:
        os.write(descriptor, line)
        return
    middle = len(line) // 2
    os.write(descriptor, line[:middle])
    time.sleep(_INTERVAL_S / 2)
    os.write(descriptor, line[middle:])


def main() -> None:
    """Run all of it and print what was found; a lost row is a failure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--purges", metavar="COUNTxMB", nargs="*", help="for example 20x10 5x100")
    parser.add_argument("--kills", metavar="COUNTxMB", default=f"{FULL_KILLS}x1")
    parser.add_argument("--seed", type=int, default=6)
    parser.add_argument("--blind", action="store_true")
    parser.add_argument("--append", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--first", type=int, default=0, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.append:
        append(chosen.append, chosen.seed, chosen.first)
        return
    if chosen.blind:
        vars(disk)["nobody_writes"] = lambda _: None
    plan = [tuple(map(int, one.split("x"))) for one in chosen.purges or []]
    is_sound = True
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ.update(HOME=name, CLAUDE_CONFIG_DIR=f"{name}/c", BRIMLINE_HOME=f"{name}/home")
        for count, megabytes in plan if chosen.purges is not None else FULL:
            report = purges(folder, count, megabytes * MEGABYTE, chosen.seed)
            is_sound &= report["lost"] == 0 and report["all_in_order_and_byte_exact"]
            print(report, flush=True)
        count, megabytes = map(int, chosen.kills.split("x"))
        if count:
            report = kills(folder, count, megabytes * MEGABYTE, chosen.seed)
            is_sound &= not any(report[key] for key in _WRONG)
            print(report, flush=True)
    sys.exit(0 if is_sound else 1)


if __name__ == "__main__":
    main()
