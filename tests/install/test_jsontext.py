"""The JSON text editor: exact inverses, untouched surroundings, strict reading."""

import itertools
import json
from collections.abc import Callable, Iterator
from pathlib import Path as FilePath
from typing import Any, TypeAlias

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from brimline.install.jsontext import (
    JsonTextError,
    Node,
    append_element,
    insert_member,
    parse,
    remove,
    replace_value,
)

Path: TypeAlias = tuple[str | int, ...]
Gap: TypeAlias = Callable[[str, int], str]

thorough = settings(
    max_examples=400,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
brisk = settings(thorough, max_examples=150)

HOOK = {"hooks": [{"type": "command", "command": "brimline hook", "timeout": 5}]}

# --- texts in many spellings -------------------------------------------------------------------

blanks = st.sampled_from(
    ["", "", "", " ", "\n", "\r\n", "\r", "\t", "  ", "\n  ", "\r\n\t", " \n", "\r\n\r\n ", "\n\r"]
)
keys = st.sampled_from(['"a"', '"b"', '"\\u0061"', '"é"', '"\\u00e9"', '""', '"\\ud800"', '"😀"'])
scalars = st.one_of(
    st.sampled_from(
        [
            "1.0e5",
            "-0",
            "0",
            "1E400",
            "-12.50",
            "1e-7",
            "true",
            "false",
            "null",
            '"\\/"',
            '"\\ud800"',
        ]
    ),
    st.text(max_size=6).map(json.dumps),
    st.text(max_size=6).map(lambda text: json.dumps(text, ensure_ascii=False)),
)
# A shape is a scalar's spelling, a list of shapes, or a tuple of (key spelling, shape) pairs.
shapes = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(st.tuples(keys, inner), max_size=4).map(tuple),
    ),
    max_leaves=14,
)
containers = st.one_of(
    st.lists(shapes, max_size=4),
    st.lists(st.tuples(keys, shapes), max_size=4).map(tuple),
)


@st.composite
def gaps(draw: st.DrawFn) -> Gap:
    """White space for each place of a text: laid out, on one line, or at random."""
    runs = itertools.cycle(draw(st.lists(blanks, min_size=1, max_size=14)))
    layout = draw(st.sampled_from(["lines", "one line", "random"]))
    newline = draw(st.sampled_from(["\n", "\r\n"]))
    unit = draw(st.sampled_from(["  ", "    ", "\t", ""]))
    space = draw(st.sampled_from(["", " "]))

    def gap(place: str, depth: int) -> str:
        if layout == "random":
            return next(runs)
        if layout == "one line":
            return next(runs).strip("\r\n") if place == "empty" else space * (place[:5] == "after")
        if place == "empty":
            return next(runs)
        if place in {"open", "after comma", "close"}:
            return newline + unit * (depth - (place == "close"))
        return space if place == "after colon" else ""

    return gap


def spelled(shape: Any, gap: Gap, depth: int = 1) -> str:
    """Write a shape with the given white space."""
    if isinstance(shape, str):
        return shape
    opening, closing = "[]" if isinstance(shape, list) else "{}"
    if not shape:
        return opening + gap("empty", depth) + closing
    written = []
    for child in shape:
        if isinstance(shape, list):
            written.append(spelled(child, gap, depth + 1))
        else:
            colon = gap("before colon", depth) + ":" + gap("after colon", depth)
            written.append(child[0] + colon + spelled(child[1], gap, depth + 1))
    joined = written[0]
    for one in written[1:]:
        joined += gap("before comma", depth) + "," + gap("after comma", depth) + one
    return opening + gap("open", depth) + joined + gap("close", depth) + closing


@st.composite
def texts(draw: st.DrawFn, of: st.SearchStrategy[Any] = containers) -> str:
    """A valid JSON text."""
    return draw(blanks) + spelled(draw(of), draw(gaps())) + draw(blanks)


new_keys = st.text(max_size=6).map(lambda text: "new" + text)
new_values = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(allow_nan=False, allow_infinity=False),
        st.text(st.characters(), max_size=8),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=8,
)


def places(node: Node, path: Path = ()) -> Iterator[tuple[Path, Node]]:
    """Every node a path leads to: of duplicate keys only the last."""
    yield path, node
    for key, last in {child.key: child.node for child in node.children}.items():
        yield from places(last, (*path, key))


def at_path(text: str, path: Path) -> Node:
    """The node that a path leads to."""
    return next(node for place, node in places(parse(text)) if place == path)


