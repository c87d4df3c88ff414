"""Machines that fail or stop at any step of a rewrite, and programs that write meanwhile."""

from __future__ import annotations

import os
import random
import re
from typing import TYPE_CHECKING, Any, BinaryIO

from brimline.session import disk
from brimline.session import restore as restoring
from brimline.session.rewrite import Order, Rewritten, rewrite

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pytest

WRITING = frozenset({"open", "write", "fsync", "link", "replace", "unlink"})
LONG_AGO = 1_700_000_000
_BASE_LINES = 40
_MOST_LINES = 15
_LINE = re.compile(rb'^\{"n":(\d+),"text":"(old|new)"\}$')


class Died(BaseException):
    """The machine stopped: nothing that follows has any effect."""


class Machine:
    """The system calls of a rewrite: before each one that writes, something may happen."""

    def __init__(self, before: Callable[[int, str], None] | None = None) -> None:
        self.before = before or (lambda _number, _name: None)
        self.names: list[str] = []
        self.dies_at: int | None = None
        self.fails_at: int | None = None
        self.failure: BaseException = OSError(28, "No space left on device")

    def __getattr__(self, name: str) -> Any:
        real = getattr(os, name)
        return self._watched(name, real) if name in WRITING else real

    def _watched(self, name: str, real: Any) -> Any:
        def call(*arguments: Any) -> Any:
            if name == "open" and not arguments[1] & os.O_CREAT:
                return real(*arguments)
            number = len(self.names)
            if self.dies_at is not None and number >= self.dies_at:
                if number == self.dies_at and name == "write":
                    real(arguments[0], bytes(arguments[1])[: len(arguments[1]) // 2])
                self.names.append(name)
                raise Died
            self.names.append(name)
            if number == self.fails_at:
                raise self.failure
            self.before(number, name)
            return None if name == "fsync" else real(*arguments)

        return call


class Writer:
    """A program that starts during a rewrite and appends numbered lines, as programs do."""

    def __init__(self, path: Path, kind: str, seed: int) -> None:
        self.path = path
        self.kind = kind
        self.chance = random.Random(seed)
        self.count = _BASE_LINES
        self.half = b""
        self.has_begun = False
        self.descriptor: int | None = None

    def act(self, _number: int, name: str) -> None:
        """Perhaps write, as the next step of the rewrite is about to be taken."""
        # The first file that is made is the backup: by then the session was found to be idle.
        self.has_begun |= name == "open"
        is_idle = self.kind == "nobody" or self.count >= _BASE_LINES + _MOST_LINES
        if (
            is_idle
            or not self.has_begun
            or self.chance.random() > (0.6 if name == "replace" else 0.25)
        ):
            return
        kind = self.kind if self.kind != "changing" else self.chance.choice(["holder", "reopener"])
        if kind == "reopener" or self.descriptor is None:
            self.close()
            self.descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND)
        if self.kind == "halves":
            self._write_half()
        elif self.kind == "late":
            # Opened at an earlier step, written at this one, opened anew for the next.
            self._write(line(self.count))
            self.close()
            self.descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND)
        else:
            self._write(line(self.count))

    def finish(self) -> None:
        """Complete the line that was begun, write another where the file is open, and leave."""
        if self.half:
            self._write_half()
        if self.descriptor is not None:
            self._write(line(self.count))
        self.close()

    def close(self) -> None:
        if self.descriptor is not None:
            os.close(self.descriptor)
            self.descriptor = None

    def _write(self, data: bytes) -> None:
        assert self.descriptor is not None
        os.write(self.descriptor, data)
        self.count += 1

    def _write_half(self) -> None:
        assert self.descriptor is not None
        if self.half:
            os.write(self.descriptor, self.half)
            self.half = b""
            self.count += 1
            return
        whole = line(self.count)
        os.write(self.descriptor, whole[:9])
        self.half = whole[9:]


WRITERS = ("nobody", "reopener", "holder", "changing", "late", "halves")


def line(number: int) -> bytes:
    return b'{"n":%d,"text":"old"}\n' % number


def make_session(path: Path, lines: int = _BASE_LINES) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join([line(number) for number in range(lines)]))
    return path


def shorten(old: BinaryIO, length: int, new: BinaryIO) -> None:
    data = old.read(length)
    assert len(data) == length
    for index, row in enumerate(data.splitlines(keepends=True)):
        changed = row.replace(b'"old"', b'"new"')
        new.write(changed if index % 3 == 0 else row)


def accept(_new_path: str) -> None:
    """A `verify` that finds nothing wrong."""


def run(path: Path, home_dir: str, make_new: Any = shorten, **options: Any) -> Rewritten:
    """Rewrite a session that has rested, without waiting for anybody afterwards."""
    if path.is_file():
        os.utime(path, (LONG_AGO, LONG_AGO))

    def note(done: Rewritten) -> str:
        return restoring.write_note(home_dir, done, {})

    chosen = {"verify": accept, "quiet_s": 0.0, "write_note": note, **options}
    return rewrite(Order(str(path), home_dir, make_new, **chosen))


def numbers(path: Path) -> list[int]:
    """The numbers of a session's complete rows, in the order of the file."""
    found = [_LINE.match(row) for row in path.read_bytes().split(b"\n")]
    return [int(match[1]) for match in found if match]


def everywhere(path: Path) -> set[int]:
    """The numbers in the session, in the files it was and in its backups."""
    found: set[int] = set()
    for other in path.parent.iterdir():
        is_kept = disk.is_former_file_name(other.name) or ".backup." in other.name
        if other == path or (is_kept and other.name.startswith(path.name)):
            found |= set(numbers(other))
    return found


def ours(path: Path) -> list[str]:
    return sorted(
        [o.name for o in path.parent.iterdir() if disk.session_of_our_file(o.name) == path.name]
    )


def install(monkeypatch: pytest.MonkeyPatch, machine: Machine) -> None:
    """Let rewrites run on a machine; its disk has room whatever the real one says."""
    monkeypatch.setattr(disk, "system", machine)


def restore(path: Path, home_dir: str) -> bool:
    """Put a session back that has rested; False where there was nothing to put back."""
    os.utime(path, (LONG_AGO, LONG_AGO))
    found = restoring.plan_full_restore(str(path), home_dir)
    if found.undone:
        restoring.restore(found, quiet_s=0)
    return bool(found.undone)
