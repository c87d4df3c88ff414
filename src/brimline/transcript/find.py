"""Which file is a session's: the newest of a project, the one with an id, the one it went on in."""

from __future__ import annotations

import contextlib
import glob
import os
from typing import TYPE_CHECKING

from brimline.errors import SessionError
from brimline.fast import clock, io, json, paths
from brimline.transcript import read, row

if TYPE_CHECKING:
    from collections.abc import Iterable

LAST = "last"
_LOOK_BYTES = 1 << 20
_MOST_LATER_FILES = 20
_LATER_LOOK_BYTES = 4 << 20
# Of what a schedule sends the client writes down as much as 200 columns hold.
_CUT_CHARACTERS = 90
# A session goes on from one of late; older ones are not searched.
MOST_ORIGINS = 30


def wanted_transcript(session_id: str | None) -> str:
    """The file of the session that is named, else of the one this runs in, else of the newest.

    Raises:
        SessionError: there is none, or the name is the beginning of several.
    """
    if session_id is not None:
        return transcript_named(session_id)
    running = io.env("CLAUDE_CODE_SESSION_ID")
    if running:
        with contextlib.suppress(SessionError):  # the client has not written it yet
            return transcript_by_id_start(running)
    return newest_in_project(os.getcwd())


def transcript_named(name: str) -> str:
    """The file of a session by any of its names: a file, an id or how that begins, or `last`.

    Raises:
        SessionError: there is none, or the name is the beginning of several.
    """
    if name == LAST:
        return newest_in_project(os.getcwd())
    if os.path.exists(name) or "/" in name or name.endswith(".jsonl"):
        return name
    return transcript_by_id_start(name)


def wanted_session_id(name: str | None, kept: Iterable[str] = ()) -> str:
    """The id of the session that is named, else of the one this runs in, else of the newest.

    Args:
        name: a file, an id or how it begins, or `last`.
        kept: ids that are known besides those that the client has files of.

    Raises:
        SessionError: there is none, or the name is the beginning of several.
    """
    if name is not None:
        return only_matching_id(name, {*kept, *map(session_id_of, files_beginning_with())})
    running = io.env("CLAUDE_CODE_SESSION_ID")
    if running:
        return paths.safe_session_id(running)
    return session_id_of(newest_in_project(os.getcwd()))


def only_matching_id(name: str, known: Iterable[str]) -> str:
    """The one known session whose id is, or begins with, what was typed; or a file's, or the last.

    Raises:
        SessionError: there is none, or more than one.
    """
    if is_path_or_last(name):
        name = session_id_of(transcript_named(name))
    ids = {each for each in known if name and each.startswith(name)}
    if name in ids:
        return name
    if not ids:
        raise SessionError(f"no session {name!r} is known: `brimline history` lists them")
    if len(ids) > 1:
        raise SessionError(f"{len(ids)} sessions begin with {name!r}: write more of the id")
    return ids.pop()


def is_path_or_last(name: str) -> bool:
    """Tell whether a name of a session is a file or `last`, and no id that may be a beginning."""
    return name == LAST or name.endswith(".jsonl")


def newest_in_project(project_dir: str) -> str:
    """The session of a project that was heard of last.

    One that is resumed is not written to before the next prompt, but its hooks and status line are
    asked.

    Raises:
        SessionError: the project has none.
    """
    place = project_dir.rstrip("/") or "/"
    while place:
        folder = paths.project_transcripts_dir(place)
        if found := _drop_subagent_files(glob.glob(f"{glob.escape(folder)}/*.jsonl")):
            in_time = sorted(found, key=_mtime_with_state_files, reverse=True)
            # Folders whose names differ in signs alone share one of the client's.
            return next((path for path in in_time if _may_have_begun_in(place, path)), in_time[0])
        place = place.rpartition("/")[0]  # the client may have been started further up
    raise SessionError(
        "no session in this folder yet: start Claude Code here, or pass `--session ID`"
        " (`brimline history` lists them)"
    )


def transcript_by_id_start(session_id: str) -> str:
    """The session with an id, or the only one whose id begins so, in whichever project.

    Raises:
        SessionError: there is none, or the beginning is that of several.
    """
    found = files_beginning_with(paths.safe_session_id(session_id))
    name = only_matching_id(session_id, map(session_id_of, found))
    return max((path for path in found if session_id_of(path) == name), key=modified_at)


def files_beginning_with(name: str = "") -> list[str]:
    """The client's session files, of all projects, whose names begin so."""
    folder = glob.escape(paths.client_config_dir())
    end = "" if name.endswith(".jsonl") else "*.jsonl"
    return glob.glob(f"{folder}/projects/*/{glob.escape(name)}{end}")


def all_transcripts() -> list[str]:
    """Every session of the client that is there, of all projects, the newest first."""
    return sorted(_drop_subagent_files(files_beginning_with()), key=modified_at, reverse=True)


def session_id_after_clears(first_session: str) -> str:
    """The latest session of the client that began with `first_session`, maybe that one itself.

    What a client starts (an MCP server, for example) is told the first session only, also after
    `/clear`. The rows of later ones name that first session beside their own.
    """
    with contextlib.suppress(SessionError):
        own = transcript_by_id_start(first_session)
        others = [path for path in files_beside_newest_first(own) if path != own]
        for path in others[:_MOST_LATER_FILES]:
            if modified_at(path) >= modified_at(own) and _has_first_session_id(path, first_session):
                return session_id_of(path)
    return first_session


