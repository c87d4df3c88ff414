"""What is carried of sessions, and how it goes."""

from __future__ import annotations

from tests.carry.test_links import FIRST, SECOND, left_open

from brimline.carry import ledger, links, traces
from brimline.state.forgotten import Asked


def test_a_forgotten_session_takes_its_own_files_and_links(home_dir: str, project_dir: str) -> None:
    """They are counted; a rehearsal counts the same and takes nothing."""
    for number, name in enumerate((FIRST, SECOND), 1):
        ledger.save(home_dir, left_open(name, tasks=1))
        links.note_session_of_client(home_dir, str(number), name)
    links.note_or_drop_unfinished_session(home_dir, project_dir, left_open(FIRST, tasks=1))
    before = {name for name, _, _ in traces.sessions(home_dir)}

    counted = [
        traces.forget(home_dir, Asked((FIRST,)), dry_run=dry_run) for dry_run in (True, False)
    ]

    assert before == {FIRST, SECOND}
    assert counted == [{"files": 1}, {"files": 1}]
    assert {name for name, _, _ in traces.sessions(home_dir)} == {SECOND}
    assert [links.last_session_of_client(home_dir, pid) for pid in ("1", "2")] == [None, SECOND]
    assert links.last_unfinished_session(home_dir, project_dir) is None
