"""What a session was shown of files and outputs: previews, looks since, and the guards on both.

* After a replaced Read the client itself would let the model overwrite lines that it never saw. So
  each further look at such a file is noted by its lines, and an overwrite is refused, once, until
  they make up the whole file. A link and its target share one mark.
* What a session knew before its first hook is read out of its transcript, once. A fork begins with
  the rows of the session that it came from under an id of its own, and with none of its marks.
"""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from brimline import clienttools
from brimline.decision import Decision
from brimline.errors import BrimlineError
from brimline.fast import io, json, paths
from brimline.foreign import flatten
from brimline.offload import hook, intercept, judge, tool_results
from brimline.offload.hook import OFFERED_RESULTS, PAST, PREVIEWED
from brimline.store import stub
from brimline.transcript import row

if TYPE_CHECKING:
    from collections.abc import Iterator

    from brimline.hooks.turn import Turn
    from brimline.offload.tool_results import ToolResult

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
_WAS_PREVIEWED = (
    " was shown to you as a preview, so this Write would replace lines that you have not seen. "
    "Read the file again (it comes whole now) or change it with Edit. "
    "If replacing all of it is what you want, repeat the Write: it passes."
)


def note_preview_of_file(turn: Turn, path: str, key: str, total_lines: int) -> None:
    """The model is shown a preview of a file: what it saw of it before counts no more."""
    mark = _file_mark_name(turn, PREVIEWED, path)
    io.replace_file(f"{turn.state.folder}/{mark}", f"{key} {total_lines}".encode())
    for kind in (_LINES, _WARNED):
        io.remove(f"{turn.state.folder}/{_file_mark_name(turn, kind, path)}")
    turn.state.names.append(mark)


def note_lines_shown(turn: Turn, path: str, lines: tuple[int, int, int]) -> None:
    """The model was shown lines of a file: from, up to and with, of how many."""
    if _file_mark_name(turn, PREVIEWED, path) in turn.state.names:
        seen = f"{turn.state.folder}/{_file_mark_name(turn, _LINES, path)}"
        io.append_line(seen, "{} {} {}".format(*lines))


def note_recalled_lines(turn: Turn, key: str, lines: tuple[int, int] | None) -> None:
    """The model fetched lines of a stored output: of every file that it is the content of."""
    for name in [name for name in turn.state.names if name.startswith(PREVIEWED)]:
        previewed, _, total = intercept.state_file_text(turn, name).partition(" ")
        if lines and previewed == key:
            seen = f"{turn.state.folder}/{_LINES}{name[len(PREVIEWED) :]}"
            io.append_line(seen, f"{lines[0]} {lines[1]} {total}")


def _claim_overwrite_refusal(turn: Turn, path: str) -> bool:
    """Tell whether to refuse an overwrite of this file now: once, and only while unseen."""
    if _file_mark_name(turn, PREVIEWED, path) not in turn.state.names:
        return False
    looks = _SPAN.findall(intercept.state_file_text(turn, _file_mark_name(turn, _LINES, path)))
    spans = [(int(first), int(last), int(total)) for first, last, total in looks]
    reached = 0
    for first, last, _ in sorted(spans):
        reached = max(reached, last) if first <= reached + 1 else reached
    if spans and reached >= spans[-1][2]:
        return False
    return io.create_exclusively(f"{turn.state.folder}/{_file_mark_name(turn, _WARNED, path)}", b"")


def _file_mark_name(turn: Turn, kind: str, path: str) -> str:
    return kind + paths.path_fingerprint(paths.resolve_links(path, turn.event.cwd))


def refuse_unseen_overwrite(turn: Turn) -> Decision | None:
    """Refuse an overwrite, once, of a file that the model has seen as a preview only."""
    path = turn.event.tool_input.get("file_path")
    if not isinstance(path, str):
        return None
    if PAST not in turn.state.names:
        catch_up_from_transcript(turn, waits=True)
    if not _claim_overwrite_refusal(turn, path):
        return None
    # However long ago the preview was: who is told to read the file again shall see it.
    call = intercept.repeat_fingerprint(turn, "", "Read", {"file_path": path}, [path])
    intercept.create_repeat_offer(turn, call)
    return Decision(permission="deny", reason=flatten(path, keep_end=True) + _WAS_PREVIEWED)


