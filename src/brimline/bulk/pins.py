"""Pins: the promise not to prune a blob.

A pin is a file of its own beside the sidecar. It is replaced whole, so parallel changes leave one
of them, never a mixture. One that cannot be read counts as hard: in doubt a blob stays.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from brimline.bulk import contents, layout
from brimline.errors import StoreError
from brimline.fast import io, json

FORMAT = 1
NONE, SOFT, HARD = "none", "soft", "hard"
LEVELS = (NONE, SOFT, HARD)
LAST = "last"


class Pin(NamedTuple):
    """How firmly a blob is held, why, and since when (seconds since 1970)."""

    level: str
    reason: str | None = None
    at: float | None = None


def level_rank(level: str) -> int:
    """Levels in order: a higher one holds more firmly."""
    return LEVELS.index(level)


def pin(home_dir: str, key: str, level: str = SOFT, reason: str | None = None) -> None:
    """Pin a blob, or with level `none` let it go.

    Raises:
        StoreError: there is no such blob, or no such level.
        OSError: the pin cannot be written.
    """
    if level not in LEVELS:
        raise StoreError(f"{level!r} is not a pin level: use none, soft or hard")
    digest = layout.digest_of_key(key)
    path = layout.stored_path(home_dir, digest, "pin")
    at = layout.store_now_ns(home_dir) // 1_000_000 / 1_000
    if level == NONE:
        io.remove(path)
    else:
        document = {"v": FORMAT, "level": level, "reason": reason, "at": at}
        layout.write_atomically(home_dir, path, json.dumps(document).encode(), sync=True)
    # Looked for after the pin is there: a prune that began before sees the pin, or has won.
    if not os.path.lexists(layout.stored_path(home_dir, digest)):
        io.remove(path)
        raise StoreError(f"{key} is not in the store: it was pruned, forgotten or never stored")
    layout.note_store_event(home_dir, "pin", key, level=level)


def read_pin(home_dir: str, digest: str) -> Pin | None:
    """The pin of a blob, if any."""
    try:
        raw = layout.read_store_file(layout.stored_path(home_dir, digest, "pin"))
    except FileNotFoundError:
        return None
    except OSError as error:
        return Pin(HARD, f"the pin cannot be read: {error.strerror or error}")
    try:
        stored = json.parse_object(raw)
        level, reason, at = stored["level"], stored["reason"], stored["at"]
    except (ValueError, KeyError):
        level = ""
    if level not in LEVELS:
        return Pin(HARD, "the pin is damaged")
    return Pin(level, reason if isinstance(reason, str) else None, at)


def pin_level_of(home_dir: str, digest: str) -> str:
    """The pin level of a blob."""
    found = read_pin(home_dir, digest)
    return found.level if found else NONE


def all_pins(home_dir: str) -> dict[str, Pin]:
    """Every pin, by the digest of its blob, whether the blob is there or not.

    Raises:
        StoreError: a folder cannot be read.
    """
    pins = {}
    for digest, kind in contents.digest_kind_pairs_in_meta(home_dir):
        if kind == "pin" and (found := read_pin(home_dir, digest)):
            pins[digest] = found
    return pins
