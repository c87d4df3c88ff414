"""The search's face to the hooks: housekeeping only.

Fast path: imports nothing.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from brimline.hooks.turn import Turn


def tidy(turn: Turn, until: float) -> None:
    """Take in the words of outputs that were stored lately."""
    import os

    if os.path.isdir(f"{turn.home}/store"):
        from brimline.search import stored

        stored.tidy(turn.home, until=until)
