"""Gathers the instruction files that hold for a project and for the file at hand, weakest first.

Within the project nothing is read that a link or an import would fetch from outside: a repository
may be a stranger's. What the user wrote may import from anywhere, as in the client. What is said of
the client was observed: `tests/client/test_rules.py` puts a mark into each place. Standard library
only, and bounded in size and count: a hook reads marked rules with it.
"""

from __future__ import annotations

import hashlib
import itertools
import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from brimline.errors import reason
from brimline.fast import io, paths
from brimline.foreign import flatten
from brimline.rules import patterns
from brimline.rules.lines import imports_in_lines, parse_front_and_lines, text_shown_by_client
from brimline.settings import clientsettings

if TYPE_CHECKING:
    from collections.abc import Iterable

    from brimline.rules.lines import Import, Line

ORGANISATION, USER, PRIVATE = "organisation", "user", "private"
PARENT, PROJECT, CHILD = "parent", "project", "child"
# When Claude Code loads a file by itself.
AT_START, ON_READ, ON_MATCH, NEVER = "start", "read", "match", "never"
CLAUDE, LOCAL, AGENTS = "CLAUDE.md", "CLAUDE.local.md", "AGENTS.md"
# The client's own folder in a project.
OWN = paths.USUAL_CLIENT_DIR.strip("/")

_HOPS = 4
# What one project may cost: a short line, an import and a file are as dear as so many characters.
MOST_CHARACTERS = 400_000
_LINE_CHARACTERS = 20
_IMPORT_CHARACTERS = 400
_FILE_CHARACTERS = 2_000
_MOST_FOLDERS = 200
_MOST_ENTRIES = 2_000
_MOST_EXCLUDES = 100
# What a terminal would obey has no meaning in an instruction.
_CONTROLS = dict.fromkeys([*range(9), *range(11, 32), *range(127, 160)])
_BROKEN = {"import", "cycle", "unreadable", "reference"}
_WHY = {
    PARENT: "it lies above the project",
    PROJECT: "it is the project's own",
    CHILD: "it lies on the way to the file",
}
_BESIDE = "AGENTS.md is read only where there is no CLAUDE.md; import it with @AGENTS.md"
_EXCLUDED = "`claudeMdExcludes` in the client's settings leaves it out"
_OUTSIDE = "outside the project; Claude Code reads it only once you have approved it"
_TOO_DEEP = "deeper than the four imports in a row that Claude Code follows"


class Source(NamedTuple):
    """One file of the cascade."""

    path: str
    level: str
    why: str
    client: str
    """When the client loads it."""
    folder: str = ""
    """What it holds for: everything, where that is empty."""
    lines: tuple[Line, ...] = ()
    text: str = ""
    """What of it reaches a model."""
    client_note: str = ""
    patterns: tuple[str, ...] = ()
    imported_by: str | None = None

    @property
    def digest(self) -> str:
        """Equal for files that say the same."""
        return hashlib.sha256(self.text.strip().encode("utf-8", "surrogatepass")).hexdigest()

    @property
    def is_excluded(self) -> bool:
        """Whether the client's settings leave it out, so that we do too."""
        return self.client_note == _EXCLUDED

    @property
    def is_for_some_files(self) -> bool:
        """Whether it depends on the file at hand."""
        return self.level == CHILD or bool(self.patterns)


class Problem(NamedTuple):
    """Something wrong with one file, at a line where there is one."""

    kind: str
    path: str
    line: int | None
    text: str

    @property
    def is_to_be_mended(self) -> bool:
        """Whether it is to be mended; the others are to be thought about."""
        return self.kind in _BROKEN


class Cascade(NamedTuple):
    """What was found, weakest first, and what was wrong on the way."""

    folder: str
    """The project, resolved."""
    boundary: str
    """The repository, or the project itself: what its own files may import from."""
    sources: list[Source]
    problems: list[Problem]


def gather_instruction_files(
    project_dir: str,
    active_path: str = "",
    *,
    folders: Iterable[str] | None = None,
    most_characters: int = MOST_CHARACTERS,
) -> Cascade:
    """Every file that holds for a project and for the files at hand.

    Args:
        project_dir: where the session works.
        active_path: the file at hand, absolute or from the project's folder.
        folders: all folders below the project to look into, for whatever file is at hand; None:
            those on the way to the active one, and rule files whose `paths:` match it.
        most_characters: how much is read; the user's own files come first.
    """
    walk = _Walk(os.path.realpath(project_dir), active_path, folders is not None, most_characters)
    walk.add_organisation_files()
    walk.add_user_files()
    for parent in _folders_above(walk.project):
        walk.add_folder(parent, PARENT)
    walk.add_folder(walk.project, PROJECT)
    way = _folders_above(f"{walk.active}/x")
    inside = {each for each in way if is_within(each, walk.project) and os.path.isdir(each)}
    for each in sorted({*inside, *(folders or ())} - {walk.project}):
        walk.add_folder(each, CHILD)
    sources = _sources_marked_where_client_skips_them(walk.project, walk.sources)
    return Cascade(walk.project, walk.boundary, sources, walk.problems)


