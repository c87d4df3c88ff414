"""The `@path` imports in an instruction file, found as the client finds them. Pure."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from brimline.rules.markdown import Document

# Counted without the file that begins; the client itself stops one earlier.
MOST_HOPS = 5
CLIENT_HOPS = 4
_IMPORT = re.compile(r"(?:^|(?<=[\s*_]))@((?:[^\s\\]|\\ )+)")
_FIRST = re.compile(r"[a-zA-Z0-9._-]")
# Endings that make `@name` a file and no person, host or annotation.
_SUFFIXES = (
    *(".md", ".mdc", ".txt", ".rst", ".adoc", ".json", ".yaml", ".yml", ".toml", ".ini", ".cfg"),
    *(".py", ".js", ".ts", ".tsx", ".go", ".rs", ".rb", ".java", ".sh", ".html", ".css", ".xml"),
)
_STRAY = ".,;:!?)\"'"


class Import(NamedTuple):
    """A place where a file asks for another."""

    line: int
    written: str
    path: str
    """Absolute, not resolved."""


def imports(document: Document, path: str, user_home: str) -> list[Import]:
    """Every import of a file, in order, each target once."""
    found: dict[str, Import] = {}
    for line in document.lines:
        if "@" not in line.plain:
            continue
        for match in _IMPORT.finditer(line.plain):
            written = match[1].partition("#")[0].rstrip("*_").replace("\\ ", " ")
            target = _target(written, os.path.dirname(path), user_home)
            if target is not None:
                found.setdefault(target, Import(line.number, written, target))
    return list(found.values())


def is_meant(one: Import) -> bool:
    """Whether this is surely a path; `@name` may as well be a person or an annotation."""
    bare = one.written.rstrip(_STRAY).lower()
    return bare.endswith(_SUFFIXES) or bare.startswith(("./", "../", "~/", "/"))


def without_stray_mark(one: Import) -> str | None:
    """The path without the full stop or comma that the client takes for a part of it."""
    bare = one.path.rstrip(_STRAY)
    return bare if bare != one.path else None


def _target(written: str, folder: str, user_home: str) -> str | None:
    if not written or "\0" in written:
        return None
    if written.startswith("~/"):
        return os.path.normpath(user_home + written[1:])
    if written.startswith("/"):
        return os.path.normpath(written) if written.strip("/") else None
    if not _FIRST.match(written):
        return None
    return os.path.normpath(f"{folder}/{written}")
