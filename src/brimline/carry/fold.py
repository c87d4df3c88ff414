"""One transcript row taken into the ledger: nothing is classified that does not say what it is.

Taken are the user's messages (typed, queued, answers, refusals with words), the client's tasks and
plan, files, commands and their exit, and notes that are marked as such. No prose of the assistant
or of subagents is read, and no tool output can speak as the user.
"""

from __future__ import annotations

import re
import time
from _blake2 import blake2b

from brimline import clienttools
from brimline.carry import commands
from brimline.carry.ledger import DECIDE, KEEP, Ledger, add_message, add_note, is_paste
from brimline.fast import paths
from brimline.masking import clean
from brimline.transcript import read, row, words
from brimline.transcript.row import text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, BinaryIO


# How a line of the user's message becomes a note; other words after `brim:` are directives.
_NOTE_WORDS = {"brim:keep": KEEP, "brim:note": KEEP, "brim:decide": DECIDE}
_BRIM_LINE = re.compile(
    r"^[ \t]*(brim:(?:keep|note|decide|pin|unpin|done))\b:?(?![\w-])[ \t]*(.*)$",
    re.MULTILINE | re.IGNORECASE,
)
_MOST_QUEUED = 60
_MOST_CALLS, _MOST_TASKS, _MOST_PATHS = 200, 200, 120
# A line without any of these holds nothing of what is taken here, and is not even parsed.
_WANTED = (b'"user"', b'"assistant"', b'"attachment"', b'"queue-operation"', b'"compact_boundary"')
# The client also keeps the requests themselves.
_REQUEST_COPIES = b'{"type":"api-request'
_SIDECHAIN = b'"isSidechain":true'

# Of a call that waits for its answer only what is needed then.
_CALL_FIELDS = (
    *("command", "file_path", "notebook_path", "run_in_background", "subject", "taskId", "status"),
    *("todos", "plan", "text", "reason"),
)
_CALL_CHARACTERS = 2_000
_OUTPUT_CHARACTERS = 4_000
_PRINT_BYTES = 256
_LINES_BETWEEN_LOOKS = 100


def bring_up_to_date(
    ledger: Ledger,
    transcript: str | None,
    *,
    most_bytes: int | None = None,
    until: float = float("inf"),
) -> bool:
    """Read what a transcript has gained since last time; False where that is nothing.

    Args:
        ledger: what is known so far; it is changed in place.
        transcript: the session's file; one that is not there changes nothing.
        most_bytes: at most so much of the end is read; None for all of it.
        until: the moment (of `time.monotonic`) at which to stop, wherever that is.
    """
    try:
        file = read.open_regular(transcript or "")
    except (OSError, ValueError):
        return False
    with file:
        size = file.seek(0, 2)
        start = _known_until(file, ledger, size)
        if start >= size:
            return False
        if most_bytes is not None and size - start > most_bytes:
            start = _skip(file, ledger, start, size - most_bytes)
        file.seek(start)
        end = start
        for line in read.lines(file, size - start, offset=start):
            found = _rows_on(line)
            if not line.is_ended and line.part is None and not found:
                break  # still being written
            for one in found:
                fold(ledger, one)
            end = line.offset + len(line.raw)
            if not line.number % _LINES_BETWEEN_LOOKS and time.monotonic() > until:
                break
        ledger.cursor = {"offset": end, "print": _fingerprint(file, end)}
    return True


def end_of(transcript: str | None) -> dict[str, Any]:
    """The cursor of a ledger that takes nothing from a transcript that stands in it now."""
    try:
        file = read.open_regular(transcript or "")
    except (OSError, ValueError):
        return {}
    with file:
        end = file.seek(0, 2)
        return {"offset": end, "print": _fingerprint(file, end)}


def _rows_on(line: read.Line) -> list[dict[str, Any]]:
    """The rows on a line that may tell something; most lines are not even parsed."""
    raw = line.raw
    if raw.startswith(_REQUEST_COPIES) or _SIDECHAIN in raw:
        return []
    if not any(mark in raw for mark in _WANTED):
        return []
    return [record.value for record in line.records]


