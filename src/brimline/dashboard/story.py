"""One session for a page, in one pass: every request, what it consists of, where it stood.

Nothing is worked out here that another door tells too: parts come from the ledger that `status
--composition` and `session inspect` use, readings from the one of `status`, compactions and
messages from `history`.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from brimline.errors import SessionError
from brimline.fast import clock
from brimline.figures import history, savings, spool, store, totals
from brimline.figures.totals import Figures
from brimline.gauge import reading
from brimline.gauge.composition import Injections
from brimline.gauge.context import ContextReader
from brimline.gauge.reading import HISTORY_REQUESTS
from brimline.gauge.window import window_proved_by_occupancy
from brimline.session import in_use
from brimline.settings import config
from brimline.state import logs
from brimline.state.session import WINDOW, SessionState, Snapshot
from brimline.transcript import caching, find, read, words
from brimline.transcript.calls import Call
from brimline.transcript.typed import Session
from brimline.transcript.usage import Tail

if TYPE_CHECKING:
    from collections.abc import Callable

    from brimline.fast.policy import Policy
    from brimline.gauge.composition import Composition, Share
    from brimline.gauge.forecast import Forecast
    from brimline.gauge.reading import Reading
    from brimline.transcript.caching import Break
    from brimline.transcript.compactions import Recorded
    from brimline.transcript.row import Spent
    from brimline.transcript.typed import Request, Row
    from brimline.transcript.usage import Usage

_SUBJECT_CHARACTERS = 200
_UNKNOWN_CALL = Call("", "unknown tool", "")
# Somebody may be reading an answer: a pause is no end.
PAUSE_S = 900.0
_KINDS: dict[str, Any] = {"bytes": int, "shown": int, "saved": int, "key": str}


class Item(NamedTuple):
    """Something that a request was the first to carry."""

    kind: str
    name: str
    tokens: int
    subject: str = ""
    offset: int = -1
    """Where its row stands in the file."""


@dataclass
class Moment:
    """One request, and the time until the next one."""

    number: int
    at: float
    segment: int
    """How many compactions came before it."""
    spent: Spent
    last: Tail
    tokens: int = 0
    is_final: bool = False
    """Whether what it put out was recorded in full."""
    parts: dict[str, int] = field(default_factory=dict)
    items: list[Item] = field(default_factory=list)
    reading: Reading = field(init=False)
    outlook: Forecast | None = None
    broke: Break | None = None
    """What had been cached and was not read again."""


@dataclass
class Story:
    """A session from its first request to its last."""

    path: str
    session_id: str
    """In the name of its file."""
    kept_as: str
    """The name under which hooks recorded it."""
    size_bytes: int = 0
    broken_lines: int = 0
    project: str | None = None
    title: str = ""
    """What it is called, else how it began."""
    moments: list[Moment] = field(default_factory=list)
    turns: int = 0
    tools: Counter[str] = field(default_factory=Counter)
    """Tokens of results by tool, over all of the session."""
    injections: Injections = field(default_factory=Injections)
    models: Counter[str] = field(default_factory=Counter)
    compactions: list[Recorded] = field(default_factory=list)
    cache_breaks: list[Break] = field(default_factory=list)
    composed: Composition = field(init=False)
    now: Reading = field(init=False)
    figures: Figures = field(default_factory=Figures)
    saved: savings.Saved = field(default_factory=savings.Saved)
    events: list[dict[str, Any]] = field(default_factory=list)
    """The lines of its spool."""
    failures: list[dict[str, Any]] = field(default_factory=list)
    """Of hooks that could not do all that they should."""
    cost_usd: float | None = None
    """By the client's own count."""
    lost_thinking: list[str] = field(default_factory=list)
    """Where thoughts were left out of all later requests, which, and by whom."""
    cleared: list[str] = field(default_factory=list)
    """What was cleared from all later requests, and by whom."""
    is_running: bool = False
    """Whether its client still has it, or wrote to it a moment ago."""

    @property
    def peak_tokens(self) -> int | None:
        """The fullest that it was."""
        return max((one.tokens for one in self.moments), default=None)

    @property
    def last_at(self) -> float:
        """When it was active last."""
        return self.moments[-1].at if self.moments else find.modified_at(self.path)

    @property
    def most_used_model(self) -> str:
        """The one that answered most often; empty where none did."""
        return next((name for name, _ in self.models.most_common(1)), "")

    @property
    def tokens_by_billing(self) -> dict[str, int]:
        """Tokens by how they were billed, over all requests."""
        return {
            name: sum(
                getattr(one.spent, f"{name.replace(' ', '_')}_tokens") for one in self.moments
            )
            for name in ("input", "cache read", "cache written", "output")
        }

    def count_answered_by_time(self, at: float) -> int:
        """Return how many requests were answered by then."""
        return bisect_right(self.moments, at, key=lambda one: one.at)


