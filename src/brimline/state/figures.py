"""What a session adds up to: turns, growth, compactions, what was said and refused. Pure.

Requests and compactions come from its transcript, the rest from its events: lines of its spool, as
dicts with what `sound` leaves of them. Without a transcript the events tell of those too.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from brimline.state.session import MOVED_OUT
from brimline.transcript.compactions import Recorded, Request

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    Event = dict[str, Any]

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
_TOLD = ("SessionStart", "UserPromptSubmit", "PreCompact", MOVED_OUT, "PostCompact", "Carried")


@dataclass(slots=True)
class Turn:
    """From one prompt of the user to the next."""

    at: float
    occupancy_tokens: int | None
    """When the prompt was sent; None before the first request and right after a compaction."""
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


@dataclass(slots=True)
class Compaction:
    """One compaction, put together from what hooks and the transcript tell."""

    begun_at: float
    at: float
    trigger: str | None = None
    pre_tokens: int | None = None
    post_tokens: int | None = None
    summary_characters: int | None = None
    summary_source: str | None = None
    """`hook` for the text as the model wrote it, `transcript` for the text the next request got."""
    messages: int | None = None
    """Of the user until then."""
    held: int | None = None
    """How many of these the summary holds word for word."""
    card_characters: int | None = None
    moved_out: int | None = None
    """How many results, where no model was asked; None where one wrote a summary."""
    freed_tokens: int | None = None
    seconds: float | None = None
    confirmed: bool = False
    """Whether it took place: a client may announce one and then compact nothing."""
    uuid: str | None = None
    """The transcript's row, by which copies of it in other sessions are known."""

    @property
    def account(self) -> str | None:
        """One phrase on a compaction without a model; None for one with a summary."""
        if self.moved_out is None:
            return None
        results = f"{self.moved_out:,} result{'' if self.moved_out == 1 else 's'}"
        freed, seconds = self.freed_tokens or 0, self.seconds or 0
        return f"without a model, {results} moved out, {freed:,} tokens freed, {seconds:.1f} s"


@dataclass(slots=True)
class Figures:
    """One session in figures."""

    project: str | None = None
    model: str | None = None
    window_tokens: int | None = None
    first_at: float | None = None
    last_at: float | None = None
    turns: list[Turn] = field(default_factory=list)
    segments: list[tuple[str | None, list[int]]] = field(default_factory=list)
    """Model, and occupancy at each request, between one compaction and the next."""
    messages: list[Notice] = field(default_factory=list)
    blocks: list[Notice] = field(default_factory=list)
    compactions: list[Compaction] = field(default_factory=list)

    @property
    def occupancies(self) -> list[int]:
        """Occupancy at each request, in order."""
        return [tokens for _, segment in self.segments for tokens in segment]


def sound(line: dict[str, Any]) -> Event:
    """The fields of a line that are of their kind."""
    found = {name: line[name] for name, kind in _KINDS.items() if type(line.get(name)) is kind}
    return found | {"at": float(line["at"])} | ({"blocked": True} if line.get("blocked") else {})


def worth_keeping(events: Sequence[Event]) -> list[Event]:
    """The events that tell more than a reading, and the last one."""
    told = [e for e in events[:-1] if e["event"] in _TOLD or "spoke" in e or "blocked" in e]
    return [*told, *events[-1:]]


def readings(events: Iterable[Event]) -> list[Request]:
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


def add_up(
    events: Sequence[Event], requests: Iterable[Request], recorded: Iterable[Recorded]
) -> Figures:
    """The figures of a session, all in the order of time."""
    found = Figures(compactions=_merged(_announced(events), recorded))
    if events:
        found.first_at, found.last_at = events[0]["at"], events[-1]["at"]
        # A fork's transcript begins with the requests of the session that it came from.
        oldest = events[0]["at"] - _SLACK_S
        _walk(found, events, [request for request in requests if request.at >= oldest])
    for event in events:
        found.project = found.project or event.get("cwd")
        found.model = event.get("model", found.model)
        found.window_tokens = event.get("window", found.window_tokens)
    return found


def gateway_edits(events: Iterable[Event]) -> dict[float, str]:
    """When a gateway edited what had been sent, and why."""
    edits = [event for event in events if event.get("event") == "Gateway" and "broke" in event]
    return {event["at"]: str(event["broke"]) for event in edits}


