"""One line per session in `history.jsonl`: what its spool and transcript told, when both are gone.

A line is made anew when either has changed. The file is replaced as a whole under a lock that ends
with its holder, so a line is there once, whoever else writes and whoever is killed. What an earlier
line knows of a time from before the first event, request or compaction that is still there, stays.
"""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import os
import random
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from brimline.errors import StateError
from brimline.fast import io, json, paths
from brimline.figures.totals import (
    Figures,
    Request,
    events_worth_keeping,
    figures_of_session,
    requests_measured_by_hooks,
    well_typed_event_fields,
)
from brimline.state import forgotten
from brimline.transcript import find
from brimline.transcript.compactions import Recorded
from brimline.transcript.typed import measure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from brimline.rooms import Traces

    Progress = Callable[[int], None] | None

Value = TypeVar("Value")
_LARGEST_TIME = 1e12
_HEAD = b'{"v":1,"session":"'
_POLL_S = 0.01
_WAIT_S = 5.0
_STALE_S = 86_400
_KEEP_S = 30 * _STALE_S
_LARGEST_SPOOLS_BYTES = 200 << 20
_LARGEST_FILE_BYTES = 64 << 20
# Growth of older sessions says little about this week's work.
_GROWTH_REQUESTS = 20_000


@dataclass(slots=True)
class Session:
    """What is known of one session, and from which state of its files."""

    session_id: str
    stamp: list[Any] = field(default_factory=list)
    # Pieces of its spool that hold no event.
    damaged: int = 0
    events: list[dict[str, Any]] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    recorded: list[Recorded] = field(default_factory=list)

    @property
    def begun_at(self) -> float:
        """When it began, as hooks were told; a fork has older requests from where it came."""
        return min(map(_figure_time, self.events[:1] or self.requests[:1]), default=float("inf"))

    @property
    def figures(self) -> Figures:
        """What it adds up to."""
        return figures_of_session(self.events, self.requests, self.recorded)


