"""What a purge would do to a session, and what each part of it saves. Pure but for the survey.

Disk bytes and context tokens are counted apart: most of a session's bytes never reach the model,
and nothing before the last compaction does.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from heapq import merge
from typing import TYPE_CHECKING, NamedTuple

from brimline.gauge.reading import characters_per_token
from brimline.purge import spans, strategies, strategies_opt_in, stubbing
from brimline.purge.plan_items import Mark, ProgressRows

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from brimline.purge.plan_items import ResultText, Survey, Thought
    from brimline.purge.spans import Span

THRESHOLD_BYTES = 5_000
KEEP_REQUESTS = 10


@dataclass(frozen=True, slots=True)
class Options:
    """How to purge."""

    threshold_bytes: int = THRESHOLD_BYTES
    keep_requests: int = KEEP_REQUESTS
    strategies: frozenset[str] = strategies.DEFAULT
    remove_thinking: bool = False
    inject_compaction: bool = False
    default_level: str = "soft"
    """The level of a pin directive that names none."""


class Edit(NamedTuple):
    """One change to a line: the bytes at `span` become something else."""

    span: Span
    strategy: str
    text: ResultText | None = None
    """The result that is to be stored and replaced; None for bytes that just go."""
    blocks: frozenset[int] = frozenset()
    """The blocks to take out of the list at `span`."""
    new: bytes = b""


@dataclass(slots=True)
class LineEdit:
    """All that happens to one line."""

    mark: Mark
    edits: list[Edit] = field(default_factory=list)
    before: bytes = b""
    """A line to put in front of it."""


@dataclass(slots=True)
class Saving:
    """What one strategy saves."""

    items: int = 0
    disk_bytes: int = 0
    context_items: int = 0
    context_characters: int = 0

    def add(self, disk_bytes: int, context_characters: int | None) -> None:
        """Count one more; None for what no request contains."""
        self.items += 1
        self.disk_bytes += disk_bytes
        if context_characters is not None:
            self.context_items += 1
            self.context_characters += context_characters


@dataclass(slots=True)
class Plan:
    """What is to be done to the first `length` bytes of a session."""

    length: int
    options: Options
    lines: dict[int, LineEdit] = field(default_factory=dict)
    """By the offset of the line."""
    drops: ProgressRows = field(default_factory=ProgressRows)
    """Lines that go, in their order."""
    savings: dict[str, Saving] = field(default_factory=dict)
    model: str | None = None
    scales: dict[str, float] = field(default_factory=dict)
    added_names: frozenset[str] = frozenset()
    kept_recent: int = 0
    """Large results that stay because they are recent, and so on."""
    kept_pinned: int = 0
    kept_preserved: int = 0

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to do."""
        return not self.lines and not self.drops.offsets

    def in_order(self) -> Iterator[tuple[Mark, LineEdit | None]]:
        """Every line that changes, first to last; None for those that go."""
        rows = self.drops
        drops = map(Mark, rows.offsets, rows.lengths, rows.checks)
        changes = ((self.lines[offset].mark, self.lines[offset]) for offset in sorted(self.lines))
        return merge(((mark, None) for mark in drops), changes, key=lambda found: found[0].offset)

    @property
    def replaced(self) -> int:
        """How many results are replaced."""
        return sum(
            saving.items
            for name, saving in self.savings.items()
            if name in strategies.ORDER and name not in strategies.DISK_ONLY
        )

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
        kind = "thinking" if name == strategies.THINKING else "tool_result"
        tokens = self.savings[name].context_characters / characters_per_token(self.model)
        return int(tokens * self.scales.get(kind, 1.0))


def make(survey: Survey, options: Options, pinned_digests: Collection[str] = ()) -> Plan:
    """Decide what goes.

    Args:
        survey: what is in the session.
        options: how to purge.
        pinned_digests: the digests of stored content that is pinned.
    """
    plan = Plan(survey.length, options, model=survey.model, scales=survey.scales)
    guard = strategies.Guard(survey, options.keep_requests, pinned_digests, options.default_level)
    wanted = options.strategies
    plan.savings = {name: Saving() for name in strategies.ORDER if name in wanted}
    _count_kept(plan, survey, guard)
    for chosen in strategies.choose_texts(survey, guard, wanted, options.threshold_bytes):
        _replace(plan, survey, chosen)
    if strategies.COPIES in wanted:
        pinned = strategies.pinned_lines(survey.texts, guard)
        for row in strategies.choose_copies(survey, guard, pinned):
            _at(plan, row.mark).edits.append(Edit(row.span, strategies.COPIES))
            plan.savings[strategies.COPIES].add(row.size_bytes, None)
    if strategies.PROGRESS in wanted:
        _drop(plan, survey, guard)
    if options.remove_thinking:
        _remove_thoughts(plan, survey, guard)
    if options.inject_compaction:
        _inject(plan, survey)
    _keep_to_measured(plan, survey.occupancy_tokens)
    return plan


