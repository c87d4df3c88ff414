"""What stands in for a block: a preview, a line, a first sentence; each with the way back. Pure.

Previews go by offload's rules; a line says what was there, with the names that were used since.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from brimline.bulk import judge, layout, names, preview, stub
from brimline.compaction import blocks
from brimline.foreign import flatten
from brimline.transcript import clienttools

if TYPE_CHECKING:
    from brimline.bulk.judge import Rules
    from brimline.compaction.blocks import Block
    from brimline.compaction.references import Clock

# What collapsing has to save of one block.
_LEAST_COLLAPSED_TOKENS = 60
_SUBJECT_CHARACTERS = 80
_SENTENCE_CHARACTERS = 200
_LONG_ARGUMENT_CHARACTERS = 240
_KEPT_CHARACTERS = 60
_LEAST_NAMES, _MOST_NAMES, _NAMES_SHARE = 100, 500, 0.1
_SENTENCE = re.compile(r"(.+?[.!?:])(?:\s|$)|(.+?)\n", re.DOTALL)
# What the client puts before each line of a file.
_NUMBERED = re.compile(r"^ *(\d+)(?:→|\t)", re.MULTILINE)


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


def preview_stand_in(
    block: Block, clock: Clock, rules: Rules, layer: int, *, was_read: bool
) -> StandIn | None:
    """A preview of what is bulk, or longer than anybody reads at once; None where it stays whole.

    Args:
        block: of a result.
        clock: what the conversation did so far.
        rules: the user's settings of what is kept out.
        layer: on whose account.
        was_read: whether it has been there for a while: then content is held to the rules for bulk.
    """
    sent_bytes = len(bytes_to_store(block.text))
    if sent_bytes < min(rules.inline_bytes, rules.read_bytes):
        return None
    text = _without_line_numbers(block.text)
    case = judge.Case(block.tool, block.arguments, text, sent_bytes)
    case.failed, case.was_read = block.is_error, was_read
    if judge.judge(case, rules, clock.was_path_edited).reason:
        return None
    subject = subject_of_block(block)
    shown = preview.make_preview(case, subject)
    if not judge.is_preview_worth_it(case, shown):
        return None
    key = store_key_of_text(block.text)
    source = subject[:_SUBJECT_CHARACTERS] or None
    stored = stub.Stub(key, sent_bytes, case.source.total, tool=block.tool, source=source)
    rest = stub.how_to_get_the_rest_text(key, "", "The same call again shows all of it.")
    instead = preview.reference_with_preview_text(stored, "", shown, rest)
    fields = blocks.fields_of_stand_in(block, instead)
    return StandIn(layer, fields, key, blocks.estimate_tokens_of_replacement_fields(block, fields))


def line_stand_in(block: Block, clock: Clock, layer: int) -> StandIn | None:
    """A line in the place of what nothing refers to any more; None where that saves little."""
    key = store_key_of_text(block.text)
    kept = _names_to_append_text(block.text, clock.names_used_later(block))
    recall = f"recall {layout.shorten_key(key)}]"
    mark = f"[brimline: {len(block.text):,} characters, {recall}"
    text, shortened = "", None
    if block.kind == blocks.CALL:
        shortened = _arguments_with_texts_cut(block.arguments, recall, [kept])
    elif block.kind == blocks.RESULT:
        size = len(bytes_to_store(block.text))
        text = stub.build_line(block.tool, subject_of_block(block), size, key) + kept
    else:
        text = f"{_first_sentence(block.text)} {mark}{kept}"
    fields = blocks.fields_of_stand_in(block, text, shortened)
    tokens = blocks.estimate_tokens_of_replacement_fields(block, fields)
    if block.tokens - tokens < _LEAST_COLLAPSED_TOKENS:
        return None
    return StandIn(layer, fields, key, tokens)


def store_key_of_text(text: str) -> str:
    """The key under which the store keeps a text."""
    return layout.PREFIX + hashlib.sha256(bytes_to_store(text)).hexdigest()


def bytes_to_store(text: str) -> bytes:
    """What is stored of a text; half of a surrogate pair may have been written as an escape."""
    return text.encode("utf-8", "surrogatepass")


def subject_of_block(block: Block) -> str:
    """Return what a call was about: a file, a command, a pattern."""
    return flatten(clienttools.subject_of_call(block.arguments))


def _without_line_numbers(text: str) -> str:
    """A file as it is, where the client numbered its lines from 1."""
    first = _NUMBERED.match(text)
    return _NUMBERED.sub("", text) if first and first[1] == "1" else text


def _names_to_append_text(text: str, used: list[str]) -> str:
    """Names of what is not shown: those that were used since, then others, as far as there is room.

    A name that was used is what is most likely used again.
    """
    left = max(_LEAST_NAMES, min(_MOST_NAMES, int(_NAMES_SHARE * len(text))))
    chosen: list[str] = []
    for name in used:
        if len(name) + 1 <= left and not any(name in other for other in chosen):
            chosen.append(name)
            left -= len(name) + 1
    found = names.find_names_not_shown(enumerate(text.split("\n")), " ".join(chosen))
    chosen += [name.text for name in names.choose_names_that_fit(found, left, names.PATH)]
    return f" {' '.join(chosen)}" if chosen else ""


def _first_sentence(text: str) -> str:
    found = _SENTENCE.match(text.strip())
    first = (found[1] or found[2]) if found else text
    return first if len(first) <= _SENTENCE_CHARACTERS else f"{first[:_SENTENCE_CHARACTERS]}…"


def _arguments_with_texts_cut(value: Any, mark: str, kept: list[str]) -> Any:
    """Arguments whose long texts are a line; the names stand in the first of them."""
    if isinstance(value, dict):
        return {name: _arguments_with_texts_cut(one, mark, kept) for name, one in value.items()}
    if isinstance(value, list):
        return [_arguments_with_texts_cut(one, mark, kept) for one in value]
    if not isinstance(value, str) or len(value) < _LONG_ARGUMENT_CHARACTERS:
        return value
    head = value.strip().partition("\n")[0][:_KEPT_CHARACTERS]
    return f"{head}… [brimline: {len(value):,} characters, {mark}{kept.pop() if kept else ''}"
