"""Takes content out of the store, and never one that came into use meanwhile.

No lock is needed. A blob is first moved aside; whoever uses it from then on does not find it and
stores it again. What was used before that shows by its time, and is moved back. A process that is
killed in between leaves the blob aside, where readers and the next sweep find it.

Forgetting removes content for good, by its key or by the session that stored it. In the trail a
forgotten session is overwritten in place with dashes, so that nobody's line is lost.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from brimline.bulk import contents, layout
from brimline.fast import io, json

if TYPE_CHECKING:
    from collections.abc import Collection

    from brimline.rooms import Traces

_KINDS = ("blob", "json", "pin")


class Forgotten(NamedTuple):
    """What forgetting a session did, or would do."""

    keys: list[str]
    """Content that only this session stored; it goes."""
    shared: list[str]
    """Content that others stored or need too; it stays, without a word of this session."""


def move_file_aside(home_dir: str, kind: str, digest: str) -> str | None:
    """Move a `blob`, or its `json` or `pin`, out of sight; where it is, or None where it is gone.

    Raises:
        OSError: it cannot be moved.
    """
    folder = home_dir + layout.TMP
    io.make_folder_and_parents(folder)  # without it, a blob would seem to be gone
    aside = f"{folder}/{digest}.{kind}.{os.getpid()}.{time.monotonic_ns()}.gone"
    try:
        os.rename(layout.stored_path(home_dir, digest, kind), aside)
    except FileNotFoundError:
        return None
    return aside


def delete_blob_already_aside(home_dir: str, digest: str, aside: str) -> bool:
    """Delete a blob that is aside, and what is known about it; False where it was stored again.

    Raises:
        OSError: it cannot be deleted.
    """
    for kind in ("json", "pin"):
        moved = move_file_aside(home_dir, kind, digest)
        if moved is None:
            continue
        # Whoever stores the content again writes its sidecar after the blob. So if there is still
        # no blob once the sidecar is aside, it is the old one.
        if os.path.lexists(layout.stored_path(home_dir, digest)):
            contents.put_back_file_from_aside(home_dir, moved)
        else:
            io.remove(moved)
    io.remove(aside)
    return not os.path.lexists(layout.stored_path(home_dir, digest))


def put_back_or_delete_tmp_files(home_dir: str, oldest: float) -> int:
    """Put back what was left aside, and delete unfinished writes older than a time; how many.

    Raises:
        OSError: something cannot be deleted.
    """
    aside = contents.files_moved_aside(home_dir)
    # Blobs first: a sidecar that is back before its blob would be taken for a lone one.
    for path in sorted(aside, key=lambda path: ".blob." not in path):
        contents.put_back_file_from_aside(home_dir, path)
    folder = home_dir + layout.TMP
    names = [f"{folder}/{name}" for name in io.list_names(folder) if name.endswith(".tmp")]
    return len(aside) + sum(delete_if_older(path, oldest) for path in names)


def delete_if_older(path: str, oldest: float) -> bool:
    """Delete a file that was not written since; False where it was, or is gone."""
    try:
        if os.stat(path).st_mtime > oldest:
            return False
        os.unlink(path)
    except FileNotFoundError:
        return False
    return True


def forget_key(home_dir: str, key: str) -> bool:
    """Delete a blob and all that is known about it, whatever its pin; False without such a blob.

    Raises:
        StoreError: it is not a key.
        OSError: it cannot be deleted.
    """
    digest = layout.digest_of_key(key)
    aside = contents.files_moved_aside(home_dir, digest)
    found = bool(aside) or os.path.lexists(layout.stored_path(home_dir, digest))
    for path in [*(layout.stored_path(home_dir, digest, kind) for kind in _KINDS), *aside]:
        io.remove(path)
    if found:
        layout.note_store_event(home_dir, "forget", key)
    last = home_dir + layout.LAST_KEY
    try:
        is_last = layout.read_store_file(last).strip() == key.encode()
    except OSError:
        return found
    if is_last:
        # The file stays: its time is the one that store time must not fall behind.
        layout.write_atomically(home_dir, last, b"", stamp_ns=layout.store_now_ns(home_dir))
    return found


def sessions_in_store(home_dir: str) -> set[str]:
    """The sessions that left something in the store."""
    names = [line.get("session") for line in contents.read_store_events(home_dir)]
    beside = [
        digest for digest, kind in contents.digest_kind_pairs_in_meta(home_dir) if kind == "json"
    ]
    names += [
        contents.read_sidecar(home_dir, layout.PREFIX + digest).get("session") for digest in beside
    ]
    return {str(name) for name in names if name}


def own_and_shared_keys(home_dir: str, session: str, promised: Collection[str] = ()) -> Forgotten:
    """Return what a session stored, by the sidecars and the trail; changes nothing.

    Args:
        home_dir: the data folder.
        session: its id.
        promised: keys that rooms promise in other sessions; these are shared, too.

    Raises:
        StoreError: a folder cannot be read.
    """
    by_key = contents.puts_by_key_and_session(home_dir)
    stored = Forgotten([], [])
    for blob in contents.list_blobs(home_dir):
        described = contents.read_sidecar(home_dir, blob.key).get("session")
        sessions = {*by_key.get(blob.key, {}), described} - {None}
        if session in sessions:
            is_shared = len(sessions) > 1 or blob.key in promised
            (stored.shared if is_shared else stored.keys).append(blob.key)
    return stored


def keys_promised_by_rooms(home_dir: str, traces: Traces, but: str = "") -> set[str]:
    """The keys that rooms promise elsewhere than in files, for all sessions but one.

    Raises:
        StoreError: what a room keeps cannot be read.
    """
    return {key for kept in traces("promised_keys") for key in kept(home_dir, but)}


def forget_session(home_dir: str, session: str, promised: Collection[str] = ()) -> Forgotten:
    """Delete what only this session stored, and every trace of it elsewhere in the store.

    Raises:
        StoreError: a folder cannot be read.
        OSError: something cannot be deleted or written.
    """
    stored = own_and_shared_keys(home_dir, session, promised)
    for key in stored.keys:
        forget_key(home_dir, key)
    by_key = contents.puts_by_key_and_session(home_dir)
    for key in stored.shared:
        if contents.read_sidecar(home_dir, key).get("session") == session:
            _rewrite_sidecar(home_dir, key, by_key.get(key, {}), session)
    for path in contents.store_events_paths(home_dir):
        json.blank_out_lines(path, "session", session)
    # What is remembered of transcripts holds their names; the next search makes it anew.
    io.remove(home_dir + layout.REFERENCES)
    return stored


def _rewrite_sidecar(home_dir: str, key: str, by_session: dict[str, Any], session: str) -> None:
    """Describe shared content by another session that stored it."""
    others = [line for name, line in by_session.items() if name != session]
    other = others[-1] if others else {}
    described = contents.read_sidecar(home_dir, key)
    document = {name: described.get(name) for name in ("v", "key", "bytes", "lines", "created")}
    document |= {name: other.get(name) for name in ("session", "tool", "cwd")}
    path = layout.stored_path(home_dir, layout.digest_of_key(key), "json")
    layout.write_atomically(home_dir, path, json.dumps(document).encode())