def resolved_home() -> str:
    """The user's home folder, resolved."""
    return os.path.realpath(io.env("HOME") or os.path.expanduser("~"))


def short_path(path: str, project: str = "") -> str:
    """A path for people: from the project, or with the home folder shortened."""
    home = resolved_home()
    if project and is_within(path, project):
        path = path[len(project.rstrip("/")) + 1 :] or path
    elif is_within(path, home) and path != home:
        path = "~" + path[len(home) :]
    return flatten(path, keep_end=True)


def is_within(path: str, folder: str) -> bool:
    """Tell whether a path is a folder or lies in it; both are absolute and resolved."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def path_in_resolved_folder(project: str, path: str) -> str:
    """A path that a person or a tool named, from the project's folder, its folders resolved."""
    joined = os.path.normpath(os.path.join(project, os.path.expanduser(path)))
    return os.path.join(os.path.realpath(os.path.dirname(joined)), os.path.basename(joined))


class _Walk:
    """Adds files in order; each once, whatever name it is reached by."""

    def __init__(self, project: str, active: str, all_scopes: bool, most_characters: int) -> None:
        self.project = project
        self.active = path_in_resolved_folder(project, active) if active else ""
        self.all_scopes = all_scopes
        self.home = resolved_home()
        self.sources: list[Source] = []
        self.problems: list[Problem] = []
        around = [project, *reversed(_folders_above(project))]
        self.top = next((each for each in around if os.path.lexists(f"{each}/.git")), project)
        self.boundary = project if is_within(self.home, self.top) else self.top
        self._seen: set[str] = set()
        self._characters = most_characters

    def add_organisation_files(self) -> None:
        """Add what the client knows as managed."""
        settings = clientsettings.path_by_scope(self.project)["managed"]
        folder = os.path.dirname(settings)
        template = Source("", ORGANISATION, "your organisation put it on this machine", AT_START)
        self.add_file(f"{folder}/{CLAUDE}", template, folder)
        text = clientsettings.read_settings(settings).get("claudeMd")
        if isinstance(text, str) and text.strip():
            why = "`claudeMd` in your organisation's settings"
            self._parse_and_keep_source(template._replace(path=settings, why=why), text)
        self._add_rule_files(f"{folder}/{OWN}/rules", template, folder, self.project)

    def add_user_files(self) -> None:
        """The user's own files; these may import from anywhere."""
        config = paths.client_config_dir()
        template = Source("", USER, "your instructions for every project", AT_START)
        self.add_file(f"{config}/{CLAUDE}", template, None)
        self._add_rule_files(f"{config}/rules", template, None, self.project)
        # The client knows no such file; it lies beside the project's transcripts.
        template = Source("", PRIVATE, "your own instructions for this project", NEVER)
        self.add_file(f"{paths.project_transcripts_dir(self.project)}/{CLAUDE}", template, None)

    def add_folder(self, folder: str, level: str) -> None:
        """The files that one folder of the project, or one above it, can hold."""
        inside = self.boundary if is_within(folder, self.boundary) else folder
        when = ON_READ if level == CHILD else AT_START
        template = Source("", level, _WHY[level], when, folder)
        if self._is_around_worktree(folder):
            self.add_file(f"{folder}/{LOCAL}", template, inside)
            return
        self.add_file(f"{folder}/{CLAUDE}", template, inside)
        self.add_file(f"{folder}/{OWN}/{CLAUDE}", template, inside)
        self._add_rule_files(f"{folder}/{OWN}/rules", template, inside, folder)
        # AGENTS.md last: what it imports may be imported by a file that counts.
        for name in (LOCAL, AGENTS, f"{OWN}/{AGENTS}"):
            self.add_file(f"{folder}/{name}", template, inside)

    def add_file(
        self,
        path: str,
        template: Source,
        inside: str | None,
        chain: tuple[str, ...] = (),
        scope_base: str = "",
    ) -> bool:
        """Read one file and what it imports; whether there is one."""
        real = os.path.realpath(path)
        if real in self._seen:
            return True
        if self._characters < _FILE_CHARACTERS:
            return os.path.lexists(path)
        text, problem = _read_file_text_and_problem(path, real, inside)
        if text is None and not problem:
            return False
        self._seen.add(real)
        if problem:
            self._add_problem("unreadable", path, None, f"it {problem}")
        lines = (text or "").count("\n")
        cost = max(len(text or ""), lines * _LINE_CHARACTERS, _FILE_CHARACTERS)
        if cost > self._characters:
            self._add_problem("unreadable", path, None, "it is not read: it would be too much")
        elif text is not None:
            self._characters -= cost
            source = self._parse_and_keep_source(template._replace(path=path), text, scope_base)
            self._add_imports_of_source(source, real, inside, (*chain, real))
        return True

    def _parse_and_keep_source(self, source: Source, text: str, scope_base: str = "") -> Source:
        """Keep a text if it is in scope; the `paths:` of a rule file begin at `scope_base`."""
        front, lines = parse_front_and_lines(text)
        source = source._replace(lines=tuple(lines), text=text_shown_by_client(lines))
        source = _source_with_paths_of_front(source, front) if scope_base else source
        if self.all_scopes or not source.patterns or self._matches_active_path(source, scope_base):
            self.sources.append(source)
        return source

    def _add_rule_files(
        self, rules: str, template: Source, inside: str | None, scope_base: str
    ) -> None:
        """Every Markdown file in a folder of rules and below it; links may lead in circles."""
        waiting, seen = [rules], set[str]()
        while waiting and len(seen) < _MOST_FOLDERS:
            current = waiting.pop(0)
            real = os.path.realpath(current)
            if real in seen or (inside is not None and not is_within(real, inside)):
                continue
            seen.add(real)
            for name in sorted(io.list_names(current))[:_MOST_ENTRIES]:
                path = f"{current}/{name}"
                if name.endswith(".md"):
                    self.add_file(path, template, inside, scope_base=scope_base)
                elif os.path.isdir(path):
                    waiting.append(path)

    def _matches_active_path(self, source: Source, scope_base: str) -> bool:
        """Tell whether a rule with `paths:` is meant for the file at hand."""
        wanted = [patterns.parse_pattern(each.lower()) for each in source.patterns]
        names = self.active[len(scope_base.rstrip("/")) + 1 :].lower().split("/")
        meant = [not each.is_negated for each in wanted if each.matches(names)]
        return is_within(self.active, scope_base) and meant[-1:] == [True]

    def _add_imports_of_source(
        self, source: Source, real: str, inside: str | None, chain: tuple[str, ...]
    ) -> None:
        """Read what a file imports. The client loads this at the start even of a scoped rule."""
        for wanted in imports_in_lines(source.lines, real, self.home):
            self._characters -= _IMPORT_CHARACTERS
            if self._characters < 0:
                self._add_problem("import", source.path, wanted.line, "there are too many imports")
                return
            kind, text = self._add_import_or_return_problem(source, wanted, inside, chain)
            if kind:
                self._add_problem(kind, source.path, wanted.line, text)

    def _add_import_or_return_problem(
        self, source: Source, wanted: Import, inside: str | None, chain: tuple[str, ...]
    ) -> tuple[str, str]:
        """Add an imported file; returns the kind of a problem and its text, empty without one."""
        target = os.path.realpath(wanted.path)
        if target in chain:
            names = [os.path.basename(each) for each in chain[chain.index(target) :]]
            return "cycle", f"imports go in a circle: {' → '.join([*names, names[0]])}"
        if inside is not None and not is_within(target, inside):
            return "outside", f"@{wanted.written} is {_OUTSIDE}"
        if len(chain) > _HOPS:
            return "deep", f"@{wanted.written} is {_TOO_DEEP}"
        scoped = ON_READ if source.level == CHILD else AT_START
        template = source._replace(
            why=f"{os.path.basename(source.path)} imports it, line {wanted.line}",
            imported_by=source.path,
            client=NEVER if source.client == NEVER else scoped,
            patterns=(),
        )
        # `@name` may as well be a person or an annotation.
        is_path = wanted.written.startswith(("./", "../", "~/", "/"))
        is_there = self.add_file(wanted.path, template, inside, chain)
        if is_there or not (is_path or wanted.written.endswith(".md")):
            return "", ""
        return "import", f"@{wanted.written} is not there"

    def _is_around_worktree(self, folder: str) -> bool:
        """Tell whether the session's worktree lies in its own repository, and this folder between.

        The worktree has files of its own, and the client leaves the outer ones to it.
        """
        main = clientsettings.main_worktree(self.top)
        is_between = is_within(folder, main) and not is_within(folder, self.top)
        return is_between and is_within(self.top, main)

    def _add_problem(self, kind: str, path: str, line: int | None, text: str) -> None:
        self.problems.append(Problem(kind, path, line, text))


