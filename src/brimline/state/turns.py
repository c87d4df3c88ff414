"""What the events of one session add up to: turns, growth, compactions, segments. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from brimline.transcript.compactions import Recorded

# The client's clock is ours; this much lies between a hook's start and the row it speaks of.
_SLACK_S = 5.0
# A summary takes minutes at most. Where only the beginning is known, its row may come this late.
_LONGEST_COMPACTION_S = 1_800.0
# Our own figure before a compaction ends with an estimate; it is at most this much off.
_OWN_FIGURE_ERROR = 0.2


class Event(NamedTuple):
    """One row of the series."""

    number: int
    at: float
    event: str
    occupancy_tokens: int | None = None
    tail_tokens: int | None = None
    window_tokens: int | None = None
    tier: int | None = None
    transcript_offset: int | None = None
    trigger: str | None = None
    source: str | None = None
    model: str | None = None
    cwd: str | None = None
    spoke: int | None = None
    blocked: int | None = None
    tool: str | None = None
    summary_characters: int | None = None


@dataclass(slots=True)
class Turn:
    """From one prompt of the user to the next."""

    number: int
    at: float
    occupancy_tokens: int | None
    """When the prompt was sent; None before the first request and right after a compaction."""
    growth_tokens: int = 0
    requests: int = 0
    """Model requests that a hook has seen."""
    compactions: int = 0


@dataclass(slots=True)
class Compaction:
    """One compaction, put together from what hooks and the transcript tell."""

    begun_at: float
    at: float | None
    event_number: int | None = None
    """The event that first told of it; None where only the transcript did."""
    trigger: str | None = None
    pre_tokens: int | None = None
    pre_offset: int | None = None
    """Where in the transcript the last request before it is."""
    post_tokens: int | None = None
    summary_characters: int | None = None
    summary_source: str | None = None
    """`hook` for the text as the model wrote it, `transcript` for the text the next request got."""
    confirmed: bool = False
    """Whether it took place: a client may announce one and then compact nothing."""
    recorded: bool = False
    uuid: str | None = None
    """The transcript's row, by which copies of it in other sessions are known."""


@dataclass(slots=True)
class Story:
    """One session in figures."""

    turns: list[Turn] = field(default_factory=list)
    segments: list[tuple[str | None, list[int]]] = field(default_factory=list)
    """Model, and occupancy at each request, between one compaction and the next."""

    @property
    def occupancies(self) -> list[int]:
        """Occupancy at each request, in order."""
        return [tokens for _, segment in self.segments for tokens in segment]


def tell(events: Iterable[Event], compactions: Iterable[Compaction]) -> Story:
    """Walk the events and compactions of a session in order."""
    return _Walk(compactions).through(events)


def compactions_of(events: Iterable[Event]) -> list[Compaction]:
    """The compactions that hooks were told of, the merely announced ones included.

    A compaction is announced (PreCompact) and confirmed by the session starting again and by its
    summary (PostCompact), in either order; any of the three may be missing.
    """
    found: list[Compaction] = []
    missing: set[str] = set()
    for event in events:
        if event.event == "PreCompact":
            found.append(_announced(event))
            missing = {"SessionStart", "PostCompact"}
        elif event.event == "PostCompact" or event.source == "compact":
            if event.event not in missing:
                found.append(Compaction(event.at, event.at, event.number))
                missing = {"SessionStart", "PostCompact"}
            missing.discard(event.event)
            _confirm(found[-1], event)
    return found


def merge(own: Iterable[Compaction], recorded: Iterable[Recorded]) -> list[Compaction]:
    """Fill in from the transcript what hooks were not told, and add what they missed.

    Returns:
        The compactions that took place, in order.
    """
    merged = list(own)
    seen: set[str] = set()
    unmatched: list[Recorded] = []
    for row in recorded:
        if row.uuid in seen:
            continue  # the same session in two folders
        seen.add(row.uuid or "")
        match = _counterpart(merged, row)
        if match is None:
            unmatched.append(row)
        else:
            _fill(match, row)
    for row in unmatched:
        match = _counterpart_by_size(merged, row)
        if match is None:
            match = Compaction(row.at or 0.0, row.at)
            merged.append(match)
        _fill(match, row)
    return sorted((found for found in merged if found.confirmed), key=lambda found: found.begun_at)


