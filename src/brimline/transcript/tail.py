"""The latest state of a session, found by walking its transcript backwards from the end.

Fast path: imports only `brimline.fast.io`, `brimline.fast.json` and `brimline.transcript.usage`.
The cost does not depend on the length of the file; a whole-file parse never happens here.
"""

from __future__ import annotations

from brimline.fast import io, json
from brimline.transcript.usage import (
    Usage,
    is_boundary,
    timestamp_of,
    usage_of,
    visible_characters,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

WALK_LIMIT_BYTES = 32 << 20
# Once the last usage is known, older requests are only worth a short walk.
HISTORY_LIMIT_BYTES = 1 << 20
_FIRST_BLOCK_BYTES = 64 << 10
_LARGEST_BLOCK_BYTES = 4 << 20
_REGULAR_FILE = 0o100000
_FILE_KIND = 0o170000


class Tail:
    """The last usage, what came after it, and the occupancies that led to it (newest first)."""

    def __init__(self) -> None:
        self.usage: Usage | None = None
        self.boundary_timestamp: str | None = None
        self.offset = 0
        self.output_tokens = 0
        self.reply_characters = 0
        self.result_characters = 0
        self.history: list[int] = []


def read_tail(path: str, requests: int = 4) -> Tail:
    """Read the end of a transcript, back to the given number of requests.

    Nothing before the last compaction counts. `usage` is None where none is found within the limit.

    Raises:
        OSError: the file cannot be read, or is not a regular file.
    """
    walk = _Walk(requests)
    for offset, line in lines_backward(path):
        if walk.take_line(line, offset):
            break
    return walk.tail


def rows_backward(path: str, mark: bytes, limit_bytes: int) -> Iterator[Any]:
    """The rows of lines that hold a mark, the last one first, not further back than a limit.

    Raises:
        OSError: the file cannot be read, or is not a regular file.
    """
    end = None
    for offset, line in lines_backward(path):
        end = offset + len(line) if end is None else end
        if end - offset > limit_bytes:
            return
        if mark in line:
            yield from reversed(_parse(line))


def lines_backward(path: str) -> Iterator[tuple[int, bytes]]:
    """The lines of a regular file from the last to the first, each with its offset.

    Raises:
        OSError: the file cannot be read, or is not a regular file.
    """
    descriptor = io.system.open(io.to_bytes(path), io.READ)
    try:
        stat = io.system.fstat(descriptor)
        if stat.st_mode & _FILE_KIND != _REGULAR_FILE:
            raise OSError("the transcript is not a regular file")
        yield from _lines_backward(descriptor, stat.st_size)
    finally:
        io.system.close(descriptor)


class _Walk:
    """Collects a tail from lines that arrive last one first, parsing as few of them as it can."""

    def __init__(self, requests: int) -> None:
        self.tail = Tail()
        self.requests = requests
        self.message_id: object = None
        # Lines and rows whose place, before or after the last request, is not known yet.
        self.pending: list[Any] = []

    def take_line(self, line: bytes, offset: int) -> bool:
        """Use one line; True once the walk is over."""
        if self.tail.usage and self.tail.offset - offset > HISTORY_LIMIT_BYTES:
            return True
        # Quotes inside JSON texts are escaped, so only a real key can match the first of these.
        if b'"usage"' not in line and b"ompact" not in line:
            self.pending.append(line)
            return False
        return any(self._take(row, offset) for row in reversed(_parse(line)))

    def _take(self, row: Any, offset: int) -> bool:
        if is_boundary(row):
            self.tail.boundary_timestamp = timestamp_of(row) or ""
            return True
        usage = usage_of(row)
        if usage is None:
            self.pending.append(row)
            return False
        is_first = self.tail.usage is None
        if is_first:
            self.tail.usage, self.tail.offset = usage, offset
        if is_first or usage.message_id is None or usage.message_id != self.message_id:
            if len(self.tail.history) == self.requests:
                return True
            self.message_id = usage.message_id
            self.tail.history.append(usage.prompt_tokens)
        if len(self.tail.history) == 1:
            self._add_reply(row, usage)
        self.pending.clear()
        return False

    def _add_reply(self, row: Any, usage: Usage) -> None:
        # One reply is several rows, and results of its first calls may stand between them.
        for item in self.pending:
            for later in _parse(item) if isinstance(item, bytes) else (item,):
                self.tail.result_characters += visible_characters(later)
        self.tail.reply_characters += visible_characters(row)
        self.tail.output_tokens = max(self.tail.output_tokens, usage.output_tokens)


def _parse(line: bytes) -> list[Any]:
    return json.loads_all(line.decode("utf-8", "replace"))


def _lines_backward(descriptor: int, size: int) -> Iterator[tuple[int, bytes]]:
    """Every line from the last to the first, with the offset at which it begins."""
    position = size
    block_bytes = _FIRST_BLOCK_BYTES
    unfinished: list[bytes] = []  # the end of a line whose start is not read yet, last piece first
    while position > 0 and size - position < WALK_LIMIT_BYTES:
        count = min(block_bytes, position)
        block = _read_at(descriptor, count, position - count)
        if len(block) != count:
            return  # the file shrank under us: what was read before still holds
        position -= count
        end = count
        newline = block.rfind(b"\n", 0, end)
        while newline >= 0:
            unfinished.append(block[newline + 1 : end])
            yield position + newline + 1, b"".join(reversed(unfinished))
            unfinished.clear()
            end = newline
            newline = block.rfind(b"\n", 0, end)
        unfinished.append(block[:end])
        if end == count:
            block_bytes = min(block_bytes * 4, _LARGEST_BLOCK_BYTES)
    if position == 0 and unfinished:
        yield 0, b"".join(reversed(unfinished))


def _read_at(descriptor: int, count: int, offset: int) -> bytes:
    if hasattr(io.system, "pread"):
        return io.system.pread(descriptor, count, offset)
    io.system.lseek(descriptor, offset, 0)
    return io.system.read(descriptor, count)
