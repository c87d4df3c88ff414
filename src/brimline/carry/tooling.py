"""What tools did, taken into the ledger: tasks, plans, files, errors, answers, agents."""

from __future__ import annotations

from brimline.carry import closing, failures, said, values
from brimline.carry import items as kinds
from brimline.transcript.exchange import tagged, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from brimline.carry.items import Item, Ledger
    from brimline.carry.said import Origin
    from brimline.transcript.exchange import Call, Result

_MOST_WAITING = 64
_ARGUMENT_CHARACTERS = 500
_DESCRIPTION_CHARACTERS = 120
_KEPT_ARGUMENTS = (
    *("command", "file_path", "notebook_path", "subject", "description", "taskId", "status"),
    *("task_id", "plan", "subagent_type", "run_in_background", "shell_id"),
)
_DEEDS = {
    "Read": "read",
    "Edit": "edited",
    "MultiEdit": "edited",
    "NotebookEdit": "edited",
    "Write": "written",
}
_STATES = {
    "completed": kinds.DONE,
    "deleted": kinds.CANCELLED,
    "cancelled": kinds.CANCELLED,
    "pending": kinds.OPEN,
    "in_progress": kinds.OPEN,
}
_AGENT_TOOLS = ("Agent", "Task")
_ERROR_WEIGHT = {"Bash": 2.0}
_TRANSIENT = ("File has not been read yet", "File has been modified since read", "InputValidation")


def called(ledger: Ledger, call: Call, origin: Origin) -> None:
    """A tool is called: remember of it what its result will need; a list of todos counts at once."""
    arguments = {
        name: value[:_ARGUMENT_CHARACTERS] if isinstance(value, str) else value
        for name in _KEPT_ARGUMENTS
        if isinstance(value := call.arguments.get(name), str | bool)
    }
    if call.name == "TodoWrite":
        _todos(ledger, call.arguments.get("todos"), origin)
    early = ledger.state.get("early", {}).pop(call.id, None)
    if early:
        _take(ledger, call.name, arguments, _Early(early), origin)
        return
    waiting = ledger.state.setdefault("calls", {})
    waiting[call.id] = [call.name, arguments]
    while len(waiting) > _MOST_WAITING:
        del waiting[next(iter(waiting))]


def answered(ledger: Ledger, result: Result, origin: Origin) -> None:
    """A tool has answered."""
    known = ledger.state.get("calls", {}).pop(result.call_id, None)
    if known is None:
        _keep_early(ledger, result)
        return
    name, arguments = known
    _take(ledger, name, arguments, result, origin)


class _Early:
    """A result that stood before its call, as far as it was kept."""

    def __init__(self, kept: list[Any]) -> None:
        self.text, self.is_error, self.told = kept
        self.is_refused = False


def _keep_early(ledger: Ledger, result: Result) -> None:
    if not result.call_id or result.is_refused:
        return
    early = ledger.state.setdefault("early", {})
    told = {k: v for k, v in result.told.items() if k in ("task", "answers", "filePath", "status")}
    early[result.call_id] = [result.text[:2_000], result.is_error, told]
    while len(early) > _MOST_WAITING // 4:
        del early[next(iter(early))]


def _take(
    ledger: Ledger, name: str, arguments: dict[str, Any], result: Any, origin: Origin
) -> None:
    if result.is_refused:
        return
    command = text_of(arguments.get("command"))
    path = text_of(arguments.get("file_path")) or text_of(arguments.get("notebook_path"))
    words = failures.pattern(command) if command else [name, path]
    if result.is_error:
        _failed(ledger, name, command or path or name, words, result.text, origin)
        return
    _passed(ledger, words)
    if name == "Bash":
        _ran(ledger, arguments, words, result, origin)
    elif name in _DEEDS and path:
        _file(ledger, name, path, origin)
    elif name in _AGENT_TOOLS:
        _agent(ledger, arguments, result, origin)
    else:
        take = _OTHERS.get(name)
        if take:
            take(ledger, arguments, result, origin)


def _failed(
    ledger: Ledger, name: str, command: str, words: list[str], text: str, origin: Origin
) -> None:
    told = failures.telling(text)
    if not told or any(words in text for words in _TRANSIENT):
        return
    for item in ledger.of(kinds.ERROR, status=kinds.OPEN):
        if item.extra.get("words") == words:
            item.weight *= 0.7  # the same command failed otherwise since
    item = said.add(
        ledger, kinds.ERROR, told, kinds.TOOL, origin, _ERROR_WEIGHT.get(name, 1.0), words=words
    )
    item.extra["command"] = command