def read_story(path: str, home_dir: str, progress: Callable[[int], None] | None = None) -> Story:
    """Read a session and all that is kept of it, with a reading for every request.

    Raises:
        SessionError: its file cannot be read, or is no session's.
    """
    reader, rows = _Reader(path), 0
    try:
        reader.story.size_bytes = os.path.getsize(path)
        for line in read.lines_of_file(path, progress):
            for record in line.records:
                reader.read_row(record.value, line.offset)
            rows += len(line.records)
            reader.story.broken_lines += line.problem in read.BROKEN
        policy = config.build_live_policy(home_dir, reader.session.folder or os.getcwd())
        now, state = reading.reading_and_state(path, reader.session, home_dir, policy)
    except OSError as error:
        raise SessionError(f"cannot read {path}: {error.strerror or error}") from error
    if reader.story.broken_lines and not rows:
        raise SessionError(f"{path} is not a session's transcript")
    name = state.session_id
    spooled = spool.read_spooled_events(home_dir, name)
    story = reader.close(totals.gateway_edit_reason_by_time(spooled))
    with store.opened(home_dir) as found:
        story.figures = history.read_session(found, name, [path]).figures
    story.kept_as, story.now = name, now
    story.saved = savings.saved_in_one_session(home_dir, name)
    story.events = [_fields_of_expected_type(line) for line in spooled]
    now.estimated_tokens = reader.estimated_tokens
    if snapshot := state.snapshot():
        story.cost_usd = snapshot.cost_usd
    _compute_moment_readings(story, state, policy)
    story.is_running = _is_running(path)
    failed = logs.recent_failures(home_dir, 0.0)
    story.failures = [failure for failure in failed if failure.get("session") == name]
    return story


def _is_running(path: str) -> bool:
    try:
        return clock.now_s() - find.modified_at(path) < PAUSE_S or in_use.is_open(path)
    except OSError:
        return False  # it went away meanwhile


def _fields_of_expected_type(line: dict[str, Any]) -> dict[str, Any]:
    """The fields of a line that are of their kind."""
    return {name: one for name, one in line.items() if isinstance(one, _KINDS.get(name, object))}


class _Reader:
    """Takes the rows of a session; a request is complete when the ledger has settled it."""

    def __init__(self, path: str) -> None:
        self.story = Story(path, find.session_id_of(path), find.session_id_of(path))
        self.session, self.context = Session(), ContextReader(self._add_moment)
        self.tail: Tail | None = None
        self.history: list[int] = []
        self.estimated_tokens: int | None = None

    def read_row(self, value: dict[str, Any], offset: int) -> None:
        """Add the next row to the story."""
        found = self.session.read_row(value, offset)
        prompt = self.context.read_row(found).prompt
        own = self.story.title or words.title_in_prompt(prompt or "")
        self.story.title = own[:_SUBJECT_CHARACTERS]
        if found.is_new_compaction:
            self.history = []
        if found.usage:
            self._begin_or_extend_tail(found, found.usage)
        elif self.tail:
            self.tail.result_characters += found.characters

    def _begin_or_extend_tail(self, found: Row, usage: Usage) -> None:
        """What a hook would have read at the end of the file by then."""
        if self.tail is None:
            self.tail = Tail()
            self.history.append(0)
        self.history[-1] = usage.prompt_tokens
        tail = self.tail
        tail.usage, tail.offset = usage, found.offset
        tail.reply_characters += found.characters
        tail.output_tokens = max(tail.output_tokens, usage.output_tokens)
        tail.history = self.history[-HISTORY_REQUESTS:][::-1]

    def _add_moment(self, request: Request, shares: list[Share], parts: Counter[str]) -> None:
        story, last = self.story, self.tail or Tail()
        self.tail = None
        now = Moment(request.number, request.at, request.segment, request.spent, last)
        now.tokens, now.is_final, now.parts = request.tokens, request.is_final, dict(parts)
        story.models[request.model or "unknown"] += 1
        story.injections.add_new_injections_to_counts(shares)
        for piece, kind, tokens, offset in shares:
            call = self.session.calls.get(piece.call_id, _UNKNOWN_CALL)
            called = (call.tool or _UNKNOWN_CALL.tool, call.subject[:_SUBJECT_CHARACTERS])
            name, subject = called if piece.call_id else (piece.name, piece.file)
            if kind == "tool_result":
                story.tools[name] += tokens
            now.items.append(Item(kind, name, tokens, subject, offset))
        story.moments.append(now)

    def close(self, edits: dict[float, str]) -> Story:
        """What was found; `edits` tells when a gateway edited what had been sent, and why."""
        story, session = self.story, self.session
        story.project, story.title = session.folder, session.title or story.title
        story.lost_thinking = [
            f"after request {number:,}: {lost}" for number, lost in session.lost_thinking
        ]
        story.cleared = [
            f"after request {one.after_request:,}: {one.phrase}" for one in session.clearings
        ]
        closed = self.context.close()
        story.composed, story.turns = closed.composed, self.context.turns
        self.estimated_tokens = closed.tokens_after_compaction
        story.compactions = session.compactions
        story.cache_breaks = caching.cache_breaks(session.requests, edits)
        for cache_break in story.cache_breaks:
            story.moments[cache_break.request - 1].broke = cache_break
        return story


def _compute_moment_readings(story: Story, state: SessionState, policy: Policy) -> None:
    """Take the reading of every request, as a hook would have taken it before the next one."""
    snapshot = state.snapshot()
    # What the status line told last says how large the window is, not how full it was then.
    window = snapshot and Snapshot(
        at=0.0, window_tokens=snapshot.window_tokens, model=snapshot.model
    )
    observed = state.largest_number_after_prefix(WINDOW) or 0
    for moment in story.moments:
        observed = max(observed, window_proved_by_occupancy(moment.tokens) or 0)
        moment.reading = reading.make_reading(moment.last, window, policy, observed)
        moment.outlook = moment.reading.forecast()
