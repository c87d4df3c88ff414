"""What rewrites leave of a session: told by its name, and deleted when it is forgotten."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from brimline.fast import paths
from brimline.session import restore, traces
from brimline.state.forgotten import Asked

from . import machines


@pytest.fixture
def path(world: Path) -> Path:
    """A session of the client."""
    return machines.make_session(Path(paths.client_config_dir()) / "projects" / "-p" / "s1.jsonl")


def test_notes_and_backups_of_a_session_go_when_it_is_forgotten(path: Path, home_dir: str) -> None:
    """A trial run only counts them; the session itself and others stay."""
    other = machines.make_session(path.with_name("s2.jsonl"))
    for session in (path, other):
        machines.run(session, home_dir)
    assert list(traces.sessions(home_dir)) == [("s1", "", 0.0), ("s2", "", 0.0)]

    for dry_run in (True, False):
        found = traces.forget(home_dir, Asked(("s1", "unknown")), dry_run=dry_run)
        assert found == {"files": 1, "backups": 1}
        assert len(restore.backups_of(str(path))) == dry_run

    assert list(traces.sessions(home_dir)) == [("s2", "", 0.0)]
    assert len(restore.backups_of(str(other))) == 1
    assert path.is_file()


def test_what_is_kept_of_a_session_that_is_gone_goes_too(path: Path, home_dir: str) -> None:
    """The client deletes old ones, and knows nothing of their backups."""
    machines.run(path, home_dir)
    os.unlink(path)

    assert traces.forget(home_dir, Asked(("s1",)), dry_run=False) == {"files": 1, "backups": 1}
    assert list(traces.sessions(home_dir)) == []
    assert list(path.parent.iterdir()) == []
