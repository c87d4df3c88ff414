"""Hits for those who read them: the lines that fit, who said it where and when."""

from __future__ import annotations

from typing import Any

import pytest

from brimline import output
from brimline.memory import hits, overview
from brimline.search.turns import Hit

LONG = "x" * 200


def hit(text: str, **fields: Any) -> Hit:
    """A hit with this text."""
    usual: dict[str, Any] = {"group": "11112222-3333", "at": 0.0, "source": "user"}
    usual |= {"project": "/home/dev/shop", "number": 7, "score": 1.0}
    return Hit("id", text, **(usual | fields))


def lines_of(text: str, query: str, home_dir: str) -> list[str]:
    """The lines of a text that are shown for a query."""
    (row,) = hits.document([hit(text)], query, home_dir)["hits"]
    return list(row["lines"])


def test_of_a_long_text_the_three_lines_with_most_words_of_the_query_are_shown(
    home_dir: str,
) -> None:
    """In their order; of equals the first, and the first line where none fits."""
    text = "zero\nred fox\n\n  red fox jumps\nred\nfox red jumped\nred fox\nnone"

    assert lines_of(text, "red fox jumps", home_dir) == [
        "red fox",
        "red fox jumps",
        "fox red jumped",
    ]
    assert lines_of(text, "otter", home_dir) == ["zero"]
    assert lines_of("", "otter", home_dir) == []


def test_a_long_line_begins_a_little_before_the_first_word_of_the_query(home_dir: str) -> None:
    """One that fits stays whole; one without the words begins at its beginning."""
    fits = "y" * 100 + " otter ab."
    assert lines_of(fits, "otter", home_dir) == [fits]
    assert lines_of(f"{fits}!", "otter", home_dir) == ["…" + "y" * 26 + " otter ab.!"]
    assert lines_of(f"otter {LONG}", "otter", home_dir) == [f"otter {LONG}"]
    assert lines_of(f"{'z' * 27}otter {LONG}", "otter", home_dir) == [f"{'z' * 27}otter {LONG}"]
    assert lines_of(LONG, "otter", home_dir) == [LONG]


def test_words_of_the_query_are_marked_for_a_terminal(home_dir: str) -> None:
    """In whatever form they stand there."""
    text = hits.text(hits.document([hit("Two otters and a heron.")], "otter", home_dir))

    assert f"Two {output.mark_strong('otters')} and a heron." in text


def test_a_hit_says_who_said_it_where_and_when(home_dir: str) -> None:
    """What is not known is said so; a topic is named by its file."""
    found = [
        hit("a", at=1_767_225_600.0),
        hit("b", author="Mia\nX", project="", source=""),
        hit("c", group="/home/dev/topics", source="topic"),
    ]

    heads = hits.text(hits.document(found, "q", home_dir)).split("\n\n")

    assert [head.split("\n")[0] for head in heads] == [
        "m7  2026-01-01 00:00Z  user  shop  11112222",
        "m7  by Mia X  unknown time  entry  no project  11112222",
        "m7  unknown time  topic  shop  id",
    ]
    assert hits.text(hits.document([], "q", home_dir)) == "No matches."


@pytest.mark.parametrize(
    ("text", "is_key"),
    [("m7", True), ("m" + "9" * 15, True), ("m" + "9" * 16, False), ("7", False), ("m7x", False)],
)
def test_a_key_is_an_m_and_a_number(text: str, is_key: bool) -> None:
    """Of at most fifteen digits."""
    assert hits.is_entry_key(text) is is_key


def test_an_entry_is_shown_among_its_neighbours_with_an_arrow() -> None:
    """And quoted as a whole."""
    rows = [hit(text, number=number)._asdict() for number, text in ((6, "a\nb"), (7, "c"))]
    found = {"key": "m7", "entries": [row | {"key": f"m{row['number']}"} for row in rows]}

    first, second = hits.entry_text(found).split("\n\n")

    assert first.startswith("  m6  unknown time  user")
    assert second.startswith("→ m7  unknown time  user")
    assert [line.strip(" >|") for line in first.split("\n")[1:]] == ["a", "b"]


def test_how_much_was_read_is_a_sentence() -> None:
    """With thousands that can be read."""
    state = {"read": 1_200, "sessions": 2_300, "seconds": 4_500}

    assert hits.progress_text(state) == (
        "1,200 of 2,300 sessions read; `brimline memory index` reads the rest (about 4,500 s)"
    )


def test_the_state_of_memory_says_whether_meaning_is_searched(home_dir: str) -> None:
    """And what there is of each source."""
    document = {"folder": "/f", "topics": 1_200, "index_bytes": 10, "sessions": 1}

    rows = dict(overview.status_rows(document | {"entries": {"user": 3_000}, "vectors": True}))
    bare = dict(overview.status_rows(document | {"entries": {}, "vectors": False}))

    assert rows["search"] == "3,000 user; 1 session"
    assert rows["topics"].startswith("1,200; index ")
    assert bare["search"] == "nothing yet; 1 session"
    assert rows["meaning"] == "searched too"
    assert bare["meaning"].startswith("by words alone; `")


def test_topics_are_a_table_with_what_is_wrong_where_nothing_is_described() -> None:
    """Or a sentence where there are none."""
    sound = {"path": "/m/a.md", "name": "Alpha", "type": "note", "description": "d", "problem": ""}
    broken = {"path": "/m/b.md", "name": "", "type": "", "description": "", "problem": "no head"}

    shown = overview.topics_text({"folder": "/m", "topics": [sound, broken]})

    assert [line.split() for line in shown.splitlines()[-2:]] == [
        ["Alpha", "note", "d"],
        ["b.md", "no", "head"],
    ]
    assert overview.topics_text({"folder": "/m", "topics": []}) == "/m has none."
