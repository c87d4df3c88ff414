"""The lines of the index of topics, and which of them move when there is no room."""

from __future__ import annotations

import pytest

from brimline.recall import hotindex

ARCHIVED = "- [Older entries](archive.md) — what the index has no room for"


def entries(count: int, size: int = 20) -> list[str]:
    """Lines of an index, each of so many bytes with its end."""
    return [f"- [t{number}](t{number}.md) ".ljust(size - 2, "x") for number in range(count)]


def test_a_line_leads_to_the_file_that_it_links() -> None:
    """If it is an entry, indented or not, and the link has a name."""
    lines = ["- [a](a.md) — b", "  * [a \\] b](c.md)", "- [](d.md)", "a [a](a.md)", "- [a](a b.md)"]

    assert [hotindex.file_linked_by_line(line) for line in lines] == [
        "a.md",
        "c.md",
        "d.md",
        "",
        "",
    ]


def test_a_topic_has_one_line_in_its_place_or_before_all_other_entries() -> None:
    """Headings stay above it."""
    lines = ["# Topics", "", "- [a](a.md) — old", "1. other"]

    assert hotindex.lines_with_topic(lines, "a.md", "a", "new")[2] == "- [a](a.md) — new"
    assert len(hotindex.lines_with_topic(lines, "a.md", "a", "new")) == 4
    assert hotindex.lines_with_topic(lines, "b.md", "[b]", "x")[2:4] == [
        "- [\\[b\\]](b.md) — x",
        lines[2],
    ]
    assert hotindex.lines_with_topic(["# Topics"], "b.md", "b", "x")[1:] == ["- [b](b.md) — x"]
    assert hotindex.lines_without_topic(lines, "a.md") == ["# Topics", "", "1. other"]


@pytest.mark.parametrize(("length", "is_cut"), [(60, False), (61, True)])
def test_a_long_name_is_cut(length: int, is_cut: bool) -> None:
    """At sixty characters, with the sign for it."""
    (line,) = hotindex.lines_with_topic([], "a.md", "n" * length, "d")

    shown = line.partition("[")[2].partition("]")[0]
    assert shown == ("n" * 59 + "…" if is_cut else "n" * 60)


@pytest.mark.parametrize(("length", "is_cut"), [(200, False), (201, True)])
def test_a_long_line_is_cut(length: int, is_cut: bool) -> None:
    """At two hundred characters."""
    head = "- [a](a.md) — "
    (line,) = hotindex.lines_with_topic([], "a.md", "a", "d" * (length - len(head)))

    assert len(line) == 200
    assert line.endswith("…") is is_cut


@pytest.mark.parametrize("lines", [entries(200), entries(100, 250)], ids=["lines", "bytes"])
def test_what_is_as_large_as_the_client_loads_stays_as_it_is(lines: list[str]) -> None:
    """To the last line and the last byte."""
    assert hotindex.split_off_oldest_beyond_limits(lines, "t0.md") == (lines, [])


@pytest.mark.parametrize(
    ("lines", "most"), [(entries(201), 200), (entries(101, 250), 100)], ids=["lines", "bytes"]
)
def test_of_what_is_larger_the_oldest_entries_move_and_a_line_says_where_to(
    lines: list[str], most: int
) -> None:
    """As few as have to; the topic's own line stays though it is the oldest."""
    own = f"t{len(lines) - 1}.md"

    kept, moved = hotindex.split_off_oldest_beyond_limits(lines, own)

    assert kept[-1] == ARCHIVED
    assert kept[-2] == lines[-1]
    assert kept[:-2] == lines[: most - 2]
    assert [line for entry in moved for line in entry] == lines[most - 2 : -1]
    assert hotindex.total_line_bytes_with_crlf(kept) <= 25_000


def test_lines_below_an_entry_move_with_it_and_headings_after_all_entries() -> None:
    """Without the empty lines at their end."""
    lines = ["# Head", *entries(199), "- last", "  below it", "", ""]

    kept, moved = hotindex.split_off_oldest_beyond_limits(lines, "t0.md")

    assert moved == [[lines[199]], ["- last", "  below it"]]
    assert kept[0] == "# Head"
    assert len(kept) == 200


def test_the_archive_has_each_entry_once_behind_its_own_head() -> None:
    """New ones before its own."""
    archive = ["---", "name: archive", "---", "Text", "- a", "  below a"]

    added = hotindex.archive_with_moved(archive, [["- b", "  below b"], ["- a", "  below a"]])

    assert added == [*archive[:4], "- b", "  below b", "- a", "  below a"]
    assert hotindex.archive_with_moved(["---", "- a"], [["- b"]]) == ["---", "- b", "- a"]
    assert hotindex.archive_with_moved([], [["- b"]]) == ["- b"]


@pytest.mark.parametrize(
    ("archive", "at"),
    [
        (["- old"], 0),
        (["# Old", "- old"], 1),
        (["---", "name: x", "---", "", "- old"], 4),
        (["---", "---", "- old"], 2),
        (["---", "tags:", "- x", "---", "- old"], 4),
        (["x", "---", "- old"], 2),
        (["---", "- old"], 1),
        ([], 0),
    ],
)
def test_what_moves_stands_before_the_first_entry_behind_the_head(
    archive: list[str], at: int
) -> None:
    """A list in the head is not an entry."""
    moved = hotindex.archive_with_moved(archive, [["- new", "  more"]])

    assert moved == [*archive[:at], "- new", "  more", *archive[at:]]
