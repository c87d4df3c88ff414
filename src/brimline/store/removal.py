"""Takes blobs out of the store without ever taking one that came into use meanwhile.

No lock is needed. A blob is first moved aside; whoever uses it from then on does not find it and
stores it again. What was used before that shows by its time, and is moved back. A process that is
killed in between leaves the blob aside, where readers and the next sweep find it.
"""

from __future__ import annotations

import contextlib
import os
import re
from typing import TYPE_CHECKING

from brimline import fastio
from brimline.store import layout, pins, searchfile

if TYPE_CHECKING:
    from brimline.store.scan import Blob

_ASIDE = re.compile(r"([0-9a-f]{64})\.(blob|json|pin)\.\d+\.\d+\.gone")
_PLACES = {"blob": layout.blob, "json": layout.sidecar, "pin": layout.pin}


def discard(home_dir: str, seen: Blob, level: str) -> bool:
    """Delete a blob, unless it was used, or pinned more strongly, since it was seen.

    Args:
        home_dir: the data folder.
        seen: the blob as the scan found it.
        level: the pin level that it had then.

    Raises:
        OSError: it cannot be deleted.
    """
    aside = _move_aside(home_dir, "blob", seen.digest)
    if aside is None:
        return False
    try:
        used = os.stat(aside).st_mtime_ns != seen.used_ns
    except FileNotFoundError:  # a reader found it aside and brought it back
        return False
    if used or pins.rank(pins.level_of(home_dir, seen.digest)) > pins.rank(level):
        put_back(home_dir, aside)
        return False
    for kind in ("json", "pin"):
        _discard_beside(home_dir, kind, seen.digest)
    fastio.remove(aside)
    with contextlib.suppress(OSError):  # a search would notice, and drop it then
        searchfile.drop(home_dir)
    return not os.path.lexists(layout.blob(home_dir, seen.digest))


def erase(home_dir: str, digest: str) -> bool:
    """Delete a blob and all that is known about it, whatever its pin; False without such a blob.

    Its words go as well: after the blob, so that no search takes them in again.

    Raises:
        OSError: it cannot be deleted.
    """
    found = os.path.lexists(layout.blob(home_dir, digest))
    for path_of in _PLACES.values():
        fastio.remove(path_of(home_dir, digest))
    for path in aside_files(home_dir, digest):
        fastio.remove(path)
        found = True
    searchfile.drop(home_dir)
    return found


def put_back(home_dir: str, aside: str) -> None:
    """Return a file that was moved aside to its place, unless a newer one is there."""
    found = _ASIDE.fullmatch(os.path.basename(aside))
    if found is None:
        return
    digest, kind = found.groups()
    place = _PLACES[kind](home_dir, digest)
    with contextlib.suppress(FileNotFoundError):
        if not os.path.lexists(place):
            _link(aside, place)
        os.unlink(aside)


def aside_files(home_dir: str, digest: str | None = None) -> list[str]:
    """What was moved aside, of one blob or of all."""
    folder = layout.tmp_dir(home_dir)
    return [
        f"{folder}/{name}"
        for name in fastio.names_in(folder)
        if name.endswith(".gone") and (digest is None or name.startswith(digest))
    ]


def _move_aside(home_dir: str, kind: str, digest: str) -> str | None:
    folder, _, ending = layout.fresh_name(home_dir, "gone").rpartition("/")
    fastio.make_folders(folder)  # without it, a blob would seem to be gone
    aside = f"{folder}/{digest}.{kind}.{ending}"
    try:
        os.rename(_PLACES[kind](home_dir, digest), aside)
    except FileNotFoundError:
        return None
    return aside


def _discard_beside(home_dir: str, kind: str, digest: str) -> None:
    """Delete a sidecar or pin of a blob that is aside.

    Whoever stores the content again writes its sidecar after the blob. So if there is still no blob
    once the sidecar is aside, it is the old one.
    """
    aside = _move_aside(home_dir, kind, digest)
    if aside is None:
        return
    if os.path.lexists(layout.blob(home_dir, digest)):
        put_back(home_dir, aside)
    else:
        fastio.remove(aside)


def _link(source: str, target: str) -> None:
    """Give a file its place back, never over another one."""
    try:
        os.link(source, target)
    except FileExistsError:
        return
    except (OSError, AttributeError):  # a file system without hard links
        os.rename(source, target)
