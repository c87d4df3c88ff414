"""Recognises results that a stub stands for, and says what the client would have shown. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from brimline.offload import recall, toolresult
from brimline.store import stub as stubs

if TYPE_CHECKING:
    from brimline.offload.exchanges import Call, Result

# Above these the client keeps an output in a file by itself, and shows its beginning.
BASH_CHARACTERS = toolresult.BASH_CHARACTERS
OTHER_CHARACTERS = toolresult.MCP_CHARACTERS
PREVIEW_CHARACTERS = 2_300
READ_TOKENS = 25_000

_OURS, _CCM, _CCM_END = "[brimline stored ", "[CCM_CACHED]", "[/CCM_CACHED]"
# Tools in whose results the client puts words of its own before ours, and may indent ours.
_FRAMED = frozenset({"Agent", "Task", "WebSearch", "Grep", "Glob"})
_FRAME_CHARACTERS = 3_000
_NUMBERING = re.compile(r"^ {0,6}\d{1,7}[→\t]", re.MULTILINE)
_MESSAGE = "Cached ("
_CACHED = re.compile(
    r"Cached \((\d{1,9}) lines, (\d{1,12}) bytes(?:, exit -?\d+)?\)\.\nFile: .*\nOriginal: ?(.*)"
)
_OLD_NUMBERING_CHARACTERS = 7


class Replaced(NamedTuple):
    """An output that was kept out, as its stub tells."""

    tool: str
    stored_bytes: int
    lines: int


class Shown(NamedTuple):
    """How much of an output the model would have seen."""

    characters: int
    size_bytes: int


def find(result: Result, call: Call | None) -> Replaced | None:
    """What a result stands for; None where it is the tool's own answer.

    Only a stub at the very beginning counts, and only one of the call that the result answers: a
    command that prints a transcript may print stubs too.
    """
    tool = call.tool if call else ""
    stub = _first(_unframed(result.head, tool))
    if stub is None or stub.content_bytes is None or not _is_of(stub, call):
        return None
    return Replaced(tool or stub.tool or "", stub.content_bytes, stub.lines or 0)


def is_recall(call: Call) -> bool:
    """Whether a call fetches stored content back."""
    if recall.is_ours_by_name(call.tool):
        return call.tool.endswith("__recall")
    return bool(recall.asked_for(call.tool, {"command": call.subject}))


def shown(
    found: Replaced, result: Result, characters_per_token: float, bash_characters: int
) -> Shown:
    """How much of an output the client would have shown without us.

    The stub tells bytes; what it shows of the output tells how many of them make a character.
    """
    width = max(1.0, result.size_bytes / result.characters) if result.characters else 1.0
    characters = round(found.stored_bytes / width)
    if found.tool == "Read":
        numbers = _numbering(found.lines, result.head)
        page = round(READ_TOKENS * characters_per_token)
        if characters + numbers > page:
            return Shown(page, page)
        return Shown(characters + numbers, found.stored_bytes + numbers)
    limit = bash_characters if found.tool == "Bash" else OTHER_CHARACTERS
    if characters > limit:
        return Shown(PREVIEW_CHARACTERS, PREVIEW_CHARACTERS)
    return Shown(characters, found.stored_bytes)


def _unframed(head: str, tool: str) -> str:
    if tool == "Read":
        return _NUMBERING.sub("", head)
    if tool not in _FRAMED:
        return head
    lines = [line.strip() for line in head[:_FRAME_CHARACTERS].split("\n")]
    begins = [at for at, line in enumerate(lines) if line.startswith((_OURS, _CCM, _MESSAGE))]
    return "\n".join(lines[begins[0] :]) if begins else ""


def _first(text: str) -> stubs.Stub | None:
    """The stub at the beginning of a text, in any of its forms."""
    if text.startswith(_OURS):
        return stubs.parse(text.partition("\n")[0])
    if text.startswith(_CCM):
        body, end, _ = text.partition(_CCM_END)
        return stubs.parse(body + end)
    found = _CACHED.match(text)
    return stubs.Stub("", int(found[2]), int(found[1]), source=found[3]) if found else None


def _is_of(stub: stubs.Stub, call: Call | None) -> bool:
    """Whether a stub is about the call that it answers, as far as both tell."""
    if call is None:
        return True
    if stub.tool not in (None, call.tool):
        return False
    source, subject = (" ".join((text or "").split()) for text in (stub.source, call.subject))
    if not source or not subject or call.tool not in ("Bash", "Read"):
        return True
    # Long ones are cut, a path at its beginning and a command at its end.
    if call.tool == "Bash":
        return subject.startswith(source.removesuffix("…"))
    return subject.endswith(source.removeprefix("…"))


def _numbering(lines: int, head: str) -> int:
    """The characters that line numbers add to a file, in either form that clients write."""
    if head.startswith(" "):
        return lines * _OLD_NUMBERING_CHARACTERS
    total, first = lines, 1
    while first <= lines:
        total += lines - first + 1
        first *= 10
    return total
