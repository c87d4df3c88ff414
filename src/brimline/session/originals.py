"""Finds originals in the session's own file, where the store does not have them.

The file keeps what requests have no more: what a line of ours stands for, known by its hash, also
where it was pruned or stored on another machine; and what a summary, the client or the service left
out, known by its call or by its words.
"""

from __future__ import annotations

import heapq
import itertools
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from brimline.bulk import cold, contents, layout, put, stub
from brimline.bulk.previews import Previews
from brimline.fast import io
from brimline.session import restore
from brimline.state import forgotten
from brimline.transcript import clearings, clienttools, find, read, row

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

_FORGOTTEN = "forget"
_LOOK_S = 4.0
_MOST_ORIGINS = 5
_MARKS = (b'"tool_result"', b'"tool_use"')
_COMPACTION_MARK = b"ompact"
_CLEARED_BY_SERVICE = b'"cleared_tool_uses"'
# So many results that fit some words are taken in at once.
_MOST_FITTING = 10


class Kept(NamedTuple):
    """A result that is in the store."""

    tool: str
    subject: str
    key: str


class _Result(NamedTuple):
    """A result in a session's file."""

    offset: int
    call_id: str
    tool: str
    subject: str
    cwd: str
    is_error: bool
    text: str


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
        if io.does_file_contain(path, mark) and any(
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


def store_results(home_dir: str, path: str, call_ids: Collection[str]) -> list[Kept]:
    """Put results of a session into the store: those that could be, in the order of its file.

    What the file does not have, or the user asked to forget, is not among them.

    Args:
        home_dir: the data folder.
        path: the session's file.
        call_ids: whose results; failing ones are left alone.

    Raises:
        OSError: the file cannot be read, or one of them cannot be stored.
    """
    keeper, wanted = _Keeper(home_dir, path), set(call_ids)
    found = (one for one in _results_as_first_written(path) if one.call_id in wanted)
    return [
        Kept(one.tool, one.subject, key)
        for one in found
        if not one.is_error and (key := keeper.keep(one))
    ]


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
    until = time.monotonic() + _LOOK_S
    path = max(find.files_beginning_with(f"{session_id}.jsonl"), key=find.modified_at, default="")
    gone = forgotten.forgotten_line_by_session(home_dir)
    if not path or forgotten.is_forgotten_file(gone, path):
        return
    cut, end = clearings.stand_ins_by_call(path), _offset_of_last_compaction(path)
    # The service does not say which: any.
    is_any = io.does_file_contain(path, _CLEARED_BY_SERVICE)
    if not (cut or end or is_any):
        return
    fitting = (
        (count_fitting(f"{one.tool} {one.subject}\n{one.text}"), one)
        for one in itertools.takewhile(
            lambda _: time.monotonic() < until, _results_as_first_written(path)
        )
        if is_any or one.offset < end or one.call_id in cut
    )
    keeper = _Keeper(home_dir, path)
    for _, one in heapq.nlargest(_MOST_FITTING, (each for each in fitting if each[0])):
        keeper.keep(one)


def _offset_of_last_compaction(path: str) -> int:
    found = read.rows_with_offsets(path, (_COMPACTION_MARK,))
    return max((offset for offset, fields in found if row.is_compaction_row(fields)), default=0)


class _Keeper:
    """Takes results of a session into the store."""

    def __init__(self, home_dir: str, path: str) -> None:
        self._home_dir, self._session = home_dir, find.session_id_of(path)
        self._previews = Previews(home_dir, self._session, path)
        self._gone = _keys_deleted_by_user(home_dir)
        self._is_next = False

    def keep(self, one: _Result) -> str | None:
        """Store a result, or what it is a preview of; None for what is to stay forgotten."""
        if original := self._previews.original_of(one.call_id, one.text):
            return original.key
        data = one.text.encode("utf-8", "surrogatepass")
        if not data or layout.PREFIX + put.sha256(data) in self._gone:
            return None
        meta = {"tool": one.tool, "source": one.subject, "session": self._session, "cwd": one.cwd}
        known = {name: value for name, value in meta.items() if value}
        # The session's file holds it too, so it need not be forced onto the disk.
        how: dict[str, Any] = {"is_last": False, "is_synced": False, "is_next": self._is_next}
        key = put.put(self._home_dir, data, known, **how)
        self._is_next = True
        return key


def _results_as_first_written(path: str) -> Iterator[_Result]:
    """The results of a session; a line of ours in the place of one is none."""
    calls, seen = dict[str, row.Call](), set[str]()
    for offset, fields in read.rows_with_offsets(path, _MARKS):
        calls |= {call.id: call for call in row.main_thread_calls(fields)}
        for result in row.main_thread_results(fields):
            if result.call_id in seen or stub.bytes_and_key_of_line(result.text) is not None:
                continue
            seen.add(result.call_id)
            call = calls.get(result.call_id) or row.Call({})
            subject = clienttools.subject_of_call(call.arguments)
            about = (call.name, subject, row.cwd_of(fields) or "", result.is_error)
            yield _Result(offset, result.call_id, *about, result.text)


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
