"""Where things lie in the store, the shape of a key, and how a file gets into its place whole.

Fast path: imports only `time`, `brimline.errors`, `brimline.fast.io` and `brimline.fast.json`.

    store/format                 the version of this layout
    store/blobs/ab/<62 hex>      content with a header that names its compression (`blob`);
                                 the time of its last use is the file's modification time
    store/meta/ab/<62 hex>.json  what is known about it: size, lines, tool, command, session, …
    store/meta/ab/<62 hex>.pin   its pin: level and reason
    store/index.jsonl            what happened to blobs, one line each, only ever appended to
    store/last_key               the key that was stored last
    store/clients                configuration folders of the client that use this store
    store/references.json        which files mention which keys, as last seen
    store/tidied                 when the limits were last enforced
    store/tmp/                   files that are being written, and blobs that are being removed

Store time never runs backwards: where the clock is behind the time of the last put, that time is
used instead. Otherwise content stored while the clock was wrong would look old once it is right.
"""

from __future__ import annotations

import time

from brimline.errors import StoreError
from brimline.fast import io, json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FORMAT = 1
# Files and a folder of the store, below the data folder.
FORMAT_FILE, INDEX, LAST_KEY = "/store/format", "/store/index.jsonl", "/store/last_key"
CLIENTS, REFERENCES, TMP = "/store/clients", "/store/references.json", "/store/tmp"
PREFIX = "sha256:"
DIGEST_LENGTH = 64
# So few digits may stand for a whole key.
SHORTEST_PREFIX = 8
# Enough of a key to find one output among more than any store holds.
SHORT_CHARACTERS = len(PREFIX) + 12
_HEX = frozenset("0123456789abcdef")
_system = io.system
_CREATE = _system.O_WRONLY | _system.O_CREAT | _system.O_EXCL | _system.O_CLOEXEC
# Not waiting: a pipe that nobody writes to never ends.
_READ = _system.O_RDONLY | _system.O_CLOEXEC | _system.O_NONBLOCK
_KIND_OF_FILE, _REGULAR = 0o170000, 0o100000
# File systems keep times more coarsely than the clock tells them.
_TOLERANCE_NS = 2_000_000_000


def store_folder(home_dir: str) -> str:
    """The store's folder."""
    return home_dir + "/store"


def stored_path(home_dir: str, digest: str, kind: str = "blob") -> str:
    """The file with the content, or the `json` or `pin` beside it."""
    if kind == "blob":
        return f"{home_dir}/store/blobs/{digest[:2]}/{digest[2:]}"
    return f"{home_dir}/store/meta/{digest[:2]}/{digest[2:]}.{kind}"


def refuse_newer_format(home_dir: str) -> None:
    """See that this brimline knows the store's layout.

    Raises:
        StoreError: a newer one wrote it.
        OSError: it cannot be read.
    """
    try:
        text = io.read_file(home_dir + FORMAT_FILE, 20).decode("ascii", "replace").strip()
    except FileNotFoundError:
        return
    if text.isdecimal() and int(text) > FORMAT:
        raise StoreError(f"{store_folder(home_dir)} was written by a newer brimline: upgrade this")


def digest_of_key(key: str) -> str:
    """The digits of a complete key; foreign text never becomes part of a path.

    Raises:
        StoreError: it is not a key.
    """
    digest = key.removeprefix(PREFIX)
    if key == digest or not is_digest(digest):
        raise StoreError(f"{key!r} is not a key: it takes sha256: and 64 hexadecimal digits")
    return digest


def is_digest(text: str) -> bool:
    """Tell whether a text is 64 lower-case hexadecimal digits."""
    return len(text) == DIGEST_LENGTH and is_hex(text)


def is_hex(text: str) -> bool:
    """Tell whether a text holds lower-case hexadecimal digits only."""
    return _HEX.issuperset(text)


def shorten_key(key: str) -> str:
    """As much of a key as people and models need."""
    return key[:SHORT_CHARACTERS]


