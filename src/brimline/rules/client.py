"""Corrects what is said of the client by what only the whole cascade shows. Observed, not assumed.

`tests/client/test_rules.py` puts a mark into each place and reads what the model is sent.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from brimline import clientsettings
from brimline.rules import places, scope, textfile
from brimline.rules.model import CHILD, NEVER, ORGANISATION, PARENT, PROJECT, Source

if TYPE_CHECKING:
    from brimline.rules.places import Project

_BESIDE = "AGENTS.md is read only where there is no CLAUDE.md; import it with @AGENTS.md"
_EXCLUDED = "`claudeMdExcludes` in the client's settings leaves it out"
_EXTERNAL = "outside the folder of the session; Claude Code reads it only once you approved it"
_MOST_EXCLUDES = 100


def decide(project: Project, sources: list[Source]) -> list[Source]:
    """The same sources, with what the client does with each."""
    excluded = _Excluded(project)
    agents = _Agents(sources)
    found: list[Source] = []
    unread: set[str] = set()
    for source in sources:
        note = agents.note(source)
        if source.imported_by in unread:
            note = source.client_note or "what imports it is not read"
        elif _is_external_import(project, source):
            note = _EXTERNAL
        known = source._replace(client=NEVER, client_note=note) if note else source
        known = excluded.applied(known)
        if known.client == NEVER:
            unread.add(known.path)
        found.append(known)
    return found


class _Agents:
    """When the client takes AGENTS.md: where the project has no CLAUDE.md that says something."""

    def __init__(self, sources: list[Source]) -> None:
        speaking = [s for s in sources if _is_claude_file(s) and s.text.strip()]
        self._folders = {os.path.dirname(source.path) for source in speaking}
        self._stand_in = all(source.level == CHILD for source in speaking)

    def note(self, source: Source) -> str:
        """Why it is not read, or nothing."""
        if source.imported_by is not None or os.path.basename(source.path) != places.AGENTS:
            return ""
        own = {source.folder, places.client_folder(source.folder)}
        beside = source.level == CHILD and not own.isdisjoint(self._folders)
        return _BESIDE if beside or not self._stand_in else ""


def _is_claude_file(source: Source) -> bool:
    named = os.path.basename(source.path) in (places.CLAUDE, places.LOCAL)
    return named and source.imported_by is None and source.level in (PARENT, PROJECT, CHILD)


def _is_external_import(project: Project, source: Source) -> bool:
    """Whether approval is needed: for imports from beside or above the session's folder."""
    if source.imported_by is None or source.level not in (ORGANISATION, PARENT, PROJECT, CHILD):
        return False
    return not textfile.is_within(os.path.realpath(source.path), project.folder)


class _Excluded:
    """The patterns of `claudeMdExcludes`, by the settings file they stand in."""

    def __init__(self, project: Project) -> None:
        self._patterns: dict[str, list[str]] = {}
        for name, path in clientsettings.settings_files(project.folder).items():
            listed = clientsettings.read_settings(path).get("claudeMdExcludes")
            texts = listed if isinstance(listed, list) else []
            whole = [each for each in texts if isinstance(each, str) and "/" in each]
            self._patterns[name] = whole[:_MOST_EXCLUDES]

    def applied(self, source: Source) -> Source:
        """Say where the client leaves a file out; we do too, unless a project hides the user's."""
        if source.level == ORGANISATION:
            return source
        by = [name for name, patterns in self._patterns.items() if _hits(patterns, source.path)]
        if not by:
            return source
        theirs = source.level in (PARENT, PROJECT, CHILD) or not {"user", "managed"}.isdisjoint(by)
        return source._replace(client=NEVER, client_note=_EXCLUDED, excluded=theirs)


def _hits(patterns: list[str], path: str) -> bool:
    return any(scope.matches_whole(pattern, path.lstrip("/")) for pattern in patterns)
