"""The document behind `status`, and its text: all that is known about how full a session is."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from brimline import output
from brimline.gauge import context, reading, wording

if TYPE_CHECKING:
    from brimline.fast.policy import Policy
    from brimline.transcript.typed import Session


def status_document(path: str, recorded: Session, home_dir: str, policy: Policy) -> dict[str, Any]:
    """Return how full a session is, by its requests and compactions; `text` puts it into words.

    Raises:
        OSError: its file cannot be read.
    """
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
