"""Finds the programs that we start where systems keep them: a project can set PATH.

What a person starts in a terminal of their own, such as `claude` for `brimline run`, is theirs to
find, and their own status line runs as the client would run it.
"""

from __future__ import annotations

import os

PLACES = (
    *("/usr/bin", "/bin", "/usr/local/bin", "/opt/homebrew/bin", "/opt/local/bin"),
    "/run/current-system/sw/bin",
)


def path_of(name: str) -> str:
    """The first program of that name in those places; without one, a path that starts nothing."""
    found = [path for place in PLACES if os.access(path := f"{place}/{name}", os.X_OK)]
    return next(iter(found), f"{PLACES[0]}/{name}")


def make_environment(*kept: str) -> dict[str, str]:
    """What such a program gets: those places as its PATH, and what is kept of our environment."""
    own = {name: os.environ[name] for name in kept if name in os.environ}
    return {"PATH": ":".join(PLACES), "LC_ALL": "C"} | own
