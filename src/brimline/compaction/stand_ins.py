"""What stands in for a block: a preview, a line, a first sentence; each with the way back. Pure.

Layer 1 shows previews by offload's rules, layer 2 a line for a result, layer 5 a line for all else.
"""

from __future__ import annotations

import fnmatch
import hashlib
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from brimline.compaction import blocks
from brimline.foreign import flatten
from brimline.offload import kinds, names, preview, programs
from brimline.store import layout, stub

if TYPE_CHECKING:
    from brimline.compaction.blocks import Block
    from brimline.compaction.references import Clock

PREVIEW, MICRO, COLLAPSE = 1, 2, 5
# Bulk is shown as a preview from here on, content when it is larger still.
BULK_BYTES, CONTENT_BYTES = 8_000, 25_000
_LEAST_SHARE = 0.5
_LEAST_TOKENS = 1_000
# What collapsing has to save of one block.
_LEAST_COLLAPSED_TOKENS = 60
_LARGE_RESULT_CHARACTERS = 2_000
_CONFIGURATION_BYTES = 100_000
# What the client puts before each line of a file.
_NUMBERING = " 0123456789\t→"
_SUBJECT_CHARACTERS = 80
_SENTENCE_CHARACTERS = 200
_LONG_ARGUMENT_CHARACTERS = 240
_KEPT_CHARACTERS = 60
_LEAST_NAMES, _MOST_NAMES, _NAMES_SHARE = 100, 500, 0.1
_SHORT_KEY = len(layout.PREFIX) + layout.SHORT_DIGITS
_SENTENCE = re.compile(r"(.+?[.!?:])(?:\s|$)|(.+?)\n", re.DOTALL)
_NUMBERED = re.compile(r"^ *(\d+)(?:→|\t)", re.MULTILINE)
_PAGE = ("offset", "limit", "pages")
_SUBJECTS = ("file_path", "notebook_path", "command", "pattern", "path", "url", "query", "skill")


class StandIn(NamedTuple):
    """What is said in the place of a block, and what it stands for."""

    layer: int
    fields: Any
    """Of the block, to be put over its own; None where the block is left out."""
    key: str
    """Of what it stands for, in the store."""
    tokens: float
    """What it takes."""


# In the place of thinking that an edit before it made invalid.
LEFT_OUT = StandIn(0, None, "", 0.0)


def at_arrival(block: Block, clock: Clock, *, repeated: bool) -> StandIn | None:
    """A preview of a result that is bulk, or content larger than anybody reads at once.

    Args:
        block: of a result, or a file that the client put in.
        clock: what the conversation did so far.
        repeated: whether it is the same call again, right after its preview.
    """
    if repeated or len(block.text) < BULK_BYTES or _is_ours(block):
        return None
    if block.tool == "Read" and any(block.arguments.get(name) is not None for name in _PAGE):
        return None
    return _preview(block, clock, CONTENT_BYTES)


def when_read(block: Block, clock: Clock) -> StandIn | None:
    """A preview of content that is a few requests old: held to the rules for bulk."""
    if len(block.text) < BULK_BYTES or _is_ours(block):
        return None
    return _preview(block, clock, BULK_BYTES)


def when_cold(block: Block, clock: Clock) -> StandIn | None:
    """A line in the place of what nothing refers to any more."""
    key = key_of(block.text)
    kept = _kept(block.text, clock.used(block))
    if block.kind == blocks.CALL:
        shortened = _shortened(block.arguments, f"recall {key[:_SHORT_KEY]}]", [kept])
        fields = blocks.stands_in(block, "", shortened)
    elif block.kind == blocks.RESULT:
        fields = blocks.stands_in(block, f"{_about(block, key)}{kept}")
    elif block.kind == blocks.PROSE:
        mark = f"[brimline: {len(block.text):,} characters, recall {key[:_SHORT_KEY]}]"
        fields = blocks.stands_in(block, f"{_sentence(block.text)} {mark}{kept}")
    else:
        head = flatten(block.text[:_SENTENCE_CHARACTERS], _SENTENCE_CHARACTERS)
        mark = f"… [brimline: {len(block.text):,} characters, recall {key[:_SHORT_KEY]}]"
        fields = blocks.stands_in(block, f"{head}{mark}{kept}{blocks.REMINDER_END}")
    tokens = blocks.estimate(block, fields)
    if block.tokens - tokens < _LEAST_COLLAPSED_TOKENS:
        return None
    is_large = block.kind == blocks.RESULT and len(block.text) >= _LARGE_RESULT_CHARACTERS
    return StandIn(MICRO if is_large else COLLAPSE, fields, key, tokens)


def is_named(block: Block, patterns: tuple[str, ...]) -> bool:
    """Whether a user's list holds the tool, the file or the beginning of the command."""
    texts = [block.tool, subject_of(block), *programs.files_of(block.tool, block.arguments)]
    forms = [form for one in patterns for form in (one, f"*/{one}", f"{one} *")]
    return any(fnmatch.fnmatchcase(text, form) for text in texts for form in forms)