def recalls_shown_by_call(
    home_dir: str, tool: str, tool_input: dict[str, Any], result: ToolResult
) -> Iterator[tuple[str, dict[str, Any], int, tuple[int, int] | None]]:
    """The stored content that a call brought back, as far as the model was shown it.

    Its key, what is known of it, how many bytes were shown, and the first and last line that were
    shown without a gap, if any.
    """
    from brimline.store import contents

    is_cut = result.was_persisted or len(result.text) > clienttools.characters_shown_whole(tool)
    header, _, rest = result.text.partition("\n")
    text = rest if header.startswith(RECALL_HEADER) else result.text
    shown = text[: clienttools.BEGINNING_CHARACTERS if is_cut else None]
    for name, wanted in judge.recalls_asked_by_call(tool, tool_input) or ():
        try:
            key = contents.resolve_key(home_dir, name)
            meta = contents.read_sidecar(home_dir, key)
            # Where exactly the client cuts is its own affair, so no line of a beginning counts.
            is_compared = not is_cut and (meta.get("bytes") or 0) <= _LARGEST_COMPARED_BYTES
            raw = contents.read_content(home_dir, key, touch=False) if is_compared else b""
        except (BrimlineError, OSError):
            continue  # not a key, or no longer there
        lines = _recalled_line_range(raw.decode("utf-8", "replace"), shown, wanted) if raw else None
        yield key, meta, len(shown.encode("utf-8", "replace")), lines


def _recalled_line_range(content: str, shown: str, wanted: str) -> tuple[int, int] | None:
    """The first and last line of stored content that a text shows without a gap; None for none.

    Only the content itself counts: whatever else a command printed shows nothing of it. Blank lines
    at the ends, which the client takes off, count with their neighbours.
    """
    text = shown.strip("\n")
    lines = content.split("\n")
    start = _offset_of_line(lines, wanted.partition(":")[0])
    start += len(content[start:]) - len(content[start:].lstrip("\n"))
    at = start if content.startswith(text, start) else content.find(text)
    above, below = content[:at], content[at + len(text) :]
    if not text or at < 0 or above[-1:] not in ("", "\n") or below[:1] not in ("", "\n"):
        return None
    first_line = above.rstrip("\n").count("\n") + 2 if above.strip("\n") else 1
    return first_line, len(lines) - below.lstrip("\n").count("\n") - bool(below.strip("\n"))


def _offset_of_line(lines: list[str], number: str) -> int:
    """Return the place of a line that was asked for by its number; else the beginning."""
    if not number.isascii() or not number.isdigit() or int(number) > len(lines):
        return 0
    return sum(len(line) + 1 for line in lines[: int(number) - 1])


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
        if not intercept.was_file_edited(turn, path):
            hook.note_edited_file(turn, path)
        return
    reference = answer.shown_reference() if tool == "Read" else None
    if reference:
        total = tool_results.file_line_total_in_reference(answer.head, reference.lines or 0)
        note_preview_of_file(turn, path, reference.key, total)
    elif tool == "Read" or judge.recalls_asked_by_call(tool, arguments):
        _note_lines_of_answer(turn, answer, path)


def _note_lines_of_answer(turn: Turn, answer: _Answer, path: str) -> None:
    """Mark the lines of a file, or of stored content, that an answer showed."""
    tool, arguments = answer.tool, answer.arguments
    result = tool_results.parse_answer(tool, arguments, answer.response)
    if result is None:
        return
    if result.lines:
        note_lines_shown(turn, path, result.lines)
    for key, _, _, lines in recalls_shown_by_call(turn.home, tool, arguments, result):
        note_recalled_lines(turn, key, lines)


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
            head = "\n".join([part.lstrip(intercept.NUMBERING) for part in lines])
            yield _Answer(*call, response, head, row.cwd_of(line) or "")
