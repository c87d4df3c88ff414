"""Texts reduced to what can be compared."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brimline.carry import values, words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Don’t push, pls!", " do not push please "),
        ("dont touch src/app_main.py", " do not touch "),
        ("run `make never` now", " run now "),
        ("created_at is set", " is set "),
        ("", "  "),
    ],
)
def test_plain_words_are_spelled_out_and_hold_no_names(text: str, expected: str) -> None:
    """Contractions become words; files, variables and code are no words."""
    assert words.plain(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ok, and please never push", " § okay and please ¦ never push "),
        ("Do X, but don't push", " § ¦ do x but ¦ do not push "),
        ("it never works", " § ¦ it  works "),
    ],
)
def test_a_mark_stands_where_a_clause_begins(text: str, expected: str) -> None:
    """After the words with which people open it; a habit that is told of rules nothing."""
    assert words.marked(text) == expected


@pytest.mark.parametrize(
    "forms",
    [
        ("export", "exports", "exported", "exporting", "exporter"),
        ("migrate", "migrates", "migrated", "migration"),
        ("drop", "drops", "dropped", "dropping"),
        ("policy", "policies"),
    ],
)
def test_forms_of_a_word_are_one(forms: tuple[str, ...]) -> None:
    """The endings of a word do not count."""
    assert len({words.stem(form) for form in forms}) == 1


def test_names_fall_into_their_parts_as_content() -> None:
    """`csv-export` and `CSV export` are the same content, small words are none."""
    assert words.content("the csv-export in src/report_page.py") == words.content(
        "CSV export src report page py"
    )


def test_versions_of_a_thing_are_two_things() -> None:
    """A figure that only the mention has rules out an item with another figure."""
    said, item = words.content("api v3 docs"), words.content("write the api v2 docs")

    assert words.fit(said, item, 3) == 0
    assert words.fit(words.content("api docs"), item, 2) > 0.8


@pytest.mark.parametrize(
    ("text", "least"),
    [
        ("see /etc/app/limits.conf", 1.0),
        ("port 8443", 1.0),
        ("takes 250 ms", 1.0),
        ("commit 3f9a2c1b7d", 1.0),
        ("set MAX_UPLOAD_MB", 1.0),
        ("version 2.4.1", 1.0),
        ("ticket OPS-1234", 0.8),
        ("about 40%", 0.8),
    ],
)
def test_exact_values_make_a_text_specific(text: str, least: float) -> None:
    """Paths, figures, hashes, versions, names of variables."""
    assert values.specificity(text) >= least


@pytest.mark.parametrize("text", ["", "go on please", "NEVER do that", "I think so", "option 2"])
def test_prose_is_not_specific(text: str) -> None:
    """Neither shouting nor the number of a list item is an exact value."""
    assert values.specificity(text) < 0.5


@given(st.text())
def test_any_text_can_be_reduced(text: str) -> None:
    """No text raises."""
    words.marked(text)
    words.content(words.plain(text))
    assert 0 <= values.specificity(text) <= 4