def fold(ledger: Ledger, one: Any) -> None:
    """Take one row in; any JSON value is fine."""
    if not isinstance(one, dict) or row.is_sidechain(one):
        return
    if row.is_boundary(one):
        # A boundary and its summary are one; old sessions have the summary only.
        ledger.compactions += not (row.is_summary(one) and ledger.summary_expected)
        ledger.summary_expected = not row.is_summary(one)
    else:
        taking = _TAKING.get(row.kind_of(one))
        if taking is not None:
            taking(ledger, one, row.timestamp_of(one))
    ledger.folder = ledger.folder or row.cwd_of(one) or ""
    origin = "" if ledger.forked_from else row.forked_from(one)
    if origin:
        ledger.forked_from = paths.safe_session_id(origin)
    branch = row.branch_of(one)
    if branch and branch != ledger.branch:
        ledger.branch = clean(branch)


def _assistant(ledger: Ledger, one: dict[str, Any], _at: str | None) -> None:
    for call in row.calls(one):
        _called(ledger, call)


def _user(ledger: Ledger, one: dict[str, Any], at: str | None) -> None:
    _said(ledger, words.message(one), at)
    for result in row.results(one):
        asked = ledger.calls.pop(result.call_id, None)
        if asked is not None:
            _answered(ledger, asked[0], asked[1], result, at)


def _attachment(ledger: Ledger, one: dict[str, Any], at: str | None) -> None:
    _said(ledger, words.message(one), at)
    attachment = row.attachment_of(one)
    kind = text_of(attachment.get("type"))
    if kind == "task_reminder":
        _task_list(ledger, attachment.get("content"))
    elif kind.startswith("plan_") and attachment.get("planExists", True):
        ledger.plan = clean(text_of(attachment.get("planFilePath"))) or ledger.plan


def _queue(ledger: Ledger, one: dict[str, Any], at: str | None) -> None:
    """What the user typed while the assistant worked; what was taken back was not said."""
    operation, text = row.queue_operation(one)
    said = words.own_words(text)
    if operation == "enqueue" and not said.startswith("/"):
        kept = _said(ledger, said, at, "queued")
        ledger.queued = [*ledger.queued, kept][-_MOST_QUEUED:]
    elif operation == "popAll" and ledger.messages:
        last = ledger.messages[-1]
        if last["kind"] == "queued" and last["text"] == clean(said):
            ledger.messages.pop()
            ledger.queued = [known for known in ledger.queued if known != last["text"]]


_TAKING = {
    "assistant": _assistant,
    "user": _user,
    "attachment": _attachment,
    "queue-operation": _queue,
}


def _said(ledger: Ledger, text: str, at: str | None, kind: str = "prompt") -> str:
    """Keep a message of the user, and the notes marked in it; returns what was kept."""
    if not text:
        return ""
    if "brim:" in text.lower() and not is_paste(text):
        for word, told in _BRIM_LINE.findall(text):
            if word.lower() in _NOTE_WORDS:
                add_note(ledger, _NOTE_WORDS[word.lower()], told, at)
        text = _BRIM_LINE.sub("", text).strip()
    text = clean(text)
    # The client sends what waited in its queue as prompts, several as one.
    is_known = kind != "queued" and all(part in ledger.queued for part in text.split("\n"))
    if text.strip() and not is_known and (kind == "queued" or text not in ledger.queued):
        add_message(ledger, text, at, kind)
    return text


def has_marks(text: str) -> bool:
    """Whether a text has lines that would be notes."""
    return any(word.lower() in _NOTE_WORDS for word, _ in _BRIM_LINE.findall(text))


def _called(ledger: Ledger, call: row.Call) -> None:
    given = {
        name: value[:_CALL_CHARACTERS] if isinstance(value, str) else value
        for name, value in call.arguments.items()
        if name in _CALL_FIELDS
    }
    ledger.calls[call.id] = [call.name, given]
    _trim(ledger.calls, _MOST_CALLS)


def _answered(
    ledger: Ledger, name: str, given: dict[str, Any], result: row.Result, at: str | None
) -> None:
    """A tool has answered: what that tells depends on the tool."""
    refusal = words.refusal(name, result)
    answer = words.answer(name, result)
    if refusal or answer:
        kind = _refused(name, given) if refusal else "answer"
        add_message(ledger, refusal or answer, at, kind)
    elif name == "Bash" and refusal is None:
        _ran(ledger, given, result)
    elif result.is_error:
        return
    elif name in clienttools.FILE_TOOLS:
        _used_file(ledger, name, given)
    elif name in clienttools.DELEGATING:
        ledger.subagents += 1
    elif name == "ExitPlanMode":
        ledger.plan = clean(text_of(result.told.get("filePath"))) or ledger.plan
    elif _is_note(name):
        reason = text_of(given.get("reason")).strip()
        text = text_of(given.get("text")).strip()
        add_note(ledger, DECIDE, f"{text} (because {reason})" if reason else text, at, "model")
    else:
        _task_answered(ledger, name, given, result)


