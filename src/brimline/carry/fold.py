"""One transcript row taken into the ledger. Pure: the same rows give the same ledger.

Rows that were folded before are known by their uuids and change nothing. Only the main thread
counts; the client's own summary of a compaction is not taken for anybody's words.
"""

from __future__ import annotations

from brimline.carry import items as kinds
from brimline.carry import said, tooling
from brimline.transcript import exchange, rows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from brimline.carry.items import Ledger

# As many uuids are remembered; older rows are told by their time and their parent.
_REMEMBERED = 2_000
_UUID_CHARACTERS = 12
_PLAN_OPENING = "Implement the following plan:"


def fold(ledger: Ledger, row: Any) -> None:
    """Take one row in; any JSON value is fine."""
    if not isinstance(row, dict) or row.get("isSidechain"):
        return
    kind = row.get("type")
    if kind not in ("user", "assistant", "attachment", "system") or _was_folded(ledger, row):
        return
    origin = said.Origin(rows.timestamp_of(row), exchange.text_of(row.get("uuid")) or None)
    if rows.is_boundary(row):
        _compacted(ledger, row)
    elif kind == "assistant":
        ledger.state.pop("summary_expected", None)
        _assistant(ledger, row, origin)
    elif kind == "user":
        _user(ledger, row, origin)
    elif kind == "attachment":
        _attached(ledger, row, origin)


def _was_folded(ledger: Ledger, row: dict[str, Any]) -> bool:
    uuid = _short(row.get("uuid"))
    if not uuid:
        return False
    seen: dict[str, str] = ledger.state.setdefault("seen", {})
    if uuid in seen:
        return True
    at = rows.timestamp_of(row) or ""
    if len(seen) >= _REMEMBERED:
        oldest = next(iter(seen))
        parents = (_short(row.get("parentUuid")), _short(row.get("logicalParentUuid")))
        if at and at < seen[oldest] and not any(parent in seen for parent in parents):
            return True
        del seen[oldest]
    seen[uuid] = at
    return False


def _short(uuid: Any) -> str:
    return uuid[-_UUID_CHARACTERS:] if isinstance(uuid, str) else ""


def _compacted(ledger: Ledger, row: dict[str, Any]) -> None:
    """Count a boundary and its summary as one; old sessions have the summary only."""
    if rows.is_summary(row) and ledger.state.pop("summary_expected", None):
        return
    ledger.compactions += 1
    if not rows.is_summary(row):
        ledger.state["summary_expected"] = True


def _assistant(ledger: Ledger, row: dict[str, Any], origin: said.Origin) -> None:
    for text in exchange.replied(row):
        said.by_assistant(ledger, text, origin)
    for call in exchange.calls(row):
        tooling.called(ledger, call, origin)


def _user(ledger: Ledger, row: dict[str, Any], origin: said.Origin) -> None:
    for result in exchange.results(row):
        tooling.answered(ledger, result, origin)
    told = exchange.notification(row)
    if told:
        tooling.notified(ledger, told, origin)
        return
    text = exchange.typed(row)
    if not text:
        return
    plan = exchange.text_of(row.get("planContent"))
    is_plan = bool(plan) or text.startswith(_PLAN_OPENING)
    if is_plan:
        tooling.plan(ledger, "", plan or text.removeprefix(_PLAN_OPENING), origin)
    said.by_user(ledger, text, origin, is_plan=is_plan)


def _attached(ledger: Ledger, row: dict[str, Any], origin: said.Origin) -> None:
    attachment = rows.attachment_of(row)
    kind = attachment.get("type")
    if kind == "queued_command":
        _user(ledger, row, origin)
    elif kind == "task_reminder":
        tooling.tasks(ledger, attachment.get("content"), origin)
    elif kind == "goal_status":
        _goal_status(ledger, attachment, origin)
    elif isinstance(kind, str) and kind.startswith("plan_"):
        path = exchange.text_of(attachment.get("planFilePath"))
        text = exchange.text_of(attachment.get("planContent"))
        if text or (path and attachment.get("planExists") is True):
            tooling.plan(ledger, path, text, origin)


def _goal_status(ledger: Ledger, attachment: dict[str, Any], origin: said.Origin) -> None:
    condition = exchange.text_of(attachment.get("condition"))
    if condition:
        item = said.add(ledger, kinds.GOAL, condition, kinds.USER, origin, 3.0)
        item.status = kinds.DONE if attachment.get("met") is True else kinds.OPEN
