"""Hits for those who read them: the lines that fit, who said it where and when."""

from __future__ import annotations

import operator
from pathlib import Path
from typing import Any

import pytest

from brimline import output
from brimline.errors import StoreError
from brimline.fast import paths
from brimline.recall import hits
from brimline.recall.record import Hit, Record

LINE, SECOND = hits._LINE_CHARACTERS, hits._BYTES_PER_S
LONG = "x" * 2 * LINE


def hit(text: str, **fields: Any) -> Hit:
    """A hit with this text."""
    author = fields.pop("author", "")
    said = Record("id", text, "11112222-3333", 0.0, "user", "/home/dev/shop")
    return Hit(said._replace(**fields), 7, 1.0, author)


def lines_of(text: str, query: str, home_dir: str) -> list[str]:
    """The lines of a text that are shown for a query."""
    (row,) = hits.document([hit(text)], query, home_dir)["hits"]
    return list(row["lines"])


def test_of_a_long_text_the_lines_with_most_words_of_the_query_are_shown(
    home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In their order; of equals the first, and the first line where none fits."""
    monkeypatch.setattr(hits, "_SHOWN_LINES", 3)
    text = "zero\nred fox\n\n  red fox jumps\nred\nfox red jumped\nred fox\nnone"

    assert lines_of(text, "red fox jumps", home_dir) == [
        "red fox",
        "red fox jumps",
        "fox red jumped",
    ]
    assert lines_of(text, "otter", home_dir) == ["zero"]
    assert lines_of("", "otter", home_dir) == []


def test_of_a_long_line_the_part_around_a_word_of_the_query_is_shown(home_dir: str) -> None:
    """One that fits stays whole; one without the words begins at its beginning."""
    before, fits = "y" * (hits._LINE_CHARACTERS // 4 - 1), " otter ab.".rjust(LINE, "y")
    assert lines_of(fits, "otter", home_dir) == [fits]
    said = f"…{before} otter ab.!… ({LINE + 1} characters)"
    assert lines_of(f"{fits}!", "otter", home_dir) == [said]
    assert lines_of(LONG, "otter", home_dir) == [f"{LONG[:LINE]}… ({len(LONG)} characters)"]


def test_words_of_the_query_are_marked_for_a_terminal(home_dir: str) -> None:
    """In whatever form they stand there."""
    text = hits.text(hits.document([hit("Two otters and a heron.")], "otter", home_dir))

    assert f"Two {output.mark_strong('otters')} and a heron." in text


def test_a_hit_says_who_said_it_where_and_when(home_dir: str) -> None:
    """What is not known is said so; a topic is named by its file."""
    found = [
        hit("a", at=1_767_225_600.0),
        hit("b", author="Mia\nX", project="", source=""),
        hit("c", session="/home/dev/topics", source="topic"),
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
    entries = [hits._hit_fields(one) for one in (hit("a\nb")._replace(number=6), hit("c"))]
    found = {"key": "m7", "entries": entries}

    first, second = hits.neighbourhood_text(found).split("\n\n")

    assert first.startswith("  m6  unknown time  user")
    assert second.startswith("→ m7  unknown time  user")
    assert [line.strip(" >|") for line in first.split("\n")[1:]] == ["a", "b"]


def test_how_much_was_read_is_a_sentence() -> None:
    """With thousands that can be read."""
    state = {"read": 1_200, "sessions": 2_300, "seconds": 4_500}

    assert hits.progress_text(state) == (
        "1,200 of 2,300 sessions read; `brimline memory index` reads the rest (about 4,500 s)"
    )


def test_an_entry_is_opened_with_its_neighbours(home_dir: str) -> None:
    """Without a score: nobody searched."""
    memory = hits.open_or_make_memory(home_dir)
    memory.put_entries([Record(str(n), f"text {n}", "s", float(n)) for n in range(1, 6)])

    document = hits.entry_with_neighbours(home_dir, "m3")

    assert [entry["key"] for entry in document["entries"]] == ["m2", "m3", "m4"]
    assert {entry["score"] for entry in document["entries"]} == {0.0}
    assert hits.is_entry_key("m3") is True
    assert hits.is_entry_key("m") is False


def test_a_key_that_is_none_is_told_by_its_beginning(home_dir: str) -> None:
    """And no more."""
    with pytest.raises(StoreError, match=f"^'{'x' * 40}' is not a key"):
        hits.entry_with_neighbours(home_dir, "x" * 50)


@pytest.mark.parametrize(
    ("size", "seconds"), [(1, 1), (SECOND, 1), (SECOND + 1, 2), (2 * SECOND, 2)]
)
def test_how_long_reading_takes_is_told_in_whole_seconds(
    home_dir: str, project_dir: str, size: int, seconds: int
) -> None:
    """Some megabytes in each; files of subagents are not read."""
    folder = Path(paths.project_transcripts_dir(project_dir))
    folder.mkdir(parents=True)
    for name in ("0a1b2c3d", "agent-7"):
        with open(folder / f"{name}.jsonl", "wb") as file:
            file.truncate(size)

    assert hits.reading_progress_if_unfinished(home_dir) == {
        "read": 0,
        "sessions": 1,
        "seconds": seconds,
    }


def test_a_session_that_was_read_in_part_is_not_read(home_dir: str, project_dir: str) -> None:
    """One that has grown since is."""
    folder = Path(paths.project_transcripts_dir(project_dir))
    folder.mkdir(parents=True)
    memory = hits.open_or_make_memory(home_dir)
    for name, stamp in (("a", "cut@5"), ("b", "7:8@5")):
        (folder / f"{name}.jsonl").write_text("{}")
        noted = (f"file:{folder}/{name}.jsonl", stamp)
        memory.run_on_database(
            operator.methodcaller("execute", "INSERT INTO facts VALUES (?, ?)", noted)
        )

    found = hits.reading_progress_if_unfinished(home_dir)
    (folder / "a.jsonl").unlink()

    assert found == {"read": 1, "sessions": 2, "seconds": 1}
    assert hits.reading_progress_if_unfinished(home_dir) is None


def test_a_damaged_memory_of_sessions_is_begun_anew_without_a_word(home_dir: str) -> None:
    """All of it is read from the sessions again."""
    memory = hits.open_or_make_memory(home_dir)
    memory.put_entries([Record("1", "otter")])
    (file,) = Path(home_dir, "search").glob("*.sqlite3")
    file.write_bytes(b"no database" * 999)

    assert memory.search("otter") == []
    assert memory.put_entries([Record("1", "otter")]) == 1