def tidy(home_dir: str, session_id: str, traces: Traces, until: float) -> None:
    """Bring the history up to date, then let go of what is too old.

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
        # Half of the time: where sessions are many, there must be some left to let go of old ones.
        update_changed_sessions(home_dir, until=now + (until - now) / 2)
    finally:
        _drop_old_folders(home_dir, session_id, traces, until)


def update_changed_sessions(
    home_dir: str,
    transcripts: Iterable[str] = (),
    *,
    until: float = float("inf"),
    progress: Progress = None,
) -> list[str]:
    """Make the lines anew of sessions whose spool or transcript has changed.

    Args:
        home_dir: the data folder.
        transcripts: those to look at beside the ones that spools and earlier lines name.
        until: when to stop, in seconds of `time.monotonic`.
        progress: called with the number of bytes of each line that was read.

    Returns:
        What a reader of the figures should know, in sentences.

    Raises:
        StateError: the history cannot be written.
    """
    gone = forgotten.forgotten_line_by_session(home_dir)
    given = _transcripts_by_session(
        path for path in transcripts if not forgotten.is_forgotten_file(gone, path)
    )
    lines, notes, changed = lines_by_session(home_dir), list[str](), list[Session]()
    parent = paths.sessions_dir(home_dir)
    spooled = {name for name in io.list_names(parent) if name == paths.safe_session_id(name)}

    def last_written_ns(name: str) -> int:
        files = [stamp[2] for stamp in _file_stamps(given.get(name, []))]
        return max([*spool_stamp(f"{parent}/{name}")[1:], *files], default=0)

    # The newest first: a short look is not spent on sessions that surely have no news.
    for name in sorted(spooled | given.keys(), key=last_written_ns, reverse=True):
        session = _parse_line(lines.get(name)) or Session(name)
        try:
            is_new = _reread_tell_if_changed(
                home_dir, session, given.get(name, []), until, progress
            )
            if is_new and _trim_figures_tell_if_left(session, gone.get(name, {}).get("at", 0.0)):
                changed.append(session)
        except TimeoutError:
            notes.append("not everything that hooks recorded is in yet: run it again")
            break
        except OSError as error:
            notes.append(f"{error.filename or name} could not be read: {error.strerror or error}")
    if changed:
        write_session_lines(home_dir, changed[::-1], until)
    return notes


def write_session_lines(home_dir: str, changed: list[Session], until: float) -> None:
    """Put new lines in the place of some sessions' old ones; nothing where another has the lock.

    Raises:
        StateError: the file cannot be written.
    """
    path = _history_file(home_dir)
    try:
        with _try_awhile_to_hold_lock(home_dir, until) as is_held:
            if not is_held:
                return
            lines = lines_by_session(home_dir)
            for one in changed:
                # Of two that were made at once, the one that knows more stays.
                there = _parse_line(lines.pop(one.session_id, None))
                lines[one.session_id] = _encode_line(max(one, there or one, key=_last_figure_time))
            while sum(map(len, lines.values())) > _LARGEST_FILE_BYTES:
                del lines[next(iter(lines))]
            io.replace_file(path, b"".join(lines.values()))
            with open(path, "rb") as file, contextlib.suppress(OSError):
                os.fsync(file.fileno())  # what it was made from may be deleted next
    except OSError as error:
        raise StateError(f"{path} cannot be written: {error.strerror or error}") from error


def delete_line_of_session(home_dir: str, session_id: str) -> None:
    """Delete the line of one session; its folder must be gone, or it comes back.

    Raises:
        OSError: the file cannot be written.
    """
    path, name = _history_file(home_dir), session_id.encode()
    with _try_awhile_to_hold_lock(home_dir, float("inf")):
        lines = lines_by_session(home_dir)
        lines.pop(session_id, None)
        # Also what stands under another name, or cannot be read, because the file is damaged.
        kept = [line for line in lines.values() if b"/%b.jsonl" % name not in line]
        if os.path.exists(path) and name in io.read_file(path):
            io.replace_file(path, b"".join(kept))


def sessions_in_file(home_dir: str) -> list[Session]:
    """Every known session, the one whose line was made last at the end."""
    return [one for line in lines_by_session(home_dir).values() if (one := _parse_line(line))]


def read_session(
    home_dir: str, session_id: str, transcripts: list[str], lines: dict[str, bytes] | None = None
) -> Session:
    """One session as its files are now; writes nothing.

    Args:
        home_dir: the data folder.
        session_id: which one.
        transcripts: its files.
        lines: what `lines_by_session` gave, for who looks at many.

    Raises:
        OSError: its spool or its transcript cannot be read.
        StateError: the history cannot be read.
    """
    lines = lines_by_session(home_dir) if lines is None else lines
    known = _parse_line(lines.get(session_id)) or Session(session_id)
    _reread_tell_if_changed(home_dir, known, transcripts, float("inf"), None)
    return known


def segments_of_recent_sessions(
    home_dir: str, most_requests: int = _GROWTH_REQUESTS
) -> list[tuple[str | None, list[int]]]:
    """Return how recent sessions grew: model and occupancy at each request, between compactions."""
    segments: list[tuple[str | None, list[int]]] = []
    for line in reversed(lines_by_session(home_dir).values()):
        if sum(len(segment) for _, segment in segments) >= most_requests:
            break
        found = _parse_line(line)
        segments += found.figures.segments if found else []
    return segments


def _reread_tell_if_changed(
    home_dir: str, session: Session, files: list[str], until: float, progress: Progress
) -> bool:
    """Take in what has changed about a session; False where nothing has.

    Raises:
        TimeoutError: the time was up.
    """

    def report_or_time_out(size: int) -> None:
        if time.monotonic() > until:
            raise TimeoutError
        if progress:
            progress(size)

    report_or_time_out(0)
    folder = paths.session_dir(home_dir, session.session_id)
    transcripts = files or [path for path, *_ in session.stamp[1:]]
    stamp = [spool_stamp(folder), *_file_stamps(transcripts)]
    if stamp == session.stamp:
        return False
    lines, session.damaged = _read_events_and_damage(folder)
    events = [well_typed_event_fields(line) for line in lines]
    spooled_paths = [event["transcript_path"] for event in events if "transcript_path" in event]
    session.stamp = [stamp[0], *_file_stamps(transcripts or spooled_paths[-1:])]
    scans = [measure(path, report_or_time_out) for path, *_ in session.stamp[1:]]
    recorded = [row for scan in scans for row in scan.compactions]
    # A session may lie in two folders, with the same rows in each.
    scanned = {Request(one.at, one.tokens, one.model) for scan in scans for one in scan.requests}
    requests = sorted(scanned, key=_figure_time) or requests_measured_by_hooks(events)
    session.events = _figures_before_first_of(session.events, events) + events_worth_keeping(events)
    session.requests = _figures_before_first_of(session.requests, requests) + requests
    session.recorded = _figures_before_first_of(session.recorded, recorded) + recorded
    return True


def _trim_figures_tell_if_left(session: Session, since: float) -> bool:
    """Leave out what was forgotten; False where nothing is left of it."""
    if not since:
        return True
    session.events = _figures_since(since, session.events)
    session.requests = _figures_since(since, session.requests)
    session.recorded = _figures_since(since, session.recorded)
    return bool(session.events or session.requests or session.recorded)


def _figures_since(since: float, found: list[Value]) -> list[Value]:
    return [each for each in found if _figure_time(each) >= since]


def read_spooled_events(home_dir: str, session_id: str) -> list[dict[str, Any]]:
    """Every event of one session that is still on disk, oldest first."""
    return _read_events_and_damage(paths.session_dir(home_dir, session_id))[0]


def spool_stamp(folder: str) -> list[int]:
    """What tells whether a session's spool has changed: its size and time; empty without one."""
    states = [os.lstat(path) for path in _session_spool_files(folder) if os.path.lexists(path)]
    sizes, times = [state.st_size for state in states], [state.st_mtime_ns for state in states]
    return [sum(sizes), max(times)] if states else []