def transcript_it_went_on_from(path: str) -> str | None:
    """The file beside a session's that it went on from, where it begins with a compaction.

    So does a fork of a compacted session, and what came after a compaction that was undone. The
    rows behind the compaction were written in the other session first, at the time they have.
    """
    mark = _mark_of_first_kept_message(path)
    if mark is None:
        return None
    for each in files_beside_newest_first(path)[:MOST_ORIGINS]:
        if io.does_file_contain(each, mark) and _mark_of_first_kept_message(each) != mark:
            return each
    return None


def files_beside_newest_first(path: str) -> list[str]:
    """The session files in the folder of one, that one too, the newest first."""
    folder = glob.escape(os.path.dirname(path))
    return sorted(glob.glob(f"{folder}/*.jsonl"), key=modified_at, reverse=True)


def _mark_of_first_kept_message(path: str) -> bytes | None:
    """The time of the first message behind the compaction with which a file begins, if it does."""
    is_behind = False
    with contextlib.suppress(OSError):
        for fields in read.rows_of_file(path, length=_LOOK_BYTES):
            if is_behind and row.is_message(fields):
                return row.timestamp_mark_of_row(fields)
            if row.blocks_sent_to_model(fields) and not row.is_compaction_row(fields):
                return None
            is_behind = is_behind or row.is_compaction_row(fields)
    return None


def checked_transcript(path: str) -> str:
    """Refuse a file that is something else than a session; an empty one may still become one.

    Returns:
        The path.

    Raises:
        SessionError: it cannot be read, or nothing at its beginning is a row.
    """
    try:
        with read.open_transcript_file(path) as file:
            lines = read.lines_of_stream(file, _LOOK_BYTES)
            found = [line for line in lines if line.problem != read.BLANK]
    except OSError as error:
        raise SessionError(f"cannot read {path}: {error.strerror or error}") from error
    # Of a first line that is longer than the look nothing is known.
    whole = [line for line in found if line.problem != read.TORN or len(line.raw) != _LOOK_BYTES]
    if whole and not any(line.records for line in found):
        raise SessionError(f"{path} is not a session's transcript")
    return path


def folder_it_began_in(path: str) -> str | None:
    """The folder in which a session began; None where its file does not tell."""
    with contextlib.suppress(OSError):
        folders = map(row.cwd_of, read.rows_of_file(path, length=_LOOK_BYTES))
        return next((folder for folder in folders if folder), None)
    return None


def last_said_at(path: str) -> float:
    """When the last row was written; where none tells, when the file was."""
    with contextlib.suppress(OSError):
        for fields in json.rows_backward(path, b'"timestamp"', _LOOK_BYTES):
            at = clock.parse_utc(row.timestamp_text_of(fields))
            if at is not None:
                return at
    return modified_at(path)


def _may_have_begun_in(place: str, path: str) -> bool:
    """Tell whether a session may be of a folder, whatever file the client keeps it in."""
    began = folder_it_began_in(path)
    return began is None or os.path.realpath(began) == os.path.realpath(place)


def does_schedule_send(path: str, prompt: str) -> bool:
    """Tell whether a schedule of a session sends this prompt: a model makes those unasked."""
    said = _plain_letters(prompt)
    with contextlib.suppress(OSError):
        for fields in json.rows_backward(path, b'"scheduled_task_fire"', _LATER_LOOK_BYTES):
            told = row.prompt_of_schedule(fields) or ""
            # The client trims it there, takes signs out, and leaves off what is long.
            letters = _plain_letters(told)
            if said == letters or (len(told) > _CUT_CHARACTERS and said.startswith(letters)):
                return True
    return False


def _plain_letters(text: str) -> str:
    import unicodedata

    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return "".join(filter(str.isalnum, plain))


def session_id_of(path: str) -> str:
    """The id in a session file's name."""
    return os.path.basename(path).removesuffix(".jsonl")


def _has_first_session_id(path: str, first_session: str) -> bool:
    mark = row.clients_first_session_mark(first_session)
    with contextlib.suppress(OSError):
        found = json.rows_backward(path, mark, _LATER_LOOK_BYTES)
        return any(row.clients_first_session_id(fields) == first_session for fields in found)
    return False


def is_subagent_file(path: str) -> bool:
    """Tell whether a transcript is a subagent's, by its name."""
    return os.path.basename(path).startswith("agent-")


def _drop_subagent_files(found: list[str]) -> list[str]:
    """Files only, and no subagents': older clients keep theirs beside the others."""
    own = [path for path in found if not is_subagent_file(path)]
    return [path for path in own if os.path.isfile(path)]


def _mtime_with_state_files(path: str) -> float:
    folder = paths.session_dir(paths.data_dir(), session_id_of(path))
    return max(map(modified_at, (path, f"{folder}/spool.jsonl", f"{folder}/statusline.json")))


def modified_at(path: str) -> float:
    """Return when a file was written last; 0 where it cannot be seen."""
    with contextlib.suppress(OSError):
        return os.path.getmtime(path)
    return 0.0
