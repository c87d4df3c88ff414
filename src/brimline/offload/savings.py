"""What offloading kept out of a session's context, and what it cost, read from its transcript.

Bytes are counted, tokens estimated from characters; what two requests tell about the true cost of
stubs is kept apart. Only what the client would have shown without us is credited.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from brimline.offload import exchanges, replaced
from brimline.offload.accounts import Account, Session, Tally
from brimline.offload.threads import Change, Thread
from brimline.transcript import find

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from brimline.offload.exchanges import Moment
    from brimline.transcript.row import Usage

_MARKS = (b"brimline", b"CCM_CACHED", b"Cached (")
_BLOCK_BYTES = 4 << 20
# The client adds a line of its own to most requests.
_MOST_BESIDE_RATIO = 0.1


def read_session(
    path: str,
    total: Tally | None = None,
    *,
    bash_characters: Callable[[str | None], int] | None = None,
    progress: Callable[[int], None] | None = None,
) -> Session:
    """Read a session and its subagents.

    Args:
        path: the session's file.
        total: takes what no session before has told already.
        bash_characters: how much of a command's output the client shows, by project.
        progress: called with the number of bytes that were read.

    Raises:
        OSError: a file cannot be read.
    """
    session = Session(path)
    tallies = [session.tally, *([total] if total else [])]
    limit = bash_characters or (lambda _: replaced.BASH_CHARACTERS)
    for file in [path, *find.subagents_of(path)]:
        if _mentions_us(file):
            reader = _Reader(session, tallies, limit)
            for moment in exchanges.read(file, progress):
                reader.take(moment, of_subagent=file != path)
        elif progress:
            progress(size_of(file))
    return session


def size_of(path: str) -> int:
    """A file's size; 0 for one that is gone."""
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def _mentions_us(path: str) -> bool:
    """Whether a file may hold a stub or a recall; most do not, and need not be parsed."""
    longest = max(len(mark) for mark in _MARKS)
    with open(path, "rb") as file:
        tail = b""
        while block := file.read(_BLOCK_BYTES):
            block = tail + block
            if any(mark in block for mark in _MARKS):
                return True
            tail = block[-longest:]
    return False


class _Reader:
    """Follows one file; of the main thread also what each request had to carry."""

    def __init__(
        self, session: Session, tallies: Sequence[Tally], limit: Callable[[str | None], int]
    ) -> None:
        self.session = session
        self.tallies = tallies
        self.limit = limit
        self.main, self.subagents = Thread(), Thread()
        self.rows: set[str] = set()
        self.requests: set[str] = set()
        self.carried = Account()
        """What the next request is spared: everything since the last compaction."""
        self.request: Usage | None = None
        self.is_final = False
        self.since: list[Change] = []
        """Stubs and recalls since that request."""
        self.other_characters = 0
        """Everything else since then."""

    def take(self, moment: Moment, *, of_subagent: bool) -> None:
        """Read on; a resumed session repeats rows of the one that it goes on from."""
        if moment.uuid is not None:
            if moment.uuid in self.rows:
                return
            self.rows.add(moment.uuid)
        if of_subagent or moment.in_subagent:
            self._follow(self.subagents, moment)
            return
        session = self.session
        session.project = session.project or moment.project
        session.first_at = session.first_at or moment.timestamp
        session.last_at = moment.timestamp or session.last_at
        if moment.is_boundary:
            self._compact()
        if moment.usage:
            self._measure(moment.usage, moment)
        for change in self._follow(self.main, moment):
            self.carried.add(change.account)
            self.since.append(change)
        self.other_characters += moment.other_characters

    def _follow(self, thread: Thread, moment: Moment) -> list[Change]:
        """Book what the results of a row did to a thread's context."""
        thread.expect(moment)
        changes = []
        for result in filter(thread.is_new, moment.results):
            change = thread.change(result, self.limit(self.session.project))
            if change is None:
                self.other_characters += result.characters if thread is self.main else 0
                continue
            changes.append(change)
            for tally in self.tallies:
                if tally.is_new(f"call {change.call_id}"):
                    account = tally.main if thread is self.main else tally.subagents
                    account.add(change.account)
        return changes

    def _compact(self) -> None:
        self.carried = Account()
        self.main.previewed.clear()
        self.request = None
        self.since, self.other_characters = [], 0

    def _measure(self, usage: Usage, moment: Moment) -> None:
        """Note a request, or a further row of the same one."""
        last = self.request
        if last and usage.message_id is not None and usage.message_id == last.message_id:
            self.request, self.is_final = usage, self.is_final or moment.is_final
            return
        name = f"request {usage.message_id or moment.uuid or len(self.requests)}"
        if name in self.requests:
            return
        self.requests.add(name)
        if last and self.is_final and self.since:
            self._compare(usage.prompt_tokens - last.prompt_tokens - last.output_tokens)
        if self.carried.stubs or self.carried.recalls:
            self._carry(name)
        if usage.prompt_tokens > self.session.fullest_tokens:
            self.session.fullest_tokens = usage.prompt_tokens
            self.session.fullest_kept_out_tokens = self.carried.kept_out_tokens
        self.request, self.is_final = usage, moment.is_final
        self.since, self.other_characters = [], 0

    def _compare(self, growth: int) -> None:
        """Set what stubs took against their estimate, where they made up nearly all the growth."""
        stub_bytes = sum(change.account.stub_bytes for change in self.since)
        alone = self.other_characters <= stub_bytes * _MOST_BESIDE_RATIO
        if growth <= 0 or not alone or any(change.account.recalls for change in self.since):
            return
        for tally in self.tallies:
            if tally.is_new(f"measured {self.since[0].call_id}"):
                tally.measured_stubs += len(self.since)
                tally.measured_tokens += growth
                tally.measured_estimate += sum(one.account.stub_tokens for one in self.since)

    def _carry(self, name: str) -> None:
        for tally in self.tallies:
            if tally.is_new(name):
                tally.requests += 1
                tally.token_requests += self.carried.kept_out_tokens
