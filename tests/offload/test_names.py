"""The names of an output: which are taken, which of them are shown, and which lines alarm."""

from __future__ import annotations

import pytest

from brimline.offload import names
from brimline.offload.names import NUMBER, PATH, SYMBOL, WORD, Name


@pytest.mark.parametrize(
    ("run", "rank"),
    [
        ("parse_line", SYMBOL),
        ("src/app/main.py", PATH),
        ("resources/messages", PATH),
        ("deployment", WORD),
        ("deadbeef", WORD),
        ("123456", None),
        ("1234567", NUMBER),
        ("1a2b3c4", NUMBER),
        ("0123456789abcdef0123", WORD),
        ("2026-11-15", None),
        ("v1.2.34", None),
        ("zzzzz", None),
        ("zzzzzz", WORD),
        ("z" * 100, WORD),
        ("z" * 101, None),
    ],
)
def test_a_name_is_a_symbol_a_path_a_number_or_a_long_word(run: str, rank: int | None) -> None:
    """Versions, dates and what is too short or too long are none."""
    assert names.find_names_not_shown([(3, f"({run})")], "") == (
        [] if rank is None else [Name(3, run, rank)]
    )


def test_a_name_is_told_once_where_it_comes_first_and_not_where_it_is_shown() -> None:
    """What holds a symbol that is shown is a new form of it, a path at best."""
    lines = [(0, "parse_line seen_before"), (1, "parse_line"), (2, "x.parse_line")]

    assert names.find_names_not_shown(lines, "seen_before") == [
        Name(2, "x.parse_line", SYMBOL),
        Name(0, "parse_line", PATH),
    ]


@pytest.mark.parametrize(("length", "order"), [(40, [1, 0]), (41, [0, 1])])
def test_the_longer_form_of_a_symbol_comes_before_other_names(
    length: int, order: list[int]
) -> None:
    """Up to forty characters."""
    lines = [(0, "first_name"), (1, "x." + "y" * (length - 2))]

    assert [name.line for name in names.find_names_not_shown(lines, "")] == order


def test_of_a_huge_text_as_many_names_are_looked_at_as_could_ever_be_shown() -> None:
    """A little more than three thousand."""
    lines = [(number, f"word_{number:05}") for number in range(4_000)]

    assert len(names.find_names_not_shown(lines, "")) == 3_001


@pytest.mark.parametrize(
    ("text", "mentioned"),
    [
        ("123 1234", {"1234"}),
        ("zzzzzz ab_12 abc_12", {"abc_12"}),
        ("see src/parse_line.py", {"src/parse_line.py", "parse_line"}),
        ("see a/b.py", {"a/b.py"}),
        ("plain-words-only", set()),
        ("9" * 200, {"9" * 200}),
        ("9" * 201, set()),
    ],
)
def test_a_text_mentions_paths_symbols_and_numbers(text: str, mentioned: set[str]) -> None:
    """A path also mentions the symbols that it is made of."""
    assert names.names_mentioned_in(text) == mentioned


@pytest.mark.parametrize(
    ("room", "bought"),
    [
        (6, []),
        (7, ["abcdef"]),
        (15, ["zzzzzz", "abcdef"]),
        (16, ["abcdefgh", "abcdef"]),
        (23, ["abcdefgh", "zzzzzz", "abcdef"]),
    ],
)
def test_better_and_shorter_names_are_bought_first(room: int, bought: list[str]) -> None:
    """Each takes a space more than its letters; they are shown in the order of their lines."""
    named = [Name(0, "abcdefgh", SYMBOL), Name(1, "zzzzzz", WORD), Name(2, "abcdef", SYMBOL)]

    assert [name.text for name in names.choose_names_that_fit(named, room)] == bought
    better = [text for text in bought if text != "zzzzzz"]
    assert [name.text for name in names.choose_names_that_fit(named, room, SYMBOL)] == better


@pytest.mark.parametrize(
    ("text", "width", "beyond", "clipped"),
    [
        ("abc", 10, 0, "abc"),
        ("abc", 3, 0, "abc"),
        ("one two three", 3, 0, "one…"),
        ("one two three", 5, 0, "one two…"),
        ("abc", 3, 7, "abc…"),
        ("a" + " " * 199, 1, 0, "a…"),
        ("a" + " " * 200, 1, 0, "a…+200"),
        ("abc", 3, 200, "abc…+200"),
        ("a" * 40, 10, 0, "a" * 34 + "…"),
    ],
)
def test_a_line_is_cut_after_a_word_and_a_long_rest_is_counted(
    text: str, width: int, beyond: int, clipped: str
) -> None:
    """What lies beyond the text counts as rest too."""
    assert names.clip_at_word(text, width, beyond) == clipped


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


@pytest.mark.parametrize(
    ("line", "weight"),
    [
        ("FAILED tests/test_x.py", 3),
        ("3 tests passed", 3),
        ("ok 12", 3),
        ("an Error came", 2),
        ("Deprecation", 1),
        ("WARNING: old", 1),
        ("all is well", 0),
    ],
)
def test_a_failure_or_a_total_alarms_more_than_an_error_and_an_error_than_a_warning(
    line: str, weight: int
) -> None:
    """Whatever the case of the letters."""
    assert names.alarm_level_of_line(line) == weight


@pytest.mark.parametrize("first", ["fine", "größer"])
def test_alarming_lines_have_their_numbers(first: str) -> None:
    """Between two places of the text, once each, also at the ends of what is looked at."""
    rows = [first, "ERROR fatal", "fine", "not ok 3", "panic"]
    text = "\n".join(rows)
    second, last = text.index("ERROR"), text.index("panic")

    assert names.alarming_lines_by_number(text, 0, len(text), 0) == {
        1: rows[1],
        3: rows[3],
        4: rows[4],
    }
    assert names.alarming_lines_by_number(text, second, last, 1) == {1: rows[1], 3: rows[3]}
    assert names.alarming_lines_by_number(text, last, len(text), 4) == {4: "panic"}
    assert names.alarming_lines_by_number(text, 0, second, 0) == {}


def test_a_word_that_alarms_on_every_line_is_looked_for_sixty_times() -> None:
    """More would not be shown."""
    text = "error\n" * 100

    assert list(names.alarming_lines_by_number(text, 0, len(text), 0)) == list(range(60))