def _read_events_and_damage(folder: str) -> tuple[list[dict[str, Any]], int]:
    """The events of a session, and how many stretches of its spool hold none.

    Raises:
        OSError: it cannot be read.
    """
    events: list[dict[str, Any]] = []
    damaged = 0
    for path in _session_spool_files(folder):
        lines, unreadable = json.parse_and_count_damaged(io.read_file(path))
        sound_lines = [line for line in lines if _is_timed_event(line)]
        events += sound_lines
        damaged += unreadable + len(lines) - len(sound_lines)
    return sorted(events, key=_figure_time), damaged


def _session_spool_files(folder: str) -> list[str]:
    """A session's spool: what hooks left, and what the gateway left."""
    names = sorted(io.list_names(folder))
    return [f"{folder}/{name}" for name in names if name.startswith("spool.")]


def _is_timed_event(line: dict[str, Any]) -> bool:
    """Tell whether a line is an event with a point in time."""
    at = line.get("at")
    is_time = isinstance(at, int | float) and not isinstance(at, bool) and abs(at) < _LARGEST_TIME
    return is_time and isinstance(line.get("event"), str)


def _figures_before_first_of(before: list[Value], now: list[Value]) -> list[Value]:
    """Return what is known of a time from before all that was found now."""
    return [each for each in before if not now or _figure_time(each) < _figure_time(now[0])]


def _figure_time(figure: Any) -> float:
    return (figure["at"] if isinstance(figure, dict) else figure.at) or 0.0


def _last_figure_time(session: Session) -> float:
    return max(
        map(_figure_time, [*session.events[-1:], *session.requests[-1:], *session.recorded[-1:]]),
        default=0.0,
    )


def _drop_old_folders(home_dir: str, session_id: str, traces: Traces, until: float) -> None:
    """A day later announcements and telemetry go; a month later all that the history has.

    The order is another one each time: what there was no time for today comes first some day.
    """
    brief = tuple(itertools.chain(*traces("BRIEF")))
    lines, parent, spooled_bytes = lines_by_session(home_dir), paths.sessions_dir(home_dir), 0
    names = io.list_names(parent)
    for name in random.sample(names, len(names)):
        folder = f"{parent}/{name}"
        if time.monotonic() > until:
            return
        if name == session_id or os.path.islink(folder) or not os.path.isdir(folder):
            continue
        with contextlib.suppress(FileNotFoundError):  # another is at it too
            age_s = _age_of_folder_s(folder)
            stamp = spool_stamp(folder)  # after its age: what came in between is not known yet
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
    """Tell whether a line of the history was made from the spool as it is."""
    session = _parse_line(line)
    return session is not None and session.stamp[:1] == [stamp]


def _remove_files_beginning_with(folder: str, beginning: str | tuple[str, ...]) -> None:
    for name in io.list_names(folder):
        if name.startswith(beginning):
            io.remove(f"{folder}/{name}")


def _transcripts_by_session(transcripts: Iterable[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for path in sorted(transcripts):
        found.setdefault(paths.safe_session_id(find.session_id_of(path)), []).append(path)
    return found


def _file_stamps(files: Iterable[str]) -> list[list[Any]]:
    """Return what tells whether files have changed; those that are gone are left out."""
    found = [(path, os.stat(path)) for path in files if os.path.isfile(path)]
    return [[path, status.st_size, status.st_mtime_ns] for path, status in found]


def _history_file(home_dir: str) -> str:
    return home_dir + "/history.jsonl"


def lines_by_session(home_dir: str) -> dict[str, bytes]:
    """The lines by session, the one written last at the end."""
    try:
        data = io.read_file(_history_file(home_dir))
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise StateError(
            f"{_history_file(home_dir)} cannot be read: {error.strerror or error}"
        ) from error
    ours = [line for line in data.split(b"\n") if line.startswith(_HEAD) and line.isascii()]
    return {line[len(_HEAD) :].partition(b'"')[0].decode(): line + b"\n" for line in ours}


def _encode_line(one: Session) -> bytes:
    line = {"v": 1, "session": one.session_id, "stamp": one.stamp, "damaged": one.damaged}
    line |= {"events": one.events, "requests": one.requests, "recorded": one.recorded}
    return json.dumps(line).encode() + b"\n"


def _parse_line(line: bytes | None) -> Session | None:
    """A line of ours; None for one that is damaged, which is made anew."""
    try:
        stored = json.loads((line or b"").decode("ascii"))
        return Session(
            stored["session"],
            stored["stamp"],
            stored["damaged"],
            stored["events"],
            [Request(*one) for one in stored["requests"]],
            [Recorded(*one) for one in stored["recorded"]],
        )
    except (ValueError, KeyError, TypeError):
        return None


@contextlib.contextmanager
def _try_awhile_to_hold_lock(home_dir: str, until: float) -> Iterator[bool]:
    """Hold the lock beside the history, or not; the system drops it however its holder ends."""
    io.make_folder_and_parents(home_dir)
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
    descriptor = os.open(f"{home_dir}/history.lock", flags, 0o600)
    until = min(until, time.monotonic() + _WAIT_S)
    try:
        while not (is_held := _try_lock(descriptor)) and time.monotonic() < until:
            time.sleep(_POLL_S)
        yield is_held
    finally:
        os.close(descriptor)


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        pass  # a file system without locks: then there is nothing to wait for
    return True
