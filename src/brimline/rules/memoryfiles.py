"""Checks the client's own memory of a project: its index and the topic files beside it.

The client loads the index at every start, its first 200 lines or 25 kB, and drops the rest without
a word; topic files are read when they are needed.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from brimline import fastio, paths

if TYPE_CHECKING:
    from collections.abc import Iterator

INDEX = "MEMORY.md"
MOST_LINES = 200
MOST_BYTES = 25_000
TYPES = ("user", "feedback", "project", "reference")
_FIELDS = ("name", "description", "type")
_MOST_FILES = 500
_LARGEST_BYTES = 1 << 20


class Remark(NamedTuple):
    """What is wrong with a memory file."""

    is_broken: bool
    path: str
    line: int | None
    text: str


def folder(project_dir: str) -> str:
    """Where the client keeps what it remembers of a project."""
    return f"{paths.project_transcripts(project_dir)}/memory"


def check(project_dir: str) -> Iterator[Remark]:
    """Everything that is wrong with the memory of a project; nothing where there is none."""
    place = folder(project_dir)
    for name in sorted(fastio.names_in(place))[:_MOST_FILES]:
        path = f"{place}/{name}"
        if not name.endswith(".md") or not os.path.isfile(path):
            continue
        try:
            text = fastio.read_file(path, _LARGEST_BYTES).decode("utf-8", "replace")
        except OSError as error:
            yield Remark(True, path, None, f"it cannot be read: {error.strerror or error}")
            continue
        yield from _of_index(path, text) if name == INDEX else _of_topic(path, text)


def _of_index(path: str, text: str) -> Iterator[Remark]:
    lines = text.count("\n") + bool(text and not text.endswith("\n"))
    if lines > MOST_LINES:
        yield Remark(
            True,
            path,
            MOST_LINES + 1,
            f"it has {lines} lines, and the client drops all after the first {MOST_LINES}: "
            "move the rest into topic files",
        )
    size = len(text.encode())
    if size > MOST_BYTES:
        yield Remark(
            True,
            path,
            None,
            f"it has {size:,} bytes, and the client drops all after {MOST_BYTES:,}",
        )


def _of_topic(path: str, text: str) -> Iterator[Remark]:
    fields = _front_matter(text)
    if fields is None:
        yield Remark(False, path, 1, "it has no front matter with name, description and type")
        return
    missing = [name for name in _FIELDS if not fields.get(name)]
    if missing:
        yield Remark(False, path, 1, f"its front matter lacks {' and '.join(missing)}")
    kind = fields.get("type")
    if kind and kind not in TYPES:
        yield Remark(True, path, 1, f"its type is {kind!r}: it takes one of {', '.join(TYPES)}")


def _front_matter(text: str) -> dict[str, str] | None:
    """The plain `name: value` lines between the marks; None without both marks."""
    lines = text.removeprefix("\ufeff").splitlines()
    if not lines or lines[0].strip() != "---":
        return None
    fields: dict[str, str] = {}
    for line in lines[1:]:
        if line.strip() == "---":
            return fields
        name, colon, value = line.partition(":")
        if colon and not line[:1].isspace():
            fields[name.strip()] = value.strip().strip("'\"")
    return None
