"""Finds originals in the session's own file, where the store does not have them.

The file keeps what requests have no more: what a line of ours stands for, known by its hash, also
where it was pruned or stored on another machine; and what a summary, the client or the service left
out, known by its call or by its words.
"""

from __future__ import annotations

import heapq
import time
from typing import TYPE_CHECKING

from brimline.bulk import cold, contents, layout, put, stub
from brimline.bulk.previews import Previews
from brimline.session import restore
from brimline.state import forgotten
from brimline.transcript import clienttools, find, read, row
from brimline.transcript.clearings import SERVICE
from brimline.transcript.typed import Session

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from brimline.transcript.calls import Call

_FORGOTTEN = "forget"
_LOOK_S = 4.0
_MOST_ORIGINS = 5
_MARKS = (b'"tool_result"', b'"tool_use"')
# Without one of these in its file all of a session is sent.
_UNSENT_MARKS = (b"ompact_boundary", b"sCompactSummary", b'"tool_results_cut"', b'"cleared_tool')
# So many results that fit some words are taken in at once.
_MOST_FITTING = 10


def put_back_into_store(home_dir: str, text: str) -> bool:
    """Put an original into the store again, where a session that mentions its key still has it.

    What the user asked to forget stays forgotten.

    Args:
        home_dir: the data folder.
        text: the key, or how it begins, as people and models write it.

    Raises:
        OSError: it cannot be stored.
    """
    digits = text.strip().lower().removeprefix(layout.PREFIX)
    if not layout.is_hex(digits) or len(digits) < layout.SHORTEST_PREFIX:
        return False
    key = layout.PREFIX + digits
    if _was_deleted_by_user(home_dir, key):
        return False
    until = time.monotonic() + _LOOK_S
    mark = layout.shorten_key(key).encode()
    for path in find.all_transcripts():
        if time.monotonic() > until:
            return False
        if find.file_contains(path, mark) and any(
            _find_and_store(home_dir, place, digits)
            for place in _session_and_origin_files(home_dir, path)
        ):
            return True
    return False


def _session_and_origin_files(home_dir: str, path: str) -> Iterator[str]:
    """The files that may have what a session mentions: its own, and those that it came from."""
    for _ in range(_MOST_ORIGINS):
        yield path
        way = restore.way_back(home_dir, path)
        origin = way.original if way else find.transcript_it_went_on_from(path)
        if origin is None:
            return
        path = origin


def store_results(home_dir: str, path: str, calls: Collection[Call]) -> dict[str, str]:
    """Put results of a session into the store; their keys, by call.

    What the file does not have, or the user asked to forget, has none.

    Args:
        home_dir: the data folder.
        path: the session's file.
        calls: whose results.

    Raises:
        OSError: the file cannot be read, or one of them cannot be stored.
    """
    keys, wanted = dict[str, str](), {call.id: call for call in calls}
    session = find.session_id_of(path)
    previews, gone = Previews(home_dir, session, path), _keys_deleted_by_user(home_dir)
    for call, text, cwd in _first_results(path, wanted):
        if original := previews.original_of(call.id, text):
            keys[call.id] = original.key
            continue
        data = text.encode("utf-8", "surrogatepass")
        if data and layout.PREFIX + put.sha256(data) not in gone:
            meta = {"tool": call.tool, "source": call.subject, "session": session, "cwd": cwd}
            known = {name: value for name, value in meta.items() if value}
            # The session's file holds it too, so it need not be forced onto the disk.
            how = {"is_last": False, "is_synced": False, "is_next": bool(keys)}
            keys[call.id] = put.put(home_dir, data, known, **how)
    return keys


def store_unsent_results_fitting(
    home_dir: str, session_id: str, count_fitting: Callable[[str], int]
) -> None:
    """Put what a session's requests have no more into the store, where it fits what is asked.

    Args:
        home_dir: the data folder.
        session_id: the session.
        count_fitting: tells of a text how many of the words are in it.

    Raises:
        OSError: something cannot be stored.
    """
    path = max(find.files_beginning_with(f"{session_id}.jsonl"), key=find.modified_at, default="")
    gone = forgotten.forgotten_line_by_session(home_dir)
    is_forgotten = forgotten.is_forgotten_file(gone, path)
    if is_forgotten or not any(find.file_contains(path, mark) for mark in _UNSENT_MARKS):
        return
    unsent = {call.id: call for call in unsent_calls(path)}
    fitting = (
        (count_fitting(f"{call.tool} {call.subject}\n{text}"), call.request, call.id)
        for call, text, _ in _first_results(path, unsent)
    )
    best = heapq.nlargest(_MOST_FITTING, (one for one in fitting if one[0]))
    store_results(home_dir, path, [unsent[call_id] for _, _, call_id in best])


def unsent_calls(path: str) -> list[Call]:
    """The calls of a session whose results its requests have no more.

    Raises:
        OSError: the file cannot be read.
    """
    session = Session()
    for _ in session.rows_of(path):
        pass
    segment = len(session.compactions)
    # The service does not say which: any that it has been sent.
    last = max((one.after_request for one in session.clearings if one.by == SERVICE), default=0)
    return [
        call
        for call in session.calls.values()
        if call.characters
        and (call.segment < segment or call.cut_by_client or call.moved_out or call.request <= last)
    ]


def _first_results(path: str, calls: dict[str, Call]) -> Iterator[tuple[Call, str, str]]:
    """Results as they were first written, with the folder; a line of ours is none."""
    left = set(calls)
    for fields in read.rows_of_file(path, _MARKS[:1]):
        for result in row.main_thread_results(fields):
            if result.call_id in left:
                left.remove(result.call_id)
                if stub.bytes_line_stands_for(result.text) is None:
                    yield calls[result.call_id], result.text, row.cwd_of(fields) or ""


def _was_deleted_by_user(home_dir: str, key: str) -> bool:
    """Tell whether the last that happened to a key is that the user had it deleted."""
    return any(gone.startswith(key) for gone in _keys_deleted_by_user(home_dir))


def _keys_deleted_by_user(home_dir: str) -> set[str]:
    lines = contents.read_store_events(home_dir)
    last = {str(line.get("key")): line.get("event") for line in lines}
    return {key for key, event in last.items() if event == _FORGOTTEN}


def _find_and_store(home_dir: str, path: str, digits: str) -> bool:
    """Store the text of a session that has this hash; False where it has none."""
    calls: dict[str, row.Call] = {}
    for fields in read.rows_of_file(path, _MARKS):
        texts = [(result.call_id, result.text) for result in row.main_thread_results(fields)]
        for call in row.any_thread_calls(fields):
            calls[call.id] = call
            texts.append((call.id, cold.readable_input_text(call.arguments)))
        for call_id, text in texts:
            data = text.encode("utf-8", "surrogatepass")
            if put.sha256(data).startswith(digits):
                call = calls.get(call_id) or row.Call({})
                meta = {"tool": call.name, "source": clienttools.subject_of_call(call.arguments)}
                meta |= {"session": find.session_id_of(path), "cwd": row.cwd_of(fields) or ""}
                known = {name: value for name, value in meta.items() if value}
                put.put(home_dir, data, known, is_last=False)
                return True
    return False
