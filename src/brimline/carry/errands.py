"""Subagents and what runs in the background: started, ended, and what was reported. Pure."""

from __future__ import annotations

from brimline.carry import closing, said
from brimline.carry import items as kinds
from brimline.carry.noting import note
from brimline.transcript.row import text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from brimline.carry.items import Ledger
    from brimline.carry.noting import Origin

_NO_RESULT = "(Some tool calls"
_STOPPED = ("killed", "stopped", "failed")
_FAILED_WEIGHT = 1.5


def agent(ledger: Ledger, arguments: dict[str, Any], result: Any, origin: Origin) -> None:
    """A subagent has answered, or was sent off into the background."""
    name = text_of(arguments.get("description")) or text_of(arguments.get("subagent_type"))
    if result.told.get("isAsync") or result.text.startswith("Async agent launched"):
        task = text_of(result.told.get("agentId")) or name
        started(ledger, task, f"agent: {name}", origin)
        return
    report(ledger, name, result.text, origin)


def report(ledger: Ledger, name: str, text: str, origin: Origin) -> None:
    """A subagent's result; where it was swapped for a reference, its key is kept."""
    extra = {}
    if "[brimline stored " in text or "[CCM_CACHED]" in text:
        from brimline.store import stub

        found = stub.parse(text)
        extra = {"key": found.key} if found else {}
    said.by_subagent(ledger, name, text, origin, **extra)


def started(ledger: Ledger, task: str, text: str, origin: Origin) -> None:
    """Something runs in the background."""
    note(ledger, kinds.BACKGROUND, text, kinds.TOOL, origin, id=task)


def stopped(ledger: Ledger, arguments: dict[str, Any], _result: Any, origin: Origin) -> None:
    """A task in the background was stopped."""
    task = text_of(arguments.get("task_id")) or text_of(arguments.get("shell_id"))
    _end(ledger, task, kinds.CANCELLED, origin)


def notified(ledger: Ledger, told: dict[str, str], origin: Origin) -> None:
    """A task in the background has ended: `task-id`, `status`, `summary` and `result` of it."""
    is_stopped = told["status"] in _STOPPED
    _end(ledger, told["task-id"], kinds.CANCELLED if is_stopped else kinds.DONE, origin)
    if told["result"] and not told["result"].startswith(_NO_RESULT):
        name = told["summary"].partition('"')[2].rpartition('"')[0]
        report(ledger, name or told["summary"], told["result"], origin)
    elif told["status"] == "failed" and told["summary"]:
        note(ledger, kinds.ERROR, told["summary"], kinds.TOOL, origin, _FAILED_WEIGHT)


def output(ledger: Ledger, _arguments: dict[str, Any], result: Any, origin: Origin) -> None:
    """The output of a task in the background was asked for."""
    task = result.told.get("task")
    if not isinstance(task, dict) or task.get("status") != "completed":
        return
    is_agent = task.get("task_type") == "local_agent"
    told = {
        "task-id": text_of(task.get("task_id")),
        "status": "completed",
        "summary": f'"{text_of(task.get("description"))}"',
        "result": text_of(task.get("output")) if is_agent else "",
    }
    notified(ledger, told, origin)


def _end(ledger: Ledger, task: str, status: str, origin: Origin) -> None:
    for item in ledger.of(kinds.BACKGROUND, status=kinds.OPEN):
        if task and item.extra.get("id") == task:
            closing.end(item, status, origin.at)
