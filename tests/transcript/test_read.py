"""Lines are read byte for byte, whatever is on them."""

from __future__ import annotations

import io
import json
import tracemalloc
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brimline.transcript import read
from brimline.transcript.read import LONGEST_PARSED_BYTES

if TYPE_CHECKING:
    from pathlib import Path

    from brimline.transcript.read import Line

ROW = st.dictionaries(st.text(max_size=5), st.text(max_size=20) | st.integers(), max_size=3).map(
    lambda row: json.dumps(row, ensure_ascii=False).encode("utf-8", "surrogatepass")
)
LINE = st.lists(ROW | st.binary(max_size=20), max_size=3).map(b"".join)
FILES = st.lists(LINE, max_size=6).flatmap(
    lambda lines: st.sampled_from([b"\n", b"\r\n"]).map(lambda end: end.join(lines))
)


def lines(data: bytes, length: int | None = None) -> list[Line]:
    """Every line of some bytes."""
    return list(read.lines_of_stream(io.BytesIO(data), length))


@given(st.binary(max_size=200) | FILES)
@settings(max_examples=200)
def test_any_bytes_can_be_read_and_written_back(data: bytes) -> None:
    """The parser is total, and the raw lines in a row are the file."""
    found = lines(data)

    assert b"".join(line.raw for line in found) == data
    for line in found:
        assert line.problem in (None, "blank", "torn", "invalid")
        assert (line.problem is None) <= bool(line.records)
        for record in line.records:
            text = line.raw[record.start : record.end].decode("utf-8", "replace")
            assert json.loads(text, strict=False) == pytest.approx(record.value, nan_ok=True)


@pytest.mark.parametrize(
    ("raw", "problem", "objects"),
    [
        (b"\n", "blank", 0),
        (b" \t\r\n", "blank", 0),
        (b'{"a":1', "torn", 0),
        (b'{"a":1}{"b":', "torn", 1),
        (b'{"a":1} x\n', "invalid", 1),
        (b"[1]\n", "invalid", 0),
        (b"\x00\x00\x00\n", "invalid", 0),
        (b'{"n":' + b"9" * 5_000 + b"}\n", "torn", 0),
        (b'{"a":' * 20_000 + b"\n", "torn", 0),
    ],
)
def test_what_is_wrong_with_a_line_is_told(raw: bytes, problem: str, objects: int) -> None:
    """And whole objects before the damage are still found."""
    (line,) = lines(raw)

    assert line.problem == problem
    assert len(line.records) == objects


def test_broken_utf8_is_read_with_replacement_and_said_so() -> None:
    """The bytes stay, the text shows where they are broken."""
    (line,) = lines(b'{"a":"\xff"}\n')

    assert line.only_row == {"a": "\ufffd"}
    assert not line.exact
    assert line.raw == b'{"a":"\xff"}\n'


def test_a_line_that_is_too_long_passes_in_parts() -> None:
    """20 MB go by in pieces of the file, unparsed; the line after it is itself again."""
    long = b'{"a":"' + b"x" * (20 << 20) + b'"}\n'
    tracemalloc.start()

    sizes = []
    for line in read.lines_of_stream(io.BytesIO(long + b'{"b":1}\n')):
        sizes.append((line.number, line.part, line.problem, len(line.raw)))
        assert line.offset == sum(size for *_, size in sizes[:-1])
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert [one[:3] for one in sizes[:2]] == [(1, 0, "too long"), (1, 1, "too long")]
    assert sizes[-1] == (2, None, None, 8)
    assert sum(size for *_, size in sizes) == len(long) + 8
    assert peak_bytes < 3 * read.LONGEST_PARSED_BYTES + len(long) + (1 << 20)


def test_only_so_much_is_read_as_was_asked_for() -> None:
    """What is appended while a session is read stays out."""
    found = lines(b'{"a":1}\n{"b":2}\n{"c":3}\n', 12)

    assert [line.raw for line in found] == [b'{"a":1}\n', b'{"b"']
    assert found[-1].problem == "torn"


