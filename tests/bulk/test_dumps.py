"""JSON by its shape, paths by their folders: what a description says and where it ends."""

from __future__ import annotations

import json
from typing import Any

import pytest

from brimline.bulk import dumps, kinds
from brimline.bulk.dumps import _COMPARED_ITEMS, _MOST_KEYS, _SAMPLE_CHARACTERS
from brimline.bulk.preview import Excerpt

DULL = [f"k{n}" for n in range(dumps._MOST_DULL)]
DEPTH = dumps._MOST_DEPTH
SAMPLE = "x " + "y" * (_SAMPLE_CHARACTERS - 2)


def described(value: Any, budget: int = 4_000) -> str:
    """The description of a document."""
    text = value if isinstance(value, str) else json.dumps(value)
    return dumps.describe_dump(text, Excerpt(text), kinds.JSON, budget)


@pytest.mark.parametrize(
    ("value", "shape"),
    [
        (
            {
                "id": 7,
                "name": "Anna",
                "url": "https://x.y/z",
                "gone": None,
                "zero": 0,
                "off": False,
            },
            '{id: 7, name: "Anna", zero: 0, url gone off}',
        ),
        ({"on": True, "half": 0.0, "empty": "", "none": []}, "{on: true, half: 0.0, empty none}"),
        ([{"a": 1}, {"a": 2, "b": 3}], "[2 × {a: 2, b: 3}]"),
        ([1, 2, 3], "[3 × 1]"),
        ([1, {"a": 1}], "[2 × 1]"),
        ([], "[]"),
        ([[]], "[1 × []]"),
        ('{"a":' * DEPTH + '{"e": 1}' + "}" * DEPTH, "{a: " * DEPTH + "{1 keys}" + "}" * DEPTH),
        ("[" * DEPTH + "[1, 2]" + "]" * DEPTH, "[1 × " * DEPTH + "[2 items]" + "]" * DEPTH),
        ({"s": SAMPLE}, f'{{s: "{SAMPLE}"}}'),
        ({"s": f"{SAMPLE}z"}, f'{{s: "{SAMPLE}…{_SAMPLE_CHARACTERS + 1}"}}'),
        (dict.fromkeys(DULL), f"{{{' '.join(DULL)}}}"),
        (dict.fromkeys([*DULL, "k"]), f"{{{' '.join(DULL)} +1 keys}}"),
        (
            {f"k{n}": 1 for n in range(_MOST_KEYS + 1)},
            "{" + ", ".join(f"k{n}: 1" for n in range(_MOST_KEYS)) + f", k{_MOST_KEYS}}}",
        ),
        ([{"a": None}] * _COMPARED_ITEMS + [{"a": 1}], f"[{_COMPARED_ITEMS + 1} × {{a}}]"),
        ([{"a": None}] * (_COMPARED_ITEMS - 1) + [{"a": 1}], f"[{_COMPARED_ITEMS} × {{a: 1}}]"),
    ],
)
def test_a_document_is_described_by_its_keys_with_a_sample_of_each(value: Any, shape: str) -> None:
    """Keys whose values say nothing come last; what is deep, long or many is counted."""
    assert described(value) == f"JSON: {shape}"


def test_names_in_what_is_not_shown_follow_as_far_as_there_is_room() -> None:
    """Not those of links and hashes, and not what the shape shows already."""
    rows = [
        {"a": "shown_name", "b": "x"},
        {"a": "second_name", "b": "https://host/other_name"},
        *[{"a": "third_one"}, {"a": "fourth_one"}, {"a": "fifth_one"}, {"a": "sixth_one"}],
        {"a": "the_last_of_the_names"},
    ]
    shape = 'JSON: [7 × {a: "shown_name", b: "x"}]'
    most = f"{shape}\nNames in it: second_name third_one fourth_one fifth_one sixth_one"
    everything = f"{most} the_last_of_the_names"

    assert described(rows) == everything
    assert described(rows, len(everything)) == everything
    assert described(rows, len(everything) - 1) == most


def paths(lines: list[str], budget: int) -> list[str]:
    """The description of a listing."""
    text = "\n".join(lines)
    return dumps.describe_dump(text, Excerpt(text), kinds.PATHS, budget).split("\n")