def key_of(text: str) -> str:
    """The key under which the store keeps a text."""
    return layout.PREFIX + hashlib.sha256(to_bytes(text)).hexdigest()


def to_bytes(text: str) -> bytes:
    """What is stored of a text; half of a surrogate pair may have been written as an escape."""
    return text.encode("utf-8", "surrogatepass")


def subject_of(block: Block) -> str:
    """What a call was about: a file, a command, a pattern."""
    found = [block.arguments.get(name) for name in _SUBJECTS]
    return next((flatten(text, len(text)) for text in found if isinstance(text, str) and text), "")


def _is_ours(block: Block) -> bool:
    """Whether a hook has put a preview there already, or the model fetched what was kept out."""
    first = block.text.lstrip(_NUMBERING).partition("\n")[0]
    if first.startswith(stub.BEGINNINGS[0]) and stub.parse(first):
        return True
    return programs.fetches(block.tool, block.arguments) is not None


def _preview(block: Block, clock: Clock, content_bytes: int) -> StandIn | None:
    text = _plain(block.text)
    line = (
        programs.read(str(block.arguments.get("command") or "")) if block.tool == "Bash" else None
    )
    files = programs.files_of(block.tool, block.arguments)
    source = preview.Source(text)
    kind = kinds.kind_of(text, source.lines, block.tool or "Read", files, line)
    is_bulk = kind in kinds.BULK or (kind == kinds.FOUND and source.total >= kinds.FEWEST_HITS)
    if is_bulk and line and line.ran_something and kinds.says_failure(text):
        is_bulk = False
    size = len(to_bytes(block.text))
    if size < (BULK_BYTES if is_bulk else content_bytes) or (line and line.is_exempt):
        return None
    if clock.changed.intersection(files):
        return None
    if size <= _CONFIGURATION_BYTES and any(map(kinds.is_configuration, files)):
        return None
    subject = subject_of(block)
    shown = preview.make_preview(text, source, kind, block.tool, subject)
    key = key_of(block.text)
    told = stub.Stub(
        key,
        size,
        source.total,
        tool=block.tool or None,
        source=subject[:_SUBJECT_CHARACTERS] or None,
    )
    ways = ", recall with this key, or the same call again"
    parts = f"{stub.build(told)} Preview, not the whole:", shown, stub.way_back(key, again=ways)
    preview_text = "\n".join(parts).encode("utf-8", "replace").decode()
    if block.kind == blocks.FILE:
        preview_text = f"<system-reminder>{preview_text}{blocks.REMINDER_END}"
    fields = blocks.stands_in(block, preview_text)
    tokens = blocks.estimate(block, fields)
    share = 0.0 if kind == kinds.DIFF else _LEAST_SHARE
    if block.tokens - tokens < max(_LEAST_TOKENS, block.tokens * share):
        return None
    return StandIn(PREVIEW, fields, key, tokens)


def _plain(text: str) -> str:
    """A file as it is, where the client numbered its lines from 1."""
    first = _NUMBERED.match(text)
    return _NUMBERED.sub("", text) if first and first[1] == "1" else text


def _about(block: Block, key: str) -> str:
    """What a result was: call, size and key."""
    subject = flatten(subject_of(block), _SUBJECT_CHARACTERS, keep_end=block.tool == "Read")
    called = f"{flatten(block.tool)} {subject}".strip()
    size = len(to_bytes(block.text))
    return f"[brimline: {called}: {size:,} bytes, recall {key[:_SHORT_KEY]}]"


def _kept(text: str, used: list[str]) -> str:
    """Names of what is not shown: those that were used since, then others, as far as there is room.

    A name that was used is what is most likely used again.
    """
    left = max(_LEAST_NAMES, min(_MOST_NAMES, int(_NAMES_SHARE * len(text))))
    chosen: list[str] = []
    for name in used:
        if len(name) + 1 <= left and not any(name in other for other in chosen):
            chosen.append(name)
            left -= len(name) + 1
    found = names.names(enumerate(text.split("\n")), " ".join(chosen))
    chosen += [name.text for name in names.afford(found, left, names.PATH)]
    return f" {' '.join(chosen)}" if chosen else ""


def _sentence(text: str) -> str:
    found = _SENTENCE.match(text.strip())
    first = (found[1] or found[2]) if found else text
    return first if len(first) <= _SENTENCE_CHARACTERS else f"{first[:_SENTENCE_CHARACTERS]}…"


def _shortened(value: Any, mark: str, kept: list[str]) -> Any:
    """Arguments whose long texts are a line; the names stand in the first of them."""
    if isinstance(value, dict):
        return {name: _shortened(one, mark, kept) for name, one in value.items()}
    if isinstance(value, list):
        return [_shortened(one, mark, kept) for one in value]
    if not isinstance(value, str) or len(value) < _LONG_ARGUMENT_CHARACTERS:
        return value
    head = value.strip().partition("\n")[0][:_KEPT_CHARACTERS]
    return f"{head}… [brimline: {len(value):,} characters, {mark}{kept.pop() if kept else ''}"
