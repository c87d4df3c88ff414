"""What experience says of offloading: which calls turn out large, and whose stubs come back.

Fast path: imports only `time` and `brimline.offload.learnedlog`; loaded once an output is large.

A stub pays as long as the model is content with it. One that is fetched back whole has cost more
than it saved, so a call whose stubs come back again and again is left alone.
"""

from __future__ import annotations

import time

from brimline.offload import learnedlog
from brimline.offload.learnedlog import FORGET, PASSED, RECALL, STUB

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

PASS, LARGE = "pass", "large"
_KEY_DIGITS = 12
# So many of the last stubs that came back make a call pass: in its own project, or anywhere.
_OWN = (3, 5)
_ANYWHERE = (6, 8)
# Of large outputs that pass, every fifth is offloaded all the same: else nothing could ever change.
_PROBE_EVERY = 5

compact = learnedlog.compact


class Stub:
    """One output that was kept out, and how much of it came back."""

    __slots__ = ("key", "recalled_bytes", "size_bytes")

    def __init__(self, key: str | None, size_bytes: int) -> None:
        self.key = key
        self.size_bytes = size_bytes
        self.recalled_bytes = 0

    @property
    def is_back(self) -> bool:
        """Whether so much came back that it did not pay: half, as a stub has to save half."""
        return bool(self.recalled_bytes) and self.recalled_bytes * 2 >= self.size_bytes


class Learned:
    """What is known of one pattern, in one project or (where `project` is None) in all."""

    __slots__ = (
        "last_at",
        "passed",
        "passes_in",
        "pattern",
        "project",
        "sizes_bytes",
        "stubs",
        "tool",
        "verdict",
    )

    def __init__(self, project: str | None, tool: str, pattern: str) -> None:
        self.project = project
        self.tool = tool
        self.pattern = pattern
        self.verdict = LARGE
        # Of what all projects taught together: the projects in which it passes.
        self.passes_in: list[str] = []
        self.last_at = 0.0
        # Of every large output, oldest first.
        self.sizes_bytes: list[int] = []
        self.stubs: list[Stub] = []
        # Large outputs that were left alone since the last stub.
        self.passed = 0

    @property
    def recalls(self) -> int:
        """How many of its stubs came back."""
        return self.came_back(len(self.stubs))

    def came_back(self, last: int) -> int:
        """How many of the last so many stubs came back."""
        return sum(stub.is_back for stub in self.stubs[-last:])

    def take(self, event: dict[str, Any]) -> None:
        """Add one line."""
        size, key = event["bytes"], event["key"]
        if event["kind"] == RECALL:
            stub = self._meant(key)
            if stub is None:
                return
            stub.recalled_bytes += stub.size_bytes if size is None else size
        else:
            self.sizes_bytes.append(size or 0)
            if event["kind"] == STUB:
                self.stubs.append(Stub(key, size or 0))
            self.passed = self.passed + 1 if event["kind"] == PASSED else 0
        self.last_at = max(self.last_at, event["at"])

    def _meant(self, key: str | None) -> Stub | None:
        """The stub with a key; without one, the latest that nobody has asked for."""
        for stub in reversed(self.stubs):
            if stub.key == key if key else not stub.recalled_bytes:
                return stub
        return None


def note_large(  # noqa: PLR0913 - what one line of the file holds
    home_dir: str,
    project_dir: str,
    tool: str,
    pattern: str,
    size_bytes: int,
    at: float,
    *,
    key: str | None = None,
    passed: bool = False,
) -> None:
    """Remember that an output was large.

    Args:
        home_dir: brimline's data folder.
        project_dir: the session's project.
        tool: the tool's name.
        pattern: what the call is remembered by.
        size_bytes: the size of the output.
        at: seconds since 1970.
        key: of the stub that was put in its place.
        passed: whether it was left alone instead.

    Raises:
        OSError: the line cannot be written.
    """
    fields = {"project": project_dir, "tool": tool, "pattern": pattern, "bytes": size_bytes}
    learnedlog.append(home_dir, PASSED if passed else STUB, at, fields | _short(key))


