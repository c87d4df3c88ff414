"""What experience says of offloading: which calls turn out large, and whose references come back.

A reference pays as long as the model is content with it. One that is fetched back has cost more
than it saved, so a call whose references come back again and again is left alone.

The file holds one line per event, appended and never rewritten: parallel hooks cannot lose each
other's lines, what is forgotten gets a line that says so, and what is older than a month is
ignored. A file that grew large is put aside, and read once more in its place.
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple

from brimline.fast import io, json

# The session's project, the tool, and what a call is remembered by.
Call = tuple[str | None, str, str]
FORMAT = 1
EXPIRY_S = 30 * 86_400
STUB, PASSED, RECALL, FORGET = "stub", "passed", "recall", "forget"
PASS, LARGE = "pass", "large"
_NAME = "offload-learned"
_START = b'{"v":'
_ROTATE_AT_BYTES = 256 << 10
_KEY_DIGITS = 12
# So many of the last stubs that came back make a call pass in its project.
_CAME_BACK, _OF_THE_LAST = 3, 5
# Of large outputs that pass, every fifth is offloaded all the same: else nothing could ever change.
_PROBE_EVERY = 5
# Damage must not get into arithmetic.
_LARGEST = 1e15


class Learned:
    """What is known of one pattern, in one project or in all of them together."""

    def __init__(self, tool: str, pattern: str) -> None:
        self.tool = tool
        self.pattern = pattern
        self.last_at = 0.0
        # Of every large output, oldest first.
        self.sizes_bytes: list[int] = []
        # Of every output that was replaced: its key, its size, and how much of it came back.
        self.stubs: list[list[Any]] = []
        # Large outputs that were left alone since the last stub.
        self.passed = 0

    @property
    def recalls(self) -> int:
        """How many of its stubs came back."""
        return self.came_back(len(self.stubs))

    def came_back(self, last: int) -> int:
        """Of how many of the last stubs so much came back that they did not pay: half."""
        return sum(0 < size <= 2 * recalled for _, size, recalled in self.stubs[-last:])

    @property
    def verdict(self) -> str:
        """Whether its stubs come back so often that it is left alone."""
        return PASS if self.came_back(_OF_THE_LAST) >= _CAME_BACK else LARGE

    def take(self, event: _Event) -> None:
        """Add one line."""
        if event.kind == RECALL:
            for stub in reversed(self.stubs):
                if stub[0] == event.key if event.key else not stub[2]:
                    stub[2] += stub[1] if event.size is None else event.size
                    break
        else:
            self.sizes_bytes.append(event.size or 0)
            self.passed = self.passed + 1 if event.kind == PASSED else 0
            if event.kind == STUB:
                self.stubs.append([event.key, event.size or 0, 0])
        self.last_at = max(self.last_at, event.at)


class _Event(NamedTuple):
    """One line of the file."""

    kind: str
    at: float
    project: str | None
    tool: str
    pattern: str
    size: int | None
    key: str | None


def note(
    home_dir: str, kind: str, call: Call, size: int | None = None, key: str | None = None
) -> None:
    """Remember an event: a large output that was replaced or passed, or one that was fetched back.

    Args:
        home_dir: the data folder.
        kind: one of `STUB PASSED RECALL`.
        call: the session's project, the tool, and what the call is remembered by.
        size: of the output in bytes; how much came back, where None means all of it.
        key: of the stub; for a recall without it the latest one of the pattern is meant.

    Raises:
        OSError: the line cannot be written.
    """
    line = {"v": FORMAT, "at": time.time(), "kind": kind, "bytes": size}
    line |= dict(zip(("project", "tool", "pattern"), call, strict=True))
    line |= {"key": key.removeprefix("sha256:")[:_KEY_DIGITS]} if key else {}
    io.append_line(file(home_dir), json.dumps(line))


def passes(home_dir: str, call: Call) -> bool:
    """Whether experience lets the next large output of a call pass; every fifth does not.

    Raises:
        OSError: the file is there and cannot be read.
    """
    project_dir, tool, pattern = call
    known = _gathered(home_dir, project_dir, pattern).get((tool, pattern))
    return known is not None and known.verdict == PASS and known.passed < _PROBE_EVERY - 1


def learned(home_dir: str, project_dir: str | None = None) -> list[Learned]:
    """All that is known, last heard of first: of one project, or of all of them together.

    Raises:
        OSError: the file is there and cannot be read.
    """
    found = [entry for entry in _gathered(home_dir, project_dir).values() if entry.sizes_bytes]
    return sorted(found, key=lambda entry: -entry.last_at)


def forget(home_dir: str, pattern: str, project_dir: str | None = None) -> int:
    """Unlearn a pattern, in one project or in all; returns in how many projects it was known.

    Raises:
        OSError: the file cannot be read or written.
    """
    events = _events(home_dir, pattern)
    known = {event.project for event in events if project_dir in (None, event.project)}
    if known:
        note(home_dir, FORGET, (project_dir, "", pattern))
    return len(known)


def file(home_dir: str) -> str:
    """Where lines are appended."""
    return f"{home_dir}/{_NAME}.jsonl"


def tidy(home_dir: str) -> None:
    """Put a file that grew large aside; drop what an older version had put aside.

    Raises:
        OSError: something cannot be renamed or removed.
    """
    io.rotate(file(home_dir), _ROTATE_AT_BYTES)
    for name in io.names_in(home_dir):
        number = name.removeprefix(_NAME + ".").removesuffix(".jsonl")
        if number.isdecimal() and name == f"{_NAME}.{number}.jsonl":
            io.remove(f"{home_dir}/{name}")


def _gathered(
    home_dir: str, project_dir: str | None, pattern: str | None = None
) -> dict[tuple[str, str], Learned]:
    found: dict[tuple[str, str], Learned] = {}
    for event in _events(home_dir, pattern):
        # A key says whose stub is meant, also where it is asked for from another folder.
        by_key = event.kind == RECALL and event.key
        if by_key or project_dir in (None, event.project):
            name = event.tool, event.pattern
            found.setdefault(name, Learned(*name)).take(event)
    return found


def _events(home_dir: str, pattern: str | None) -> list[_Event]:
    """Lines that are neither expired nor forgotten, in the order in which they were appended."""
    found: list[_Event] = []
    now = time.time()
    needle = b"" if pattern is None else json.dumps(pattern).encode()
    lines: list[bytes] = []
    for path in (file(home_dir) + ".old", file(home_dir)):
        try:
            # By how a line begins, not by its end: a torn one has none, and the next one follows.
            lines += io.read_file(path).split(_START)[1:]
        except FileNotFoundError:
            continue
    for event in filter(None, [_parse(line) for line in lines if needle in line]):
        if event.kind == FORGET:
            found = [
                one
                for one in found
                if one.pattern != event.pattern or event.project not in (None, one.project)
            ]
        # In both directions: a line from a clock that ran ahead must not stay for ever.
        elif abs(now - event.at) <= EXPIRY_S and pattern in (None, event.pattern):
            found.append(event)
    return found


def _parse(rest: bytes) -> _Event | None:
    """The line with this behind its beginning; None if it is torn, damaged, or of the future."""
    try:
        line = json.loads((_START + rest).decode("utf-8", "replace"))
    except ValueError:
        return None
    at, size, project, key = (line.get(name) for name in ("at", "bytes", "project", "key"))
    kind, tool, pattern = (line.get(name) for name in ("kind", "tool", "pattern"))
    sound = (
        line["v"] == FORMAT
        and kind in (STUB, PASSED, RECALL, FORGET)
        and all(isinstance(text, str) for text in (tool, pattern))
        and all(isinstance(text, str | None) for text in (project, key))
        and _is_figure(at)
        and (size is None or (_is_figure(size) and isinstance(size, int)))
    )
    return _Event(kind, at, project, tool, pattern, size, key) if sound else None


def _is_figure(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < _LARGEST