def gateway_savings(events: Iterable[Event]) -> tuple[int | None, int]:
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
    shares = {f"p{share}": ordered[-(-len(ordered) * share // 100) - 1] for share in (50, 95, 99)}
    return {"count": len(ordered), **shares, "largest": ordered[-1]}


def _walk(found: Figures, events: Sequence[Event], requests: list[Request]) -> None:
    """Put requests, compactions and notices where they belong by their time."""
    begun = [one.begun_at for one in found.compactions]
    prompted = [event for event in events if event["event"] == "UserPromptSubmit"]
    prompts = [event["at"] for event in prompted]
    asked = [request.at for request in requests]
    # Which compactions came before; a reading taken while one is announced is still of before.
    parts = [bisect_left(begun, at) for at in asked]
    for event in prompted:
        last = bisect_right(asked, event["at"]) - 1
        known = last >= 0 and parts[last] == bisect_left(begun, event["at"])
        # What the transcript does not tell, the status line may have told the hook.
        tokens = requests[last].tokens if known else event.get("occupancy")
        found.turns.append(Turn(event["at"], tokens))
    segments: dict[int, list[Request]] = {}
    for request, part in zip(requests, parts, strict=True):
        segment = segments.setdefault(part, [])
        for turn in _turn_at(found.turns, prompts, request.at):
            turn.requests += 1
            turn.growth_tokens += max(0, request.tokens - segment[-1].tokens) if segment else 0
        segment.append(request)
    for number, one in enumerate(found.compactions, 1):
        for turn in _turn_at(found.turns, prompts, one.begun_at):
            turn.compactions += 1
        if one.post_tokens is None and number in segments:
            one.post_tokens = segments[number][0].tokens
    for segment in segments.values():
        found.segments.append((segment[-1].model, [request.tokens for request in segment]))
    for event in [event for event in events if event.get("spoke") or event.get("blocked")]:
        last, tier = bisect_right(asked, event["at"]) - 1, event.get("spoke", event.get("tier"))
        tokens = requests[last].tokens if last >= 0 else event.get("occupancy")
        notice = Notice(event["at"], event["event"], tier, event.get("tool"), tokens)
        (found.blocks if event.get("blocked") else found.messages).append(notice)


def _turn_at(turns: list[Turn], prompts: list[float], at: float) -> list[Turn]:
    """The turn that was under way; a prompt's own reading belongs to the one before it."""
    number = bisect_left(prompts, at) - 1
    return turns[number : number + 1] if number >= 0 else []


def _announced(events: Iterable[Event]) -> list[Compaction]:
    """The compactions that hooks were told of, the merely announced ones included.

    A compaction is announced (PreCompact) and confirmed by the session starting again and by its
    summary (PostCompact), in either order; any of the three may be missing.
    """
    found: list[Compaction] = []
    missing: set[str] = set()
    for event in events:
        name, at = event["event"], event["at"]
        if name == "Carried" and found:
            for field_name in ("messages", "held", "card_characters"):
                setattr(found[-1], field_name, event.get(field_name))
        is_end = name == "PostCompact" or event.get("source") == "compact"
        if name in ("PreCompact", MOVED_OUT) or (is_end and name not in missing):
            found.append(Compaction(at, at, event.get("trigger")))
            found[-1].moved_out = event.get("results")
            found[-1].freed_tokens = event.get("freed_tokens")
            found[-1].seconds = event.get("seconds")
            missing = {"SessionStart", "PostCompact"}
            if "occupancy" in event:
                found[-1].pre_tokens = event["occupancy"] + event.get("tail", 0)
        if is_end:
            missing.discard(name)
            last = found[-1]
            last.confirmed, last.at = True, at
            last.trigger = last.trigger or event.get("trigger")
            if event.get("summary_characters") and last.moved_out is None:
                last.summary_source = "hook"
                last.summary_characters = event["summary_characters"]
    return found


def _merged(own: list[Compaction], recorded: Iterable[Recorded]) -> list[Compaction]:
    """Fill in from the transcript what hooks were not told, and add what they missed.

    Returns:
        The compactions that took place, in order.
    """
    found = []
    # The same session may lie in two folders; rows without an id are each their own.
    for row in {row.uuid or number: row for number, row in enumerate(recorded)}.values():
        at = row.at or 0.0
        near = [
            one
            for one in own
            if one.begun_at - _SLACK_S <= at <= one.at + _LONGEST_COMPACTION_S and one not in found
        ]
        # The last that had begun by then; else, should clocks differ, the first after it.
        earlier = [one for one in near if one.begun_at <= at]
        one = (earlier[-1:] or near[:1] or [Compaction(at, at)])[0]
        found.append(one)
        one.confirmed, one.uuid = True, row.uuid
        one.trigger = one.trigger or row.trigger
        # The client counts the whole request; our own figure ends with an estimate.
        one.pre_tokens = row.pre_tokens or one.pre_tokens
        one.post_tokens = row.post_tokens
        if one.summary_characters is None and row.summary_characters is not None:
            one.summary_characters, one.summary_source = row.summary_characters, "transcript"
    found += [one for one in own if one.confirmed and one not in found]
    return sorted(found, key=lambda one: one.begun_at)
