"""Texts are cut into sentences and list items as they were written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brimline.carry.sentences import LONGEST_CHARACTERS, left_out, sentences


def texts(text: str) -> list[str]:
    """The sentences of a text."""
    return [sentence.text for sentence in sentences(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("Use port 8443. Don't push.", ["Use port 8443.", "Don't push."]),
        ("dont push\nuse v2.1 of src/app.py", ["dont push", "use v2.1 of src/app.py"]),
        ("Ask e.g. Petra. Then go on!", ["Ask e.g. Petra.", "Then go on!"]),
        ('He said "stop." Then he left.', ['He said "stop."', "Then he left."]),
        ("Redis? No. Too slow.", ["Redis? No.", "Too slow."]),
        ("at some point we need this", ["at some point we need this"]),
        ("let us keep the old format", ["let us keep the old format"]),
    ],
)
def test_a_text_is_cut_where_people_end_sentences(text: str, expected: list[str]) -> None:
    """Paths, versions and abbreviations hold no end; a short question keeps its answer."""
    assert texts(text) == expected


def test_a_wrapped_sentence_is_one() -> None:
    """A line that was wrapped by an editor goes on in the next one."""
    text = "Please keep the exporter for the billing service running until\nthe migration is over."

    assert texts(text) == [text.replace("\n", " ")]


def test_a_list_item_knows_the_line_that_introduces_it() -> None:
    """Headings, bold lines and lines that end in a colon introduce lists."""
    rules = "Some rules:\n1. no pushes\n2) ask\n   me first\n\n"
    text = f"## Remaining\n- write docs\n\n{rules}**Open**\n* one more"

    found = [(sentence.lead, sentence.text) for sentence in sentences(text) if sentence.is_item]

    assert found == [
        ("Remaining:", "write docs"),
        ("Some rules:", "no pushes"),
        ("Some rules:", "ask me first"),
        ("Open:", "one more"),
    ]


def test_a_box_says_whether_an_item_is_ticked() -> None:
    """`[x]` is done, `[ ]` is not, everything else says nothing."""
    found = [s.is_checked for s in sentences("- [x] one thing\n- [ ] another\n- a third")]

    assert found == [True, False, None]


@pytest.mark.parametrize(
    "line",
    [
        "| a | b |",
        "> quoted from elsewhere",
        "2026-05-04T20:19:04.242 INFO started",
        "level=info msg=hello count=3",
        "    at run (app.js:3:9)",
        'File "app.py", line 3, in run',
        "$ make never-do-this",
        "const never = require('x');",
        "-----",
    ],
)
def test_code_logs_and_quotes_are_no_sentences(line: str) -> None:
    """What a person did not write as a sentence is left out, and can be had apart."""
    assert texts(f"Look at this\n\n{line}\n") == ["Look at this"]
    assert line.strip() in left_out(f"Look at this\n\n{line}\n")


def test_code_blocks_are_left_out_also_where_they_are_not_closed() -> None:
    """Nothing in a fenced block is anybody's statement."""
    assert texts("Do it.\n```\nnever push\n```\nThen stop.") == ["Do it.", "Then stop."]
    assert texts("Do it.\n```sh\nnever push\nalways pull") == ["Do it."]


def test_a_long_sentence_falls_into_clauses_that_hold_all_its_words() -> None:
    """No clause is longer than a line of the card."""
    text = ", ".join(f"part {number} of it is long" for number in range(60))

    found = texts(text)

    assert " ".join(found) == text
    assert max(map(len, found)) <= LONGEST_CHARACTERS


def test_of_a_huge_text_the_beginning_and_the_end_are_read() -> None:
    """A pasted megabyte costs no more than a long page."""
    text = "First words here.\n" + "Filler goes on. " * 60_000 + "\nLast words here."

    found = texts(text)

    assert found[0] == "First words here."
    assert len(found) < 1_000


@given(st.text())
def test_any_text_can_be_cut(text: str) -> None:
    """No text raises, and no sentence is empty."""
    assert all(sentence.text and sentence.plain for sentence in sentences(text))
    left_out(text)
