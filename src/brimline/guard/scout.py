"""The scout: keeps reads out of folders that fill the window without helping.

Only what lies inside the project counts, by its path from the project's root: a folder called
`build` above the project, or anything outside it, is nobody's business here.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from brimline.decision import Decision
from brimline.guard import scout_commands
from brimline.guard.scout_commands import resolve
from brimline.guard.scout_shell import alternatives

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from brimline.guard.ignorefile import IgnoreFile, Matcher

TOOLS = ("Read", "Glob", "Grep", "Bash")
# The field of each tool's input that a person would name.
MAIN_FIELD = {"Read": "file_path", "Glob": "pattern", "Grep": "path", "Bash": "command"}

_WILD = re.compile(r"[*?\[{]")
_ANY_NAME = re.compile(r"[*?]+\Z")
_ANY_NAME_OF_A_KIND = re.compile(r"(?:[*?]+(?:\.[\w*?+-]+)?|\.[*?]+)\Z")
# A rule has at most 256 characters, and a line to be copied must be whole.
_MOST_SHOWN_CHARACTERS = 300


class Finding(NamedTuple):
    """A read that would fill the window, and what to do instead."""

    kind: str  # "ignored": a rule keeps the path out; "broad": a glob over the whole project
    path: str  # from the project's root; for a broad glob its pattern
    rule: str = ""
    allow: str = ""  # the line that would let the path through
    suggestions: tuple[str, ...] = ()

    @property
    def reason(self) -> str:
        """What was asked for and why it is better not done."""
        if self.kind == "broad":
            return (
                f"The glob `{_shown(self.path)}` covers the project from its root: its result can "
                "be every file there is."
            )
        return (
            f"`{_shown(self.path)}` is kept out of the context window by the rule "
            f"`{_shown(self.rule)}`: such files fill it without helping."
        )


class Scene(NamedTuple):
    """What a tool call is judged against; the two questions to the disk are asked when needed."""

    cwd: str
    roots: tuple[str, ...]  # the project's folder, in every spelling that leads to it
    matcher: Matcher
    home: str
    is_file: Callable[[str], bool]
    source_folders: Callable[[], Sequence[str]]


def decide(
    tool_name: str, tool_input: Any, *, cwd: str, project_dir: str, mode: str
) -> Decision | None:
    """Refuse (`block`) or advise against (`advise`) a tool call that reads what is kept out."""
    if tool_name not in TOOLS:
        return None
    from brimline.guard import ignorefile

    ignore = ignorefile.load(project_dir)
    finding = examine(tool_name, tool_input, make_scene(cwd, project_dir, ignore.matcher))
    if finding is None:
        return None
    text = message(finding, ignore, mode)
    if mode == "block":
        return Decision(permission="deny", reason=text)
    return Decision(model_notes=(text,))


def make_scene(cwd: str, project_dir: str, matcher: Matcher) -> Scene:
    """The scene of a tool call on this machine."""
    from brimline.guard import ignorefile

    root = resolve(None, project_dir)
    spellings = [root, os.path.realpath(root).replace("\\", "/")] if root else []
    return Scene(
        cwd=resolve(root, cwd) or root or "/",
        roots=tuple(dict.fromkeys(spellings)),
        matcher=matcher,
        home=os.path.expanduser("~").replace("\\", "/"),
        is_file=os.path.isfile,
        source_folders=lambda: ignorefile.source_folders(project_dir, matcher),
    )


def message(finding: Finding, ignore: IgnoreFile, mode: str) -> str:
    """The text for the model: what, why, what to do next, how to tune it."""
    tune = (
        "`brimline config set scout.mode advise` makes this a note."
        if mode == "block"
        else "`brimline scout off` ends these notes."
    )
    places = ", ".join(f"`{_shown(place)}`" for place in finding.suggestions)
    if finding.kind == "broad":
        return f"[brimline] {finding.reason} Scope it to a folder, for example {places}. {tune}"
    look = f"look in {places}; " if places else ""
    allow = f"add the line `{_shown(finding.allow)}` to {ignore.name}"
    return (
        f"[brimline] {finding.reason} The rule is {ignore.origin(finding.rule)}. Next: {look}for a "
        "single fact, ask the tool that owns the files (such as `npm ls` or `pip show`). "
        + (f"To let this through, {allow}; {tune}" if finding.allow else tune)
    )


def examine(tool_name: str, tool_input: Any, scene: Scene) -> Finding | None:
    """The first thing in a tool call that is kept out, or None; odd input is let through."""
    examiner = _EXAMINERS.get(tool_name)
    if examiner is None or not isinstance(tool_input, dict):
        return None
    return examiner(tool_input, scene)


def _examine_read(tool_input: dict[str, Any], scene: Scene) -> Finding | None:
    return _ignored(_at(tool_input, "file_path", scene), scene)


def _examine_glob(tool_input: dict[str, Any], scene: Scene) -> Finding | None:
    pattern = _text(tool_input, "pattern")
    base = _at(tool_input, "path", scene) or scene.cwd
    if not pattern:
        return None
    asked = resolve(base, pattern, scene.home) or base
    return _first_ignored(asked, scene) or _broad(asked, pattern, scene)


def _examine_grep(tool_input: dict[str, Any], scene: Scene) -> Finding | None:
    base = _at(tool_input, "path", scene) or scene.cwd
    found = _ignored(base, scene)
    if found:
        return found
    for glob in _separate_globs(_text(tool_input, "glob")):
        found = None if glob.startswith("!") else _first_ignored(resolve(base, glob), scene)
        if found:
            return found
    return None


def _examine_bash(tool_input: dict[str, Any], scene: Scene) -> Finding | None:
    command = _text(tool_input, "command")
    variables = {"HOME": scene.home}
    if scene.roots:
        variables["CLAUDE_PROJECT_DIR"] = scene.roots[0]
    for read in scout_commands.reads(command, scene.cwd, variables):
        found = _first_ignored(read.path, scene)
        if found:
            return found
    return None


_EXAMINERS: dict[str, Callable[[dict[str, Any], Scene], Finding | None]] = {
    "Read": _examine_read,
    "Glob": _examine_glob,
    "Grep": _examine_grep,
    "Bash": _examine_bash,
}


def _first_ignored(path: str | None, scene: Scene) -> Finding | None:
    """The first of a path's brace alternatives that is kept out."""
    for alternative in alternatives(path or ""):
        found = _ignored(alternative, scene)
        if found:
            return found
    return None