def added(text: str, path: Path, key: str, value: object) -> tuple[str, Path]:
    """Add to the container at a path; the edited text and the path of the addition."""
    target = at_path(text, path)
    if text[target.start] == "{":
        return insert_member(text, path, key, value), (*path, key)
    return append_element(text, path, value), (*path, len(target.children))


def drawn_place(data: st.DataObject, text: str, *, only_containers: bool) -> tuple[Path, Node]:
    """One of the text's nodes, emptier and deeper ones included."""
    found = list(places(parse(text)))
    if only_containers:
        found = [(path, node) for path, node in found if text[node.start] in "{["]
    return data.draw(st.sampled_from(found))


# --- the inverse property ----------------------------------------------------------------------


@thorough
@given(st.data(), texts(), new_keys, new_values)
def test_removing_an_addition_gives_back_the_exact_text(
    data: st.DataObject, text: str, key: str, value: object
) -> None:
    """For any text, place and value, remove undoes insert_member and append_element to the byte."""
    path, _ = drawn_place(data, text, only_containers=True)

    edited, new_path = added(text, path, key, value)

    assert remove(edited, new_path) == text


@settings(thorough, max_examples=600)
@given(
    st.text(" \t\r\n", max_size=6),
    st.sampled_from(
        [
            ("", "", ()),
            (" ", "\n", ()),
            ("\r\n", "\r\n", ()),
            ('{\n  "o": ', "\n}\n", ("o",)),
            ('{\r\n\t"o":', "}", ("o",)),
            ('{"o":', "}\n", ("o",)),
            ("[1, ", "]", (1,)),
            ("[\r\r", "\r]", (0,)),
        ]
    ),
    st.sampled_from(["{}", "[]"]),
    st.sampled_from([1, [], HOOK]),
)
def test_any_white_space_in_an_empty_container_is_recovered(
    run: str, frame: tuple[str, str, Path], brackets: str, value: object
) -> None:
    """Whatever an empty container holds and wherever it stands, the run survives the round trip."""
    head, foot, path = frame
    text = head + brackets[0] + run + brackets[1] + foot

    edited, new_path = added(text, path, "k", value)

    assert remove(edited, new_path) == text


# --- what an edit changes and what it leaves ---------------------------------------------------


@brisk
@given(st.data(), texts(), new_keys, new_values)
def test_an_addition_changes_the_value_by_just_that_child(
    data: st.DataObject, text: str, key: str, value: object
) -> None:
    """The new child comes last and reads as its value; all else is as it was."""
    path, target = drawn_place(data, text, only_containers=True)
    edited, new_path = added(text, path, key, value)

    assert repr(at_path(edited, new_path).value) == repr(json.loads(json.dumps(value)))
    assert len(at_path(edited, path).children) == len(target.children) + 1
    at = target.children[-1].end if target.children else target.end - 1
    assert edited.startswith(text[:at])
    assert edited.endswith(text[at:])
    assert len(edited) > len(text)


@brisk
@given(st.data(), texts(of=shapes), new_values)
def test_a_replacement_leaves_everything_outside_the_old_value(
    data: st.DataObject, text: str, value: object
) -> None:
    """Only the old value's own span changes, and the edited text reads as the edited value."""
    path, old = drawn_place(data, text, only_containers=False)

    edited = replace_value(text, path, value)

    new_end = len(edited) - (len(text) - old.end)
    assert edited[: old.start] == text[: old.start]
    assert edited[new_end:] == text[old.end :]
    assert repr(at_path(edited, path).value) == repr(json.loads(json.dumps(value)))


@brisk
@given(st.data(), texts())
def test_a_removal_leaves_every_sibling_as_it_was_written(data: st.DataObject, text: str) -> None:
    """Taking out any child keeps its siblings' spellings and order and all text outside."""
    path, target = drawn_place(data, text, only_containers=True)
    if not target.children:
        return
    step = data.draw(st.sampled_from([place[-1] for place, _ in places(target) if len(place) == 1]))
    index = target.index_of(step)
    kept = [text[c.start : c.end] for i, c in enumerate(target.children) if i != index]

    edited = remove(text, (*path, step))

    left = at_path(edited, path)
    assert [edited[child.start : child.end] for child in left.children] == kept
    assert edited[: left.start] == text[: target.start]
    assert edited[left.end :] == text[target.end :]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), [float("-inf")]])
