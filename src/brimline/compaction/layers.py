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

    from brimline.compaction.blocks import Block
    from brimline.compaction.references import Clock
    from brimline.compaction.stand_ins import StandIn
    from brimline.offload.judge import Rules

_LARGE_RESULT_CHARACTERS = 2_000


class Look(NamedTuple):
    """A block as the layers see it."""

    block: Block
    standing: StandIn | None
    """What stands in for it already."""
    age: int
    """Requests since something referred to it."""
    hot_requests: int | None
    """What was referred to so recently is hot, where that is not left to the layer."""
    is_new: bool
    """Whether it was never sent before, and is not the same call again after its preview."""
    is_near_brim: bool
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
    hot_requests: int = 20
    """What was referred to so recently is hot, and stays."""
    near_brim_hot_requests: int = 10
    is_final: bool = True
    """Whether what it has replaced is left alone by the others."""

    def is_block_cold(self, look: Look) -> bool:
        """Tell whether nothing has referred to a block for long enough."""
        usual = self.near_brim_hot_requests if look.is_near_brim else self.hot_requests
        return look.age >= (usual if look.hot_requests is None else look.hot_requests)

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
    if is_large is not of_large_results or not layer.is_block_cold(look):
        return None
    return layer.draft_once(look, partial(stand_ins.line_stand_in, block, look.clock, layer.number))


def _preview_if_new_or_aged(layer: Layer, look: Look) -> StandIn | None:
    """A preview of what is bulk, when it arrives; a little later of what is merely long."""
    block = look.block
    if look.standing or block.kind not in (blocks.RESULT, blocks.FILE):
        return None
    make = partial(stand_ins.preview_stand_in, block, look.clock, look.rules, layer.number)
    if look.is_hard or look.age >= layer.hot_requests:
        return layer.draft_once(look, partial(make, was_read=True))
    return make(was_read=False) if look.is_new else None


RESULTS = Layer(2, "lines for results", partial(_line_stand_in_if_cold, of_large_results=True))
REST = Layer(5, "lines for all else", partial(_line_stand_in_if_cold, of_large_results=False))
PREVIEWS = Layer(1, "previews", _preview_if_new_or_aged, hot_requests=4, is_final=False)
RETRY = Layer(4, "once more after a refusal, harder")
LAYERS = (RESULTS, REST, PREVIEWS, RETRY)


def layers_chosen_by_number(numbers: Collection[int]) -> tuple[Layer, ...]:
    """The layers with these numbers."""
    return tuple(layer for layer in LAYERS if layer.number in numbers)


def is_stand_in_final(standing: StandIn) -> bool:
    """Tell whether no layer replaces what stands in by something shorter."""
    return all(layer.is_final for layer in LAYERS if layer.number == standing.layer)
