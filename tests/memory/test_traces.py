"""What memory keeps of sessions, and how it goes."""

from __future__ import annotations

from typing import Any

from brimline.memory import hits, traces
from brimline.search.turns import Entry
from brimline.state.forgotten import Asked


def test_entries_are_forgotten_by_session_project_and_time(home_dir: str, project_dir: str) -> None:
    """Topics are the user's own; without a search nothing is counted."""
    assert traces.forget(home_dir, Asked(("s",)), dry_run=True) == {"entries": 0}
    assert list(traces.sessions(home_dir)) == []
    memory = hits.open_memory(home_dir)
    memory.put(
        [
            Entry("1", "a", "s", 5.0, "user", "/p"),
            Entry("2", "b", "s/notes", 6.0, "note", "/q"),
            Entry("3", "c", "t", 7.0, "user", "/p"),
            Entry("4", "d", "/f.md", 1.0, "topic", "/p"),
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