def _keep_to_measured(plan: Plan, occupancy_tokens: int | None) -> None:
    """No more is claimed than the last request held."""
    claimed = plan.context_tokens
    if occupancy_tokens is not None and claimed > occupancy_tokens:
        scale = occupancy_tokens / claimed
        plan.scales = {
            kind: plan.scales.get(kind, 1.0) * scale for kind in ("tool_result", "thinking")
        }


def _count_kept(plan: Plan, survey: Survey, guard: strategies.Guard) -> None:
    for text in survey.texts:
        if text.size_bytes >= plan.options.threshold_bytes:
            if guard.is_pinned(text):
                plan.kept_pinned += 1
            elif guard.is_protected(text):
                plan.kept_preserved += 1
            elif guard.is_recent(text) and strategies.RECENT not in plan.options.strategies:
                plan.kept_recent += 1


def _drop(plan: Plan, survey: Survey, guard: strategies.Guard) -> None:
    rows, saving = survey.progress, plan.savings[strategies.PROGRESS]
    for number in strategies.choose_progress(survey, guard):
        plan.drops.offsets.append(rows.offsets[number])
        plan.drops.lengths.append(rows.lengths[number])
        plan.drops.checks.append(rows.checks[number])
        plan.drops.names.append(rows.names[number])
        saving.add(rows.lengths[number], None)


def replacement(text: ResultText, strategy: str) -> str:
    """What takes the place of a result."""
    if strategy in strategies.CUTTING:
        return stubbing.truncated(text)
    return stubbing.reference(text, strategy)


def _replace(plan: Plan, survey: Survey, chosen: strategies.Chosen) -> None:
    """Take a result out, unless what replaces it is no shorter."""
    text, name = chosen
    new = replacement(text, name)
    saved_bytes = text.span.end - text.span.start - len(spans.quoted(new))
    if saved_bytes <= 0 or text.characters <= len(new):
        return
    _at(plan, text.mark).edits.append(Edit(text.span, name, text))
    in_context = strategies.is_in_context(survey, text)
    plan.savings[name].add(saved_bytes, text.characters - len(new) if in_context else None)


def _remove_thoughts(plan: Plan, survey: Survey, guard: strategies.Guard) -> None:
    saving = plan.savings.setdefault(strategies.THINKING, Saving())
    by_line: dict[Mark, list[Thought]] = {}
    for thought in strategies.choose_thoughts(survey, guard):
        by_line.setdefault(thought.mark, []).append(thought)
    for mark, thoughts in by_line.items():
        blocks = frozenset(thought.index for thought in thoughts)
        _at(plan, mark).edits.append(Edit(thoughts[0].span, strategies.THINKING, blocks=blocks))
        saving.disk_bytes += strategies_opt_in.saved_bytes(thoughts[0], blocks)
        for thought in thoughts:
            in_context = strategies.is_in_context(survey, thought)
            saving.add(0, thought.characters if in_context else None)


def _inject(plan: Plan, survey: Survey) -> None:
    saving = plan.savings.setdefault(strategies.COMPACTION, Saving())
    first = survey.first_message
    if first is None or survey.is_compacted:
        return
    name, row = strategies_opt_in.compaction(survey, plan.replaced)
    line = _at(plan, first.mark)
    line.before = row
    line.edits.append(Edit(first.span, strategies.COMPACTION, new=spans.quoted(name)))
    plan.added_names = frozenset({name})
    grown = len(row) + len(spans.quoted(name)) - (first.span.end - first.span.start)
    saving.add(-grown, None)


def _at(plan: Plan, mark: Mark) -> LineEdit:
    found = plan.lines.get(mark.offset)
    if found is None:
        found = plan.lines[mark.offset] = LineEdit(mark)
    return found
