"""Calls that fetch stored content: which ones do, what they ask for, and what they showed. Pure.

Fast path: imports nothing.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

MCP_TOOLS = "mcp__"
HEADER = "[brimline recall "
_FETCHING = ("get", "grep")
_WITH_VALUE = ("--lines", "--bytes", "-C", "--context")
_SEPARATORS = "|;&()`\n"


class Asked:
    """Stored content that a call asks for, by the name it uses, and which lines of it."""

    __slots__ = ("lines", "name")

    def __init__(self, name: str, lines: str = "") -> None:
        self.name = name
        # As it was written, `A:B`; empty for all of them.
        self.lines = lines


def is_ours(tool: str, tool_input: Mapping[str, Any]) -> bool:
    """Whether the answer to a call comes from us: from our tools, or from our store by command."""
    return is_ours_by_name(tool) or bool(asked_for(tool, tool_input))


def is_ours_by_name(tool: str) -> bool:
    """Whether a tool is one of our MCP server, under whatever name that was registered."""
    return tool.startswith(MCP_TOOLS) and "brimline" in tool.lower()


def asked_for(tool: str, tool_input: Mapping[str, Any]) -> list[Asked]:
    """The stored content that a call asks for."""
    if tool == "Bash":
        command = tool_input.get("command")
        return in_command(command) if isinstance(command, str) and "brimline" in command else []
    key, lines = tool_input.get("key"), tool_input.get("lines")
    if not isinstance(key, str) or not key or not is_ours_by_name(tool):
        return []
    return [Asked(key, lines if isinstance(lines, str) else "")]


def in_command(command: str) -> list[Asked]:
    """The stored content that a command line fetches, wherever in the line it does so."""
    for mark in _SEPARATORS:
        command = command.replace(mark, " ; ")
    words = [word.strip("'\"") for word in command.split()]
    found = []
    for place, word in enumerate(words):
        ours = word.rpartition("/")[2] == "brimline" and words[place + 1 : place + 2] == ["store"]
        if ours and words[place + 2 : place + 3] and words[place + 2] in _FETCHING:
            found.append(_arguments(words[place + 3 :]))
    return found


def _arguments(words: list[str]) -> Asked:
    """What stands behind `store get`, up to the end of that command."""
    asked = Asked("")
    rest = iter(words)
    for word in rest:
        if word == ";":
            break
        option, equals, value = word.partition("=")
        if option in _WITH_VALUE:
            value = value if equals else next(rest, "")
            asked.lines = value if option == "--lines" else asked.lines
        elif not asked.name and not word.startswith("-"):
            asked.name = word
    return asked


def body(text: str) -> str:
    """What our tool showed of the content, without its first line."""
    return text.partition("\n")[2] if text.startswith(HEADER) else text


def shown_lines(content: str, shown: str, asked: str) -> tuple[int, int] | None:
    """The first and last line of stored content that a text shows without a gap; None for none.

    Only the content itself counts: whatever else a command printed shows nothing of it. Blank lines
    at the ends, which the client takes off, count with their neighbours.

    Args:
        content: what is stored.
        shown: what the model was shown.
        asked: which lines it had asked for, `A:B`; empty for all of them.
    """
    lines = content.split("\n")
    first, last = _range(asked, len(lines) - (not lines[-1]))
    wanted, text = "\n".join(lines[first - 1 : last]).strip(), shown.strip()
    if wanted and wanted in text:
        return _with_blanks(lines, first, min(last, len(lines)))
    start = _place(content, text, sum(len(line) + 1 for line in lines[: first - 1]))
    if start is None:
        return None
    start, end = _whole_lines(content, start, start + len(text))
    if end <= start:
        return None
    return _with_blanks(lines, content.count("\n", 0, start) + 1, content.count("\n", 0, end) + 1)


def shown_bytes(content: str, shown: str) -> int:
    """How much of stored content a text shows: a stretch of it, or lines from all over it."""
    text = shown.strip()
    if text in content:
        return _size(text)
    known = set(content.split("\n"))
    return sum(_size(line) + 1 for line in text.split("\n") if line in known)


def _place(content: str, text: str, hint: int) -> int | None:
    """Where a text stands in the content: where it was asked from, or else at its only place."""
    if not text:
        return None
    after_blanks = hint + len(content[hint:]) - len(content[hint:].lstrip())
    if content.startswith(text, after_blanks):
        return after_blanks
    at = content.find(text)
    return at if at >= 0 and content.find(text, at + 1) < 0 else None


def _whole_lines(content: str, start: int, end: int) -> tuple[int, int]:
    """A stretch of content without the parts of lines at its ends; empty where nothing is left."""
    if content[content.rfind("\n", 0, start) + 1 : start].strip():
        following = content.find("\n", start)
        start = following + 1 if following >= 0 else len(content)
    rest = content.find("\n", end)
    if content[end : rest if rest >= 0 else len(content)].strip():
        end = content.rfind("\n", 0, end)
    return start, end


def _range(asked: str, count: int) -> tuple[int, int]:
    first, _, last = asked.partition(":")
    return max(1, _position(first, 1, count)), _position(last, count, count)


def _position(text: str, default: int, count: int) -> int:
    digits = text.strip().removeprefix("-")
    if not digits.isascii() or not digits.isdigit() or len(digits) > len(str(count)) + 1:
        return default
    number = int(digits)
    return count + 1 - number if text.strip().startswith("-") else number


def _with_blanks(lines: list[str], first: int, last: int) -> tuple[int, int]:
    while first > 1 and not lines[first - 2].strip():
        first -= 1
    while last < len(lines) and not lines[last].strip():
        last += 1
    return first, last


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
