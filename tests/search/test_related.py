"""Words that mean nearly the same as those of a question."""

from __future__ import annotations

from typing import TYPE_CHECKING

from brimline import memory
from brimline.search import related, vectors

if TYPE_CHECKING:
    from pathlib import Path

    from brimline.search.turns import Memory

SAID = ("The folder is emptied at night.", "Folders are never shared.", "A parrot was heard.")


def words(store: Memory, *asked: str) -> list[str]:
    """Those that are related to some."""
    table = vectors.load()
    assert table is not None
    return store.use(lambda base: related.find_related(base, table, asked))


def test_related_words_are_those_that_the_memory_holds_each_in_one_form(world: Path) -> None:
    """Not those of the question itself, in whatever form."""
    store = memory.open(str(world / "m"))
    store.add([{"id": str(number), "text": text} for number, text in enumerate(SAID)])

    assert words(store, "directory") == ["folder"]
    assert words(store, "directory", "folders") == []
    assert words(store, "volcano", "1984") == []
    assert words(store) == []


def test_a_related_word_finds_less_than_the_word_itself_and_more_than_none(world: Path) -> None:
    """Of entries that are alike but for that word."""
    store = memory.open(str(world / "m"))
    nouns = ("parrot", "folder", "directory")
    store.add([{"id": noun, "text": f"The {noun} is emptied at night."} for noun in nouns])

    hits = store.search("directory")

    assert [hit.id for hit in hits] == ["directory", "folder", "parrot"]
