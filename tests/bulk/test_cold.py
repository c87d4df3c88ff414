"""What a compaction without a model lets go of: old bulk, and what stays however old it is."""

from __future__ import annotations

from typing import Any

import pytest

from brimline.bulk import cold
from brimline.transcript.calls import Call

LONG = 100_000
RULE = cold.RULES["balanced"]


def gone(*first: Call, later: int = 60, texts: dict[str, str] | None = None) -> list[str]:
    """The calls whose results go, where so many small ones came after them."""
    calls = [*first, *(Call(f"later{number}", "Grep", "", 10) for number in range(later))]
    return [each.call.id for each in cold.select_cold_results(calls, texts or {}, RULE)]


@pytest.mark.parametrize(
    ("tool", "later", "shortest"),
    [
        *[("Grep", 8, 10_000), ("Grep", 24, 10_000), ("Grep", 25, 2_500), ("Grep", 59, 2_500)],
        *[("Grep", 60, 800), ("Agent", 60, 5_000), ("Edit", 5, 300), ("Edit", 90, 300)],
    ],
)
def test_what_is_long_depends_on_its_age_and_on_whose_words_it_is(
    tool: str, later: int, shortest: int
) -> None:
    """From this length on a result goes; one character less, and it stays."""
    assert gone(Call("a", tool, "", shortest), later=later) == ["a"]
    assert gone(Call("a", tool, "", shortest - 1), later=later) == []


@pytest.mark.parametrize(
    ("setting", "later", "stays"),
    [
        *[("balanced", 25, 2_499), ("thrifty", 14, 9_999), ("thrifty", 15, 1_499)],
        *[("keep", 14, 9_999), ("keep", 15, 1_499), ("keep", 7, LONG), ("thrifty", 7, LONG)],
    ],
)
def test_each_setting_has_its_own_lengths(setting: str, later: int, stays: int) -> None:
    """None takes what was looked at last."""
    for characters, is_kept in ((stays, True), (stays + 1, stays == LONG)):
        calls = [Call("a", "Grep", "", characters), *[Call("", "Grep", "", 10)] * later]
        found = cold.select_cold_results(calls, {}, cold.RULES[setting])
        assert (found == []) is is_kept


def test_words_of_the_user_and_failed_edits_stay_and_an_image_goes_even_if_it_is_new() -> None:
    """Unless the image is among the user's words; a call without a result has nothing to go."""
    users = Call("users", "Bash", "", LONG, is_users=True)
    image = Call("image", "Read", "a.png", 3, has_image=True)
    both = Call("both", "Bash", "", 3, has_image=True, is_users=True)
    failed = Call("failed", "Edit", "a.py", 700, is_error=True)

    assert gone(users, both, failed, Call("open", "Grep", "")) == []
    assert gone(image, later=0) == ["image"]


def test_the_latest_read_of_each_of_the_four_files_edited_last_stays() -> None:
    """Unless it is huge; earlier reads go, and those of a file that was edited before."""
    first = Call("first read of a", "Read", "a", LONG)
    reads = [Call(f"read {name}", "Read", name, 12_000 + (name == "b")) for name in "abcde"]
    edits = [Call(f"edit {name}", "Edit", name, 10) for name in "eabcd"]
    unnamed = Call("edit", "Edit", "", 10)

    assert gone(first, *reads, *edits, unnamed) == ["first read of a", "read b", "read e"]


def test_a_failure_stays_until_the_same_command_has_worked() -> None:
    """Of a command that fails again and again the last result is enough, if it is not long."""
    failed = Call("failed", "Bash", "make", 3_000, is_error=True)
    again = Call("again", "Bash", "make", 3_000, is_error=True)
    worked = Call("worked", "Bash", "make", 3_000)
    search = Call("search", "Grep", "make", 3_000, is_error=True)

    assert gone(failed, again, search) == ["failed", "search"]
    assert gone(failed, worked) == ["failed", "worked"]
    assert gone(failed, Call("running", "Bash", "make")) == []
    assert gone(again._replace(characters=3_001)) == ["again"]


