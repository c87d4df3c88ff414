"""Removes content for good, by its key or by the session that stored it."""

from __future__ import annotations

from typing import Any, NamedTuple

from brimline.errors import StoreError
from brimline.fast import json
from brimline.store import layout, read, references, removal, trail

# As long as the ids of the client are: such a one may have left its name elsewhere.
_WHOLE_ID_CHARACTERS = 36


class Forgotten(NamedTuple):
    """What forgetting a session did, or would do."""

    keys: list[str]
    """Content that only this session stored; it goes."""
    shared: list[str]
    """Content that other sessions stored too; it stays, without a word of this session."""


def forget_key(home_dir: str, key: str) -> bool:
    """Delete a blob, its sidecar and its pin; False without such a blob.

    Raises:
        StoreError: it is no key.
        OSError: it cannot be deleted.
    """
    found = removal.erase(home_dir, layout.digest_of(key))
    if found:
        trail.note(home_dir, "forget", key)
    try:
        is_last = layout.read_file(layout.last_key(home_dir)).strip() == key.encode()
    except OSError:
        return found
    if is_last:
        # The file stays: its time is the one that store time must not fall behind.
        now_ns = layout.now_ns(home_dir)
        layout.place(home_dir, layout.last_key(home_dir), b"", stamp_ns=now_ns)
    return found


def of_session(home_dir: str, session: str) -> Forgotten:
    """What a session stored, by the sidecars and the trail; changes nothing.

    Raises:
        StoreError: a folder cannot be read.
    """
    told = trail.sessions_of_keys(home_dir)
    found = Forgotten([], [])
    for blob in read.blobs(home_dir):
        sessions = {*told.get(blob.key, {}), read.meta(home_dir, blob.key).get("session")} - {None}
        if session in sessions:
            (found.shared if len(sessions) > 1 else found.keys).append(blob.key)
    return found


def session_id(home_dir: str, text: str) -> str:
    """The complete id of a session that left something in the store, from its beginning.

    Raises:
        StoreError: none begins so, or more than one.
    """
    told = [line.get("session") for line in trail.lines(home_dir)]
    keys = [layout.PREFIX + digest for digest, kind in read.beside(home_dir) if kind == "json"]
    told += [read.meta(home_dir, key).get("session") for key in keys]
    known = {str(name) for name in told if trail.is_session(name)}
    if text in known or len(text) >= _WHOLE_ID_CHARACTERS:
        return text
    found = [name for name in known if text and name.startswith(text)]
    if len(found) > 1:
        raise StoreError(f"{len(found)} sessions begin with {text!r}: write more of the id")
    if not found:
        raise StoreError(
            f"no session {text!r} is known to the store: `brimline store list --json` names those "
            "that are"
        )
    return found[0]


def forget_session(home_dir: str, session: str) -> Forgotten:
    """Delete what only this session stored, and every trace of it elsewhere in the store.

    Raises:
        StoreError: a folder cannot be read.
        OSError: something cannot be deleted or written.
    """
    found = of_session(home_dir, session)
    for key in found.keys:
        forget_key(home_dir, key)
    told = trail.sessions_of_keys(home_dir)
    for key in found.shared:
        if read.meta(home_dir, key).get("session") == session:
            _redescribe(home_dir, key, told.get(key, {}), session)
    trail.redact_session(home_dir, session)
    references.forget_session(home_dir, session)
    removal.drop_old_index(home_dir)
    return found


def _redescribe(home_dir: str, key: str, told: dict[str, Any], session: str) -> None:
    """Describe shared content by another session that stored it."""
    others = [line for name, line in told.items() if name != session]
    other = others[-1] if others else {}
    known = read.meta(home_dir, key)
    document = {name: known.get(name) for name in ("v", "key", "bytes", "lines", "created")}
    document |= {name: other.get(name) for name in ("session", "tool")}
    path = layout.sidecar(home_dir, layout.digest_of(key))
    layout.place(home_dir, path, json.dumps(document).encode())
