"""Words that mean nearly the same as those of a question."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from brimline import recall
from brimline.recall import question, vectors

if TYPE_CHECKING:
    from pathlib import Path

    from brimline.recall.turns import Memory

SAID = ("The folder is emptied at night.", "Folders are never shared.", "A parrot was heard.")


def words(store: Memory, *asked: str) -> list[str]:
    """Those that are related to some."""
    table = vectors.load_table()
    assert table is not None
    return store.run_on_database(lambda base: question.related_words(base, table, asked))


def test_related_words_are_those_that_the_memory_holds_each_in_one_form(world: Path) -> None:
    """Not those of the question itself, in whatever form."""
    store = recall.open(str(world / "m"))
    store.add([{"id": str(number), "text": text} for number, text in enumerate(SAID)])

    assert words(store, "directory") == ["folder"]
    assert words(store, "directory", "folders") == []
    assert words(store, "volcano", "1984") == []
    assert words(store) == []


def test_a_related_word_finds_less_than_the_word_itself_and_more_than_none(world: Path) -> None:
    """Of entries that are alike but for that word."""
    store = recall.open(str(world / "m"))
    nouns = ("parrot", "folder", "directory")
    store.add([{"id": noun, "text": f"The {noun} is emptied at night."} for noun in nouns])

    hits = store.search("directory")

    assert [hit.id for hit in hits] == ["directory", "folder", "parrot"]


def table_of(folder: Path, **places: tuple[int, int]) -> vectors.Table:
    """A table of these pieces, each pointing somewhere."""
    (folder / "words.txt").write_text("\n".join(name.replace("__", "##") for name in places))
    head = vectors.MAGIC + struct.pack("<II", len(places), 2)
    scales = struct.pack(f"<{len(places)}f", *[1.0] * len(places))
    rows = b"".join(struct.pack("bb", *place) for place in places.values())
    (folder / "words.bin").write_bytes(head + scales + rows)
    table = vectors.read_table_in_folder(folder)
    assert table
    return table


def test_words_are_near_whose_directions_are(tmp_path: Path) -> None:
    """The nearest first, from 0.55 on; of three letters at least, and no parts of words."""
    table = table_of(
        tmp_path,
        otter=(100, 0),
        beaver=(90, 30),
        weasel=(56, 83),
        badger=(54, 84),
        elk=(99, 1),
        ox=(100, 1),
        __er=(100, 2),
        naïf=(100, 3),
        a1b=(100, 4),
        away=(-100, 0),
    )

    assert table.words_near_each(["otter", "unknown"]) == [["otter", "elk", "beaver", "weasel"], []]
    assert table.words_near_each([]) == []
    assert table.dimensions == 2


def test_a_word_falls_into_its_longest_parts(tmp_path: Path) -> None:
    """One that does not come out even has none."""
    table = table_of(tmp_path, a=(1, 0), ab=(1, 0), __b=(1, 0), __bc=(1, 0), abc=(1, 0))

    found = [table.piece_numbers(text) for text in ("abc", "ab", "abbc", "abb", "abd", "a ab")]

    assert found == [[4], [1], [1, 3], [1, 2], [], [0, 1]]


def test_five_related_words_are_looked_for_with_each(world: Path, tmp_path: Path) -> None:
    """The nearest that entries hold."""
    names = ["otter", *[f"{letter}word" for letter in "bcdfghj"]]
    table = table_of(tmp_path, **{name: (100, at) for at, name in enumerate(names)})
    store = recall.open(str(world / "m"))
    store.add([{"id": name, "text": name} for name in names[2:]])

    found = store.run_on_database(lambda base: question.related_words(base, table, ["otter", "o2"]))

    assert found == names[2:7]
