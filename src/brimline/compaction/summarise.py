"""Everything up to a boundary becomes a summary, by one call of a model. Pure but for that.

The library brings no model: whoever uses it gives a `Summarizer`. What is worth remembering beyond
the conversation is asked for in the same call, because afterwards nobody knows it any more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from brimline.compaction import blocks
from brimline.compaction.compactor import LayerOutcome
from brimline.compaction.layers import SUMMARY

if TYPE_CHECKING:
    from brimline.compaction.compactor import State

# Measured by others: 99.99 % of summaries take 17,387 tokens at most.
RESERVE_TOKENS = 20_000
# After so many failures in a row nothing more is tried.
MOST_FAILURES = 3
_BOUNDARY = "[conversation boundary: what came before is summed up here, and gone]"
_REMEMBER = "Remember:"
INSTRUCTIONS = (
    "Sum up the conversation so far for a reader who has nothing else: what the user asked for, in "
    "their own words where they matter; what was decided and why; files, names and commands in "
    "use; what is done, what failed, what comes next.\n"
    f"Then write a line `{_REMEMBER}` and below it, one per line with a dash, lessons that hold "
    "beyond this conversation. None is a good answer."
)


class Summarizer(Protocol):
    """A model that can be asked once."""

    def summarize(self, messages: list[dict[str, Any]], instructions: str, most_tokens: int) -> str:
        """The answer to `instructions` about a conversation."""


class Summarised(NamedTuple):
    """A conversation with a new beginning."""

    body: Any
    layer: LayerOutcome
    summary: str = ""
    memories: tuple[str, ...] = ()


def summarise_all_but_last_round(
    body: Any, state: State, summarizer: Summarizer, most_tokens: int = RESERVE_TOKENS
) -> Summarised:
    """Sum up all but the last round, by one call; what fails leaves the request as it is.

    Args:
        body: a request; it is not changed.
        state: of its conversation: after failures in a row nothing more is tried.
        summarizer: the model.
        most_tokens: what the summary may take.
    """
    conversation = blocks.read_blocks(body)
    cut = blocks.index_of_last_call_or_prompt_message(body) if conversation else 0
    if not cut:
        return Summarised(body, LayerOutcome(SUMMARY.number, "nothing"))
    if state.summary_failures >= MOST_FAILURES:
        return Summarised(body, LayerOutcome(SUMMARY.number, "breaker open"))
    try:
        reply = summarizer.summarize(body["messages"][:cut], INSTRUCTIONS, most_tokens)
    except Exception:  # noqa: BLE001 - whatever a model's library raises
        reply = ""
    summary, _, rest = reply.partition(f"\n{_REMEMBER}")
    if not summary.strip():
        state.summary_failures += 1
        return Summarised(body, LayerOutcome(SUMMARY.number, "failed"))
    state.summary_failures = 0
    memories = [line.strip().removeprefix("-").strip() for line in rest.split("\n")]
    shorter = blocks.body_with_beginning_replaced(body, cut, f"{_BOUNDARY}\n{summary.strip()}")
    before = sum(block.tokens for block in conversation or ())
    after = sum(block.tokens for block in blocks.read_blocks(shorter) or ())
    layer = LayerOutcome(SUMMARY.number, "applied", cut, before - after)
    return Summarised(shorter, layer, summary.strip(), tuple(filter(None, memories)))
