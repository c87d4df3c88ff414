"""Words of a query, lines that hold them, what is binary, whose folder it is; entries of memory."""

from __future__ import annotations

import json
import math
import os
from typing import TYPE_CHECKING, Any

import pytest

from brimline.bulk import layout, put
from brimline.bulk.contents import Span
from brimline.errors import StoreError
from brimline.recall import database, stored
from brimline.recall.stored import MOST_CHARACTERS, MOST_TERMS
from brimline.transcript.project import is_within, real_folder

if TYPE_CHECKING:
    from pathlib import Path


def test_a_query_is_words_and_quoted_phrases_each_once() -> None:
    """Spaces in a phrase count as one; a mark that is not a word is not searched."""
    assert stored.parse_terms('red "fox  cub" red -- "" x') == ["red", "fox cub", "--", "x"]
    assert stored.fts_terms_joined_by(["red", "fox cub", "--"], "AND") == '"red" * AND "fox cub" *'


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ("x" * MOST_CHARACTERS, ""),
        (
            "x" * (MOST_CHARACTERS + 1),
            f"the query is too long: give at most {MOST_CHARACTERS} characters",
        ),
        (" ".join(map(str, range(MOST_TERMS))), ""),
        (
            " ".join(map(str, range(MOST_TERMS + 1))),
            f"the query has too many words: give at most {MOST_TERMS}",
        ),
        ('  "" ', "the query is empty: give the words to look for"),
    ],
    ids=["long", "too long", "many", "too many", "empty"],
)
def test_a_query_has_some_words_and_not_too_many(query: str, problem: str) -> None:
    """The sentence says how many there may be."""
    if problem:
        with pytest.raises(StoreError, match=problem):
            stored.parse_terms(query)
    else:
        assert stored.parse_terms(query)


def test_lines_that_hold_every_term_come_first_then_those_with_the_rarest_word() -> None:
    """Inside of words too, whatever the case and the accents."""
    lines = ["red", "Red FÓX", "the foxes are reddish", "red", "fix"]

    assert stored.indices_of_lines_with_terms(lines, ["red", "fox"]) == [1, 2]
    assert stored.indices_of_lines_with_terms(lines, ["red", "fix"]) == [4, 0, 1, 2, 3]
    assert stored.indices_of_lines_with_terms(["an error here"], ["errors"]) == [0]
    assert stored.indices_of_lines_with_terms(lines, ["whale"]) == []


@pytest.mark.parametrize(("word", "stem"), [("error", "error"), ("errors", "erro"), ("a", "a")])
def test_a_longer_word_is_known_by_its_beginning(word: str, stem: str) -> None:
    """Which its other forms have too."""
    assert stored.stem(word) == stem


def test_of_a_long_line_the_part_around_a_term_is_shown() -> None:
    """With its length; a line that fits is whole."""
    line = "a" * 50 + "otter" + "b" * 50

    assert stored.clip_line_around_term(line, ["otter"], 105) == line
    assert stored.clip_line_around_term(line, ["otter"], 40) == (
        "…" + "a" * 10 + "otter" + "b" * 25 + "… (105 characters)"
    )
    assert stored.clip_line_around_term(line, ["whale"], 40) == "a" * 40 + "… (105 characters)"


@pytest.mark.parametrize(
    ("data", "is_binary"),
    [
        (b"", False),
        (b"plain\ttext\r\n\x1b[31mred\x08\x0b\x0c", False),
        ("ünïcödé".encode(), False),
        (b"one \x00", True),
        (b"x" * stored._SAMPLE_BYTES + b"\x00", False),
        (b"\x01" + b"x" * 9, False),
        (b"\x01\x02" + b"x" * 9, True),
        (b"\xff" * 5 + b"x" * 10, True),
    ],
)
def test_what_is_not_for_reading_is_binary(data: bytes, is_binary: bool) -> None:
    """A null at its beginning, or more than a tenth of characters that no program prints."""
    assert stored.is_binary(data) is is_binary


def test_a_folder_is_a_projects_or_below_it_by_its_real_name(world: Path) -> None:
    """A name that merely begins alike is another; what is not a path is nowhere."""
    project = world / "p"
    (project / "in").mkdir(parents=True)
    (world / "link").symlink_to(project)

    inside = [
        is_within(cwd, os.path.realpath(project))
        for cwd in (str(project), f"{project}/in", f"{world}/link/in", f"{project}2", "p", None)
    ]

    assert inside == [True, True, True, False, False, False]
    assert is_within("/anything", "/")
    assert real_folder("/a\0b") == ""


def test_without_a_store_nothing_is_found(home_dir: str) -> None:
    """And no file is made."""
    found = stored.find_outputs(home_dir, "x", None, lambda count: Span(1, count), until=math.inf)

    assert found == (0, (), Span(1, 0), True, (), 0)
    assert not os.path.exists(stored.search_folder(home_dir))


