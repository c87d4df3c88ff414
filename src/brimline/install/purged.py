"""Sessions that refer to the data folder, put back before the data is deleted."""

from __future__ import annotations

import os

from brimline.purge import restore, restore_record
from brimline.purge.errors import PurgeError


def sessions(home_dir: str) -> list[str]:
    """The sessions on disk that were purged or repaired and can be put back.

    Raises:
        PurgeError: a record of a purge cannot be read.
    """
    found = {record.path for record in restore_record.sessions(home_dir)}
    return sorted(path for path in found if os.path.exists(path))


def put_back(paths: list[str], home_dir: str) -> list[str]:
    """Restore sessions; returns a sentence for each that could not be."""
    problems = []
    for path in paths:
        try:
            plan = restore.plan(path, home_dir)
            if not plan.is_empty:
                restore.restore(plan)
        except (PurgeError, OSError) as error:
            problems.append(f"{path} could not be restored: {error}")
    return problems
