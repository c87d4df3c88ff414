"""Looks at one tool call before it runs, and speaks up where it reads bulk.

What is bulk says `.brimlineignore`, else `.ckignore`, else a list of twelve folders, in the syntax
of `.gitignore`; but a `!` line also reaches into a folder that an earlier line names, and a file
without patterns of its own leaves the defaults in force. Only paths inside the project count. A
Bash line is split into words; those of commands that print what they read are looked at, and
nothing else: building, running, writing and deleting go on. Loops, variables and other shell forms
are not followed.
"""

from __future__ import annotations

import os
import re
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from brimline.bulk import shell
from brimline.errors import ConfigError, reason
from brimline.fast import io
from brimline.fast.decision import Decision
from brimline.foreign import flatten
from brimline.rules import patterns

if TYPE_CHECKING:
    from collections.abc import Iterator

IGNORE_FILE = ".brimlineignore"
IGNORE_FILES = (IGNORE_FILE, ".ckignore")
# Installed, generated or recorded by tools: large, and not what the project's people write.
DEFAULTS = (
    *("node_modules/", "dist/", "build/", ".git/", ".venv/", "venv/", "__pycache__/"),
    *(".next/", ".nuxt/", "target/", "vendor/", "coverage/"),
)
# The file may come from a stranger's repository: these bound what reading and matching it costs.
_MOST_BYTES = 64 << 10
_MOST_PATTERNS = 500
_LONGEST_PATTERN = 256
_TRAILING_BLANKS = re.compile(r"(?<!\\)[ \t\r]+\Z")
_HEAD = (
    "# What brimline's scout watches for. The syntax is that of .gitignore;\n"
    "# a line with ! lets something through again, such as: !dist/types\n"
)
# Commands that print what they read; the first word of a search is its pattern or program.
_SEARCHES = {"grep", "egrep", "rg", "ag", "fd", "sed", "awk", "jq", "yq"}
_LISTS = {"ls", "tree", "find", "du", "cd", "pushd"}
_READERS = {"cat", "bat", "less", "more", "head", "tail", "nl", "xxd", "strings", "stat", "wc"}
_READERS |= {"file", "cut", "sort", "uniq", "diff", "cmp"} | _LISTS | _SEARCHES
_WRITES = {"sed": ("-i", "--in-place"), "find": ("-delete", "-exec"), "sort": ("-o",)}
# Options whose value names what is left out.
_LEFT_OUT = {"--exclude", "--exclude-dir", "--ignore", "-I", "-E", "-path", "-name"}
_IDLE = _READERS | {"echo", "printf", "pwd", "true", "test"}
_LONGEST_PATH = 4_096
_WILD = re.compile(r"[*?\[{]")
_ANY_FOLDER = re.compile(r"[*?]+\Z")
_ANY_NAME = re.compile(r"(?:[*?]+(?:\.[\w*?{},+-]+)?|\.[*?]+)\Z")
_MOST_FOLDERS = 4
_MOST_ENTRIES = 1_000
_MOST_SHOWN_CHARACTERS = 200


class Finding(NamedTuple):
    """What a call would read: a path and the pattern that names it, or a glob over everything."""

    path: str
    pattern: str | None


def decide(
    tool_name: str, tool_input: Any, *, cwd: str, project_dir: str, mode: str
) -> Decision | None:
    """Refuse (mode `block`) or advise against a read of bulk; input of another shape passes."""
    if not isinstance(tool_input, dict) or not os.path.isdir(project_dir):
        return None
    scene = _Scene(project_dir, cwd or project_dir)
    finding = next(scene.find_unwanted_reads(tool_name, tool_input), None)
    if finding is None:
        return None
    text = _advice_text(finding, scene, refused=mode == "block")
    if mode == "block":
        return Decision(permission="deny", reason=text)
    return Decision(model_notes=(text,))


