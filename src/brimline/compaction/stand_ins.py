"""What stands in for a block: a preview, a line, an input cut short; each with the way back. Pure.

Previews go by the rules for what arrives, lines and inputs by those of a compaction without a
model (`bulk.cold`, `bulk.said`).
"""

from __future__ import annotations

import hashlib
import re
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from brimline.bulk import cold, judge, layout, preview, said, stub
from brimline.compaction import blocks
from brimline.foreign import flatten
from brimline.transcript import clienttools
from brimline.transcript.calls import Call

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from brimline.bulk.cold import Rule
    from brimline.bulk.judge import Rules
    from brimline.compaction.blocks import Block

# The layers, by the numbers that people and records name them by; 3 is a summary, 4 the retry.
PREVIEWS, RESULTS, REST = 1, 2, 5

_SUBJECT_CHARACTERS = 80
_SENTENCE_CHARACTERS = 200
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
    block: Block, was_path_edited: Callable[[str], bool], rules: Rules, *, was_read: bool
) -> StandIn | None:
    """A preview of what is bulk, or longer than anybody reads at once; None where it stays whole.

    Args:
        block: of a result.
        was_path_edited: whether the conversation has changed a file.
        rules: the user's settings of what is kept out.
        was_read: whether it has been there for a while: then content is held to the rules for bulk.
    """
    sent_bytes = len(bytes_to_store(block.text))
    if sent_bytes < min(rules.inline_bytes, rules.read_bytes):
        return None
    text = _without_line_numbers(block.text)
    case = judge.Case(block.tool, block.arguments, text, sent_bytes)
    case.failed, case.was_read = block.is_error, was_read
    if judge.judge(case, rules, was_path_edited).reason:
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
    fields = {"content": instead}
    return StandIn(
        PREVIEWS, fields, key, blocks.estimate_tokens_of_replacement_fields(block, fields)
    )


class Cold:
    """What may go of a conversation near the brim: bare first, then with what nothing else says."""

    def __init__(
        self, found: Sequence[Block], standing: Mapping[str, StandIn | None], rule: Rule
    ) -> None:
        self._found, self._standing = found, standing
        self._gone: dict[int, cold.Gone] = {}
        self._cut: list[int] = []
        self._told = [
            at
            for at, block in enumerate(found)
            if block.kind == blocks.PROSE and found[-1].step - block.step > rule.inputs_from
        ]
        calls: dict[str, Call] = {}
        places: dict[str, int] = {}
        texts: dict[str, str] = {}
        for at, block in enumerate(found):
            if block.kind == blocks.CALL:
                calls[block.call] = Call(block.call, block.tool, subject_of_block(block))
                places[block.call] = at
            elif block.kind == blocks.RESULT and block.call in calls:
                text = texts[block.call] = self._shown(block)
                calls[block.call] = calls[block.call].answered(text, is_error=block.is_error)
        ordered = list(calls.values())
        for age, call in zip(range(len(ordered), 0, -1), ordered, strict=True):
            if cold.has_cold_input(found[places[call.id]].arguments, age, rule):
                self._cut.append(places[call.id])
        gone = {one.call.id: one for one in cold.select_cold_results(ordered, texts, rule)}
        for at, block in enumerate(found):
            if block.kind == blocks.RESULT and block.call in gone:
                self._gone[at] = gone[block.call]

    def bare(self) -> dict[int, StandIn]:
        """What would stand in for blocks, by their position, as far as that is shorter."""
        made = {at: self._line_of(at, lambda line: line) for at in self._gone}
        made |= {at: self._cut_input(at, lambda mark, _: mark) for at in self._cut}
        made |= {at: _first_sentence_of(self._found[at]) for at in self._told}
        return {
            at: one
            for at, one in made.items()
            if one.tokens < (self._standing.get(self._found[at].id) or self._found[at]).tokens
        }

    def filled(self, drafts: Mapping[int, StandIn]) -> dict[int, StandIn]:
        """The same of those that go, the newest first."""
        sight = said.InSight(
            _text_of_fields(drafts[at].fields) if at in drafts else self._shown(block)
            for at, block in enumerate(self._found)
            if not block.is_thinking
        )
        made = {}
        for at in sorted(drafts, reverse=True):
            if drafts[at].layer == RESULTS:
                fill = partial(sight.fill_line, original=self._found[at].text)
                made[at] = self._line_of(at, fill)
            elif self._found[at].kind == blocks.CALL:
                made[at] = self._cut_input(at, sight.fill_mark)
        return made

    def _shown(self, block: Block) -> str:
        """What is sent of a block by now."""
        standing = self._standing.get(block.id)
        if standing is None or standing.fields is None:
            return block.text
        return _text_of_fields(standing.fields)

    def _line_of(self, at: int, fill: Callable[[str], str]) -> StandIn:
        block = self._found[at]
        key, size = store_key_of_text(block.text), len(bytes_to_store(block.text))
        line = stub.build_line(block.tool, subject_of_block(block), size, key)
        head, tail = cold.ends_of_report(self._gone[at], block.text)
        return _stand_in(RESULTS, block, {"content": f"{head}{fill(line)}{tail}"})

    def _cut_input(self, at: int, fill: Callable[[str, str], str]) -> StandIn:
        block = self._found[at]
        mark = said.bare_mark(store_key_of_text(block.text))
        cut = cold.cut_string_middles(block.arguments, lambda middle: fill(mark, middle))
        return _stand_in(REST, block, {"input": cut})


def _first_sentence_of(block: Block) -> StandIn:
    """What is left of words of the model's."""
    found = _SENTENCE.match(block.text.strip())
    first = (found[1] or found[2]) if found else block.text
    if len(first) > _SENTENCE_CHARACTERS:
        first = f"{first[:_SENTENCE_CHARACTERS]}…"
    recall = layout.shorten_key(store_key_of_text(block.text))
    mark = f"[brimline: {len(block.text):,} characters, recall {recall}]"
    return _stand_in(REST, block, {"text": f"{first} {mark}"})


def _stand_in(layer: int, block: Block, fields: dict[str, Any]) -> StandIn:
    tokens = blocks.estimate_tokens_of_replacement_fields(block, fields)
    return StandIn(layer, fields, store_key_of_text(block.text), tokens)


def _text_of_fields(fields: Mapping[str, Any]) -> str:
    (value,) = fields.values()
    return value if isinstance(value, str) else cold.readable_input_text(value)


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
