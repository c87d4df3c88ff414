"""What must be the same before and after a rewrite: rows, their links, pairs, usage. Pure.

Lines that a purge leaves alone are compared byte for byte. A row that it changes must keep all that
ties it to others, and no row may follow one that is gone. From that follows the rest: the number of
records, the pairs of calls and results, the recorded usage, the chain from the last message up.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from brimline.purge import parts
from brimline.purge.errors import PurgeError

if TYPE_CHECKING:
    from collections.abc import Collection


@dataclass(slots=True)
class Facts:
    """How the rows of a session follow one another, gathered row by row."""

    parents: dict[str, str | None] = field(default_factory=dict)
    """The parent of every row that has a name; of rows with one name, that of the first."""
    repeated: set[str] = field(default_factory=set)
    """Names that more than one row has."""

    def take(self, row: dict[str, Any]) -> None:
        """Add a row."""
        name, parent = row.get("uuid"), row.get(parts.PARENT_FIELD)
        if isinstance(name, str):
            if name in self.parents:
                self.repeated.add(name)
            else:
                known = sys.intern(parent) if isinstance(parent, str) else None
                self.parents[sys.intern(name)] = known


def ties_of(row: dict[str, Any]) -> int:
    """A hash of all that ties a message to others; the same in one process only."""
    calls, results, usage = parts.structure(row)
    names = [row.get(name) for name in ("type", "uuid", parts.PARENT_FIELD, "isSidechain")]
    return hash((*map(repr, names), *calls, None, *results, None, *(usage or ())))


def require_same_ties(before: int, row: dict[str, Any], offset: int) -> None:
    """See that a changed row is still the row that others know.

    Args:
        before: what `ties_of` said of the row as it was.
        row: the row as it is to be.
        offset: where its line begins, for the message.

    Raises:
        PurgeError: its type, name, parent, request, usage, calls or results changed.
    """
    if ties_of(row) != before:
        raise PurgeError(
            f"the row at byte {offset} would lose what ties it to others: nothing was changed; "
            "please report this"
        )


def require_links(facts: Facts, dropped: Collection[str]) -> None:
    """See that nothing that stays follows a row that goes.

    Raises:
        PurgeError: something does.
    """
    for name, parent in facts.parents.items():
        if parent in dropped and name not in dropped:
            raise PurgeError(
                f"the row {name} would lose its parent: nothing was changed; please report this"
            )
