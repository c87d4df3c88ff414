"""The layers as small objects, in the order in which a block is offered to them. Pure.

Each has a number and a function that says what might stand in for a block; what a layer other than
the previews has replaced stays as it is. Who wants another policy makes another list.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from brimline.compaction import blocks, stand_ins

if TYPE_CHECKING:
    from collections.abc import Callable

    from brimline.bulk.judge import Rules
    from brimline.compaction.blocks import Block
    from brimline.compaction.references import Clock
    from brimline.compaction.stand_ins import StandIn

_LARGE_RESULT_CHARACTERS = 2_000


class Look(NamedTuple):
    """A block as the layers see it."""

    block: Block
    standing: StandIn | None
    """What stands in for it already."""
    is_cold: bool
    """Whether nothing has referred to it for so long that it may become a line."""
    is_new: bool
    """Whether it was never sent before, and is not the same call again after its preview."""
    is_hard: bool
    """Whether the service has refused the request for its length."""
    clock: Clock
    rules: Rules
    drafts: dict[tuple[str, int], StandIn | None]
    """What layers have drafted for blocks before."""


class Layer(NamedTuple):
    """One way to let go of something, by the number that people and records name it by."""

    number: int
    draft: Callable[[int, Look], StandIn | None] | None = None
    """What might stand in for a block; None where it does not work block by block."""


def _draft_once(number: int, look: Look, make: Callable[[], StandIn | None]) -> StandIn | None:
    """Draft once what will not change."""
    name = look.block.id, number
    if name not in look.drafts:
        look.drafts[name] = make()
    return look.drafts[name]


def _line_stand_in_if_cold(number: int, look: Look, *, of_large_results: bool) -> StandIn | None:
    """A line in the place of what is cold."""
    block = look.block
    is_large = block.kind == blocks.RESULT and len(block.text) >= _LARGE_RESULT_CHARACTERS
    if is_large is not of_large_results or not look.is_cold:
        return None
    return _draft_once(number, look, partial(stand_ins.line_stand_in, block, look.clock, number))


def _preview_if_new_or_refused(number: int, look: Look) -> StandIn | None:
    """A preview of what is bulk, when it arrives; after a refusal of what is merely long, too."""
    block = look.block
    if look.standing or block.kind != blocks.RESULT:
        return None
    make = partial(stand_ins.preview_stand_in, block, look.clock, look.rules, number)
    if look.is_hard:
        return _draft_once(number, look, partial(make, was_read=True))
    return make(was_read=False) if look.is_new else None


RESULTS = Layer(2, partial(_line_stand_in_if_cold, of_large_results=True))
REST = Layer(5, partial(_line_stand_in_if_cold, of_large_results=False))
PREVIEWS = Layer(1, _preview_if_new_or_refused)
RETRY = Layer(4)
LAYERS = (RESULTS, REST, PREVIEWS, RETRY)