def _refused(name: str, given: dict[str, Any]) -> str:
    command = " ".join(clean(text_of(given.get("command"))).split())
    return f"refusing {name} `{command[:60]}`" if command else f"refusing {name}"


def _used_file(ledger: Ledger, name: str, given: dict[str, Any]) -> None:
    path = clean(clienttools.file_of(given))
    if path and name in clienttools.EDITING:
        _touch(ledger.changed, path)
        ledger.read.pop(path, None)
        if "/plans/" in path and path.endswith(".md"):
            ledger.plan = path
            return
        for told in ledger.checks.values():
            told["edited"] = True
    elif path and path not in ledger.changed:
        _touch(ledger.read, path)


def _is_note(name: str) -> bool:
    """Whether a tool is the one by which the model writes something down, however it is wired."""
    return name == "mcp__brimline__note"


def _task_answered(ledger: Ledger, name: str, given: dict[str, Any], result: row.Result) -> None:
    if name == "TaskCreate":
        told = result.told.get("task")
        number = text_of(told.get("id")) if isinstance(told, dict) else ""
        found = re.search(r"#(\d+)", result.text)
        _task(ledger, number or (found.group(1) if found else ""), given)
    elif name == "TaskUpdate" and result.told.get("success") is not False:
        _task(ledger, text_of(given.get("taskId")), given)
    elif name == "TaskList":
        _task_list(ledger, result.told.get("tasks"))
    elif name == "TodoWrite":
        todos = [todo for todo in given.get("todos") or [] if isinstance(todo, dict)]
        entries = [{**todo, "id": str(number)} for number, todo in enumerate(todos)]
        ledger.tasks.clear()
        _task_list(ledger, entries)


def _task_list(ledger: Ledger, tasks: Any) -> None:
    for task in tasks if isinstance(tasks, list) else ():
        if isinstance(task, dict):
            _task(ledger, str(task.get("id") or ""), task)


def _task(ledger: Ledger, number: str, fields: dict[str, Any]) -> None:
    """A task as the client tells it; fields that are not told stay."""
    if not number:
        return
    state, subject = ledger.tasks.get(number, ["pending", ""])
    state = text_of(fields.get("status")) or state
    subject = clean(text_of(fields.get("subject")) or text_of(fields.get("content")) or subject)
    if state == "deleted" or not subject:
        ledger.tasks.pop(number, None)
    else:
        ledger.tasks[number] = [state, subject]
        _trim(ledger.tasks, _MOST_TASKS)


def _ran(ledger: Ledger, given: dict[str, Any], result: row.Result) -> None:
    command = clean(text_of(given.get("command")))
    unknown = result.told.get("interrupted") or result.told.get("backgroundTaskId")
    if unknown or given.get("run_in_background"):
        commands.ran_unseen(ledger, command)
    elif command:
        commands.ran(ledger, command, result.text[-_OUTPUT_CHARACTERS:], failed=result.is_error)


def _touch(paths: dict[str, int], path: str) -> None:
    """What was touched last stands last."""
    paths[path] = paths.pop(path, 0) + 1
    _trim(paths, _MOST_PATHS)


def _trim(known: dict[str, Any], most: int) -> None:
    while len(known) > most:
        del known[next(iter(known))]


def _known_until(file: BinaryIO, ledger: Ledger, size: int) -> int:
    """Where the ledger left off; the beginning where the file is not the one that it was."""
    offset = ledger.cursor.get("offset")
    if not isinstance(offset, int) or not 0 <= offset <= size:
        return 0
    return offset if _fingerprint(file, offset) == ledger.cursor.get("print") else 0


def _skip(file: BinaryIO, ledger: Ledger, start: int, target: int) -> int:
    """Go to the first line after a target, noting how much is passed over."""
    file.seek(target)
    reached = target + len(file.readline(read.LONGEST_PARSED_BYTES))
    ledger.unread_bytes += reached - start
    return reached


def _fingerprint(file: BinaryIO, end: int) -> str:
    """The bytes just before a place, by their hash: a file that was rewritten has others there."""
    file.seek(max(0, end - _PRINT_BYTES))
    return blake2b(file.read(min(end, _PRINT_BYTES)), digest_size=8).hexdigest()
