"""Texts as vectors: a table of word pieces, which of them a text has, how rare a word is."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import numpy as np
import pytest
from tests.recall.test_related import table_of

from brimline.recall import turns, vectors
from brimline.recall.ranking import Found
from brimline.recall.record import Record
from brimline.recall.turns import Memory

if TYPE_CHECKING:
    import sqlite3
    from pathlib import Path


def test_a_text_is_a_vector_of_its_pieces_whatever_its_case_and_accents() -> None:
    """Of length one; what has no known piece has none, and what is too long is not a word."""
    table = vectors.load_table()
    assert table

    plain, loud, unknown, mixed = table.encode(["otter plan", "ÓTTER Plan", "", "plan otter"])

    assert list(plain) == list(loud) == pytest.approx(list(mixed), abs=1e-6)
    assert float(plain @ plain) == pytest.approx(1)
    assert not unknown.any()
    assert table.piece_numbers("a" * 101) == []
    assert table.piece_numbers("a" * 100) != []
    assert len(table.piece_numbers("otter, plan")) == len(table.piece_numbers("otter plan")) + 1
    assert vectors.no_vectors_text().startswith("by words alone; `")


@pytest.mark.parametrize("damage", ["cut", "magic", "gone"])
def test_a_table_that_is_none_is_not_used(world: Path, damage: str) -> None:
    """The search goes by words then."""
    size = (2).to_bytes(4, "little")
    data = vectors.MAGIC + size + size + b"\0\0\x80\x3f" * 2 + b"\1\2\3\4"
    (world / "words.txt").write_text("red\nfox")
    (world / "words.bin").write_bytes(data)
    sound = vectors.read_table_in_folder(world)
    if damage == "gone":
        (world / "words.bin").unlink()
    else:
        (world / "words.bin").write_bytes(data[:-1] if damage == "cut" else b"X" + data[1:])

    assert sound
    assert sound.dimensions == 2
    assert sound.piece_numbers("a red fox") == [0, 1]
    assert vectors.read_table_in_folder(world) is None


def test_a_word_is_rarer_the_later_it_is_in_the_vocabulary(world: Path) -> None:
    """The first thousand are common alike, and from the thirty thousandth on none is rarer."""
    one = (1).to_bytes(4, "little")
    count = 31_000
    (world / "words.txt").write_text("\n".join(f"w{number}" for number in range(count)))
    head = vectors.MAGIC + count.to_bytes(4, "little") + one
    (world / "words.bin").write_bytes(head + b"\0\0\x80\x3f" * count + b"\1" * count)
    table = vectors.read_table_in_folder(world)
    assert table

    rarities = [
        table.rarity_of_word(word) for word in ("w0", "W1000", "w5477", "w30000", "w30999", "?")
    ]

    assert rarities == pytest.approx([0.0, 0.0, 0.5, 1.0, 1.0, 1.0], abs=1e-4)
    assert table.rarity_of_word("w1001") > 0.0


def test_a_piece_counts_as_much_as_its_scale_says(tmp_path: Path) -> None:
    """Those that point against each other leave nothing."""
    (tmp_path / "words.txt").write_text("red\nfox\nden")
    head = vectors.MAGIC + struct.pack("<II", 3, 2) + struct.pack("<3f", 3.0, 4.0, 3.0)
    (tmp_path / "words.bin").write_bytes(head + struct.pack("6b", 1, 0, 0, 1, -1, 0))
    table = vectors.read_table_in_folder(tmp_path)
    assert table

    found = table.encode(["red fox", "fox fox", "den red", "unknown"])

    expected = np.array([[0.6, 0.8], [0, 1], [0, 0], [0, 0]])
    assert found == pytest.approx(expected)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Ab-cd_ef", ["ab", "-", "cd", "_", "ef"]),
        ("熊猫x2", ["熊", "猫", "x2"]),
        ("naïve, déjà", ["naive", ",", "deja"]),
        (" \n\t", []),
    ],
)
def test_marks_and_chinese_characters_are_words_of_their_own(
    tmp_path: Path, text: str, words: list[str]
) -> None:
    """Neither case nor accents count."""
    pieces = ["ab", "cd", "ef", "-", "_", "熊", "猫", "x2", "naive", "deja", ","]
    table = table_of(tmp_path, **dict.fromkeys(pieces, (1, 0)))

    assert [pieces[number] for number in table.piece_numbers(text)] == words


def test_near_words_are_found_however_long_the_vocabulary_is(tmp_path: Path) -> None:
    """At the end of one part of it, and at the beginning of the next."""
    names = [f"w{number}" for number in range(8_200)]
    near = {0: "first", 4_095: "last", 4_096: "next", 8_191: "late", 8_192: "later"}
    places = {
        near.get(at, name): (99, 0) if at in near else (0, 1) for at, name in enumerate(names)
    }
    table = table_of(tmp_path, **places)

    assert table.words_near_each(["first"]) == [["first", "last", "next", "late", "later"]]


def test_tables_are_told_apart_by_all_scales_and_their_first_thousand_rows(tmp_path: Path) -> None:
    """What differs far down is no other table."""

    def mark(changed: int, *, scale: float = 1.0) -> str:
        count = 1_002
        (tmp_path / "words.txt").write_text("\n".join(f"w{number}" for number in range(count)))
        head = vectors.MAGIC + struct.pack("<II", count, 1)
        scales = struct.pack(f"<{count}f", *[1.0] * (count - 1), scale)
        rows = bytes(int(number == changed) for number in range(count))
        (tmp_path / "words.bin").write_bytes(head + scales + rows)
        table = vectors.read_table_in_folder(tmp_path)
        assert table
        return turns.table_digest(table)

    usual = mark(-1)

    assert [mark(at) == usual for at in (0, 999, 1_000, 1_001)] == [False, False, True, True]
    assert mark(-1, scale=2.0) != usual
    assert len(usual) == 8


def test_a_related_word_counts_four_tenths_of_one_that_was_asked_for(
    world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By itself and with the entry before it; to an entry that has both it adds."""
    table = table_of(tmp_path, directory=(100, 0), drawer=(100, 1), parrot=(0, 100))
    monkeypatch.setattr(vectors, "load_table", lambda: table)
    store = Memory(str(world / "m"))
    said = {"a": "a drawer", "b": "parrot", "c": "a directory", "d": "a drawer in a directory"}
    store.put_entries([Record(name, text, "g") for name, text in said.items()])

    def scores(base: sqlite3.Connection) -> tuple[dict[int, Found], ...]:
        asked = [turns._score_by_words(base, word, None) for word in ("directory", "drawer")]
        return *asked, store._scores_of_fitting(base, "directory", None)

    own, other, both = store.run_on_database(scores)

    assert sorted(both) == [1, 2, 3, 4]
    for number in (1, 2, 3, 4):
        zero = own.get(number, Found())
        more = other.get(number, Found())
        assert both[number].words == pytest.approx(zero.words + 0.4 * more.words)
        assert both[number].pair == pytest.approx(zero.pair + 0.4 * more.pair)
    assert other[1].pair > 0.0
