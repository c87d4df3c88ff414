"""The file of what was learned: one line per event, appended and never rewritten.

Fast path: imports only `brimline.fast.io` and `brimline.fast.json`; loaded once an output is large.
As nothing is rewritten, parallel hooks cannot lose each other's lines: what is forgotten gets a
line that says so, and a file that grew large or old is renamed, and read until it has expired.
"""

from __future__ import annotations

from brimline.fast import io, json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

FORMAT = 1
EXPIRY_S = 30 * 86_400
STUB, PASSED, RECALL, FORGET = "stub", "passed", "recall", "forget"
_KINDS = (STUB, PASSED, RECALL, FORGET)
_PREFIX, _SUFFIX = "offload-learned", ".jsonl"
_START = b'{"v":'
_FIRST_BYTES = 8_192
_ROTATE_AT_BYTES = 256 << 10
_MOST_ASIDE = 3
# A hook that opened the file before it was renamed may still append; no hook lives this long.
_QUIET_S = 3_600.0
# Damage must not get into arithmetic.
_LARGEST = 1e15


def file(home_dir: str) -> str:
    """Where lines are appended."""
    return f"{home_dir}/{_PREFIX}{_SUFFIX}"


def append(home_dir: str, kind: str, at: float, fields: dict[str, Any]) -> None:
    """Add one line; `fields` are `project`, `tool`, `pattern`, and where known `bytes` and `key`.

    Raises:
        OSError: it cannot be written.
    """
    line = {"v": FORMAT, "at": at, "kind": kind} | fields
    io.append_line(file(home_dir), json.dumps(line))


def events(home_dir: str, now: float, pattern: str | None = None) -> list[dict[str, Any]]:
    """Lines that are neither expired nor forgotten, in the order in which they were appended.

    Args:
        home_dir: brimline's data folder.
        now: seconds since 1970.
        pattern: only lines of this one; the others are not even parsed.

    Raises:
        OSError: the file is there and cannot be read.
    """
    found: list[dict[str, Any]] = []
    for event in _lines(home_dir, b"" if pattern is None else json.dumps(pattern).encode()):
        if pattern not in (None, event["pattern"]):
            continue
        if event["kind"] == FORGET:
            found = [one for one in found if not _covers(event, one)]
        # In both directions: a line from a clock that ran ahead must not stay for ever.
        elif abs(now - event["at"]) <= EXPIRY_S:
            found.append(event)
    return found


def compact(home_dir: str, now: float) -> None:
    """Keep the files small: rename one that grew large or old, drop what has expired.

    Raises:
        OSError: something cannot be read, renamed or removed.
    """
    if _is_outgrown(file(home_dir), now):
        _put_aside(home_dir, now)
    aside = _aside(home_dir)
    for place, (renamed_at, path) in enumerate(aside):
        too_many = place < len(aside) - _MOST_ASIDE
        expired = now - _modified(path) > EXPIRY_S
        if now - renamed_at > _QUIET_S and (too_many or expired):
            io.remove(path)


def _covers(tombstone: dict[str, Any], event: dict[str, Any]) -> bool:
    same_project = tombstone["project"] in (None, event["project"])
    return same_project and bool(tombstone["pattern"] == event["pattern"])


def _lines(home_dir: str, needle: bytes) -> Iterator[dict[str, Any]]:
    for path in [*[path for _, path in _aside(home_dir)], file(home_dir)]:
        try:
            data = io.read_file(path)
        except FileNotFoundError:
            continue
        # By how a line begins, not by its end: a torn one has none, and the next one follows it.
        for rest in data.split(_START)[1:]:
            event = _parse(rest) if needle in rest else None
            if event is not None:
                yield event


def _parse(rest: bytes) -> dict[str, Any] | None:
    """The line with this behind its beginning; None if it is torn, damaged, or of the future."""
    try:
        event: dict[str, Any] = json.loads((_START + rest).decode("utf-8", "replace"))
    except ValueError:
        return None
    if event["v"] != FORMAT or event.get("kind") not in _KINDS or not _is_figure(event.get("at")):
        return None
    everywhere = event["kind"] == FORGET and event.setdefault("project", None) is None
    texts = (event.get("tool"), event.get("pattern"), "" if everywhere else event.get("project"))
    if not all(isinstance(text, str) for text in texts):
        return None
    event.setdefault("bytes", None)
    event.setdefault("key", None)
    return event if event["bytes"] is None or _is_figure(event["bytes"]) else None


def _is_figure(value: Any) -> bool:
    return isinstance(value, (int, float)) and value is not True and 0 <= value < _LARGEST


def _is_outgrown(path: str, now: float) -> bool:
    """Whether a file is too large, or begins with a line that has expired."""
    try:
        size = io.system.stat(io.to_bytes(path)).st_size
        first = io.read_file(path, _FIRST_BYTES).split(_START)[1:2]
    except FileNotFoundError:
        return False
    event = _parse(first[0]) if first else None
    return size > _ROTATE_AT_BYTES or (event is not None and now - event["at"] > EXPIRY_S)


def _put_aside(home_dir: str, now: float) -> None:
    """Rename the file; the name is reserved first, so that two at once cannot replace each other's.

    Where the system does not let an open file be renamed, it just grows on.
    """
    number = int(now * 1e9)
    while not io.create_exclusively(_name_aside(home_dir, number), b""):
        number += 1
    target = _name_aside(home_dir, number)
    try:
        io.system.replace(io.to_bytes(file(home_dir)), io.to_bytes(target))
    except OSError:
        io.remove(target)


def _aside(home_dir: str) -> list[tuple[float, str]]:
    """The files that were renamed, the oldest first, and when that was."""
    numbers = []
    for name in io.names_in(home_dir):
        number = name.removeprefix(_PREFIX + ".").removesuffix(_SUFFIX)
        if number.isascii() and number.isdigit() and name == f"{_PREFIX}.{number}{_SUFFIX}":
            numbers.append(int(number))
    return [(number / 1e9, _name_aside(home_dir, number)) for number in sorted(numbers)]


def _name_aside(home_dir: str, number: int) -> str:
    return f"{home_dir}/{_PREFIX}.{number}{_SUFFIX}"


def _modified(path: str) -> float:
    try:
        return io.system.stat(io.to_bytes(path)).st_mtime
    except FileNotFoundError:
        return 0.0
