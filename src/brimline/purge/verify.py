"""What must be the same before and after a rewrite: rows, their links, pairs, usage. Pure.

Lines that a purge leaves alone are compared byte for byte. A row that it changes must keep all that
ties it to others, and no row may follow one that is gone. From that follows the rest: the number of
records, the pairs of calls and results, the recorded usage, the chain from the last message up.
"""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from brimline.purge.errors import PurgeError
from brimline.transcript import parts

if TYPE_CHECKING:
    from collections.abc import Collection


@dataclass(slots=True)
class Facts:
    """The structure of a session, gathered row by row."""

    types: Counter[str] = field(default_factory=Counter)
    parents: dict[str, str | None] = field(default_factory=dict)
    """The parent of every row that has a name."""
    calls: set[str] = field(default_factory=set)
    results: set[str] = field(default_factory=set)
    leaf: str | None = None
    """The last message of the main thread."""
    repeated: Counter[str] = field(default_factory=Counter)
    """Names that more than one row has, and how often they came again."""
    usage: int = 0
    """A hash of all recorded usage, in order."""

    def take(self, row: dict[str, Any]) -> int:
        """Add a row; returns a hash of all that ties it to others."""
        kind, name, parent = row.get("type"), row.get("uuid"), row.get(parts.PARENT_FIELD)
        kind = kind if isinstance(kind, str) else "?"
        parent = parent if isinstance(parent, str) else None
        self.types[kind] += 1
        if isinstance(name, str):
            if name in self.parents:
                self.repeated[name] += 1
            else:
                self.parents[sys.intern(name)] = parent and sys.intern(parent)
        else:
            name = None
        if kind in ("assistant", "user"):
            return self._take_message(row, kind, name, parent)
        return hash((kind, name, parent))

    def _take_message(
        self, row: dict[str, Any], kind: str, name: str | None, parent: str | None
    ) -> int:
        calls, results, usage = parts.structure(row)
        self.calls.update(calls)
        self.results.update(results)
        if usage is not None:
            self.usage = hash((self.usage, name, *usage))
        if name is not None and row.get("isSidechain") is not True:
            self.leaf = name
        return hash((kind, name, parent, *calls, None, *results, None, *(usage or ())))

    def chain(self) -> list[str]:
        """The names from the last message of the main thread up to the first of its parents."""
        found: list[str] = []
        seen: set[str] = set()
        name = self.leaf
        while name is not None and name in self.parents and name not in seen:
            seen.add(name)
            found.append(name)
            name = self.parents[name]
        return found

    def dangling(self) -> int:
        """How many rows follow one that is not there."""
        parents = self.parents
        return sum(parent is not None and parent not in parents for parent in parents.values())


def ties_of(row: dict[str, Any]) -> int:
    """A hash of all that ties a row to others."""
    return Facts().take(row)


def require_same_ties(before: int, row: dict[str, Any], offset: int) -> None:
    """See that a changed row is still the row that others know.

    Args:
        before: what `Facts.take` said of the row as it was.
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
