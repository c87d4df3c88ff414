"""The JSON text editor: exact inverses, untouched surroundings, strict reading."""

import json
from collections.abc import Iterator
from typing import Any, TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brimline.errors import InstallError
from brimline.install import jsontext
from brimline.install.jsontext import (
    parse_json_text,
    with_appended,
    with_new_member,
    with_value,
    without_value,
)

Path: TypeAlias = tuple[str | int, ...]

thorough = settings(max_examples=400)
HOOK = {"hooks": [{"type": "command", "command": "brimline hook", "timeout": 5}]}

scalars = st.one_of(
    st.none(), st.booleans(), st.integers(), st.text(max_size=6), st.sampled_from([1e5, "\ud800"])
)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.sampled_from(["a", "b", "é", "", "\ud800", "😀"]), inner, max_size=4),
    ),
    max_leaves=14,
)
blanks = st.sampled_from(["", " ", "\n", "\r\n", "\t", "\r\n\r\n ", "\n\r"])


@st.composite
def texts(draw: st.DrawFn) -> str:
    """A JSON text that holds an object or a list, as people and programs write it."""
    indent = draw(st.sampled_from([None, 0, 2, "\t"]))
    marks = st.sampled_from([",", ", ", " , "] if indent is None else [","])
    text = json.dumps(
        draw(values.filter(lambda value: isinstance(value, dict | list))),
        ensure_ascii=True,
        indent=indent,
        separators=(draw(marks), draw(st.sampled_from([":", ": ", " :  "]))),
    )
    text = text.replace("{}", "{" + draw(blanks) + "}").replace("[]", "[" + draw(blanks) + "]")
    text = draw(blanks) + text + draw(blanks)
    return text.replace("\n", "\r\n") if draw(st.booleans()) else text


new_keys = st.text(max_size=6).map(lambda text: "new" + text)


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
        return with_new_member(text, path, key, value), (*path, key)
    return with_appended(text, path, value), (*path, len(target))


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
@given(st.data(), texts(), new_keys, values)
def test_an_addition_is_just_that_and_removing_it_gives_back_the_exact_text(
    data: st.DataObject, text: str, key: str, value: object
) -> None:
    """For any text, place and value; the new child comes last, all else is as it was."""
    found = [place for place in places(parse_json_text(text)) if isinstance(place[1], dict | list)]
    path, target = data.draw(st.sampled_from(found))

    edited, new_path = added(text, path, target, key, value)

    plain = json.loads(json.dumps(value))
    assert repr(parse_json_text(edited)) == repr(
        edited_value(parse_json_text(text), new_path, plain)
    )
    assert edited.encode()
    assert without_value(edited, new_path) == text


@settings(thorough, max_examples=200)
@given(st.data(), texts(), values)
def test_a_replacement_and_a_removal_change_that_value_alone(
    data: st.DataObject, text: str, value: object
) -> None:
    """All others keep their order and what they say."""
    found = [path for path, _ in places(parse_json_text(text)) if path]
    path = data.draw(st.sampled_from(found)) if found else ()
    plain = json.loads(json.dumps(value))

    replaced = parse_json_text(with_value(text, path, value))
    assert repr(replaced) == repr(edited_value(parse_json_text(text), path, plain))
    if path:
        assert repr(parse_json_text(without_value(text, path))) == repr(
            edited_value(parse_json_text(text), path, out=True)
        )


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

    text = with_new_member(text, ("a", "empty"), "k", HOOK)
    text = with_appended(text, ("a", "none"), HOOK)
    text = with_appended(text, ("a", "list"), [2])
    text = with_appended(text, ("é", 0, "hooks"), "ü")
    text = with_value(text, ("é", 0, "hooks", 0, "timeout"), {"s": 5})

    assert text == laid_out(
        {
            "a": {"list": [1, [2]], "empty": {"k": HOOK}, "none": [HOOK]},
            "é": [{"hooks": [HOOK["hooks"][0] | {"timeout": {"s": 5}}, "ü"]}],
        }
    )


def test_spellings_of_others_survive_an_edit_and_its_undoing() -> None:
    """Numbers, escapes, duplicates and inline arrays stay as written; one line stays one line."""
    text = '{\r\n\t"n": 1.0e5, "e": "\\u00e9\\/",\r\n\t"n": -0,\r\n\t"l": [1,2 , 3]}'

    edited = with_new_member(text, (), "hooks", {"é": []})

    assert edited == text[:-1] + ',\r\n\t"hooks": {\r\n\t\t"é": []\r\n\t}}'
    assert without_value(edited, ("hooks",)) == text
    assert without_value(text, ("l",)) == '{\r\n\t"n": 1.0e5, "e": "\\u00e9\\/",\r\n\t"n": -0}'
    assert without_value(text, ("l", 0)) == text.replace("1,2 , 3", "2 , 3")
    assert with_new_member('{"a": 1}', (), "b", HOOK) == '{"a": 1, "b": ' + json.dumps(HOOK) + "}"


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
        with_appended(text, (), 1)


