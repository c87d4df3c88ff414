"""Takes blobs out of the store without ever taking one that came into use meanwhile.

No lock is needed. A blob is first moved aside; whoever uses it from then on does not find it and
stores it again. What was used before that shows by its time, and is moved back. A process that is
killed in between leaves the blob aside, where readers and the next sweep find it.
"""

from __future__ import annotations

import contextlib
import os
import re

from brimline.fast import io
from brimline.store import layout

_ASIDE = re.compile(r"([0-9a-f]{64})\.(blob|json|pin)\.\d+\.\d+\.gone")
_PLACES = {"blob": layout.blob, "json": layout.sidecar, "pin": layout.pin}
# The full-text index of earlier versions, with words of what goes.
_OLD_INDEX = ("search.sqlite3", "search.sqlite3-journal", "recompressed")


def move_aside(home_dir: str, kind: str, digest: str) -> str | None:
    """Move a `blob`, or its `json` or `pin`, out of sight; where it is, or None where it is gone.

    Raises:
        OSError: it cannot be moved.
    """
    folder, _, ending = layout.fresh_name(home_dir, "gone").rpartition("/")
    io.make_folders(folder)  # without it, a blob would seem to be gone
    aside = f"{folder}/{digest}.{kind}.{ending}"
    try:
        os.rename(_PLACES[kind](home_dir, digest), aside)
    except FileNotFoundError:
        return None
    return aside


def discard(home_dir: str, digest: str, aside: str) -> bool:
    """Delete a blob that is aside, and what is known about it; False where it was stored again.

    Raises:
        OSError: it cannot be deleted.
    """
    for kind in ("json", "pin"):
        moved = move_aside(home_dir, kind, digest)
        if moved is None:
            continue
        # Whoever stores the content again writes its sidecar after the blob. So if there is still
        # no blob once the sidecar is aside, it is the old one.
        if os.path.lexists(layout.blob(home_dir, digest)):
            put_back(home_dir, moved)
        else:
            io.remove(moved)
    io.remove(aside)
    return not os.path.lexists(layout.blob(home_dir, digest))


def erase(home_dir: str, digest: str) -> bool:
    """Delete a blob and all that is known about it, whatever its pin; False without such a blob.

    Raises:
        OSError: it cannot be deleted.
    """
    found = os.path.lexists(layout.blob(home_dir, digest))
    for path_of in _PLACES.values():
        io.remove(path_of(home_dir, digest))
    for path in _aside_files(home_dir, digest):
        io.remove(path)
        found = True
    drop_old_index(home_dir)
    return found


def bring_back(home_dir: str, digest: str) -> bool:
    """Bring back what a removal that was killed left aside; whether the blob is there then."""
    for path in _aside_files(home_dir, digest):
        put_back(home_dir, path)
    return os.path.lexists(layout.blob(home_dir, digest))


def put_back(home_dir: str, aside: str) -> None:
    """Return a file that was moved aside to its place, unless a newer one is there."""
    found = _ASIDE.fullmatch(os.path.basename(aside))
    if found is None:
        return
    place = _PLACES[found[2]](home_dir, found[1])
    with contextlib.suppress(FileNotFoundError):
        if not os.path.lexists(place):
            try:
                os.link(aside, place)
            except FileExistsError:
                pass
            except (OSError, AttributeError):  # a file system without hard links
                os.rename(aside, place)
        os.unlink(aside)


def sweep(home_dir: str, oldest: float) -> int:
    """Put back what was left aside, and delete unfinished writes older than a time; how many.

    Raises:
        OSError: something cannot be deleted.
    """
    aside = _aside_files(home_dir)
    # Blobs first: a sidecar that is back before its blob would be taken for a lone one.
    for path in sorted(aside, key=lambda path: ".blob." not in path):
        put_back(home_dir, path)
    folder = layout.tmp_dir(home_dir)
    names = [f"{folder}/{name}" for name in io.names_in(folder) if name.endswith(".tmp")]
    drop_old_index(home_dir)
    return len(aside) + sum(delete_old(path, oldest) for path in names)


def delete_old(path: str, oldest: float) -> bool:
    """Delete a file that was not written since; False where it was, or is gone."""
    try:
        if os.stat(path).st_mtime > oldest:
            return False
        os.unlink(path)
    except FileNotFoundError:
        return False
    return True


def drop_old_index(home_dir: str) -> None:
    """Delete what an earlier version derived from the store.

    Raises:
        OSError: it cannot be deleted.
    """
    for name in _OLD_INDEX:
        io.remove(f"{layout.root(home_dir)}/{name}")


def _aside_files(home_dir: str, digest: str = "") -> list[str]:
    """What was moved aside, of one blob or of all."""
    folder = layout.tmp_dir(home_dir)
    return [
        f"{folder}/{name}"
        for name in io.names_in(folder)
        if name.endswith(".gone") and name.startswith(digest)
    ]
