"""What tests of the store share: content, ages, snapshots, and a disk that fails or kills."""

from __future__ import annotations

import errno
import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from brimline.bulk import contents, layout, put
from brimline.fast import io, paths

if TYPE_CHECKING:
    from collections.abc import Callable

DAY_S = 86_400
METHODS = ["none", "gzip"]
# What changes something on the disk, or could fail on the way there.
WRITING = ("open", "write", "fsync", "close", "utime", "replace", "mkdir")


def golden(name: str) -> list[dict[str, Any]]:
    """A table of what is given and what is wanted."""
    path = Path(__file__).parent / "golden" / name
    rows: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    return rows


def start(code: str, *arguments: str) -> subprocess.Popen[bytes]:
    """Another process, which finds its data folder in `home` and this module in `shelves`."""
    here = f"import sys\nsys.path.insert(0, {str(Path(__file__).parent)!r})\nhome = sys.argv[1]\n"
    started = here + "import shelves\nfrom brimline.bulk import put\n" + code
    return subprocess.Popen(
        [sys.executable, "-c", started, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def text(number: int, size: int = 4_000) -> bytes:
    """Content like that of a tool: lines that repeat, different for every number."""
    lines = b"".join(b"output %d, line %d: all is well\n" % (number, n) for n in range(size // 24))
    return lines[:size]


def noise(number: int, size: int) -> bytes:
    """Content that does not compress, so that its size on disk is known."""
    return random.Random(number).randbytes(size)


def packed_by(data: bytes, method: str) -> bytes:
    """A blob file, plain or as `put` makes it."""
    if method == "gzip":
        return put.pack_blob(data)
    return put.MAGIC + put.NONE + len(data).to_bytes(8, "big") + data


def stored(home_dir: str, data: bytes, age_s: float = 0, **meta: Any) -> str:
    """Put content that was last used some time ago; returns its key."""
    key = put.put(home_dir, data, meta)
    age(home_dir, key, age_s)
    return key


def age(home_dir: str, key: str, age_s: float) -> None:
    """Make a blob look as if it had last been used some time ago."""
    path = layout.stored_path(home_dir, layout.digest_of_key(key))
    moment = os.stat(path).st_mtime_ns - int(age_s * 1e9)
    os.utime(path, ns=(moment, moment))


def keys(home_dir: str) -> set[str]:
    """What is in the store."""
    return {one.key for one in contents.list_blobs(home_dir)}


def temporary_files(home_dir: str) -> list[str]:
    """What is not in its place."""
    return io.list_names(home_dir + layout.TMP)


def snapshot(*folders: str) -> dict[str, tuple[int, ...]]:
    """Every file with its size and the times of its changes."""
    found: dict[str, tuple[int, ...]] = {}
    for folder in folders:
        for path in Path(folder).rglob("*"):
            if path.is_file():
                status = path.stat()
                found[str(path)] = (status.st_size, status.st_mtime_ns, status.st_ctime_ns)
    return found


class Disk:
    """The system calls, with an accident at the n-th one that writes."""

    def __init__(self, accident: Callable[[], None], at: int, *, lasting: bool = False) -> None:
        self.accident = accident
        self.at = at
        self.lasting = lasting
        self.calls = 0
        self.names: list[str] = []
        self.reading: set[int] = set()
        self.real = io.system

    def __getattr__(self, name: str) -> Any:
        real = getattr(self.real, name)
        return self._guarded(name, real) if name in WRITING else real

    def _guarded(self, name: str, real: Any) -> Any:
        def call(*arguments: Any, **options: Any) -> Any:
            if name == "open" and not arguments[1] & os.O_WRONLY:
                self.reading.add(descriptor := real(*arguments))
                return descriptor
            if name == "close" and arguments[0] in self.reading:
                self.reading.remove(arguments[0])
                return real(*arguments)
            due = self.calls == self.at or (self.lasting and self.calls > self.at)
            self.calls += 1
            self.names.append(name)
            if due and name == "write":
                real(arguments[0], bytes(arguments[1])[: len(arguments[1]) // 2])
            if due and name == "close":
                real(*arguments)
            if due:
                self.accident()
            return real(*arguments, **options)

        return call


def full() -> NoReturn:
    """No room is left."""
    raise OSError(errno.ENOSPC, "No space left on device")


def read_only() -> NoReturn:
    """Nothing may be written."""
    raise OSError(errno.EROFS, "Read-only file system")


def killed() -> None:
    """The process ends without another instruction."""
    os.kill(os.getpid(), 9)


def transcript(content: str, name: str = "a.jsonl") -> Path:
    """A transcript that was written a while ago."""
    path = Path(paths.client_config_dir(), "projects/p", name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    os.utime(path, (1_000_000, 1_000_000))
    return path
