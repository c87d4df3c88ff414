"""One thing that `doctor` has to say."""

from __future__ import annotations

from typing import Literal, NamedTuple

Level = Literal["ok", "note", "warning", "broken"]


class Finding(NamedTuple):
    """What was found, why it matters, and the command or edit that fixes it."""

    check: str
    level: Level
    what: str
    why: str = ""
    fix: str = ""
