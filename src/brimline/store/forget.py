"""Removes content for good, by its key or by the session that stored it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from brimline import fastio, fastjson
from brimline.store import audit, files, layout, read, references, removal, scan, searchfile


@dataclass(slots=True)
class Forgotten:
    """What forgetting a session did, or would do."""

    keys: list[str] = field(default_factory=list)
    """Content that only this session stored; it goes."""
    shared: list[str] = field(default_factory=list)
    """Content that other sessions stored too; it stays, without a word of this session."""


def forget_key(home_dir: str, key: str) -> bool:
    """Delete a blob, its sidecar and its pin; False without such a blob.

    Raises:
        StoreError: it is no key.
        OSError: it cannot be deleted.
    """
    digest = layout.digest_of(key)
    found = removal.erase(home_dir, digest)
    if found:
        audit.note(home_dir, "forget", key)
    if _is_last(home_dir, key):
        # The file stays: its time is the one that store time must not fall behind.
        files.place(home_dir, layout.last_key(home_dir), b"", stamp_ns=files.now_ns(home_dir))
    return found


def of_session(home_dir: str, session: str) -> Forgotten:
    """What a session stored, by the sidecars and the audit trail; changes nothing.

    Raises:
        StoreError: a folder cannot be read.
    """
    trail = audit.sessions_of_keys(home_dir)
    found = Forgotten()
    for blob in scan.blobs(home_dir):
        sessions = set(trail.get(blob.key, {}))
        described = read.meta(home_dir, blob.key).get("session")
        if isinstance(described, str):
            sessions.add(described)
        if session in sessions:
            (found.shared if len(sessions) > 1 else found.keys).append(blob.key)
    return found


def forget_session(home_dir: str, session: str) -> Forgotten:
    """Delete what only this session stored, and every trace of it elsewhere in the store.

    Raises:
        StoreError: a folder cannot be read.
        OSError: something cannot be deleted or written.
    """
    found = of_session(home_dir, session)
    for key in found.keys:
        forget_key(home_dir, key)
    trail = audit.sessions_of_keys(home_dir)
    for key in found.shared:
        if read.meta(home_dir, key).get("session") == session:
            _redescribe(home_dir, key, trail.get(key, {}), session)
            searchfile.drop(home_dir)  # it knows the old command and folder
    audit.redact_session(home_dir, session)
    _forget_references(home_dir, session)
    return found


def _is_last(home_dir: str, key: str) -> bool:
    try:
        return fastio.read_file(layout.last_key(home_dir)).strip() == key.encode()
    except OSError:
        return False


def _redescribe(home_dir: str, key: str, trail: dict[str, Any], session: str) -> None:
    """Describe shared content by another session that stored it."""
    others = [line for name, line in trail.items() if name != session]
    other = others[-1] if others else {}
    known = read.meta(home_dir, key)
    document = {name: known.get(name) for name in ("v", "key", "bytes", "lines", "created")}
    document |= {name: other.get(name) for name in ("session", "tool")}
    path = layout.sidecar(home_dir, layout.digest_of(key))
    files.place(home_dir, path, fastjson.dumps(document).encode())


def _forget_references(home_dir: str, session: str) -> None:
    """The names of transcripts hold the session's id."""
    cache = references.load(home_dir)
    named = [path for path in cache.entries if session in path]
    if named:
        for path in named:
            del cache.entries[path]
        references.write(home_dir, cache)
