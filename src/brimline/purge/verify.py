"""What must be the same before and after a rewrite: records, pairs, chain, usage. Pure."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from brimline.purge.errors import PurgeError
from brimline.transcript import parts

if TYPE_CHECKING:
    from collections.abc import Iterable

_FEW = 3


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

    def take(self, row: dict[str, Any]) -> None:
        """Add a row."""
        kind, name = row.get("type"), row.get("uuid")
        self.types[kind if isinstance(kind, str) else "?"] += 1
        if isinstance(name, str):
            if name in self.parents:
                self.repeated[name] += 1
            else:
                parent = row.get(parts.PARENT_FIELD)
                known = sys.intern(parent) if isinstance(parent, str) else None
                self.parents[sys.intern(name)] = known
        if kind in ("assistant", "user"):
            self._take_message(row, name)

    def _take_message(self, row: dict[str, Any], name: Any) -> None:
        calls, results, usage = parts.structure(row)
        if calls:
            self.calls.update(calls)
        if results:
            self.results.update(results)
        if usage is not None:
            self.usage = hash((self.usage, name, *usage))
        if isinstance(name, str) and row.get("isSidechain") is not True:
            self.leaf = name

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


@dataclass(frozen=True, slots=True)
class Summary:
    """What a comparison needs of the session as it was."""

    types: Counter[str]
    usage: int
    calls: frozenset[str]
    results: frozenset[str]
    chain: bytes
    chain_length: int
    dangling: int
    repeated_names: int


def summarise(facts: Facts, without: Iterable[str] = ()) -> Summary:
    """The facts of a session, so that its rows' names can be forgotten.

    Args:
        facts: all that was gathered.
        without: names of rows to leave out of the chain.
    """
    left_out = frozenset(without)
    chain = [name for name in facts.chain() if name not in left_out]
    return Summary(
        Counter(facts.types),
        facts.usage,
        frozenset(facts.calls),
        frozenset(facts.results),
        blake2b("\n".join(chain).encode("utf-8", "replace")).digest(),
        len(chain),
        facts.dangling(),
        facts.repeated.total(),
    )


def compare(before: Summary, after: Summary, expected: Counter[str]) -> None:
    """See that a copy is as sound as the session it was made from.

    Args:
        before: the session.
        after: the copy, rows that were added to it left out of its chain.
        expected: by how many the copy has fewer records of each type (more: below 0).

    Raises:
        PurgeError: it is not; the sentence says in what.
    """
    counts = Counter(before.types)
    counts.subtract(expected)
    if +counts != +after.types:
        wrong = [kind for kind in counts | after.types if counts[kind] != after.types[kind]]
        raise _unsound(f"the number of {', '.join(sorted(wrong)[:_FEW])} records")
    if before.usage != after.usage:
        raise _unsound("the recorded usage")
    if before.calls != after.calls or before.results != after.results:
        raise _unsound("the pairs of tool calls and results")
    if before.chain != after.chain:
        raise _unsound(f"the chain of {before.chain_length} messages up to the last")
    if after.dangling > before.dangling or after.repeated_names > before.repeated_names:
        raise _unsound("the links between records")


def _unsound(what: str) -> PurgeError:
    return PurgeError(f"the copy differs in {what}: nothing was changed; please report this")
