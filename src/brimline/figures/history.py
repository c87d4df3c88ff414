"""What is known of every session: by the file of figures, and by the archive of what is gone."""

from __future__ import annotations

import contextlib
import itertools
import os
import random
import time
from typing import TYPE_CHECKING, Any

from brimline.fast import io, paths
from brimline.figures import archive, reader, spool, store
from brimline.figures.archive import Session, figure_time, figures_before_first_of
from brimline.figures.totals import Request

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from brimline.figures.reader import Transcript
    from brimline.figures.store import Store
    from brimline.figures.totals import Event
    from brimline.rooms import Traces

_STALE_S = 86_400
_KEEP_S = 30 * _STALE_S
_LARGEST_SPOOLS_BYTES = 200 << 20
# Growth of older sessions says little about this week's work.
_GROWTH_REQUESTS = 20_000


def known_sessions(figures: Store) -> Iterator[Session]:
    """Every session that hooks, a transcript or the archive knows, the newest first."""
    names = [*figures.sessions_newest_first(), *reversed(figures.archived_lines)]
    for name in dict.fromkeys(map(paths.safe_session_id, names)):
        yield _session_as_known(figures, name, figures.transcripts_of(name))


def read_session(figures: Store, session_id: str, files: Iterable[str]) -> Session:
    """One session as its files are now.

    Raises:
        OSError: its spool or its transcript cannot be read.
        StateError: the archive cannot be read.
    """
    figures.refresh_spool(session_id)
    return _session_as_known(figures, session_id, [figures.read(path) for path in files])


def _session_as_known(figures: Store, name: str, told: list[Transcript]) -> Session:
    """Put together what is there now, and what an earlier line knows of a time before that."""
    known = archive.parse_line(figures.archived_lines.get(name)) or Session(name)
    now, copied = figures.spool_of(name), dict[int | None, set[str]]()
    session = Session(name, [now.stamp, *map(_stamp_in_line, told)])
    session.damaged = now.damaged if now.stamp else known.damaged
    earlier = known.events or _events_in_transcripts([one for one in told if not one.is_fork])
    session.events = figures_before_first_of(earlier, now.events) + now.events
    if not known.events and not now.events:  # hooks would tell when a fork began
        session.events = _events_in_transcripts(told)
        copied = {one.number: figures.keys_counted_elsewhere(one.number) for one in told}
    # A session may lie in two folders, with the same rows in each.
    measured = {
        Request(each.at, each.tokens, each.model)
        for one in told
        for each in one.measured.requests
        if each.id not in copied.get(one.number, ())
    }
    requests = sorted(measured, key=figure_time) or now.requests
    recorded = [each for one in told for each in one.measured.compactions]
    if not told and known.requests:
        requests = [each for each in requests if each.at > known.requests[-1].at]
        session.requests, session.recorded = known.requests + requests, known.recorded
    else:
        session.requests = figures_before_first_of(known.requests, requests) + requests
        session.recorded = figures_before_first_of(known.recorded, recorded) + recorded
    return session


def _stamp_in_line(told: Transcript) -> list[Any]:
    """A transcript and what tells whether it has changed, as the archive has it."""
    size, changed_ns, _ = told.stamp.split()
    return [told.path, int(size), int(changed_ns)]


def _events_in_transcripts(told: list[Transcript]) -> list[Event]:
    """What hooks would have noted, had they been there: where it began, and the prompts."""
    events: list[Event] = []
    for one in told:
        times = [each.at for each in one.measured.requests]
        events += [{"at": at, "event": "UserPromptSubmit"} for at in one.prompts]
        if times:
            events += [{"at": min(times), "event": "SessionStart", "cwd": one.project}]
            events += [{"at": max(times), "event": "Stop"}]
    return sorted(events, key=figure_time)


def segments_of_recent_sessions(figures: Store) -> list[tuple[str | None, list[int]]]:
    """Return how recent sessions grew: model and occupancy at each request, between compactions."""
    segments: list[tuple[str | None, list[int]]] = []
    for session in known_sessions(figures):
        if sum(len(segment) for _, segment in segments) >= _GROWTH_REQUESTS:
            break
        segments += session.figures.segments
    return segments


def tidy(home_dir: str, session_id: str, traces: Traces, until: float) -> None:
    """Bring the figures up to date, then let go of what is too old.

    Args:
        home_dir: the data folder.
        session_id: the running session, which loses nothing.
        traces: what every room says of what it leaves behind.
        until: when to stop, in seconds of `time.monotonic`.

    Raises:
        OSError: something cannot be read or deleted.
        StateError: the history cannot be written.
    """
    now = time.monotonic()
    try:
        with store.opened(home_dir) as figures:
            # Half of the time: there must be some left to let go of old ones.
            figures.refresh(reader.all_transcripts(), until=now + (until - now) / 2)
            archive_quiet_sessions(figures, until)
    finally:
        _drop_old_folders(home_dir, session_id, traces, until)


def archive_quiet_sessions(figures: Store, until: float) -> None:
    """Put into the archive what is told of sessions that nobody used for a day.

    Raises:
        StateError: it cannot be written.
    """
    names = figures.not_archived(time.time() - _STALE_S)
    told = [_session_as_known(figures, name, figures.transcripts_of(name)) for name in names]
    if told and archive.write_session_lines(figures.home_dir, told, until):
        figures.note_archived(names)


def _drop_old_folders(home_dir: str, session_id: str, traces: Traces, until: float) -> None:
    """A day later announcements and telemetry go; a month later all that the archive has.

    The order is another one each time: what there was no time for today comes first some day.
    """
    brief = tuple(itertools.chain(*traces("BRIEF")))
    lines, parent, spooled_bytes = (
        archive.lines_by_session(home_dir),
        paths.sessions_dir(home_dir),
        0,
    )
    names = io.list_names(parent)
    for name in random.sample(names, len(names)):
        folder = f"{parent}/{name}"
        if time.monotonic() > until:
            return
        if name == session_id or os.path.islink(folder) or not os.path.isdir(folder):
            continue
        with contextlib.suppress(FileNotFoundError):  # another is at it too
            age_s = _age_of_folder_s(folder)
            stamp = spool.stamp_of_folder(folder)  # after its age: what came since is not known
            spooled_bytes += sum(stamp[:1])
            is_old = age_s > (_KEEP_S if spooled_bytes < _LARGEST_SPOOLS_BYTES else _STALE_S)
            if is_old and (not stamp or _is_line_as_new_as_spool(lines.get(name), stamp)):
                _remove_files_beginning_with(folder, "")
                os.rmdir(folder)
            elif age_s > _STALE_S:
                _remove_files_beginning_with(folder, brief)


def _age_of_folder_s(folder: str) -> float:
    """Return how long ago the folder or something in it was changed."""
    places = [folder, *[f"{folder}/{name}" for name in io.list_names(folder)]]
    return time.time() - max(os.lstat(place).st_mtime for place in places)


def _is_line_as_new_as_spool(line: bytes | None, stamp: list[int]) -> bool:
    """Tell whether a line of the archive was made from the spool as it is."""
    session = archive.parse_line(line)
    return session is not None and session.stamp[:1] == [stamp]


def _remove_files_beginning_with(folder: str, beginning: str | tuple[str, ...]) -> None:
    for name in io.list_names(folder):
        if name.startswith(beginning):
            io.remove(f"{folder}/{name}")
