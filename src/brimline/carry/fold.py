"""Takes transcript rows into the ledger: only rows whose type says what they are count.

Taken are the user's messages (typed, queued, answers, refusals with words), the client's tasks and
plan, files, commands and their exit, and notes that are marked as such. No prose of the assistant
or of subagents is read, and no tool output can speak as the user.
"""

from __future__ import annotations

import re
import time
from _blake2 import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

from brimline.carry import commands
from brimline.carry.ledger import (
    DECIDE,
    KEEP,
    Ledger,
    add_message,
    add_or_renew_note,
    is_paste,
    put_last_and_drop_oldest,
)
from brimline.fast import owntools, paths
from brimline.foreign import flatten
from brimline.masking import mask
from brimline.transcript import clienttools, read, row, words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import BinaryIO


class _Answer(NamedTuple):
    """A call that a tool has answered."""

    tool: str
    arguments: dict[str, Any]
    result: row.Result
    at: str | None


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

# Of a call that waits for its answer only what is needed then.
_CALL_FIELDS = (
    *("command", "file_path", "notebook_path", "run_in_background", "subject", "taskId", "status"),
    *("todos", "plan", "text", "reason"),
)
_CALL_CHARACTERS = 2_000
_OUTPUT_CHARACTERS = 4_000
_REFUSED_CHARACTERS = 60
_PRINT_BYTES = 256
_LINES_BETWEEN_LOOKS = 100
_MOST_INSTRUCTIONS = 60


