"""The rows of a session and their parents, packed: some sixty bytes a row. Pure.

A session of a gigabyte has hundreds of thousands of rows, which as objects would not fit into what
a command may take. Ids are kept as 64-bit hashes: two alike are expected once in millions of such
sessions.
"""

from __future__ import annotations

from array import array

# In place of a parent's number.
ROOT, MISSING = 0xFFFF_FFFF, 0xFFFF_FFFE
# What is worth remembering of a row, as bits.
ANSWER, PROGRESS, CALL, SAME_REPLY, TALK, COPY = 1, 2, 4, 8, 16, 32

_FIRST_SLOTS = 1 << 10
_MOST_THREADS = 0xFFFF
_MASK = (1 << 64) - 1


def key_of(name: str) -> int:
    """The number that stands for an id within this process; never 0."""
    return (hash(name) & _MASK) or 1


class Numbers:
    """Row numbers under 64-bit keys: a hash table of twelve bytes a slot."""

    def __init__(self) -> None:
        self.count = 0
        self._keys = array("Q", bytes(8 * _FIRST_SLOTS))
        self._values = array("I", bytes(4 * _FIRST_SLOTS))

    def get(self, key: int) -> int | None:
        """The number under a key."""
        slot = self._slot(key)
        return self._values[slot] if self._keys[slot] else None

    def add(self, key: int, value: int) -> int | None:
        """Keep a number; the one that was there stays, and is returned."""
        slot = self._slot(key)
        if self._keys[slot]:
            return self._values[slot]
        self._keys[slot], self._values[slot] = key, value
        self.count += 1
        if self.count * 3 > len(self._keys) * 2:
            self._grow()
        return None

    def _slot(self, key: int) -> int:
        keys = self._keys
        last = len(keys) - 1
        slot = key & last
        while keys[slot] and keys[slot] != key:
            slot = (slot + 1) & last
        return slot

    def _grow(self) -> None:
        keys, values = self._keys, self._values
        self._keys = array("Q", bytes(16 * len(keys)))
        self._values = array("I", bytes(8 * len(keys)))
        for key, value in zip(keys, values, strict=True):
            if key:
                slot = self._slot(key)
                self._keys[slot], self._values[slot] = key, value


class Graph:
    """Every row that has an id, numbered in the order of the file."""

    def __init__(self) -> None:
        self.lines = array("I")
        self.flags = array("B")
        self.digests = array("Q")
        self._keys = Numbers()
        self._parent_keys = array("Q")
        self._threads = array("H")
        self._thread_numbers: dict[str, int] = {}
        self.places: dict[int, int] = {}
        """The position on the line of rows that are not the first there."""
        self.parents = array("I")
        self.has_child = bytearray()
        self._crossed = bytearray()
        """Which rows lie between a row and a parent that was written after it."""

    def __len__(self) -> int:
        """How many rows there are."""
        return len(self.lines)

    def number_of(self, uuid: str) -> int | None:
        """The row with an id, as far as it was added."""
        return self._keys.get(key_of(uuid))

    def add(self, uuid: str, parent: str | None, thread: str, flags: int, digest: int) -> None:
        """Append a row; of several with one id the first keeps it."""
        self._keys.add(key_of(uuid), len(self.flags))
        self._parent_keys.append(key_of(parent) if parent else 0)
        count = len(self._thread_numbers)
        number = self._thread_numbers.setdefault(thread, min(count, _MOST_THREADS))
        self._threads.append(number)
        self.flags.append(flags)
        self.digests.append(digest)

    def place(self, line: int, index: int) -> None:
        """Say where the row just added stands."""
        if index:
            self.places[len(self.lines)] = index
        self.lines.append(line)

    def close(self) -> None:
        """Look up every parent, once all rows are there."""
        get = self._keys.get
        self.parents = array("I", bytes(4 * len(self)))
        self.has_child = bytearray(len(self))
        self._crossed = bytearray(len(self))
        farthest = -1
        for number, key in enumerate(self._parent_keys):
            found = get(key) if key else ROOT
            self.parents[number] = MISSING if found is None else found
            self._crossed[number] = farthest >= number
            if key and found is not None:
                self.has_child[found] = 1
                farthest = max(farthest, found if found >= number else -1)

    def adopt(self, number: int, parent: int) -> None:
        """Give a row another parent."""
        self.parents[number] = parent
        if parent < MISSING:
            self.has_child[parent] = 1

    def same_thread(self, one: int, other: int) -> bool:
        """Whether two rows belong to the same conversation."""
        return self._threads[one] == self._threads[other]

    def ancestors(self, number: int, most: int) -> list[int]:
        """A row and those above it, nearest first; it ends where a cycle closes."""
        found: list[int] = []
        seen: set[int] = set()
        while number < MISSING and number not in seen and len(found) < most:
            seen.add(number)
            found.append(number)
            number = self.parents[number]
        return found

    def descends(self, number: int, other: int) -> bool:
        """Whether a row comes below another."""
        if number < other and not self._crossed[other]:
            return False  # without a link forward nothing comes below what comes later
        for _ in range(len(self)):
            if number >= MISSING or number == other:
                break
            number = self.parents[number]
        return number == other

    def cycles(self) -> list[list[int]]:
        """The rows of each cycle, first in the file first; no row is in two of them."""
        found: list[list[int]] = []
        if all(parent < number or parent >= MISSING for number, parent in enumerate(self.parents)):
            return found
        state = bytearray(len(self))
        for start in range(len(self)):
            path = []
            number = start
            while number < MISSING and not state[number]:
                state[number] = 1
                path.append(number)
                number = self.parents[number]
            if number < MISSING and state[number] == 1:
                found.append(sorted(path[path.index(number) :]))
            for row in path:
                state[row] = 2
        return found