def test_values_that_json_cannot_write_are_refused(value: object) -> None:
    """NaN and the infinities never reach the text."""
    with pytest.raises(ValueError, match="not JSON compliant"):
        append_element("[]", (), value)


# --- the style of the surroundings -------------------------------------------------------------


@pytest.mark.parametrize("unit", ["    ", "\t", "   "])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("end", ["", "\n"])
def test_a_laid_out_text_stays_what_json_dumps_would_write(
    unit: str, newline: str, end: str
) -> None:
    """In a regularly indented text, additions look as if they had been written with the rest."""

    def laid_out(value: object) -> str:
        return (json.dumps(value, indent=unit, ensure_ascii=False) + end).replace("\n", newline)

    before = {"a": {"list": [1], "empty": {}, "none": []}, "é": [HOOK]}
    text = laid_out(before)

    text = insert_member(text, ("a", "empty"), "k", HOOK)
    text = append_element(text, ("a", "none"), HOOK)
    text = append_element(text, ("a", "list"), [2])
    text = append_element(text, ("é", 0, "hooks"), "ü")
    text = replace_value(text, ("é", 0, "hooks", 0, "timeout"), {"s": 5})

    assert text == laid_out(
        {
            "a": {"list": [1, [2]], "empty": {"k": HOOK}, "none": [HOOK]},
            "é": [{"hooks": [HOOK["hooks"][0] | {"timeout": {"s": 5}}, "ü"]}],
        }
    )


def test_spellings_of_others_survive_an_edit_and_its_undoing() -> None:
    """Numbers, escapes, duplicates and inline arrays stay as written."""
    text = '{\r\n\t"n": 1.0e5, "e": "\\u00e9\\/",\r\n\t"n": -0,\r\n\t"l": [1,2 , 3]}'

    edited = insert_member(text, (), "hooks", {"é": []})

    assert edited == text[:-1] + ',\r\n\t"hooks": {\r\n\t\t"é": []\r\n\t}}'
    assert remove(edited, ("hooks",)) == text


def test_non_ascii_is_written_as_is_and_lone_surrogates_are_escaped() -> None:
    """What is written can always be encoded as UTF-8."""
    edited = insert_member('{"a": 1}', (), "ü\ud800", "😀\udfff")

    assert edited == '{"a": 1, "ü\\ud800": "😀\\udfff"}'
    assert edited.encode()
    assert parse(edited).value == {"a": 1, "ü\ud800": "😀\udfff"}


@pytest.mark.parametrize(
    "edit",
    [
        lambda text: insert_member(text, (), "a", 1),
        lambda text: insert_member(text, (), "h\u00e9", 1),
        lambda text: insert_member(text, ("l",), "x", 1),
        lambda text: append_element(text, (), 1),
        lambda text: append_element(text, ("a",), 1),
        lambda text: remove(text, ("gone",)),
        lambda text: remove(text, ("l", 3)),
        lambda text: remove(text, ("l", -1)),
        lambda text: replace_value(text, ("a", "b"), 1),
    ],
)
def test_an_impossible_edit_is_refused(edit: Callable[[str], str]) -> None:
    """Missing places, wrong kinds and taken keys, however they are spelled."""
    with pytest.raises(JsonTextError):
        edit('{"a": 1, "l": [1, 2, 3], "h\\u00e9": 1}')


@pytest.mark.parametrize("depth", [202, 900, 100_000])
def test_what_is_nested_too_deep_is_refused(depth: int) -> None:
    """With a clear error, however deep it goes; up to the limit it is read."""
    assert parse("[" * 200 + "]" * 200).children
    with pytest.raises(JsonTextError):
        parse("[" * depth + "]" * depth)


@pytest.mark.parametrize(
    "text",
    ["", "NaN", "[-Infinity]", "[1,]", '{"a":1,}', "{} {}", '["\x1f"]', '{"a" 1}', "9" * 5_000],
)
def test_what_is_no_json_is_refused(text: str) -> None:
    """As the standard reader does, its own extensions aside."""
    with pytest.raises(JsonTextError):
        parse(text)


def test_edits_take_the_layout_of_their_surroundings() -> None:
    """One line stays one line, lines stay lines, and what goes takes its comma along."""
    edits: dict[str, Callable[..., str]] = {
        "insert": insert_member,
        "append": append_element,
        "replace": replace_value,
        "remove": remove,
    }
    rows = json.loads((FilePath(__file__).parent / "golden" / "edits.json").read_bytes())
    for edit, text, path, arguments, edited in rows:
        assert edits[edit](text, path, *arguments) == edited
