"""What a session was shown of files and outputs: previews, looks since, and the guards on both.

* After a replaced Read the client itself would let the model overwrite lines that it never saw. So
  each further look at such a file is noted by its lines, and an overwrite is refused, once, until
  they make up the whole file. Marks are named by the file that a path leads to: a link is no other.
* What a session knew before its first hook is read out of its transcript, once. A fork begins with
  the rows of the session that it came from under an id of its own, and with none of its marks.
"""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Any

from brimline import clienttools
from brimline.decision import Decision
from brimline.errors import BrimlineError
from brimline.fast import io, json, paths
from brimline.offload import hook, judge, tool_results
from brimline.offload.hook import OFFERED_RESULTS, PAST, PREVIEWED
from brimline.offload.intercept import call_name, offer, read_mark, was_edited
from brimline.store import stub
from brimline.transcript import row, tail

if TYPE_CHECKING:
    from collections.abc import Iterator

    from brimline.hooks.turn import Turn
    from brimline.offload.tool_results import ToolResult

    _Answer = tuple[str, dict[str, Any], Any, str, str]

RECALL_HEADER = "[brimline recall "
_LINES = "offload-lines-"
_WARNED = "offload-warned-"
_SPAN = re.compile(r"^(\d+) (\d+) (\d+)$", re.ASCII | re.MULTILINE)
# Of larger content no answer shows enough to matter, and reading it would hold the session up.
_LARGEST_COMPARED_BYTES = 4 << 20

_CALL, _RESULT = b'"tool_use"', b'"tool_result"'
_MARKS = (*[f'"{name}"'.encode() for name in clienttools.FILE_TOOLS], b"brimline")
# Offers are good for ten results; a call and its result are a line each, and others lie between.
_RECENT_LINES = 24
_END_BYTES = 4 << 20
_HEAD_CHARACTERS = 4_000
# The client was seen to write a call up to 67 ms after the hook before it was started.
_ATTEMPTS = 50
_PAUSE_S = 0.02
# What the client puts before each line of a file.
_NUMBERING = " 0123456789\t→"


def note_preview(turn: Turn, path: str, key: str, total_lines: int) -> None:
    """The model is shown a preview of a file: what it saw of it before counts no more."""
    mark = _mark(turn, PREVIEWED, path)
    io.replace_file(f"{turn.state.folder}/{mark}", f"{key} {total_lines}".encode())
    for kind in (_LINES, _WARNED):
        io.remove(f"{turn.state.folder}/{_mark(turn, kind, path)}")
    turn.state.names.append(mark)


def note_lines(turn: Turn, path: str, lines: tuple[int, int, int]) -> None:
    """The model was shown lines of a file: from, up to and with, of how many."""
    if _was_previewed(turn, path):
        io.append_line(
            f"{turn.state.folder}/{_mark(turn, _LINES, path)}", "{} {} {}".format(*lines)
        )


def note_recalled(turn: Turn, key: str, lines: tuple[int, int] | None) -> None:
    """The model fetched lines of a stored output: of every file that it is the content of."""
    for name in [name for name in turn.state.names if name.startswith(PREVIEWED)]:
        previewed, _, total = read_mark(turn, name).partition(" ")
        if lines and previewed == key and total.isdecimal():
            seen = f"{turn.state.folder}/{_LINES}{name[len(PREVIEWED) :]}"
            io.append_line(seen, f"{lines[0]} {lines[1]} {total}")


def _claim_warning(turn: Turn, path: str) -> bool:
    """Whether an overwrite of this file is to be refused now: once, and only while unseen."""
    if not _was_previewed(turn, path):
        return False
    found = _SPAN.findall(read_mark(turn, _mark(turn, _LINES, path)))
    spans = [(int(first), int(last), int(total)) for first, last, total in found]
    reached = 0
    for first, last, _ in sorted(spans):
        reached = max(reached, last) if first <= reached + 1 else reached
    if spans and reached >= spans[-1][2]:
        return False
    return io.create_exclusively(f"{turn.state.folder}/{_mark(turn, _WARNED, path)}", b"")