def _passed(ledger: Ledger, words: list[str]) -> None:
    for item in ledger.of(kinds.ERROR, status=kinds.OPEN):
        if failures.passes(item.extra.get("words") or [], words):
            item.status = kinds.DONE


def _ran(
    ledger: Ledger, arguments: dict[str, Any], words: list[str], result: Any, origin: Origin
) -> None:
    command = text_of(arguments.get("command"))
    task = text_of(result.told.get("backgroundTaskId"))
    if task:
        _background(ledger, task, f"{command} (task {task})", origin)
        return
    failed = failures.hidden(command, result.text)
    if failed:
        item = said.add(ledger, kinds.ERROR, failed, kinds.TOOL, origin, 1.5, words=words)
        item.extra["command"] = command


def _file(ledger: Ledger, name: str, path: str, origin: Origin) -> None:
    did = _DEEDS[name]
    item = said.add(ledger, kinds.FILE, path, kinds.TOOL, origin, id=path)
    times = item.extra.get("times") or {}
    item.extra["times"] = times | {did: times.get(did, 0) + 1}
    if did != "read" or item.extra.get("did") in (None, "read"):
        item.extra["did"] = did
    # What was touched last stands last.
    ledger.items[item.id] = ledger.items.pop(item.id)
    if did != "read" and "/plans/" in path and path.endswith(".md"):
        _plan(ledger, path, "", origin)


def _plan(ledger: Ledger, path: str, text: str, origin: Origin) -> None:
    heading = next((line.strip("# ") for line in text.splitlines() if line.strip("# ")), "")
    told = ": ".join(part for part in (path, heading) if part)
    known = next((i for i in ledger.of(kinds.PLAN) if i.extra.get("id") == (path or heading)), None)
    if not told or (known and not heading):
        return
    item = said.add(ledger, kinds.PLAN, told, kinds.TOOL, origin, id=path or heading)
    item.text = told


def _exit_plan(
    ledger: Ledger, arguments: dict[str, Any], result: Any, origin: Origin
) -> None:
    path = text_of(result.told.get("filePath"))
    if not path:
        path = result.text.partition("saved to: ")[2].split("\n")[0].strip()
    plan = text_of(result.told.get("plan")) or text_of(arguments.get("plan"))
    _plan(ledger, path, plan, origin)


def plan(ledger: Ledger, path: str, text: str, origin: Origin) -> None:
    """A plan that the client or the user handed over."""
    _plan(ledger, path, text, origin)


def _agent(ledger: Ledger, arguments: dict[str, Any], result: Any, origin: Origin) -> None:
    name = text_of(arguments.get("description")) or text_of(arguments.get("subagent_type"))
    if result.told.get("isAsync") or result.text.startswith("Async agent launched"):
        agent = text_of(result.told.get("agentId"))
        _background(ledger, agent or name, f"agent: {name}", origin)
        return
    report(ledger, name, result.text, origin)


def report(ledger: Ledger, name: str, text: str, origin: Origin) -> None:
    """A subagent's result; where it was swapped for a reference, its key is kept."""
    from brimline.store import stub

    extra = {}
    if "[brimline stored " in text or "[CCM_CACHED]" in text:
        found = stub.parse(text)
        extra = {"key": found.key} if found else {}
    said.by_subagent(ledger, name, text, origin, **extra)


def notified(ledger: Ledger, told: dict[str, str], origin: Origin) -> None:
    """A task in the background has ended."""
    for item in ledger.of(kinds.BACKGROUND, status=kinds.OPEN):
        if told["task-id"] and item.extra.get("id") == told["task-id"]:
            stopped = told["status"] in ("killed", "stopped", "failed")
            closing.end(item, kinds.CANCELLED if stopped else kinds.DONE, origin.at)
    if told["result"] and not told["result"].startswith("(Some tool calls"):
        name = told["summary"].partition('"')[2].rpartition('"')[0]
        report(ledger, name or told["summary"], told["result"], origin)
    elif told["status"] == "failed":
        said.add(ledger, kinds.ERROR, told["summary"], kinds.TOOL, origin, 1.5)


def _background(ledger: Ledger, task: str, text: str, origin: Origin) -> None:
    said.add(ledger, kinds.BACKGROUND, text, kinds.TOOL, origin, id=task)


def _stopped(ledger: Ledger, arguments: dict[str, Any], result: Any, origin: Origin) -> None:
    task = text_of(arguments.get("task_id")) or text_of(arguments.get("shell_id"))
    for item in ledger.of(kinds.BACKGROUND, status=kinds.OPEN):
        if item.extra.get("id") == task:
            closing.end(item, kinds.CANCELLED, origin.at)


