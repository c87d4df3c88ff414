"""What `recall` says around content: how much is shown, of how much, and what is left out."""

from __future__ import annotations

from typing import Any

import pytest

from brimline.errors import StoreError
from brimline.mcp import recall, remembered
from brimline.memory import hits
from brimline.store import put

PROJECT = "/home/dev/project"


def ask(home_dir: str, **arguments: Any) -> list[str]:
    """The lines that the model gets."""
    return recall.answer(home_dir, PROJECT, arguments).splitlines()


def keep(home_dir: str, data: bytes, **meta: Any) -> str:
    """Store an output of the project."""
    return put.put(home_dir, data, {"cwd": PROJECT} | meta)


@pytest.mark.parametrize(
    ("data", "lines", "told"),
    [
        (b"one", "", "its only line"),
        (b"one\ntwo", "", "all 2 lines"),
        (b"one\ntwo", "1:2", "all 2 lines"),
        (b"one\ntwo", "1", "lines 1-1 of 2"),
        (b"one\ntwo", "2:", "lines 2-2 of 2"),
        (b"one\ntwo", "1@2:2", "lines 1-2 of 2"),
        (b"", "", "empty"),
    ],
)
def test_the_first_line_says_which_lines_follow_of_how_many(
    home_dir: str, data: bytes, lines: str, told: str
) -> None:
    """All of them have words of their own."""
    key = keep(home_dir, data)

    assert ask(home_dir, key=key, lines=lines)[0] == f"[brimline recall {key[:19]}: {told}]"


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("s" * 60, "s" * 60),
        ("a" * 30 + "b" * 31, "a" * 29 + "…" + "b" * 30),
        ("a\n b", "a b"),
    ],
)
def test_a_long_command_is_cut_in_its_middle(home_dir: str, source: str, told: str) -> None:
    """A path tells most at its end; sixty characters are whole."""
    key = keep(home_dir, b"one", tool="Bash", source=source, exit=0)

    head = f'[brimline recall {key[:19]} (Bash "{told}" exit 0): its only line]'
    assert ask(home_dir, key=key)[0] == head


@pytest.mark.parametrize(("fitting", "more"), [(5, []), (6, ["   and 1 more"]), (1_010, None)])
def test_of_a_hit_five_lines_are_shown_and_the_others_counted(
    home_dir: str, fitting: int, more: list[str] | None
) -> None:
    """With their numbers in the output."""
    keep(home_dir, b"hay\n" + b"needle\n" * fitting)

    _, _, *shown = ask(home_dir, query="needle")

    assert shown[:5] == [f"   {number}: needle" for number in range(2, 7)]
    assert shown[5:] == (["   and 1,005 more"] if more is None else more)


def test_at_most_twenty_hits_are_shown_however_many_are_asked_for(home_dir: str) -> None:
    """The rest can be asked for."""
    for number in range(23):
        keep(home_dir, b"needle %d" % number)

    first = ask(home_dir, query="needle", lines="2:23")
    last = ask(home_dir, query="needle", lines="23:23")

    assert (
        first[0] == "[brimline recall: hits 2-21 of 23 that hold 'needle'; next: lines=\"22:23\"]"
    )
    assert last[0] == "[brimline recall: hits 23-23 of 23 that hold 'needle']"


def test_where_nothing_is_stored_that_is_said(home_dir: str) -> None:
    """Of this project, or at all."""
    put.put(home_dir, b"needle", {"cwd": "/elsewhere"})

    assert ask(home_dir, query="x") == [
        "[brimline recall: no output of this project is stored yet]"
    ]
    assert ask(home_dir, query="x", everywhere=True) == [
        "[brimline recall: none of 1 stored outputs holds 'x']"
    ]


@pytest.mark.parametrize(("room", "shown"), [(29_999, 2), (29_000, 2), (28_999, 1), (0, 1)])
def test_rows_are_shown_as_far_as_there_is_room_and_one_in_any_case(room: int, shown: int) -> None:
    """Each takes a line."""
    rows = ["a" * 14_499, "b" * 14_499, "c" * 14_499]

    assert len(recall._rows_that_fit(rows, room)) == shown


def test_no_row_is_shown_that_is_larger_than_an_answer() -> None:
    """Not even the only one."""
    assert recall._rows_that_fit(["a" * 29_001], 4_000) == []
    assert recall._rows_that_fit(["a" * 29_000], 4_000) == ["a" * 29_000]


def test_a_key_is_no_longer_than_eighty_characters(home_dir: str) -> None:
    """What is longer is cut where it is named."""
    with pytest.raises(StoreError) as long:
        ask(home_dir, key="x" * 81)
    with pytest.raises(StoreError) as last:
        ask(home_dir, key="last")

    assert str(long.value) == f"'{'x' * 80}' is no key: give sha256: and its digits"
    assert str(last.value) == "'last' is no key: give sha256: and its digits"


def test_what_was_said_is_shown_as_far_as_there_is_room(home_dir: str) -> None:
    """A line that does not fit any more is left out, and with all of them the first line."""
    said = "The otter plan was dropped."
    entry = {"id": "a", "text": said, "project": PROJECT, "group": "g"}
    hits.open_memory(home_dir).add([entry])

    def found(room: int, query: str = "otter plan") -> list[str]:
        text = remembered.found_text(home_dir, PROJECT, query, room, everywhere=False)
        return text.splitlines()

    head, row = found(2_000)

    assert head.startswith("[brimline recall: said before, best first")
    assert row.endswith(f": {said}")
    assert found(len(row) + 1) == [head, row]
    assert found(len(row)) == []
    assert found(2_000, "whale") == []


def test_an_entry_of_another_project_is_shown_on_request_alone(home_dir: str) -> None:
    """And one that nobody has is not there."""
    entry = {"id": "a", "text": "The otter plan.", "project": "/elsewhere", "group": "g"}
    hits.open_memory(home_dir).add([entry])

    with pytest.raises(StoreError, match="m1 was not said in this project: add everywhere=true"):
        ask(home_dir, key="m1")
    with pytest.raises(StoreError, match="there is no entry m2: search for it again"):
        ask(home_dir, key="m2")
    assert ask(home_dir, key="m1", everywhere=True)[0] == "[brimline recall m1 of session g]"
    assert ask(home_dir, key="m1", everywhere=True)[2] == "  > The otter plan."


def test_a_session_is_named_by_eighty_characters_at_most(home_dir: str) -> None:
    """A program that adds entries itself may name its groups as it likes."""
    for number, size in ((1, 80), (2, 81)):
        entry = {"id": f"{number}", "text": "The otter plan.", "group": "g" * size}
        hits.open_memory(home_dir).add([entry])

    named = [ask(home_dir, key=f"m{number}")[0] for number in (1, 2)]

    assert named[0] == f"[brimline recall m1 of session {'g' * 80}]"
    assert named[1].count("g") < named[0].count("g") + 1
