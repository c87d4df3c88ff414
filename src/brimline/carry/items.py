"""One thing that must survive a compaction, and the ledger that holds them. Pure."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

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


@dataclass(slots=True)
class Item:
    """What was said or happened, in its own words."""

    kind: str
    text: str
    source: str
    status: str = OPEN
    at: str | None = None
    """When, as the client writes it."""
    row: str | None = None
    """The uuid of the transcript row it stands in."""
    weight: float = 1.0
    """How much it matters among items of its kind."""
    extra: dict[str, Any] = field(default_factory=dict)
    """Per kind: a task's `id`, a file's `path`, an error's `command`, an agent's `key`."""

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


@dataclass(slots=True)
class Ledger:
    """The items of one session by their ids, in the order in which they came up."""

    session: str
    items: dict[str, Item] = field(default_factory=dict)
    folded: dict[str, int] = field(default_factory=dict)
    """By kind: how many closed items were dropped to keep the ledger small."""
    compactions: int = 0
    previous: str | None = None
    """The session that this one goes on from, after `/clear` or a fork."""
    state: dict[str, Any] = field(default_factory=dict)
    """What the next fold has to know: open tool calls, the last prompt, branch and head."""

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
    items = [asdict(item) for item in ledger.items.values()]
    return {"v": FORMAT} | asdict(ledger) | {"items": items}


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
