"""Queries: what they ask for, and which texts and lines answer them."""

from __future__ import annotations

import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brimline.store import words
from brimline.store.errors import StoreError

from .examples import thorough


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("timeout error", ["timeout", "error"]),
        ('say "two  words" twice', ["say", "two words", "twice"]),
        ("same same", ["same"]),
        ('an "open quote', ["an", "open", "quote"]),
        ('a"b', ["a", "b"]),
        ("naïve 東京", ["naïve", "東京"]),
        ("foo_bar.py:12", ["foo_bar.py:12"]),
        ("nul\x00byte", ["nul", "byte"]),
    ],
)
def test_a_query_is_words_and_quoted_phrases(query: str, wanted: list[str]) -> None:
    """Each once, in the order of the query."""
    assert words.terms(query) == wanted


@pytest.mark.parametrize("query", ["", "  \n", '""', "x" * 501, " ".join(map(str, range(17)))])
def test_a_query_without_words_or_with_too_many_is_refused(query: str) -> None:
    """One sentence says what to give instead."""
    with pytest.raises(StoreError, match="give"):
        words.terms(query)


@thorough
@given(st.text(st.characters(), max_size=60))
def test_no_query_is_an_error_to_the_database(query: str) -> None:
    """Whatever characters it holds, none has a meaning of its own."""
    try:
        expression = words.expression(words.terms(query), "AND")
    except StoreError:
        return
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE VIRTUAL TABLE t USING fts5(text)")
    if expression:
        connection.execute("SELECT * FROM t WHERE t MATCH ?", (expression,)).fetchall()
    connection.close()


def test_punctuation_alone_is_no_word_for_the_index() -> None:
    """It would match nothing, and is left to the search through the content."""
    assert words.expression(["->", "!!"], "AND") == ""
    assert words.expression(["->", "x"], "AND") == '"x" *'


def test_colours_do_not_stick_to_words() -> None:
    """What a terminal shows as ERROR is the word ERROR."""
    assert words.plain("\x1b[31mERROR\x1b[0m").split() == ["ERROR"]


def test_neither_case_nor_accents_matter() -> None:
    """As in the index."""
    assert words.fold("Ärger im CAFÉ") == "arger im cafe"
    assert words.holds_all("STRASSE und Größe", ["straße", "GROSSE"])
    assert not words.holds_all("one", ["one", "two"])


def test_the_best_lines_hold_most_of_the_words() -> None:
    """The best ones first, told in their order, and none that holds nothing."""
    lines = ["error", "x", "timeout in worker", "error: timeout", "none", "Error again"]

    assert words.best_lines(lines, ["timeout", "error"], 2) == [0, 3]
    assert words.best_lines(lines, ["timeout", "error"], 9) == [0, 2, 3, 5]
    assert words.best_lines(lines, ["absent"], 9) == []


@pytest.mark.parametrize(
    ("data", "wanted"),
    [
        (b"", False),
        (b"plain text\n" * 900, False),
        (b"\x1b[1mcolour\x1b[0m\r\n\t", False),
        ("grün 東京".encode() * 999, False),
        (b"\x89PNG\r\n\x1a\n\x00\x00", True),
        (bytes(range(128, 256)) * 9, True),
        (b"text first " * 900 + b"\x00", False),
        (b"one \xff byte in much text that is fine otherwise", False),
    ],
)
def test_content_is_taken_for_binary_by_its_beginning(data: bytes, wanted: bool) -> None:
    """A few strange bytes do not make it so."""
    assert words.is_binary(data) is wanted