def test_rows_are_read_up_to_a_place_where_a_mark_stands(tmp_path: Path) -> None:
    """Lines without a mark are not parsed, and every byte is reported all the same."""
    path = tmp_path / "session.jsonl"
    path.write_bytes(b'{"a":1}\n{"b":2}{"b":3}\n{"b":4}\n{"c":5}\n{"b":6')
    steps: list[int] = []

    found = list(read.rows_of_file(str(path), (b'"b"', b'"c"'), steps.append, 40))

    assert found == [{"b": 2}, {"b": 3}, {"b": 4}, {"c": 5}]
    assert sum(steps) == 40


@pytest.mark.parametrize(
    ("raw", "places", "problem"),
    [
        (b'{"a":1}\n', [(0, 7)], None),
        (b'{"a":1}', [(0, 7)], None),
        (b'{"a":1}\r\n', [(0, 7)], None),
        (b'  {"a":1} \n', [(2, 9)], None),
        (b'{"a":1}{"b":2}\n', [(0, 7), (7, 14)], None),
        (b'{"a":1} {"b":2} \n', [(0, 7), (8, 15)], None),
        ('{"ä":1}\n'.encode(), [(0, 8)], None),
        (' {"ä":1}{"ö":2}\n'.encode(), [(1, 9), (9, 17)], None),
        (b'\xef\xbb\xbf{"a":1}\n', [(3, 10)], None),
        ('\ufeff{"ä":1} {"b":2}\n'.encode(), [(3, 11), (12, 19)], None),
        (b"\xef\xbb\xbf\n", [], "blank"),
        (b'\xef\xbb\xbf{"a"\n', [], "torn"),
        (b'{"a":"\xff"}{"b":2}\n', [(0, 9), (9, 16)], None),
        (b'{"a":1}}\n', [(0, 7)], "invalid"),
    ],
)
def test_each_object_has_its_place_in_bytes(
    raw: bytes, places: list[tuple[int, int]], problem: str | None
) -> None:
    """Whatever stands before, between and behind; the only one of a sound line is its row."""
    (line,) = lines(raw)

    assert [(record.start, record.end) for record in line.records] == places
    assert line.problem == problem
    is_row = len(places) == 1 and problem is None
    assert line.only_row == (line.records[0].value if is_row else None)
    assert line.is_ended is raw.endswith(b"\n")
    assert line.exact is (b"\xff" not in raw)


@pytest.mark.parametrize(("longest", "parts"), [(8, [None, None]), (7, [0, None])])
def test_a_line_is_long_past_the_limit_with_its_end(longest: int, parts: list[int | None]) -> None:
    """Lines are numbered and placed from where the stream is."""
    stream = io.BytesIO(b"-" * 100 + b'{"a":1}\n{}\n')
    stream.seek(100)
    found = list(read.lines_of_stream(stream, longest=longest))
    whole = b"".join(line.raw for line in found)

    assert whole == b'{"a":1}\n{}\n'
    assert [line.part for line in found] == parts
    assert (found[-1].number, found[-1].offset) == (2, 108)
    assert (found[0].number, found[0].offset) == (1, 100)


@pytest.mark.parametrize(("more", "parts"), [(0, [None]), (1, [0])])
def test_a_long_line_is_parsed(more: int, parts: list[int | None]) -> None:
    """One byte more, and it passes unparsed."""
    size = LONGEST_PARSED_BYTES + more
    line = b'{"a":"' + b"x" * (size - 9) + b'"}\n'

    found = list(read.lines_of_stream(io.BytesIO(line)))

    assert [one.part for one in found] == parts
    assert [one.problem for one in found] == [None if more == 0 else "too long"]
    assert len(line) == size


def test_a_line_that_is_too_long_comes_in_parts() -> None:
    """Behind the first, which has one byte more than is parsed."""
    long = b"x" * (LONGEST_PARSED_BYTES + 1 + read.PART_BYTES + 5)

    sizes = [len(line.raw) for line in read.lines_of_stream(io.BytesIO(long))]

    assert sizes == [LONGEST_PARSED_BYTES + 1, read.PART_BYTES, 5]


@pytest.mark.parametrize(("more", "rows"), [(0, 1), (1, 0)])
def test_a_row_that_is_only_read_may_be_very_long(tmp_path: Path, more: int, rows: int) -> None:
    """Longer ones are passed over."""
    path = tmp_path / "s.jsonl"
    path.write_bytes(b'{"a":"' + b"x" * (read._LONGEST_ROW_BYTES - 9 + more) + b'"}\n')

    assert len(list(read.rows_of_file(str(path)))) == rows
