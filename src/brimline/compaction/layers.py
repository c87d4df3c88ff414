"""The layers as small objects, in the order in which a block is offered to them. Pure.

Each has a name, its options, and a function that says what might stand in for a block. Who wants
another policy makes another list.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from brimline.compaction import blocks, stand_ins

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

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


@dataclass(frozen=True)
class Layer:
    """One way to let go of something."""

    number: int
    """As people and records name it."""
    name: str
    draft: Callable[[Layer, Look], StandIn | None] | None = None
    """What might stand in for a block; None where it does not work block by block."""
    is_final: bool = True
    """Whether what it has replaced is left alone by the others."""

    def draft_once(self, look: Look, make: Callable[[], StandIn | None]) -> StandIn | None:
        """Draft once what will not change."""
        name = look.block.id, self.number
        if name not in look.drafts:
            look.drafts[name] = make()
        return look.drafts[name]


def _line_stand_in_if_cold(layer: Layer, look: Look, *, of_large_results: bool) -> StandIn | None:
    """A line in the place of what is cold."""
    block = look.block
    is_large = block.kind == blocks.RESULT and len(block.text) >= _LARGE_RESULT_CHARACTERS
    if is_large is not of_large_results or not look.is_cold:
        return None
    return layer.draft_once(look, partial(stand_ins.line_stand_in, block, look.clock, layer.number))


def _preview_if_new_or_refused(layer: Layer, look: Look) -> StandIn | None:
    """A preview of what is bulk, when it arrives; after a refusal of what is merely long, too."""
    block = look.block
    if look.standing or block.kind != blocks.RESULT:
        return None
    make = partial(stand_ins.preview_stand_in, block, look.clock, look.rules, layer.number)
    if look.is_hard:
        return layer.draft_once(look, partial(make, was_read=True))
    return make(was_read=False) if look.is_new else None


RESULTS = Layer(2, "lines for results", partial(_line_stand_in_if_cold, of_large_results=True))
REST = Layer(5, "lines for all else", partial(_line_stand_in_if_cold, of_large_results=False))
PREVIEWS = Layer(1, "previews", _preview_if_new_or_refused, is_final=False)
RETRY = Layer(4, "once more after a refusal, harder")
LAYERS = (RESULTS, REST, PREVIEWS, RETRY)


def layers_chosen_by_number(numbers: Collection[int]) -> tuple[Layer, ...]:
    """The layers with these numbers."""
    return tuple(layer for layer in LAYERS if layer.number in numbers)


def is_stand_in_final(standing: StandIn) -> bool:
    """Tell whether no layer replaces what stands in by something shorter."""
    return all(layer.is_final for layer in LAYERS if layer.number == standing.layer)
