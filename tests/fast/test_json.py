"""The JSON reader and writer of the fast path: of one mind with the standard module."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brimline.fast.json import (
    append_line,
    blank_out_lines,
    dumps,
    loads,
    parse_all_on_line,
    parse_and_count_damaged,
    read_lines,
    rows_backward,
)
from brimline.fast.paths import PACKAGE_DIR

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ROOT = os.path.dirname(PACKAGE_DIR)
thorough = settings(max_examples=500)
# Lone surrogates included: the client writes them where it cut a text in the middle of an emoji.
# Half a character stands alone: JSON makes one of two halves that follow each other.
_LONE = st.sampled_from(["\ud83d", "a\udcffb"])
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | _LONE
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)
blanks = st.sampled_from(["", " ", "\t", "\r\n", " \n "])


@given(value=values, ascii_only=st.booleans(), before=blanks, after=blanks)
@thorough
def test_what_the_standard_module_writes_is_read_the_same(
    value: Any, ascii_only: bool, before: str, after: str
) -> None:
    """Any value, spelled in ASCII or not, NaN and infinities included, comes back as by `json`."""
    text = before + json.dumps(value, ensure_ascii=ascii_only) + after

    assert _spelled(loads(text)) == _spelled(json.loads(text))


@given(value=values, data=st.data())
@thorough
def test_damaged_texts_are_accepted_and_refused_alike(value: Any, data: st.DataObject) -> None:
    """After any edit both readers find the same value, or both find none."""
    text = json.dumps(value, ensure_ascii=False)
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    inserted = data.draw(st.text('{}[]",:0123456789eE+-.\\untrf \n\x00', max_size=4))
    text = text[:start] + inserted + text[end:]

    standard = json.JSONDecoder(strict=False)

    assert _attempt(loads, text) == _attempt(
        lambda text: standard.raw_decode(text.lstrip(" \t\r\n\ufeff"))[0], text
    )


@given(documents=st.lists(values, max_size=4), gap=st.sampled_from(["", " ", "\r", "\t "]))
@thorough
def test_all_documents_of_a_line_are_read(documents: list[Any], gap: str) -> None:
    """Objects written onto one line by racing writers are all found, in order."""
    wrapped = [{"v": document} for document in documents]
    line = gap.join(json.dumps(document) for document in wrapped)

    assert _spelled(parse_all_on_line(line)) == _spelled(wrapped)


@pytest.mark.parametrize(
    ("text", "first", "every"),
    [
        # What stands before the damage is kept, and a reader of one document takes the first.
        ('{"a":1} [2] {"b":', {"a": 1}, [{"a": 1}, [2]]),
        # Marks that Windows tools add, and control characters that others write raw.
        ("\ufeff{}\r", {}, [{}]),
        ('"a\tb\x01"', "a\tb\x01", ["a\tb\x01"]),
    ],
)
def test_odd_lines_are_read(text: str, first: Any, every: list[Any]) -> None:
    """As far as they can be; nothing is nothing. Written they are compact, keys are texts."""
    assert loads(text) == first
    assert parse_all_on_line(text) == every
    assert parse_all_on_line("") == parse_all_on_line("nonsense") == []
    written = dumps({1: [1, None, True, False, 0.5, "\n"]})
    assert written == '{"1":[1,null,true,false,0.5,"\\n"]}'


@pytest.mark.parametrize("opening", ["[", '{"a":'])
def test_nesting_too_deep_is_a_value_error(opening: str) -> None:
    """A hostile document exhausts neither the stack nor the patience of the caller."""
    text = opening * 100_000

    with pytest.raises(ValueError, match="nested too deeply"):
        loads(text)
    assert parse_all_on_line("{}" + text) == [{}]


def test_broken_texts_are_value_errors_without_the_standard_module() -> None:
    """In a hook `json` is not loaded, and the scanner must still fail in an orderly way."""
    texts = ["", "{", '{"a', '{"a":', '{"a":1', "[1,", '"\\', '"\\ud8', "nul", "-", "[" * 100_000]
    code = (
        f"import sys; sys.path.insert(0, {ROOT!r})\n"
        "from brimline.fast import json\n"
        "assert 'json' not in sys.modules\n"
        f"for text in {texts!r}:\n"
        "    assert json.parse_all_on_line('{}' + text) == [{}]\n"
        "    try: json.loads(text)\n"
        "    except ValueError: print('refused')\n"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code], capture_output=True, check=False, timeout=60
    )

    assert done.stdout.split() == [b"refused"] * len(texts), done.stderr


@given(value=values)
@thorough
def test_what_is_written_comes_back(value: Any) -> None:
    """Writing and reading again changes nothing, except that NaN and infinities become null."""
    text = dumps(value)

    assert text.isascii()
    assert json.loads(text) == _finite(value)
    assert loads(text) == _finite(value)


def _attempt(read: Callable[[str], Any], text: str) -> str:
    try:
        return _spelled(read(text))
    except ValueError:
        return "refused"


def _spelled(value: Any) -> str:
    """A spelling that tells 1 from 1.0 and True, and makes NaN equal to itself."""
    return repr(value)


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, list):
        return [_finite(item) for item in value]
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    return value


LINE = dumps({"v": 1, "text": '{"v":', "more": [{"at": 2}]})


@pytest.mark.parametrize("cut", range(1, len(LINE)))
def test_a_line_behind_a_torn_one_is_read(cut: int, tmp_path: Path) -> None:
    """Wherever the first was cut off: it costs itself alone."""
    path = tmp_path / "lines.jsonl"
    path.write_text(f"{LINE}\n{LINE[:cut]}")
    append_line(str(path), {"text": "behind"})
    append_line(str(path), {"text": "last"})

    assert [line["text"] for line in read_lines(str(path))] == ['{"v":', "behind", "last"]
    assert parse_and_count_damaged(path.read_bytes())[1] == 1


@pytest.mark.parametrize(
    ("text", "count", "damaged"),
    [
        ("", 0, 0),
        ("\n\n", 0, 0),
        ("garbage", 0, 1),
        (LINE + LINE, 2, 0),
        ('{"v":1,"nested":{"v":2}}', 1, 0),
        (f"{LINE} garbage\n{LINE}\n", 2, 1),
        ('{"v":2,"text":"of another version"}', 0, 0),
        ('[1]\n{"text":"without a version"}', 0, 1),
    ],
)
def test_what_is_no_line_of_ours_is_passed_over(text: str, count: int, damaged: int) -> None:
    """It is counted once for each stretch."""
    lines, unreadable = parse_and_count_damaged(text.encode())

    assert (len(lines), unreadable) == (count, damaged)


def test_lines_are_chosen_by_what_they_contain(tmp_path: Path) -> None:
    """Others are not parsed; a file that is not there has no lines."""
    path = str(tmp_path / "lines.jsonl")
    append_line(path, {"text": "one"})
    append_line(path, {"text": "other"})

    assert read_lines(path, containing=b"oth") == [{"v": 1, "text": "other"}]
    assert read_lines(str(tmp_path / "none")) == []


def test_lines_with_a_value_are_blanked_and_no_others(tmp_path: Path) -> None:
    """Two on one line are told apart; a torn one goes with what is left of it; sizes stay."""
    path = tmp_path / "lines.jsonl"
    kept, gone = '{"v":1,"session":"b","of":"a"}', '{"v":1,"x":{"n":1},"session":"a","y":2}'
    torn = ',"session":"a","y":2}'
    path.write_text(f"{gone}\n{kept}\n{kept}{gone}\n{torn}\n{kept}\n{gone}", encoding="utf-8")
    size = path.stat().st_size

    blank_out_lines(str(path), "session", "a")

    assert path.read_text(encoding="utf-8").split() == [kept, kept, kept]
    assert path.stat().st_size == size
    assert len(read_lines(str(path))) == 3
    blank_out_lines(str(tmp_path / "none"), "session", "a")
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize(
    ("limit", "found"),
    [(0, []), (7, []), (8, [3]), (15, [3]), (16, [3, 2]), (23, [3, 2]), (24, [3, 2, 1])],
)
def test_rows_are_sought_so_many_bytes_back(limit: int, found: list[int], tmp_path: Path) -> None:
    """To the byte, from the end of the last line; the last row comes first."""
    path = tmp_path / "rows"
    path.write_bytes(b"".join(b'{"a":%d}\n' % number for number in (1, 2, 3)))

    rows = list(rows_backward(str(path), b'"a"', limit))

    assert [row["a"] for row in rows] == found
    assert list(rows_backward(str(path), b'"b"', 99)) == []


def test_of_a_line_with_several_rows_the_last_comes_first(tmp_path: Path) -> None:
    """What follows a broken one is not read."""
    path = tmp_path / "rows"
    path.write_bytes(b'{"a":1} {"a":2} x {"a":3}\n{"a":4}')

    assert [row["a"] for row in rows_backward(str(path), b"a", 99)] == [4, 2, 1]