def fold_new_rows(
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
        file = read.open_transcript_file(transcript or "")
    except (OSError, ValueError):
        return False
    with file:
        size = file.seek(0, 2)
        start = _offset_folded_up_to(file, ledger, size)
        if start >= size:
            return False
        if most_bytes is not None and size - start > most_bytes:
            start = _skip_noting_unread_bytes(file, ledger, start, size - most_bytes)
        file.seek(start)
        end = _fold_and_return_offset(
            ledger, read.lines_of_stream(file, size - start), start, until
        )
        ledger.cursor = {"offset": end, "print": _hash_of_bytes_before(file, end)}
    return True


def _fold_and_return_offset(
    ledger: Ledger, lines: Iterable[read.Line], start: int, until: float
) -> int:
    """Take in line after line; returns where the last of them ends."""
    end = start
    for line in lines:
        rows = _rows_of_line_worth_folding(line)
        if not line.is_ended and line.part is None and not rows:
            break  # still being written
        for fields in rows:
            fold_row(ledger, fields)
        end = line.offset + len(line.raw)
        if not line.number % _LINES_BETWEEN_LOOKS and time.monotonic() > until:
            break
    return end


def cursor_at_end_of_transcript(transcript: str | None) -> dict[str, Any]:
    """A cursor at the transcript's present end."""
    try:
        file = read.open_transcript_file(transcript or "")
    except (OSError, ValueError):
        return {}
    with file:
        end = file.seek(0, 2)
        return {"offset": end, "print": _hash_of_bytes_before(file, end)}


def _rows_of_line_worth_folding(line: read.Line) -> list[dict[str, Any]]:
    """The rows on a line that may tell something; most lines are not even parsed."""
    raw = line.raw
    is_other = raw.startswith(_REQUEST_COPIES) or row.SIDECHAIN_MARK in raw
    if is_other or not any(mark in raw for mark in _WANTED):
        return []
    return [record.value for record in line.records]


def fold_row(ledger: Ledger, fields: Any) -> None:
    """Take one row in; any JSON value is fine."""
    if not isinstance(fields, dict) or row.is_sidechain(fields):
        return
    copies = read.Copies(ledger.boundary_at, has_past=bool(ledger.folder))
    is_copy, ledger.boundary_at = copies.is_copy(fields), copies.boundary_at
    if is_copy:
        return
    take = _BY_KIND.get(row.type_of(fields))
    if row.is_compaction_row(fields):
        # A boundary and its summary are one; old sessions have the summary only.
        ledger.compactions += not (row.is_summary(fields) and ledger.summary_expected)
        ledger.summary_expected = not row.is_summary(fields)
    elif take is not None:
        take(ledger, fields, row.timestamp_text_of(fields))
    _note_folder_branch_and_origin(ledger, fields)


def _note_folder_branch_and_origin(ledger: Ledger, fields: dict[str, Any]) -> None:
    """Keep the first folder and the last branch, and which session the rows were copied from."""
    ledger.folder = ledger.folder or row.cwd_of(fields) or ""
    origin = "" if ledger.forked_from else row.forked_from_session(fields)
    if origin:
        ledger.forked_from = paths.safe_session_id(origin)
    branch = row.branch_of(fields)
    if branch and branch != ledger.branch:
        ledger.branch = mask(branch)


def _keep_calls_until_answered(ledger: Ledger, fields: dict[str, Any], _at: str | None) -> None:
    for call in row.main_thread_calls(fields):
        arguments = {
            name: value[:_CALL_CHARACTERS] if isinstance(value, str) else value
            for name, value in call.arguments.items()
            if name in _CALL_FIELDS
        }
        put_last_and_drop_oldest(ledger.calls, call.id, [call.name, arguments], _MOST_CALLS)


def _fold_user_row(ledger: Ledger, fields: dict[str, Any], at: str | None) -> None:
    _keep_message_and_notes(ledger, words.users_own_message(fields), at)
    for result in row.main_thread_results(fields):
        call = ledger.calls.pop(result.call_id, None)
        if call is not None:
            ledger.results += 1
            _fold_tool_answer(ledger, _Answer(call[0], call[1], result, at))


def _fold_attachment(ledger: Ledger, fields: dict[str, Any], at: str | None) -> None:
    _keep_message_and_notes(ledger, words.users_own_message(fields), at)
    _update_tasks(ledger, row.reminded_tasks(fields))
    ledger.plan = mask(row.plan_file_of(fields)) or ledger.plan
    loaded = row.nested_instruction_file(row.attachment_of(fields))
    if loaded:
        put_last_and_drop_oldest(ledger.instructions, loaded, 1, _MOST_INSTRUCTIONS)


def _fold_queue_row(ledger: Ledger, fields: dict[str, Any], at: str | None) -> None:
    """Keep what the user typed while the assistant worked; what was taken back was not said."""
    operation, text = row.queue_operation_and_text(fields)
    said = words.users_part_of_prompt(text)
    if operation == "enqueue" and not said.startswith("/"):
        kept = _keep_message_and_notes(ledger, said, at, "queued")
        ledger.queued = [*ledger.queued, kept][-_MOST_QUEUED:]
    elif operation == "popAll" and ledger.messages:
        last = ledger.messages[-1]
        if last["kind"] == "queued" and last["text"] == mask(said):
            ledger.messages.pop()
            ledger.queued = [waiting for waiting in ledger.queued if waiting != last["text"]]


_BY_KIND = {
    "assistant": _keep_calls_until_answered,
    "user": _fold_user_row,
    "attachment": _fold_attachment,
    "queue-operation": _fold_queue_row,
}


def _keep_message_and_notes(ledger: Ledger, text: str, at: str | None, kind: str = "prompt") -> str:
    """Keep a message of the user, and the notes marked in it; returns what was kept."""
    text = mask(_text_after_keeping_marked_notes(ledger, text, at))
    # The client sends what waited in its queue as prompts, several as one.
    is_repeated = kind != "queued" and (
        text in ledger.queued or all(part in ledger.queued for part in text.split("\n"))
    )
    if text.strip() and not is_repeated:
        add_message(ledger, text, at, kind)
    return text


def _text_after_keeping_marked_notes(ledger: Ledger, text: str, at: str | None) -> str:
    """Keep the notes that are marked in a message; returns what is left of it."""
    if "brim:" not in text.lower() or is_paste(text):
        return text
    for word, note in _BRIM_LINE.findall(text):
        if word.lower() in _NOTE_WORDS:
            add_or_renew_note(ledger, _NOTE_WORDS[word.lower()], note, at)
    return _BRIM_LINE.sub("", text).strip()


def _fold_tool_answer(ledger: Ledger, answer: _Answer) -> None:
    """A tool has answered: what that tells depends on the tool."""
    refusal = words.refusal_words(answer.tool, answer.result)
    reply = words.answer_words(answer.tool, answer.result)
    if refusal or reply:
        kind = _label_of_refused_call(answer) if refusal else "answer"
        add_message(ledger, refusal or reply, answer.at, kind)
        return
    take = _BY_TOOL.get(answer.tool)
    # How a command failed tells something; a call of another tool that failed did nothing.
    if take and refusal is None and (take is _fold_bash_answer or not answer.result.is_error):
        take(ledger, answer)


def _label_of_refused_call(answer: _Answer) -> str:
    command = flatten(mask(row.as_text(answer.arguments.get("command"))), _REFUSED_CHARACTERS)
    return f"refusing {answer.tool} `{command}`" if command else f"refusing {answer.tool}"


def _fold_bash_answer(ledger: Ledger, answer: _Answer) -> None:
    command, result = mask(row.as_text(answer.arguments.get("command"))), answer.result
    if answer.arguments.get("run_in_background") and not result.is_error:
        commands.note_background_run(ledger, command, answer.at)
    elif result.record.get("interrupted") or result.record.get("backgroundTaskId"):
        commands.mark_checks_in_command_unknown(ledger, command)
    elif command:
        output = result.text[-_OUTPUT_CHARACTERS:]
        commands.note_run(ledger, command, output, answer.at, failed=result.is_error)


def _note_read_file(ledger: Ledger, answer: _Answer) -> None:
    path = mask(clienttools.file_of_call(answer.arguments))
    if path and path not in ledger.changed:
        put_last_and_drop_oldest(ledger.read, path, ledger.read.get(path, 0) + 1, _MOST_PATHS)


def _note_changed_file(ledger: Ledger, answer: _Answer) -> None:
    path = mask(clienttools.file_of_call(answer.arguments))
    if not path:
        return
    put_last_and_drop_oldest(ledger.changed, path, ledger.changed.get(path, 0) + 1, _MOST_PATHS)
    ledger.read.pop(path, None)
    if "/plans/" in path and path.endswith(".md"):
        ledger.plan = path
        return
    for check in ledger.checks.values():
        check["edited"] = True


def _count_subagent(ledger: Ledger, _: _Answer) -> None:
    ledger.subagents += 1


def _note_plan_file(ledger: Ledger, answer: _Answer) -> None:
    ledger.plan = mask(row.as_text(answer.result.record.get("filePath"))) or ledger.plan


def _note_decision_from_note_tool(ledger: Ledger, answer: _Answer) -> None:
    text, reason = (row.as_text(answer.arguments.get(name)).strip() for name in ("text", "reason"))
    text = f"{text} (because {reason})" if reason else text
    add_or_renew_note(ledger, DECIDE, text, answer.at, "model")


def _note_created_task(ledger: Ledger, answer: _Answer) -> None:
    task = answer.result.record.get("task")
    number = row.as_text(task.get("id")) if isinstance(task, dict) else ""
    named = re.search(r"#(\d+)", answer.result.text)
    _update_task(ledger, number or (named.group(1) if named else ""), answer.arguments)


def _note_updated_task(ledger: Ledger, answer: _Answer) -> None:
    if answer.result.record.get("success") is not False:
        _update_task(ledger, row.as_text(answer.arguments.get("taskId")), answer.arguments)


def _note_listed_tasks(ledger: Ledger, answer: _Answer) -> None:
    _update_tasks(ledger, answer.result.record.get("tasks"))


def _replace_tasks_by_todos(ledger: Ledger, answer: _Answer) -> None:
    todos = [todo for todo in answer.arguments.get("todos") or [] if isinstance(todo, dict)]
    ledger.tasks.clear()
    _update_tasks(ledger, [{**todo, "id": str(number)} for number, todo in enumerate(todos)])


_BY_TOOL: dict[str, Callable[[Ledger, _Answer], None]] = {
    "Bash": _fold_bash_answer,
    "Read": _note_read_file,
    **dict.fromkeys(clienttools.EDITING, _note_changed_file),
    **dict.fromkeys(clienttools.DELEGATING, _count_subagent),
    "ExitPlanMode": _note_plan_file,
    **dict.fromkeys(owntools.names("note"), _note_decision_from_note_tool),
    "TaskCreate": _note_created_task,
    "TaskUpdate": _note_updated_task,
    "TaskList": _note_listed_tasks,
    "TodoWrite": _replace_tasks_by_todos,
}


def _update_tasks(ledger: Ledger, tasks: Any) -> None:
    for task in tasks if isinstance(tasks, list) else ():
        if isinstance(task, dict):
            _update_task(ledger, str(task.get("id") or ""), task)


def _update_task(ledger: Ledger, number: str, fields: dict[str, Any]) -> None:
    """A task as the client tells it; fields that are not told stay."""
    if not number:
        return
    state, subject = ledger.tasks.get(number, ["pending", ""])
    state = row.as_text(fields.get("status")) or state
    subject = mask(
        row.as_text(fields.get("subject")) or row.as_text(fields.get("content")) or subject
    )
    if state == "deleted" or not subject:
        ledger.tasks.pop(number, None)
    else:
        ledger.tasks[number] = [state, subject]
        while len(ledger.tasks) > _MOST_TASKS:
            del ledger.tasks[next(iter(ledger.tasks))]


def _offset_folded_up_to(file: BinaryIO, ledger: Ledger, size: int) -> int:
    """Return where the ledger left off; the beginning where the file is not the one that it was."""
    offset = ledger.cursor.get("offset")
    if not isinstance(offset, int) or not 0 <= offset <= size:
        return 0
    return offset if _hash_of_bytes_before(file, offset) == ledger.cursor.get("print") else 0


def _skip_noting_unread_bytes(file: BinaryIO, ledger: Ledger, start: int, target: int) -> int:
    """Go to the first line after a target, noting how much is passed over."""
    file.seek(target)
    reached = target + len(file.readline(read.LONGEST_PARSED_BYTES))
    ledger.unread_bytes += reached - start
    return reached


def _hash_of_bytes_before(file: BinaryIO, end: int) -> str:
    """The bytes just before a place, by their hash: a file that was rewritten has others there."""
    file.seek(max(0, end - _PRINT_BYTES))
    return blake2b(file.read(min(end, _PRINT_BYTES)), digest_size=8).hexdigest()
