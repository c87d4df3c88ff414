"""One thing that must survive a compaction, and the ledger that holds them. Pure.

A hook builds a ledger within a few interpreter starts: `dataclasses` alone would cost two.
"""

from __future__ import annotations

from _blake2 import blake2b

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

FORMAT = 1

# In the order in which a card names them.
CONSTRAINT, GOAL, TASK, PLAN, DECISION, REJECTED = (
    "constraint",
    "goal",
    "task",
    "plan",
    "decision",
    "rejected",
)
FACT, ANSWER, ERROR, AGENT, FILE, BACKGROUND, NOTE, PROMPT = (
    "fact",
    "answer",
    "error",
    "agent",
    "file",
    "background",
    "note",
    "prompt",
)
KINDS = (
    *(CONSTRAINT, GOAL, TASK, PLAN, DECISION, REJECTED, FACT),
    *(ANSWER, ERROR, AGENT, FILE, BACKGROUND, NOTE, PROMPT),
)
OPEN, DONE, CANCELLED, SUPERSEDED = "open", "done", "cancelled", "superseded"
STATES = (OPEN, DONE, CANCELLED, SUPERSEDED)
USER, ASSISTANT, TOOL, SUBAGENT, PERSON = "user", "assistant", "tool", "agent", "person"


class Item:
    """What was said or happened, in its own words."""

    __slots__ = ("at", "extra", "kind", "row", "source", "status", "text", "weight")

    def __init__(  # noqa: PLR0913, PLR0917 - a record without the cost of `dataclasses`
        self,
        kind: str,
        text: str,
        source: str,
        status: str = OPEN,
        at: str | None = None,
        row: str | None = None,
        weight: float = 1.0,
        extra: dict[str, Any] | None = None,
    ) -> None:
        self.kind = kind
        self.text = text
        self.source = source
        self.status = status
        self.at = at
        """When, as the client writes it."""
        self.row = row
        """The uuid of the transcript row it stands in."""
        self.weight = weight
        """How much it matters among items of its kind."""
        self.extra = {} if extra is None else extra
        """Per kind: a task's `id`, a file's `path`, an error's `command`, an agent's `key`."""

    def __eq__(self, other: object) -> bool:
        """Two items are equal if they tell the same."""
        return isinstance(other, Item) and self.fields() == other.fields()

    # What it tells may change.
    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        """All that it tells."""
        return f"Item({', '.join(f'{name}={value!r}' for name, value in self.fields().items())})"

    def fields(self) -> dict[str, Any]:
        """All that it tells, by name."""
        return {name: getattr(self, name) for name in _ITEM_FIELDS}

    @property
    def id(self) -> str:
        """Eight digits that name it on the command line; the same text of a kind is one item."""
        identity = self.extra.get("id") or self.text
        name = f"{self.kind}\0{identity}".encode("utf-8", "surrogatepass")
        return blake2b(name, digest_size=4).hexdigest()

    @property
    def is_open(self) -> bool:
        """Whether it still holds or is still to be done."""
        return self.status == OPEN


_ITEM_FIELDS = ("kind", "text", "source", "status", "at", "row", "weight", "extra")


class Ledger:
    """The items of one session by their ids, in the order in which they came up."""

    __slots__ = ("compactions", "folded", "items", "previous", "session", "state")

    def __init__(self, session: str, *, previous: str | None = None) -> None:
        self.session = session
        self.items: dict[str, Item] = {}
        self.folded: dict[str, int] = {}
        """By kind: how many closed items were dropped to keep the ledger small."""
        self.compactions = 0
        self.previous = previous
        """The session that this one goes on from, after `/clear` or a fork."""
        self.state: dict[str, Any] = {}
        """What the next fold has to know: open tool calls, the last prompt, branch and head."""

    def __eq__(self, other: object) -> bool:
        """Two ledgers are equal if they hold the same in the same order."""
        return isinstance(other, Ledger) and to_document(self) == to_document(other)

    # What it holds may change.
    __hash__ = None  # type: ignore[assignment]

    def add(self, item: Item) -> Item:
        """Take an item in; one that is there already stays where it is, with its newest state."""
        known = self.items.get(item.id)
        if known is None:
            self.items[item.id] = item
            return item
        known.weight = max(known.weight, item.weight)
        known.status = item.status
        known.extra |= item.extra
        return known

    def of(self, *kinds: str, status: str | None = None) -> Iterator[Item]:
        """The items of some kinds, of one status or of all."""
        for item in self.items.values():
            if item.kind in kinds and status in (None, item.status):
                yield item


def to_document(ledger: Ledger) -> dict[str, Any]:
    """The ledger as JSON values."""
    return {
        "v": FORMAT,
        "session": ledger.session,
        "items": [item.fields() for item in ledger.items.values()],
        "folded": ledger.folded,
        "compactions": ledger.compactions,
        "previous": ledger.previous,
        "state": ledger.state,
    }


def from_document(document: Any, session: str) -> Ledger:
    """The ledger from JSON values; an empty one for what no version of ours has written."""
    ledger = Ledger(session)
    if not isinstance(document, dict) or document.get("v") != FORMAT:
        return ledger
    try:
        for fields in document["items"]:
            item = Item(**fields)
            ledger.items[item.id] = item
        for name in ("folded", "compactions", "previous", "state"):
            setattr(ledger, name, document[name])
    except (KeyError, TypeError):
        return Ledger(session)
    return ledger
