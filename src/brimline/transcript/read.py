"""The one way to read a session forward: every line byte for byte, parsed only when asked.

Total: any bytes can be read. Putting the `raw` of all lines in a row gives the file again, so a
line that nobody touches is written back exactly as it was. A line is parsed when it is asked what
is on it, not before: most of a session never has to be.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, Any, NamedTuple

from brimline.fast import json
from brimline.transcript import row

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import BinaryIO

    Progress = Callable[[int], None] | None

# A longer line is passed on in parts and never parsed: it would cost several times its length.
LONGEST_PARSED_BYTES = 8 << 20
PART_BYTES = 1 << 20
# What is only read, and not held to be written again, may be longer.
_LONGEST_ROW_BYTES = 32 << 20
_BLOCK_BYTES = 256 << 10

BLANK, TORN, INVALID, TOO_LONG = "blank", "torn", "invalid", "too long"
BROKEN = (TORN, INVALID, TOO_LONG)
BOM = b"\xef\xbb\xbf"

# The kinds of rows that a compaction without a model writes again.
_COPIED_KINDS = ("user", "assistant", "attachment")
_WHITESPACE = " \t\r\n"


class Record(NamedTuple):
    """One JSON object on a line, which takes up the bytes `start` to `end` of it."""

    start: int
    end: int
    value: dict[str, Any]


class Line:
    """One line, or one part of a line that is too long to be held."""

    __slots__ = ("exact", "number", "offset", "part", "problem", "raw", "records")

    # The JSON objects on it: one as a rule, more where lines were merged, or none.
    records: tuple[Record, ...]
    # What is wrong with it: blank, torn, invalid, too long; None if all of it is objects.
    # A torn line begins an object that does not end; whole objects before it are in `records`.
    problem: str | None
    # Whether it is valid UTF-8; otherwise broken bytes appear as U+FFFD in the records.
    exact: bool

    def __init__(self, number: int, offset: int, raw: bytes, part: int | None = None) -> None:
        self.number = number  # counted from 1
        self.offset = offset  # where it begins in the file, in bytes
        # Its bytes with the line end, if it has one: LF, CRLF, or none on the last.
        self.raw = raw
        # None for a whole line; 0, 1, 2, … for the parts of one that is too long.
        self.part = part

    def __getattr__(self, name: str) -> Any:
        """Parse it: asked for what is on it, which is not there yet."""
        if name not in ("records", "problem", "exact"):
            raise AttributeError(name)
        self.exact = self.part is None
        try:
            text = self.raw.decode() if self.exact else ""
        except UnicodeDecodeError:
            text, self.exact = self.raw.decode("utf-8", "replace"), False
        found = _records_and_problem(self.raw, text) if self.part is None else ((), TOO_LONG)
        self.records, self.problem = found
        return getattr(self, name)

    @property
    def only_row(self) -> dict[str, Any] | None:
        """The one object of a sound line; None for every other line."""
        found = self.records
        return found[0].value if len(found) == 1 and self.problem is None else None

    @property
    def is_ended(self) -> bool:
        """Whether it has a line end, so that nothing can be appended to it any more."""
        return self.raw.endswith(b"\n")


def rows_of_file(
    path: str, marks: tuple[bytes, ...] = (), progress: Progress = None, length: int | None = None
) -> Iterator[dict[str, Any]]:
    """The rows of a session, first to last.

    Args:
        path: the session's file.
        marks: where given, lines without any of these are not even parsed.
        progress: called with the number of bytes of each line.
        length: how many bytes to read at most.

    Raises:
        OSError: the file cannot be read, or is not a regular file.
    """
    for _, value in rows_with_offsets(path, marks, progress, length):
        yield value


def rows_with_offsets(
    path: str, marks: tuple[bytes, ...] = (), progress: Progress = None, length: int | None = None
) -> Iterator[tuple[int, dict[str, Any]]]:
    """The same, each with the place where its line begins."""
    with open_transcript_file(path) as file:
        yield from rows_of_stream(file, marks, progress, length)


def rows_of_stream(
    stream: BinaryIO,
    marks: tuple[bytes, ...] = (),
    progress: Progress = None,
    length: int | None = None,
) -> Iterator[tuple[int, dict[str, Any]]]:
    """The same, from where a stream is."""
    for start, line in lines_with_offsets(stream, length, progress):
        if not marks or any(mark in line for mark in marks):
            for value in json.parse_all_on_line(line):
                if isinstance(value, dict):
                    yield start, value


def lines_with_offsets(
    stream: BinaryIO, length: int | None = None, progress: Progress = None
) -> Iterator[tuple[int, bytes]]:
    """The lines from where a stream is, each with where it begins; none that is too long."""
    offset = stream.tell()
    end = offset + length if length is not None else 1 << 62
    told = offset
    while line := stream.readline(min(end - offset, _LONGEST_ROW_BYTES)):
        if len(line) < _LONGEST_ROW_BYTES or line.endswith(b"\n"):
            yield offset, line
            offset += len(line)
        else:
            while line and not line.endswith(b"\n"):
                offset += len(line)
                line = stream.readline(min(end - offset, PART_BYTES))
            offset += len(line)
        if progress and (offset - told >= _BLOCK_BYTES or offset == end):
            progress(offset - told)
            told = offset
    if progress and offset > told:
        progress(offset - told)


def lines_of_file(path: str, progress: Progress = None) -> Iterator[Line]:
    """Read the lines that a session has by now.

    Raises:
        OSError: the file cannot be read, or is not a regular file.
    """
    with open_transcript_file(path) as file:
        yield from lines_of_stream(file, os.fstat(file.fileno()).st_size, progress)


def lines_of_stream(
    stream: BinaryIO,
    length: int | None = None,
    progress: Progress = None,
    longest: int = LONGEST_PARSED_BYTES,
) -> Iterator[Line]:
    """Read a session line by line, from where its stream is.

    Args:
        stream: a file opened for reading bytes.
        length: how many bytes to read at most; what is appended meanwhile stays out.
        progress: called with the number of bytes of each line.
        longest: lines of more bytes come in parts.

    Raises:
        OSError: the stream cannot be read; whatever its bytes are, they raise nothing.
    """
    left = length if length is not None else 1 << 62
    number, offset = 0, stream.tell()
    while raw := stream.readline(min(left, longest + 1)):
        number += 1
        part = 0 if len(raw) > longest else None
        while raw:
            yield Line(number, offset, raw, part)
            offset += len(raw)
            left -= len(raw)
            if progress:
                progress(len(raw))
            if part is None or raw.endswith(b"\n"):
                break
            part += 1
            raw = stream.readline(min(left, PART_BYTES))


def open_transcript_file(path: str) -> BinaryIO:
    """Open a file to read; a named pipe in its place is refused rather than waited for.

    Raises:
        OSError: it cannot be opened, or is something else.
    """
    flags = os.O_RDONLY | os.O_NONBLOCK
    file = open(path, "rb", _BLOCK_BYTES, opener=lambda name, _: os.open(name, flags))  # noqa: SIM115
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError("the transcript is not a regular file")
    return file


def _records_and_problem(raw: bytes, text: str) -> tuple[tuple[Record, ...], str | None]:
    """The objects on a line, and what is wrong with it."""
    if text[:1] == "{":
        try:
            value, end = json.parse_text_at(text, 0)
        except ValueError:
            return (), TORN
        rest = len(text) - end
        if not rest or (rest == 1 and text[end] == "\n"):  # nearly every line
            return (Record(0, len(raw) - rest, value),), None
    return _records_of_unusual_line(raw, text)


def _records_of_unusual_line(raw: bytes, text: str) -> tuple[tuple[Record, ...], str | None]:
    """The same for a line with space or a mark before the object, or with several."""
    records, problem = _records_until_problem(text, 1 if text[:1] == "\ufeff" else 0)
    if records and len(raw) != len(text):
        # One character per byte: the structure of JSON is ASCII, so the same objects are found.
        placed, _ = _records_until_problem(raw.decode("latin-1"), 3 if raw.startswith(BOM) else 0)
        pairs = zip(placed, records, strict=True)
        records = [place._replace(value=record.value) for place, record in pairs]
    return tuple(records), problem


def _records_until_problem(text: str, position: int) -> tuple[list[Record], str | None]:
    """The objects in a text from a place on, and why there are no more."""
    found: list[Record] = []
    position = _skip_whitespace(text, position)
    if position == len(text):
        return found, BLANK
    while position < len(text):
        if text[position] != "{":
            return found, INVALID
        try:
            value, end = json.parse_text_at(text, position)
        except ValueError:
            return found, TORN
        found.append(Record(position, end, value))
        position = _skip_whitespace(text, end)
    return found, None


def _skip_whitespace(text: str, position: int) -> int:
    while position < len(text) and text[position] in _WHITESPACE:
        position += 1
    return position


class Copies:
    """Follows the rows of a session, first to last, and tells which have only been written again.

    A compaction without a model leaves no summary: behind its boundary the client writes every row
    that it kept once more, under a new name, with the time at which it was first written. So rows
    behind such a boundary that are older than it are copies: they are in the context, but nothing
    in them has happened again. In a file that begins with a compaction they are all there is, but
    they were said in another session.
    """

    def __init__(self, boundary_at: str = "", *, has_past: bool = False) -> None:
        # When the last compaction was, as long as only copies came since; else empty.
        self.boundary_at = boundary_at
        # Whether there are rows that can have been written again.
        self.has_past = has_past
        # Whether this file has rows, and had some before the last compaction.
        self._has_rows = self.has_rows_before = False

    def is_copy(self, fields: Any) -> bool:
        """Tell whether the next row has only been written again."""
        if row.is_compaction_row(fields):
            # One with a summary keeps the names of the rows that stay.
            has_copies = self.has_past and not row.is_summary(fields)
            self.boundary_at = row.timestamp_text_of(fields) or "" if has_copies else ""
            self.has_rows_before = self._has_rows
            return False
        if not isinstance(fields, dict) or row.is_sidechain(fields):
            return False
        if self._has_rows and not self.boundary_at:
            return False
        written_at = row.timestamp_text_of(fields)
        if row.type_of(fields) not in _COPIED_KINDS or not written_at:
            return False
        self.has_past = self._has_rows = True
        if written_at >= self.boundary_at:
            self.boundary_at = ""
        return bool(self.boundary_at)