class _Walk:
    def __init__(self, compactions: Iterable[Compaction]) -> None:
        found = list(compactions)
        self.announced = {one.event_number for one in found if one.event_number is not None}
        self.unannounced = sorted(one.begun_at for one in found if one.event_number is None)
        self.story = Story()
        self.seen: set[tuple[int | None, int]] = set()
        self.last_tokens: int | None = None
        self.model: str | None = None
        self.segment: list[int] = []

    def through(self, events: Iterable[Event]) -> Story:
        for event in events:
            while self.unannounced and self.unannounced[0] <= event.at:
                del self.unannounced[0]
                self._compaction()
            self.model = event.model or self.model
            self._reading(event)
            if event.number in self.announced:  # its reading is still of what was before
                self._compaction()
            if event.event == "UserPromptSubmit":
                number = len(self.story.turns) + 1
                self.story.turns.append(Turn(number, event.at, event.occupancy_tokens))
        self._end_segment()
        return self.story

    def _reading(self, event: Event) -> None:
        """Use a reading that no earlier event has had; parallel hooks often take the same one.

        A prompt's reading is of the last request before it, so it still belongs to the turn before.
        """
        tokens = event.occupancy_tokens
        key = (event.transcript_offset, tokens or 0)
        if tokens is None or tokens == self.last_tokens or key in self.seen:
            return
        self.seen.add(key)
        self.segment.append(tokens)
        if self.story.turns:
            turn = self.story.turns[-1]
            turn.requests += 1
            if self.last_tokens is not None:
                turn.growth_tokens += max(0, tokens - self.last_tokens)
        self.last_tokens = tokens

    def _compaction(self) -> None:
        self._end_segment()
        self.last_tokens = None
        if self.story.turns:
            self.story.turns[-1].compactions += 1

    def _end_segment(self) -> None:
        if self.segment:
            self.story.segments.append((self.model, self.segment))
        self.segment = []


def _announced(event: Event) -> Compaction:
    found = Compaction(event.at, event.at, event.number, event.trigger)
    found.pre_offset = event.transcript_offset
    if event.occupancy_tokens is not None:
        found.pre_tokens = event.occupancy_tokens + (event.tail_tokens or 0)
    return found


def _confirm(found: Compaction, event: Event) -> None:
    found.confirmed = True
    found.at = event.at
    found.trigger = found.trigger or event.trigger
    if event.summary_characters is not None:
        found.summary_source = "hook"
        found.summary_characters = event.summary_characters


def _counterpart(merged: list[Compaction], row: Recorded) -> Compaction | None:
    """The compaction that a row of the transcript speaks of: the last one that began before it."""
    if row.at is None:
        return None
    fitting = [found for found in merged if not found.recorded and _is_close(found, row.at)]
    return max(fitting, key=lambda found: found.begun_at, default=None)


def _counterpart_by_size(merged: list[Compaction], row: Recorded) -> Compaction | None:
    """The same where a clock was set in between: the first one left with this fill and trigger."""
    for found in merged:
        if found.recorded or not found.confirmed or found.trigger != row.trigger:
            continue
        if found.pre_tokens and row.pre_tokens:
            apart = abs(found.pre_tokens - row.pre_tokens)
            if apart <= _OWN_FIGURE_ERROR * row.pre_tokens:
                return found
    return None


def _is_close(found: Compaction, at: float) -> bool:
    latest = (found.at or found.begun_at) + _LONGEST_COMPACTION_S
    return found.begun_at - _SLACK_S <= at <= latest


def _fill(found: Compaction, row: Recorded) -> None:
    found.confirmed = found.recorded = True
    found.uuid = row.uuid
    found.trigger = found.trigger or row.trigger
    # The client counts the whole request; our own figure ends with an estimate.
    found.pre_tokens = row.pre_tokens or found.pre_tokens
    found.post_tokens = row.post_tokens or found.post_tokens
    if found.summary_characters is None and row.summary_characters is not None:
        found.summary_characters = row.summary_characters
        found.summary_source = "transcript"
