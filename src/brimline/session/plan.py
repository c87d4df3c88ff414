"""What a purge would take out of a session, by which strategy, and what each of them saves. Pure.

Disk bytes and context tokens are counted apart: most of a session's bytes never reach the model,
and nothing before the last compaction does. Never chosen: what belongs to the last requests, what a
compaction preserved, what the user pinned, and rows that others need. A result goes by one strategy
only, so that savings add up.
"""

from __future__ import annotations

import json
import re
import uuid
from dataclasses import dataclass, field
from heapq import merge
from typing import TYPE_CHECKING, Any, NamedTuple

from brimline.gauge.reading import characters_per_token
from brimline.session.survey import COPY, TEXT, THOUGHT, TRUNCATED
from brimline.store import directives, layout, stub
from brimline.store.pins import NONE
from brimline.transcript import row as shapes

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from brimline.session.survey import Item, Mark, Progress, Survey

OLD, SUPERSEDED, DUPLICATE, TRUNCATE = "old", "superseded", "duplicates", "truncate"
COPIES, PROGRESS = "copies", "progress"
THINKING, COMPACTION = "thinking", "compaction"
STRATEGIES = {
    OLD: "large results become references",
    SUPERSEDED: "reads before a later read or edit",
    DUPLICATE: "results that came again, word for word",
    COPIES: "the client's own copies (disk only)",
    PROGRESS: "progress rows (disk only)",
    TRUNCATE: "large results keep their first 500 bytes",
}
DISK_ONLY = frozenset({COPIES, PROGRESS})
DEFAULT = frozenset(STRATEGIES) - {TRUNCATE}
_REASONS = {
    OLD: "Taken out of the conversation to make room.",
    SUPERSEDED: "The file was read or changed again later.",
    DUPLICATE: "The same output came again later.",
}
_SOURCE_CHARACTERS = 60
_EXIT = re.compile(r"(?:Error: )?Exit code (\d{1,3})\b")
_COMPACTIONS = uuid.UUID("6f1c8a70-52b4-4d0e-9a53-0b4b1d1d6c11")


@dataclass(frozen=True, slots=True)
class Options:
    """How to purge."""

    threshold_bytes: int = 5_000
    keep_requests: int = 10
    strategies: frozenset[str] = DEFAULT
    remove_thinking: bool = False
    """The API refuses thoughts that were edited and may miss ones that it expects."""
    inject_compaction: bool = False
    """A message to the model that nobody wrote, so it says what it is."""


class Edit(NamedTuple):
    """Something that goes, and why."""

    item: Item
    strategy: str


@dataclass(slots=True)
class Saving:
    """What one strategy saves."""

    items: int = 0
    disk_bytes: int = 0
    context_items: int = 0
    context_characters: int = 0

    def add(self, disk_bytes: int, context_characters: int | None = None) -> None:
        """Count one more; None for what no request contains."""
        self.items += 1
        self.disk_bytes += disk_bytes
        if context_characters is not None:
            self.context_items += 1
            self.context_characters += context_characters