def test_a_damaged_file_makes_room_for_the_next_generation(tmp_path: Path) -> None:
    """Which is named by the next number; the work finds it empty."""
    folder = str(tmp_path / "search")
    database.run_on_database(folder, lambda base: base.execute("SELECT 1").fetchall())
    (tmp_path / "search" / "1-1.sqlite3").write_bytes(b"no database" * 999)

    asked = "SELECT * FROM documents"
    assert database.run_on_database(folder, lambda base: base.execute(asked).fetchall()) == []
    assert [name for name in os.listdir(folder) if name.endswith("3")] == ["1-2.sqlite3"]
    assert database.renewed == [f"{folder}/1-1.sqlite3"]


def test_what_was_used_last_is_taken_in_first(home_dir: str) -> None:
    """One at least, however little time there is."""
    kept = [put.put(home_dir, b"otter %d" % number, {}) for number in range(3)]
    for age, at in ((3, 0), (1, 1), (2, 2)):
        path = layout.stored_path(home_dir, layout.digest_of_key(kept[at]))
        os.utime(path, (1_700_000_000 - age,) * 2)

    def found() -> tuple[set[str], int]:
        result = stored.find_outputs(
            home_dir, "otter", None, lambda count: Span(1, count), until=-math.inf
        )
        return {f"sha256:{hit.id}" for hit in result.hits}, result.pending

    assert found() == ({kept[1]}, 2)
    assert found() == ({kept[1], kept[2]}, 1)
    assert found() == (set(kept), 0)
    assert found() == (set(kept), 0)


def test_what_cannot_be_taken_out_is_told(home_dir: str, world: Path) -> None:
    """A copy in memory would be no help; where nothing is asked for, nothing is made."""
    key = put.put(home_dir, b"otter", {})
    stored.forget(home_dir, [key])
    assert not os.path.exists(stored.search_folder(home_dir))
    (world / "elsewhere").mkdir()
    os.symlink(world / "elsewhere", stored.search_folder(home_dir))

    stored.forget(home_dir, [])
    with pytest.raises(StoreError, match="the search index cannot be used: "):
        stored.forget(home_dir, [key])


@pytest.mark.parametrize(
    ("text", "folded"),
    [("Straße", "strasse"), ("CAFÉ", "cafe"), ("ﬁne", "fine"), ("ÅØ", "aø"), ("Plain", "plain")],
)
def test_case_and_accents_make_no_difference(text: str, folded: str) -> None:
    """Letters that stand for two are those two."""
    assert stored.folded_text(text) == folded


def test_colours_part_words() -> None:
    """They are no letters of them."""
    assert stored.without_colours("a\x1b[31mred\x1b[0;1mb") == "a red b"
    assert stored.without_colours("a[31m") == "a[31m"
    assert stored.lines_with_terms("one\n\x1b[1motter\x1b[0m\ntwo", ["otter"], 99) == [
        "2: \x1b[1motter\x1b[0m"
    ]


@pytest.mark.parametrize(("extra", "state"), [(0, stored.WHOLE), (1, stored.HEAD)])
def test_the_beginning_of_an_output_is_searched(home_dir: str, extra: int, state: str) -> None:
    """A word that ends with them is found, and what follows them is not."""
    put.put(home_dir, b" otter".rjust(stored.HEAD_BYTES, b".") + b"z" * extra, {})

    def found(word: str) -> stored.Found:
        return stored.find_outputs(
            home_dir, word, None, lambda count: Span(1, count), until=math.inf
        )

    assert found("otter").total == 1
    assert found("otterz").total == 0
    assert found("otter").states == [state]


@pytest.mark.parametrize(
    ("meta", "title", "project", "session", "at"),
    [
        ({"tool": "Bash", "source": "ls"}, "Bash ls", "", "", None),
        ({"source": "ls", "cwd": "/p", "session": "s1"}, "ls", "/p", "s1", None),
        ({"tool": "Bash", "cwd": "p", "session": 3, "created": 5}, "Bash", "", "", 5.0),
        ({"created": math.nan}, "", "", "", 0.0),
        ({"created": "then"}, "", "", "", 0.0),
    ],
)
def test_an_output_is_known_by_what_is_told_of_it(
    home_dir: str, meta: dict[str, Any], title: str, project: str, session: str, at: float | None
) -> None:
    """What is not of its kind counts as not told."""
    key = put.put(home_dir, b"otter", {})
    digest = layout.digest_of_key(key)
    with open(layout.stored_path(home_dir, digest, "json"), "w") as file:
        json.dump({"created": 7.0} | meta, file)

    known = stored._record_of_output(home_dir, digest)

    assert (known.title, known.project, known.session) == (title, project, session)
    assert known.at == (7.0 if at is None else at)
    assert (known.source, known.ref, known.text, known.state) == ("output", digest, "otter", "")