def _task_output(ledger: Ledger, arguments: dict[str, Any], result: Any, origin: Origin) -> None:
    task = result.told.get("task")
    task = task if isinstance(task, dict) else {}
    if text_of(task.get("status")) != "completed":
        return
    told = {
        "task-id": text_of(task.get("task_id")),
        "status": "completed",
        "summary": f'"{text_of(task.get("description"))}"',
        "result": text_of(task.get("output")) if task.get("task_type") == "local_agent" else "",
    }
    notified(ledger, told, origin)


def _answers(ledger: Ledger, arguments: dict[str, Any], result: Any, origin: Origin) -> None:
    answers = result.told.get("answers")
    if not isinstance(answers, dict):
        said.add(ledger, kinds.ANSWER, result.text, kinds.USER, origin, 3.0)
        return
    for question, answer in answers.items():
        told = ", ".join(map(str, answer)) if isinstance(answer, list) else str(answer)
        text = f"{' '.join(str(question).split())} → {told}"
        said.add(ledger, kinds.ANSWER, text, kinds.USER, origin, 3.0)


def _created(ledger: Ledger, arguments: dict[str, Any], result: Any, origin: Origin) -> None:
    task = result.told.get("task")
    number = text_of(task.get("id")) if isinstance(task, dict) else ""
    number = number or result.text.partition("#")[2].split(" ")[0].strip(":")
    task_item(ledger, number, arguments, origin)


def _updated(ledger: Ledger, arguments: dict[str, Any], result: Any, origin: Origin) -> None:
    if result.told.get("success") is not False:
        task_item(ledger, text_of(arguments.get("taskId")), arguments, origin)


def _listed(ledger: Ledger, arguments: dict[str, Any], result: Any, origin: Origin) -> None:
    tasks(ledger, result.told.get("tasks"), origin)


def tasks(ledger: Ledger, listed: Any, origin: Origin) -> None:
    """The client's own list of tasks."""
    for task in listed if isinstance(listed, list) else []:
        if isinstance(task, dict) and text_of(task.get("id")):
            task_item(ledger, task["id"], task, origin)


def task_item(
    ledger: Ledger, number: str, told: dict[str, Any], origin: Origin
) -> Item | None:
    """One task of the client, by its number: what is told of it is taken over."""
    identity = f"task {number}"
    item = next((i for i in ledger.of(kinds.TASK) if i.extra.get("id") == identity), None)
    subject = text_of(told.get("subject"))
    if item is None:
        if not subject:
            return None
        text = _task_text(subject, text_of(told.get("description")))
        item = said.add(ledger, kinds.TASK, text, kinds.TOOL, origin, 2.0, id=identity)
    elif subject and subject not in item.text:
        item.text = subject
    _set_state(ledger, item, text_of(told.get("status")), origin)
    return item


def _set_state(ledger: Ledger, item: Item, state: str, origin: Origin) -> None:
    if state not in _STATES:
        return
    item.extra["state"] = state
    if item.status == _STATES[state]:
        return
    closing.end(item, _STATES[state], origin.at)
    if not item.is_open:
        closing.close_alike(ledger, item.text, item.status, origin.at)


def _task_text(subject: str, description: str) -> str:
    """The subject, and the beginning of a description that holds something exact."""
    head = " ".join(description.split())[:_DESCRIPTION_CHARACTERS]
    if head and head not in subject and values.specificity(head) >= 1:
        return f"{subject} ({head})"
    return subject


def _todos(ledger: Ledger, todos: Any, origin: Origin) -> None:
    listed = [todo for todo in todos if isinstance(todo, dict)] if isinstance(todos, list) else []
    named = set()
    for todo in listed:
        text = text_of(todo.get("content"))
        if text:
            identity = f"todo {text}"
            named.add(identity)
            item = said.add(ledger, kinds.TASK, text, kinds.TOOL, origin, 2.0, id=identity)
            item.status = kinds.OPEN if item.row == origin.row else item.status
            _set_state(ledger, item, text_of(todo.get("status")), origin)
    for item in ledger.of(kinds.TASK, status=kinds.OPEN):
        identity = str(item.extra.get("id", ""))
        if identity.startswith("todo ") and identity not in named and listed:
            closing.end(item, kinds.CANCELLED, origin.at)


_OTHERS = {
    "TaskCreate": _created,
    "TaskUpdate": _updated,
    "TaskList": _listed,
    "TaskStop": _stopped,
    "KillShell": _stopped,
    "TaskOutput": _task_output,
    "AskUserQuestion": _answers,
    "ExitPlanMode": _exit_plan,
}
_ = tagged