class _Scene:
    """A project, what is bulk in it, and where the session stands."""

    def __init__(self, project_dir: str, cwd: str) -> None:
        root = os.path.normpath(project_dir)
        self.roots = tuple(dict.fromkeys((root, os.path.realpath(root))))
        self.cwd = cwd
        self.ignored: Ignored = load_ignore_patterns(root)

    def find_unwanted_reads(self, tool_name: str, tool_input: dict[str, Any]) -> Iterator[Finding]:
        """Find what a call reads that it had better not."""
        values = {key: value for key, value in tool_input.items() if isinstance(value, str)}
        path, pattern = values.get("path", ""), values.get("pattern", "")
        if tool_name == "Read" and values.get("file_path"):
            yield from self.find_ignored_in_path(values["file_path"])
        elif tool_name == "Grep":
            yield from self._find_ignored_in_search(path, values.get("glob", "")[:_LONGEST_PATH])
        elif tool_name == "Glob" and pattern:
            yield from self.find_ignored_in_path(pattern, path)
            yield from self._find_broad_glob(pattern, path)
        elif tool_name == "Bash":
            yield from self._find_ignored_in_command_line(values.get("command", ""))

    def _find_ignored_in_search(self, path: str, globs: str) -> Iterator[Finding]:
        """Find it in a search, by its folder or its globs."""
        yield from self.find_ignored_in_path(path or ".")
        for glob in globs.split() if "{" in globs else globs.replace(",", " ").split():
            if not glob.startswith("!"):
                yield from self.find_ignored_in_path(glob, path)

    def find_ignored_in_path(self, path: str, base: str = "") -> Iterator[Finding]:
        """The first of a path's brace alternatives that a pattern names."""
        whole = self._absolute_path(path[:_LONGEST_PATH], base[:_LONGEST_PATH])
        for choice in patterns.expand_braces(whole):
            inside, is_file = self._path_from_root(choice), os.path.isfile(choice)
            pattern = self.ignored.pattern_naming(inside, folder=not is_file) if inside else None
            if pattern:
                yield Finding(inside, pattern)

    def folders_not_ignored(self) -> list[str]:
        """A few folders worth looking into."""
        try:
            with os.scandir(self.roots[0]) as entries:
                some = [entry.name for entry in islice(entries, _MOST_ENTRIES) if entry.is_dir()]
        except OSError:
            return []
        shown = [name for name in sorted(some) if not name.startswith(".")]
        return [n for n in shown if not self.ignored.pattern_naming(n, folder=True)][:_MOST_FOLDERS]

    def _find_ignored_in_command_line(self, line: str) -> Iterator[Finding]:
        commands = [command for command in shell.split_commands(line) if _is_output_shown(command)]
        for at, command in enumerate(commands):
            operands = _words_that_may_be_paths(command)
            if command.program in ("cd", "pushd"):
                goes_to = operands[0] if operands else "~"
                # Going there to build is no read.
                if all(later.program in _IDLE for later in commands[at + 1 :]):
                    yield from self.find_ignored_in_path(goes_to)
                self.cwd = self._absolute_path(goes_to)
            elif command.program in _READERS:
                if not operands and command.program in _LISTS:
                    operands = ["."]
                for operand in operands:
                    yield from self.find_ignored_in_path(operand)

    def _find_broad_glob(self, pattern: str, base: str) -> Iterator[Finding]:
        """Find a glob that takes everything, or all of a kind, from the project's root down."""
        parts = self._absolute_path(pattern, base).split("/")
        first = next((at for at, part in enumerate(parts) if _WILD.search(part)), len(parts))
        above = "/".join(parts[:first]) + "/"
        *folders, name = parts[first:] or [""]
        at_root = any(f"{root}/".startswith(above) for root in self.roots)
        if at_root and all(map(_ANY_FOLDER.match, folders)) and _ANY_NAME.match(name):
            yield Finding("/".join([*(folders or ["**"]), name]), None)

    def _absolute_path(self, path: str, base: str = "") -> str:
        joined = os.path.join(self.cwd, os.path.expanduser(base), os.path.expanduser(path))
        return os.path.normpath(joined)

    def _path_from_root(self, path: str) -> str:
        """A path from the project's root; nothing for the root itself and all outside."""
        roots = [root for root in self.roots if path.startswith(f"{root}/")]
        return path[len(roots[0]) + 1 :] if roots else ""


def _is_output_shown(command: shell.Command) -> bool:
    """Tell whether what a program prints is shown: not where it goes to a file."""
    targets = [operator for operator, _ in command.redirections if ">" in operator]
    return bool(command.program) and all(operator.startswith("2") for operator in targets)


def _words_that_may_be_paths(command: shell.Command) -> list[str]:
    """Return the words of a reading command that may be paths."""
    name, rest = command.program, command.own[1:]
    if any(word.startswith(_WRITES.get(name, ("\0",))) for word in rest):
        return []
    words = [
        word
        for before, word in zip([name, *rest], rest, strict=False)
        if before not in _LEFT_OUT and not word.startswith(("-", "!"))
    ]
    if name in _SEARCHES and "--files" not in rest:
        words = words[1:]
    return words + [target for operator, target in command.redirections if operator == "<"]


