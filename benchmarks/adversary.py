"""Rewrites sessions while somebody writes them, kills rewrites, and looks for lost lines.

`python benchmarks/adversary.py` does it at full size: an appender that writes a numbered line every
2 ms, holding the file open and reopening it in turn, some lines in two halves, during 20 rewrites
of 10 MB and 5 of 100 MB; then rewrites of 1 MB until 200 of them were killed at a random moment.
`--rewrites`, `--kills` and `--seed` make it smaller or different, `--blind` does it as on systems
that cannot tell whether a file is open. Everything happens in a temporary folder.
"""

from __future__ import annotations

import argparse
import contextlib
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
from typing import TYPE_CHECKING, Any, BinaryIO, Self

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

from brimline.purge import disk, names, recovery, swap
from brimline.purge.errors import PurgeError

if TYPE_CHECKING:
    from collections.abc import Iterator

MEGABYTE = 1_000_000
FULL = ((20, 10), (5, 100))
FULL_KILLS = 200
_INTERVAL_S = 0.002
_BASE_PAD = b"x" * 900
_LINE = re.compile(rb'^\{"(base|more)":(\d+),"pad":"(x*)"\}\n$')
_KILL_FIGURES = (
    "kills",
    "with_an_old_file",
    "lost_before",
    "lost_after",
    "out_of_order",
    "merged_later",
)
_WRONG = ("lost_before", "lost_after", "out_of_order")
_COUNT = struct.Struct("<q")


@dataclass
class Found:
    """The numbered lines of one or several files."""

    base: set[int] = field(default_factory=set)
    more: set[int] = field(default_factory=set)
    is_ordered: bool = True
    strange: int = 0


def make_session(path: Path, size_bytes: int) -> int:
    """Write a session of numbered lines; returns how many."""
    count = max(1, size_bytes // (len(_BASE_PAD) + 30))
    with path.open("wb") as file:
        for number in range(count):
            file.write(_line(b"base", number, _BASE_PAD))
    return count


def shorten(every: int) -> Any:
    """A `make_new` that takes one character from the text of every nth line."""

    def make_new(old: BinaryIO, length: int, new: BinaryIO) -> None:
        at = 0
        for index, line in enumerate(old):
            at += len(line)
            new.write(line.replace(b"xx", b"x", 1) if index % every == 0 else line)
        assert at == length  # noqa: S101 - the contract of `rewrite`

    return make_new


def same_count(old_path: str, length: int, new_path: str) -> None:
    """A `verify`: as many lines in the copy as in the snapshot."""
    with open(old_path, "rb") as old, open(new_path, "rb") as new:
        before = sum(old.read(min(MEGABYTE, length - at)).count(b"\n") for at in _steps(length))
        after = sum(block.count(b"\n") for block in iter(lambda: new.read(MEGABYTE), b""))
    if before != after:
        raise PurgeError(f"{before} lines became {after}")


def read(path: Path) -> Found:
    """Collect a file's lines, and see whether they are in order."""
    found = Found()
    last = (0, -1)
    with path.open("rb") as file:
        for line in file:
            match = _LINE.match(line)
            if match is None:
                found.strange += 1
                continue
            is_more, number = match[1] == b"more", int(match[2])
            found.is_ordered &= (is_more, number) > last
            last = (is_more, number)
            (found.more if is_more else found.base).add(number)
    return found


def beside(path: Path) -> Found:
    """The lines of the session, of every file it was, and of every backup, taken together."""
    together = Found()
    for other in path.parent.iterdir():
        is_kept = names.is_old(other.name) or ".backup." in other.name
        if other == path or (is_kept and other.name.startswith(path.name)):
            found = read(other)
            together.base |= found.base
            together.more |= found.more
    return together


class Appender:
    """A process that appends numbered lines to a file until it is told to stop."""

    def __init__(self, path: Path, seed: int) -> None:
        self._tally = path.with_name(path.name + ".tally")
        self._tally.write_bytes(_COUNT.pack(0))
        command = [sys.executable, __file__, "--append", str(path), "--seed", str(seed)]
        self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL)

    def __enter__(self) -> Self:
        """Wait for its first line."""
        while self.written == 0:
            time.sleep(0.001)
        return self

    def __exit__(self, *_: object) -> None:
        """End it, whatever it is doing."""
        self.resume()
        self.stop()

    @property
    def written(self) -> int:
        """How many lines are in some file for sure."""
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
        """Let it finish its line; returns how many it wrote."""
        self._process.terminate()
        self._process.wait(30)
        return self.written


def append(path: Path, seed: int) -> None:
    """What the appender's process does."""
    chance = random.Random(seed)
    stopping: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: stopping.append(number))
    with path.with_name(path.name + ".tally").open("r+b") as tally:
        count = mmap.mmap(tally.fileno(), _COUNT.size)
        number = 0
        while not stopping:
            holds = chance.random() < 0.5
            turn = chance.randrange(5, 80)
            descriptor = _open(path)
            for _ in range(turn):
                if not holds:
                    os.close(descriptor)
                    descriptor = _open(path)
                _write(descriptor, _line(b"more", number, b"x" * chance.randrange(300)), chance)
                number += 1
                count[:] = _COUNT.pack(number)
                time.sleep(_INTERVAL_S)
                if stopping:
                    break
            os.close(descriptor)


