"""The client's tools: what a call is about, and what the client cuts."""

from __future__ import annotations

from typing import Any

import pytest

from brimline.transcript import clienttools

OPEN = 1 << 62


def test_a_read_of_named_lines_or_pages_is_a_page() -> None:
    """Of a value that is not given nothing is asked."""
    assert clienttools.asks_for_part_of_file({"file_path": "/a.py", "limit": 5})
    assert clienttools.asks_for_part_of_file({"file_path": "/a.pdf", "pages": "1-3"})
    assert not clienttools.asks_for_part_of_file({"file_path": "/a.py", "limit": None})


def test_the_client_cuts_each_tool_at_its_own_size() -> None:
    """Commands at 30,000 characters, searches at 20,000, others at 50,000, a Read never."""
    whole = {
        tool: clienttools.characters_shown_whole(tool) for tool in ("Bash", "Grep", "mcp__a__b")
    }

    assert whole == {"Bash": 30_000, "Grep": 20_000, "mcp__a__b": 50_000}
    assert clienttools.characters_shown_whole("Read") > 1 << 40


@pytest.mark.parametrize(
    ("response", "size"),
    [
        ({"type": "text", "file": {"content": "a\nb", "startLine": 9}}, len("9\t10\t")),
        ({"type": "text", "file": {"content": "a"}}, len("1\t")),
        ({"type": "notebook", "file": {"cells": []}}, 0),
        ({"type": "text", "file": None}, 0),
        ({"stdout": "a\nb"}, 0),
        ("a\nb", 0),
    ],
)
def test_the_lines_of_a_file_are_sent_with_their_numbers(response: Any, size: int) -> None:
    """Each behind its number and a tab; other results as they are."""
    assert clienttools.count_line_number_bytes(response) == size


@pytest.mark.parametrize(
    ("failure", "lost"),
    [
        ("a ... [20000 characters truncated] ... b", True),
        ("a ... [19999 characters truncated] ... b", False),
        ("a ... [x characters truncated] ... b", False),
        ("a ... [20000", False),
        ("20000", False),
    ],
)
def test_a_failure_that_was_cut_twice_has_lost_its_end(failure: str, lost: bool) -> None:
    """What is left out and what is shown make 30,000 characters or more."""
    assert clienttools.has_failed_output_lost_its_end(failure) is lost


@pytest.mark.parametrize(
    ("arguments", "lines"),
    [
        ({"offset": 0, "limit": 0}, (1, OPEN)),
        ({"offset": 1, "limit": 1}, (1, 2)),
        ({"offset": -3, "limit": 2}, (1, 3)),
        ({"offset": 7}, (7, OPEN)),
        ({"offset": "7", "limit": "2"}, (1, OPEN)),
    ],
)
def test_lines_begin_at_one(arguments: dict[str, Any], lines: tuple[int, int]) -> None:
    """What is not a number of a line is as if it were not given."""
    assert clienttools.half_open_line_range_asked_for(arguments) == lines


def test_a_subject_is_cut() -> None:
    """At so many characters, or where the caller says."""
    assert clienttools.subject_of_call({"command": "x" * 999}) == "x" * clienttools.LONGEST_SUBJECT
    assert clienttools.subject_of_call({"command": "", "url": "abc"}, 2) == "ab"
