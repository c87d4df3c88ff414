"""Purges a session: surveys it, plans, and makes a copy in which old bulk is a line.

Which results go is judged as in a compaction without a model (`bulk.cold`), among those that a
resume sends. Never chosen: what a compaction preserved and what the user pinned. How a copy is made
is told in docs/developers/copying-sessions.md.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from brimline import models
from brimline.bulk import cold, contents, layout, pins, put, said, stub
from brimline.bulk.previews import Previews
from brimline.errors import SessionError
from brimline.session import copies, copying
from brimline.session.copying import Copied, CopyError, Order
from brimline.session.survey import SMALLEST_TEXT_BYTES, line_checksum, row_bytes, take_survey
from brimline.transcript import find
from brimline.transcript.read import Line

if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import BinaryIO

    from brimline.session.survey import Conversation, Item, Mark, Survey, Thought
    from brimline.transcript.read import Progress


class Options(NamedTuple):
    """How to purge; what is None is left to the judgement."""

    threshold_bytes: int | None = None  # from which size on a result is long
    keep_requests: int | None = None  # the last ones, whose results stay
    rule: str = "balanced"  # which rows of the compaction's rule
    # Where the user names some, no others go: how their keys begin, and ranges of requests.
    keys: tuple[str, ...] = ()
    requests: tuple[str, ...] = ()


@dataclass(slots=True)
class Plan:
    """What is to be done to a session."""

    survey: Survey
    options: Options
    # The texts that become lines on each line of the file.
    changes: dict[Mark, list[Item]] = field(default_factory=dict)
    # The results that are replaced, by call and digest.
    results: set[tuple[str, str]] = field(default_factory=set)
    saved_disk_bytes: int = 0  # by how much the file shrinks
    # What the next request loses of the results, each counted once, by call.
    characters_of: Counter[str] = field(default_factory=Counter)
    # Long results that stay because they are pinned or preserved.
    kept: dict[str, int] = field(default_factory=dict)
    # Thinking behind the first replaced result, which its model takes back only unchanged.
    lost_thoughts: list[Thought] = field(default_factory=list)

    @property
    def saved_context_tokens(self) -> int:
        """By how many tokens the next request shrinks, estimated from characters."""
        saved = self._tokens_of_characters(self.characters_of.total()) + self.lost_thinking_tokens
        held = self.survey.occupancy_tokens
        return saved if held is None else min(saved, held)

    @property
    def lost_thinking_tokens(self) -> int:
        """By how many of these because thinking is not sent again."""
        return self._tokens_of_characters(sum(thought.characters for thought in self.lost_thoughts))

    def saved_tokens_by_call(self) -> dict[str, int]:
        """Return what each replaced result saves in tokens."""
        return {
            call: self._tokens_of_characters(count) for call, count in self.characters_of.items()
        }

    def _tokens_of_characters(self, characters: int) -> int:
        return int(characters / models.lookup_model(self.survey.model).characters_per_token)


def plan_purge(path: str, options: Options, home_dir: str, progress: Progress = None) -> Plan:
    """Look at a session and decide; changes nothing, neither the file nor the store.

    Raises:
        SessionError: it has no result that the user named.
        StoreError: the pins cannot be read, or a range is none.
        OSError: the session cannot be read.
    """
    with open(path, "rb", buffering=copying.BLOCK_BYTES) as file:
        length = copying.whole_lines_length(file)
        file.seek(0)
        shown = Previews(home_dir, find.session_id_of(path), path)
        survey = take_survey(file, length, progress, shown)
    plan = make_purge_plan(survey, options, pins.all_pins(home_dir))
    # Only a plan is made from these; it keeps what it needs.
    survey.items = []
    survey.sent.calls, survey.sent.results, survey.sent.said = {}, {}, []
    return plan


def make_purge_plan(survey: Survey, options: Options, pinned_digests: Collection[str] = ()) -> Plan:
    """Decide what goes.

    Args:
        survey: what is in the session.
        options: how to purge.
        pinned_digests: the digests of stored content that is pinned.

    Raises:
        SessionError: there is no result that the user named.
        StoreError: a range is none.
    """
    plan = Plan(survey, options)
    plan.kept = {"pinned": 0, "preserved": 0}
    by_hand = options.keys or options.requests
    going = _ids_of_named_calls(survey, options) if by_hand else _ids_of_cold_calls(survey, options)
    chosen = []
    for item in survey.items:
        if item.segment < survey.sent.segment or item.call.id not in going:
            continue
        digest = layout.digest_of_key(key_of_item(item))
        if digest in pinned_digests:
            plan.kept["pinned"] += 1
        elif item.uuid in survey.protected:
            plan.kept["preserved"] += 1
        else:
            chosen.append(item)
    _write_lines(chosen, survey.sent)
    for item in chosen:
        _add_text_to_plan(plan, item)
    if models.lookup_model(survey.model).binds_thinking:
        # It is taken back by its model only behind what has not changed.
        first = min((mark.offset for mark in plan.changes), default=survey.length)
        plan.lost_thoughts = [one for one in survey.sent.thoughts if one.offset > first]
    return plan


def _ids_of_named_calls(survey: Survey, options: Options) -> set[str]:
    """The calls whose results the user named, by key or by request; never their own words."""
    count = max(survey.requests, 1)
    ranges = [contents.parse_range(text, count, "request") for text in options.requests]
    calls = survey.sent.calls
    found = {
        call.id for call in calls.values() if any(r.first <= call.request <= r.last for r in ranges)
    }
    for key in options.keys:
        digits = key.strip().lower().removeprefix(layout.PREFIX)
        is_key = layout.is_hex(digits) and len(digits) >= layout.SHORTEST_PREFIX
        named = {
            item.call.id
            for item in survey.items
            if is_key and layout.digest_of_key(key_of_item(item)).startswith(digits)
        }
        if not named & calls.keys():
            raise SessionError(
                f"no result of {SMALLEST_TEXT_BYTES} bytes or more that a resume sends has the key "
                f"{key[:80]!r}: `--request 1: --dry-run` lists them"
            )
        found |= named
    return {name for name in found & calls.keys() if not calls[name].is_users}


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


def _add_text_to_plan(plan: Plan, item: Item) -> None:
    """Note that a text of a result goes, unless what replaces it is no shorter."""
    new = item.line
    disk_bytes = item.disk_bytes - len(json.encoder.encode_basestring(new).encode())
    characters = item.characters - len(new)
    if disk_bytes <= 0 or characters <= 0:
        return
    plan.changes.setdefault(item.mark, []).append(item)
    plan.saved_disk_bytes += disk_bytes
    # A compaction writes a result again, and a resume sends it once.
    result = (item.call.id, item.digest)
    item.is_again = result in plan.results
    if not item.is_again:
        plan.results.add(result)
        if item.call.id not in plan.survey.cleared:
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
        # Whose it is; the folder tells that when the session's file is gone.
        self._owner = {"session": find.session_id_of(path), "cwd": find.folder_it_began_in(path)}

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
            new.write(self._edit_line(raw, plan.changes[mark]))
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
            self._store_text_and_put_line(value, item)
        return raw[:start] + row_bytes(value) + raw[end:]

    def _store_text_and_put_line(self, value: dict[str, Any], item: Item) -> None:
        """Put a reference in the place of a text, which goes into the store."""
        place: Any = value
        for step in item.path[:-1]:
            place = place[step]
        text = place[item.path[-1]]
        place[item.path[-1]] = item.line
        about = {"tool": item.call.tool, "source": item.call.subject} | self._owner
        meta = {name: value for name, value in about.items() if value}
        key = key_of_item(item)
        if item.original:
            layout.mark_as_used(self._home_dir, layout.digest_of_key(key))
        elif put.put(self._home_dir, text.encode(), meta, is_last=False) != key:
            raise copying.changed_meanwhile_error(self._path)
        self._keys[key] = None

    def about(self) -> dict[str, Any]:
        """Return what goes on record beside the copy."""
        plan = self._plan
        return {
            "context_tokens": plan.saved_context_tokens,
            "tokens_of": plan.saved_tokens_by_call(),
            "keys": list(self._keys),
        }

    def verify(self, _new: BinaryIO) -> None:
        """See that the store has what goes."""
        for key in self._keys:
            if contents.length_of_content(self._home_dir, layout.digest_of_key(key)) is None:
                raise CopyError(f"{key} did not arrive in the store: there is no copy, try again")
