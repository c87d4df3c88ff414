"""What a survey of a session finds: all that could be taken out, and all that must stay."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple
from zlib import crc32

from brimline.purge.verify import Facts

if TYPE_CHECKING:
    from brimline.purge.parts import Call
    from brimline.purge.spans import Span
    from brimline.store.directives import Result, Said

_CHECKED_BYTES = 512


class Mark(NamedTuple):
    """A line, so that it can be found again and told from another one in its place."""

    offset: int
    length: int
    check: int
    """Of its end, where a row has its name or its time."""
    ties: int = 0
    """A hash of all that ties its row to others; 0 for rows that go."""


def check_of(raw: bytes) -> int:
    """Tells a line from others of its length."""
    return crc32(raw[-_CHECKED_BYTES:])


@dataclass(slots=True)
class Place:
    """What all that can be taken out of a session have in common."""

    mark: Mark
    span: Span
    request: int
    """The number of the request that it belongs to, the first being 1."""
    uuid: str | None


@dataclass(slots=True)
class ResultText(Place):
    """A text in a tool result that is large enough to be worth a look."""

    call: Call | None
    call_id: str
    is_main: bool
    segment: int
    """How many compactions came before it."""
    size_bytes: int
    characters: int
    digest: str
    """Its SHA-256, which is its key in the store."""
    is_error: bool
    head: str
    """Its beginning: enough for an exit code, or for what is left of it when it is cut."""
    lines: int


@dataclass(slots=True)
class Copy(Place):
    """The client's own copy of a result, which the model never sees."""

    size_bytes: int


@dataclass(slots=True)
class Thought(Place):
    """A block of thinking; `span` is the list of blocks that it is in."""

    index: int
    sizes: tuple[int, ...]
    """The bytes of every block in that list."""
    characters: int
    is_main: bool
    segment: int
    turn: int


@dataclass(slots=True)
class ProgressRows:
    """Rows that tell how far a tool or hook had come: there may be many, so in columns."""

    offsets: array[int] = field(default_factory=lambda: array("q"))
    lengths: array[int] = field(default_factory=lambda: array("q"))
    checks: array[int] = field(default_factory=lambda: array("L"))
    requests: array[int] = field(default_factory=lambda: array("q"))
    names: list[str] = field(default_factory=list)


class FileUse(NamedTuple):
    """A call on the main thread that read or wrote a file."""

    call: Call
    is_write: bool


@dataclass(slots=True)
class Survey:
    """All that a plan is made from."""

    length: int = 0
    """How many bytes were read."""
    ended_length: int = 0
    """Up to the end of the last line that has an end."""
    lines: int = 0
    requests: int = 0
    segment: int = 0
    turn: int = 0
    model: str | None = None
    session_id: str | None = None
    occupancy_tokens: int | None = None
    scales: dict[str, float] = field(default_factory=dict)
    """By kind: what was measured, as `inspect` divides it, over what the lengths say."""
    facts: Facts = field(default_factory=Facts)
    texts: list[ResultText] = field(default_factory=list)
    copies: list[Copy] = field(default_factory=list)
    progress: ProgressRows = field(default_factory=ProgressRows)
    thoughts: list[Thought] = field(default_factory=list)
    uses: list[FileUse] = field(default_factory=list)
    answered: set[str] = field(default_factory=set)
    """Calls on files whose results hold what was asked for."""
    referenced: set[str] = field(default_factory=set)
    """Names that rows other than progress rows need."""
    protected: set[str] = field(default_factory=set)
    """Names of rows that a compaction preserved."""
    cleared: set[str] = field(default_factory=set)
    """Calls whose results the client leaves out by itself."""
    conversation: list[Said | Result] = field(default_factory=list)
    first_message: Place | None = None
    """The first message of the main thread; `span` is its parent's name."""
    envelope: dict[str, Any] = field(default_factory=dict)
    """What the client writes around that message."""
    is_compacted: bool = False
    unparsed_lines: int = 0
    longest_parsed_bytes: int = 0

    def forget_details(self) -> None:
        """Let go of what only a plan is made from; a plan keeps what it needs."""
        self.texts, self.copies, self.thoughts, self.uses = [], [], [], []
        self.progress = ProgressRows()
        self.answered, self.referenced, self.conversation = set(), set(), []
