"""What the dashboard keeps of sessions, and how it goes."""

from __future__ import annotations

import os

from tests.dashboard.test_index import IDS, ids, known

from brimline.dashboard import index, traces
from brimline.fast import paths
from brimline.state.forgotten import Asked

__all__ = ["known"]


def test_what_is_forgotten_is_not_in_the_list(known: index.Index, home_dir: str) -> None:
    """All of it goes, and is made again; a rehearsal leaves it."""
    path = f"{home_dir}/{paths.DASHBOARD_INDEX}"

    assert traces.forget(home_dir, Asked((IDS[0],)), dry_run=True) == {}
    rehearsed = os.path.exists(path)
    assert traces.forget(home_dir, Asked((IDS[0],)), dry_run=False) == {}

    assert ids(known)[1] == 0
    assert rehearsed
