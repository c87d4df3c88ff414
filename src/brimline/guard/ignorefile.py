"""The project's ignore file: found, read within bounds, compiled to a matcher; and its first text.

`.brimlineignore` is read, else an existing `.ckignore`. Both have the syntax of `.gitignore`, but a
`!` line also reaches into a folder that an earlier line keeps out. A file that names nothing of its
own (missing, empty, only `!` lines) leaves the default folders in force.
"""

from __future__ import annotations

import os
import re
import stat
import warnings
from typing import TYPE_CHECKING, NamedTuple

from brimline.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pathspec import GitIgnoreSpec

IGNORE_FILE = ".brimlineignore"
NAMES = (IGNORE_FILE, ".ckignore")
# Installed, generated or recorded by tools: large, and not what the project's people write.
DEFAULT_FOLDERS = (
    "node_modules",
    "dist",
    "build",
    ".git",
    ".venv",
    "venv",
    "__pycache__",
    ".next",
    ".nuxt",
    "target",
    "vendor",
    "coverage",
)
DEFAULT_RULES = tuple(f"{folder}/" for folder in DEFAULT_FOLDERS)

# The file may come from a stranger's repository: these bound what reading and matching it costs.
_MOST_BYTES = 64 << 10
_MOST_RULES = 500
_MOST_RULE_CHARACTERS = 256
_MOST_STARS = 3
_MOST_PATH_CHARACTERS = 4_096
_MOST_NAME_CHARACTERS = 255
_STARS = re.compile(r"\*+")
# A rule that is nothing but a name; `.` and `..` are not names.
_PLAIN_RULE = re.compile(r"(?!\.{1,2}/?\Z)[A-Za-z0-9_.@+-]+/?\Z")

_WELL_KNOWN = (
    *("src", "lib", "app", "apps", "packages", "cmd", "internal", "pkg", "server", "client"),
    *("components", "pages", "tests", "test", "docs"),
)
_MOST_FOLDERS = 4
_MOST_ENTRIES = 1_000


class Matcher:
    """Compiled rules; paths are relative to the project, with `/`.

    Rules that are plain names, as the defaults are, need no library: loading it takes longer than
    everything else the scout does.
    """

    __slots__ = ("_spec", "rules")

    def __init__(self, rules: Sequence[str]) -> None:
        """Compile rules that `usable` has let through."""
        self.rules = tuple(rules)
        plain = all(map(_PLAIN_RULE.match, self.rules))
        self._spec = None if plain else _compiled(self.rules)

    def rule_for(self, path: str, *, directory: bool) -> str | None:
        """The rule that keeps a path out, or None."""
        if len(path) > _MOST_PATH_CHARACTERS:
            return None
        if max(map(len, path.split("/"))) > _MOST_NAME_CHARACTERS:
            return None
        if self._spec is None:
            return self._name_among(path, directory=directory)
        result = self._spec.check_file(path + "/" if directory else path, separators=())
        if not result.include or result.index is None:
            return None
        return self.rules[result.index]

    def _name_among(self, path: str, *, directory: bool) -> str | None:
        *folders, last = path.split("/")
        names = {f"{folder}/" for folder in folders} | {*folders, last}
        if directory:
            names.add(f"{last}/")
        return next((rule for rule in reversed(self.rules) if rule in names), None)

    def kept_out_part(self, path: str) -> str:
        """The shortest leading part of a path that is kept out."""
        parts = path.split("/")
        for count in range(1, len(parts)):
            part = "/".join(parts[:count])
            if self.rule_for(part, directory=True):
                return part
        return path

    def allowing(self, path: str, *, directory: bool) -> str | None:
        """The line that, added to the rules, lets a path through that they keep out."""
        part = self.kept_out_part(path)
        below = path[len(part) :].split("/")
        nearest = part + "/".join(below[:2])
        if self._spec is None:
            further = "/".join(below[2:])
            again = further and self.rule_for(further, directory=directory)
            line = "!" + _escaped(path if again else nearest)
            return line if _is_cheap(line) else None
        for candidate in (nearest, path, f"{part}/**"):
            line = "!" + _escaped(candidate)
            if usable([line]):
                extended = Matcher([*self.rules, line])
                if extended.rule_for(path, directory=directory) is None:
                    return line
        return None


class IgnoreFile(NamedTuple):
    """The rules in force and where they come from."""

    path: str | None
    rules: tuple[str, ...]
    defaults_in_force: bool
    problems: tuple[str, ...]
    matcher: Matcher

    @property
    def name(self) -> str:
        """The file in which a line of one's own belongs."""
        return os.path.basename(self.path) if self.path else IGNORE_FILE

    def origin(self, rule: str) -> str:
        """Where a rule comes from, in words."""
        if self.defaults_in_force and rule in DEFAULT_RULES:
            return "a default"
        return f"from {self.name}"