def _read_file_text_and_problem(path: str, real: str, inside: str | None) -> tuple[str | None, str]:
    """A file's text with plain line ends, and what is wrong with it; neither where there is none.

    A link must not lead out of the folder `inside`; None trusts the path.
    """
    if inside is not None and not is_within(real, inside):
        outside = "is a link that leads out of the project, and is not read"
        return None, outside if os.path.lexists(path) else ""
    try:
        data = io.read_file(real, MOST_CHARACTERS + 1)  # does not wait where it is a pipe
    except (FileNotFoundError, NotADirectoryError):
        return None, "is a link to nothing" if os.path.islink(path) else ""
    except (OSError, ValueError) as error:
        return None, f"cannot be read: {reason(error)}"
    if len(data) > MOST_CHARACTERS or b"\0" in data:
        return None, f"is not a text of at most {MOST_CHARACTERS:,} bytes, and is not read"
    text = data.decode("utf-8-sig", "replace")
    problem = "is not all UTF-8" if "\ufffd" in text else ""
    return text.replace("\r\n", "\n").replace("\r", "\n").translate(_CONTROLS), problem


def _source_with_paths_of_front(source: Source, front: list[str]) -> Source:
    """A rule file with the `paths:` of its front matter."""
    named = tuple(_patterns_behind_paths_key(front))
    if all(each in ("**", "") for each in named):
        return source
    why = f"its `paths:` name {', '.join(named[:3])}"
    return source._replace(patterns=named, client=ON_MATCH, why=why)


