"""What `memory list` and `memory status` say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from brimline.recall import hits, overview
from brimline.recall.record import Record

if TYPE_CHECKING:
    from pathlib import Path


def test_how_much_there_is(home_dir: str, tmp_path: Path) -> None:
    """Nothing, at first; then by source, as a document and for a person."""
    folder = str(tmp_path / "memory")
    empty = {"folder": folder, "topics": 0, "index_bytes": 0, "entries": {}, "sessions": 0}
    assert overview.status_document(home_dir, folder) == empty
    memory = hits.open_or_make_memory(home_dir)
    memory.put_entries(
        [Record("1", "a", "s", 5.0, "user"), Record("2", "b", "/f.md", 1.0, "topic")]
    )

    there = overview.status_document(home_dir, folder)

    assert there == empty | {"entries": {"user": 1, "topic": 1}, "sessions": 1}
    rows = dict(overview.status_rows(there | {"topics": 1_200, "entries": {"user": 3_000}}))
    assert rows["search"] == "3,000 user; 1 session"
    assert rows["topics"].startswith("1,200; index ")
    assert dict(overview.status_rows(empty))["search"] == "nothing yet; 0 sessions"


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
