"""What a session knew before its first hook: previews and looks that its transcript tells of.

Fast path: imports only rooms of ours; loaded once in a session. A fork begins with the rows of the
session that it came from under an id of its own, and with none of its marks.
"""

from __future__ import annotations

import time

from brimline.fast import paths
from brimline.offload import answers, experience, recall, toolresult
from brimline.offload.calls import Call

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from brimline.offload.answers import Answer
    from brimline.offload.seen import Looks

_MARKS = (b'"Read"', b"brimline")
_HEAD_CHARACTERS = 4_000
# The client was seen to write a call up to 67 ms after the hook before it was started.
_ATTEMPTS = 50
_PAUSE_S = 0.02
# What the client puts before each line of a file.
_NUMBERING = " 0123456789\t→"
# How the texts begin that stand in for a file.
_STUBS = ("[brimline stored ", "[CCM_CACHED]", "Cached (")


def take_over(call: Call, looks: Looks, home_dir: str, *, waits: bool = False) -> None:
    """Mark the files of which the transcript shows a preview, and note the looks at them since.

    A fork's transcript is written while its first calls are on their way: what comes before a call
    is in it once the call is.

    Args:
        call: the call at hand.
        looks: takes the marks.
        home_dir: the data folder.
        waits: whether to wait for the call, and to leave it at that if it does not come.
    """
    written = _is_written(call)
    for _ in range(_ATTEMPTS if waits and not written else 0):
        _pause()
        written = _is_written(call)
        if written:
            break
    try:
        _replay(call, looks, home_dir)
    except OSError:
        pass  # a session that has no transcript has no past that could be known
    if written or waits:
        looks.note_past()


def _is_written(call: Call) -> bool:
    try:
        return not call.call_id or answers.mentions(call.transcript, call.call_id)
    except OSError:
        return False


def _replay(call: Call, looks: Looks, home_dir: str) -> None:
    for answer in answers.recorded(call.transcript, _MARKS, _is_wanted):
        then = Call(
            answer.tool,
            answer.tool_input,
            answer.response,
            cwd=answer.cwd,
            project_dir=call.project_dir,
        )
        if answer.tool == "Read":
            _look(answer, then, looks)
            continue
        found = toolresult.find(then.tool, then.tool_input, then.response)
        for fetched in experience.fetches(then, found, home_dir) if found else ():
            if fetched.lines:
                looks.note_recalled(fetched.key, *fetched.lines)


def _pause() -> None:
    time.sleep(_PAUSE_S)


def _is_wanted(tool: str, tool_input: dict[str, Any]) -> bool:
    return tool == "Read" or bool(recall.asked_for(tool, tool_input))


def _look(answer: Answer, call: Call, looks: Looks) -> None:
    path = call.tool_input.get("file_path")
    if not isinstance(path, str):
        return
    path = paths.completed(path, call.cwd)
    head = answer.text[:_HEAD_CHARACTERS]
    if head.lstrip(_NUMBERING).startswith(_STUBS):
        _mark_preview(path, head, looks)
        return
    found = toolresult.find(call.tool, call.tool_input, call.response)
    if found and found.lines:
        looks.note_lines(path, found.lines)


def _mark_preview(path: str, head: str, looks: Looks) -> None:
    from brimline.store import stub as stubs

    text = "\n".join([line.lstrip(_NUMBERING) for line in head.split("\n")])
    known = stubs.parse(text)
    if known:
        looks.claim_preview(path, known.key, toolresult.total_lines(text, known.lines or 0))
