"""The client's own lists of tasks and todos, as its tools report them. Pure."""

from __future__ import annotations

from brimline.carry import closing, values
from brimline.carry import items as kinds
from brimline.carry.noting import note
from brimline.transcript.row import text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from brimline.carry.items import Item, Ledger
    from brimline.carry.noting import Origin

_WEIGHT = 2.0
_DESCRIPTION_CHARACTERS = 120
_STATES = {
    "completed": kinds.DONE,
    "deleted": kinds.CANCELLED,
    "cancelled": kinds.CANCELLED,
    "pending": kinds.OPEN,
    "in_progress": kinds.OPEN,
}


def task(ledger: Ledger, number: str, told: dict[str, Any], origin: Origin) -> None:
    """Take over what is told of one task, known by its number."""
    identity = f"task {number}"
    item = next((i for i in ledger.of(kinds.TASK) if i.extra.get("id") == identity), None)
    subject = text_of(told.get("subject"))
    if item is None:
        if not subject:
            return
        text = _with_description(subject, text_of(told.get("description")))
        item = note(ledger, kinds.TASK, text, kinds.TOOL, origin, _WEIGHT, id=identity)
    elif subject and subject not in item.text:
        item.text = subject
    _set_state(ledger, item, text_of(told.get("status")), origin)


def task_list(ledger: Ledger, listed: Any, origin: Origin) -> None:
    """Take over the list of all tasks."""
    for told in listed if isinstance(listed, list) else []:
        if isinstance(told, dict) and text_of(told.get("id")):
            task(ledger, told["id"], told, origin)


def todos(ledger: Ledger, listed: Any, origin: Origin) -> None:
    """Take over a list of todos; what is no longer on it was given up."""
    listed = [todo for todo in listed if isinstance(todo, dict)] if isinstance(listed, list) else []
    named = set()
    for todo in listed:
        text = text_of(todo.get("content"))
        if text:
            identity = f"todo {text}"
            named.add(identity)
            item = note(ledger, kinds.TASK, text, kinds.TOOL, origin, _WEIGHT, id=identity)
            _set_state(ledger, item, text_of(todo.get("status")), origin)
    for item in ledger.of(kinds.TASK, status=kinds.OPEN) if listed else ():
        identity = str(item.extra.get("id", ""))
        if identity.startswith("todo ") and identity not in named:
            closing.end(item, kinds.CANCELLED, origin.at)


def _set_state(ledger: Ledger, item: Item, state: str, origin: Origin) -> None:
    status = _STATES.get(state)
    if status is None:
        return
    item.extra["state"] = state
    if status == kinds.OPEN:
        item.status = status
    elif item.status != status:
        closing.end(item, status, origin.at)
        closing.close_alike(ledger, item.text, status, origin.at)


def _with_description(subject: str, description: str) -> str:
    """The subject, and the beginning of a description that holds something exact."""
    head = " ".join(description.split())
    if len(head) > _DESCRIPTION_CHARACTERS:
        head = head[:_DESCRIPTION_CHARACTERS].rpartition(" ")[0] + "…"
    if head and head not in subject and values.specificity(head) >= 1:
        return f"{subject} ({head})"
    return subject
