"""What `recall` says around content: how much is shown, of how much, and what is left out."""

from __future__ import annotations

from typing import Any

import pytest

from brimline.bulk import layout, put
from brimline.bulk.contents import parse_range
from brimline.errors import StoreError
from brimline.mcp import recall, remembered
from brimline.recall import hits, stored
from brimline.transcript.project import Project

PROJECT = "/home/dev/project"
OWN = Project((PROJECT,))


def ask(home_dir: str, within: Project | None = OWN, **arguments: Any) -> list[str]:
    """The lines that the model gets."""
    return recall.answer(home_dir, PROJECT, within, arguments).splitlines()


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
        (LONG := "s" * recall._SOURCE_CHARACTERS, LONG),
        (LONG + "s", LONG[1:] + "…"),
        ("/" + LONG, "…" + LONG[1:]),
        ("a\n b", "a b"),
    ],
)
def test_a_long_command_keeps_its_beginning_and_a_path_its_end(
    home_dir: str, source: str, told: str
) -> None:
    """A path tells most at its end; what is short is whole."""
    key = keep(home_dir, b"one", tool="Bash", source=source, exit=0)

    head = f'[brimline recall {key[:19]} (Bash "{told}" exit 0): its only line]'
    assert ask(home_dir, key=key)[0] == head


@pytest.mark.parametrize("more", [0, 1, 1_005])
def test_of_a_hit_a_few_lines_are_shown_and_the_others_counted(home_dir: str, more: int) -> None:
    """With their numbers in the output."""
    most = recall._LINES_PER_HIT
    keep(home_dir, b"hay\n" + b"needle\n" * (most + more))

    _, _, *shown = ask(home_dir, query="needle")

    assert shown[:most] == [f"   {number}: needle" for number in range(2, most + 2)]
    assert shown[most:] == ([f"   and {more:,} more"] if more else [])


def test_only_so_many_hits_are_shown_however_many_are_asked_for(home_dir: str) -> None:
    """The rest can be asked for."""
    last = recall._MOST_HITS + 3
    for number in range(last):
        keep(home_dir, b"needle %d" % number)

    some = ask(home_dir, query="needle", lines=f"2:{last}")[0]
    rest = ask(home_dir, query="needle", lines=f"{last}:{last}")[0]

    assert some.startswith(f"[brimline recall: hits 2-{last - 2} of {last} that hold 'needle'")
    assert some.endswith(f'; next: lines="{last - 1}:{last}"]')
    assert rest == f"[brimline recall: hits {last}-{last} of {last} that hold 'needle']"


def test_where_nothing_is_stored_that_is_said(home_dir: str) -> None:
    """Of this project, or at all."""
    put.put(home_dir, b"needle", {"cwd": "/elsewhere"})

    assert ask(home_dir, query="x") == [
        "[brimline recall: no output of this project is stored yet]"
    ]
    assert ask(home_dir, query="x", within=None) == [
        "[brimline recall: none of 1 stored outputs holds 'x']"
    ]


@pytest.mark.parametrize(("room", "shown"), [(9_999, 2), (9_000, 2), (8_999, 1), (0, 1)])
def test_rows_are_shown_as_far_as_there_is_room_and_one_in_any_case(room: int, shown: int) -> None:
    """Each takes a line."""
    rows = ["a" * 4_499, "b" * 4_499, "c" * 4_499]

    assert len(recall._rows_that_fit(rows, room)) == shown


def test_no_row_is_shown_that_is_larger_than_an_answer() -> None:
    """Not even the only one."""
    row = "a" * recall.ROOM
    assert recall._rows_that_fit([row + "a"], 4_000) == []
    assert recall._rows_that_fit([row], 4_000) == [row]


def test_what_was_said_is_shown_as_far_as_there_is_room(home_dir: str) -> None:
    """A line that does not fit any more is left out, and with all of them the first line."""
    said = "The otter plan was dropped."
    entry = {"id": "a", "text": said, "project": PROJECT, "group": "g"}
    hits.open_or_make_memory(home_dir).add([entry])

    def found(room: int, query: str = "otter plan") -> list[str]:
        text = remembered.search_as_text(home_dir, PROJECT, query, room, OWN)
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
    hits.open_or_make_memory(home_dir).add([entry])

    with pytest.raises(StoreError, match="m1 was not said in this project: `recall_elsewhere`"):
        ask(home_dir, key="m1")
    with pytest.raises(StoreError, match="there is no entry m2: search for it again"):
        ask(home_dir, key="m2")
    assert ask(home_dir, key="m1", within=None)[0] == "[brimline recall m1 of session g]"
    assert ask(home_dir, key="m1", within=None)[2] == "  > The otter plan."


