"""What a session adds up to: turns, growth, compactions, what was said and refused. Pure.

Requests and compactions come from its transcript, the rest from its events: lines of its spool, as
dicts with what `well_typed_event_fields` leaves. Without a transcript the events tell of those too.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from math import ceil
from typing import TYPE_CHECKING, Any, NamedTuple

from brimline.state.session import CLEARED, MOVED_OUT

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from brimline.transcript.compactions import Recorded

    Event = dict[str, Any]

# Fewer than this say nothing of one in ten thousand.
_ENOUGH_FOR_LAST_SHARE = 10_000
# The client's clock is ours; this much lies between a hook's start and the row it speaks of.
_SLACK_S = 5.0
# A summary takes minutes at most. Where only the beginning is known, its row may come this late.
_LONGEST_COMPACTION_S = 1_800.0
_KINDS: dict[str, type] = dict.fromkeys(
    (
        *("occupancy", "tail", "window", "tier", "offset", "spoke", "summary_characters"),
        *("messages", "held", "card_characters", "results", "inputs", "freed_tokens"),
    ),
    int,
) | dict.fromkeys(("event", "tool", "trigger", "source", "model", "cwd", "transcript_path"), str)
_KINDS["seconds"] = float
# Readings need not be kept where the transcript has the requests.
_TOLD = (
    *("SessionStart", "UserPromptSubmit", "PreCompact", MOVED_OUT, "PostCompact", "Carried"),
    CLEARED,
)


class Request(NamedTuple):
    """One request of the main thread; `tokens` is its occupancy."""

    at: float
    tokens: int
    model: str | None


@dataclass(slots=True)
class Turn:
    """From one prompt of the user to the next."""

    at: float
    # When the prompt was sent; None before the first request and right after a compaction.
    occupancy_tokens: int | None
    growth_tokens: int = 0
    requests: int = 0
    compactions: int = 0


@dataclass(frozen=True, slots=True)
class Notice:
    """A tier that was announced, or a tool call that was refused."""

    at: float
    event: str
    tier: int | None
    tool: str | None
    occupancy_tokens: int | None


@dataclass(frozen=True, slots=True)
class Cleared:
    """Results that the client dropped by itself, after a pause, or the service."""

    at: float
    results: int
    tokens: int
    by: str = "client"


@dataclass(slots=True)
class Compaction:
    """One compaction, put together from what hooks and the transcript tell."""

    begun_at: float
    at: float
    trigger: str | None = None
    pre_tokens: int | None = None
    post_tokens: int | None = None
    summary_characters: int | None = None
    # `hook` for the text as the model wrote it, `transcript` for the text the next request got.
    summary_source: str | None = None
    # Of the user until then.
    messages: int | None = None
    # How many of these the summary holds word for word.
    held: int | None = None
    card_characters: int | None = None
    # How many results, where no model was asked; None where one wrote a summary.
    moved_out: int | None = None
    freed_tokens: int | None = None
    seconds: float | None = None
    # What the next request did not read from the cache.
    rewritten_tokens: int | None = None
    # Whether it took place: a client may announce one and then compact nothing.
    confirmed: bool = False
    # The transcript's row, by which copies of it in other sessions are known.
    uuid: str | None = None

    @property
    def moved_out_phrase(self) -> str | None:
        """One phrase on a compaction without a model; None for one with a summary."""
        if self.moved_out is None:
            return None
        results = f"{self.moved_out:,} result{'' if self.moved_out == 1 else 's'}"
        return f"without a model, {results} moved out, {self.freed_tokens or 0:,} tokens freed"


@dataclass(slots=True)
class Figures:
    """One session in figures."""

    project: str | None = None
    model: str | None = None
    window_tokens: int | None = None
    first_at: float | None = None
    last_at: float | None = None
    turns: list[Turn] = field(default_factory=list)
    # Model, and occupancy at each request, between one compaction and the next.
    segments: list[tuple[str | None, list[int]]] = field(default_factory=list)
    messages: list[Notice] = field(default_factory=list)
    blocks: list[Notice] = field(default_factory=list)
    compactions: list[Compaction] = field(default_factory=list)
    cleared: list[Cleared] = field(default_factory=list)

    @property
    def occupancies(self) -> list[int]:
        """Occupancy at each request, in order."""
        return [tokens for _, segment in self.segments for tokens in segment]


def well_typed_event_fields(line: dict[str, Any]) -> Event:
    """The fields of a line that are of their kind."""
    found = {name: line[name] for name, kind in _KINDS.items() if type(line.get(name)) is kind}
    return found | {"at": float(line["at"])} | ({"blocked": True} if line.get("blocked") else {})


def events_worth_keeping(events: Sequence[Event]) -> list[Event]:
    """The events that tell more than a reading, and the last one."""
    told = [e for e in events[:-1] if e["event"] in _TOLD or "spoke" in e or "blocked" in e]
    return [*told, *events[-1:]]


def requests_measured_by_hooks(events: Iterable[Event]) -> list[Request]:
    """The requests that hooks have measured; parallel hooks often take the same reading."""
    found: list[Request] = []
    seen: set[tuple[int | None, int]] = set()
    model = None
    for event in events:
        model, tokens = event.get("model", model), event.get("occupancy")
        key = (event.get("offset"), tokens or 0)
        if tokens is None or key in seen or (found and found[-1].tokens == tokens):
            continue
        seen.add(key)
        found.append(Request(event["at"], tokens, model))
    return found


def figures_of_session(
    events: Sequence[Event], requests: Sequence[Request], recorded: Iterable[Recorded]
) -> Figures:
    """The figures of a session, all in the order of time."""
    found = Figures(compactions=_merge_compactions(_compactions_from_events(events), recorded))
    found.model = next((each.model for each in reversed(requests) if each.model), None)
    if events:
        found.first_at, found.last_at = events[0]["at"], events[-1]["at"]
        # A fork's transcript begins with the requests of the session that it came from.
        oldest = events[0]["at"] - _SLACK_S
        _add_all_by_time(found, events, [request for request in requests if request.at >= oldest])
    found.cleared = [
        Cleared(
            event["at"],
            event.get("results", 0),
            event.get("freed_tokens", 0),
            event.get("source", "client"),
        )
        for event in events
        if event["event"] == CLEARED
    ]
    for event in events:
        found.project = found.project or event.get("cwd")
        found.model = event.get("model", found.model)
        found.window_tokens = event.get("window", found.window_tokens)
    return found


def gateway_edit_reason_by_time(events: Iterable[Event]) -> dict[float, str]:
    """When a gateway edited what had been sent, and why."""
    edits = [event for event in events if event.get("event") == "Gateway" and "broke" in event]
    return {event["at"]: str(event["broke"]) for event in edits}


def most_saved_and_all_rewritten(events: Iterable[Event]) -> tuple[int | None, int]:
    """The most that a gateway kept out of one request, and what it had written again in all."""
    lines = [event for event in events if event.get("event") == "Gateway"]
    saved, rewritten = (
        [value for line in lines if isinstance(value := line.get(name), int)]
        for name in ("saved", "rewritten")
    )
    return max(saved, default=None), sum(rewritten)


def percentiles(values: list[int]) -> dict[str, int] | None:
    """How a figure is spread, each a value that occurred (nearest rank); None without any."""
    if not values:
        return None
    ordered = sorted(values)
    # The last one only where a value can lie above it.
    wanted = (50, 95, 99, 99.99) if len(ordered) >= _ENOUGH_FOR_LAST_SHARE else (50, 95, 99)
    shares = {f"p{share}": ordered[ceil(len(ordered) * share / 100) - 1] for share in wanted}
    return {"count": len(ordered), **shares, "largest": ordered[-1]}


def _add_all_by_time(figures: Figures, events: Sequence[Event], requests: list[Request]) -> None:
    """Put requests, compactions and notices where they belong by their time."""
    begun = [compaction.begun_at for compaction in figures.compactions]
    sent = [request.at for request in requests]
    # Which compactions came before; a reading taken while one is announced is still of before.
    parts = [bisect_left(begun, at) for at in sent]
    for event in events:
        last = bisect_right(sent, event["at"]) - 1
        tokens = event.get("occupancy") if last < 0 else requests[last].tokens
        _add_if_notice(figures, event, tokens)
        if event["event"] == "UserPromptSubmit":
            # What the transcript does not tell, the status line may have told the hook.
            is_told = last >= 0 and parts[last] == bisect_left(begun, event["at"])
            figures.turns.append(Turn(event["at"], tokens if is_told else event.get("occupancy")))
    _add_requests(figures, requests, parts)


def _add_if_notice(figures: Figures, event: Event, tokens: int | None) -> None:
    if not event.get("spoke") and not event.get("blocked"):
        return
    tier = event.get("spoke", event.get("tier"))
    notice = Notice(event["at"], event["event"], tier, event.get("tool"), tokens)
    (figures.blocks if event.get("blocked") else figures.messages).append(notice)


def _add_requests(figures: Figures, requests: list[Request], parts: list[int]) -> None:
    """The growth of each turn, its compactions, and the segments between these."""
    prompts = [turn.at for turn in figures.turns]
    segments: dict[int, list[Request]] = {}
    for request, part in zip(requests, parts, strict=True):
        segment = segments.setdefault(part, [])
        for turn in _turn_at_time_if_any(figures.turns, prompts, request.at):
            turn.requests += 1
            turn.growth_tokens += max(0, request.tokens - segment[-1].tokens) if segment else 0
        segment.append(request)
    _add_compactions_to_turns(figures, prompts, segments)
    figures.segments += [
        (segment[-1].model, [request.tokens for request in segment])
        for segment in segments.values()
    ]


def _add_compactions_to_turns(
    figures: Figures, prompts: list[float], segments: dict[int, list[Request]]
) -> None:
    for number, compaction in enumerate(figures.compactions, 1):
        for turn in _turn_at_time_if_any(figures.turns, prompts, compaction.begun_at):
            turn.compactions += 1
        if compaction.post_tokens is None and number in segments:
            compaction.post_tokens = segments[number][0].tokens


def _turn_at_time_if_any(turns: list[Turn], prompts: list[float], at: float) -> list[Turn]:
    """The turn that was under way; a prompt's own reading belongs to the one before it."""
    number = bisect_left(prompts, at) - 1
    return turns[number : number + 1] if number >= 0 else []


