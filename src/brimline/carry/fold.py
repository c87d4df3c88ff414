"""One transcript row taken into the ledger. Pure: the same rows give the same ledger.

Rows that were folded before are known by their uuids and change nothing. Only the main thread
counts, and the client's own summary of a compaction is nobody's words.
"""

from __future__ import annotations

from brimline.carry import errands, said, tasks, tooling
from brimline.carry import items as kinds
from brimline.carry.noting import Origin, note
from brimline.transcript import row as shapes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from brimline.carry.items import Ledger

_KINDS = ("user", "assistant", "attachment", "system")
# So many uuids are remembered at least, by their last characters; older rows are told by time.
_REMEMBERED = 800
_UUID_CHARACTERS = 10
_PLAN_OPENING = "Implement the following plan:"
_GOAL_WEIGHT = 3.0


def fold(ledger: Ledger, row: Any) -> None:
    """Take one row in; any JSON value is fine."""
    if not isinstance(row, dict) or row.get("isSidechain") or row.get("type") not in _KINDS:
        return
    if _was_folded(ledger, row):
        return
    origin = Origin(shapes.timestamp_of(row), shapes.text_of(row.get("uuid")) or None)
    if shapes.is_boundary(row):
        _compacted(ledger, row)
    elif row["type"] == "assistant":
        _assistant(ledger, row, origin)
    elif row["type"] == "user":
        _user(ledger, row, origin)
    elif row["type"] == "attachment":
        _attached(ledger, row, origin)


def _was_folded(ledger: Ledger, row: dict[str, Any]) -> bool:
    uuid = _mark(row.get("uuid"))
    if not uuid:
        return False
    seen = ledger.state.setdefault("seen", [_generation(), _generation()])
    if any(uuid in generation["ids"] for generation in seen):
        return True
    at = shapes.timestamp_of(row) or ""
    if at and at <= ledger.state.get("forgotten", "") and not _goes_on(row, seen):
        return True
    newer = seen[1]
    newer["ids"] += uuid
    newer["count"] += 1
    newer["until"] = max(newer["until"], at)
    if newer["count"] >= _REMEMBERED:
        ledger.state["forgotten"] = max(ledger.state.get("forgotten", ""), seen[0]["until"])
        ledger.state["seen"] = [newer, _generation()]
    return False


def _goes_on(row: dict[str, Any], seen: list[dict[str, Any]]) -> bool:
    """Whether a row follows one that is known: a clock that was set back makes no row old."""
    parents = (_mark(row.get("parentUuid")), _mark(row.get("logicalParentUuid")))
    return any(parent and parent in generation["ids"] for parent in parents for generation in seen)


def _generation() -> dict[str, Any]:
    return {"ids": "", "count": 0, "until": ""}


def _mark(uuid: Any) -> str:
    return f"|{uuid[-_UUID_CHARACTERS:]}|" if isinstance(uuid, str) and uuid else ""


def _compacted(ledger: Ledger, row: dict[str, Any]) -> None:
    """Count a boundary and its summary as one; old sessions have the summary only."""
    if shapes.is_summary(row) and ledger.state.pop("summary_expected", None):
        return
    ledger.compactions += 1
    if not shapes.is_summary(row):
        ledger.state["summary_expected"] = True


def _assistant(ledger: Ledger, row: dict[str, Any], origin: Origin) -> None:
    ledger.state.pop("summary_expected", None)
    for text in shapes.replied(row):
        said.by_assistant(ledger, text, origin)
    for call in shapes.calls(row):
        tooling.called(ledger, call, origin)


def _user(ledger: Ledger, row: dict[str, Any], origin: Origin) -> None:
    for result in shapes.results(row):
        tooling.answered(ledger, result, origin)
    told = shapes.notification(row)
    if told:
        errands.notified(ledger, told, origin)
        return
    text = shapes.typed(row)
    if not text:
        return
    plan = shapes.text_of(row.get("planContent"))
    is_plan = bool(plan) or text.startswith(_PLAN_OPENING)
    if is_plan:
        tooling.plan(ledger, "", plan or text.removeprefix(_PLAN_OPENING), origin)
    said.by_user(ledger, text, origin, is_plan=is_plan)


def _attached(ledger: Ledger, row: dict[str, Any], origin: Origin) -> None:
    attachment = shapes.attachment_of(row)
    kind = shapes.text_of(attachment.get("type"))
    if kind == "queued_command":
        _user(ledger, row, origin)
    elif kind == "task_reminder":
        tasks.task_list(ledger, attachment.get("content"), origin)
    elif kind == "goal_status":
        _goal_status(ledger, attachment, origin)
    elif kind.startswith("plan_"):
        path = shapes.text_of(attachment.get("planFilePath"))
        text = shapes.text_of(attachment.get("planContent"))
        if text or (path and attachment.get("planExists") is True):
            tooling.plan(ledger, path, text, origin)


def _goal_status(ledger: Ledger, attachment: dict[str, Any], origin: Origin) -> None:
    condition = shapes.text_of(attachment.get("condition"))
    if condition:
        item = note(ledger, kinds.GOAL, condition, kinds.USER, origin, _GOAL_WEIGHT)
        item.status = kinds.DONE if attachment.get("met") is True else kinds.OPEN
