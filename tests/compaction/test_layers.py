"""When a layer drafts something for a block, and when the block is left to another or to itself."""

from __future__ import annotations

from typing import Any

import pytest

from brimline.bulk.judge import Rules
from brimline.compaction import blocks, layers
from brimline.compaction.layers import _LARGE_RESULT_CHARACTERS, PREVIEWS, REST, RESULTS, Look
from brimline.compaction.references import Clock
from brimline.compaction.stand_ins import StandIn

LOG = "\n".join(f"2026-01-08 12:00:{n % 60:02d} request {n} served" for n in range(400))


def look(text: str = LOG, **fields: Any) -> Look:
    """A result with this text, as it looks when nothing is known of it."""
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "journalctl"}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": text}
    said = [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    (_, block) = blocks.read_blocks({"messages": said}) or []
    usual = Look(
        block,
        standing=None,
        is_cold=False,
        is_new=False,
        is_hard=False,
        clock=Clock(),
        rules=Rules(),
        drafts={},
    )
    return usual._replace(**fields)


def drafted(layer: layers.Layer, seen: Look) -> bool:
    """Whether a layer has something for a block."""
    assert layer.draft
    return layer.draft(layer.number, seen) is not None


def test_only_what_is_cold_becomes_a_line() -> None:
    """By whichever layer."""
    assert drafted(RESULTS, look(is_cold=True))
    assert not drafted(RESULTS, look(is_cold=False))


@pytest.mark.parametrize(
    ("length", "layer"), [(_LARGE_RESULT_CHARACTERS - 1, REST), (_LARGE_RESULT_CHARACTERS, RESULTS)]
)
def test_long_results_are_for_one_layer_short_for_another(length: int, layer: layers.Layer) -> None:
    """Neither is for both."""
    seen = look(LOG[:length], is_cold=True)

    assert [drafted(each, seen) for each in (RESULTS, REST)] == [layer is RESULTS, layer is REST]


@pytest.mark.parametrize(
    ("fields", "is_previewed"),
    [
        ({"is_new": True}, True),
        ({"is_new": False}, False),
        ({"is_hard": True}, True),
        ({"is_new": True, "standing": StandIn(1, {"content": "x"}, "k", 1.0)}, False),
    ],
    ids=["new", "sent", "refused", "has one"],
)
def test_bulk_is_a_preview_when_it_arrives_or_a_request_was_refused(
    fields: dict[str, Any], is_previewed: bool
) -> None:
    """Not while the cache holds it, and not where the same call came again to see all of it."""
    assert drafted(PREVIEWS, look(**fields)) is is_previewed


def test_what_will_not_change_is_drafted_once() -> None:
    """By its layer: a preview is not a line."""
    seen = look(is_cold=True, is_hard=True)
    assert RESULTS.draft
    assert PREVIEWS.draft
    first = RESULTS.draft(2, seen)
    again = RESULTS.draft(2, seen)
    preview = PREVIEWS.draft(1, seen)

    assert first is again
    assert preview
    assert first
    assert (first.layer, preview.layer) == (2, 1)
    assert len(seen.drafts) == 2