def _was_previewed(turn: Turn, path: str) -> bool:
    marked = any(name.startswith(PREVIEWED) for name in turn.state.names)
    return marked and _mark(turn, PREVIEWED, path) in turn.state.names


def _mark(turn: Turn, kind: str, path: str) -> str:
    return kind + paths.fingerprint(paths.real(path, turn.event.cwd))


def before_write(turn: Turn) -> Decision | None:
    """Refuse an overwrite, once, of a file that the model has seen as a preview only."""
    path = turn.event.tool_input.get("file_path")
    if not isinstance(path, str):
        return None
    if PAST not in turn.state.names:
        take_over(turn, waits=True)
    if not _claim_warning(turn, path):
        return None
    # However long ago the preview was: who is told to read the file again shall see it.
    offer(turn, call_name(turn, "", "Read", {"file_path": path}, [path]))
    return Decision(permission="deny", reason=_refusal(path))


def _refusal(path: str) -> str:
    """Why an overwrite was refused, and the two ways on."""
    return (
        f"{path} was shown to you as a preview, so this Write would replace lines that you have "
        "not seen. Read the file again (it comes whole now) or change it with Edit. If replacing "
        "all of it is what you want, repeat the Write: it passes."
    )


def fetched(
    home_dir: str, tool: str, tool_input: dict[str, Any], found: ToolResult
) -> Iterator[tuple[str, dict[str, Any], int, tuple[int, int] | None]]:
    """The stored content that a call brought back, as far as the model was shown it.

    Its key, what is known of it, how many bytes were shown, and the first and last line that were
    shown without a gap, if any.
    """
    from brimline.store import contents

    most = clienttools.most_shown_whole(tool)
    is_cut = found.was_persisted or len(found.text) > most
    text = found.text.partition("\n")[2] if found.text.startswith(RECALL_HEADER) else found.text
    shown = text[: clienttools.BEGINNING_CHARACTERS if is_cut else None]
    for name, asked in judge.fetches(tool, tool_input) or ():
        try:
            key = contents.resolve(home_dir, name)
            meta = contents.meta(home_dir, key)
            size = meta.get("bytes")
            content = ""
            if not isinstance(size, int) or size <= _LARGEST_COMPARED_BYTES:
                content = contents.get(home_dir, key, touch=False).decode("utf-8", "replace")
        except (BrimlineError, OSError):
            continue  # not a key, or no longer there
        # Where exactly the client cuts is its own affair, so no line of a beginning counts.
        lines = None if is_cut or not content else _shown_lines(content, shown, asked)
        yield key, meta, len(shown.encode("utf-8", "replace")), lines


def _shown_lines(content: str, shown: str, asked: str) -> tuple[int, int] | None:
    """The first and last line of stored content that a text shows without a gap; None for none.

    Only the content itself counts: whatever else a command printed shows nothing of it. Blank lines
    at the ends, which the client takes off, count with their neighbours.
    """
    text, first = shown.strip("\n"), asked.partition(":")[0]
    lines = content.split("\n")
    start = 0
    if first.isascii() and first.isdigit() and int(first) <= len(lines):
        start = sum(len(line) + 1 for line in lines[: int(first) - 1])
    start += len(content[start:]) - len(content[start:].lstrip("\n"))
    at = start if content.startswith(text, start) else content.find(text)
    above, below = content[:at], content[at + len(text) :]
    if not text or at < 0 or above[-1:] not in ("", "\n") or below[:1] not in ("", "\n"):
        return None
    first_line = above.rstrip("\n").count("\n") + 2 if above.strip("\n") else 1
    return first_line, len(lines) - below.lstrip("\n").count("\n") - bool(below.strip("\n"))


