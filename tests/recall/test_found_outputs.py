"""What `store search` says: which outputs, by which of their lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from brimline.bulk import layout, listing, put
from brimline.recall import found_outputs

if TYPE_CHECKING:
    from collections.abc import Callable


MOST = found_outputs._HIT_CHARACTERS


def test_an_output_is_shown_by_its_first_fitting_lines_with_their_numbers(
    home_dir: str,
) -> None:
    """A long line by the part that fits."""
    lines = [f"line {number}" for number in range(1, 4)]
    most = found_outputs._LINES_PER_HIT
    lines += [f"otter {number}" for number in range(4, most + 5)]
    lines[3] = "x" * 999 + "otter 4"
    put.put(home_dir, "\n".join(lines).encode(), {"tool": "Bash", "source": "cat a"})

    found = found_outputs.document(home_dir, "otter", None, 10)

    (shown,) = found["outputs"]
    assert [line.partition(":")[0] for line in shown["lines"]] == [
        str(number) for number in range(4, most + 4)
    ]
    assert shown["lines"][0].startswith("4: …xxx")
    assert (found["found"], found["searched"], found["all_words"]) == (1, 1, True)
    assert shown["title"] == "Bash cat a"
    none = found_outputs.document(home_dir, "whale", None, 10)
    told = found_outputs.none_found_text(none, "whale", everywhere=False)
    assert told == "none of 1 stored output holds whale; --everywhere asks all projects"
    assert found_outputs.none_found_text(none, "whale", everywhere=True).endswith("holds whale")


def test_what_was_found_is_told_to_a_person_with_its_key_and_title(home_dir: str) -> None:
    """One block for each; nothing where there is nothing."""
    first = put.put(home_dir, b"otter one\nelk", {"tool": "Bash", "source": "cat a\nb"})
    put.put(home_dir, b"otter otter two", {"tool": "Read"})

    found = found_outputs.document(home_dir, "otter", None, 10)
    few = found_outputs.document(home_dir, "otter", None, 1)

    lines = found_outputs.text(found).split("\n")
    assert len(lines) == 4
    assert f"{listing.short_digits_of_key(first)}  Bash cat a b" in lines
    assert "  1: otter one" in lines
    assert (len(few["outputs"]), few["found"], few["searched"]) == (1, 2, 2)
    assert found_outputs.text(found_outputs.document(home_dir, "yak", None, 9)) == ""


@pytest.mark.parametrize(
    ("size", "shown"), [(MOST, "1: {}"), (MOST + 1, "1: {}… ({} characters)")], ids=["fits", "cut"]
)
def test_a_line_is_shown_whole_up_to_its_limit(home_dir: str, size: int, shown: str) -> None:
    """Of a longer one as much, and how long it is."""
    line = "otter " + "x" * (size - 6)
    key = put.put(home_dir, line.encode(), {"cwd": "/p", "session": "s1", "created": 5.0})

    (output,) = found_outputs.document(home_dir, "otter", None, 10)["outputs"]

    assert output["lines"] == [shown.format(line[:MOST], size)]
    assert (output["key"], output["project"], output["session"]) == (key, "/p", "s1")
    assert output["key"].startswith(layout.PREFIX)


def test_some_of_the_words_are_better_than_none_and_that_is_told(home_dir: str) -> None:
    """What there was no time for is counted; one output is always taken in."""
    for word in ("otter", "beaver"):
        put.put(home_dir, f"one {word}".encode(), {})

    late = found_outputs.document(home_dir, "one", None, 10, until=0.0)
    told: list[int] = []

    def watch(total: int) -> Callable[[int], None]:
        told.append(total)
        return told.append

    both = found_outputs.document(home_dir, "otter whale", None, 10, watch=watch)

    assert (late["pending"], late["found"], late["searched"]) == (1, 1, 1)
    assert (both["pending"], both["found"], both["searched"]) == (0, 1, 2)
    assert (both["all_words"], late["all_words"]) == (False, True)
    assert told == [1, 1]


@pytest.mark.parametrize(
    ("searched", "outputs"),
    [(0, "0 stored outputs"), (1, "1 stored output"), (1_200, "1,200 stored outputs")],
)
def test_that_none_holds_the_words_is_told_with_their_number(searched: int, outputs: str) -> None:
    """On one line."""
    told = found_outputs.none_found_text({"searched": searched}, "a\nb", everywhere=True)

    assert told == f"none of {outputs} holds a b"
