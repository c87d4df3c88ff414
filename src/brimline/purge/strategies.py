"""Which of the things that could be taken out of a session go, and by which strategy. Pure.

Never chosen: what belongs to the last requests, what a compaction preserved, what the user pinned,
and rows that others need. A result goes by one strategy only, so that savings add up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from brimline.purge.stubbing import DUPLICATE, OLD, SUPERSEDED
from brimline.store import directives
from brimline.store.pins import NONE

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from brimline.purge.plan_items import Copy, Place, ResultText, Survey, Thought

COPIES, PROGRESS, TRUNCATE = "copies", "progress", "truncate"
RECENT, THINKING, COMPACTION = "recent", "thinking", "compaction"

STRATEGIES = {
    OLD: "results over the threshold become references",
    SUPERSEDED: "reads of files that were read or changed again later",
    DUPLICATE: "results that came again, word for word",
    COPIES: "the client's own copies of results (disk only)",
    PROGRESS: "progress rows (disk only)",
    TRUNCATE: "results over the threshold keep their first 500 bytes",
}
# Applied only where `purge.recent` says so: recent results are cut like old ones.
ORDER = (*STRATEGIES, RECENT)
CUTTING = frozenset({TRUNCATE, RECENT})
DEFAULT = frozenset({OLD, SUPERSEDED, DUPLICATE, COPIES, PROGRESS})
DISK_ONLY = frozenset({COPIES, PROGRESS})


class Chosen(NamedTuple):
    """A result that goes, and why."""

    text: ResultText
    strategy: str


class Guard:
    """Tells what has to stay as it is."""

    def __init__(
        self,
        survey: Survey,
        keep_requests: int,
        pinned_digests: Collection[str] = (),
        default_level: str = "soft",
    ) -> None:
        self.last_old_request = survey.requests - keep_requests
        self._protected = survey.protected
        self._digests = pinned_digests
        wanted = directives.resolve(survey.conversation, default_level)
        self._calls = {name for name, pin in wanted.items() if pin.level != NONE}

    def is_recent(self, place: Place) -> bool:
        """Whether something belongs to the last requests."""
        return place.request > self.last_old_request

    def is_protected(self, place: Place) -> bool:
        """Whether a compaction preserved it."""
        return place.uuid in self._protected

    def is_pinned(self, text: ResultText) -> bool:
        """Whether the user wants a result to stay, by a directive or by a pin in the store."""
        return text.call_id in self._calls or text.digest in self._digests

    def is_kept(self, text: ResultText) -> bool:
        """Whether a result stays, however old it is."""
        return self.is_protected(text) or self.is_pinned(text)


def choose_texts(
    survey: Survey, guard: Guard, wanted: Collection[str], threshold_bytes: int
) -> Iterator[Chosen]:
    """The results that go."""
    superseded = superseded_calls(survey) if SUPERSEDED in wanted else frozenset()
    repeated = repeated_texts(survey) if DUPLICATE in wanted else frozenset()
    by_age = TRUNCATE if TRUNCATE in wanted else OLD
    for text in survey.texts:
        if guard.is_kept(text):
            continue
        large = text.size_bytes >= threshold_bytes
        if guard.is_recent(text):
            if large and RECENT in wanted:
                yield Chosen(text, RECENT)
        elif text.is_main and text.call_id in superseded:
            yield Chosen(text, SUPERSEDED)
        elif id(text) in repeated:
            yield Chosen(text, DUPLICATE)
        elif large and by_age in wanted:
            yield Chosen(text, by_age)


def superseded_calls(survey: Survey) -> frozenset[str]:
    """Reads whose file was written later, or read again with at least the same lines."""
    found = set()
    written: set[str] = set()
    read: dict[str, list[tuple[int, int]]] = {}
    for call, is_write in reversed(survey.uses):
        file = call.file or ""
        again = file in written or _is_covered(call.lines, read.get(file, []))
        if again and not is_write:
            found.add(call.id)
        if call.id not in survey.answered:
            continue
        if is_write:
            written.add(file)
        elif not again:
            read.setdefault(file, []).append(call.lines)
    return frozenset(found)


def _is_covered(lines: tuple[int, int], others: list[tuple[int, int]]) -> bool:
    return any(first <= lines[0] and lines[1] <= end for first, end in others)


def repeated_texts(survey: Survey) -> frozenset[int]:
    """Results of the main thread that occur again later (by identity)."""
    found = set()
    seen: set[str] = set()
    for text in reversed(survey.texts):
        if not text.is_main:
            continue
        if text.digest in seen:
            found.add(id(text))
        seen.add(text.digest)
    return frozenset(found)


def choose_copies(survey: Survey, guard: Guard, pinned: Collection[int]) -> Iterator[Copy]:
    """The client's copies of old results; those of pinned results stay with them."""
    for row in survey.copies:
        kept = guard.is_recent(row) or guard.is_protected(row)
        if not kept and row.mark.offset not in pinned:
            yield row


def choose_progress(survey: Survey, guard: Guard) -> Iterator[int]:
    """Old progress rows on which nothing else hangs, by their numbers."""
    names, requests = survey.progress.names, survey.progress.requests
    last = guard.last_old_request
    recent = {name for name, number in zip(names, requests, strict=True) if number > last}
    kept = survey.referenced | survey.protected | recent | survey.facts.repeated
    needed = _with_parents(kept, set(names), survey.facts.parents)
    for number, name in enumerate(names):
        if name not in needed:
            yield number


def _with_parents(kept: set[str], rows: set[str], parents: dict[str, str | None]) -> set[str]:
    """The progress rows that stay, and those on the way from them to their first parent."""
    found: set[str] = set()
    for name in rows & kept:
        current: str | None = name
        while current in rows and current not in found:
            found.add(current)
            current = parents.get(current)
    return found


def choose_thoughts(survey: Survey, guard: Guard) -> Iterator[Thought]:
    """Thoughts of turns that have ended."""
    for thought in survey.thoughts:
        ended = thought.turn < survey.turn
        if ended and not guard.is_recent(thought) and not guard.is_protected(thought):
            yield thought


def is_in_context(survey: Survey, text: ResultText | Thought) -> bool:
    """Whether the next request of the main thread contains something."""
    cleared = getattr(text, "call_id", None) in survey.cleared
    return text.is_main and text.segment == survey.segment and not cleared


def pinned_lines(texts: Iterable[ResultText], guard: Guard) -> frozenset[int]:
    """The offsets of lines that hold a pinned result."""
    return frozenset(text.mark.offset for text in texts if guard.is_pinned(text))
