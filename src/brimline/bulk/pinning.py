"""The pin that a person asks for in a session: of the last large result, stored or not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from brimline.bulk import contents, layout, looks, pins, previews, put
from brimline.bulk.marks import LARGE_BYTES
from brimline.errors import StoreError
from brimline.fast import json
from brimline.transcript.row import main_thread_results

if TYPE_CHECKING:
    from brimline.hooks.turn import Turn

_LOOK_BACK_BYTES = 32 << 20
# Also of a search, `[brimline recall: hits …`.
_OWN_ANSWER = "[brimline recall"


def pin_last_large_result(turn: Turn, level: str, reason: str | None) -> str:
    """Pin the nearest large result before; returns what to tell the person."""
    key = ensure_last_large_result_is_stored(turn)
    if key is None:
        return "brimline: there is no large result to pin yet."
    held = pins.pin_level_of(turn.home, layout.digest_of_key(key))
    if pins.level_rank(held) > pins.level_rank(level):
        return f"brimline: {layout.shorten_key(key)} stays pinned ({held}): unpin it first."
    pins.pin(turn.home, key, level, reason)
    return f"brimline: pinned {layout.shorten_key(key)} ({level})."


def ensure_last_large_result_is_stored(turn: Turn) -> str | None:
    """The nearest large result before; one that stayed in the window is stored for it."""
    shown = previews.Previews(turn.home, turn.state.session_id, turn.event.transcript)
    try:
        for row in json.rows_backward(turn.event.transcript, b'"tool_result"', _LOOK_BACK_BYTES):
            for result in reversed(list(main_thread_results(row))):
                original = shown.original_of(result.call_id, result.text)
                key = original.key if original else _key_of_text_or_store_it(result.text, turn)
                if key:
                    return key
    except OSError:
        pass  # a session that has no transcript yet has no results either
    return None


def _key_of_text_or_store_it(text: str, turn: Turn) -> str | None:
    """Return the key of what a result shows; None where that is too small to be pinned.

    What was recalled is in the store already. A search of the store is not a result.
    """
    home_dir = turn.home
    if text.startswith(_OWN_ANSWER):
        return _key_in_recall_header(text, home_dir)
    content = text.encode("utf-8", "surrogatepass")
    if len(content) < LARGE_BYTES:
        return None
    # The client takes the last line break off what a command prints.
    for original in (content, content + b"\n"):
        key = layout.PREFIX + put.sha256(original)
        if contents.digests_starting_with(home_dir, layout.digest_of_key(key)):
            return key
    return put.put(home_dir, content, {"session": turn.state.session_id})


def _key_in_recall_header(text: str, home_dir: str) -> str | None:
    """The key that the first line of our own answer names."""
    if not text.startswith(looks.RECALL_HEADER + layout.PREFIX):
        return None
    name = text[len(looks.RECALL_HEADER) :].split(maxsplit=1)[0].rstrip(":]")
    try:
        return contents.resolve_key(home_dir, name)
    except StoreError:
        return None  # it is gone, or was never there: the results before it count
