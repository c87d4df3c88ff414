"""What can be done with a session's budget, by the model and by people alike.

Each operation checks what it was given, does it, and returns a document; `text` says it in words.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from brimline import models
from brimline.budget import items
from brimline.errors import StateError
from brimline.foreign import flatten
from brimline.masking import mask
from brimline.state.session import TELEMETRY, SessionState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

LONGEST_TEXT = 8_000
_DEFAULT_PRIORITY = 5
_ARGUMENTS = ("compartment", "text", "id", "priority", "pinned")


class Place(NamedTuple):
    """Whose budget it is."""

    home_dir: str
    session_id: str
    window_tokens: int


def run_operation(
    home_dir: str, session_id: str, operation: str, arguments: dict[str, Any]
) -> dict[str, Any]:
    """Do one operation; `arguments` may hold None for what was not given.

    The window is the one that was measured last, else the usual one.

    Raises:
        StateError: the operation or an argument is wrong, or an item cannot be kept.
        OSError: the budget cannot be read or written.
    """
    present = {name: value for name, value in arguments.items() if value is not None}
    for kind, names, allowed in (
        ("operation", [operation], tuple(OPERATIONS)),
        ("argument", present, _ARGUMENTS),
    ):
        for name in names:
            if name not in allowed:
                raise StateError(f"there is no {kind} {name[:40]!r}: use {', '.join(allowed)}")
    measured = SessionState(home_dir, session_id).read_document(TELEMETRY).get("window_tokens")
    place = Place(home_dir, session_id, measured or models.lookup_model(None).window_tokens)
    return {"operation": operation} | OPERATIONS[operation](place, present)


def _show_compartments(place: Place, _given: dict[str, Any]) -> dict[str, Any]:
    """Every compartment; `status --composition` tells what is really in the window."""
    compartments = _fill_level_of_compartments(place)
    return {"window_tokens": place.window_tokens, "compartments": compartments}


def _add_item(place: Place, given: dict[str, Any]) -> dict[str, Any]:
    compartment, text = _require_compartment(given), _require_text(given)
    priority, pinned = given.get("priority", _DEFAULT_PRIORITY), given.get("pinned", False)
    if isinstance(priority, bool) or priority not in items.PRIORITIES:
        raise StateError("a priority is a whole number from 0 to 10")
    if not isinstance(pinned, bool):
        raise StateError("`pinned` is true or false")
    item = {"compartment": compartment, "text": text, "priority": priority, "pinned": pinned}
    made = items.add_item(place.home_dir, place.session_id, item)
    return {"item": made, "alerts": _nearly_full_rows(place, [compartment])}


def _apply_action_to_item(what: str, place: Place, given: dict[str, Any]) -> dict[str, Any]:
    """Do something to the one item that an id, or its beginning, names."""
    item = _find_item_by_id(place, given)
    if what == "unpin" and item["compartment"] == items.SAFETY:
        raise StateError(f"what is in {items.SAFETY} is always pinned: remove it instead")
    if what == "evict" and item["pinned"]:
        raise StateError(f"{item['id']} is pinned: unpin it first")
    items.append_actions(place.home_dir, place.session_id, what, [item["id"]])
    pinned = what == "pin" or (item["pinned"] and what != "unpin")
    return {"item": item | {"pinned": pinned}}


def _evict_item(place: Place, given: dict[str, Any]) -> dict[str, Any]:
    """Take out one item: the named one, or the next of a compartment."""
    if "id" in given:
        return _apply_action_to_item("evict", place, given)
    compartment = _require_compartment(given)
    free = items.evictable_in_order(_load_budget(place).items_in(compartment))
    if not free:
        raise StateError(f"{compartment} holds nothing that is not pinned")
    return _apply_action_to_item("evict", place, {"id": free[0]["id"]})


def _evict_excess(place: Place, _given: dict[str, Any]) -> dict[str, Any]:
    """Take out what is too much, compartment by compartment."""
    gone = items.all_items_to_evict(_load_budget(place), place.window_tokens)
    items.append_actions(place.home_dir, place.session_id, "evict", [item["id"] for item in gone])
    return {"evicted": gone, "alerts": _nearly_full_rows(place)}


def _list_items(place: Place, given: dict[str, Any]) -> dict[str, Any]:
    wanted = [_require_compartment(given)] if "compartment" in given else items.SHARES
    budget = _load_budget(place)
    return {"items": [item for name in wanted for item in budget.items_in(name)]}


OPERATIONS: dict[str, Callable[[Place, dict[str, Any]], dict[str, Any]]] = {
    "get": _show_compartments,
    "add": _add_item,
    "remove": partial(_apply_action_to_item, "remove"),
    "pin": partial(_apply_action_to_item, "pin"),
    "unpin": partial(_apply_action_to_item, "unpin"),
    "evict": _evict_item,
    "enforce": _evict_excess,
    "estimate": lambda _place, given: {"tokens": items.estimate_tokens(_require_text(given))},
    "alerts": lambda place, _given: {"alerts": _nearly_full_rows(place)},
    "log": lambda place, _given: {"log": _load_budget(place).log},
    "list": _list_items,
}


def _load_budget(place: Place) -> items.Budget:
    return items.load(place.home_dir, place.session_id)


def _require_compartment(given: dict[str, Any]) -> str:
    name: str = given.get("compartment", "")
    if name not in list(items.SHARES):
        raise StateError(f"a compartment is one of {', '.join(items.SHARES)}")
    return name


def _require_text(given: dict[str, Any]) -> str:
    text = given.get("text")
    if not isinstance(text, str) or not text.strip():
        raise StateError("give a `text`")
    if len(text) > LONGEST_TEXT:
        raise StateError(f"an item has at most {LONGEST_TEXT:,} characters: say it shorter")
    return mask(text.strip())


def _find_item_by_id(place: Place, arguments: dict[str, Any]) -> dict[str, Any]:
    name, by_id = str(arguments.get("id", "")), _load_budget(place).items
    fitting = [each for each in by_id if name and each.startswith(name)]
    if len(fitting) != 1:
        some = "several items begin" if fitting else "no item begins"
        raise StateError(f"{some} with the id {name[:40]!r}: `list` names them")
    return by_id[fitting[0]]


def _fill_level_of_compartments(place: Place) -> list[dict[str, Any]]:
    budget, found = _load_budget(place), []
    for name, share in items.SHARES.items():
        inside, room = budget.items_in(name), items.capacity_tokens(name, place.window_tokens)
        used = items.sum_tokens(inside)
        found.append(
            {
                "name": name,
                "share_percent": share,
                "tokens": room,
                "used_tokens": used,
                "percent": round(100 * used / room, 1) if room else 100.0,
                "items": len(inside),
                "pinned": sum(item["pinned"] for item in inside),
            }
        )
    return found


def _nearly_full_rows(place: Place, names: Iterable[str] = items.SHARES) -> list[dict[str, Any]]:
    """The compartments that are nearly full, or more than full."""
    return [
        one
        for one in _fill_level_of_compartments(place)
        if one["name"] in names and one["percent"] >= items.ALERT_PERCENT
    ]


def text(document: dict[str, Any]) -> str:
    """Return what was done, or found, in a few lines."""
    lines = [_compartment_line(one) for one in document.get("compartments", [])]
    if "item" in document:
        lines.append(f"{_DONE[document['operation']]} {_item_line(document['item'])}")
    if "evicted" in document:
        gone = document["evicted"]
        lines.append(f"Evicted: {len(gone)}, in this order:" if gone else "Evicted: nothing.")
        lines += map(_item_line, gone)
    if "tokens" in document:
        lines.append(f"About {document['tokens']:,} tokens (a token per four bytes).")
    lines += map(_item_line, document.get("items", []))
    lines += [
        f"{gone['id']}  {gone['compartment']}, {gone['tokens']:,} tokens: {gone['preview']}"
        for gone in document.get("log", [])
    ]
    lines += [f"Nearly full: {_compartment_line(one)}" for one in document.get("alerts", [])]
    return "\n".join(lines) or "Nothing."


_DONE = {
    "add": "Added:",
    "remove": "Removed:",
    "pin": "Pinned:",
    "unpin": "Unpinned:",
    "evict": "Evicted:",
}


def _compartment_line(one: dict[str, Any]) -> str:
    return (
        f"{one['name']:20} {one['used_tokens']:>8,} of {one['tokens']:,} tokens"
        f" ({one['percent']:.0f} %), {one['items']} item{'s' * (one['items'] != 1)}, "
        f"{one['pinned']} pinned"
    )


def _item_line(item: dict[str, Any]) -> str:
    text = flatten(item["text"], items.PREVIEW_CHARACTERS)
    pin = ", pinned" if item["pinned"] else ""
    head = f"{item['id']}  {item['compartment']}, {item['tokens']:,} tokens"
    return f"{head}, priority {item['priority']}{pin}\n  {text}"