def _advice_text(finding: Finding, scene: _Scene, *, refused: bool) -> str:
    """Say what was done, why, and where to look instead."""
    folders = scene.folders_not_ignored()
    done = "Refused" if refused else "Advised, not refused"
    if finding.pattern is None:
        scoped = [
            _flat_in_backticks(f"{folder}/{finding.path}") for folder in folders or ["<folder>"]
        ]
        return (
            f"[brimline] {done}: a glob over the whole project, whose result can be every file. "
            f"Scope it to a folder: {', '.join(scoped)}."
        )
    path, pattern = _flat_in_backticks(finding.path), _flat_in_backticks(finding.pattern)
    source = f" of {scene.ignored.file}" if scene.ignored.file else ""
    look = ", ".join(_flat_in_backticks(f"{folder}/") for folder in folders)
    ask = f"Look in {look}, or ask" if look else "Ask"
    return (
        f"[brimline] {done}: {path} is bulk by the pattern {pattern}{source}. "
        f"{ask} the tool that owns the files (`npm ls`, `pip show`)."
        + (" If this very file is needed, ask the user." if refused else "")
    )


def _flat_in_backticks(text: str) -> str:
    """Foreign text, flattened, as code."""
    return f"`{flatten(text, _MOST_SHOWN_CHARACTERS).replace('`', '?')}`"


class Ignored(NamedTuple):
    """The patterns in force, the file they are from, and why it is not used."""

    file: str | None
    patterns: list[patterns.Pattern]
    problem: str = ""

    def pattern_naming(self, path: str, *, folder: bool) -> str | None:
        """The pattern that means a path, given from the project's root; the last one decides."""
        decisive = None
        names = path[:_LONGEST_PATH].split("/")
        for pattern in self.patterns:
            if pattern.matches(names, folder=folder):
                decisive = None if pattern.is_negated else pattern.text
        return decisive


def load_ignore_patterns(project_dir: str) -> Ignored:
    """Load what is in force for a project; the defaults without a usable file."""
    folder = project_dir.rstrip("/")
    name = next((each for each in IGNORE_FILES if os.path.lexists(f"{folder}/{each}")), None)
    problem, lines = "", list[str]()
    try:
        lines = _read_pattern_lines(f"{folder}/{name}") if name else []
    except (OSError, ValueError) as error:
        problem = f"{name} is not used: {reason(error)}"
    if all(line.startswith("!") for line in lines):
        lines = [*DEFAULTS, *lines]
    return Ignored(name, [patterns.parse_pattern(line) for line in lines], problem)


def write_ignore_file(project_dir: str, *, force: bool = False) -> str:
    """Write the first `.brimlineignore`, with the lines of a `.ckignore`; returns its path.

    Raises:
        ConfigError: it is there already and `force` was not asked for, or cannot be written.
    """
    path = f"{project_dir.rstrip('/')}/{IGNORE_FILE}"
    if os.path.lexists(path) and not force:
        raise ConfigError(f"{path} is there already; --force replaces it")
    ignored = load_ignore_patterns(project_dir)
    carried = [pattern.text for pattern in ignored.patterns]
    lines = DEFAULTS if ignored.file in (None, IGNORE_FILE) else carried
    try:
        # It belongs to the repository, where others read it.
        io.replace_file(path, (_HEAD + "".join(f"{line}\n" for line in lines)).encode(), 0o644)
    except OSError as error:
        raise ConfigError(f"cannot write {path}: {reason(error)}") from error
    return path


def _read_pattern_lines(path: str) -> list[str]:
    """The lines that are patterns; a link could lead anywhere and is not followed."""
    if os.path.islink(path) or not os.path.isfile(path):
        raise ValueError("it is not a plain file")
    data = io.read_file(path, _MOST_BYTES + 1)
    if len(data) > _MOST_BYTES or b"\0" in data:
        raise ValueError(f"it is not a text of at most {_MOST_BYTES >> 10} KB")
    rows = data.decode("utf-8-sig", "replace").split("\n")
    lines = [_TRAILING_BLANKS.sub("", row) for row in rows if not row.startswith("#")]
    kept = [line for line in lines if line.strip("!/") and len(line) <= _LONGEST_PATTERN]
    return kept[:_MOST_PATTERNS]