def _patterns_behind_paths_key(front: list[str]) -> list[str]:
    """The patterns behind `paths:`: on its line, in brackets, or as a list below it."""
    at = next((at for at, row in enumerate(front) if row.startswith("paths:")), None)
    if at is None:
        return []
    value = front[at].partition(":")[2].partition(" #")[0].strip()
    listed = []
    for item in [value.strip("[]")] if value else _items_of_leading_list(front[at + 1 :]):
        # Commas part patterns, but not the choices in braces.
        item = item[:_MOST_ENTRIES]  # noqa: PLW2901
        for choice in patterns.expand_braces(item) or [item]:
            listed += [part.strip(" \t\"'").removesuffix("/**") for part in choice.split(",")]
    return list(dict.fromkeys(listed))[:_MOST_EXCLUDES]


def _items_of_leading_list(rows: list[str]) -> list[str]:
    """The items of the list with which some rows begin."""
    below = itertools.takewhile(lambda row: row.lstrip().startswith(("-", "#")), rows)
    return [row.strip()[1:].partition(" #")[0] for row in below if row.lstrip()[0] == "-"]


def _folders_above(folder: str) -> list[str]:
    """The folders above one, outermost first, without the root of the file system."""
    return [str(each) for each in reversed(Path(folder).parents)][1:]


def _sources_marked_where_client_skips_them(project: str, sources: list[Source]) -> list[Source]:
    """The same sources, corrected by what only the whole cascade shows of the client."""
    excludes = _patterns_client_excludes(project)
    speaking = [s for s in sources if _is_read_instead_of_agents_file(s) and s.text.strip()]
    stands_in = all(source.level == CHILD for source in speaking)
    spoken_for = {source.folder for source in speaking}
    corrected: list[Source] = []
    unread: set[str] = set()
    for source in sources:
        if _is_agents_file(source) and (not stands_in or source.folder in spoken_for):
            note = _BESIDE
        else:
            note = _why_import_not_loaded(source, unread, project)
        if note and source.client != NEVER:
            source = source._replace(client=NEVER, client_note=note)  # noqa: PLW2901
        corrected.append(_source_marked_if_excluded(source, excludes))
        if corrected[-1].client == NEVER:
            unread.add(source.path)
    return corrected


def _why_import_not_loaded(source: Source, unread: set[str], project: str) -> str:
    """Return why the client does not load an imported file; empty where it does."""
    if source.imported_by in unread:
        return "what imports it is not read"
    is_theirs = source.imported_by and source.level not in (USER, PRIVATE)
    return _OUTSIDE if is_theirs and not is_within(os.path.realpath(source.path), project) else ""


def _is_agents_file(source: Source) -> bool:
    return source.imported_by is None and os.path.basename(source.path) == AGENTS


def _is_read_instead_of_agents_file(source: Source) -> bool:
    named = os.path.basename(source.path) in (CLAUDE, LOCAL)
    return named and source.imported_by is None and source.level in (PARENT, PROJECT, CHILD)


def _patterns_client_excludes(project: str) -> list[patterns.Pattern]:
    """The patterns of `claudeMdExcludes` in the client's settings."""
    texts = clientsettings.texts_listed_in_settings(project, "claudeMdExcludes")
    return [patterns.parse_pattern(text) for text in texts[:_MOST_EXCLUDES] if "/" in text]


def _source_marked_if_excluded(source: Source, excludes: list[patterns.Pattern]) -> Source:
    """Say where the client leaves a file out; ours a project's settings cannot hide."""
    names = source.path.strip("/").split("/")
    if source.level in (ORGANISATION, PRIVATE) or not any(
        p.matches_whole_path(names) for p in excludes
    ):
        return source
    return source._replace(client=NEVER, client_note=_EXCLUDED)
