"""Where the full-text index lies, and how it is thrown away.

The index holds words of stored outputs and is no more than a copy of them. Whatever leaves the
store takes the whole index along, and the next search makes it anew: a single output taken out of
it would leave its words behind in the database's pages.
"""

from __future__ import annotations

from brimline import fastio
from brimline.store import layout

# The database first: a journal whose database is gone is ignored, the reverse is not.
_ENDINGS = ("", "-journal")


def path(home_dir: str) -> str:
    """The database."""
    return layout.root(home_dir) + "/search.sqlite3"


def drop(home_dir: str) -> None:
    """Delete the index, if there is one.

    Raises:
        OSError: it cannot be deleted.
    """
    for ending in _ENDINGS:
        fastio.remove(path(home_dir) + ending)
