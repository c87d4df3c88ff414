"""Full text over stored outputs, through an index that is made and renewed while a search goes on.

Only outputs that a search may find are indexed, the ones used last first, until the time is up;
the next search goes on from there. Where there can be no index, and where no whole word fits, the
content itself is searched.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from brimline.store import layout, read, scan, searchindex, words
from brimline.store.errors import StoreError
from brimline.store.searchindex import BINARY, DAMAGED, HEAD, LARGE, PENDING, WHOLE

if TYPE_CHECKING:
    from collections.abc import Callable

BUDGET_S = 4.0
# Words further behind in one output are not searched, and what is larger is not even unpacked.
HEAD_BYTES = 2_000_000
LARGEST_BYTES = 64_000_000
# Shares of the time: until when to get to know outputs, to index them, to look into those that are
# not indexed yet, and, where nothing was found, to look into all of them.
_KNOW_SHARE, _INDEX_SHARE, _WHOLE_SHARE, _CLOSER_SHARE = 0.2, 0.6, 1.0, 1.5
_BATCH_CHARACTERS = 4_000_000
_ATTEMPTS = 3


@dataclass(slots=True)
class Found:
    """What a search found, and what it could not look into."""

    keys: list[str] = field(default_factory=list)
    """The best first."""
    how: str = "all"
    """`all` words occur, `some` of them do, or all occur `inside` of words."""
    outputs: int = 0
    """How many stored outputs belong here, as far as is known."""
    binary: int = 0
    shortened: int = 0
    """Large outputs of which only the beginning was searched."""
    too_large: int = 0
    damaged: int = 0
    pending: int = 0
    """Outputs that the time did not suffice for; some may belong elsewhere."""


class _Scan(NamedTuple):
    keys: list[str]
    states: dict[str, int]
    """Of the outputs that were looked into, by digest."""
    left: int
    """How many the time did not suffice for."""


def search(
    home_dir: str, query: str, belongs: Callable[[str], bool], *, budget_s: float = BUDGET_S
) -> Found:
    """The stored outputs that a query fits.

    Args:
        home_dir: the data folder.
        query: words and quoted phrases; neither case nor accents matter.
        belongs: whether outputs that were made in a folder are to be searched.
        budget_s: about how long it may take.

    Raises:
        StoreError: the query is empty or too long, or a folder cannot be read.
    """
    wanted = words.terms(query)
    for _ in range(_ATTEMPTS):
        digests = _stored(home_dir)
        if not digests:
            return Found()
        try:
            return _Search(home_dir, wanted, belongs, budget_s).run(digests)
        except searchindex.StaleError:
            continue
        except searchindex.UnusableError:
            break
    done = _scan(home_dir, digests, wanted, time.monotonic() + budget_s, belongs)
    found = _counted(done.states, done.left)
    found.keys = done.keys
    return found


class _Search:
    """One search through the index."""

    def __init__(
        self, home_dir: str, wanted: list[str], belongs: Callable[[str], bool], budget_s: float
    ) -> None:
        self.home_dir = home_dir
        self.wanted = wanted
        self.belongs = belongs
        self.begun = time.monotonic()
        self.budget_s = budget_s

    def run(self, digests: list[str]) -> Found:
        """Bring the index up to date and ask it."""
        with searchindex.opened(self.home_dir, self._until(2 * _CLOSER_SHARE)) as index:
            unknown = self._get_to_know(index, digests)
            mine = self._mine(index, digests)
            states = {output.digest: output.state for output in mine} | self._index(index, mine)
            late = [digest for digest, state in states.items() if state == PENDING]
            rest = _scan(self.home_dir, late, self.wanted, self._until(_WHOLE_SHARE))
            found = _counted(states | rest.states, unknown)
            ids = [output.id for output in mine]
            found.keys = _keys(index.ask(ids, words.expression(self.wanted, "AND"))) + rest.keys
            if not found.keys:
                self._look_closer(found, states)
            if not found.keys and len(self.wanted) > 1:
                found.keys = _keys(index.ask(ids, words.expression(self.wanted, "OR")))
                found.how = "some"
            return found

    def _until(self, share: float) -> float:
        return self.begun + share * self.budget_s

    def _get_to_know(self, index: searchindex.Index, digests: list[str]) -> int:
        """Note where new outputs come from; returns how many the time did not suffice for."""
        known = index.digests()
        index.require_stored(known.difference(digests))
        fresh = [digest for digest in digests if digest not in known]
        cwds: dict[str, str] = {}
        for digest in fresh:
            if cwds and time.monotonic() > self._until(_KNOW_SHARE):
                break
            cwds[digest] = _text_of(self.home_dir, digest, "cwd")
        if cwds:
            index.note(cwds)
        return len(fresh) - len(cwds)

    def _mine(self, index: searchindex.Index, digests: list[str]) -> list[searchindex.Output]:
        """The known outputs that belong here, the one used last first."""
        outputs = index.outputs()
        ours = {cwd for cwd in {output.cwd for output in outputs} if self.belongs(cwd)}
        known = {output.digest: output for output in outputs if output.cwd in ours}
        return [known[digest] for digest in digests if digest in known]

    def _index(self, index: searchindex.Index, outputs: list[searchindex.Output]) -> dict[str, int]:
        """Take outputs into the index; returns the new states of those that were."""
        done: dict[str, int] = {}
        batch: list[searchindex.Entry] = []
        for output in outputs:
            if output.state != PENDING:
                continue
            late = time.monotonic() > self._until(_INDEX_SHARE)
            if (done and late) or not index.has_room():
                break
            state, text = _content(self.home_dir, output.digest)
            source = _text_of(self.home_dir, output.digest, "source")
            batch.append(searchindex.Entry(output, state, source, text))
            done[output.digest] = state
            if sum(len(entry.text) for entry in batch) > _BATCH_CHARACTERS:
                index.write(batch)
                batch = []
        if batch:
            index.write(batch)
        return done

    def _look_closer(self, found: Found, states: dict[str, int]) -> None:
        """No output holds all the words: maybe as parts of others."""
        readable = [digest for digest, state in states.items() if state in (WHOLE, HEAD)]
        inside = _scan(self.home_dir, readable, self.wanted, self._until(_CLOSER_SHARE))
        if inside.keys:
            found.keys, found.how = inside.keys, "inside"
        found.pending += inside.left


def _stored(home_dir: str) -> list[str]:
    """The digest of every output, the one used last first."""
    blobs = sorted(scan.blobs(home_dir), key=lambda blob: blob.used_ns, reverse=True)
    return [blob.digest for blob in blobs]


def _scan(
    home_dir: str,
    digests: list[str],
    wanted: list[str],
    deadline: float,
    belongs: Callable[[str], bool] | None = None,
) -> _Scan:
    """Look into the content itself, as far as the time suffices."""
    keys: list[str] = []
    states: dict[str, int] = {}
    for number, digest in enumerate(digests):
        if number and time.monotonic() > deadline:
            return _Scan(keys, states, len(digests) - number)
        if belongs and not belongs(_text_of(home_dir, digest, "cwd")):
            continue
        states[digest], text = _content(home_dir, digest)
        if text and words.holds_all(text, wanted):
            keys.append(layout.PREFIX + digest)
    return _Scan(keys, states, 0)


def _content(home_dir: str, digest: str) -> tuple[int, str]:
    """What can be searched of an output, and why if that is not all of it."""
    header = scan.header(home_dir, digest)
    if header is not None and header[1] > LARGEST_BYTES:
        return LARGE, ""
    try:
        data = read.get(home_dir, layout.PREFIX + digest, touch=False)
    except StoreError:
        return DAMAGED, ""
    if words.is_binary(data):
        return BINARY, ""
    text = words.plain(data[:HEAD_BYTES].decode("utf-8", "replace"))
    return (WHOLE if len(data) <= HEAD_BYTES else HEAD), text


def _counted(states: dict[str, int], unknown: int) -> Found:
    counts = [list(states.values()).count(state) for state in range(DAMAGED + 1)]
    return Found(
        outputs=len(states),
        binary=counts[BINARY],
        shortened=counts[HEAD],
        too_large=counts[LARGE],
        damaged=counts[DAMAGED],
        pending=counts[PENDING] + unknown,
    )


def _text_of(home_dir: str, digest: str, name: str) -> str:
    """A text of the sidecar; empty where it is unknown."""
    found = read.meta(home_dir, layout.PREFIX + digest).get(name)
    return found if isinstance(found, str) else ""


def _keys(digests: list[str]) -> list[str]:
    return [layout.PREFIX + digest for digest in digests]