@dataclass(slots=True)
class Plan:
    """What is to be done to a session."""

    survey: Survey
    options: Options
    edits: dict[Mark, list[Edit]] = field(default_factory=dict)
    """By line."""
    drops: list[Progress] = field(default_factory=list)
    """The rows that go."""
    compaction: dict[str, Any] | None = None
    """A row to put in front of the first message."""
    savings: dict[str, Saving] = field(default_factory=dict)
    kept: dict[str, int] = field(default_factory=dict)
    """Large results that stay because they are recent, pinned or preserved."""
    scale: float = 1.0

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to do."""
        return not self.edits and not self.drops

    def in_order(self) -> Iterator[tuple[Mark, list[Edit] | None]]:
        """Every line that changes, first to last; None for those that go."""
        drops = ((row.mark, None) for row in self.drops)
        changes = ((mark, self.edits[mark]) for mark in sorted(self.edits))
        return merge(drops, changes, key=lambda found: found[0].offset)

    @property
    def disk_bytes(self) -> int:
        """By how much the file shrinks."""
        return sum(saving.disk_bytes for saving in self.savings.values())

    @property
    def context_tokens(self) -> int:
        """By how many tokens the next request shrinks, estimated from characters."""
        return sum(self.tokens_of(name) for name in self.savings)

    def tokens_of(self, name: str) -> int:
        """What a strategy saves in tokens, estimated on the scale on which `inspect` shows them."""
        kind = "thinking" if name == THINKING else "tool_result"
        tokens = self.savings[name].context_characters / characters_per_token(self.survey.model)
        return int(tokens * self.survey.scales.get(kind, 1.0) * self.scale)


def make(survey: Survey, options: Options, pinned_digests: Collection[str] = ()) -> Plan:
    """Decide what goes.

    Args:
        survey: what is in the session.
        options: how to purge.
        pinned_digests: the digests of stored content that is pinned.
    """
    plan = Plan(survey, options)
    plan.savings = {name: Saving() for name in STRATEGIES if name in options.strategies}
    guard = _Guard(survey, options, pinned_digests)
    _count_kept(plan, guard)
    for item, name in _chosen_texts(survey, guard, options):
        _take_text(plan, item, name)
    if COPIES in options.strategies:
        pinned = {i.mark.offset for i in survey.items if i.kind == TEXT and guard.is_pinned(i)}
        for item in survey.items:
            if item.kind == COPY and guard.may_go(item) and item.mark.offset not in pinned:
                _take(plan, item, COPIES, item.disk_bytes)
    if PROGRESS in options.strategies:
        plan.drops = _chosen_progress(survey, guard)
        for row in plan.drops:
            plan.savings[PROGRESS].add(row.mark.length)
    if options.remove_thinking:
        _take_thoughts(plan, guard)
    if options.inject_compaction:
        _inject(plan)
    if survey.occupancy_tokens is not None and plan.context_tokens > survey.occupancy_tokens:
        # No more is claimed than the last request held.
        plan.scale = survey.occupancy_tokens / plan.context_tokens
    return plan


class _Guard:
    """Tells what has to stay as it is."""

    def __init__(self, survey: Survey, options: Options, pinned_digests: Collection[str]) -> None:
        self.last_old_request = survey.requests - options.keep_requests
        self._protected = survey.protected
        self._digests = pinned_digests
        wanted = directives.resolve(survey.conversation)
        self._calls = {name for name, pin in wanted.items() if pin.level != NONE}

    def is_recent(self, item: Item) -> bool:
        """Whether something belongs to the last requests."""
        return item.request > self.last_old_request

    def is_protected(self, item: Item) -> bool:
        """Whether a compaction preserved it."""
        return item.uuid in self._protected

    def is_pinned(self, item: Item) -> bool:
        """Whether the user wants a result to stay, by a directive or by a pin in the store."""
        return item.call_id in self._calls or item.digest in self._digests

    def may_go(self, item: Item) -> bool:
        """Whether something is old and nobody asked for it to stay."""
        return not self.is_recent(item) and not self.is_protected(item)


def _count_kept(plan: Plan, guard: _Guard) -> None:
    plan.kept = {"recent": 0, "pinned": 0, "preserved": 0}
    for item in plan.survey.items:
        if item.kind == TEXT and item.size_bytes >= plan.options.threshold_bytes:
            if guard.is_pinned(item):
                plan.kept["pinned"] += 1
            elif guard.is_protected(item):
                plan.kept["preserved"] += 1
            elif guard.is_recent(item):
                plan.kept["recent"] += 1


def _chosen_texts(survey: Survey, guard: _Guard, options: Options) -> Iterator[Edit]:
    """The results that go."""
    wanted = options.strategies
    superseded = _superseded_calls(survey) if SUPERSEDED in wanted else set()
    repeated = _repeated_texts(survey) if DUPLICATE in wanted else set()
    by_age = TRUNCATE if TRUNCATE in wanted else OLD
    for item in survey.items:
        if item.kind != TEXT or not guard.may_go(item) or guard.is_pinned(item):
            continue
        if item.is_main and item.call_id in superseded:
            yield Edit(item, SUPERSEDED)
        elif id(item) in repeated:
            yield Edit(item, DUPLICATE)
        elif item.size_bytes >= options.threshold_bytes and by_age in wanted:
            yield Edit(item, by_age)


def _superseded_calls(survey: Survey) -> set[str]:
    """Reads whose file was written later, or read again with at least the same lines."""
    found = set()
    written: set[str] = set()
    read: dict[str, list[tuple[int, int]]] = {}
    for call, is_write in reversed(survey.uses):
        file, (first, end) = call.file or "", call.lines
        covered = any(start <= first and end <= stop for start, stop in read.get(file, []))
        again = file in written or covered
        if again and not is_write:
            found.add(call.id)
        if call.id not in survey.answered:
            continue
        if is_write:
            written.add(file)
        elif not again:
            read.setdefault(file, []).append(call.lines)
    return found


def _repeated_texts(survey: Survey) -> set[int]:
    """Results of the main thread that occur again later (by identity)."""
    found = set()
    seen: set[str] = set()
    for item in reversed(survey.items):
        if item.kind == TEXT and item.is_main:
            if item.digest in seen:
                found.add(id(item))
            seen.add(item.digest)
    return found


def _chosen_progress(survey: Survey, guard: _Guard) -> list[Progress]:
    """Old progress rows on which nothing else hangs."""
    names = {row.name for row in survey.progress}
    recent = {row.name for row in survey.progress if row.request > guard.last_old_request}
    needed: set[str] = set()
    for name in names & (survey.referenced | survey.protected | recent):
        # With those on the way to its first parent.
        current: str | None = name
        while current in names and current not in needed:
            needed.add(current)
            current = survey.parents.get(current)
    return [row for row in survey.progress if row.name not in needed]


def _take_text(plan: Plan, item: Item, name: str) -> None:
    """Take a result out, unless what replaces it is no shorter."""
    new = replacement(item, name)
    saved_bytes = item.disk_bytes - len(json.encoder.encode_basestring(new).encode())
    if saved_bytes > 0 and item.characters > len(new):
        _take(plan, item, name, saved_bytes, item.characters - len(new))


def _take(plan: Plan, item: Item, name: str, disk_bytes: int, characters: int = 0) -> None:
    """Note that something goes, and what the next request loses, if it is in it at all."""
    survey = plan.survey
    plan.edits.setdefault(item.mark, []).append(Edit(item, name))
    in_context = item.is_main and item.segment == survey.segment
    in_context &= item.kind != COPY and item.call_id not in survey.cleared
    plan.savings[name].add(disk_bytes, characters if in_context else None)


def _take_thoughts(plan: Plan, guard: _Guard) -> None:
    """Thoughts of turns that have ended."""
    plan.savings[THINKING] = Saving()
    for item in plan.survey.items:
        if item.kind == THOUGHT and item.turn < plan.survey.turn and guard.may_go(item):
            _take(plan, item, THINKING, item.disk_bytes, item.characters)


def _inject(plan: Plan) -> None:
    """Have a compaction's summary put before the first message."""
    saving = plan.savings[COMPACTION] = Saving()
    if plan.survey.first_message is None or plan.survey.segment:
        return
    mark, around = plan.survey.first_message
    name = str(uuid.uuid5(_COMPACTIONS, f"{plan.survey.session_id} {around['uuid']}"))
    count = sum(plan.savings[one].items for one in plan.savings if one in _REASONS | {TRUNCATE: ""})
    text = (
        "[brimline] No model wrote this summary: it marks where this conversation was shortened "
        f"by hand. Nothing was summarised; {count} old tool results below are references to "
        "stored content, and every message is still there."
    )
    plan.compaction = shapes.compact_summary(around, name, text)
    plan.edits.setdefault(mark, [])
    parent = around.get(shapes.PARENT_FIELD)
    saving.add(-len(encoded(plan.compaction)) - 1 - len(json.dumps(name)) + len(json.dumps(parent)))