def open_regular_file(path: str, *, follow: bool = False) -> int:
    """A descriptor for reading a file; links are refused unless they are to be followed.

    Raises:
        OSError: it cannot be opened, or is a link, a folder, a pipe or a device.
    """
    # A link in the place of a file may lead anywhere.
    flags = _READ if follow else _READ | _system.O_NOFOLLOW
    descriptor = io.system.open(io.path_bytes(path), flags)
    if io.system.fstat(descriptor).st_mode & _KIND_OF_FILE != _REGULAR:
        io.system.close(descriptor)
        raise OSError(22, "it is not a regular file", path)
    return descriptor


def read_store_file(path: str, limit: int | None = None) -> bytes:
    """A whole file of the store, or its first bytes.

    Raises:
        OSError: it cannot be read, or is a link, a folder, a pipe or a device.
    """
    descriptor = open_regular_file(path)
    try:
        return io.read_descriptor(descriptor, limit)
    finally:
        io.system.close(descriptor)


def write_atomically(
    home_dir: str, target: str, data: bytes, *, stamp_ns: int | None = None, sync: bool = False
) -> None:
    """Write a file beside its place and move it there; readers see all of it or none of it.

    With `sync` its content is on the disk before its name is. The name follows with the file
    system's own journal, ahead of anything written later, such as a transcript that mentions it.

    Raises:
        OSError: the disk is full, the folder cannot be written, …
    """
    path = f"{home_dir}{TMP}/{io.system.getpid()}.{time.monotonic_ns()}.tmp"
    try:
        descriptor = io.system.open(io.path_bytes(path), _CREATE, 0o600)
    except FileNotFoundError:
        io.make_folder_and_parents(home_dir + TMP)
        io.create_exclusively(home_dir + FORMAT_FILE, b"%d\n" % FORMAT)
        descriptor = io.system.open(io.path_bytes(path), _CREATE, 0o600)
    try:
        try:
            written = 0
            while written < len(data):
                written += io.system.write(descriptor, memoryview(data)[written:])
            if sync:
                io.system.fsync(descriptor)
        finally:
            io.system.close(descriptor)
        if stamp_ns is not None:
            io.system.utime(io.path_bytes(path), ns=(stamp_ns, stamp_ns))
        try:
            io.system.replace(io.path_bytes(path), io.path_bytes(target))
        except FileNotFoundError:
            io.make_folder_and_parents(target.rpartition("/")[0])
            io.system.replace(io.path_bytes(path), io.path_bytes(target))
    except OSError:
        io.remove(path)
        raise


def store_now_ns(home_dir: str) -> int:
    """The present in store time, in nanoseconds since 1970."""
    now = time.time_ns()
    try:
        last = io.system.stat(io.path_bytes(home_dir + LAST_KEY)).st_mtime_ns
    except OSError:
        return now
    return last if last > now + _TOLERANCE_NS else now


def note_store_event(home_dir: str, event: str, key: str, **fields: Any) -> None:
    """Add a line to the trail; what is told has happened, so that telling may fail."""
    at = store_now_ns(home_dir) // 1_000_000 / 1_000
    try:
        json.append_line(home_dir + INDEX, {"at": at, "event": event, "key": key} | fields)
    except OSError:
        pass


def mark_as_used(home_dir: str, digest: str) -> bool:
    """Note that a blob is in use; False where it is not there.

    Its time always changes, so that whoever is about to remove it can tell.

    Raises:
        OSError: the time cannot be set.
    """
    path = io.path_bytes(stored_path(home_dir, digest))
    try:
        found = io.system.lstat(path)
        if found.st_mode & _KIND_OF_FILE != _REGULAR:
            return False
        # A whole microsecond: some file systems keep no finer times.
        moment = max(store_now_ns(home_dir), found.st_mtime_ns + 1_000)
        io.system.utime(path, ns=(moment, moment))
    except FileNotFoundError:
        return False
    return True
