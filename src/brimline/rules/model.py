"""The words of this room: where a file stands in the cascade, and what the client does with it."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from brimline.rules.markdown import Document

ORGANISATION, USER, PRIVATE, PARENT, PROJECT, CHILD = (
    "organisation",
    "user",
    "private",
    "parent",
    "project",
    "child",
)
# When Claude Code loads a file by itself.
AT_START, ON_READ, ON_MATCH, NEVER = "start", "read", "match", "never"


class Source(NamedTuple):
    """One file of the cascade."""

    path: str
    level: str
    why: str
    folder: str
    """What it holds for: everything, where that is empty."""
    document: Document | None
    text: str
    """What of it reaches a model; empty where nothing does."""
    client: str
    client_note: str = ""
    patterns: tuple[str, ...] = ()
    imported_by: str | None = None
    problem: str | None = None
    excluded: bool = False
    """Whether the user's settings leave it out, so that we do too."""

    @property
    def digest(self) -> str:
        """Equal for files that say the same."""
        return hashlib.sha256(self.text.strip().encode("utf-8", "surrogatepass")).hexdigest()

    @property
    def is_dynamic(self) -> bool:
        """Whether it depends on the file at hand."""
        return self.level == CHILD or bool(self.patterns)


class Problem(NamedTuple):
    """Something wrong with one file, at a line where there is one."""

    kind: str
    path: str
    line: int | None
    text: str
