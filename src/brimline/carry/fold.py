"""One transcript row taken into the ledger: nothing is classified that does not say what it is.

Taken are the user's messages (typed, queued, answers, refusals with words), the client's tasks and
plan, files, commands and their exit, and notes that are marked as such. No prose of the assistant
or of subagents is read, and no tool output can speak as the user.
"""

from __future__ import annotations

import re
import time
from _blake2 import blake2b

from brimline import fastio, fastjson
from brimline.carry import commands
from brimline.carry.clean import clean
from brimline.carry.commands import words_of
from brimline.carry.ledger import DECIDE, KEEP, add_message, add_note, is_paste
from brimline.transcript import exchange, rows
from brimline.transcript.exchange import tagged, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, BinaryIO

    from brimline.carry.ledger import Ledger

# How a line of the user's message becomes a note; other words after `brim:` are directives.
_NOTE_WORDS = {"brim:keep": KEEP, "brim:note": KEEP, "brim:decide": DECIDE}
_BRIM_LINE = re.compile(r"^[ \t]*(brim:\w+)[ \t]*(.*)$", re.MULTILINE | re.IGNORECASE)
_MOST_QUEUED = 60
_MOST_CALLS, _MOST_TASKS, _MOST_PATHS = 200, 200, 120
_LONGEST_TEXT = 200_000
# A line without any of these holds nothing of what is taken here, and is not even parsed.
_WANTED = (b'"user"', b'"assistant"', b'"attachment"', b'"queue-operation"', b'"compact_boundary"')
# The client also keeps the requests themselves.
_REQUEST_COPIES = b'{"type":"api-request'
_SIDECHAIN = b'"isSidechain":true'

# What the client, a hook or brimline itself writes where the user's words stand.
_NOT_THE_USERS = (
    *("<local-command", "<bash-", "<task-notification", "<teammate-message", "<user-prompt-submit"),
    *("<session-start-hook", "<background-task", "[Request interrupted", "Stop hook feedback"),
    *("Caveat: The messages below", "This session is being continued", "Operation stopped by hook"),
    *("Base directory for this skill", "[brimline", "brimline:"),
)
# What is put around or before the user's words, and goes.
_AROUND = re.compile(r"<(system-reminder|ide_\w+)>.*?(?:</\1>|\Z)|<!--\s*brimline.*?-->", re.DOTALL)
# The client's own commands: what they are given says nothing about the work.
_CLIENT_COMMANDS = words_of("""
    add-dir agents bug clear color compact config context copy cost doctor effort exit export fast
    help hooks ide init keybindings login logout mcp memory model output-style permissions plugin
    quit release-notes rename resume rewind status statusline tasks terminal-setup theme todos
    upgrade usage vim
""")
_OURS = re.compile(r"/(?:[\w-]+:)?brim:")
# The client's own two shapes of a refusal; any program can print the words.
_REFUSED = "The user doesn't want to proceed with this tool use."
_REFUSED_COPIES = ("Error: " + _REFUSED, "User rejected tool use")
_REFUSED_BECAUSE = "the user said:\n"
_CLARIFIES = "The user wants to clarify these questions"
_ANSWERED = "User has answered your questions:"
_ANSWERED_END = ". You can now continue"
_FOREIGN_ORIGINS = ("peer", "task-notification", "channel")

_CHANGING_TOOLS = ("Edit", "MultiEdit", "Write", "NotebookEdit")
# Of a call that waits for its answer only what is needed then.
_CALL_FIELDS = (
    *("command", "file_path", "notebook_path", "run_in_background", "subject", "taskId", "status"),
    *("todos", "plan", "text", "reason"),
)
_CALL_CHARACTERS = 2_000
_OUTPUT_CHARACTERS = 4_000
_FILE_KIND, _REGULAR_FILE = 0o170000, 0o100000
_LONGEST_LINE = 8 << 20
_PRINT_BYTES = 256
_LINES_BETWEEN_LOOKS = 100


def bring_up_to_date(
    ledger: Ledger,
    transcript: str | None,
    *,
    most_bytes: int | None = None,
    until: float | None = None,
) -> bool:
    """Read what a transcript has gained since last time; False where that is nothing.

    Args:
        ledger: what is known so far; it is changed in place.
        transcript: the session's file; one that is not there changes nothing.
        most_bytes: at most so much of the end is read; None for all of it.
        until: the moment (of `time.monotonic`) at which to stop, wherever that is.
    """
    try:
        if not transcript or not _is_regular(transcript):
            return False
        file = open(transcript, "rb")  # noqa: SIM115 - closed below
    except (OSError, ValueError):
        return False
    with file:
        size = file.seek(0, 2)
        start = _known_until(file, ledger, size)
        if start >= size:
            return False
        if most_bytes is not None and size - start > most_bytes:
            start = _skip(file, ledger, start, size - most_bytes)
        end = start
        for count, (line, end) in enumerate(_lines(file, start, size), 1):  # noqa: B007 - used below
            for row in _rows_of(line):
                fold(ledger, row)
            if until is not None and not count % _LINES_BETWEEN_LOOKS and time.monotonic() > until:
                break
        ledger.cursor = {"offset": end, "print": _fingerprint(file, end)}
    return True


