"""What a session's file has and its requests have no more: results that were cleared, by whom.

The client drops old results after a pause and says which (`tool_results_cut`); the service says
only how many; where a request is much smaller after a pause and nothing says why, nobody does. The
file keeps every one of them.
"""

from __future__ import annotations

import contextlib
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from brimline.fast import clock, io, json
from brimline.transcript import clienttools, read, row

if TYPE_CHECKING:
    from collections.abc import Sequence

    from brimline.transcript.calls import Call
    from brimline.transcript.typed import Request

CLIENT, SERVICE, NOBODY = "client", "service", ""
_NAMES = {
    CLIENT: "by the client, after a pause",
    SERVICE: "by the service",
    NOBODY: "after a pause, and no record says by whom",
}
_EDITS_MARK = b'"applied_edits"'
_SENT_WHOLE = (*clienttools.DELEGATING, "Skill", "TaskCreate")
_LOOK_BYTES = 1 << 20
# A request that is so much smaller after such a pause was cleared by somebody.
_DROPPED_TOKENS, _PAUSE_S = 20_000, 3_600.0


class Clearing(NamedTuple):
    """Results that are left out of all requests from one on."""

    by: str
    """`CLIENT`, `SERVICE`, or `NOBODY`, where nothing says so."""
    at: float
    after_request: int
    """The number of the last request that had them."""
    results: int
    """How many; 0 where nothing says so."""
    tokens: int
    """As whoever cleared them estimated."""
    call_ids: tuple[str, ...] = ()
    """Whose results they are; only the client says."""
    stand_in: str = ""
    """What the client sends in their place."""

    @property
    def phrase(self) -> str:
        """What was cleared and by whom, for people."""
        results = f"{self.results:,} result{'' if self.results == 1 else 's'}, "
        return f"{results if self.results else ''}~{self.tokens:,} tokens, {_NAMES[self.by]}"


def is_sent_as_stand_in(stand_in: str, call: Call) -> bool:
    """Tell whether the client sends a stand-in for a result that it has cut.

    Failing ones, those of some tools, and those no longer than the stand-in are sent whole.
    """
    if call.tool in _SENT_WHOLE:
        return False
    return not call.is_error and (call.characters is None or len(stand_in) < call.characters)


def stand_ins_by_call(path: str) -> dict[str, str]:
    """What the client sends in the place of the results that a session's file says it has cut.

    The first row for a call wins; `is_sent_as_stand_in` tells whether it is obeyed. What was cut
    before a compaction of ours is sent again: it has written those rows anew.

    Raises:
        OSError: the file cannot be read.
    """
    found: dict[str, str] = {}
    if not io.does_file_contain(path, clienttools.CUT_MARK):
        return found
    for value in read.rows_of_file(path, (clienttools.CUT_MARK, b"ompact")):
        if row.is_compaction_row(value):
            found = {}
        call_ids, stand_in, _ = row.cut_results(value)
        found = dict.fromkeys(call_ids, stand_in) | found
    return found


def last_cut(path: str) -> tuple[float, list[str], int]:
    """Return when the client last cut results, by the end of a session's file: time, calls, tokens.

    The time is 0 where it does not say so.
    """
    with contextlib.suppress(OSError):
        for value in json.rows_backward(path, clienttools.CUT_MARK, _LOOK_BYTES):
            fields = row.as_object(value)
            call_ids, _, tokens = row.cut_results(fields)
            if call_ids:
                return clock.parse_utc(row.timestamp_text_of(fields)) or 0.0, call_ids, tokens
    return 0.0, [], 0


def last_cleared_by_service(path: str) -> tuple[int, int]:
    """Return how many results the last request of a session lacked by the service, and tokens."""
    with contextlib.suppress(OSError):
        for value in json.rows_backward(path, _EDITS_MARK, _LOOK_BYTES):
            if row.usage_of(value):
                return row.results_cleared_by_service(value)
    return 0, 0


class Clearings:
    """Takes the rows that tell of clearings, in order."""

    def __init__(self) -> None:
        self.told: list[Clearing] = []
        self._cut: set[str] = set()
        self._by_service = 0, 0  # results and tokens that the last request lacked

    def start_over(self) -> None:
        """A compaction was made: the service has nothing left out of what is new."""
        self._by_service = 0, 0

    def read_reply(self, value: dict[str, Any], request: Request) -> None:
        """A row of a reply: the last one tells all that its request lacked."""
        results, tokens = row.results_cleared_by_service(value)
        before, tokens_before = self._by_service
        if results > before:
            self._by_service = results, tokens
            about = (results - before, max(0, tokens - tokens_before))
            self.told.append(Clearing(SERVICE, request.at, request.number - 1, *about))

    def read_cut(self, value: dict[str, Any], calls: dict[str, Call], requests: int) -> None:
        """A row that may cut results from here on; of several rows for one the first holds."""
        call_ids, stand_in, tokens = row.cut_results(value)
        obeyed = []
        for name in call_ids:
            call = calls.get(name)
            if name in self._cut or (call and not is_sent_as_stand_in(stand_in, call)):
                continue
            obeyed.append(name)
            if call:
                calls[name] = call._replace(cut_by_client=True)
        self._cut.update(call_ids)
        if obeyed:
            at = clock.parse_utc(row.timestamp_text_of(value)) or 0.0
            about = (len(obeyed), tokens * len(obeyed) // len(call_ids), tuple(obeyed), stand_in)
            self.told.append(Clearing(CLIENT, at, requests, *about))

    def with_drops_between(self, requests: Sequence[Request]) -> list[Clearing]:
        """The same in order of time, with the drops after a pause that nothing explains."""
        told = {clearing.after_request for clearing in self.told}
        drops = [
            Clearing(NOBODY, now.at, last.number, 0, last.tokens - now.tokens)
            for last, now in pairwise(requests)
            if (last.segment, last.model) == (now.segment, now.model)
            and last.tokens - now.tokens >= _DROPPED_TOKENS
            and now.at - last.at >= _PAUSE_S
            and last.number not in told
        ]
        return sorted([*self.told, *drops], key=lambda one: one.after_request)
