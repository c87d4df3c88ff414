"""Finds what a line stands for in the session's own file, where the store no longer has it.

A compaction without a model leaves the rows from before it in the file, so that an original which
was pruned, or stored on another machine, is still there: it is known by its hash.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from brimline.bulk import cold, contents, layout, put
from brimline.session import restore
from brimline.transcript import clienttools, find, read, row

if TYPE_CHECKING:
    from collections.abc import Iterator

_FORGOTTEN = "forget"
_LOOK_S = 4.0
_MOST_ORIGINS = 5
_MARKS = (b'"tool_result"', b'"tool_use"')


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


def _was_deleted_by_user(home_dir: str, key: str) -> bool:
    """Tell whether the last that happened to a key is that the user had it deleted."""
    lines = contents.read_store_events(home_dir)
    events = [line.get("event") for line in lines if str(line.get("key")).startswith(key)]
    return events[-1:] == [_FORGOTTEN]


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
