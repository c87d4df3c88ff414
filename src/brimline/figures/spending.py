"""What every recorded request used, kept in `spending.jsonl` so that a transcript is read once.

A line has a transcript with its size and time, and a list for each of its requests. The file is
derived: without it all transcripts are read again.
"""

from __future__ import annotations

import glob
import os
import stat
from typing import TYPE_CHECKING, Any, NamedTuple

from brimline.errors import StateError
from brimline.fast import clock, io, json
from brimline.fast.paths import client_config_dir
from brimline.state import forgotten
from brimline.transcript import find, read, row

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    Progress = Callable[[int], None] | None

FILE = "spending.jsonl"
_MARKS = (b'"usage"',)


class Request(NamedTuple):
    """One request that the service answered, of the main thread or of a subagent."""

    key: str
    at: float
    model: str
    input_tokens: int
    cache_write_5m_tokens: int
    cache_write_1h_tokens: int
    cache_read_tokens: int
    output_tokens: int

    @property
    def tokens(self) -> tuple[int, ...]:
        """By how they were billed, those of the reply last: the order of `TOKENS`."""
        return self[3:]

    @property
    def prompt_tokens(self) -> int:
        """All that was sent."""
        return sum(self.tokens[:-1])


TOKENS = Request._fields[3:]


class Spending(NamedTuple):
    """The requests of one transcript; a subagent's belong to the session that started it."""

    path: str
    stamp: list[int]
    session_id: str
    project: str
    is_subagent: bool
    is_fork: bool
    requests: list[Request]


def all_transcripts() -> list[str]:
    """Every session of the client, and every subagent's."""
    projects = f"{glob.escape(client_config_dir())}/projects"
    return sorted(find.files_beginning_with()) + glob.glob(f"{projects}/*/*/subagents/*.jsonl")


def read_spendings(
    home_dir: str, paths: Iterable[str], progress: Progress = None
) -> list[Spending]:
    """What the requests of these transcripts used; one that several have counts in one of them.

    Args:
        home_dir: the data folder.
        paths: the transcripts.
        progress: called with the number of bytes of each line that was read.

    Raises:
        StateError: `spending.jsonl` cannot be written.
    """
    current = {spending.path: spending for spending in load_kept_spendings(home_dir)}
    gone = forgotten.forgotten_line_by_session(home_dir)
    wanted = []
    is_changed = False
    for path in paths:
        stamp = _stamp_of_file(path)
        if stamp is None or forgotten.is_forgotten_file(gone, path):
            continue
        if path not in current or current[path].stamp != stamp:
            current[path] = _read_spending(path, stamp, progress)
            is_changed = True
        wanted.append(_without_forgotten_requests(current[path], gone))
    if is_changed:
        _save_spendings(home_dir, current.values())
    return _without_repeated_requests(wanted)


def read_session_spendings(path: str) -> list[Spending]:
    """What the requests of one session and its subagents used; reads their files, keeps nothing.

    Raises:
        OSError: one of them cannot be read.
    """
    own, folder = glob.escape(path.removesuffix(".jsonl")), glob.escape(os.path.dirname(path))
    inside = glob.glob(f"{own}/subagents/*.jsonl")
    beside = glob.glob(f"{folder}/agent-*.jsonl")  # as older clients have them
    files = [file for file in (path, *inside, *beside) if _stamp_of_file(file)]
    return _without_repeated_requests([_read_spending(file, [], None) for file in files])


def drop_spendings_of(home_dir: str, session_ids: Iterable[str]) -> None:
    """Let go of what is kept of some sessions.

    Raises:
        OSError, StateError: the file cannot be read or written.
    """
    names = set(session_ids)
    try:
        raw = io.read_file(f"{home_dir}/{FILE}")
    except FileNotFoundError:
        return
    # Also where a line that cannot be read has one of them.
    if any(name.encode() in raw for name in names):
        known = load_kept_spendings(home_dir)
        _save_spendings(home_dir, [one for one in known if one.session_id not in names])


def _without_repeated_requests(spendings: list[Spending]) -> list[Spending]:
    """Leave out requests that are there again: forks and kept rows are copies with the same ids."""
    seen: set[str] = set()
    distinct = []
    for spending in sorted(spendings, key=lambda one: (one.is_fork, one.path)):
        fresh = [request for request in spending.requests if request.key not in seen]
        seen.update(request.key for request in fresh)
        distinct.append(spending._replace(requests=fresh))
    return distinct


def _without_forgotten_requests(spending: Spending, gone: dict[str, dict[str, Any]]) -> Spending:
    """Leave out what the user had forgotten."""
    since = gone.get(spending.session_id, {"at": 0.0})["at"]
    later = [request for request in spending.requests if request.at >= since]
    return spending._replace(requests=later)


def _read_spending(path: str, stamp: list[int], progress: Progress) -> Spending:
    """Read one transcript; the last row of a reply has its full figures."""
    requests: dict[str, Request] = {}
    first: dict[str, Any] = {}
    is_fork = False
    for number, fields in enumerate(read.rows_of_file(path, _MARKS, progress)):
        tokens = row.billed_tokens_of(fields)
        if tokens is None:
            continue
        first = first or fields
        is_fork = is_fork or row.forked_from_session(fields) is not None
        key, at = row.message_id(fields) or f"{path}:{number}", row.timestamp_text_of(fields)
        begun = requests[key].at if key in requests else clock.parse_utc(at) or 0.0
        requests[key] = Request(key, begun, row.model_of(fields), *tokens)
    return Spending(
        path=path,
        stamp=stamp,
        session_id=_session_id_of_transcript(path, first),
        project=row.cwd_of(first) or "",
        is_subagent=_is_subagent_file(path),
        is_fork=is_fork,
        requests=list(requests.values()),
    )


def _session_id_of_transcript(path: str, first: dict[str, Any]) -> str:
    """The session that a transcript is part of; older clients keep subagents beside it."""
    folder = os.path.dirname(path)
    if os.path.basename(folder) == "subagents":
        return os.path.basename(os.path.dirname(folder))
    return (row.session_id_in(first) or "") if _is_subagent_file(path) else find.session_id_of(path)


def _is_subagent_file(path: str) -> bool:
    return os.path.basename(path).startswith("agent-")


def _stamp_of_file(path: str) -> list[int] | None:
    """Return what tells whether a transcript has grown; None where there is no such file."""
    try:
        file = os.stat(path)
    except OSError:
        return None
    return [file.st_size, file.st_mtime_ns] if stat.S_ISREG(file.st_mode) else None


def load_kept_spendings(home_dir: str) -> list[Spending]:
    """Return what is known of transcripts without reading any."""
    try:
        return [_spending_of_line(line) for line in json.read_lines(f"{home_dir}/{FILE}")]
    except (OSError, KeyError, TypeError, ValueError):
        return []  # derived: it is made anew


def _spending_of_line(line: dict[str, Any]) -> Spending:
    requests = [Request(*fields) for fields in line.pop("requests")]
    line.pop("v", None)
    return Spending(requests=requests, **line)


def _save_spendings(home_dir: str, spendings: Iterable[Spending]) -> None:
    lines = [
        {"v": 1, **one._asdict(), "requests": [list(request) for request in one.requests]}
        for one in spendings
        if os.path.exists(one.path)
    ]
    path = f"{home_dir}/{FILE}"
    try:
        io.replace_file(path, "".join([f"{json.dumps(line)}\n" for line in lines]).encode())
    except OSError as error:
        raise StateError(f"{path} cannot be written: {error.strerror or error}") from error
