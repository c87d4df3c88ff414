"""What memory keeps of sessions, and how it goes."""

from __future__ import annotations

from typing import Any

from tests.recall.worlds import SESSION, recorded

from brimline.recall import deep, hits, traces
from brimline.recall.record import Record
from brimline.state.forgotten import Asked

OTHER = "0a1b2c3d-0000-4000-8000-000000000002"


def test_entries_are_forgotten_by_session_project_and_time(home_dir: str, project_dir: str) -> None:
    """Topics are the user's own; without a search nothing is counted."""
    assert traces.forget(home_dir, Asked(("s",)), dry_run=True) == {"entries": 0}
    assert list(traces.sessions(home_dir)) == []
    memory = hits.open_or_make_memory(home_dir)
    memory.put_entries(
        [
            Record("1", "a", "s", 5.0, "user", "/p"),
            Record("2", "b", "s/notes", 6.0, "note", "/q"),
            Record("3", "c", "t", 7.0, "user", "/p"),
            Record("4", "d", "/f.md", 1.0, "topic", "/p"),
        ]
    )

    def would(*asked: Any, **more: Any) -> dict[str, int]:
        return traces.forget(home_dir, Asked(*asked, **more), dry_run=True)

    assert would(("s",)) == {"entries": 2}
    assert would((), project="/p") == {"entries": 2}
    assert would((), before=7.0) == {"entries": 2}
    assert would(("s",), project="/p", before=7.0) == {"entries": 3}
    assert sorted(traces.sessions(home_dir)) == [
        ("s", "/p", 5.0),
        ("s", "/q", 6.0),
        ("t", "/p", 7.0),
    ]
    assert traces.forget(home_dir, Asked((), "/p"), dry_run=False) == {"entries": 2}
    assert would(("s",)) == {"entries": 1}


def test_how_far_a_forgotten_one_was_read_is_forgotten(home_dir: str, project_dir: str) -> None:
    """Its name is nowhere in the search; of another session it stays."""
    for session_id in (SESSION, OTHER):
        recorded(project_dir, session_id).prompt("The otter swims.")
    deep.index_sources(home_dir, project_dir)

    def names() -> list[str]:
        asked = "SELECT name FROM facts WHERE name GLOB 'file:*' ORDER BY name"
        rows = hits.open_or_make_memory(home_dir).run_on_database(
            lambda base: base.execute(asked).fetchall()
        )
        return [name.rpartition("/")[2] for (name,) in rows]

    before = names()
    traces.forget(home_dir, Asked((SESSION,)), dry_run=True)
    rehearsed = names()
    assert traces.forget(home_dir, Asked((SESSION,)), dry_run=False) == {"entries": 1}

    assert before == rehearsed == [f"{SESSION}.jsonl", f"{OTHER}.jsonl"]
    assert names() == [f"{OTHER}.jsonl"]
    assert traces.forget(home_dir, Asked((SESSION,)), dry_run=False) == {"entries": 0}
