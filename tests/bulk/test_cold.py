"""What a compaction without a model lets go of: old bulk, and what stays however old it is."""

from __future__ import annotations

from typing import Any

import pytest

from brimline.bulk import cold
from brimline.transcript.calls import Call

LONG = 100_000


def conversation(*first: Call, later: int = cold.KEPT_RESULTS) -> list[Call]:
    """Some calls, and so many small ones after them."""
    return [*first, *(Call(f"later{number}", "Grep", "", 10) for number in range(later))]


def gone(*first: Call, later: int = cold.KEPT_RESULTS) -> list[str]:
    """The calls whose results go."""
    return [call.id for call in cold.select_cold_result_calls(conversation(*first, later=later))]


def test_the_last_results_stay_and_the_one_before_them_goes() -> None:
    """Fifteen of them, in the order of the conversation."""
    calls = [Call(str(number), "Grep", "", LONG) for number in range(17)]

    assert [call.id for call in cold.select_cold_result_calls(calls)] == ["0", "1"]
    assert [call.id for call in cold.select_cold_result_calls(calls, kept=16)] == ["0"]
    assert [call.id for call in cold.select_cold_result_calls(calls, kept=99)] == []
    assert len(cold.select_cold_result_calls(calls, kept=0)) == 17


@pytest.mark.parametrize(
    ("tool", "later", "shortest"),
    [("Grep", 15, 1_500), ("Grep", 59, 1_500), ("Grep", 60, 800), ("Agent", 60, 5_000)],
    ids=["recent", "sixty calls old", "older", "a report"],
)
def test_what_is_long_depends_on_its_age_and_on_whose_words_it_is(
    tool: str, later: int, shortest: int
) -> None:
    """From this length on a result goes; one character less, and it stays."""
    assert gone(Call("a", tool, "", shortest), later=later) == ["a"]
    assert gone(Call("a", tool, "", shortest - 1), later=later) == []


def test_a_caller_may_say_what_is_long_but_not_of_a_report() -> None:
    """And a call without a result has nothing that could go."""
    calls = conversation(
        Call("short", "Grep", "", 99),
        Call("long", "Grep", "", 100),
        Call("report", "Agent", "", 4_999),
        Call("open", "Grep", ""),
    )

    assert [call.id for call in cold.select_cold_result_calls(calls, least=100)] == ["long"]


def test_words_of_the_user_stay_and_an_image_goes_even_if_it_is_new() -> None:
    """Unless the image is among the user's words."""
    users = Call("users", "Bash", "", LONG, is_users=True)
    image = Call("image", "Read", "a.png", 3, has_image=True)
    both = Call("both", "Bash", "", 3, has_image=True, is_users=True)

    assert [call.id for call in cold.select_cold_result_calls([users, image, both])] == ["image"]
    assert gone(users) == []


def test_the_latest_read_of_each_of_the_four_files_edited_last_stays() -> None:
    """Earlier reads of them go, and so do those of a file that was edited before."""
    first = Call("first read of a", "Read", "a", LONG)
    reads = [Call(f"read {name}", "Read", name, LONG) for name in "abcde"]
    edits = [Call(f"edit {name}", "Edit", name, 10) for name in "eabcd"]
    unnamed = Call("edit", "Edit", "", 10)

    assert gone(first, *reads, *edits, unnamed) == ["first read of a", "read e"]


def test_a_failure_stays_until_the_same_command_has_worked() -> None:
    """Of a command that fails again and again the last result is enough."""
    failed = Call("failed", "Bash", "make", LONG, is_error=True)
    again = Call("again", "Bash", "make", LONG, is_error=True)
    worked = Call("worked", "Bash", "make", LONG)
    search = Call("search", "Grep", "make", LONG, is_error=True)

    assert gone(failed, again, search) == ["failed", "search"]
    assert gone(failed, worked) == ["failed", "worked"]
    assert gone(failed, Call("running", "Bash", "make")) == []


def test_a_long_input_is_shortened_when_sixty_calls_came_after_it() -> None:
    """What counts is its long strings together, wherever they are."""
    halves: dict[str, Any] = {"edits": [{"old": "x" * 600}, {"new": "y" * 601}], "n": 3}
    enough, short = {"content": "x" * 1_201}, {"lines": ["x" * 400] * 9}

    assert cold.has_cold_input(enough, 61)
    assert cold.has_cold_input(halves, 61)
    assert not cold.has_cold_input(enough, 60)
    assert not cold.has_cold_input({"content": "x" * 1_200, "all": True, "n": 3}, 61)
    assert not cold.has_cold_input(short, 61)


def test_of_a_long_string_the_ends_stay_around_a_mark() -> None:
    """All else of an input stays as it is."""
    long = "a" * 150 + "b" * 151 + "c" * 100
    value = {"edits": [long, "d" * 400], "all": True, "count": 2, "none": None}

    assert cold.cut_string_middles(value, "[…]") == {
        "edits": ["a" * 150 + "[…]" + "c" * 100, "d" * 400],
        "all": True,
        "count": 2,
        "none": None,
    }


def test_an_input_is_written_with_the_name_of_each_value() -> None:
    """Texts of several lines under it, all others behind it."""
    value = {"path": "a.py", "edits": [{"old": "x\ny", "all": True}], "count": 0}

    assert (
        cold.readable_input_text(value)
        == "path: a.py\nedits.0.old:\nx\ny\nedits.0.all: True\ncount: 0"
    )
