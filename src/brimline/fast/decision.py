"""What a hook decided, as one record that every room can return.

Fast path: imports only `fast.io`.
"""

from __future__ import annotations

from brimline.fast import io

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# The client hands the model a file path instead of the text beyond 10,000 characters.
NOTE_BUDGET_CHARACTERS = 9_000

_RANK = {"": 0, "allow": 1, "ask": 2, "deny": 3}


class Decision(io.Record):
    """Permission, replacement output, notes for the model and notes for the person."""

    permission: str = ""
    reason: str = ""
    replacement: Any = None
    model_notes: tuple[str, ...] = ()
    person_notes: tuple[str, ...] = ()


def merge_decisions(decisions: list[Decision]) -> Decision:
    """Combine what the rooms decided.

    Deny wins over ask, ask over allow, allow over none; among equals the first speaks. The first
    replacement wins. Notes add up in order within the budget; the note that no longer fits is left
    out whole.
    """
    if len(decisions) == 1:
        return decisions[0]
    strongest = max(decisions, key=lambda d: _RANK[d.permission])
    replacements = [d.replacement for d in decisions if d.replacement is not None]
    return Decision(
        permission=strongest.permission,
        reason=strongest.reason,
        replacement=replacements[0] if replacements else None,
        model_notes=notes_within_budget([note for d in decisions for note in d.model_notes]),
        person_notes=notes_within_budget([note for d in decisions for note in d.person_notes]),
    )


def notes_within_budget(notes: list[str]) -> tuple[str, ...]:
    """Keep the leading notes that fit into what the client passes on whole."""
    kept: list[str] = []
    left = NOTE_BUDGET_CHARACTERS
    for note in notes:
        left -= len(note) + 2
        if left < 0:
            break
        kept.append(note)
    return tuple(kept)
