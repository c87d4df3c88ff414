"""Purges a session: surveys it, plans, and makes a copy in which old bulk is a line.

Disk bytes and context tokens are counted apart: most of a session's bytes never reach the model,
and nothing before the last compaction does. Which results go is judged as in a compaction without a
model (`compaction.cold`). Never chosen: what a compaction preserved, what the user pinned, and rows
that others need. How a copy is made is told in docs/developers/copying-sessions.md.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from brimline import models
from brimline.bulk import cold, contents, layout, pins, put, said, stub
from brimline.bulk.pins import NONE
from brimline.bulk.previews import Previews
from brimline.session import copies, copying
from brimline.session.copying import Copied, CopyError, Order
from brimline.session.survey import COPY, PROGRESS_ROW, TEXT, line_checksum, row_bytes, take_survey
from brimline.transcript import find, row
from brimline.transcript.read import Line

if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import BinaryIO

    from brimline.session.survey import Conversation, Item, Mark, Survey, Thought
    from brimline.transcript.read import Progress

OLD, COPIES, PROGRESS = "old", "copies", "progress"
STRATEGIES = {
    OLD: "old bulk becomes a line that can be recalled",
    COPIES: "the client's own copies (disk only)",
    PROGRESS: "progress rows (disk only)",
}
DEFAULT = frozenset(STRATEGIES)
# Of these the client's own copies and progress rows stay.
_KEPT_REQUESTS = 10
# There may be tens of thousands of lines that go.
_NOTHING: list[Item] = []


class Options(NamedTuple):
    """How to purge; what is None is left to the judgement."""

    threshold_bytes: int | None = None  # from which size on a result is long
    keep_requests: int | None = None  # the last ones, whose results stay
    strategies: frozenset[str] = DEFAULT
    rule: str = "balanced"  # which rows of the compaction's rule


@dataclass(slots=True)
class Saving:
    """What one strategy saves."""

    items: int = 0
    disk_bytes: int = 0
    context_items: int = 0
    context_characters: int = 0


@dataclass(slots=True)
class Plan:
    """What is to be done to a session."""

    survey: Survey
    options: Options
    # What changes on each line, in the order of the file; nothing where the whole line goes.
    changes: dict[Mark, list[Item]] = field(default_factory=dict)
    dropped: set[str] = field(default_factory=set)  # the names of the rows that go
    savings: dict[str, Saving] = field(default_factory=dict)
    # The results that are replaced, by call and digest.
    results: set[tuple[str, str]] = field(default_factory=set)
    # What the next request loses of the results, each counted once, by call.
    characters_of: Counter[str] = field(default_factory=Counter)
    # Long results that stay because they are pinned or preserved.
    kept: dict[str, int] = field(default_factory=dict)
    # Thinking behind the first replaced result, which its model takes back only unchanged.
    lost_thoughts: list[Thought] = field(default_factory=list)

    @property
    def saved_disk_bytes(self) -> int:
        """By how much the file shrinks."""
        return sum(saving.disk_bytes for saving in self.savings.values())

    @property
    def saved_context_tokens(self) -> int:
        """By how many tokens the next request shrinks, estimated from characters."""
        saved = sum(self.tokens_saved_by(name) for name in self.savings) + self.lost_thinking_tokens
        held = self.survey.occupancy_tokens
        return saved if held is None else min(saved, held)

    @property
    def lost_thinking_tokens(self) -> int:
        """By how many of these because thinking is not sent again."""
        return self._tokens_of_characters(sum(thought.characters for thought in self.lost_thoughts))

    def tokens_saved_by(self, name: str) -> int:
        """What a strategy saves in tokens."""
        return self._tokens_of_characters(self.savings[name].context_characters)

    def saved_tokens_by_call(self) -> dict[str, int]:
        """What each replaced result saves in tokens."""
        return {
            call: self._tokens_of_characters(count) for call, count in self.characters_of.items()
        }

    def _tokens_of_characters(self, characters: int) -> int:
        return int(characters / models.lookup_model(self.survey.model).characters_per_token)


def plan_purge(path: str, options: Options, home_dir: str, progress: Progress = None) -> Plan:
    """Look at a session and decide; changes nothing, neither the file nor the store.

    Raises:
        StoreError: the pins cannot be read.
        OSError: the session cannot be read.
    """
    with open(path, "rb", buffering=copying.BLOCK_BYTES) as file:
        length = copying.whole_lines_length(file)
        file.seek(0)
        shown = Previews(home_dir, find.session_id_of(path), path)
        survey = take_survey(file, length, progress, shown)
    plan = make_purge_plan(survey, options, pins.all_pins(home_dir))
    # Only a plan is made from these; it keeps what it needs.
    survey.items, survey.conversation, survey.referenced = [], [], set()
    survey.sent.calls, survey.sent.results, survey.sent.said = {}, {}, []
    return plan


def make_purge_plan(survey: Survey, options: Options, pinned_digests: Collection[str] = ()) -> Plan:
    """Decide what goes.

    Args:
        survey: what is in the session.
        options: how to purge.
        pinned_digests: the digests of stored content that is pinned.
    """
    plan = Plan(survey, options)
    plan.savings = {name: Saving() for name in STRATEGIES if name in options.strategies}
    plan.kept = {"pinned": 0, "preserved": 0}
    chooser = _Chooser(survey, options, pinned_digests)
    chosen = []
    for item in survey.items:
        strategy, reason = chooser.strategy_that_could_remove(item), chooser.why_protected(item)
        if strategy == OLD and reason:
            plan.kept[reason] += 1
        if strategy in options.strategies and not reason:
            item.strategy = strategy
            chosen.append(item)
    _write_lines([item for item in chosen if item.kind == TEXT], survey.sent)
    for item in chosen:
        _add_item_to_plan(plan, item)
    if models.lookup_model(survey.model).binds_thinking:
        plan.lost_thoughts = _thoughts_purge_would_lose(plan)
    return plan


def _thoughts_purge_would_lose(plan: Plan) -> list[Thought]:
    """The thinking behind the first line that changes in what the model is sent."""
    texts = [item.mark for edits in plan.changes.values() for item in edits if item.kind == TEXT]
    first = min([mark.offset for mark in texts], default=plan.survey.length)
    return [thought for thought in plan.survey.sent.thoughts if thought.offset > first]


class _Chooser:
    """Tells what has to stay as it is, and by which strategy the rest may go."""

    def __init__(self, survey: Survey, options: Options, pinned_digests: Collection[str]) -> None:
        self._survey = survey
        kept = _KEPT_REQUESTS if options.keep_requests is None else options.keep_requests
        self._last_old_request = survey.requests - kept
        wanted = pins.match_directives_to_results(survey.conversation).wanted
        self._calls = {name for name, pin in wanted.items() if pin.level != NONE}
        self._digests = pinned_digests
        texts = [item for item in survey.items if item.kind == TEXT]
        self._pinned_lines = {item.mark for item in texts if self._is_pinned(item)}
        self._cold = _ids_of_cold_calls(survey, options)
        self._needed = self._ids_of_progress_rows_to_keep()

    def why_protected(self, item: Item) -> str | None:
        """The reason why something has to stay."""
        if self._is_pinned(item) or (item.kind == COPY and item.mark in self._pinned_lines):
            return "pinned"
        return "preserved" if item.uuid in self._survey.protected else None

    def _is_recent(self, item: Item) -> bool:
        """Whether something belongs to the last requests, with which the client goes on."""
        return item.request > self._last_old_request

    def _is_pinned(self, item: Item) -> bool:
        """Whether the user wants a result to stay, by a directive or by a pin in the store."""
        digest = layout.digest_of_key(key_of_item(item)) if item.digest else ""
        return item.call.id in self._calls or digest in self._digests

    def strategy_that_could_remove(self, item: Item) -> str:
        """By what something that may go would go, wanted or not; empty for what may not."""
        if item.kind == COPY:
            return "" if self._is_recent(item) else COPIES
        if item.kind == PROGRESS_ROW:
            return "" if self._is_recent(item) or item.uuid in self._needed else PROGRESS
        is_present = item.is_main and item.segment >= self._survey.sent.segment
        return OLD if is_present and item.call.id in self._cold else ""

    def _ids_of_progress_rows_to_keep(self) -> set[str | None]:
        """Progress rows that others hang on, with those on the way to their first parent."""
        survey = self._survey
        found = {item.uuid: item for item in survey.items if item.kind == PROGRESS_ROW}
        needed: set[str | None] = set()
        for name, item in found.items():
            is_kept = self._is_recent(item) or self.why_protected(item)
            current = name if is_kept or name in survey.referenced else None
            while current in found and current not in needed:
                needed.add(current)
                current = survey.parents.get(current or "")
        return needed


def _ids_of_cold_calls(survey: Survey, options: Options) -> set[str]:
    """The calls whose results are old bulk in what a resume sends."""
    calls, kept = list(survey.sent.calls.values()), 0
    rule = cold.RULES.get(options.rule, cold.RULES["balanced"])
    if options.keep_requests is not None:
        last_old = survey.requests - options.keep_requests
        kept = sum(call.request > last_old for call in calls)
        rule = rule._replace(hot_calls=kept, warm_calls=0)
    least = options.threshold_bytes
    if least is not None:
        rule = rule._replace(long_characters=least, long_old_characters=least)
    found = [gone.call for gone in cold.select_cold_results(calls, survey.sent.results, rule)]
    last = {call.id for call in calls[len(calls) - kept :]}
    return {
        call.id for call in found if call.id not in last and (call.characters or 0) >= (least or 0)
    }


def _write_lines(items: list[Item], sent: Conversation) -> None:
    """Say what stands in for each result, as a compaction does: the newest first."""
    gone = {item.call.id for item in items}
    for item in items:
        item.line = stub.build_line(
            item.call.tool, item.call.subject, item.size_bytes, key_of_item(item)
        )
    kept = (text for call, text in sent.results.items() if call not in gone)
    sight = said.InSight([*sent.said, *kept, *(item.line for item in items)])
    lines: dict[tuple[str, str], str] = {}  # a compaction writes a result again
    for item in reversed(items):
        text = sent.results.get(item.call.id, "")
        name = (item.call.id, item.digest)
        beside = item.original.beside if item.original else ""
        if name not in lines and len(text) == item.characters and not beside:
            lines[name] = sight.fill_line(item.line, said.quotable_of_preview(text))
        item.line = f"{lines.get(name, item.line)}\n{beside}".rstrip()


def _add_item_to_plan(plan: Plan, item: Item) -> None:
    """Note that something goes."""
    saving = plan.savings[item.strategy]
    if item.kind == TEXT:
        _add_text_to_plan(plan, item, saving)
        return
    if item.kind == PROGRESS_ROW:
        plan.changes[item.mark] = _NOTHING
        plan.dropped.add(item.uuid or "")
    else:
        plan.changes.setdefault(item.mark, []).append(item)
    saving.items += 1
    saving.disk_bytes += item.disk_bytes


def _add_text_to_plan(plan: Plan, item: Item, saving: Saving) -> None:
    """Note that a text of a result goes, unless what replaces it is no shorter."""
    new = item.line
    disk_bytes = item.disk_bytes - len(json.encoder.encode_basestring(new).encode())
    characters = item.characters - len(new)
    if disk_bytes <= 0 or characters <= 0:
        return
    plan.changes.setdefault(item.mark, []).append(item)
    saving.disk_bytes += disk_bytes
    # A compaction writes a result again, and a resume sends it once.
    result = (item.call.id, item.digest)
    item.is_again = result in plan.results
    if item.is_again:
        return
    plan.results.add(result)
    saving.items += 1
    if item.call.id not in plan.survey.cleared:
        saving.context_items += 1
        saving.context_characters += characters
        plan.characters_of[item.call.id] += characters


def key_of_item(item: Item) -> str:
    """The key of a result in the store; of a preview that of what it stands for."""
    return item.original.key if item.original else layout.PREFIX + item.digest


def purge(path: str, plan: Plan, home_dir: str, *, progress: Progress = None) -> Copied:
    """Make the copy that was planned; the session stays as it is.

    Raises:
        CopyError: the session changed since it was looked at, or the copy is not sound.
        StoreError: what goes could not be stored.
    """
    purged = _PurgedCopy(plan, home_dir, path, progress)
    order = Order(path, home_dir, copies.PURGED, purged.make_new, purged.verify, purged.about)
    order.length = plan.survey.length  # what came since was not judged
    return copying.write_copy(order)


class _PurgedCopy:
    """The steps of a purge in the order in which they are taken."""

    def __init__(self, plan: Plan, home_dir: str, path: str, progress: Progress) -> None:
        self._plan = plan
        self._home_dir, self._path = home_dir, path
        self._progress = progress or (lambda _: None)
        self._keys: dict[str, None] = {}

    def make_new(self, old: BinaryIO, length: int, new: BinaryIO) -> None:
        """Write the rows, and store what they lack; what lies between changes is copied in blocks.

        Raises:
            CopyError: the session is not the one that the plan was made for.
            OSError: it cannot be read or written.
        """
        plan, at = self._plan, 0
        for mark in sorted(plan.changes):
            self._copy_range_unchanged(old, at, mark.offset, new)
            raw = os.pread(old.fileno(), mark.length, mark.offset)
            at = mark.offset + mark.length
            if line_checksum(raw) != mark.check:
                raise copying.changed_meanwhile_error(self._path)
            if edits := plan.changes[mark]:
                new.write(self._edit_line(raw, edits))
            self._progress(mark.length)
        self._copy_range_unchanged(old, at, length, new)
        if plan.lost_thoughts:
            first = plan.lost_thoughts[0].message_id
            is_ended = os.pread(old.fileno(), 1, length - 1) == b"\n"
            notice = copying.thinking_notice(plan.survey.last_row, first)
            new.write(notice if is_ended else b"\n" + notice)

    def _copy_range_unchanged(self, old: BinaryIO, start: int, end: int, new: BinaryIO) -> None:
        for block in copying.read_blocks(old.fileno(), start, end):
            start += new.write(block)
            self._progress(len(block))
        if start < end:
            raise copying.changed_meanwhile_error(self._path)

    def _edit_line(self, raw: bytes, edits: list[Item]) -> bytes:
        """A line as it is to be; what is on it around the row stays."""
        start, end, value = Line(1, 0, raw).records[0]
        for item in edits:
            if item.kind == COPY:
                value = row.row_without_copy_of_result(value)
            else:
                self._store_text_and_put_line(value, item)
        return raw[:start] + row_bytes(value) + raw[end:]

    def _store_text_and_put_line(self, value: dict[str, Any], item: Item) -> None:
        """Put a reference in the place of a text, which goes into the store."""
        place: Any = value
        for step in item.path[:-1]:
            place = place[step]
        text = place[item.path[-1]]
        place[item.path[-1]] = item.line
        about = {"tool": item.call.tool, "source": item.call.subject}
        about["session"] = find.session_id_of(self._path)
        meta = {name: value for name, value in about.items() if value}
        key = key_of_item(item)
        if item.original:
            layout.mark_as_used(self._home_dir, layout.digest_of_key(key))
        elif put.put(self._home_dir, text.encode(), meta, is_last=False) != key:
            raise copying.changed_meanwhile_error(self._path)
        self._keys[key] = None

    def about(self) -> dict[str, Any]:
        """What goes on record beside the copy."""
        plan = self._plan
        return {
            "context_tokens": plan.saved_context_tokens,
            "tokens_of": plan.saved_tokens_by_call(),
            "keys": list(self._keys),
        }

    def verify(self, _new: BinaryIO) -> None:
        """See that no row that stays follows one that goes, and that the store has what goes."""
        dropped = self._plan.dropped
        for name, parent in self._plan.survey.parents.items():
            if parent in dropped and name not in dropped:
                raise CopyError("the copy is not sound, so there is none; please report this")
        for key in self._keys:
            if contents.length_of_content(self._home_dir, layout.digest_of_key(key)) is None:
                raise CopyError(f"{key} did not arrive in the store: there is no copy, try again")
