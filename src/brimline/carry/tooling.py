"""What tools did, taken into the ledger: calls with results, files, plans, errors, answers."""

from __future__ import annotations

from brimline.carry import errands, failures, tasks
from brimline.carry import items as kinds
from brimline.carry.noting import note
from brimline.transcript.row import text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from brimline.carry.items import Ledger
    from brimline.carry.noting import Origin
    from brimline.transcript.row import Call, Result

_MOST_WAITING = 64
_MOST_EARLY = 16
_EARLY_CHARACTERS = 2_000
_EARLY_TOLD = ("task", "tasks", "answers", "filePath", "plan", "status", "success", "isAsync")
_ARGUMENT_CHARACTERS = 500
_KEPT_ARGUMENTS = (
    *("command", "file_path", "notebook_path", "subject", "description", "taskId", "status"),
    *("task_id", "plan", "subagent_type", "shell_id"),
)
_DEEDS = {
    "Read": "read",
    "Edit": "edited",
    "MultiEdit": "edited",
    "NotebookEdit": "edited",
    "Write": "written",
}
_AGENT_TOOLS = ("Agent", "Task")
# The model mends these by itself, at once.
_TRANSIENT = ("File has not been read yet", "File has been modified since read", "InputValidation")
_COMMAND_WEIGHT, _OTHER_WEIGHT, _HIDDEN_WEIGHT = 2.0, 1.0, 1.5
# What is left of an error's weight once the same command has failed otherwise.
_OLDER_ERROR = 0.7
_ANSWER_WEIGHT = 3.0


def called(ledger: Ledger, call: Call, origin: Origin) -> None:
    """A tool is called: what its result will need is kept; a list of todos counts at once."""
    if call.name == "TodoWrite":
        tasks.todos(ledger, call.arguments.get("todos"), origin)
    arguments = {
        name: value[:_ARGUMENT_CHARACTERS]
        for name in _KEPT_ARGUMENTS
        if isinstance(value := call.arguments.get(name), str)
    }
    early = ledger.state.get("early", {}).pop(call.id, None)
    if early:
        _take(ledger, call.name, arguments, _Early(*early), origin)
        return
    waiting = ledger.state.setdefault("calls", {})
    waiting[call.id] = [call.name, arguments]
    while len(waiting) > _MOST_WAITING:
        del waiting[next(iter(waiting))]


def answered(ledger: Ledger, result: Result, origin: Origin) -> None:
    """A tool has answered."""
    known = ledger.state.get("calls", {}).pop(result.call_id, None)
    if known is not None:
        _take(ledger, known[0], known[1], result, origin)
    elif result.call_id and not result.is_refused:
        _keep_early(ledger, result)


def plan(ledger: Ledger, path: str, text: str, origin: Origin) -> None:
    """A plan, by its file or, where it has none, by its first line."""
    heading = next((line.strip("# ") for line in text.splitlines() if line.strip("# ")), "")
    identity = path or heading
    known = next((i for i in ledger.of(kinds.PLAN) if i.extra.get("id") == identity), None)
    if not identity or (known is not None and not heading):
        return
    told = ": ".join(part for part in (path, heading) if part)
    note(ledger, kinds.PLAN, told, kinds.TOOL, origin, id=identity).text = told


class _Early:
    """A result that stood before its call, as far as it was kept."""

    is_refused = False

    def __init__(self, text: str, is_error: Any, told: dict[str, Any]) -> None:
        self.text = text
        self.is_error = is_error
        self.told = told


def _keep_early(ledger: Ledger, result: Result) -> None:
    early = ledger.state.setdefault("early", {})
    told = {name: result.told[name] for name in _EARLY_TOLD if name in result.told}
    early[result.call_id] = [result.text[:_EARLY_CHARACTERS], result.is_error, told]
    while len(early) > _MOST_EARLY:
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
        _failed(ledger, command or path or name, words, result.text, origin)
        return
    for item in ledger.of(kinds.ERROR, status=kinds.OPEN):
        if failures.passes(item.extra.get("words") or [], words):
            item.status = kinds.DONE
    if command:
        _ran(ledger, command, words, result, origin)
    elif name in _DEEDS and path:
        _file(ledger, _DEEDS[name], path, origin)
    elif name in _AGENT_TOOLS:
        errands.agent(ledger, arguments, result, origin)
    elif name in _OTHERS:
        _OTHERS[name](ledger, arguments, result, origin)


