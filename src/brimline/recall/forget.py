"""Forgetting: whatever any room keeps of a session, of a project's sessions, or of old ones.

What each of them keeps, it deletes itself. The session is the client's, and topic files are the
user's: they stay. A line says what was forgotten, so that it is not taken in again.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from brimline.bulk import removal
from brimline.carry import fold, session_record
from brimline.errors import StateError, do_all
from brimline.fast import clock
from brimline.state import forgotten
from brimline.transcript import find
from brimline.transcript.project import real_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from brimline.rooms import Traces


class Kept(NamedTuple):
    """A session that something is kept of."""

    project: str = ""
    last_at: float = 0.0


def sessions_with_kept_data(home_dir: str, traces: Traces) -> tuple[dict[str, Kept], str]:
    """Every session that something is kept of; and why some room could not tell, if so."""
    kept: dict[str, Kept] = {}

    def merge_session(name: str, project: str, at: float) -> None:
        before = kept.get(name, Kept())
        kept[name] = Kept(before.project or real_folder(project), max(before.last_at, at))

    def merge_sessions_of_room(known_to: Callable[[str], Iterator[tuple[str, str, float]]]) -> None:
        for name, project, at in known_to(home_dir):
            merge_session(name, project, at)

    problem = ""
    try:
        do_all(partial(merge_sessions_of_room, room) for room in traces("sessions"))
    except StateError as error:
        problem = str(error)
    for path in find.files_beginning_with():
        name = find.session_id_of(path)
        if name in kept:
            merge_session(name, find.folder_it_began_in(path) or "", find.last_said_at(path))
    return kept, problem


def forget(
    home_dir: str, asked: forgotten.Asked, traces: Traces, *, dry_run: bool = False
) -> dict[str, int]:
    """Delete all that is kept of some sessions; what that was, as counts.

    Args:
        home_dir: the data folder.
        asked: which sessions, and whether all of a project's, or all before a moment, are meant.
        traces: what every room says of what it leaves behind.
        dry_run: count what would go, and change nothing.

    Raises:
        StateError: some of it is still there; the message says in which rooms, and why.
    """
    counts = {"sessions": len(asked.sessions), "outputs": 0, "entries": 0, "files": 0, "backups": 0}
    asked = asked._replace(promised=partial(removal.keys_promised_by_rooms, home_dir, traces))

    def forget_in_room(forget_own: Callable[..., dict[str, int]]) -> None:
        for what, number in forget_own(home_dir, asked, dry_run=dry_run).items():
            counts[what] += number

    # On record first: from here on nothing of it is taken in again.
    tasks = [] if dry_run else [partial(_note_forgotten, home_dir, asked)]
    tasks += [partial(forget_in_room, room) for room in traces("forget")]
    try:
        do_all(tasks)
    except StateError as error:
        rest = "could go" if dry_run else "is gone"
        raise StateError(f"not everything could be forgotten: {error}; the rest {rest}") from error
    return counts


def _note_forgotten(home_dir: str, asked: forgotten.Asked) -> None:
    if asked.project:
        forgotten.note_forgotten(home_dir, clock.now_s(), {"project": asked.project})
    if asked.before:
        forgotten.note_forgotten(home_dir, clock.now_s(), {"before": asked.before})
    for name in asked.sessions:
        transcript = session_record.transcript_and_project_of_id(name).transcript
        about = {"session": name, "cursor": fold.cursor_at_end_of_transcript(transcript)}
        forgotten.note_forgotten(home_dir, clock.now_s(), about)