def take_over(turn: Turn, *, waits: bool = False) -> None:
    """Mark what the transcript shows as a preview, the looks at it since, and changed files.

    A fork's transcript is written while its first calls are on their way: what comes before a call
    is in it once the call is.

    Args:
        turn: the event at hand.
        waits: whether to wait for the call, and to leave it at that if it does not come.
    """
    written = _is_written(turn)
    for _ in range(_ATTEMPTS if waits and not written else 0):
        time.sleep(_PAUSE_S)
        written = _is_written(turn)
        if written:
            break
    try:
        _replay(turn)
    except OSError:
        pass  # a session that has no transcript has no past that could be known
    if written or waits:
        io.create_exclusively(f"{turn.state.folder}/{PAST}", b"")
        turn.state.names.append(PAST)


def _is_written(turn: Turn) -> bool:
    """Whether the end of the transcript holds the call at hand."""
    wanted, end = turn.event.call_id.encode("utf-8", "replace"), None
    try:
        for offset, line in tail.lines_backward(turn.event.transcript):
            if wanted in line:
                return True
            end = offset + len(line) if end is None else end
            if end - offset > _END_BYTES:
                break
    except OSError:
        return False
    return not wanted


def _replay(turn: Turn) -> None:
    answers = list(_answers(turn.event.transcript))
    open_offers: dict[str, tuple[str, dict[str, Any]]] = {}
    for at, (tool, asked, response, text, cwd) in enumerate(answers):
        lines = text[:_HEAD_CHARACTERS].split("\n")
        head = "\n".join([line.lstrip(_NUMBERING) for line in lines])
        known = stub.parse(head) if head.startswith(stub.BEGINNINGS) else None
        if known and at >= len(answers) - OFFERED_RESULTS:
            open_offers[json.dumps([tool, asked])] = tool, asked
        else:
            open_offers.pop(json.dumps([tool, asked]), None)
        path = paths.completed(clienttools.file_of(asked), cwd)
        if tool in clienttools.EDITING:
            # The past may be read again and again until the call at hand is in it.
            if not was_edited(turn, path):
                hook.note_edit(turn, path)
        elif tool == "Read" and known:
            note_preview(turn, path, known.key, tool_results.total_lines(head, known.lines or 0))
        elif tool == "Read" or judge.fetches(tool, asked):
            found = tool_results.find(tool, asked, response)
            if found and found.lines:
                note_lines(turn, path, found.lines)
            for key, _, _, seen in fetched(turn.home, tool, asked, found) if found else ():
                note_recalled(turn, key, seen)
    for tool, asked in open_offers.values():
        offer(turn, call_name(turn, "", tool, asked, judge.files_of(tool, asked)))


def _answers(path: str) -> Iterator[_Answer]:
    """The answered calls of the main thread that matter, the first one first.

    Each with its tool and input, the response in the shape that hooks are given (None where the
    client kept none), the text that the model was sent, and the folder it was made in. Only the end
    of a long transcript is read, and of that only what is wanted is parsed.

    Raises:
        OSError: the file cannot be read, or is not a regular file.
    """
    kept: list[bytes] = []
    for _, line in tail.lines_backward(path):
        recent = len(kept) < _RECENT_LINES
        wanted = _CALL in line and (recent or any(mark in line for mark in _MARKS))
        if wanted or _RESULT in line:
            kept.append(line)
    calls: dict[str, tuple[str, dict[str, Any]]] = {}
    for line in reversed(kept):
        if _CALL not in line and not any(call.encode() in line for call in calls):
            continue
        for found in json.loads_all(line.decode("utf-8", "replace")):
            yield from _answered(calls, found)


def _answered(calls: dict[str, tuple[str, dict[str, Any]]], line: Any) -> Iterator[_Answer]:
    blocks = row.content_blocks(line)
    results = [block for block in blocks if row.is_block(block, "tool_result")]
    for used in row.tool_uses(line):
        calls[used.id] = (used.name, used.arguments)
    for block in results:
        call = calls.pop(str(block.get("tool_use_id")), None)
        if call is not None:
            response = line.get(row.COPY_FIELD) if len(results) == 1 else None
            yield *call, response, row.result_text(block), row.cwd_of(line) or ""
