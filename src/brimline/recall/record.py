"""A text with where it comes from: what the search holds, here and on the team's server."""

from __future__ import annotations

from typing import NamedTuple


class Record(NamedTuple):
    """A text with where it comes from; `ref` is its name."""

    ref: str
    text: str
    session: str = ""
    """Or another group, whose texts follow each other."""
    at: float = 0.0
    source: str = ""
    project: str = ""
    title: str = ""
    state: str = ""
    rows: str = ""
    """The rows that it is made of, where it is more than one."""


class Hit(NamedTuple):
    """A record that was found."""

    record: Record
    number: int
    score: float = 0.0
    author: str = ""
    """Who shared it, where it is from elsewhere."""
    snippet: str = ""
    """The part of a stored output that fits."""
    before: str = ""
    """What was said before it, and what it is found by besides."""
    previous: object = None
    """The one that said it, by its number here or its name there."""

    @property
    def id(self) -> str:
        """The name of what was found."""
        return self.record.ref