def _rows_of(line: bytes) -> list[Any]:
    """The rows on a line of a transcript that may tell something."""
    if line.startswith(_REQUEST_COPIES) or _SIDECHAIN in line:
        return []
    if not any(mark in line for mark in _WANTED):
        return []
    return fastjson.loads_all(line.decode("utf-8", "replace"))


def fold(ledger: Ledger, row: Any) -> None:
    """Take one row in; any JSON value is fine."""
    if not isinstance(row, dict) or row.get("isSidechain"):
        return
    kind = row.get("type")
    if rows.is_boundary(row):
        # A boundary and its summary are one; old sessions have the summary only.
        ledger.compactions += not (rows.is_summary(row) and ledger.summary_expected)
        ledger.summary_expected = not rows.is_summary(row)
    elif kind == "assistant":
        for call in exchange.calls(row):
            _called(ledger, call)
    elif kind == "user":
        _user(ledger, row)
    elif kind == "attachment":
        _attached(ledger, row)
    elif kind == "queue-operation":
        _queue(ledger, row)
    ledger.folder = ledger.folder or text_of(row.get("cwd"))
    ledger.branch = clean(text_of(row.get("gitBranch"))) or ledger.branch


def _user(ledger: Ledger, row: dict[str, Any]) -> None:
    answered = False
    for result in exchange.results(row):
        answered = True
        call = ledger.calls.pop(result.call_id, None)
        if call is not None:
            _answered(ledger, call[0], call[1], result, row)
    if answered or rows.is_meta(row) or row.get("isVisibleInTranscriptOnly"):
        return
    origin = row.get("origin")
    if isinstance(origin, dict) and origin.get("kind") in _FOREIGN_ORIGINS:
        return
    texts = [
        text_of(block.get("text"))
        for block in rows.content_blocks(row)
        if rows.is_block(block, "text")
    ]
    _said(ledger, "\n".join(texts), rows.timestamp_of(row))


def _attached(ledger: Ledger, row: dict[str, Any]) -> None:
    attachment = rows.attachment_of(row)
    kind = text_of(attachment.get("type"))
    if kind == "queued_command" and attachment.get("commandMode", "prompt") == "prompt":
        origin = attachment.get("origin")
        foreign = isinstance(origin, dict) and origin.get("kind") in _FOREIGN_ORIGINS
        if not foreign and attachment.get("isMeta") is not True:
            prompt = rows.result_text({"content": attachment.get("prompt")})
            _said(ledger, prompt, rows.timestamp_of(row))
    elif kind == "task_reminder":
        _task_list(ledger, attachment.get("content"))
    elif kind.startswith("plan_") and attachment.get("planExists", True):
        ledger.plan = clean(text_of(attachment.get("planFilePath"))) or ledger.plan


def _queue(ledger: Ledger, row: dict[str, Any]) -> None:
    """What the user typed while the assistant worked; what was taken back was not said."""
    text = text_of(row.get("content")).strip()
    if row.get("operation") == "enqueue" and text and not text.startswith(("<", "/")):
        words = _said(ledger, text, rows.timestamp_of(row), "queued")
        ledger.queued = [*ledger.queued, words][-_MOST_QUEUED:]
    elif row.get("operation") == "popAll" and ledger.messages:
        last = ledger.messages[-1]
        if last["kind"] == "queued" and last["text"] == clean(text):
            ledger.messages.pop()
            ledger.queued = [one for one in ledger.queued if one != last["text"]]


def _said(ledger: Ledger, text: str, at: str | None, kind: str = "prompt") -> str:
    """Keep a message of the user, and the notes marked in it; returns what was kept."""
    words = _own_words(text[:_LONGEST_TEXT])
    if not words:
        return ""
    if not is_paste(words):
        for word, told in _BRIM_LINE.findall(words):
            if word.lower() in _NOTE_WORDS:
                add_note(ledger, _NOTE_WORDS[word.lower()], told, at)
        words = _BRIM_LINE.sub("", words).strip()
    words = clean(words)
    if words and (kind == "queued" or words not in ledger.queued):
        add_message(ledger, words, at, kind)
    return words


def _own_words(text: str) -> str:
    """The user's own part of a prompt; a command of theirs with what it was given."""
    text = _AROUND.sub("", text).strip()
    if text.startswith("<command-"):
        name, arguments = tagged(text, "command-name"), tagged(text, "command-args")
        text = f"{name} {arguments}".strip()
    if text.startswith("/"):
        name = text.split(None, 1)[0]
        if name[1:] in _CLIENT_COMMANDS or _OURS.match(name):
            return ""
    return "" if text.startswith(_NOT_THE_USERS) else text


def _called(ledger: Ledger, call: exchange.Call) -> None:
    given = {
        name: value[:_CALL_CHARACTERS] if isinstance(value, str) else value
        for name, value in call.arguments.items()
        if name in _CALL_FIELDS
    }
    ledger.calls[call.id] = [call.name, given]
    _trim(ledger.calls, _MOST_CALLS)


