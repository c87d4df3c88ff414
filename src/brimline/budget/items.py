"""The items of a session's five compartments: one line per change, only ever appended to.

Several processes may write at once, and a torn line costs itself only: what holds is what the lines
say in their order. Whether an item may go is asked when its line is read, so that one which was
pinned meanwhile stays. Nothing is imported that a hook does not have, because the card reads this.
"""

from __future__ import annotations

import time

from brimline.errors import StateError
from brimline.fast import io, json, paths
from brimline.foreign import flatten

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

FILE_NAME = "budget.jsonl"
SAFETY, TASK = "safety_constraints", "active_task"
# Percent of the window.
SHARES = {
    TASK: 40,
    "project_background": 20,
    "operator_preferences": 10,
    SAFETY: 10,
    "ambient_knowledge": 20,
}
ALERT_PERCENT = 90
PRIORITIES = range(11)
LOG_ENTRIES = 200
PREVIEW_CHARACTERS = 80
# More is not read; the last part is kept for changes to what is there.
_LARGEST_BYTES = 8 << 20
_KEPT_BYTES = 1 << 20


class Budget:
    """The items that hold, in the order in which they came, and what was evicted lately."""

    def __init__(self) -> None:
        self.items: dict[str, dict[str, Any]] = {}
        self.log: list[dict[str, Any]] = []

    def items_in(self, compartment: str) -> list[dict[str, Any]]:
        """The items of one compartment."""
        return [item for item in self.items.values() if item["compartment"] == compartment]


def load(home_dir: str, session_id: str) -> Budget:
    """Return what a session's lines say; a session without any has no items.

    Raises:
        OSError: they cannot be read.
    """
    budget = Budget()
    for line in json.read_lines(_budget_file(home_dir, session_id), _LARGEST_BYTES):
        item = line.get("add")
        if isinstance(item, dict) and _is_valid_item(item):
            budget.items.setdefault(item["id"], item)
        named = budget.items.get(str(line.get("id")))
        if named is not None:
            _apply_line_to_item(budget, named, line)
    del budget.log[:-LOG_ENTRIES]
    return budget


def _apply_line_to_item(budget: Budget, item: dict[str, Any], line: dict[str, Any]) -> None:
    """Carry out what a line says about an item; one that is pinned is not evicted."""
    action = line.get("do")
    if action in ("pin", "unpin"):
        item["pinned"] = action == "pin" or item["compartment"] == SAFETY
    elif action == "remove":
        del budget.items[item["id"]]
    elif action == "evict" and not item["pinned"]:
        del budget.items[item["id"]]
        fields = {name: item[name] for name in ("id", "compartment", "tokens", "priority")}
        preview = flatten(item["text"], PREVIEW_CHARACTERS)
        budget.log.append(fields | {"preview": preview, "at": line.get("at")})


def add_item(home_dir: str, session_id: str, item: dict[str, Any]) -> dict[str, Any]:
    """Write an item down: `compartment`, `text`, `priority`, `pinned`; returns it with its id.

    Raises:
        OSError: it cannot be written.
        StateError: so much was written down for this session that no more is taken.
    """
    made = {
        **item,
        "id": io.system.urandom(4).hex(),
        "at": round(time.time(), 3),
        "tokens": estimate_tokens(item["text"]),
        "pinned": item["pinned"] or item["compartment"] == SAFETY,
    }
    _append_within_limit(
        _budget_file(home_dir, session_id), {"add": made}, _LARGEST_BYTES - _KEPT_BYTES
    )
    return made


def append_actions(home_dir: str, session_id: str, what: str, items: Iterable[str]) -> None:
    """Say of items, by their ids, that they are to `remove`, `pin`, `unpin` or `evict`.

    Raises:
        OSError: it cannot be written.
        StateError: so much was written down for this session that no more is taken.
    """
    for item in items:
        _append_within_limit(
            _budget_file(home_dir, session_id), {"do": what, "id": item}, _LARGEST_BYTES
        )


def estimate_tokens(text: str) -> int:
    """About how many tokens a text takes: one per four bytes, rounded up."""
    return -(-len(text.encode("utf-8", "replace")) // 4)


def capacity_tokens(compartment: str, window_tokens: int) -> int:
    """Return how many tokens a compartment has, whatever the others hold."""
    return window_tokens * SHARES[compartment] // 100


def sum_tokens(items: Iterable[dict[str, Any]]) -> int:
    """Return how many tokens items take."""
    return sum(item["tokens"] for item in items)


def evictable_in_order(items: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Those that may go, in the order in which they go: lowest priority, then oldest."""
    free = [item for item in items if not item["pinned"]]
    return sorted(free, key=lambda item: (item["priority"], item["at"]))


def all_items_to_evict(budget: Budget, window_tokens: int) -> list[dict[str, Any]]:
    """Return what has to go so that no compartment holds more than its share."""
    found = []
    for compartment in SHARES:
        inside = budget.items_in(compartment)
        over = sum_tokens(inside) - capacity_tokens(compartment, window_tokens)
        for item in evictable_in_order(inside):
            if over <= 0:
                break
            over -= item["tokens"]
            found.append(item)
    return found


def load_pinned_texts_of_safety_and_task(home_dir: str, session_id: str) -> list[list[str]]:
    """The pinned texts that come back after a compaction: of safety, and of the task at hand."""
    budget = load(home_dir, session_id)
    return [
        [item["text"] for item in reversed(budget.items_in(compartment)) if item["pinned"]]
        for compartment in (SAFETY, TASK)
    ]


def _is_valid_item(item: dict[str, Any]) -> bool:
    """Tell whether a line was written by `add`."""
    return (
        item.get("compartment") in SHARES
        and isinstance(item.get("id"), str)
        and isinstance(item.get("text"), str)
        and isinstance(item.get("pinned"), bool)
        and all(isinstance(item.get(name), int | float) for name in ("tokens", "priority", "at"))
    )


def _append_within_limit(path: str, fields: dict[str, Any], most: int) -> None:
    line = {"at": round(time.time(), 3)} | fields
    if io.file_size(path) + len(json.dumps({"v": json.FORMAT} | line)) >= most:
        raise StateError("this session's budget file is full: it takes no more")
    json.append_line(path, line)


def _budget_file(home_dir: str, session_id: str) -> str:
    return f"{paths.carry_session_dir(home_dir, session_id)}/{FILE_NAME}"
