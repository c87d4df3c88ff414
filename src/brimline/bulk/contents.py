"""Hands content back, only if it is undamaged, and tells what is stored.

Names and file attributes say what there is, so that a hundred thousand blobs take well under a
second. Links, pipes and devices in the place of a blob are never followed or read.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
from typing import TYPE_CHECKING, Any, NamedTuple

from brimline.bulk import layout, put
from brimline.errors import StoreError
from brimline.fast import io, json

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

LAST = "last"
_REMOVALS = ("prune", "gc", "forget")
_SHARD = re.compile(r"[0-9a-f]{2}")
_REST = re.compile(r"[0-9a-f]{62}")
# What a removal moved aside, in the folder for temporary files: digest and kind.
ASIDE = re.compile(r"([0-9a-f]{64})\.(blob|json|pin)\.\d+\.\d+\.gone")
_BESIDE = re.compile(r"([0-9a-f]{62})\.(json|pin)")
# First line, character to begin at, colon, last line.
_RANGE = re.compile(r"\s*(-?\d{1,12})?(?:@(\d{1,12}))?\s*(:)?\s*(-?\d{1,12})?\s*", re.ASCII)
_DASHED = re.compile(r"\s*(\d+)\s*-\s*(\d+)\s*", re.ASCII)


class Blob(NamedTuple):
    """A blob as a scan found it."""

    digest: str
    disk_bytes: int
    used_ns: int  # last stored or read, since 1970

    @property
    def key(self) -> str:
        """The key it can be had by."""
        return layout.PREFIX + self.digest


class Span(NamedTuple):
    """Lines that are asked for, counted from 1, both ends included."""

    first: int
    last: int
    skipped: int = 0  # characters of the first line that were shown before


def read_content(home_dir: str, key: str, *, touch: bool = True) -> bytes:
    """The content of a key, checked against its hash.

    Args:
        home_dir: the data folder.
        key: a complete key.
        touch: whether this counts as a use, which keeps it from being pruned by age.

    Raises:
        StoreError: it is not there, or damaged: then it is never returned.
    """
    digest = layout.digest_of_key(key)
    try:
        data = put.unpack_blob(_read_blob_file(home_dir, digest))
        if put.sha256(data) != digest:
            raise ValueError("it is damaged, its content does not match the key")  # noqa: TRY301 - told below
    except FileNotFoundError:
        raise _missing_error(key) from None
    except OSError as error:
        raise StoreError(f"{key} cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        raise StoreError(f"{key} cannot be returned: {error}") from None
    if touch:
        with contextlib.suppress(OSError):  # a store that is read-only can be read
            layout.mark_as_used(home_dir, digest)
    return data


def resolve_key(home_dir: str, text: str) -> str:
    """The complete key for one as people write it: without `sha256:`, shortened, or `last`.

    Raises:
        StoreError: it fits no blob, or more than one.
    """
    if text == LAST:
        return last_key(home_dir)
    start = text.strip().lower().removeprefix(layout.PREFIX)
    shortest = layout.SHORTEST_PREFIX
    if not layout.is_hex(start) or not shortest <= len(start) <= layout.DIGEST_LENGTH:
        raise StoreError(
            f"{text!r} is not a key: write sha256: and {shortest} to 64 hexadecimal digits"
        )
    found = digests_starting_with(home_dir, start)
    if len(found) > 1:
        raise StoreError(f"{len(found)} keys begin with {text!r}: write more digits")
    if not found:
        if len(start) == layout.DIGEST_LENGTH and bring_back_blob_from_aside(home_dir, start):
            return layout.PREFIX + start
        raise _missing_error(layout.PREFIX + start)
    return layout.PREFIX + found[0]


def last_key(home_dir: str) -> str:
    """The key that was stored last on its own; without one (after a compaction) the one used last.

    Raises:
        StoreError: nothing was stored yet, or it is gone.
    """
    try:
        noted = layout.read_store_file(home_dir + layout.LAST_KEY)
        text = noted.decode("ascii", "replace").strip()
        digest = layout.digest_of_key(text)
    except (OSError, StoreError):
        all_blobs = list_blobs(home_dir)
        if not all_blobs:
            raise StoreError("nothing has been stored yet") from None
        return max(all_blobs, key=lambda blob: blob.used_ns).key
    if not os.path.lexists(layout.stored_path(home_dir, digest)):
        raise _missing_error(text)
    return text


def last_key_of_session(home_dir: str, session: str) -> str:
    """The key that a session stored last.

    Raises:
        StoreError: it has stored nothing.
    """
    told = [line for line in read_store_events(home_dir) if line.get("session") == session]
    puts = [line["key"] for line in told if line.get("event") == "put"]
    if not puts:
        raise StoreError("this session has stored nothing yet")
    return str(puts[-1])


def read_sidecar(home_dir: str, key: str) -> dict[str, Any]:
    """Return what is known about a blob; empty where the sidecar is lost or damaged."""
    path = layout.stored_path(home_dir, layout.digest_of_key(key), "json")
    try:
        return json.parse_object(layout.read_store_file(path))
    except (OSError, ValueError):
        return {}


def length_of_content(home_dir: str, digest: str) -> int | None:
    """The length of a blob's content; None where it is gone or damaged."""
    try:
        raw = layout.read_store_file(layout.stored_path(home_dir, digest), put.HEADER_BYTES)
        return put.read_blob_header(raw)[1]
    except (OSError, ValueError):
        return None


def list_blobs(home_dir: str) -> list[Blob]:
    """Every blob in the store.

    Raises:
        StoreError: a folder cannot be read.
    """
    found = []
    for shard, entries in _entries_by_shard(layout.store_folder(home_dir) + "/blobs"):
        for entry in entries:
            if not _REST.fullmatch(entry.name):
                continue
            try:
                status = entry.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue
            if stat.S_ISREG(status.st_mode):
                found.append(Blob(shard + entry.name, status.st_size, status.st_mtime_ns))
    return found


