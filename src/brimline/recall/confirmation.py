"""The user's word, given once on a terminal, that memory goes to an address: else nothing does.

It is kept for one address and counts in the data folder that it was given in: a folder that came
with a repository, whatever stands in it, has another number on every disk.
"""

from __future__ import annotations

import os
import stat
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from brimline.errors import TeamError
from brimline.fast import io
from brimline.recall import hits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from brimline.recall.place import Place

FILE = "memory/confirmed"
_HELD = "SELECT project, count(*), min(nullif(at, 0)) FROM entries GROUP BY project ORDER BY 2 DESC"
_SHOWN_PROJECTS = 5


def require(home_dir: str, place: Place) -> None:
    """Let nothing leave for an address that was not confirmed.

    Raises:
        TeamError: it was not.
    """
    path = f"{home_dir}/{FILE}"
    try:
        found = os.lstat(path)
        is_ours = stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid()
        if is_ours and io.read_file(path) == _record(home_dir, place):
            return
    except OSError:
        pass
    raise TeamError(
        f"nothing is sent to {place.name}, not even a search, before you confirm it: run "
        "`brimline memory sync` on a terminal of your own"
    )


def keep(home_dir: str, place: Place) -> None:
    """Keep that the user confirmed an address; one before it counts no more.

    Raises:
        OSError: it cannot be written.
    """
    io.make_folder_and_parents(os.path.dirname(f"{home_dir}/{FILE}"))
    io.replace_file(f"{home_dir}/{FILE}", _record(home_dir, place))


def rows_to_confirm(home_dir: str, place: Place, exclude: Sequence[str]) -> list[tuple[str, str]]:
    """Return what the user is asked about, by headings: where it goes, what does now, what will."""
    held = hits.run_if_memory(home_dir, lambda base: base.execute(_HELD).fetchall(), [])
    names = [f"{os.path.basename(folder) or 'none'} ({number:,})" for folder, number, _ in held]
    more = f" and {len(names) - _SHOWN_PROJECTS:,} more" if names[_SHOWN_PROJECTS:] else ""
    times = [at for _, _, at in held if at]
    since = f" since {datetime.fromtimestamp(min(times), UTC):%Y-%m-%d}" if times else ""
    in_clear = " (not encrypted)" if place.host.startswith("http:") else ""
    return [
        ("server", place.host + in_clear),
        ("collection", place.collection),
        ("label", place.author or "none"),
        (
            "entries",
            f"{sum(number for _, number, _ in held):,}{since}: what was said, by whom, when",
        ),
        ("projects", f"{', '.join(names[:_SHOWN_PROJECTS]) or 'none'}{more}"),
        ("later", "what is said in every project, and the words of each search"),
        ("never", ", ".join(exclude) or "nothing is in `memory.exclude`"),
    ]


def _record(home_dir: str, place: Place) -> bytes:
    return f"{os.stat(home_dir).st_ino} {place.address}\n".encode()
