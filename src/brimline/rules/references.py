"""Files that instructions name and that are no longer there."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NamedTuple

from brimline.rules.markdown import TEXT, code_spans
from brimline.rules.textfile import is_within

if TYPE_CHECKING:
    from collections.abc import Iterator

    from brimline.rules.model import Source
    from brimline.rules.places import Project
    from brimline.rules.survey import Survey

_LINK = re.compile(r"\]\(\s*<?([^)\s>]+)>?(?:\s+[\"'][^)]*)?\)")
_PLACE = re.compile(r"(?::\d+)?(?:[:-]\d+)?(?:#.*)?$")
_PATH = re.compile(r"(?:\.{1,2}/|~/|/)?[\w.@+-]+(?:/[\w.@+-]+)*/?$")
_SUFFIX = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,7}$")
_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:")
# Endings that are as often hosts, packages or versions as files.
_NO_FILE = (".com", ".org", ".net", ".io", ".dev", ".ai", ".x")


class Reference(NamedTuple):
    """A file that a line names."""

    line: int
    written: str
    path: str


def missing(source: Source, project: Project, walked: Survey) -> list[Reference]:
    """The files named by links and in code spans that are nowhere where they could be.

    Only names that are clearly paths count, and only inside the project is looked. A link is taken
    from its file; other names are often short for a path somewhere in the project.
    """
    found: dict[str, Reference] = {}
    folder = os.path.dirname(os.path.realpath(source.path))
    for line, written, is_link in _named(source):
        if not _is_path(written, project.folder, is_link=is_link):
            continue
        homes = (folder,) if is_link else (folder, project.folder, project.boundary)
        places = [os.path.normpath(os.path.join(home, written)) for home in homes]
        inside = [place for place in places if is_within(place, project.boundary)]
        known = any(os.path.lexists(place) for place in inside)
        if inside and not known and (is_link or _is_nowhere(written, walked)):
            found.setdefault(written, Reference(line, written, inside[0]))
    return list(found.values())


def _is_nowhere(written: str, walked: Survey) -> bool:
    if written.startswith("."):
        return True
    return walked.is_complete and not walked.has(written)


def _named(source: Source) -> Iterator[tuple[int, str, bool]]:
    """Line, text and kind of everything that may name a file."""
    for line in source.document.lines if source.document else ():
        if line.kind != TEXT:
            continue
        for match in _LINK.finditer(line.plain):
            target = match[1].partition("#")[0]
            if target and not _SCHEME.match(target):
                yield line.number, target.replace("%20", " "), True
        if "`" in line.text:
            for start, end in code_spans(line.text):
                yield line.number, _PLACE.sub("", line.text[start:end].strip("` ")), False


def _is_path(written: str, project_dir: str, *, is_link: bool) -> bool:
    if written.startswith(("~", "/")) or (not is_link and not _PATH.match(written)):
        return False
    if is_link:
        return True
    first, slash, _ = written.partition("/")
    if not slash or first.startswith("@"):
        return False
    has_suffix = bool(_SUFFIX.search(written)) and not written.lower().endswith(_NO_FILE)
    known = first in (".", "..") or os.path.isdir(f"{project_dir}/{first}")
    return has_suffix or known
