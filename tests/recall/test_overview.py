"""What `memory list` and `memory status` say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from brimline.recall import hits, overview, vectors
from brimline.recall.record import Record

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_how_much_there_is(home_dir: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing, at first; meaning is searched where there is a table."""
    folder = str(tmp_path / "memory")
    empty = {"folder": folder, "topics": 0, "index_bytes": 0, "entries": {}, "sessions": 0}
    assert overview.status_document(home_dir, folder) == empty | {
        "vectors": vectors.load_table() is not None
    }
    memory = hits.open_or_make_memory(home_dir)
    memory.put_entries(
        [Record("1", "a", "s", 5.0, "user"), Record("2", "b", "/f.md", 1.0, "topic")]
    )
    monkeypatch.setattr(vectors, "load_table", lambda: None)

    there = overview.status_document(home_dir, folder)

    assert there == empty | {
        "entries": {"user": 1, "topic": 1},
        "sessions": 1,
        "vectors": False,
    }


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
