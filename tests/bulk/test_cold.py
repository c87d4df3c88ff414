"""What a compaction without a model lets go of: old bulk, and what stays however old it is."""

from __future__ import annotations

import math
from typing import Any

import pytest

from brimline.bulk import cold
from brimline.transcript.calls import Call

LONG = 100_000
RULE = cold.RULES["balanced"]
HUGE, OLD, STRING = cold._HUGE_CHARACTERS, cold._OLD_CALLS, cold._LONG_STRING_CHARACTERS
ECHO, REPORT, FAILED = cold._ECHO_CHARACTERS, cold._LONG_REPORT_CHARACTERS, cold._FAILURE_CHARACTERS


def gone(*first: Call, later: int = OLD, texts: dict[str, str] | None = None) -> list[str]:
    """The calls whose results go, where so many small ones came after them."""
    calls = [*first, *(Call(f"later{number}", "Grep", "", 10) for number in range(later))]
    return [each.call.id for each in cold.select_cold_results(calls, texts or {}, RULE)]


@pytest.mark.parametrize(
    ("tool", "later", "shortest"),
    [
        *[("Grep", RULE.hot_calls, HUGE), ("Grep", RULE.warm_calls - 1, HUGE)],
        *[("Grep", later, RULE.long_characters) for later in (RULE.warm_calls, OLD - 1)],
        *[("Grep", OLD, RULE.long_old_characters), ("Agent", OLD, REPORT)],
        *[("Edit", cold._ECHO_CALLS, ECHO), ("Edit", OLD, ECHO)],
    ],
)
def test_what_is_long_depends_on_its_age_and_on_whose_words_it_is(
    tool: str, later: int, shortest: int
) -> None:
    """From this length on a result goes; one character less, and it stays."""
    assert gone(Call("a", tool, "", shortest), later=later) == ["a"]
    assert gone(Call("a", tool, "", shortest - 1), later=later) == []


@pytest.mark.parametrize("rule", cold.RULES.values(), ids=cold.RULES)
def test_each_setting_has_its_own_lengths(rule: cold.Rule) -> None:
    """None takes what was looked at last."""
    warm, hot = rule.warm_calls, rule.hot_calls
    for later, goes_from in ((warm - 1, HUGE), (warm, rule.long_characters), (hot - 1, LONG + 1)):
        for characters in (goes_from - 1, goes_from):
            calls = [Call("a", "Grep", "", characters), *[Call("", "Grep", "", 10)] * later]
            is_gone = characters == goes_from <= LONG
            assert bool(cold.select_cold_results(calls, {}, rule)) is is_gone


def test_words_of_the_user_and_failed_edits_stay_and_an_image_goes_even_if_it_is_new() -> None:
    """Unless the image is among the user's words; a call without a result has nothing to go."""
    users = Call("users", "Bash", "", LONG, is_users=True)
    image = Call("image", "Read", "a.png", 3, has_image=True)
    both = Call("both", "Bash", "", 3, has_image=True, is_users=True)
    failed = Call("failed", "Edit", "a.py", ECHO, is_error=True)

    assert gone(users, both, failed, Call("open", "Grep", "")) == []
    assert gone(image, later=0) == ["image"]


def test_the_latest_read_of_the_files_edited_last_stays() -> None:
    """Unless it is huge; earlier reads go, and those of a file that was edited before."""
    first = Call("first read of a", "Read", "a", LONG)
    names = "abcdefghijklmnop"[: cold._EDITED_FILES]
    sizes = {name: cold._READ_CHARACTERS + (name == "b") for name in f"{names}z"}
    reads = [Call(f"read {name}", "Read", name, size) for name, size in sizes.items()]
    edits = [Call(f"edit {name}", "Edit", name, 10) for name in f"z{names}"]
    unnamed = Call("edit", "Edit", "", 10)

    assert gone(first, *reads, *edits, unnamed) == ["first read of a", "read b", "read z"]


