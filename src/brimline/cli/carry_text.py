"""How `brimline carry` speaks: the ledger as a document and as a list. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from brimline.carry import items, save
from brimline.cli.store_text import count, shown

if TYPE_CHECKING:
    from brimline.carry.items import Item, Ledger

__all__ = ["checkpoint", "document", "entry", "listing", "shown"]

_LINE_CHARACTERS = 110


def document(ledger: Ledger, *, every: bool) -> dict[str, Any]:
    """The ledger under stable keys."""
    found = [item for item in ledger.items.values() if every or _is_shown(item)]
    return {
        "session_id": ledger.session,
        "previous_session_id": ledger.previous,
        "compactions": ledger.compactions,
        "folded": ledger.folded,
        "item_count": len(ledger.items),
        "items": [entry(item) for item in found],
    }


def entry(item: Item) -> dict[str, Any]:
    """One item under stable keys."""
    return {
        "id": item.id,
        "kind": item.kind,
        "status": item.status,
        "text": item.text,
        "source": item.source,
        "at": item.at,
        "extra": item.extra,
    }


def listing(found: dict[str, Any]) -> str:
    """The ledger for a person."""
    parts = [f"Session {found['session_id']}"]
    if found["previous_session_id"]:
        parts.append(f"goes on from {found['previous_session_id']}")
    if found["compactions"]:
        parts.append(count(found["compactions"], "compaction"))
    lines = [", ".join(parts)]
    for kind, title in save.TITLES.items():
        entries = [one for one in found["items"] if one["kind"] == kind]
        if entries:
            lines += ["", title, *[_line(one) for one in entries]]
    if not found["items"]:
        lines.append("Nothing is known yet.")
    lines += _left_out(found)
    return "\n".join(lines)


def checkpoint(report: dict[str, Any]) -> str:
    """Where a checkpoint was written, and what could not be kept with it."""
    lines = [report["path"]]
    lines += [
        f"not kept: {one['path']}: {one['problem']}" for one in report["files"] if not one["key"]
    ]
    return "\n".join(lines)


def _is_shown(item: Item) -> bool:
    only_read = item.kind == items.FILE and item.extra.get("did") == "read"
    return item.is_open and item.kind != items.PROMPT and not only_read


def _line(one: dict[str, Any]) -> str:
    status = "" if one["status"] == items.OPEN else f" ({one['status']})"
    return f"  {one['id']}  {shown(one['text'], _LINE_CHARACTERS)}{status}"


def _left_out(found: dict[str, Any]) -> list[str]:
    hidden = found["item_count"] - len(found["items"])
    folded = sum(found["folded"].values())
    told = []
    if hidden:
        told.append(f"{hidden} more with --all")
    if folded:
        told.append(f"{count(folded, 'older one')} no longer listed")
    return ["", "; ".join(told)] if told else []
