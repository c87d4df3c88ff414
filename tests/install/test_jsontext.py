"""The JSON text editor: exact inverses, untouched surroundings, strict reading."""

import itertools
import json
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from brimline.errors import InstallError
from brimline.install.jsontext import append_element, insert_member, load, remove, replace_value

Path: TypeAlias = tuple[str | int, ...]
Gap: TypeAlias = Callable[[str, int], str]

thorough = settings(
    max_examples=400,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
HOOK = {"hooks": [{"type": "command", "command": "brimline hook", "timeout": 5}]}

# --- texts in many spellings -------------------------------------------------------------------

blanks = st.sampled_from(
    ["", "", "", " ", "\n", "\r\n", "\r", "\t", "  ", "\n  ", "\r\n\t", " \n", "\r\n\r\n ", "\n\r"]
)
keys = st.sampled_from(['"a"', '"b"', '"\\u0061"', '"é"', '"\\u00e9"', '""', '"\\ud800"', '"😀"'])
scalars = st.one_of(
    st.sampled_from(["1.0e5", "-0", "1E400", "-12.50", "true", "null", '"\\/"', '"\\ud800"']),
    st.text(max_size=6).map(json.dumps),
    st.text(max_size=6).map(lambda text: json.dumps(text, ensure_ascii=False)),
)


def holding(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Lists of shapes, and tuples of (key spelling, shape) pairs, which stand for objects."""
    pairs = st.lists(st.tuples(keys, inner), max_size=4).map(tuple)
    return st.one_of(st.lists(inner, max_size=4), pairs)


shapes = st.recursive(scalars, holding, max_leaves=14)


@st.composite
def gaps(draw: st.DrawFn) -> Gap:
    """White space for each place of a text: laid out, on one line, or at random."""
    runs = itertools.cycle(draw(st.lists(blanks, min_size=1, max_size=14)))
    layout = draw(st.sampled_from(["lines", "one line", "random"]))
    newline = draw(st.sampled_from(["\n", "\r\n"]))
    unit = draw(st.sampled_from(["  ", "    ", "\t", ""]))
    space = draw(st.sampled_from(["", " "]))

    def gap(place: str, depth: int) -> str:
        if layout == "random" or (layout == "lines" and place == "empty"):
            return next(runs)
        if layout == "one line":
            return next(runs).strip("\r\n") if place == "empty" else space * (place[:5] == "after")
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
def texts(draw: st.DrawFn) -> str:
    """A valid JSON text that holds an object or a list."""
    return draw(blanks) + spelled(draw(holding(shapes)), draw(gaps())) + draw(blanks)


new_keys = st.text(max_size=6).map(lambda text: "new" + text)
new_values = st.recursive(
    st.one_of(st.none(), st.integers(), st.text(st.characters(), max_size=8)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=8,
)


def places(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every value in a value, with the path to it."""
    yield path, value
    if not isinstance(value, dict | list):
        return
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
        yield from places(inner, (*path, key))


def added(text: str, path: Path, target: Any, key: str, value: object) -> tuple[str, Path]:
    """Add to the container at a path; the edited text and the path of the addition."""
    if isinstance(target, dict):
        return insert_member(text, path, key, value), (*path, key)
    return append_element(text, path, value), (*path, len(target))


def edited_value(value: Any, path: Path, new: Any = None, *, out: bool = False) -> Any:
    """A value with another one at a path, or without the one that is there."""
    if not path:
        return new
    copied: Any = dict(value) if isinstance(value, dict) else list(value)
    if out and len(path) == 1:
        del copied[path[0]]
    elif isinstance(copied, list) and path[0] == len(copied):
        copied.append(new)
    else:
        inner = value[path[0]] if path[1:] else None
        copied[path[0]] = edited_value(inner, path[1:], new, out=out)
    return copied


@thorough
@given(st.data(), texts(), new_keys, new_values)
def test_an_addition_is_just_that_and_removing_it_gives_back_the_exact_text(
    data: st.DataObject, text: str, key: str, value: object
) -> None:
    """For any text, place and value; the new child comes last, all else is as it was."""
    found = [place for place in places(load(text)) if isinstance(place[1], dict | list)]
    path, target = data.draw(st.sampled_from(found))

    edited, new_path = added(text, path, target, key, value)

    plain = json.loads(json.dumps(value))
    assert repr(load(edited)) == repr(edited_value(load(text), new_path, plain))
    assert edited.encode()
    assert remove(edited, new_path) == text


@settings(thorough, max_examples=600)
@given(
    st.text(" \t\r\n", max_size=6),
    st.sampled_from(
        [
            ("", "", ()),
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

    edited, new_path = added(text, path, load(brackets), "k", value)

    assert remove(edited, new_path) == text


def has_duplicates(text: str) -> bool:
    """Whether an object in a text has a key twice: removing one uncovers the other."""
    seen: list[bool] = []
    json.loads(text, object_pairs_hook=lambda pairs: seen.append(len(dict(pairs)) < len(pairs)))
    return any(seen)


@settings(thorough, max_examples=200)
@given(st.data(), texts(), new_values)
def test_a_replacement_and_a_removal_change_that_value_alone(
    data: st.DataObject, text: str, value: object
) -> None:
    """All others keep their order and what they say."""
    found = [path for path, _ in places(load(text)) if path]
    path = data.draw(st.sampled_from(found)) if found else ()
    plain = json.loads(json.dumps(value))

    replaced = load(replace_value(text, path, value))
    assert repr(replaced) == repr(edited_value(load(text), path, plain))
    if path and not has_duplicates(text):
        assert repr(load(remove(text, path))) == repr(edited_value(load(text), path, out=True))


@pytest.mark.parametrize("unit", ["    ", "\t", "   "])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("end", ["", "\n"])
def test_a_laid_out_text_stays_what_json_dumps_would_write(
    unit: str, newline: str, end: str
) -> None:
    """In a regularly indented text, additions look as if they had been written with the rest."""

    def laid_out(value: object) -> str:
        return (json.dumps(value, indent=unit, ensure_ascii=False) + end).replace("\n", newline)

    text = laid_out({"a": {"list": [1], "empty": {}, "none": []}, "é": [HOOK]})

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
    """Numbers, escapes, duplicates and inline arrays stay as written; one line stays one line."""
    text = '{\r\n\t"n": 1.0e5, "e": "\\u00e9\\/",\r\n\t"n": -0,\r\n\t"l": [1,2 , 3]}'

    edited = insert_member(text, (), "hooks", {"é": []})

    assert edited == text[:-1] + ',\r\n\t"hooks": {\r\n\t\t"é": []\r\n\t}}'
    assert remove(edited, ("hooks",)) == text
    assert remove(text, ("l",)) == '{\r\n\t"n": 1.0e5, "e": "\\u00e9\\/",\r\n\t"n": -0}'
    assert remove(text, ("l", 0)) == text.replace("1,2 , 3", "2 , 3")
    assert insert_member('{"a": 1}', (), "b", HOOK) == '{"a": 1, "b": ' + json.dumps(HOOK) + "}"


def test_lone_surrogates_are_escaped() -> None:
    """What is written can always be encoded as UTF-8."""
    edited = insert_member('{"a": 1}', (), "ü", "😀\udfff")

    assert edited == '{"a": 1, "ü": "😀\\udfff"}'
    assert edited.encode()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[1,]",
        '{"a":1,}',
        "{} {}",
        '["\x1f"]',
        '{"a" 1}',
        "9" * 5_000,
        "[" * 100_000 + "]" * 100_000,
    ],
)
def test_what_is_no_json_or_too_deep_is_refused(text: str) -> None:
    """With one sentence, however deep it goes."""
    with pytest.raises(InstallError, match="not valid JSON"):
        append_element(text, (), 1)