def rewrites(folder: Path, count: int, size_bytes: int, seed: int) -> dict[str, Any]:
    """Rewrite one session many times while the appender writes it."""
    path = folder / "rewritten.jsonl"
    lines = make_session(path, size_bytes)
    begun, spent = time.perf_counter(), []
    spliced = with_late_lines = still_open = 0
    with Appender(path, seed) as appender:
        for index in range(count):
            moment = time.perf_counter()
            done = swap.rewrite(
                str(path), shorten(7 + index), same_count, home_dir=str(folder / "home"), live=True
            )
            spent.append(time.perf_counter() - moment)
            spliced += done.spliced_lines
            with_late_lines += done.spliced_lines > 0
            still_open += not done.is_over
            os.unlink(str(done.backup))
        written = appender.stop()
    recovery.recover(str(path))
    found = read(path)
    report = {
        "rewrites": count,
        "size_mb": size_bytes // MEGABYTE,
        "appended": written,
        "spliced_after_the_rename": spliced,
        "rewrites_with_late_lines": with_late_lines,
        "old_file_held_at_the_end": still_open,
        "lost": lines - len(found.base) + written - len(found.more),
        "in_order": found.is_ordered and not found.strange,
        "left_behind": _left_behind(path),
        "seconds": round(time.perf_counter() - begun, 1),
        "median_rewrite_s": round(sorted(spent)[len(spent) // 2], 2),
    }
    _clear(path)
    return report


def kills(folder: Path, count: int, size_bytes: int, seed: int) -> dict[str, Any]:
    """Kill rewrites at random moments; count the lines that are nowhere, before and after."""
    path = folder / "killed.jsonl"
    lines = make_session(path, size_bytes)
    chance = random.Random(seed)
    report = dict.fromkeys(_KILL_FIGURES, 0)
    longest = _duration(path, folder)
    with Appender(path, seed) as appender:
        while report["kills"] < count:
            report["kills"] += _killed(path, folder, chance.uniform(0, longest))
            appender.pause()
            report["with_an_old_file"] += any(map(names.is_old, os.listdir(path.parent)))
            written = appender.written
            report["lost_before"] += _lost(beside(path), lines, written)
            report["merged_later"] += sum(one.lines for one in recovery.recover(str(path)))
            found = read(path)
            report["lost_after"] += _lost(found, lines, written)
            report["out_of_order"] += not found.is_ordered
            for backup in path.parent.glob("*.backup.*"):
                backup.unlink()
            appender.resume()
        report["appended"] = written = appender.stop()
    recovery.recover(str(path))
    found = read(path)
    report["lost_after"] += _lost(found, lines, written)
    report["out_of_order"] += not found.is_ordered or bool(found.strange)
    left_behind = _left_behind(path)
    _clear(path)
    return report | {"left_behind": left_behind}


def _duration(path: Path, folder: Path) -> float:
    """How long a rewrite takes that nobody kills, with some room."""
    begun = time.perf_counter()
    _killed(path, folder, None)
    return 1.2 * (time.perf_counter() - begun)


def _killed(path: Path, folder: Path, delay_s: float | None) -> bool:
    """Rewrite in a child and kill it after a delay; False where it was done before."""
    child = os.fork()
    if child == 0:
        with contextlib.suppress(BaseException):
            home = str(folder / "home")
            swap.rewrite(str(path), shorten(9), same_count, home_dir=home, quiet_s=0.05, live=True)
        os._exit(0)
    if delay_s is not None:
        time.sleep(delay_s)
        os.kill(child, signal.SIGKILL)
    return bool(os.WIFSIGNALED(os.waitpid(child, 0)[1]))


def _cannot_tell(_: int) -> bool | None:
    return None


def _lost(found: Found, lines: int, written: int) -> int:
    """Lines that were written for sure and are not there; one more may be on its way."""
    return len(set(range(lines)) - found.base) + len(set(range(written)) - found.more)


def _left_behind(path: Path) -> list[str]:
    return sorted([n for n in os.listdir(path.parent) if names.session_of(n) == path.name])


def _clear(path: Path) -> None:
    for other in path.parent.glob(path.name + "*"):
        other.unlink()


def _line(kind: bytes, number: int, pad: bytes) -> bytes:
    return b'{"%s":%d,"pad":"%s"}\n' % (kind, number, pad)


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


def _steps(length: int) -> Iterator[int]:
    return iter(range(0, length, MEGABYTE))


def main() -> None:
    """Run all of it and print what was found; a lost line is a failure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rewrites", metavar="COUNTxMB", nargs="*", help="for example 20x10 5x100")
    parser.add_argument("--kills", metavar="COUNTxMB", default=f"{FULL_KILLS}x1")
    parser.add_argument("--seed", type=int, default=6)
    parser.add_argument("--blind", action="store_true")
    parser.add_argument("--append", type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.append:
        append(chosen.append, chosen.seed)
        return
    if chosen.blind:
        vars(disk)["nobody_writes"] = _cannot_tell
    plan = [tuple(map(int, one.split("x"))) for one in chosen.rewrites or []]
    is_sound = True
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for count, megabytes in plan if chosen.rewrites is not None else FULL:
            report = rewrites(folder, count, megabytes * MEGABYTE, chosen.seed)
            is_sound &= report["lost"] == 0 and report["in_order"]
            print(report, flush=True)
        count, megabytes = map(int, chosen.kills.split("x"))
        if count:
            report = kills(folder, count, megabytes * MEGABYTE, chosen.seed)
            is_sound &= not any(report[key] for key in _WRONG)
            print(report, flush=True)
    sys.exit(0 if is_sound else 1)


if __name__ == "__main__":
    main()
