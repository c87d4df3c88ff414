"""When the model last referred to what: a clock per item, in replies of the model. Pure.

An item is a call with its result, or a paragraph of prose. It is referred to by an action that
names its file, a rare name in it, or several of its names.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from brimline.bulk import mentions
from brimline.compaction import blocks
from brimline.transcript import clienttools

if TYPE_CHECKING:
    from brimline.compaction.blocks import Block

# A name that so many items hold at most is rare: it means one of them.
_RARE = 3
# So many names of an item in one action mean the item.
_SEVERAL = 8
_PATH_ARGUMENTS = ("file_path", "notebook_path", "path")


class Clock:
    """What is known of the items of one conversation."""

    def __init__(self) -> None:
        self._taken: list[str] = []
        self._forget_everything()

    def note_references_in_conversation(self, conversation: list[Block]) -> None:
        """Go on to the end of a conversation; from its beginning where that has changed."""
        taken_count = len(self._taken)
        if [block.id for block in conversation[:taken_count]] != self._taken:
            self._taken, taken_count = [], 0
            self._forget_everything()
        for _, message in groupby(conversation[taken_count:], key=lambda block: block.message):
            self._note_references_in_message(list(message))
        self._taken = [block.id for block in conversation]

    def last_step_referring_to(self, block: Block) -> int:
        """The step in which a block came or was last referred to.

        What the model itself once wrote into a call counts by its age: the file says it by now.
        """
        if block.kind == blocks.CALL:
            return block.step
        return self._last.get(_call_or_block_id(block), block.step)

    def names_used_later(self, block: Block) -> list[str]:
        """The names in a block's item that later actions and words used, the last one first."""
        return list(reversed(self._used.get(_call_or_block_id(block), {})))

    def was_path_edited(self, path: str) -> bool:
        """Tell whether an action changed a file, which a command may name without its folder."""
        ending = "/" + path.removeprefix("./")
        return any(path == changed or changed.endswith(ending) for changed in self.changed)

    def _forget_everything(self) -> None:
        self._last: dict[str, int] = {}
        self._used: dict[str, dict[str, None]] = {}
        self._holders: dict[str, list[str]] = {}
        self._files: dict[str, list[tuple[str, str]]] = {}
        self.changed: set[str] = set()

    def _note_references_in_message(self, message: list[Block]) -> None:
        """Follow the names in one message; references first: a call does not refer to itself."""
        items = [block for block in message if block.kind != blocks.OTHER]
        named = {block.id: mentions.names_mentioned_in(_text_of_block(block)) for block in items}
        for block in items:
            if block.kind == blocks.CALL:
                self._note_items_referred_to(block, named[block.id])
            elif block.kind == blocks.PROSE:
                self._note_used_names(named[block.id])
        for block in items:
            self._note_names_block_holds(block, named[block.id])

    def _note_items_referred_to(self, block: Block, named: frozenset[str]) -> None:
        counts: dict[str, int] = {}
        meant: set[str] = set()
        for name in named:
            holders = self._holders.get(name, [])
            if len(holders) <= _RARE:
                meant.update(holders)
            for item in holders:
                counts[item] = counts.get(item, 0) + 1
            for path, item in self._files.get(name.rpartition("/")[2], ()):
                if path.endswith(name):
                    meant.add(item)
        meant.update(item for item, count in counts.items() if count >= _SEVERAL)
        for item in meant:
            self._last[item] = block.step
        self._note_used_names(named)
        if block.tool in clienttools.EDITING:
            self.changed.update(_path_arguments_of(block))

    def _note_used_names(self, named: frozenset[str]) -> None:
        for name in sorted(named):
            for item in self._holders.get(name, ()):
                used = self._used.setdefault(item, {})
                used.pop(name, None)
                used[name] = None

    def _note_names_block_holds(self, block: Block, named: frozenset[str]) -> None:
        item = _call_or_block_id(block)
        self._last[item] = max(self._last.get(item, 0), block.step)
        for name in named:
            holders = self._holders.setdefault(name, [])
            if not holders or holders[-1] != item:
                holders.append(item)
        for path in _path_arguments_of(block):
            self._files.setdefault(path.rpartition("/")[2], []).append((path, item))


def _text_of_block(block: Block) -> str:
    """Return what a block says; of a call, without the names of its parameters."""
    if block.kind != blocks.CALL:
        return block.text
    values = block.arguments.values()
    return "\n".join(value if isinstance(value, str) else repr(value) for value in values)


def _call_or_block_id(block: Block) -> str:
    return block.call or block.id


def _path_arguments_of(block: Block) -> list[str]:
    found = [block.arguments.get(name) for name in _PATH_ARGUMENTS]
    return [path for path in found if isinstance(path, str) and path]
