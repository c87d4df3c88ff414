"""Searching content: lines with numbers, and no pattern that hangs."""

from __future__ import annotations

import pytest

from brimline.store.errors import StoreError
from brimline.store.grep import Row, SlowPatternError, grep

DATA = b"alpha\nbeta 1\nBETA 2\n\xff\xfe gr\xc3\xbcn\nomega"


def numbers(data: bytes, pattern: str, **options: bool) -> list[int]:
    """The numbers of the lines that match."""
    return [row.number for group in grep(data, pattern, **options) for row in group if row.matches]


@pytest.mark.parametrize(
    ("pattern", "options", "wanted"),
    [
        ("beta", {}, [2]),
        ("beta", {"ignore_case": True}, [2, 3]),
        (r"^b\w+ \d$", {}, [2]),
        (r"^b\w+ \d$", {"ignore_case": True}, [2, 3]),
        ("a$", {}, [1, 5]),
        ("a$", {"plain": True}, []),
        ("grün", {}, [4]),
        ("gr[üu]n", {}, [4]),
        ("GRÜN", {"ignore_case": True}, [4]),
        ("^$", {}, []),
        ("", {}, [1, 2, 3, 4, 5]),
    ],
)
def test_lines_that_match_are_found_with_their_numbers(
    pattern: str, options: dict[str, bool], wanted: list[int]
) -> None:
    """Plain text and regular expressions, with and without case, beside bytes that are no text."""
    assert numbers(DATA, pattern, **options) == wanted


def test_lines_around_a_match_come_with_it_and_overlapping_groups_join() -> None:
    """Groups are apart where lines were left out."""
    data = b"".join(b"line %d\n" % number for number in range(1, 21))

    found = grep(data, r"line (3|5|18)$", context=1)

    assert [[row.number for row in group] for group in found] == [[2, 3, 4, 5, 6], [17, 18, 19]]
    assert [row.number for group in found for row in group if row.matches] == [3, 5, 18]
    assert found[0][0] == Row(2, b"line 2", matches=False)


def test_where_a_line_matches_is_told_in_bytes() -> None:
    """So that of a long line the part around can be shown; of a long match, its end."""
    (row,) = grep("äö".encode() + b"\xffneedle", "needle")[0]
    (long,) = grep(b"x" * 1_000 + b"needle", "^.*needle")[0]

    assert row.place == 5
    assert long.place == 1_006 - 200


def test_a_pattern_that_would_take_for_ever_is_given_up() -> None:
    """The sentence says why and what to do; options are for the command to name."""
    with pytest.raises(SlowPatternError, match=r"took more than 0\.5 s.*: simplify it$"):
        grep(b"a" * 60 + b"!\n", "(a+)+$", timeout_s=0.5)


@pytest.mark.parametrize("pattern", ["(", "[a", "*", "a{3,1}", "(?P<a>x)(?P<a>y)"])
def test_what_is_no_regular_expression_is_refused(pattern: str) -> None:
    """In one sentence with Python's own reason."""
    with pytest.raises(StoreError, match="is no regular expression"):
        grep(DATA, pattern)


def test_content_of_many_lines_is_searched_in_a_process_of_its_own() -> None:
    """200,000 lines go there and the numbers come back."""
    data = b"".join(b"%d\n" % number for number in range(1, 200_001))

    assert numbers(data, "^1?99999$") == [99_999, 199_999]


def test_nothing_matches_in_nothing() -> None:
    """Empty content has no line."""
    assert grep(b"", ".*") == []
