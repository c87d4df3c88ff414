"""What outlives a session: files that are loaded every time, and a search over all that was said.

`recall.open(folder)` is the search alone, for any entries: `add` takes some in, `search` finds.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from brimline.recall.turns import Memory


def open(folder: str) -> Memory:  # noqa: A001 - `recall.open` is its name
    """The memory in a folder, which is made where it is missing."""
    from brimline.recall.turns import Memory

    return Memory(folder)