def encoded(row: dict[str, Any]) -> bytes:
    """A row as the client writes it; half characters are escaped, as it does too."""
    try:
        return json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        return json.dumps(row, separators=(",", ":")).encode()


def replacement(item: Item, strategy: str) -> str:
    """What the model reads instead of a result: its beginning, or what it was and where it is."""
    if strategy == TRUNCATE:
        return f"{item.head}{TRUNCATED}{item.size_bytes} bytes]"
    told = stub.Stub(
        key_of(item),
        item.size_bytes,
        item.lines,
        exit_code=exit_code_of(item),
        tool=_encodable(item.call.name) if item.call else None,
        source=_source_of(item),
    )
    again = ", or Read it again" if item.call and item.call.name == "Read" else ""
    return f"{stub.build(told)}\n{_REASONS[strategy]} {stub.way_back(key_of(item), again=again)}"


def key_of(item: Item) -> str:
    """The key of a result in the store."""
    return layout.PREFIX + item.digest


def exit_code_of(item: Item) -> int | None:
    """The code that a failed command ended with."""
    found = _EXIT.match(item.head) if item.is_error else None
    return int(found[1]) if found else None


def _source_of(item: Item) -> str | None:
    """What the result came from, short enough for a reference."""
    if item.call is None or not item.call.source:
        return None
    source = " ".join(_encodable(item.call.source).split())
    if len(source) <= _SOURCE_CHARACTERS:
        return source or None
    # A path tells most at its end, a command at its beginning.
    room = _SOURCE_CHARACTERS - 1
    return "…" + source[-room:] if item.call.file else source[:room] + "…"


def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
