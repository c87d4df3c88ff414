"""Hands content back: whole, or a range of lines or bytes, and only if it is undamaged."""

from __future__ import annotations

import os
from typing import Any

from brimline import fastjson
from brimline.store import audit, blobfile, files, layout, put, quiet, removal, scan
from brimline.store.errors import StoreError

SHORTEST_PREFIX = layout.SHORTEST_PREFIX
LAST = "last"


def get(home_dir: str, key: str, *, touch: bool = True) -> bytes:
    """The content of a key, checked against its hash.

    Args:
        home_dir: the data folder.
        key: a complete key.
        touch: whether this counts as a use, which keeps it from being pruned by age.

    Raises:
        StoreError: it is not there, or damaged: then it is never returned.
    """
    digest = layout.digest_of(key)
    data = _checked(home_dir, digest)
    if touch:
        try:
            files.touch(home_dir, digest)
        except OSError:  # a store that is read-only can be read
            pass
    return data


def resolve(home_dir: str, text: str) -> str:
    """The complete key for one as people write it: without `sha256:`, shortened, or `last`.

    Raises:
        StoreError: it fits no blob, or more than one.
    """
    if text == LAST:
        return last_key(home_dir)
    start = text.strip().lower().removeprefix(layout.PREFIX)
    if not layout.is_hex(start) or not SHORTEST_PREFIX <= len(start) <= layout.DIGEST_LENGTH:
        raise StoreError(
            f"{text!r} is no key: write sha256: and {SHORTEST_PREFIX} to 64 hexadecimal digits"
        )
    found = scan.matching(home_dir, start)
    if len(found) > 1:
        raise StoreError(f"{len(found)} keys begin with {text!r}: write more digits")
    if not found:
        if len(start) == layout.DIGEST_LENGTH and _restore(home_dir, start):
            return layout.PREFIX + start
        raise _missing(layout.PREFIX + start)
    return layout.PREFIX + found[0]


def last_key(home_dir: str) -> str:
    """The key that was stored last; where the note of it is lost, by the audit trail.

    Raises:
        StoreError: nothing was stored yet, or it is gone.
    """
    try:
        text = quiet.read(layout.last_key(home_dir)).decode("ascii", "replace").strip()
        digest = layout.digest_of(text)
    except (OSError, StoreError):
        return _newest(home_dir)
    if not os.path.exists(layout.blob(home_dir, digest)):
        raise _missing(text)
    return text


def meta(home_dir: str, key: str) -> dict[str, Any]:
    """What is known about a blob; empty where the sidecar is lost or damaged."""
    try:
        raw = quiet.read(layout.sidecar(home_dir, layout.digest_of(key)))
        found = fastjson.loads(raw.decode("utf-8", "replace"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def lines(data: bytes, first: int | None, last: int | None) -> bytes:
    """Lines `first` to `last`, both counted from 1 and included; below 0: from the end."""
    rows = data.split(b"\n")
    ends = [row + b"\n" for row in rows[:-1]] + ([rows[-1]] if rows[-1] else [])
    start = _position(first, 1, len(ends)) - 1
    stop = _position(last, len(ends), len(ends))
    return b"".join(ends[max(start, 0) : max(stop, 0)])


def byte_range(data: bytes, start: int | None, stop: int | None) -> bytes:
    """Bytes from `start` up to, without, `stop`, counted from 0; below 0: from the end."""
    return data[start:stop]


def empty_range(asked: str, unit: str, count: int) -> StoreError:
    """Why a range holds nothing of content that has `count` lines or bytes."""
    first = parse_range(asked)[0]
    if first is not None and first > count - (unit == "byte"):
        return StoreError(f"there is no {unit} {first:,}: the content has {count:,} {unit}s")
    return StoreError(f"{asked!r} asks for no {unit}s: it ends before it begins")


def parse_range(text: str) -> tuple[int | None, int | None]:
    """The ends of `A:B`, `A:` or `:B`.

    Raises:
        StoreError: it is no range.
    """
    first, colon, last = text.strip().partition(":")
    try:
        start = int(first) if first.strip() else None
        stop = int(last) if last.strip() else None
    except ValueError:
        colon = ""
    if not colon or not (first + last).strip():
        raise StoreError(f"{text!r} is no range: write A:B, A: or :B")
    return start, stop


def _newest(home_dir: str) -> str:
    used = {blob.key: blob.used_ns for blob in scan.blobs(home_dir)}
    if not used:
        raise StoreError("nothing has been stored yet")
    put_keys = [line.get("key") for line in audit.lines(home_dir) if line.get("event") == "put"]
    newest = next((key for key in reversed(put_keys) if key in used), None)
    return newest or max(used, key=lambda key: used[key])


def _checked(home_dir: str, digest: str) -> bytes:
    key = layout.PREFIX + digest
    try:
        data = blobfile.unpack(_read(home_dir, digest))
    except FileNotFoundError:
        raise _missing(key) from None
    except OSError as error:
        raise StoreError(f"{key} cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        raise _damaged(key, str(error)) from None
    except ImportError:
        raise StoreError(
            f"{key} is compressed with zstd: pip install zstandard to read it"
        ) from None
    if put.sha256(data) != digest:
        raise _damaged(key, "its content does not match the key")
    return data


def _read(home_dir: str, digest: str) -> bytes:
    path = layout.blob(home_dir, digest)
    try:
        return quiet.read(path)
    except FileNotFoundError:
        if not _restore(home_dir, digest):
            raise
        return quiet.read(path)


def _restore(home_dir: str, digest: str) -> bool:
    """Bring back what a removal that was killed left aside."""
    for path in removal.aside_files(home_dir, digest):
        removal.put_back(home_dir, path)
    return os.path.exists(layout.blob(home_dir, digest))


def _missing(key: str) -> StoreError:
    return StoreError(f"{key} is not in the store: it was pruned, forgotten or never stored")


def _damaged(key: str, how: str) -> StoreError:
    return StoreError(
        f"{key} is damaged and was not returned ({how}): `brimline store verify` lists all such"
    )


def _position(wanted: int | None, default: int, count: int) -> int:
    if wanted is None:
        return default
    return count + 1 + wanted if wanted < 0 else wanted