def _ignored(path: str | None, scene: Scene) -> Finding | None:
    """Whether a rule keeps a path out. Its last name is a folder unless the disk knows better."""
    inside = _inside(path, scene.roots) if path else None
    if not path or not inside:
        return None
    rule = scene.matcher.rule_for(inside, directory=True)
    directory = rule is not None and not scene.is_file(path)
    if not directory:
        rule = scene.matcher.rule_for(inside, directory=False)
    if rule is None:
        return None
    return Finding(
        "ignored",
        inside,
        rule,
        allow=scene.matcher.allowing(inside, directory=directory) or "",
        suggestions=tuple(f"{folder}/" for folder in scene.source_folders()),
    )


def _broad(asked: str, pattern: str, scene: Scene) -> Finding | None:
    """Whether a glob takes everything, or everything of a kind, from the project's root down."""
    if not any(_takes_everything(choice, scene.roots) for choice in alternatives(asked)):
        return None
    _, rest = _split_at_wildcard(asked)
    tail = rest if "/" in rest or rest in ("*", "**") else f"**/{rest}"
    folders = scene.source_folders() or ["<folder>"]
    return Finding("broad", pattern, suggestions=tuple(f"{folder}/{tail}" for folder in folders))


def _takes_everything(asked: str, roots: tuple[str, ...]) -> bool:
    base, rest = _split_at_wildcard(asked)
    *folders, name = rest.split("/")
    at_root = any(root == base or root.startswith(base.rstrip("/") + "/") for root in roots)
    any_folder = all(_ANY_NAME.match(folder) for folder in folders)
    return at_root and any_folder and bool(_ANY_NAME_OF_A_KIND.match(name))


def _split_at_wildcard(path: str) -> tuple[str, str]:
    """The leading folders without a wildcard, and the rest."""
    parts = path.split("/")
    first = next((at for at, part in enumerate(parts) if _WILD.search(part)), len(parts))
    return "/".join(parts[:first]) or "/", "/".join(parts[first:])


def _inside(path: str, roots: tuple[str, ...]) -> str | None:
    """A path as seen from the project's root; None for the root itself and everything outside."""
    for root in roots:
        prefix = root.rstrip("/") + "/"
        start = path[: len(prefix)]
        if start == prefix or (prefix[1:2] == ":" and start.casefold() == prefix.casefold()):
            return path[len(prefix) :] or None
    return None


def _at(tool_input: dict[str, Any], key: str, scene: Scene) -> str | None:
    return resolve(scene.cwd, _text(tool_input, key), scene.home)


def _text(tool_input: dict[str, Any], key: str) -> str:
    value = tool_input.get(key)
    return value if isinstance(value, str) else ""


def _separate_globs(text: str) -> list[str]:
    """The globs in a Grep's `glob` field, which takes several, parted by spaces or commas."""
    found: list[str] = []
    for word in text.split():
        found += [word] if "{" in word else word.split(",")
    return [glob for glob in found if glob]


def _shown(text: str) -> str:
    """Foreign text for a message: one line, bounded."""
    plain = "".join(char if char.isprintable() and char != "`" else "?" for char in text)
    if len(plain) <= _MOST_SHOWN_CHARACTERS:
        return plain
    return plain[:_MOST_SHOWN_CHARACTERS] + "..."
