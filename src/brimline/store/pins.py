"""Pins: the promise not to prune a blob, kept in a file of its own beside the sidecar.

A pin is replaced whole, so parallel changes leave one of them, never a mixture. One that cannot be
read counts as hard: in doubt a blob stays.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from brimline.errors import StoreError
from brimline.fast import io, json
from brimline.store import contents, layout

FORMAT = 1
NONE, SOFT, HARD = "none", "soft", "hard"
LEVELS = (NONE, SOFT, HARD)


class Pin(NamedTuple):
    """How firmly a blob is held, why, and since when (seconds since 1970)."""

    level: str
    reason: str | None = None
    at: float | None = None


def rank(level: str) -> int:
    """Levels in order: a higher one holds more firmly."""
    return LEVELS.index(level)


def pin(home_dir: str, key: str, level: str = SOFT, reason: str | None = None) -> None:
    """Pin a blob, or with level `none` let it go.

    Raises:
        StoreError: there is no such blob, or no such level.
        OSError: the pin cannot be written.
    """
    if level not in LEVELS:
        raise StoreError(f"{level!r} is no pin level: use none, soft or hard")
    digest = layout.digest_of(key)
    path = layout.file(home_dir, digest, "pin")
    at = layout.now_ns(home_dir) // 1_000_000 / 1_000
    if level == NONE:
        io.remove(path)
    else:
        document = {"v": FORMAT, "level": level, "reason": reason, "at": at}
        layout.place(home_dir, path, json.dumps(document).encode(), sync=True)
    # Looked for after the pin is there: a prune that began before sees the pin, or has won.
    if not os.path.lexists(layout.file(home_dir, digest)):
        io.remove(path)
        raise StoreError(f"{key} is not in the store: it was pruned, forgotten or never stored")
    layout.note(home_dir, "pin", key, level=level, reason=reason)


def read(home_dir: str, digest: str) -> Pin | None:
    """The pin of a blob, if any."""
    try:
        text = layout.read_file(layout.file(home_dir, digest, "pin")).decode("utf-8", "replace")
    except FileNotFoundError:
        return None
    except OSError as error:
        return Pin(HARD, f"the pin cannot be read: {error.strerror or error}")
    try:
        stored = json.loads(text)
        level, reason, at = stored["level"], stored["reason"], stored["at"]
    except (ValueError, KeyError, TypeError):
        return Pin(HARD, "the pin is damaged")
    if level not in LEVELS:
        return Pin(HARD, "the pin is damaged")
    return Pin(level, reason if isinstance(reason, str) else None, at)


def level_of(home_dir: str, digest: str) -> str:
    """The pin level of a blob."""
    found = read(home_dir, digest)
    return found.level if found else NONE


def pinned(home_dir: str) -> dict[str, Pin]:
    """Every pin, by the digest of its blob, whether the blob is there or not.

    Raises:
        StoreError: a folder cannot be read.
    """
    digests = [digest for digest, kind in contents.beside(home_dir) if kind == "pin"]
    pins = {digest: read(home_dir, digest) for digest in digests}
    return {digest: found for digest, found in pins.items() if found}
