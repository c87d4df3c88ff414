"""Small file operations for hooks, straight on system calls; and what their records are made of.

Fast path: imports only `sys`, `time` and `posix`. `import os` would cost a sixth of the
interpreter's start-up. Everything created here is private to the user (600 in 700) from the start.
"""

from __future__ import annotations

import posix
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, dataclass_transform
    from typing import NamedTuple as NamedTuple  # noqa: PLC0414 - mypy's way to hand a name on

    @dataclass_transform(kw_only_default=True)
    class Record:
        """A class that is its fields, as with `dataclasses`, whose import costs a hook too much."""
else:
    Record = type(sys.implementation)  # which takes what it is named, and needs no import

    class _Made(type):
        def __new__(cls, name: str, bases: Any, space: dict[str, Any]) -> Any:
            if not bases:
                return super().__new__(cls, name, bases, space)
            from collections import namedtuple

            fields = space["__annotations__"]
            defaults = [space.pop(field) for field in fields if field in space]
            made = namedtuple(name, fields, defaults=defaults)  # noqa: PYI024 - without `typing`
            return type(name, (made,), space | {"__slots__": ()})

    class NamedTuple(metaclass=_Made):
        """The same as in `typing`, whose import takes half as long as an interpreter's start."""


system = posix
# Not waiting: a named pipe in the place of a file must not hold a hook up.
_COMMON = system.O_CLOEXEC | system.O_NONBLOCK
READ = system.O_RDONLY | _COMMON
_CREATE = system.O_WRONLY | system.O_CREAT | _COMMON
_BLOCK_BYTES = 1 << 20
# Backwards, a file is read in blocks that grow with its lines, and no further than this.
_WALK_LIMIT_BYTES = 32 << 20
_FIRST_BLOCK_BYTES = 64 << 10
_LARGEST_BLOCK_BYTES = 4 << 20
_REGULAR_FILE = 0o100000
_FILE_KIND = 0o170000
_MOST_DIGITS = 12


def env(name: str) -> str | None:
    """An environment variable; the live one where `os` is loaded, so that tests can set it."""
    loaded = sys.modules.get("os")
    if loaded is not None:
        found: str | None = loaded.environ.get(name)
        return found
    raw = system.environ.get(name.encode())
    return raw.decode("utf-8", "surrogateescape") if isinstance(raw, bytes) else raw


def set_env(name: str, value: str) -> None:
    """Set an environment variable, for this process and those that it starts; empty: remove it."""
    loaded = sys.modules.get("os")
    if loaded is not None:
        if value:
            loaded.environ[name] = value
        else:
            loaded.environ.pop(name, None)
        return
    key = name.encode()
    if value:
        system.environ[key] = path_bytes(value)
        system.putenv(key, path_bytes(value))
    elif system.environ.pop(key, None) is not None:
        system.unsetenv(key)


def env_names_with_prefix(prefix: str, but: tuple[str, ...] = ()) -> list[str]:
    """The names of the environment variables that begin with a prefix, some left out."""
    loaded = sys.modules.get("os")
    if loaded is None:
        start = prefix.encode()
        raw = [name for name in system.environ if name.startswith(start)]
        names = [name.decode("ascii", "replace") for name in raw]
    else:
        names = [name for name in loaded.environ if name.startswith(prefix)]
    return [name for name in names if name not in but]


def parse_positive_number(text: str) -> int | None:
    """Return what a variable of plain digits says; None for 0 and for every other text."""
    plain = text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS
    return int(text) or None if plain else None


def path_bytes(path: str) -> bytes:
    """Encode a path the way the file system stores it.

    Raises:
        FileNotFoundError: no file can have such a name.
    """
    try:
        raw = path.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # half of a pair, as JSON may hold
        raw = path.encode("utf-8", "surrogatepass")
    if b"\0" in raw:
        raise FileNotFoundError(f"{path!r} names nothing")
    return raw


def read_file(path: str, limit: int | None = None) -> bytes:
    """Read a whole file, or its first `limit` bytes."""
    descriptor = system.open(path_bytes(path), READ)
    try:
        return read_descriptor(descriptor, limit)
    except OSError as error:
        error.filename = path  # of a folder, which can be opened, the system says none
        raise
    finally:
        system.close(descriptor)


def read_descriptor(descriptor: int, limit: int | None = None) -> bytes:
    """Read a descriptor to its end, or `limit` bytes of it."""
    blocks = []
    left = limit if limit is not None else 1 << 62
    while left > 0 and (block := system.read(descriptor, min(left, _BLOCK_BYTES))):
        blocks.append(block)
        left -= len(block)
    return b"".join(blocks)


def write_to_stdout(data: bytes) -> None:
    """Write all of it to standard output; nothing where nobody reads it any more."""
    try:
        while data:
            data = data[system.write(1, data) :]
    except OSError:
        pass  # the client is gone


