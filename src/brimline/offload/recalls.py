"""Stored content that a call brought back: whose it was, and how much of it the model was shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from brimline.errors import BrimlineError
from brimline.offload import commands, tool_results
from brimline.store import contents

if TYPE_CHECKING:
    from collections.abc import Iterator

    from brimline.hooks.turn import Turn
    from brimline.offload.tool_results import ToolResult

HEADER = "[brimline recall "
# Of larger content no answer shows enough to matter, and reading it would hold the session up.
_LARGEST_COMPARED_BYTES = 4 << 20


class Fetched(NamedTuple):
    """One stored output in an answer."""

    key: str
    meta: dict[str, Any]
    shown_bytes: int
    lines: tuple[int, int] | None
    """The first and last line that were shown without a gap; None where there are none."""


def fetched(
    turn: Turn, tool: str, tool_input: dict[str, Any], found: ToolResult
) -> Iterator[Fetched]:
    """The stored content that a call brought back, as far as the model was shown it."""
    is_cut = _is_cut(turn, tool, found)
    text = found.text.partition("\n")[2] if found.text.startswith(HEADER) else found.text
    shown = text[: tool_results.BEGINNING_CHARACTERS if is_cut else None]
    for name, asked in commands.fetches(tool, tool_input):
        try:
            key = contents.resolve(turn.home, name)
            meta = contents.meta(turn.home, key)
            size = meta.get("bytes")
            content = ""
            if not isinstance(size, int) or size <= _LARGEST_COMPARED_BYTES:
                content = contents.get(turn.home, key, touch=False).decode("utf-8", "replace")
        except (BrimlineError, OSError):
            continue  # not a key, or no longer there
        # Where exactly the client cuts is its own affair, so no line of a beginning counts.
        lines = None if is_cut or not content else shown_lines(content, shown, asked)
        yield Fetched(key, meta, len(shown.encode("utf-8", "replace")), lines)


def shown_lines(content: str, shown: str, asked: str) -> tuple[int, int] | None:
    """The first and last line of stored content that a text shows without a gap; None for none.

    Only the content itself counts: whatever else a command printed shows nothing of it. Blank lines
    at the ends, which the client takes off, count with their neighbours.
    """
    text, first = shown.strip("\n"), asked.partition(":")[0]
    lines = content.split("\n")
    start = 0
    if first.isascii() and first.isdigit() and int(first) <= len(lines):
        start = sum(len(line) + 1 for line in lines[: int(first) - 1])
    start += len(content[start:]) - len(content[start:].lstrip("\n"))
    at = start if content.startswith(text, start) else content.find(text)
    end = at + len(text)
    if (
        not text
        or at < 0
        or content[at - 1 : at] not in ("", "\n")
        or content[end : end + 1] not in ("", "\n")
    ):
        return None
    above, below = content[:at], content[end:]
    first_line = above.rstrip("\n").count("\n") + 2 if above.strip("\n") else 1
    return first_line, len(lines) - below.lstrip("\n").count("\n") - bool(below.strip("\n"))


def _is_cut(turn: Turn, tool: str, found: ToolResult) -> bool:
    """Whether the client shows the model no more than the beginning of an answer."""
    if found.was_persisted or tool != "Bash":
        return found.was_persisted or len(found.text) > tool_results.MCP_CHARACTERS
    if len(found.text) <= tool_results.BASH_CHARACTERS:
        return False
    from brimline import clientsettings

    limit = clientsettings.bash_output_characters(turn.project) or tool_results.BASH_CHARACTERS
    return len(found.text) > limit