def _answered(
    ledger: Ledger, name: str, given: dict[str, Any], result: exchange.Result, row: dict[str, Any]
) -> None:
    """A tool has answered: what that tells depends on the tool."""
    at = rows.timestamp_of(row)
    if _is_refusal(name, result, row.get("toolUseResult")):
        words = result.text.partition(_REFUSED_BECAUSE)[2].strip()
        if words and not words.startswith(_CLARIFIES):
            add_message(ledger, words[:_LONGEST_TEXT], at, f"refusing {name}")
    elif name == "Bash":
        _ran(ledger, given, result)
    elif result.is_error:
        return
    elif name == "Read" or name in _CHANGING_TOOLS:
        _used_file(ledger, name, given)
    elif name == "AskUserQuestion" and result.text.startswith(_ANSWERED):
        words = result.text.removeprefix(_ANSWERED).split(_ANSWERED_END)[0].strip()
        add_message(ledger, words, at, "answer")
    elif name == "ExitPlanMode":
        ledger.plan = clean(text_of(result.told.get("filePath"))) or ledger.plan
    elif _is_note(name):
        reason = text_of(given.get("reason")).strip()
        text = text_of(given.get("text")).strip()
        add_note(ledger, DECIDE, f"{text} (because {reason})" if reason else text, at, "model")
    else:
        _task_answered(ledger, name, given, result)


def _used_file(ledger: Ledger, name: str, given: dict[str, Any]) -> None:
    path = clean(text_of(given.get("file_path")) or text_of(given.get("notebook_path")))
    if path and name in _CHANGING_TOOLS:
        _touch(ledger.changed, path)
        ledger.read.pop(path, None)
        if "/plans/" in path and path.endswith(".md"):
            ledger.plan = path
    elif path and path not in ledger.changed:
        _touch(ledger.read, path)


def _is_note(name: str) -> bool:
    """Whether a tool is the one by which the model writes something down, however it is wired."""
    return name.startswith("mcp__") and "brimline" in name and name.endswith("__note")


def _is_refusal(name: str, result: exchange.Result, copy: Any) -> bool:
    """Whether the user turned a call down, in the client's own shapes.

    An MCP server writes its own errors, so it could forge them.
    """
    return (
        result.is_error
        and result.text.startswith(_REFUSED)
        and isinstance(copy, str)
        and copy.startswith(_REFUSED_COPIES)
        and not name.startswith("mcp__")
    )


def _task_answered(
    ledger: Ledger, name: str, given: dict[str, Any], result: exchange.Result
) -> None:
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


def _ran(ledger: Ledger, given: dict[str, Any], result: exchange.Result) -> None:
    command = clean(text_of(given.get("command")))
    unknown = result.told.get("interrupted") or result.told.get("backgroundTaskId")
    if command and not unknown and not given.get("run_in_background"):
        # Nothing of an output is kept but its last line, a commit's first and an address.
        commands.ran(
            ledger, command, clean(result.text[-_OUTPUT_CHARACTERS:]), failed=result.is_error
        )


def _touch(paths: dict[str, int], path: str) -> None:
    """What was touched last stands last."""
    paths[path] = paths.pop(path, 0) + 1
    _trim(paths, _MOST_PATHS)


def _trim(known: dict[str, Any], most: int) -> None:
    while len(known) > most:
        del known[next(iter(known))]


def _is_regular(path: str) -> bool:
    """Whether it is a plain file: opening a named pipe would wait for whoever writes to it."""
    return fastio.system.stat(fastio.to_bytes(path)).st_mode & _FILE_KIND == _REGULAR_FILE


def _known_until(file: BinaryIO, ledger: Ledger, size: int) -> int:
    """Where the ledger left off; the beginning where the file is not the one that it was."""
    offset = ledger.cursor.get("offset")
    if not isinstance(offset, int) or not 0 <= offset <= size:
        return 0
    return offset if _fingerprint(file, offset) == ledger.cursor.get("print") else 0


def _skip(file: BinaryIO, ledger: Ledger, start: int, target: int) -> int:
    """Go to the first line after a target, noting how much is passed over."""
    file.seek(target)
    reached = target + len(file.readline(_LONGEST_LINE))
    ledger.unread_bytes += reached - start
    return reached


def _lines(file: BinaryIO, start: int, size: int) -> Iterator[tuple[bytes, int]]:
    """Every whole line up to a size, and where it ends; a line that is too long comes empty."""
    file.seek(start)
    end = start
    while end < size:
        line = file.readline(_LONGEST_LINE)
        if not line:
            return
        is_long = len(line) == _LONGEST_LINE
        while len(line) == _LONGEST_LINE and not line.endswith(b"\n"):
            end += len(line)
            line = file.readline(_LONGEST_LINE)
        if not line.endswith(b"\n") and not _rows_of(line):
            return  # still being written
        end += len(line)
        yield (b"" if is_long else line), end


def _fingerprint(file: BinaryIO, end: int) -> str:
    """The bytes just before a place, by their hash: a file that was rewritten has others there."""
    file.seek(max(0, end - _PRINT_BYTES))
    return blake2b(file.read(min(end, _PRINT_BYTES)), digest_size=8).hexdigest()
