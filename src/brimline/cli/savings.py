"""`brimline history --savings`: what offloading kept out of windows, as JSON and for people."""

from __future__ import annotations

import functools
import os
from typing import TYPE_CHECKING, Any

from brimline import clientsettings
from brimline.cli import savings_text
from brimline.cli import store_text as text
from brimline.errors import SessionError
from brimline.offload import savings as reading
from brimline.offload.accounts import Account, Session, Tally
from brimline.offload.replaced import BASH_CHARACTERS
from brimline.transcript import find

if TYPE_CHECKING:
    from collections.abc import Sequence

_LISTED = 20


def show(files: Sequence[str], session: str | None, *, every: bool, as_json: bool) -> None:
    """Print what was saved.

    Args:
        files: the transcripts to read; with a session, those whose name begins so.
        session: the id that was asked for, or its start.
        every: list all sessions, also those in which nothing was offloaded.
        as_json: for a program.

    Raises:
        SessionError: the session that was asked for is not there, or not the only one.
    """
    files = [path for path in files if os.path.isfile(path)]
    if session is not None:
        _require_one(files, session)
    document = read(files, every=every or session is not None)
    text.answer(document, savings_text.render(document, session), as_json=as_json)


def read(files: Sequence[str], *, every: bool) -> dict[str, Any]:
    """What was saved, under stable keys; sessions with the latest activity first."""
    total, sessions, notes = Tally(), [], []
    limit = functools.cache(bash_limit)
    size = sum(reading.size_of(part) for path in files for part in _parts(path))
    with text.Progress(size, "Reading transcripts") as progress:
        for path in sorted(files, key=_modified):
            try:
                sessions.append(
                    reading.read_session(
                        path, total, bash_characters=limit, progress=progress.update
                    )
                )
            except OSError as error:
                notes.append(f"{path} could not be read: {error.strerror or error}")
    sessions.reverse()
    found = [one for one in sessions if one.has_any]
    listed = sessions if every else found[:_LISTED]
    return {
        "session_count": len(sessions),
        "sessions_with_offload": len(found),
        "sessions": [_session(one) for one in listed],
        "total": _tally(total),
        "notes": notes,
    }


def bash_limit(project: str | None) -> int:
    """How many characters of a command's output the client shows in a project, as it is set now."""
    return clientsettings.bash_output_characters(project or os.sep) or BASH_CHARACTERS


def _require_one(files: Sequence[str], session: str) -> None:
    names = {find.session_id_of(path) for path in files}
    if not names:
        raise SessionError(
            f"no transcript of a session {session!r} is on disk; "
            "the client deletes them after a month"
        )
    if len(names) > 1:
        raise SessionError(f"{len(names)} sessions begin with {session!r}: write more of the id")


def _parts(path: str) -> list[str]:
    return [path, *find.subagents_of(path)]


def _modified(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0


def _session(found: Session) -> dict[str, Any]:
    fullest = {
        "occupancy_tokens": found.fullest_tokens,
        "estimated_kept_out_tokens": round(found.fullest_kept_out_tokens),
    }
    return {
        "session_id": find.session_id_of(found.path),
        "project": found.project,
        "transcript": found.path,
        "first_at": found.first_at,
        "last_at": found.last_at,
        **_tally(found.tally),
        "fullest_request": fullest if found.fullest_tokens else None,
    }


def _tally(found: Tally) -> dict[str, Any]:
    measured = {
        "stubs": found.measured_stubs,
        "tokens": found.measured_tokens,
        "estimated_tokens": round(found.measured_estimate),
    }
    return {
        "main": _account(found.main),
        "subagents": _account(found.subagents),
        "requests_after_a_stub": found.requests,
        "estimated_token_requests": round(found.token_requests),
        "measured_stubs": measured if found.measured_stubs else None,
    }


def _account(found: Account) -> dict[str, Any]:
    return {
        "stubs": found.stubs,
        "stored_bytes": found.stored_bytes,
        "would_have_shown_bytes": found.shown_bytes,
        "stub_bytes": found.stub_bytes,
        "recalls": found.recalls,
        "recalled_bytes": found.recalled_bytes,
        "kept_out_bytes": found.kept_out_bytes,
        "estimated_tokens": {
            "would_have_shown": round(found.shown_tokens),
            "stubs": round(found.stub_tokens),
            "recalled": round(found.recalled_tokens),
            "kept_out": round(found.kept_out_tokens),
        },
    }
