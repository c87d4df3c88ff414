"""A fork's ledger: its transcript begins at the last compaction, its origin's holds the rest.

The client copies rows with their uuids, so the boundary that a fork begins with stands in the
transcript of its origin too.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from brimline import fastio, fastjson
from brimline.carry import reading
from brimline.transcript import row as shapes

if TYPE_CHECKING:
    from brimline.carry.items import Ledger

_LOOKED = "origin"
_HEAD_BYTES = 1 << 20
_BLOCK_BYTES = 4 << 20
_ORIGIN_BYTES = 8 << 20
# A fork is made from a session of late; older ones are not searched.
_MOST_FILES = 30
_MOST_BYTES = 64 << 20
_SPOKEN = (b'"type":"user"', b'"type":"assistant"')


def adopt(home_dir: str, ledger: Ledger, transcript: str | None) -> None:
    """Give a fork of a compacted session its own copy of what its origin knew; looked for once.

    Raises:
        OSError: the ledger cannot be saved.
    """
    if not transcript or _LOOKED in ledger.state or not ledger.compactions:
        return
    boundary = _first_boundary(transcript)
    origin = _holder(boundary, transcript) if boundary else None
    ledger.state[_LOOKED] = origin or ""
    if origin:
        _copy(home_dir, ledger, origin, f"{os.path.dirname(transcript)}/{origin}.jsonl")
    reading.save(home_dir, ledger)


def _copy(home_dir: str, ledger: Ledger, origin: str, path: str) -> None:
    known = reading.bring_up_to_date(
        home_dir,
        origin,
        path,
        budget_bytes=_ORIGIN_BYTES,
        unsaved=lambda _: None,
    )
    own = dict(ledger.items)
    ledger.items.clear()
    ledger.items |= known.items
    ledger.items |= own
    ledger.previous = origin


def _first_boundary(transcript: str) -> str | None:
    """The uuid of the compaction with which a transcript begins; None where it begins otherwise."""
    try:
        head = fastio.read_file(transcript, _HEAD_BYTES)
    except OSError:
        return None
    for line in head.split(b"\n"):
        if b"ompact" not in line and not any(mark in line for mark in _SPOKEN):
            continue
        for row in fastjson.loads_all(line.decode("utf-8", "replace")):
            if shapes.is_boundary(row):
                return shapes.uuid_of(row)
            if shapes.content_blocks(row):
                return None
    return None


def _holder(uuid: str, transcript: str) -> str | None:
    """The session beside this one whose transcript holds a row and more before it."""
    folder, own = os.path.split(transcript)
    beside = [name for name in fastio.names_in(folder) if name.endswith(".jsonl") and name != own]
    newest = sorted(beside, key=lambda name: -_modified(f"{folder}/{name}"))
    for name in newest[:_MOST_FILES]:
        if _place_of(uuid.encode(), f"{folder}/{name}") > 0 and not _is_fork_too(
            f"{folder}/{name}", uuid
        ):
            return name.removesuffix(".jsonl")
    return None


def _is_fork_too(path: str, uuid: str) -> bool:
    return _first_boundary(path) == uuid


def _place_of(needle: bytes, path: str) -> int:
    """Where some bytes stand in a file; -1 where they do not, as far as it is searched."""
    try:
        with open(path, "rb") as file:
            place, kept = 0, b""
            while place < _MOST_BYTES:
                block = file.read(_BLOCK_BYTES)
                if not block:
                    return -1
                found = (kept + block).find(needle)
                if found >= 0:
                    return place - len(kept) + found
                place += len(block)
                kept = block[-len(needle) :]
    except OSError:
        pass
    return -1


def _modified(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0
