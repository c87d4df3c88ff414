"""What a session was shown before its first hook: previews, read out of its transcript, once.

A fork begins with the rows of the session that it came from under an id of its own, and with none
of its marks. An overwrite of a file that was only seen as a preview needs to know as much.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from brimline.bulk import looks, put, stub
from brimline.bulk.marks import PAST
from brimline.fast import io, json, paths
from brimline.transcript import clienttools, row

if TYPE_CHECKING:
    from brimline.hooks.turn import Turn

_END_BYTES = 4 << 20
_MOST_BYTES = 1 << 30
_HEAD_CHARACTERS = 4_000
# The client was seen to write a call up to 67 ms after the hook before it was started.
_ATTEMPTS = 50
_PAUSE_S = 0.02


def catch_up_from_transcript(turn: Turn, *, waits: bool = False) -> None:
    """Mark the files that the transcript shows as previews.

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
        _mark_previews_in_transcript(turn)
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


def _mark_previews_in_transcript(turn: Turn) -> None:
    path, shown = turn.event.transcript, set[str]()
    for fields in json.rows_backward(path, stub.BEGINNINGS[0].encode(), _MOST_BYTES):
        for result in row.main_thread_results(fields):
            head = result.text[:_HEAD_CHARACTERS].lstrip(put.NUMBERING)
            if head.startswith(stub.BEGINNINGS[0]) and stub.first_reference_in(head):
                shown.add(result.call_id)
    for fields in json.rows_backward(path, b'"Read"', _MOST_BYTES) if shown else ():
        for call in row.main_thread_calls(fields):
            file = clienttools.file_of_call(call.arguments) if call.name == "Read" else ""
            named = paths.normalised_path(file, row.cwd_of(fields) or "")
            # It may be read again and again until the call at hand is in it.
            if file and call.id in shown and not looks.is_known_as_preview(turn, named):
                looks.note_preview_of_file(turn, named)
