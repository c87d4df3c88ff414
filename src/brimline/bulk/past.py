"""What a session knew before its first hook, read out of its transcript, once.

A fork begins with the rows of the session that it came from under an id of its own, and with none
of its marks. An overwrite of a file that was only seen as a preview needs to know as much.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple

from brimline.bulk import intercept, judge, looks, marks, stub, tool_results
from brimline.bulk.marks import OFFERED_RESULTS, PAST
from brimline.fast import io, json, paths
from brimline.fast.decision import Decision
from brimline.foreign import flatten
from brimline.transcript import clienttools, row

if TYPE_CHECKING:
    from collections.abc import Iterator

    from brimline.hooks.turn import Turn

_CALL, _RESULT = b'"tool_use"', b'"tool_result"'
_MARKS = (*[f'"{name}"'.encode() for name in clienttools.FILE_TOOLS], b"brimline")
# Offers are good for ten results; a call and its result are a line each, and others lie between.
_RECENT_LINES = 24
_END_BYTES = 4 << 20
_HEAD_CHARACTERS = 4_000
# The client was seen to write a call up to 67 ms after the hook before it was started.
_ATTEMPTS = 50
_PAUSE_S = 0.02
_WAS_PREVIEWED = (
    " was shown to you as a preview, so this Write would replace lines that you have not seen. "
    "Read the file again (it comes whole now) or change it with Edit. "
    "If replacing all of it is what you want, repeat the Write: it passes."
)


def refuse_unseen_overwrite(turn: Turn) -> Decision | None:
    """Refuse an overwrite, once, of a file that the model has seen as a preview only."""
    path = turn.event.tool_input.get("file_path")
    if not isinstance(path, str):
        return None
    if PAST not in turn.state.names:
        catch_up_from_transcript(turn, waits=True)
    if not looks.claim_overwrite_refusal(turn, path):
        return None
    # However long ago the preview was: who is told to read the file again shall see it.
    call = intercept.repeat_fingerprint(turn, "", "Read", {"file_path": path}, [path])
    intercept.create_repeat_offer(turn, call)
    return Decision(permission="deny", reason=flatten(path, keep_end=True) + _WAS_PREVIEWED)


def catch_up_from_transcript(turn: Turn, *, waits: bool = False) -> None:
    """Mark what the transcript shows as a preview, the looks at it since, and changed files.

    A fork's transcript is written while its first calls are on their way: what comes before a call
    is in it once the call is.

    Args:
        turn: the event at hand.
        waits: whether to wait for the call, and to leave it at that if it does not come.
    """
    attempts = _ATTEMPTS if waits else 0
    while not (written := _is_call_in_transcript(turn)) and attempts:
        attempts -= 1
        time.sleep(_PAUSE_S)
    try:
        _mark_what_transcript_shows(turn)
    except OSError:
        pass  # a session that has no transcript has no past that could be known
    if written or waits:
        io.create_exclusively(f"{turn.state.folder}/{PAST}", b"")
        turn.state.names.append(PAST)


def _is_call_in_transcript(turn: Turn) -> bool:
    """Tell whether the end of the transcript holds the call at hand."""
    call_id = turn.event.call_id.encode("utf-8", "replace")
    try:
        return any(json.rows_backward(turn.event.transcript, call_id, _END_BYTES))
    except OSError:
        return False


def _mark_what_transcript_shows(turn: Turn) -> None:
    answers = list(_read_answered_calls(turn.event.transcript))
    for answer in answers:
        _note_what_answer_showed(turn, answer)
    open_offers: dict[str, _Answer] = {}
    for answer in answers[-OFFERED_RESULTS:]:
        call = json.dumps([answer.tool, answer.arguments])
        open_offers.pop(call, None)
        if answer.shown_reference():
            open_offers[call] = answer
    for answer in open_offers.values():
        files = judge.files_shown_by_call(answer.tool, answer.arguments)
        call = intercept.repeat_fingerprint(turn, "", answer.tool, answer.arguments, files)
        intercept.create_repeat_offer(turn, call)


def _note_what_answer_showed(turn: Turn, answer: _Answer) -> None:
    """Mark what one answer changed, showed as a preview, or showed of what was previewed."""
    tool, arguments = answer.tool, answer.arguments
    path = paths.normalised_path(clienttools.file_of_call(arguments), answer.cwd)
    if tool in clienttools.EDITING:
        # The past may be read again and again until the call at hand is in it.
        if not marks.was_file_edited(turn, path):
            marks.note_edited_file(turn, path)
        return
    reference = answer.shown_reference() if tool == "Read" else None
    if reference:
        total = tool_results.file_line_total_in_reference(answer.head, reference.lines or 0)
        looks.note_preview_of_file(turn, path, reference.key, total)
    elif tool == "Read" or judge.recalls_asked_by_call(tool, arguments):
        _note_lines_of_answer(turn, answer, path)


def _note_lines_of_answer(turn: Turn, answer: _Answer, path: str) -> None:
    """Mark the lines of a file, or of stored content, that an answer showed."""
    tool, arguments = answer.tool, answer.arguments
    result = tool_results.parse_answer(tool, arguments, answer.response)
    if result is None:
        return
    if result.lines:
        looks.note_lines_shown(turn, path, result.lines)
    for key, _, _, lines in looks.recalls_shown_by_call(turn.home, tool, arguments, result):
        looks.note_recalled_lines(turn, key, lines)


class _Answer(NamedTuple):
    """An answered call of the main thread."""

    tool: str
    arguments: dict[str, Any]
    response: Any
    """In the shape that hooks are given; None where the client kept none."""
    head: str
    """The beginning of what the model was sent, without the numbers of lines."""
    cwd: str

    def shown_reference(self) -> stub.Stub | None:
        """The reference that it shows, if it does."""
        return stub.first_reference_in(self.head) if self.head.startswith(stub.BEGINNINGS) else None


def _read_answered_calls(path: str) -> Iterator[_Answer]:
    """The answered calls that matter, the first one first.

    Only the end of a long transcript is read, and of that only what is wanted is parsed.

    Raises:
        OSError: the file cannot be read, or is not a regular file.
    """
    calls: dict[str, tuple[str, dict[str, Any]]] = {}
    for line in reversed(_lines_with_calls_or_results(path)):
        if _CALL in line or any(call.encode() in line for call in calls):
            for document in json.parse_all_on_line(line):
                yield from _answers_of_line(calls, document)


def _lines_with_calls_or_results(path: str) -> list[bytes]:
    """Lines with results, recent calls and older ones that name a mark, the last one first."""
    wanted: list[bytes] = []
    for _, line in io.lines_backward_with_offsets(path):
        is_call = _CALL in line
        if is_call and len(wanted) >= _RECENT_LINES:
            is_call = any(mark in line for mark in _MARKS)
        if is_call or _RESULT in line:
            wanted.append(line)
    return wanted


def _answers_of_line(calls: dict[str, tuple[str, dict[str, Any]]], line: Any) -> Iterator[_Answer]:
    blocks = row.blocks_sent_to_model(line)
    results = [block for block in blocks if row.is_block(block, "tool_result")]
    for used in row.any_thread_calls(line):
        calls[used.id] = (used.name, used.arguments)
    for block in results:
        call = calls.pop(str(block.get("tool_use_id")), None)
        if call is not None:
            response = line.get(row.COPY_FIELD) if len(results) == 1 else None
            lines = row.content_text(block.get("content"))[:_HEAD_CHARACTERS].split("\n")
            head = "\n".join([part.lstrip(tool_results.NUMBERING) for part in lines])
            yield _Answer(*call, response, head, row.cwd_of(line) or "")
