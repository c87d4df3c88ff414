"""The search's face to the hooks: housekeeping."""

from __future__ import annotations

import math
import os

from brimline.bulk import put
from brimline.recall import database, hook, stored


def test_housekeeping_takes_outputs_in_where_there_is_a_store(home_dir: str) -> None:
    """Else it makes nothing."""

    class Turn:
        home, project, values = home_dir, "", {"memory.exclude": ["/"]}

    hook.tidy(Turn, math.inf)  # type: ignore[arg-type]
    assert not os.path.exists(home_dir)
    put.put(home_dir, b"otter", {})

    hook.tidy(Turn, math.inf)  # type: ignore[arg-type]

    known = database.run_on_database(
        stored.search_folder(home_dir),
        lambda base: base.execute("SELECT state FROM documents").fetchall(),
    )
    assert known == [(stored.WHOLE,)]