def _compactions_from_events(events: Iterable[Event]) -> list[Compaction]:
    """The compactions that hooks were told of, the merely announced ones included.

    A compaction is announced (PreCompact) and confirmed by the session starting again and by its
    summary (PostCompact), in either order; any of the three may be missing.
    """
    compactions: list[Compaction] = []
    missing: set[str] = set()
    for event in events:
        name = event["event"]
        if name == "Carried" and compactions:
            for field_name in ("messages", "held", "card_characters"):
                setattr(compactions[-1], field_name, event.get(field_name))
        is_end = name == "PostCompact" or event.get("source") == "compact"
        if name in ("PreCompact", MOVED_OUT) or (is_end and name not in missing):
            compactions.append(_compaction_of_first_event(event))
            missing = {"SessionStart", "PostCompact"}
        if is_end:
            missing.discard(name)
            _confirm_compaction(compactions[-1], event)
    return compactions


def _compaction_of_first_event(event: Event) -> Compaction:
    compaction = Compaction(event["at"], event["at"], event.get("trigger"))
    compaction.moved_out = event.get("results")
    compaction.freed_tokens = event.get("freed_tokens")
    compaction.seconds = event.get("seconds")
    if "occupancy" in event:
        compaction.pre_tokens = event["occupancy"] + event.get("tail", 0)
    return compaction