def digest_kind_pairs_in_meta(home_dir: str) -> Iterator[tuple[str, str]]:
    """Digest and kind (`json`, `pin`) of every file beside a blob.

    Raises:
        StoreError: a folder cannot be read.
    """
    for shard, entries in _entries_by_shard(layout.store_folder(home_dir) + "/meta"):
        for entry in entries:
            if name := _BESIDE.fullmatch(entry.name):
                yield shard + name[1], name[2]


def digests_starting_with(home_dir: str, start: str) -> list[str]:
    """The digests that begin with some digits, at least two.

    Raises:
        StoreError: the folder cannot be read.
    """
    folder = f"{layout.store_folder(home_dir)}/blobs/{start[:2]}"
    names = [entry.name for entry in _folder_entries(folder) if _REST.fullmatch(entry.name)]
    return sorted(start[:2] + name for name in names if name.startswith(start[2:]))


def bring_back_blob_from_aside(home_dir: str, digest: str) -> bool:
    """Bring back what a removal that was killed left aside; whether the blob is there then."""
    for path in files_moved_aside(home_dir, digest):
        put_back_file_from_aside(home_dir, path)
    return os.path.lexists(layout.stored_path(home_dir, digest))


def put_back_file_from_aside(home_dir: str, moved: str) -> None:
    """Return a file that was moved aside to its place, unless a newer one is there."""
    found = ASIDE.fullmatch(os.path.basename(moved))
    if found is None:
        return
    place = layout.stored_path(home_dir, *found.groups())
    with contextlib.suppress(FileNotFoundError):
        if not os.path.lexists(place):
            try:
                os.link(moved, place)
            except FileExistsError:
                pass
            except (OSError, AttributeError):  # a file system without hard links
                os.rename(moved, place)
        os.unlink(moved)


def files_moved_aside(home_dir: str, digest: str = "") -> list[str]:
    """Return what was moved aside, of one blob or of all."""
    folder = home_dir + layout.TMP
    names = [name for name in io.list_names(folder) if name.endswith(".gone")]
    return [f"{folder}/{name}" for name in names if name.startswith(digest)]


def read_store_events(home_dir: str) -> Iterator[dict[str, Any]]:
    """Every line that tells what happened to a blob, as far as it can be read, oldest first."""
    for path in store_events_paths(home_dir):
        with contextlib.suppress(OSError):
            yield from json.parse_and_count_damaged(layout.read_store_file(path))[0]


def store_events_paths(home_dir: str) -> tuple[str, str]:
    """The files of the trail, the older one first."""
    newest = home_dir + layout.INDEX
    return newest + ".old", newest


def puts_by_key_and_session(home_dir: str) -> dict[str, dict[str, Any]]:
    """For every key the sessions that stored what is there, each with the last line about it."""
    found: dict[str, dict[str, Any]] = {}
    for line in read_store_events(home_dir):
        key, session, event = line.get("key"), line.get("session"), line.get("event")
        if event in _REMOVALS:
            found.pop(str(key), None)
        elif event == "put" and isinstance(key, str) and session:
            found.setdefault(key, {})[str(session)] = line
    return found


def byte_lines_without_breaks(data: bytes) -> list[bytes]:
    """The lines of some content without their line breaks."""
    lines = data.split(b"\n")
    return lines if lines[-1] else lines[:-1]


def parse_range(text: str, count: int, what: str = "line") -> Span:
    """The lines, or whatever else is counted, that `A:B`, `A:`, `:B`, `A` or `A-B` asks for.

    Numbers below 0 count from the end, and `A@C` begins at a character of a line.

    Raises:
        StoreError: it is not a range, or begins behind the last line.
    """
    dashed = _DASHED.fullmatch(text)
    match = _RANGE.fullmatch(f"{dashed[1]}:{dashed[2]}" if dashed else text)
    start, character, colon, end = match.groups() if match else [None] * 4
    if not start and not end:
        raise StoreError(f"{text[:40]!r} is not a range of {what}s: write A:B, A: or :B")
    first = _line_number_or_default(start, 1, count)
    last = _line_number_or_default(end, count, count) if colon else first
    if first > count:
        raise StoreError(f"there is no {what} {first:,}: the last one is {count:,}")
    if last < first:
        raise StoreError(f"{text!r} asks for no {what}s: it ends before it begins")
    return Span(first, min(last, count), int(character or "1") - 1)


def _line_number_or_default(text: str | None, default: int, count: int) -> int:
    if text is None:
        return default
    number = int(text)
    return max(1, count + 1 + number if number < 0 else number)


def _read_blob_file(home_dir: str, digest: str) -> bytes:
    """Content as it is stored; what is gone from the store is brought back where that can be."""
    path = layout.stored_path(home_dir, digest)
    try:
        return layout.read_store_file(path)
    except FileNotFoundError:
        if not bring_back_blob_from_aside(home_dir, digest):
            raise
        return layout.read_store_file(path)


def _missing_error(key: str) -> StoreError:
    return StoreError(
        f"{key} is not in the store: it was pruned, forgotten or never stored, and no session's"
        " file has it; run the command or read the file again"
    )


def _entries_by_shard(folder: str) -> Iterator[tuple[str, Iterable[os.DirEntry[str]]]]:
    for shard in sorted(_folder_entries(folder), key=lambda entry: entry.name):
        if _SHARD.fullmatch(shard.name):
            yield shard.name, _folder_entries(shard.path)


def _folder_entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise StoreError(f"{folder} cannot be read: {error.strerror or error}") from error
