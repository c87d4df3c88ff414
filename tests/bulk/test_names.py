"""The names of an output: which are taken, and which of them are shown."""

from __future__ import annotations

import pytest

from brimline.bulk import names
from brimline.bulk.mentions import SHORTEST_NAME
from brimline.bulk.names import _LONGEST_FORM, NUMBER, PATH, SYMBOL, WORD, Name


@pytest.mark.parametrize(
    ("run", "rank"),
    [
        ("parse_line", SYMBOL),
        ("src/app/main.py", PATH),
        ("resources/messages", PATH),
        ("deployment", WORD),
        ("deadbeef", WORD),
        ("123456", None),
        ("1234567890", NUMBER),
        ("1a2b3c4d5e6f", NUMBER),
        ("0123456789abcdef0123", WORD),
        ("2026-11-15", None),
        ("v1.2.34", None),
        ("z" * (SHORTEST_NAME - 1), None),
        ("z" * SHORTEST_NAME, WORD),
        ("z" * names.LONGEST_NAME, WORD),
        ("z" * (names.LONGEST_NAME + 1), None),
    ],
)
def test_a_name_is_a_symbol_a_path_a_number_or_a_long_word(run: str, rank: int | None) -> None:
    """Versions, dates and what is too short or too long are none."""
    assert names.find_names_not_shown([(3, f"({run})")], "") == (
        [] if rank is None else [Name(3, run, rank)]
    )


@pytest.mark.parametrize(
    ("length", "order"), [(_LONGEST_FORM, [1, 0]), (_LONGEST_FORM + 1, [0, 1])]
)
def test_the_longer_form_of_a_symbol_comes_before_other_names(
    length: int, order: list[int]
) -> None:
    """Unless it is long."""
    lines = [(0, "first_name"), (1, "x." + "y" * (length - 2))]

    assert [name.line for name in names.find_names_not_shown(lines, "")] == order


def test_of_a_huge_text_as_many_names_are_looked_at_as_could_ever_be_shown() -> None:
    """And no more."""
    most = names._MOST_RUNS
    lines = [(number, f"word_{number:05}") for number in range(most * 2)]

    assert len(names.find_names_not_shown(lines, "")) == most + 1


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("  plain  ", "plain"),
        ("10%\r50%\r100%", "100%"),
        ("50%\r100%\r", "100%"),
        ("done\r\x1b[K", "done"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\r\r", ""),
    ],
)
def test_a_line_is_shown_as_the_terminal_left_it(line: str, shown: str) -> None:
    """A progress bar as it stood at the end, without colours."""
    assert names.line_without_escapes(line) == shown