def _confirm_compaction(compaction: Compaction, event: Event) -> None:
    compaction.confirmed, compaction.at = True, event["at"]
    compaction.trigger = compaction.trigger or event.get("trigger")
    if event.get("summary_characters") and compaction.moved_out is None:
        compaction.summary_source = "hook"
        compaction.summary_characters = event["summary_characters"]


def _merge_compactions(own: list[Compaction], recorded: Iterable[Recorded]) -> list[Compaction]:
    """Fill in from the transcript what hooks were not told, and add what they missed.

    Returns:
        The compactions that took place, in order.
    """
    took_place: list[Compaction] = []
    # The same session may lie in two folders; rows without an id are each their own.
    for row in {row.uuid or number: row for number, row in enumerate(recorded)}.values():
        compaction = _find_or_make_compaction(
            [one for one in own if one not in took_place], row.at or 0.0
        )
        _fill_compaction_from_row(compaction, row)
        took_place.append(compaction)
    took_place += [one for one in own if one.confirmed and one not in took_place]
    return sorted(took_place, key=lambda compaction: compaction.begun_at)


def _find_or_make_compaction(own: list[Compaction], at: float) -> Compaction:
    """The compaction that a row of this time is of; a new one where hooks were told of none."""
    near = [
        compaction
        for compaction in own
        if compaction.begun_at - _SLACK_S <= at <= compaction.at + _LONGEST_COMPACTION_S
    ]
    # The last that had begun by then; else, should clocks differ, the first after it.
    earlier = [compaction for compaction in near if compaction.begun_at <= at]
    return (earlier[-1:] or near[:1] or [Compaction(at, at)])[0]


def _fill_compaction_from_row(compaction: Compaction, row: Recorded) -> None:
    compaction.confirmed, compaction.uuid = True, row.uuid
    compaction.trigger = compaction.trigger or row.trigger
    # The client counts the whole request; our own figure ends with an estimate.
    compaction.pre_tokens = row.pre_tokens or compaction.pre_tokens
    compaction.post_tokens, compaction.rewritten_tokens = row.post_tokens, row.rewritten_tokens
    if compaction.summary_characters is None and row.summary_characters is not None:
        compaction.summary_characters = row.summary_characters
        compaction.summary_source = "transcript"
