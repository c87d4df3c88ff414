"""What earlier calls taught about a large result, and what this one teaches.

Fast path: imports only rooms of ours; loaded for results that are large or were fetched back.
"""

from __future__ import annotations

import time

from brimline.offload import decide as deciding
from brimline.offload import learning, patterns, recall, toolresult

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from brimline.offload.calls import Call
    from brimline.offload.seen import Looks
    from brimline.offload.toolresult import ToolResult

# Of larger content no answer shows enough to matter, and reading it would hold the session up.
_LARGEST_COMPARED_BYTES = 4 << 20


class Fetched:
    """Stored content that a call brought back: what it is of, and how much of it was shown."""

    __slots__ = ("key", "lines", "meta", "shown_bytes")

    def __init__(
        self, key: str, meta: dict[str, Any], shown_bytes: int, lines: tuple[int, int] | None
    ) -> None:
        self.key = key
        self.meta = meta
        self.shown_bytes = shown_bytes
        # The first and last line that were shown without a gap; None where there are none.
        self.lines = lines


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
    return reason or deciding.FETCHED_BACK


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
    for fetched in fetches(call, found, home_dir):
        if fetched.lines:
            looks.note_recalled(fetched.key, *fetched.lines)
        tool = str(fetched.meta.get("tool") or "")
        pattern = patterns.of_subject(tool, fetched.meta.get("source"))
        learning.note_recall(
            *(home_dir, call.project_dir, tool, pattern, time.time()),
            key=fetched.key,
            size_bytes=fetched.shown_bytes,
        )


def fetches(call: Call, found: ToolResult, home_dir: str) -> Iterator[Fetched]:
    """The stored content that a call brought back, as far as the model was shown it."""
    from brimline.errors import StoreError
    from brimline.store import read

    is_cut = _is_cut(call, found)
    shown = recall.body(found.text)[: toolresult.BEGINNING_CHARACTERS if is_cut else None]
    for asked in recall.asked_for(call.tool, call.tool_input):
        try:
            key = read.resolve(home_dir, asked.name)
            meta = read.meta(home_dir, key)
            size = meta.get("bytes")
            if isinstance(size, int) and size > _LARGEST_COMPARED_BYTES:
                yield Fetched(key, meta, len(shown), None)
                continue
            content = read.get(home_dir, key, touch=False).decode("utf-8", "replace")
        except (StoreError, OSError):
            continue  # not a key, or no longer there
        # Where exactly the client cuts is its own affair, so no line of a beginning counts.
        lines = None if is_cut else recall.shown_lines(content, shown, asked.lines)
        yield Fetched(key, meta, recall.shown_bytes(content, shown), lines)


def _is_cut(call: Call, found: ToolResult) -> bool:
    """Whether the client shows the model no more than the beginning of an answer."""
    if found.was_persisted or call.tool != "Bash":
        return found.was_persisted or len(found.text) > toolresult.MCP_CHARACTERS
    if len(found.text) <= toolresult.BASH_CHARACTERS:
        return False
    from brimline import clientsettings

    limit = clientsettings.bash_output_characters(call.project_dir) or toolresult.BASH_CHARACTERS
    return len(found.text) > limit
