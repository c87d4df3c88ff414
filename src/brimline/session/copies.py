"""Knows which sessions are copies that brimline made, of which session, and what they replaced.

A file for each, `copies/<id>.json`. The store holds the keys in it for as long as it is there, and
it goes once the copy is gone: so a change can be undone also when the client has deleted the
original.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from brimline.fast import clock, io
from brimline.transcript import find

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

FOLDER = "copies"
PURGED, REPAIRED, RESTORED = "purged", "repaired", "restored"
UNCOMPACTED = "before its compaction"
# The client's own default.
_CLEANUP_DAYS = 30
_MOST_GENERATIONS = 20
_DAY_S = 86_400.0


class Copy(NamedTuple):
    """A copy, and the session that it is one of."""

    path: str
    original: str  # where that was
    kind: str
    at: float
    bytes: int  # how much of the original is in it
    keys: Sequence[str] = ()  # of what was replaced in it
    context_tokens: int = 0  # by how much its next request shrank, estimated
    tokens_of: dict[str, int] = {}  # noqa: RUF012 - what of these the result of each call took

    @property
    def session(self) -> str:
        """Its id."""
        return find.session_id_of(self.path)

    @property
    def original_session(self) -> str:
        """The id of the session that it is a copy of."""
        return find.session_id_of(self.original)

    @property
    def is_last_to_know(self) -> bool:
        """Whether what was replaced in it stands nowhere else but in the store."""
        is_there = os.path.isfile(self.path)
        return bool(self.keys) and is_there and not os.path.isfile(self.original)


def record_file(home_dir: str, session: str) -> str:
    """Return where the record of a copy is."""
    return f"{home_dir}/{FOLDER}/{session}.json"


def copy_of_id(home_dir: str, session: str) -> Copy | None:
    """Return what is known of a session as a copy; None where it is none of ours."""
    try:
        found = json.loads(io.read_file(record_file(home_dir, session)))
        return Copy(**{name: found[name] for name in Copy._fields if name in found})
    except (OSError, ValueError, KeyError, TypeError):
        return None


def all_copies(home_dir: str) -> list[Copy]:
    """Every copy on record, the newest first."""
    names = [name.removesuffix(".json") for name in io.list_names(f"{home_dir}/{FOLDER}")]
    found = [copy for name in names if (copy := copy_of_id(home_dir, name))]
    return sorted(found, key=lambda copy: -copy.at)


def living_copies_of(home_dir: str, sessions: Iterable[str]) -> list[Copy]:
    """Return the copies of some sessions that are on the disk, copies of copies among them."""
    wanted, known = set(sessions), all_copies(home_dir)
    found: list[Copy] = []
    while fresh := [one for one in known if one.original_session in wanted and one not in found]:
        found += fresh
        wanted |= {one.session for one in fresh}
    return [one for one in found if os.path.isfile(one.path)]


def forget_gone(home_dir: str, oldest: float) -> None:
    """Let go of copies from before a moment that are not on the disk any more."""
    for copy in all_copies(home_dir):
        if copy.at < oldest and not os.path.isfile(copy.path):
            io.remove(record_file(home_dir, copy.session))


def deleted_at(session: str, cleanup_days: int | None) -> float:
    """Return when the client deletes a session that is left alone, in seconds since 1970."""
    return find.modified_at(session) + (cleanup_days or _CLEANUP_DAYS) * _DAY_S


def purged_tokens_by_call_since(home_dir: str, path: str, measured_at: str | None) -> Counter[str]:
    """Count the tokens, estimated, that purges took out of a copy's context after a time.

    By the call whose result it was; under "" what no call's result took.
    """
    moment = clock.parse_utc(measured_at)
    copy = copy_of_id(home_dir, find.session_id_of(path))
    found, left = Counter[str](), _MOST_GENERATIONS
    while moment and copy and copy.at > moment and copy.kind != RESTORED and left:
        others = max(0, copy.context_tokens - sum(copy.tokens_of.values()))
        found.update(copy.tokens_of | {"": others})
        copy, left = copy_of_id(home_dir, copy.original_session), left - 1
    return found


def documents(copies: Iterable[Copy]) -> Iterator[dict[str, Any]]:
    """Return what programs are told of copies."""
    for copy in copies:
        yield {
            "session": copy.session,
            "path": copy.path,
            "kind": copy.kind,
            "made_at": clock.format_utc(copy.at),
        }