def test_of_what_is_said_twice_the_later_result_stays() -> None:
    """However new it is: three of five lines are enough, whatever their numbers in a file are."""
    lines = [f"a line that tells {number} times" for number in range(5)]
    earlier = "\n".join(f"   {at}→{line}" for at, line in enumerate(lines)) + "\nx" * 99
    again = "\n".join(f"{at}\t  {line}" for at, line in enumerate(lines[:3], 70)) + "\ny" * 150
    texts = {"earlier": earlier, "again": again, "third": "\n".join(lines[:2]) + "\nz" * 150}
    read = [Call(name, "Read", "a", len(texts[name])) for name in ("earlier", "again", "third")]

    assert gone(*read[:2], later=0, texts=texts) == ["earlier"]
    assert gone(read[0], read[2], later=0, texts=texts) == []
    assert gone(read[0]._replace(is_users=True), read[1], later=0, texts=texts) == []


def test_what_stays_because_it_is_said_later_is_told_by_one_that_stays() -> None:
    """Of three alike the last one: the second does not vouch for the first."""
    text = "\n".join(f"a line that tells {number} times" for number in range(30))
    calls = [Call(name, "Grep", "", len(text)) for name in "abc"]

    found = cold.select_cold_results(calls, dict.fromkeys("abc", text), RULE)

    assert [(each.call.id, each.is_said_again) for each in found] == [("a", True), ("b", True)]


@pytest.mark.parametrize(
    ("tool", "is_said_again", "characters", "kept"),
    [("Agent", False, 9_000, 1_500), ("Agent", True, 9_000, 0), ("Grep", False, 9_000, 0)],
)
def test_of_a_long_report_both_ends_stay(
    tool: str, is_said_again: bool, characters: int, kept: int
) -> None:
    """It is somebody's words; of a report that stands there once more a line is enough."""
    text = "a" * (characters // 2) + "b" * (characters // 2)
    head, tail = cold.ends_of_report(cold.Gone(Call("", tool, ""), is_said_again), text)

    assert (head.strip(), tail.strip()) == ("a" * kept, "b" * kept)


def test_a_long_input_is_shortened_when_twenty_calls_came_after_it() -> None:
    """What counts is its long strings together, wherever they are; "keep" keeps more of them."""
    halves: dict[str, Any] = {"edits": [{"old": "x" * 401}, {"new": "y" * 401}], "n": 3}
    enough, short = {"content": "x" * 601}, {"lines": ["x" * 400] * 9}

    assert cold.has_cold_input(enough, 21, RULE)
    assert cold.has_cold_input(halves, 21, RULE)
    assert not cold.has_cold_input(enough, 20, RULE)
    assert not cold.has_cold_input({"content": "x" * 600, "all": True, "n": 3}, 21, RULE)
    assert not cold.has_cold_input(short, 21, RULE)
    assert not cold.has_cold_input({"content": "x" * 1_201}, 60, cold.RULES["keep"])
    assert cold.has_cold_input({"content": "x" * 1_201}, 61, cold.RULES["keep"])


def test_of_a_long_string_the_ends_stay_around_a_mark() -> None:
    """All else of an input stays as it is, and so does what was cut before."""
    long = "a" * 150 + "b" * 151 + "c" * 100
    value = {"edits": [long, "d" * 400], "all": True, "count": 2, "none": None}

    cut = cold.cut_string_middles(value, lambda middle: f"{cold.CUT}{middle[:2]}]" + "x" * 200)

    mark = f"{cold.CUT}bb]" + "x" * 200
    assert cut == value | {"edits": ["a" * 150 + mark + "c" * 100, "d" * 400]}
    assert cold.cut_string_middles(cut, lambda _: "again") == cut
    assert not cold.has_cold_input({"a": [cut, cut]}, 99, RULE)


def test_an_input_is_written_with_the_name_of_each_value() -> None:
    """Texts of several lines under it, all others behind it."""
    value = {"path": "a.py", "edits": [{"old": "x\ny", "all": True}], "count": 0}

    assert (
        cold.readable_input_text(value)
        == "path: a.py\nedits.0.old:\nx\ny\nedits.0.all: True\ncount: 0"
    )