def _failed(ledger: Ledger, command: str, words: list[str], text: str, origin: Origin) -> None:
    told = failures.telling(text)
    if not told or any(passing in text for passing in _TRANSIENT):
        return
    for item in ledger.of(kinds.ERROR, status=kinds.OPEN):
        if item.extra.get("words") == words:
            item.weight *= _OLDER_ERROR
    weight = _COMMAND_WEIGHT if words[1:] != [command] else _OTHER_WEIGHT
    extra = {"words": words, "command": command}
    note(ledger, kinds.ERROR, told, kinds.TOOL, origin, weight, **extra)


def _ran(ledger: Ledger, command: str, words: list[str], result: Any, origin: Origin) -> None:
    task = text_of(result.told.get("backgroundTaskId"))
    if task:
        errands.started(ledger, task, f"{command} (task {task})", origin)
        return
    failed = failures.hidden(command, result.text)
    if failed:
        extra = {"words": words, "command": command}
        note(ledger, kinds.ERROR, failed, kinds.TOOL, origin, _HIDDEN_WEIGHT, **extra)


def _file(ledger: Ledger, did: str, path: str, origin: Origin) -> None:
    item = note(ledger, kinds.FILE, path, kinds.TOOL, origin, id=path)
    times = item.extra.get("times") or {}
    item.extra["times"] = times | {did: times.get(did, 0) + 1}
    if did != "read" or item.extra.get("did") in (None, "read"):
        item.extra["did"] = did
    # What was touched last stands last.
    ledger.items[item.id] = ledger.items.pop(item.id)
    if did != "read" and "/plans/" in path and path.endswith(".md"):
        plan(ledger, path, "", origin)


def _exit_plan(ledger: Ledger, arguments: dict[str, Any], result: Any, origin: Origin) -> None:
    path = text_of(result.told.get("filePath"))
    if not path:
        path = result.text.partition("saved to: ")[2].split("\n")[0].strip()
    text = text_of(result.told.get("plan")) or text_of(arguments.get("plan"))
    plan(ledger, path, text, origin)


def _answers(ledger: Ledger, _arguments: dict[str, Any], result: Any, origin: Origin) -> None:
    answers = result.told.get("answers")
    told = [result.text]
    if isinstance(answers, dict):
        told = [f"{' '.join(str(asked).split())} → {_answer(a)}" for asked, a in answers.items()]
    for text in told:
        note(ledger, kinds.ANSWER, text, kinds.USER, origin, _ANSWER_WEIGHT)


def _answer(answer: Any) -> str:
    return ", ".join(map(str, answer)) if isinstance(answer, list) else str(answer)


def _created(ledger: Ledger, arguments: dict[str, Any], result: Any, origin: Origin) -> None:
    told = result.told.get("task")
    number = text_of(told.get("id")) if isinstance(told, dict) else ""
    number = number or result.text.partition("#")[2].split(" ")[0].strip(":")
    tasks.task(ledger, number, arguments, origin)


def _updated(ledger: Ledger, arguments: dict[str, Any], result: Any, origin: Origin) -> None:
    if result.told.get("success") is not False:
        tasks.task(ledger, text_of(arguments.get("taskId")), arguments, origin)


def _listed(ledger: Ledger, _arguments: dict[str, Any], result: Any, origin: Origin) -> None:
    tasks.task_list(ledger, result.told.get("tasks"), origin)


_OTHERS = {
    "TaskCreate": _created,
    "TaskUpdate": _updated,
    "TaskList": _listed,
    "TaskStop": errands.stopped,
    "KillShell": errands.stopped,
    "TaskOutput": errands.output,
    "AskUserQuestion": _answers,
    "ExitPlanMode": _exit_plan,
}
