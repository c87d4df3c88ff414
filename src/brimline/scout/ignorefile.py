"""Which paths of a project are bulk: `.brimlineignore`, else `.ckignore`, else twelve folders.

The syntax is that of `.gitignore`, but a `!` line also reaches into a folder that an earlier line
names. A file without patterns of its own (empty, only `!` lines) leaves the defaults in force.
"""

from __future__ import annotations

import os
import re
from typing import NamedTuple

from brimline import patterns
from brimline.errors import ConfigError
from brimline.fast import io

IGNORE_FILE = ".brimlineignore"
NAMES = (IGNORE_FILE, ".ckignore")
# Installed, generated or recorded by tools: large, and not what the project's people write.
DEFAULTS = (
    *("node_modules/", "dist/", "build/", ".git/", ".venv/", "venv/", "__pycache__/"),
    *(".next/", ".nuxt/", "target/", "vendor/", "coverage/"),
)
# The file may come from a stranger's repository: these bound what reading and matching it costs.
_MOST_BYTES = 64 << 10
_MOST_PATTERNS = 500
_LONGEST_PATTERN = 256
_LONGEST_PATH = 4_096
_TRAILING_BLANKS = re.compile(r"(?<!\\)[ \t\r]+\Z")
_HEAD = (
    "# What brimline's scout watches for. The syntax is that of .gitignore;\n"
    "# a line with ! lets something through again, such as: !dist/types\n"
)


class Ignored(NamedTuple):
    """The patterns in force, the file they are from, and why it is not used."""

    file: str | None
    patterns: list[patterns.Pattern]
    problem: str = ""

    def pattern_for(self, path: str, *, folder: bool) -> str | None:
        """The pattern that means a path, given from the project's root; the last one decides."""
        found = None
        names = path[:_LONGEST_PATH].split("/")
        for pattern in self.patterns:
            if pattern.means(names, folder=folder):
                found = None if pattern.negated else pattern.text
        return found


def load(project_dir: str) -> Ignored:
    """What is in force for a project; the defaults where there is no file or it is unusable."""
    folder = project_dir.rstrip("/")
    name = next((each for each in NAMES if os.path.lexists(f"{folder}/{each}")), None)
    lines: list[str] = []
    problem = ""
    try:
        lines = _lines(f"{folder}/{name}") if name else []
    except (OSError, ValueError) as error:
        problem = f"{name} is not used: {getattr(error, 'strerror', None) or error}"
    if all(line.startswith("!") for line in lines):
        lines = [*DEFAULTS, *lines]
    return Ignored(name, [patterns.parse(line) for line in lines], problem)


def init(project_dir: str, *, force: bool = False) -> str:
    """Write the first `.brimlineignore`, with the lines of a `.ckignore`; returns its path.

    Raises:
        ConfigError: it is there already and `force` was not asked for, or cannot be written.
    """
    path = f"{project_dir.rstrip('/')}/{IGNORE_FILE}"
    if os.path.lexists(path) and not force:
        raise ConfigError(f"{path} is there already; --force replaces it")
    found = load(project_dir)
    carried = [pattern.text for pattern in found.patterns]
    lines = DEFAULTS if found.file in (None, IGNORE_FILE) else carried
    try:
        io.replace_file(path, (_HEAD + "".join(f"{line}\n" for line in lines)).encode())
        os.chmod(path, 0o644)  # it belongs to the repository, where others read it
    except OSError as error:
        raise ConfigError(f"cannot write {path}: {error.strerror or error}") from error
    return path


def _lines(path: str) -> list[str]:
    """The lines that are patterns; a link could lead anywhere and is not followed."""
    if os.path.islink(path) or not os.path.isfile(path):
        raise ValueError("it is no plain file")
    data = io.read_file(path, _MOST_BYTES + 1)
    if len(data) > _MOST_BYTES or b"\0" in data:
        raise ValueError(f"it is no text of at most {_MOST_BYTES >> 10} KB")
    lines = [
        _TRAILING_BLANKS.sub("", line) for line in data.decode("utf-8-sig", "replace").split("\n")
    ]
    return [
        line
        for line in lines
        if not line.startswith("#") and line.strip("!/") and len(line) <= _LONGEST_PATTERN
    ][:_MOST_PATTERNS]
