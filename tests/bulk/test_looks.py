"""What a session was shown of stored content: which lines of it, and how much."""

from __future__ import annotations

import pytest

from brimline.bulk import looks, put, tool_results

TEN = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten"
TWICE = "a\nb\na\nb\nc"


@pytest.mark.parametrize(
    ("content", "asked", "shown", "lines"),
    [
        (TEN, " --lines 1:3", "one\ntwo\nthree", (1, 3)),
        (TEN, " --lines 4:5", "four\nfive", (4, 5)),
        (TEN, " --lines 9:10", "nine\nten\n", (9, 10)),
        (TEN, "", TEN, (1, 10)),
        (TEN, " | head -2", "one\ntwo", (1, 2)),
        (TEN, " | tail -1", "ten", (10, 10)),
        (TEN, " --lines 1:3", "one\ntw", None),
        (TEN, " --lines 1:3", "ne\ntwo", None),
        (TEN, " --lines 1:3", "else", None),
        (TEN, "", "", None),
        (TWICE, " --lines 3:4", "a\nb", (3, 4)),
        (TWICE, " --lines 1:2", "a\nb", (1, 2)),
        (TWICE, " --lines 9:10", "a\nb", (1, 2)),
        (TWICE, "", "a\nb", (1, 2)),
        ("\n\none\ntwo\n\n", "", "one\ntwo", (1, 6)),
        ("one\n\n\ntwo", " --lines 3:4", "two", (2, 4)),
    ],
)
def test_lines_count_that_were_shown_without_a_gap(
    home_dir: str, content: str, asked: str, shown: str, lines: tuple[int, int] | None
) -> None:
    """From where they were asked for; blank lines at the ends count with their neighbours."""
    key = put.put(home_dir, content.encode(), {"tool": "Bash"})
    call = {"command": f"brimline store get {key}{asked}"}
    result = tool_results.parse_answer("Bash", call, {"stdout": shown, "stderr": ""})
    assert result is not None

    ((fetched_key, _, size, found),) = looks.recalls_shown_by_call(home_dir, "Bash", call, result)

    assert (fetched_key, size, found) == (key, len(shown.encode()), lines)