def test_a_failure_stays_until_the_same_command_has_worked() -> None:
    """Of a command that fails again and again the last result is enough, if it is not long."""
    failed = Call("failed", "Bash", "make", FAILED, is_error=True)
    again = Call("again", "Bash", "make", FAILED, is_error=True)
    worked = Call("worked", "Bash", "make", FAILED)
    search = Call("search", "Grep", "make", FAILED, is_error=True)

    assert gone(failed, again, search) == ["failed", "search"]
    assert gone(failed, worked) == ["failed", "worked"]
    assert gone(failed, Call("running", "Bash", "make")) == []
    assert gone(again._replace(characters=FAILED + 1)) == ["again"]


def test_of_what_is_said_twice_the_later_result_stays() -> None:
    """However new it is: most of its lines are enough, whatever their numbers in a file are."""
    lines = [f"a line that tells {number} times" for number in range(10)]
    most, pad = math.ceil(cold._SAME_SHARE * 10), "\ny" * cold._SAME_CHARACTERS
    earlier = "\n".join(f"   {at}→{line}" for at, line in enumerate(lines)) + pad
    again = "\n".join(f"{at}\t  {line}" for at, line in enumerate(lines[:most], 70)) + pad
    texts = {"earlier": earlier, "again": again, "third": "\n".join(lines[: most - 1]) + pad}
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
    ("tool", "is_said_again", "kept"),
    [("Agent", False, cold._KEPT_END), ("Agent", True, 0), ("Grep", False, 0)],
)
def test_of_a_long_report_both_ends_stay(tool: str, is_said_again: bool, kept: int) -> None:
    """It is somebody's words; of a report that stands there once more a line is enough."""
    text = "a" * cold._LONG_ENDS + "b" * cold._LONG_ENDS
    head, tail = cold.ends_of_report(cold.Gone(Call("", tool, ""), is_said_again), text)

    assert (head.strip(), tail.strip()) == ("a" * kept, "b" * kept)


def test_a_long_input_is_shortened_when_enough_calls_came_after_it() -> None:
    """What counts is its long strings together, wherever they are; "keep" keeps more of them."""
    half = max(STRING, RULE.input_characters // 2) + 1
    halves: dict[str, Any] = {"edits": [{"old": "x" * half}, {"new": "y" * half}], "n": 3}
    just_not = {"content": "x" * RULE.input_characters, "all": True, "n": 3}
    short = {"lines": ["x" * STRING] * 9}

    for rule in cold.RULES.values():
        age, enough = rule.inputs_from, {"content": "x" * (rule.input_characters + 1)}
        assert cold.has_cold_input(enough, age + 1, rule)
        assert not cold.has_cold_input(enough, age, rule)
    assert cold.has_cold_input(halves, LONG, RULE)
    assert not cold.has_cold_input(just_not, LONG, RULE)
    assert not cold.has_cold_input(short, LONG, RULE)


def test_of_a_long_string_the_ends_stay_around_a_mark() -> None:
    """All else of an input stays as it is, and so does what was cut before."""
    head, tail = "a" * cold._KEPT_HEAD, "c" * cold._KEPT_TAIL
    long, most = head + "b" * STRING + tail, "d" * STRING
    value = {"edits": [long, most], "all": True, "count": 2, "none": None}

    cut = cold.cut_string_middles(value, lambda middle: f"{cold.CUT}{middle[:2]}]" + "x" * 200)

    mark = f"{cold.CUT}bb]" + "x" * 200
    assert cut == value | {"edits": [head + mark + tail, most]}
    assert cold.cut_string_middles(cut, lambda _: "again") == cut
    assert not cold.has_cold_input({"a": [cut, cut]}, 99, RULE)


def test_an_input_is_written_with_the_name_of_each_value() -> None:
    """Texts of several lines under it, all others behind it."""
    value = {"path": "a.py", "edits": [{"old": "x\ny", "all": True}], "count": 0}

    assert (
        cold.readable_input_text(value)
        == "path: a.py\nedits.0.old:\nx\ny\nedits.0.all: True\ncount: 0"
    )
