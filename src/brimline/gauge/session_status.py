"""The document behind `status`, and its text: all that is known about how full a session is."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from brimline import output
from brimline.gauge import context, reading, wording
from brimline.transcript import typed

if TYPE_CHECKING:
    from collections.abc import Callable

    from brimline.fast.policy import Policy
    from brimline.transcript.read import Progress


def read_status_document(
    path: str,
    home_dir: str,
    policy: Policy,
    watch: Callable[[int], None] | None = None,
    measure: Callable[[str, Progress], typed.Session] = typed.measure,
) -> dict[str, Any]:
    """Read all of a session's file; `text` puts the document into words.

    Args:
        path: the session's file.
        home_dir: our data folder.
        policy: the settings in force.
        watch: called with the number of bytes that were read.
        measure: reads its requests and compactions, maybe from where it was read to before.

    Raises:
        OSError: the file cannot be read.
    """
    recorded = measure(path, watch)
    now, state = reading.reading_and_state(path, recorded, home_dir, policy)
    if now.occupancy_tokens is None and recorded.compactions:
        now.estimated_tokens = context.estimate_after_compaction(path)
    return {
        "session_id": state.session_id,
        "transcript": os.path.abspath(path),
        **now.document(),
        "compactions": len(recorded.compactions),
        "off": state.is_off,
        "gateway_saved_tokens": state.last_gateway_saved_tokens(now.occupancy_tokens),
    }


def text(document: dict[str, Any], purged_tokens: int = 0) -> str:
    """The reading for a person, with what a purge took out since."""
    rows = wording.status_rows(document)
    if document["off"]:
        rows.insert(0, ("brimline", "off in this session"))
    if document["gateway_saved_tokens"]:
        saved = f"{document['gateway_saved_tokens']:,} tokens kept out of the last request"
        rows.append(("gateway", saved))
    if document["occupancy_tokens"] is not None:
        rows.append(("compactions", f"{document['compactions']} so far"))
        settings = "brimline config explain guard.tiers (also guard.ceiling, guard.preset)"
        rows.append(("tune", settings))
    purged = f"\nMeasured before a purge, which took out ~{purged_tokens:,} tokens."
    shown = f"Session {document['session_id']}\n" + output.name_value_text(rows)
    return shown + (purged if purged_tokens else "")
