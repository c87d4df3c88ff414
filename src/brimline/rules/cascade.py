"""Gathers the instruction files that hold for a project and for the file at hand, weakest first.

Within the project nothing is read that a link or an import would fetch from outside: a repository
may be a stranger's. What the user wrote himself may import from anywhere, as in the client.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from brimline import clientsettings, paths
from brimline.rules import client, markdown, places, scope, textfile
from brimline.rules import imports as importing
from brimline.rules.model import (
    AT_START,
    CHILD,
    NEVER,
    ON_MATCH,
    ON_READ,
    ORGANISATION,
    PARENT,
    PRIVATE,
    PROJECT,
    USER,
    Problem,
    Source,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from brimline.rules.places import Project

_MOST_SOURCES = 1_000
# The user's own files are read first, so a repository cannot crowd them out.
_MOST_CHARACTERS = 2_000_000
_OUTSIDE = "outside the project; Claude Code reads it only once you have approved it"
_TOO_DEEP = "deeper than the four imports in a row that Claude Code follows"


class Cascade(NamedTuple):
    """What was found, weakest first, and what was wrong on the way."""

    project: Project
    sources: list[Source]
    problems: list[Problem]


def gather(
    project_dir: str,
    active_paths: Sequence[str] = (),
    *,
    organisation_file: str | None = None,
    folders: Iterable[str] = (),
    all_scopes: bool = False,
) -> Cascade:
    """Every file that holds for a project and for the files at hand.

    Args:
        project_dir: where the session works.
        active_paths: files at hand, absolute or from the project's folder.
        organisation_file: the user's setting of that name.
        folders: more folders below the project to look into.
        all_scopes: keep rule files with `paths:` that match none of the files at hand.
    """
    project = places.locate(project_dir)
    walk = _Walk(project, active_paths, all_scopes=all_scopes)
    walk.organisation(organisation_file)
    walk.user()
    for folder in project.parents:
        walk.folder(folder, PARENT)
    walk.folder(project.folder, PROJECT)
    below = {each for path in active_paths for each in places.folders_to(project, path)}
    for folder in sorted({*below, *folders}):
        walk.folder(folder, CHILD)
    return Cascade(project, client.decide(project, walk.sources), walk.problems)


class _Walk:
    """Adds files in order; each once, whatever name it is reached by."""

    def __init__(self, project: Project, active: Sequence[str], *, all_scopes: bool) -> None:
        self.project = project
        self.active = [places.absolute(project, path) for path in active]
        self.all_scopes = all_scopes
        self.user_home = places.user_home()
        self.sources: list[Source] = []
        self.problems: list[Problem] = []
        self._seen: set[str] = set()
        self._characters = 0

    def organisation(self, configured: str | None) -> None:
        """The file the user named, then what the client knows as managed."""
        folder = places.managed_folder(self.project.folder)
        managed = f"{folder}/{places.CLAUDE}"
        named = os.path.abspath(os.path.expanduser(configured)) if configured else None
        if named and os.path.realpath(named) != os.path.realpath(managed):
            template = _template(ORGANISATION, "`rules.organisation_file` names it", NEVER)
            if not self.add(named, template, os.path.realpath(os.path.dirname(named))):
                self._complain("missing", named, None, "`rules.organisation_file` names no file")
        template = _template(ORGANISATION, "your organisation put it on this machine", AT_START)
        self.add(managed, template, folder)
        self._managed_text(template)
        self.rules(folder, template, folder, self.project.folder)

    def user(self) -> None:
        """The user's own files; these may import from anywhere."""
        config = paths.client_config_dir()
        template = _template(USER, "your instructions for every project", AT_START)
        self.add(f"{config}/{places.CLAUDE}", template, None)
        self._rule_files(f"{config}/rules", template, None, self.project.folder)
        template = _template(PRIVATE, "your own instructions for this project", NEVER)
        self.add(places.private_file(self.project), template, None)

    def folder(self, folder: str, level: str) -> None:
        """The files that one folder of the project, or one above it, can hold."""
        inside = self._boundary(folder)
        template = _template(level, _WHY[level], ON_READ if level == CHILD else AT_START, folder)
        own = places.client_folder(folder)
        if folder not in self.project.passed_over:
            self.add(f"{folder}/{places.CLAUDE}", template, inside)
            self.add(f"{own}/{places.CLAUDE}", template, inside)
            self.rules(folder, template, inside, folder)
            self.add(f"{folder}/{places.AGENTS}", template, inside)
            self.add(f"{own}/{places.AGENTS}", template, inside)
        self.add(f"{folder}/{places.LOCAL}", template, inside)

    def rules(self, folder: str, template: Source, inside: str | None, base: str) -> None:
        """The rule files of a folder's own `.claude`."""
        self._rule_files(f"{places.client_folder(folder)}/rules", template, inside, base)

    def _rule_files(self, rules: str, template: Source, inside: str | None, base: str) -> None:
        for path in places.rule_files(rules, inside):
            self.add(path, template, inside, base)

    def add(
        self,
        path: str,
        template: Source,
        inside: str | None,
        base: str | None = None,
        chain: tuple[str, ...] = (),
    ) -> bool:
        """Read one file and what it imports; whether there is one."""
        real = os.path.realpath(path)
        if real in self._seen or len(self.sources) >= _MOST_SOURCES:
            return True
        reading = textfile.read(path, inside)
        if reading is None:
            return False
        self._seen.add(real)
        if reading.problem:
            self._complain("unreadable", path, None, f"it {reading.problem}")
        if reading.text is None or not self._has_room(path, reading.text):
            return True
        document = markdown.parse(reading.text)
        source = template._replace(path=path, document=document, text=document.body)
        if base is not None:
            source = _scoped(source, scope.patterns(document.front))
        if self._holds(source, base):
            self.sources.append(source._replace(problem=reading.problem))
        self._follow(source, real, inside, (*chain, real))
        return True

    def _has_room(self, path: str, text: str) -> bool:
        """Whether the whole is still of a size that somebody could want a model to read."""
        self._characters += len(text)
        if self._characters <= _MOST_CHARACTERS:
            return True
        more = f"it is not read: there are over {_MOST_CHARACTERS:,} characters of instructions"
        self._complain("unreadable", path, None, more)
        return False

    def _holds(self, source: Source, base: str | None) -> bool:
        """Whether a rule with `paths:` is meant for one of the files at hand."""
        if not source.patterns or self.all_scopes or base is None:
            return True
        under = [path for path in self.active if textfile.is_within(path, base)]
        start = len(base.rstrip("/")) + 1
        return any(scope.matches(source.patterns, path[start:]) for path in under)

    def _follow(
        self, source: Source, real: str, inside: str | None, chain: tuple[str, ...]
    ) -> None:
        """Read what a file imports. The client loads this at the start even of a scoped rule."""
        if source.document is None:
            return
        for one in importing.imports(source.document, real, self.user_home):
            target = os.path.realpath(one.path)
            if target in chain:
                names = [os.path.basename(each) for each in chain[chain.index(target) :]]
                text = f"imports go in a circle: {' → '.join([*names, names[0]])}"
                self._complain("cycle", source.path, one.line, text)
            elif inside is not None and not textfile.is_within(target, inside):
                text = f"@{one.written} is {_OUTSIDE}"
                self._complain("outside", source.path, one.line, text)
            elif len(chain) > importing.MOST_HOPS:
                self._complain("deep", source.path, one.line, f"@{one.written} is {_TOO_DEEP}")
            else:
                self._import(source, one, inside, chain)

    def _import(
        self, source: Source, one: importing.Import, inside: str | None, chain: tuple[str, ...]
    ) -> None:
        deep = len(chain) > importing.CLIENT_HOPS or source.client == NEVER
        template = source._replace(
            why=f"{os.path.basename(source.path)} imports it, line {one.line}",
            imported_by=source.path,
            client=NEVER if deep else (ON_READ if source.level == CHILD else AT_START),
            client_note=_TOO_DEEP if deep and source.client != NEVER else "",
            patterns=(),
            problem=None,
        )
        if not self.add(one.path, template, inside, None, chain) and importing.is_meant(one):
            self._complain("import", source.path, one.line, _missing(one))

    def _managed_text(self, template: Source) -> None:
        """Instructions that stand in the organisation's settings themselves."""
        path = clientsettings.settings_files(self.project.folder)["managed"]
        text = clientsettings.read_settings(path).get("claudeMd")
        if isinstance(text, str) and text.strip():
            document = markdown.parse(text.replace("\r\n", "\n"))
            why = "`claudeMd` in your organisation's settings"
            found = template._replace(path=path, why=why, document=document, text=document.body)
            self.sources.append(found)

    def _boundary(self, folder: str) -> str:
        """What the files of a folder may be read from: the repository, or the folder itself."""
        return (
            self.project.boundary if textfile.is_within(folder, self.project.boundary) else folder
        )

    def _complain(self, kind: str, path: str, line: int | None, text: str) -> None:
        self.problems.append(Problem(kind, path, line, text))


_WHY = {
    PARENT: "it lies above the project",
    PROJECT: "it is the project's own",
    CHILD: "it lies on the way to the file",
}


def _template(level: str, why: str, when: str, folder: str = "") -> Source:
    return Source("", level, why, folder, None, "", when)


def _scoped(source: Source, patterns: tuple[str, ...]) -> Source:
    if not patterns:
        return source
    why = f"its `paths:` name {', '.join(patterns[:3])}"
    return source._replace(patterns=patterns, client=ON_MATCH, why=why)


def _missing(one: importing.Import) -> str:
    bare = importing.without_stray_mark(one)
    if bare and os.path.isfile(bare):
        mark = one.path[len(bare) :]
        return f"@{one.written} is not found: Claude Code takes the {mark!r} for part of the name"
    return f"@{one.written} is not there"
