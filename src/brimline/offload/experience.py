"""What earlier calls taught about a large result, and what this one teaches.

Fast path: imports only rooms of ours; loaded for results that are large or were fetched back.
"""

from __future__ import annotations

import time

from brimline.offload import decide as deciding
from brimline.offload import learning, patterns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from brimline.offload.calls import Call
    from brimline.offload.seen import Looks
    from brimline.offload.toolresult import ToolResult

_FETCHING = ("get", "grep")


def settles(call: Call, reason: str | None, size_bytes: int, home_dir: str) -> str | None:
    """Why a result passes, by the rules and by experience; None where it is to be replaced.

    Args:
        call: the tool call.
        reason: why the rules let it pass; None where they do not.
        size_bytes: the size of the result.
        home_dir: the data folder.
    """
    if reason not in (None, deciding.TRIVIAL):
        return reason
    pattern = patterns.pattern_of(call.tool, call.tool_input)
    known = learning.verdict(home_dir, call.project_dir, call.tool, pattern, time.time())
    if reason is None and known != learning.PASS:
        return None
    if reason == deciding.TRIVIAL and known == learning.LARGE:
        return None  # trivial by its name only
    learning.note_large(
        *(home_dir, call.project_dir, call.tool, pattern, size_bytes, time.time()), passed=True
    )
    return reason or "its references are always fetched back"


def note_swap(call: Call, key: str, size_bytes: int, home_dir: str) -> None:
    """A result was replaced."""
    pattern = patterns.pattern_of(call.tool, call.tool_input)
    learning.note_large(
        *(home_dir, call.project_dir, call.tool, pattern, size_bytes, time.time()), key=key
    )


def note_second_look(call: Call, home_dir: str) -> None:
    """A file that was shown as a preview was read again."""
    pattern = patterns.pattern_of(call.tool, call.tool_input)
    learning.note_recall(home_dir, call.project_dir, call.tool, pattern, time.time())


def note_recall(call: Call, found: ToolResult, looks: Looks, home_dir: str) -> None:
    """The model fetched stored content: whose it was, and how much of it."""
    from brimline.store import read
    from brimline.store.errors import StoreError

    shown_bytes = len(found.content())
    for name in _asked_for(call):
        try:
            key = read.resolve(home_dir, name)
            meta = read.meta(home_dir, key)
        except (StoreError, OSError):
            continue  # not a key, or no longer there
        looks.note_recalled(key, shown_bytes)
        tool = str(meta.get("tool") or "")
        pattern = patterns.of_subject(tool, meta.get("source"))
        learning.note_recall(
            *(home_dir, call.project_dir, tool, pattern, time.time()),
            key=key,
            size_bytes=shown_bytes,
        )


def _asked_for(call: Call) -> Iterator[str]:
    """What may be the names of stored content in a call that fetches some."""
    if call.tool != "Bash":
        key = call.tool_input.get("key")
        if isinstance(key, str) and key:
            yield key
        return
    words = [word.strip("'\"`;|&()") for word in str(call.tool_input.get("command")).split()]
    for place, word in enumerate(words):
        if word in _FETCHING and words[place - 1] == "store":
            yield from words[place + 1 : place + 2]
