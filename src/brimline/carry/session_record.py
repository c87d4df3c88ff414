"""A session's record for those who have the time to read all of it: commands, and a checkpoint."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, Any, NamedTuple

from brimline.carry import checkpoint, fold, ledger, links, notes
from brimline.errors import SessionError
from brimline.fast import io, paths
from brimline.gauge import reading
from brimline.state.session import SessionState
from brimline.transcript import find

if TYPE_CHECKING:
    from brimline.fast.policy import Policy


class Place(NamedTuple):
    """A session: its id, its file if the client still has it, its project."""

    session_id: str
    transcript: str | None
    project_dir: str


def choose_session(home_dir: str, named: str | None) -> Place:
    """The session that was named, else the one this runs in, else the project's newest.

    Raises:
        SessionError: there is none, or a name fits several.
    """
    recorded = {*io.list_names(paths.carry_dir(home_dir))} - {links.CLIENTS, links.PROJECTS}
    return transcript_and_project_of_id(find.wanted_session_id(named, recorded))


def transcript_and_project_of_id(session_id: str) -> Place:
    """A session by its whole id."""
    try:
        transcript = find.transcript_by_id_start(session_id)
    except SessionError:
        return Place(session_id, None, os.getcwd())
    return Place(session_id, transcript, find.folder_it_began_in(transcript) or os.getcwd())


def bring_whole_ledger_up_to_date(home_dir: str, session: Place) -> ledger.Ledger:
    """The record of a session up to now, with what people added to it."""
    record = ledger.load(home_dir, session.session_id)
    if record.unread_bytes:
        # A hook had no time to read all of it; here there is.
        record = ledger.empty_ledger_of_same_session(record)
    changed = fold.fold_new_rows(record, session.transcript)
    if links.merge_origin_into_fork(home_dir, record, session.transcript) or changed:
        with contextlib.suppress(OSError):  # what is shown is right all the same
            ledger.save(home_dir, record)
    return notes.merge_notes_into_ledger(home_dir, record)


def save_checkpoint(home_dir: str, session: Place, policy: Policy) -> dict[str, Any]:
    """Write a checkpoint now, and check that it can be read; the document says what is in it.

    Raises:
        StateError: it is not on the disk as it should be.
    """
    state = SessionState(home_dir, session.session_id)
    figures = {}
    if session.transcript:
        figures = reading.measure_session(session.transcript, state, policy).recorded_figures()
    record = bring_whole_ledger_up_to_date(home_dir, session)
    document = checkpoint.build_and_save_document(
        home_dir,
        record,
        trigger="asked for",
        project_dir=session.project_dir,
        transcript=session.transcript,
        figures=figures,
        critical_files=policy.values["carry.critical_files"],
    )
    with contextlib.suppress(OSError):
        links.note_or_drop_unfinished_session(home_dir, session.project_dir, record, asked=True)
    folder = paths.carry_session_dir(home_dir, session.session_id)
    return {
        "session_id": session.session_id,
        "path": f"{folder}/{checkpoint.MARKDOWN}",
        "files": document["files"],
    }


def saved_checkpoint_text(document: dict[str, Any]) -> str:
    """Return where a checkpoint is, and which files could not be kept."""
    lost = [file for file in document["files"] if not file["key"]]
    lines = [f"not kept: {file['path']}: {file['problem']}" for file in lost]
    return "\n".join([document["path"], *lines])
