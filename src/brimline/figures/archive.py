"""One line per session in `history.jsonl`: what its spool and transcript told, once both are gone.

The file is replaced as a whole under a lock that ends with its holder, so a line is there once,
whoever else writes and whoever is killed.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from brimline.errors import StateError
from brimline.fast import io, json
from brimline.figures.totals import Figures, Request, figures_of_session
from brimline.transcript.compactions import Recorded

if TYPE_CHECKING:
    from collections.abc import Iterator

Value = TypeVar("Value")
_HEAD = b'{"v":1,"session":"'
_POLL_S = 0.01
_WAIT_S = 5.0
_LARGEST_FILE_BYTES = 64 << 20


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
        return min(map(figure_time, self.events[:1] or self.requests[:1]), default=float("inf"))

    @property
    def last_at(self) -> float:
        """When it was heard of last."""
        last = [*self.events[-1:], *self.requests[-1:], *self.recorded[-1:]]
        return max(map(figure_time, last), default=0.0)

    @property
    def figures(self) -> Figures:
        """What it adds up to."""
        return figures_of_session(self.events, self.requests, self.recorded)


def write_session_lines(home_dir: str, changed: list[Session], until: float = float("inf")) -> bool:
    """Put new lines in the place of some sessions' old ones; False where another has the lock.

    Raises:
        StateError: the file cannot be written.
    """
    path = _history_file(home_dir)
    try:
        with _try_awhile_to_hold_lock(home_dir, until) as is_held:
            if not is_held:
                return False
            lines = lines_by_session(home_dir)
            for one in changed:
                # Of two that were made at once, the one that knows more stays.
                there = parse_line(lines.pop(one.session_id, None))
                newest = max(one, there or one, key=lambda each: each.last_at)
                lines[one.session_id] = _encode_line(newest)
            while sum(map(len, lines.values())) > _LARGEST_FILE_BYTES:
                del lines[next(iter(lines))]
            io.replace_file(path, b"".join(lines.values()))
            with open(path, "rb") as file, contextlib.suppress(OSError):
                os.fsync(file.fileno())  # what it was made from may be deleted next
    except OSError as error:
        raise StateError(f"{path} cannot be written: {error.strerror or error}") from error
    return True


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
    return [one for line in lines_by_session(home_dir).values() if (one := parse_line(line))]


def figures_before_first_of(before: list[Value], now: list[Value]) -> list[Value]:
    """Return what is known of a time from before all that was found now."""
    return [each for each in before if not now or figure_time(each) < figure_time(now[0])]


def figure_time(figure: Any) -> float:
    return (figure["at"] if isinstance(figure, dict) else figure.at) or 0.0


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


def parse_line(line: bytes | None) -> Session | None:
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