def note_recall(
    home_dir: str,
    project_dir: str,
    tool: str,
    pattern: str,
    at: float,
    *,
    key: str | None = None,
    size_bytes: int | None = None,
) -> None:
    """Remember that the model fetched a stub's content back.

    Args:
        home_dir: brimline's data folder.
        project_dir: the session's project.
        tool: the tool whose output it was.
        pattern: what that call is remembered by.
        at: seconds since 1970.
        key: of the stub; without it the latest one of the pattern is meant.
        size_bytes: how much came back; None means all of it.

    Raises:
        OSError: the line cannot be written.
    """
    fields = {"project": project_dir, "tool": tool, "pattern": pattern, "bytes": size_bytes}
    learnedlog.append(home_dir, RECALL, at, fields | _short(key))


def verdict(home_dir: str, project_dir: str, tool: str, pattern: str, now: float) -> str | None:
    """What experience advises for the next large output of a call.

    `pass`: its stubs came back too often; every fifth time the answer is `large` all the same.
    `large`: it was large before. None: nothing is known.

    Raises:
        OSError: the file is there and cannot be read.
    """
    events = learnedlog.events(home_dir, now, pattern)
    entries = _gathered(events).get((tool, pattern))
    if entries is None:
        return None
    judge = _judge(entries.get(project_dir), entries[None])
    if judge and judge.passed < _PROBE_EVERY - 1:
        return PASS
    return LARGE if entries[None].sizes_bytes else None


def learned(
    home_dir: str, project_dir: str | None = None, now: float | None = None
) -> list[Learned]:
    """All that is known, last heard of first: of one project, or of all of them together.

    Raises:
        OSError: the file is there and cannot be read.
    """
    found = []
    events = learnedlog.events(home_dir, time.time() if now is None else now)
    for entries in _gathered(events).values():
        for project, entry in entries.items():
            if entry.sizes_bytes and _judge(entry if project else None, entries[None]):
                entry.verdict = PASS
                entries[None].passes_in += [project] if project else []
        chosen = entries.get(project_dir)
        found += [chosen] if chosen and chosen.sizes_bytes else []
    return sorted(found, key=lambda entry: -entry.last_at)


def forget(
    home_dir: str, pattern: str, project_dir: str | None = None, at: float | None = None
) -> int:
    """Unlearn a pattern, in one project or in all; returns in how many projects it was known.

    Raises:
        OSError: the file cannot be read or written.
    """
    now = time.time() if at is None else at
    events = learnedlog.events(home_dir, now, pattern)
    known = {event["project"] for event in events if project_dir in (None, event["project"])}
    if known:
        fields = {"project": project_dir, "tool": "", "pattern": pattern}
        learnedlog.append(home_dir, FORGET, now, fields)
    return len(known)


def _gathered(
    events: Iterable[dict[str, Any]],
) -> dict[tuple[str, str], dict[str | None, Learned]]:
    """What is known by tool and pattern, then by project; under None by all of them together."""
    found: dict[tuple[str, str], dict[str | None, Learned]] = {}
    for event in events:
        name = event["tool"], event["pattern"]
        entries = found.setdefault(name, {None: Learned(None, *name)})
        project = event["project"]
        if project not in entries:
            entries[project] = Learned(project, *name)
        # A key says whose stub is meant, also where it is asked for from another folder.
        by_key = event["kind"] == RECALL and event["key"]
        for entry in entries.values() if by_key else (entries[None], entries[project]):
            entry.take(event)
    return found


def _judge(own: Learned | None, everywhere: Learned) -> Learned | None:
    """Whose experience makes a call pass: its own project's, as soon as that has enough of it."""
    least, last = _OWN
    if own and own.came_back(last) >= least:
        return own
    least, most = _ANYWHERE
    undecided = own is None or len(own.stubs) < last
    return everywhere if undecided and everywhere.came_back(most) >= least else None


def _short(key: str | None) -> dict[str, str]:
    return {"key": key.removeprefix("sha256:")[:_KEY_DIGITS]} if key else {}
