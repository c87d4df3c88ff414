"""Patterns as in `.gitignore`: which paths a line means. Pure, and cheap whatever a stranger wrote.

Fast enough for a hook, not on the quiet path.
"""

from __future__ import annotations

import fnmatch
import re
from typing import NamedTuple

_ESCAPED = re.compile(r"\\([^!#^])")
_BRACES = re.compile(r"\{([^{}]*)\}")
_MOST_ALTERNATIVES = 200


class Pattern(NamedTuple):
    """One line; `!` before it takes back what lines before it meant."""

    text: str
    # What the names of a path must be, from the root; `**` is any number of names.
    parts: tuple[str, ...]
    folders_only: bool

    @property
    def is_negated(self) -> bool:
        """Whether it makes an exception."""
        return self.text.startswith("!")

    def matches(self, names: list[str], *, folder: bool = False) -> bool:
        """Tell whether a path, or a folder that it lies in, is meant."""
        ends = self._matched_prefix_lengths(names)
        return any(end < len(names) or folder or not self.folders_only for end in ends)

    def matches_whole_path(self, names: list[str]) -> bool:
        """Tell whether exactly this path is meant."""
        return len(names) in self._matched_prefix_lengths(names)

    def _matched_prefix_lengths(self, names: list[str]) -> set[int]:
        """With how many of the leading names it can be done."""
        ends = {0}
        for part in self.parts:
            if part == "**":
                ends = set(range(min(ends, default=len(names) + 1), len(names) + 1))
            else:
                going_on = [end for end in ends if end < len(names)]
                ends = {end + 1 for end in going_on if fnmatch.fnmatchcase(names[end], part)}
        return ends - {0}


def parse_pattern(line: str) -> Pattern:
    """Take a line apart; without a slash before its end it means names at any depth."""
    text = line.removeprefix("!")
    literal = _ESCAPED.sub(r"[\1]", text).replace("\\", "") if "\\" in text else text
    parts = literal.strip("/").split("/")
    if "/" not in text.rstrip("/"):
        parts.insert(0, "**")
    elif parts[-1] == "**":
        parts.insert(-1, "*")  # what lies inside, not the folder itself
    return Pattern(line, tuple(parts), text.endswith("/"))


def expand_braces(text: str) -> list[str]:
    """One text for each choice in braces; nothing where there are too many."""
    done: list[str] = []
    waiting = [text]
    while waiting and len(done) + len(waiting) <= _MOST_ALTERNATIVES:
        each = waiting.pop()
        braces = next((found for found in _BRACES.finditer(each) if "," in found[1]), None)
        if braces:
            head, tail = each[: braces.start()], each[braces.end() :]
            waiting += [head + choice.strip() + tail for choice in reversed(braces[1].split(","))]
        else:
            done.append(each)
    return [] if waiting else done