def lines_backward_with_offsets(path: str) -> Iterator[tuple[int, bytes]]:
    """The lines of a regular file from the last to the first, each with its offset.

    Raises:
        OSError: the file cannot be read, or is not a regular file.
    """
    descriptor = system.open(path_bytes(path), READ)
    try:
        stat = system.fstat(descriptor)
        if stat.st_mode & _FILE_KIND != _REGULAR_FILE:
            raise OSError("not a regular file")
        position = size = stat.st_size
        block_bytes = _FIRST_BLOCK_BYTES
        unfinished: list[bytes] = []  # the end of a line whose start is not read yet, last first
        while position > 0 and size - position < _WALK_LIMIT_BYTES:
            count = end = min(block_bytes, position)
            position -= count
            system.lseek(descriptor, position, 0)
            block = system.read(descriptor, count)
            if len(block) != count:
                return  # the file shrank under us: what was read before still holds
            while (newline := block.rfind(b"\n", 0, end)) >= 0:
                unfinished.append(block[newline + 1 : end])
                yield position + newline + 1, b"".join(reversed(unfinished))
                unfinished.clear()
                end = newline
            unfinished.append(block[:end])
            if end == count:
                block_bytes = min(block_bytes * 4, _LARGEST_BLOCK_BYTES)
        if position == 0 and unfinished:
            yield 0, b"".join(reversed(unfinished))
    finally:
        system.close(descriptor)


def append_line(path: str, line: str) -> None:
    """Add one line in a single write: lines of parallel processes never mix.

    Raises:
        OSError: the line could not be written whole (a full disk, for example).
    """
    _open_and_write(
        path, _CREATE | system.O_APPEND, line.encode("utf-8", "surrogateescape") + b"\n"
    )


def replace_file(path: str, data: bytes, mode: int = 0o600) -> None:
    """Put a complete new file in the place of another; readers see the old one or the new one."""
    temporary = f"{path}.{system.getpid()}.{time.monotonic_ns()}.tmp"
    _open_and_write(temporary, _CREATE | system.O_EXCL, data, mode)
    try:
        system.replace(path_bytes(temporary), path_bytes(path))
    except BaseException:
        remove(temporary)
        raise


def create_exclusively(path: str, data: bytes) -> bool:
    """Create a file that must not exist yet; exactly one of many racing processes gets True."""
    try:
        _open_and_write(path, _CREATE | system.O_EXCL, data)
    except FileExistsError:
        return False
    return True


def rotate_if_too_large(path: str, limit_bytes: int) -> None:
    """Keep a log that grew too large as `.old`; the one before that is dropped."""
    if file_size(path) > limit_bytes:
        system.replace(path_bytes(path), path_bytes(path + ".old"))


def does_file_contain(path: str, mark: bytes) -> bool:
    """Tell whether some bytes stand in a file; none do in one that cannot be read."""
    try:
        descriptor = system.open(path_bytes(path), READ)
    except OSError:
        return False
    try:
        end = b""
        while block := system.read(descriptor, _BLOCK_BYTES):
            if mark in block or mark in end + block[: len(mark)]:
                return True
            end = block[-len(mark) :]
    except OSError:
        pass
    finally:
        system.close(descriptor)
    return False


def file_size(path: str) -> int:
    """Return how long a file is; 0 where it cannot be seen."""
    try:
        return system.stat(path_bytes(path)).st_size
    except OSError:
        return 0


def file_time(path: str) -> float:
    """Return when a file was written last; 0 where it cannot be seen."""
    try:
        return system.stat(path_bytes(path)).st_mtime
    except OSError:
        return 0.0


def list_names(folder: str) -> list[str]:
    """List a folder; one that is not there is empty."""
    try:
        names = system.listdir(path_bytes(folder))
    except (FileNotFoundError, NotADirectoryError):
        return []
    return [name.decode("utf-8", "surrogateescape") for name in names]


def remove(path: str) -> None:
    """Delete a file; one that is already gone is fine."""
    try:
        system.unlink(path_bytes(path))
    except FileNotFoundError:
        pass


def make_folder_and_parents(path: str) -> None:
    """Create a folder and its missing parents, each readable by the user alone."""
    try:
        system.mkdir(path_bytes(path), 0o700)
    except FileExistsError:
        return
    except FileNotFoundError:
        parent = path.rpartition("/")[0]
        if not parent:
            raise
        make_folder_and_parents(parent)
        try:
            system.mkdir(path_bytes(path), 0o700)
        except FileExistsError:
            return


def _open_and_write(path: str, flags: int, data: bytes, mode: int = 0o600) -> None:
    """Write all of it in one go, into folders that need not exist yet, or leave no new file."""
    try:
        descriptor = system.open(path_bytes(path), flags, mode)
    except FileNotFoundError:
        make_folder_and_parents(path.rpartition("/")[0])
        descriptor = system.open(path_bytes(path), flags, mode)
    try:
        if system.write(descriptor, data) != len(data):
            raise OSError("only part of it fitted on the disk")  # noqa: TRY301 - cleared away below
    except BaseException:
        if flags & system.O_EXCL:
            remove(path)
        raise
    finally:
        system.close(descriptor)
