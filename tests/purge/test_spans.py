"""A value is found on its line by its bytes, so that everything else can stay as it is."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brimline.purge import spans

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=12,
)
NAMES = st.text(st.characters(max_codepoint=127), max_size=4)
STYLES: list[dict[str, Any]] = [
    {"separators": (",", ":"), "ensure_ascii": False},
    {"ensure_ascii": True},
    {"indent": None, "separators": (" , ", " : ")},
]


def written(row: Any, style: dict[str, Any]) -> bytes:
    """A row as somebody might write it."""
    return json.dumps(row, **style).encode("utf-8", "surrogatepass") + b"\n"


@settings(deadline=None)
@given(st.dictionaries(NAMES, JSON, max_size=4), st.sampled_from(STYLES))
def test_every_value_is_found_where_it_is(row: dict[str, Any], style: dict[str, Any]) -> None:
    """However the line is written, the bytes of a span are the value."""
    raw = written(row, style)
    for key, value in row.items():
        span = spans.find(raw, 0, (key,))
        assert span is not None
        assert json.loads(raw[span.start : span.end]) == value


@settings(deadline=None)
@given(
    st.dictionaries(NAMES, JSON, min_size=1, max_size=4),
    st.sampled_from(STYLES),
    st.data(),
)
def test_a_member_goes_with_its_comma(
    row: dict[str, Any], style: dict[str, Any], data: st.DataObject
) -> None:
    """Without the bytes of the span the line is the object without the member."""
    raw = written(row, style)
    name = data.draw(st.sampled_from(sorted(row)))

    span = spans.find_member(raw, 0, name)

    assert span is not None
    rest = json.loads(raw[: span.start] + raw[span.end :])
    assert rest == {key: value for key, value in row.items() if key != name}


def test_a_member_is_found_from_the_end_without_a_look_at_it() -> None:
    """What follows it is known, so the value can only lie in between."""
    row = {"a": {"x": 1}, "copy": {"text": "copy, }"}, "uuid": "é", "n": 1}
    raw = written(row, STYLES[0])

    span = spans.find_before_end(raw, "copy", row)

    assert span is not None
    assert raw[span.start : span.end] == b',"copy":{"text":"copy, }"}'


@pytest.mark.parametrize(
    "raw",
    [
        b'{"copy":1,"uuid":"a"}\n',
        b'{"a":{"b":1,"copy":1},"copy":2,"uuid":"a"}\n',
        b'{"a":1,"copy":2,"uuid": "a"}\n',
        b'{"a":1,"copy":2,"uuid":"a"}',
        b'{"a":1,"copy":2,"uuid":"\\u0061"}\n',
    ],
)
def test_a_member_that_cannot_be_told_from_the_end_is_not(raw: bytes) -> None:
    """First of all, twice on the line, or a rest in another hand: the slow way finds it."""
    row = json.loads(raw)

    assert spans.find_before_end(raw, "copy", row) is None
    assert spans.find_member(raw, 0, "copy") is not None


def test_a_name_that_occurs_twice_in_an_object_is_not_cut() -> None:
    """Which one counts is for the reader to decide."""
    assert spans.find_member(b'{"a":1,"a":2}', 0, "a") is None


def test_a_text_is_found_by_its_path_where_it_is_on_the_line_twice() -> None:
    """The same words under the same name elsewhere are not taken for it."""
    row = {"copy": {"content": "same"}, "message": {"content": "same"}}
    raw = written(row, STYLES[0])

    span = spans.find_text(raw, 0, ("message", "content"), "same")

    assert span is not None
    assert span.start == raw.rindex(b'"same"')


def test_a_text_is_not_found_where_another_value_is() -> None:
    """A path that leads elsewhere, or nowhere, finds nothing."""
    raw = b'{"a":{"b":["x"]}}'

    assert spans.find_text(raw, 0, ("a", "b", 0), "y") is None
    assert spans.find(raw, 0, ("a", "b", 3)) is None
    assert spans.find(raw, 0, ("a", "c")) is None
    assert spans.find(raw, 0, ("a", 1)) is None
    assert spans.find(b"torn {", 0, ("a",)) is None
    assert spans.find_items(raw, 0) == []
