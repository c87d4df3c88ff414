"""Checks the client's own memory of a project: its index and the topic files beside it.

The client loads the index at every start, its first 200 lines or 25 kB, and drops the rest without
a word; topic files are read when they are needed.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from brimline.fast import io, paths
from brimline.rules.cascade import Problem

if TYPE_CHECKING:
    from collections.abc import Iterator

INDEX = "MEMORY.md"
MOST_LINES = 200
MOST_BYTES = 25_000
TYPES = ("user", "feedback", "project", "reference")
_FIELDS = ("name", "description", "type")
_MOST_FILES = 500
_LARGEST_BYTES = 1 << 20


def folder(project_dir: str) -> str:
    """Where the client keeps what it remembers of a project."""
    return f"{paths.project_transcripts(project_dir)}/memory"


def check(project_dir: str) -> Iterator[Problem]:
    """Everything that is wrong with the memory of a project; nothing where there is none."""
    place = folder(project_dir)
    for name in sorted(io.names_in(place))[:_MOST_FILES]:
        path = f"{place}/{name}"
        if not name.endswith(".md") or not os.path.isfile(path):
            continue
        try:
            text = io.read_file(path, _LARGEST_BYTES).decode("utf-8-sig", "replace")
        except OSError as error:
            yield Problem("memory", path, None, f"it cannot be read: {error.strerror or error}")
            continue
        yield from _of_index(path, text) if name == INDEX else _of_topic(path, text)


def _of_index(path: str, text: str) -> Iterator[Problem]:
    lines, size = len(text.splitlines()), len(text.encode())
    if lines > MOST_LINES:
        dropped = f"the client drops all after the first {MOST_LINES}: move it into topic files"
        yield Problem("memory", path, MOST_LINES + 1, f"it has {lines} lines, and {dropped}")
    if size > MOST_BYTES:
        dropped = f"the client drops all after {MOST_BYTES:,}"
        yield Problem("memory", path, None, f"it has {size:,} bytes, and {dropped}")


def _of_topic(path: str, text: str) -> Iterator[Problem]:
    head, marks, _ = text.removeprefix("---\n").partition("\n---")
    if not marks or not text.startswith("---\n"):
        yield Problem("topic", path, 1, "it has no front matter with name, description and type")
        return
    parted = [row.partition(":") for row in head.splitlines() if not row[:1].isspace()]
    fields = {name.strip(): value.strip(" \t'\"") for name, _, value in parted}
    missing = [name for name in _FIELDS if not fields.get(name)]
    if missing:
        yield Problem("topic", path, 1, f"its front matter lacks {' and '.join(missing)}")
    kind = fields.get("type")
    if kind and kind not in TYPES:
        yield Problem(
            "memory", path, 1, f"its type is {kind!r}: it takes one of {', '.join(TYPES)}"
        )
