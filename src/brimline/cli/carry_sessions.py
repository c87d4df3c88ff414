"""Which session `brimline carry` is about, and its ledger as it stands now."""

from __future__ import annotations

import glob
import os
from typing import TYPE_CHECKING, NamedTuple

from brimline import config, fastio, paths
from brimline.carry import forks, links, notes, reading
from brimline.carry.session import Session
from brimline.errors import SessionError
from brimline.state.session import SessionState
from brimline.transcript import find

if TYPE_CHECKING:
    from brimline.carry.items import Ledger


class Place(NamedTuple):
    """A session: its id, its file if the client still has it, its project."""

    session_id: str
    transcript: str | None
    project_dir: str


def chosen(home_dir: str, named: str | None) -> Place:
    """The session that was named, else the one this runs in, else the project's newest.

    Raises:
        SessionError: there is none, or a name fits several.
    """
    if named is not None:
        return _place(_matching(home_dir, named))
    running = fastio.env("CLAUDE_CODE_SESSION_ID")
    if running:
        return _place(paths.safe_session_id(running))
    path = find.newest(os.getcwd())
    return _place(find.session_id_of(path))


def ledger_of(home_dir: str, place: Place) -> Ledger:
    """The ledger, brought up to date, with what was added to it.

    Raises:
        OSError: it cannot be written.
    """
    ledger = reading.bring_up_to_date(home_dir, place.session_id, place.transcript)
    forks.adopt(home_dir, ledger, place.transcript)
    return notes.merged(home_dir, ledger)


def with_something(home_dir: str, place: Place, ledger: Ledger) -> tuple[Place, Ledger]:
    """The session that this one goes on from; itself where there is none or nothing known of it."""
    seen = {place.session_id}
    previous = ledger.previous or (None if ledger.items else _unfinished(home_dir, place))
    while previous is not None and previous not in seen:
        seen.add(previous)
        earlier = _place(previous)
        found = ledger_of(home_dir, earlier)
        if found.items:
            return earlier, found
        previous = found.previous
    return place, ledger


def session(home_dir: str, place: Place) -> Session:
    """The session in the form in which hooks pass it on."""
    values = config.load(home_dir, place.project_dir).values
    state = SessionState(home_dir, place.session_id)
    return Session(home_dir, state, place.transcript or "", place.project_dir, values)


def _unfinished(home_dir: str, place: Place) -> str | None:
    """The last unfinished session of the project, for a session that no hook has linked."""
    found = links.unfinished(home_dir, place.project_dir)
    return paths.safe_session_id(found["session"]) if found else None


def _matching(home_dir: str, named: str) -> str:
    if not named or paths.safe_session_id(named) != named:
        raise SessionError(f"{named!r} is no session id: `brimline history` lists sessions")
    known = {name for name in fastio.names_in(paths.carry_dir(home_dir)) if name.startswith(named)}
    known -= {links.CLIENTS, links.PROJECTS}
    pattern = f"{glob.escape(paths.client_config_dir())}/projects/*/{named}*.jsonl"
    known |= {find.session_id_of(path) for path in glob.glob(pattern)}
    if named in known:
        return named
    if not known:
        raise SessionError(f"no session {named!r} is known: `brimline history` lists sessions")
    if len(known) > 1:
        raise SessionError(f"{len(known)} sessions begin with {named!r}: write more of the id")
    return known.pop()


def _place(session_id: str) -> Place:
    try:
        transcript: str | None = find.by_id(session_id)
    except SessionError:
        transcript = None
    project = find.project_of(transcript) if transcript else None
    return Place(session_id, transcript, project or os.getcwd())