@pytest.mark.parametrize(
    ("asked", "room", "page"),
    [
        ("1:", 12, recall.Page("one\ntwo\nthree"[:7], 2, "3:4")),
        ("1:", 8, recall.Page("one\ntwo", 2, "3:4")),
        ("1:", 7, recall.Page("one", 1, "2:4")),
        ("1:2", 8, recall.Page("one\ntwo", 2)),
        ("3:3", 6, recall.Page("three", 3)),
        ("3:4", 5, recall.Page("three", 3, "3@6:4", (1, 5, 5))),
        ("3@3:4", 5, recall.Page("ree", 3, "4:4")),
        ("3@2:3", 2, recall.Page("hr", 3, "3@4:3", (2, 3, 5))),
    ],
)
def test_a_page_ends_where_the_next_line_does_not_fit(
    asked: str, room: int, page: recall.Page
) -> None:
    """Each line takes one character more; a line that alone is too long is cut."""
    lines = [b"one", b"two", b"three", b"four"]

    assert recall.page_of_lines_that_fit(lines, parse_range(asked, 4), room) == page


@pytest.mark.parametrize(
    ("text", "width", "room", "cut"),
    [
        ("abc", 3, 2, "ab"),
        ("äbc", 3, 2, "äb"),
        ("a𝄞c", 4, 2, "a"),
        ("𝄞𝄞", 4, 2, "𝄞"),
        ("", 0, 2, ""),
    ],
)
def test_rare_characters_are_two_for_the_client(text: str, width: int, room: int, cut: str) -> None:
    """None is cut in half."""
    assert recall.characters_as_client_counts(text) == width
    assert recall.cut_to_room_in_utf16_units(text, room) == cut


def test_what_was_not_searched_is_counted_by_its_reason() -> None:
    """What there is none of is not said."""
    states = ["", "head", "head", "binary", "title", "damaged"]
    late = "were not searched for lack of time: ask again, the search goes on"

    assert recall._lines_on_what_not_searched(stored.Found(states=states, pending=1_000)) == [
        f"Stored outputs that {late}: 1,000.",
        "Stored outputs that are binary and were not searched: 1.",
        "Stored outputs that are large: only the first 200 kB were searched: 2.",
        "Stored outputs that are so old that only their commands were searched: 1.",
        "Stored outputs that are damaged or cannot be read here: 1.",
    ]
    assert recall._lines_on_what_not_searched(stored.Found(states=[""])) == []


@pytest.mark.parametrize(
    ("meta", "told"),
    [
        ({}, ""),
        ({"tool": "Bash"}, " (Bash)"),
        ({"source": 'say "x"'}, " (\"say 'x'\")"),
        ({"exit": 0}, " (exit 0)"),
        ({"tool": 3, "source": 4, "exit": "5"}, ""),
        ({"tool": "Bash", "source": "ls", "exit": -9}, ' (Bash "ls" exit -9)'),
    ],
)
def test_a_key_is_told_with_where_its_content_comes_from(meta: dict[str, Any], told: str) -> None:
    """As far as that is known."""
    key = "sha256:" + "a" * 64

    assert recall._key_and_origin_text(key, meta) == f"{layout.shorten_key(key)}{told}"


def test_what_was_said_stands_before_what_was_stored(home_dir: str) -> None:
    """Asked for more of the outputs, only those come; where none fits, none is mentioned."""
    hits.open_or_make_memory(home_dir).add(
        [{"id": "a", "text": "The otter plan.", "project": PROJECT}]
    )
    alone = ask(home_dir, query="otter plan")
    keep(home_dir, b"otter plan of old")

    both = ask(home_dir, query="otter plan")
    more = ask(home_dir, query="otter plan", lines="1:1")

    assert len(alone) == 2
    assert both[0].startswith("[brimline recall: said before, best first")
    assert both[2] == "[brimline recall: hits 1-1 of 1 that hold 'otter plan']"
    assert more[0] == both[2]
