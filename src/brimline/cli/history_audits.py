"""Adds to the compactions of a history what audits found their summaries to have kept."""

from __future__ import annotations

from typing import Any

from brimline import clock
from brimline.carry import audit

# The audit is made when the compaction is over; the client's own record has a time within it.
_LONGEST_COMPACTION_S = 1_800.0
_COUNTS = {
    "items_kept": "kept",
    "items_paraphrased": "paraphrased",
    "items_lost": "missing",
    "items_restored": "restored",
}


def add(home_dir: str, document: dict[str, Any]) -> None:
    """Give every compaction of a history its counts; null where no audit was made."""
    found = document.get("compactions", [])
    by_session: dict[str, list[dict[str, Any]]] = {}
    for one in found:
        by_session.setdefault(one["session_id"], []).append(one)
    for session_id, compactions in by_session.items():
        made = _matched(compactions, audit.load_all(home_dir, session_id))
        for number, one in enumerate(compactions):
            own = made.get(number)
            one |= {key: own[name] if own else None for key, name in _COUNTS.items()}


def _matched(
    compactions: list[dict[str, Any]], audits: list[dict[str, Any]]
) -> dict[int, dict[str, Any]]:
    """By the place of a compaction: its audit, the pairs nearest in time first."""
    moments = [clock.parse(one["at"]) for one in compactions]
    pairs = sorted(
        (abs(made["at"] - at), place, number)
        for place, at in enumerate(moments)
        for number, made in enumerate(audits)
        if at is not None
    )
    found: dict[int, dict[str, Any]] = {}
    taken: set[int] = set()
    for apart_s, place, number in pairs:
        if apart_s <= _LONGEST_COMPACTION_S and place not in found and number not in taken:
            found[place] = audits[number]
            taken.add(number)
    return found