@pytest.mark.parametrize(
    ("text", "added"),
    [
        ("{}", '{\n  "k": 1\n}'),
        ("{ }", '{ \n  "k": 1\n}'),
        ("{}\n", '{\n  "k": 1\n}\n'),
        ("{\n}", '{\n\n  "k": 1\n}'),
        ("{\r\n}", '{\r\n\r\n  "k": 1\r\n}'),
        ('{"a": 1}', '{"a": 1, "k": 1}'),
        ('{"a":1 }', '{"a":1, "k": 1 }'),
        ('{\n\t"a": 1\n}', '{\n\t"a": 1,\n\t"k": 1\n}'),
        ('{\r\n "a": 1\r\n}', '{\r\n "a": 1,\r\n "k": 1\r\n}'),
        ('{"a": 1,\n "b": 2}', '{"a": 1,\n "b": 2,\n "k": 1}'),
        ('{"a": 1, "b": 2\n}', '{"a": 1, "b": 2, "k": 1\n}'),
        ('{\n  "a": 1, "b": 2\n}', '{\n  "a": 1, "b": 2, "k": 1\n}'),
        # As many of one line end as of the other: the plain one.
        ('{\r\n "a": 1\n}', '{\r\n "a": 1,\n "k": 1\n}'),
    ],
)
def test_a_member_comes_behind_the_last_one_in_its_manner(text: str, added: str) -> None:
    """On its line or on the next, with the indentation and the line ends that there are."""
    assert with_new_member(text, (), "k", 1) == added
    assert without_value(added, ("k",)) == text


@pytest.mark.parametrize(
    ("text", "path", "left"),
    [
        ('{"a": 1, "b": 2, "c": 3}', ("a",), '{"b": 2, "c": 3}'),
        ('{"a": 1, "b": 2, "c": 3}', ("b",), '{"a": 1, "c": 3}'),
        ('{"a": 1, "b": 2, "c": 3}', ("c",), '{"a": 1, "b": 2}'),
        ("[1,2,3]", (0,), "[2,3]"),
        ("[1,2,3]", (2,), "[1,2]"),
        ('{"a": {"b": [5]}}', ("a", "b", 0), '{"a": {"b": []}}'),
        ('{"a": 1, "a": 2}', ("a",), '{"a": 1}'),
        ('{ "a": 1 }', ("a",), "{ }"),
        ('{ "a": 1}', ("a",), "{}"),
        ('{\n  "a": 1\n}', ("a",), "{}"),
        ('{  \n  "a": 1\n}', ("a",), "{  }"),
        ('{\n"a": 1}', ("a",), "{}"),
        ('{"a": 1\n}', ("a",), "{}"),
    ],
)
def test_a_removal_takes_what_parts_a_child_from_its_neighbour(
    text: str, path: Path, left: str
) -> None:
    """From the one before it, or, of the first one, to the one behind it."""
    assert without_value(text, path) == left


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"a" 1}', "this is not valid JSON: Expecting ':' delimiter at line 1, column 6"),
        ("{\n  5}", "Expecting property name enclosed in double quotes at line 2, column 3"),
    ],
)
def test_what_is_no_json_is_told_with_line_and_column(text: str, told: str) -> None:
    """As an editor counts them."""
    with pytest.raises(InstallError) as raised:
        parse_json_text(text)

    assert str(raised.value).endswith(told)


def test_half_characters_are_written_as_escapes_and_others_as_they_are() -> None:
    """The text has to be UTF-8."""
    assert with_value('{"a": 1}', ("a",), "\ud800ü") == '{"a": "\\ud800ü"}'
    assert with_value('{\n  "a": 1\n}', ("a",), [1]) == '{\n  "a": [\n    1\n  ]\n}'


@pytest.mark.parametrize(
    ("text", "mark"),
    [
        ("{\r\n}\r\n", "\r\n"),
        ("{\n}\n", "\n"),
        ("{\r\n}\n", "\n"),
        ("{\r\n\r\n}\n", "\r\n"),
        ("{}", "\n"),
    ],
)
def test_a_file_of_two_kinds_of_line_breaks_goes_on_with_the_more_frequent(
    text: str, mark: str
) -> None:
    """Of as many of both with the plain one."""
    assert jsontext._line_break_used_in(text) == mark