def load(project_dir: str) -> IgnoreFile:
    """The rules in force for a project; the defaults where there is no file or it is unusable."""
    path = find(project_dir)
    problems: list[str] = []
    own: list[str] = []
    if path is not None:
        try:
            own, problems = parse(_read_bounded(path))
        except (OSError, ValueError) as error:
            problems = [f"{os.path.basename(path)} is ignored: {error}"]
    only_exceptions = all(rule.startswith("!") for rule in own)
    rules = (*DEFAULT_RULES, *own) if only_exceptions else tuple(own)
    return IgnoreFile(path, rules, only_exceptions, tuple(problems), Matcher(rules))


def find(project_dir: str) -> str | None:
    """The ignore file of a project, the more specific name first."""
    for name in NAMES:
        path = f"{project_dir.rstrip('/')}/{name}"
        if os.path.lexists(path):
            return path
    return None


def parse(text: str) -> tuple[list[str], list[str]]:
    """The rules in a text, and what is wrong with the lines that cannot be used."""
    lines = [line.rstrip("\r") for line in text.removeprefix("\ufeff").split("\n")]
    written = [line for line in lines if line.strip() and not line.startswith("#")]
    considered = written[:_MOST_RULES]
    rules = usable(considered)
    problems = [f"not a usable rule: {line[:80]!r}" for line in considered if line not in rules]
    if len(written) > _MOST_RULES:
        problems.append(f"only the first {_MOST_RULES} rules are used")
    return rules, problems


def usable(lines: Sequence[str]) -> list[str]:
    """The lines that are rules and cheap to match."""
    return [line for line in lines if _is_cheap(line) and _is_rule(line)]


def init(project_dir: str, *, force: bool = False) -> str:
    """Write the first `.brimlineignore`, taking over the rules of a `.ckignore`; returns its path.

    Raises:
        ConfigError: it is there already and `force` was not asked for, or cannot be written.
    """
    path = f"{project_dir.rstrip('/')}/{IGNORE_FILE}"
    found = find(project_dir)
    carried = load(project_dir).rules if found and found != path else DEFAULT_RULES
    try:
        _write(path, init_text(carried), force=force)
    except FileExistsError:
        raise ConfigError(f"{path} is there already; --force replaces it") from None
    except OSError as error:
        raise ConfigError(f"cannot write {path}: {error.strerror or error}") from error
    return path


def init_text(rules: Sequence[str] = DEFAULT_RULES) -> str:
    """The text of a first ignore file."""
    return (
        "# What brimline's scout keeps out of the context window.\n"
        "# The syntax is that of .gitignore; a line with ! lets something through again:\n"
        "#   !dist/types\n"
        "# Without a rule of its own this file leaves brimline's default folders in force.\n"
    ) + "".join(f"{rule}\n" for rule in rules)


def source_folders(project_dir: str, matcher: Matcher) -> list[str]:
    """A few folders of the project worth looking into, the well-known names first."""
    names: list[str] = []
    try:
        with os.scandir(project_dir) as entries:
            for _, entry in zip(range(_MOST_ENTRIES), entries, strict=False):
                if not entry.name.startswith(".") and entry.is_dir():
                    names.append(entry.name)
    except (OSError, ValueError):
        return []
    names = [name for name in names if not matcher.rule_for(name, directory=True)]
    known = [name for name in _WELL_KNOWN if name in names]
    others = sorted(name for name in names if name not in _WELL_KNOWN)
    return [*known, *others][:_MOST_FOLDERS]


def _read_bounded(path: str) -> str:
    """The text of a plain file, up to a bound; a link could lead anywhere and is not followed."""
    found = os.lstat(path)
    if not stat.S_ISREG(found.st_mode):
        raise ValueError("it is not a plain file")
    if found.st_size > _MOST_BYTES:
        raise ValueError(f"it is larger than {_MOST_BYTES >> 10} KB")
    with open(path, "rb") as file:
        data = file.read(_MOST_BYTES)
    if b"\0" in data:
        raise ValueError("it is not a text")
    return data.decode("utf-8", "replace")


def _write(path: str, text: str, *, force: bool) -> None:
    target = f"{path}.{os.getpid()}.tmp" if force else path
    with open(target, "x", encoding="utf-8", newline="\n") as file:
        file.write(text)
    if force:
        os.replace(target, path)


def _is_cheap(line: str) -> bool:
    """Whether a rule is short and has few wildcards: each further one multiplies the search."""
    parts = line.split("/")
    return (
        len(line) <= _MOST_RULE_CHARACTERS
        and parts.count("**") <= _MOST_STARS
        and all(len(_STARS.findall(part)) <= _MOST_STARS for part in parts)
    )


def _is_rule(line: str) -> bool:
    if _PLAIN_RULE.match(line):
        return True
    try:
        return any(pattern.include is not None for pattern in _compiled([line]).patterns)
    except (ValueError, re.error):
        return False


def _compiled(rules: Sequence[str]) -> GitIgnoreSpec:
    from pathspec import GitIgnoreSpec

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # `re` warns about sets that a later Python may read anew
        return GitIgnoreSpec.from_lines(rules)


def _escaped(path: str) -> str:
    """A path as a rule: what would be a set or an escape is taken literally."""
    text = re.sub(r"([\\\[\]])", r"\\\1", path)
    return text[:-1] + "\\ " if text.endswith(" ") else text
