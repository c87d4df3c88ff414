"""The note beside a session that says which file is the session and which ones were.

It is written before every swap and holds for both sides of it: the number of the file that has
the session's name tells on which side we are. One figure is settled only at the last moment, how
many bytes of the replaced file went along. It stands in front, at a fixed width, and is written
over in place.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, replace
from typing import Any

from brimline.purge import disk, names
from brimline.purge.errors import PurgeError

FORMAT = 1
_DIGITS = 20


@dataclass(frozen=True, slots=True)
class Old:
    """A file that was the session, and what of it the session holds by now.

    From `start` on its lines belong to the session as they are. Those up to `carried` are there;
    they follow the `anchor`, a place in the session that is known again by its `mark`.
    """

    name: str
    inode: int
    start: int
    carried: int
    anchor: int
    mark: int

    @property
    def position(self) -> int:
        """Where in the session its next line belongs."""
        return self.anchor + self.carried - self.start


@dataclass(frozen=True, slots=True)
class State:
    """The file that is the session, and those that were, the oldest first."""

    inode: int
    olds: tuple[Old, ...] = ()


@dataclass(frozen=True, slots=True)
class Journal:
    """Both sides of a swap."""

    before: State
    after: State


class Stamp:
    """The open journal during a swap."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def write(self, carried: int) -> None:
        """Note how much of the file that is about to be replaced went along."""
        os.lseek(self._descriptor, 0, os.SEEK_SET)
        disk.write_all(self._descriptor, _figure(carried))

    def close(self) -> None:
        """See it on the disk."""
        try:
            disk.sync(self._descriptor)
        finally:
            os.close(self._descriptor)


def write(session: str, journal: Journal) -> Stamp:
    """Put the journal beside the session; the caller closes the stamp.

    Raises:
        OSError: it cannot be written; the one before still holds.
    """
    path = names.journal(session)
    temporary = f"{path}-new"
    disk.remove(temporary)
    descriptor = disk.create(temporary)
    try:
        last = journal.after.olds[-1].carried if journal.after.olds else 0
        text = json.dumps({"v": FORMAT, **asdict(journal)})
        disk.write_all(descriptor, _figure(last) + b"\n" + text.encode() + b"\n")
        disk.sync(descriptor)
        disk.replace(temporary, path)
    except BaseException:
        os.close(descriptor)
        disk.remove(temporary)
        raise
    return Stamp(descriptor)


def read(session: str) -> Journal | None:
    """The journal beside a session; None without one.

    Raises:
        PurgeError: it cannot be understood; what it tells about is then left alone.
    """
    path = names.journal(session)
    try:
        with open(path, "rb") as file:
            figure, _, text = file.read().partition(b"\n")
        stored = json.loads(text)
        if stored["v"] == FORMAT:
            before, after = _state(stored["before"]), _state(stored["after"])
            return Journal(before, _stamped(after, int(figure)) if after.olds else after)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError):
        pass
    raise PurgeError(
        f"{path} cannot be understood, and it says which late lines the files beside it hold:"
        " update brimline, or look through them and move them away"
    )


def _stamped(state: State, carried: int) -> State:
    return replace(state, olds=(*state.olds[:-1], replace(state.olds[-1], carried=carried)))


def _state(stored: dict[str, Any]) -> State:
    olds = [Old(**old) for old in stored["olds"]]
    return State(stored["inode"], tuple([old for old in olds if names.is_old(old.name)]))


def _figure(number: int) -> bytes:
    return b"%0*d" % (_DIGITS, number)
