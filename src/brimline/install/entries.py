"""What brimline writes into the client's settings, and how it knows its own entries again."""

from __future__ import annotations

import ast
import os
import re
import shlex
from typing import Any, NamedTuple

from brimline.fast import io, paths
from brimline.hooks import table
from brimline.launch import bootstrap_code, is_bootstrap, is_launcher

_STATUSLINE = "statusline"
# The folder with the package, and what was written down: the data folder first.
_CODE = re.compile(r"\(0,(.*?)\);from brimline\.launch import main;main\((.*?)\)\n", re.DOTALL)
_OPTIONS = "-IS"
# What every system takes as the first line of a script, `#!` and options included.
_FIRST_LINE_BYTES = 127
_CODE_AT = 3
_COMMAND_RULE = "brimline store get:*)"


class Wiring(NamedTuple):
    """Where the installed entries point to."""

    interpreter: str
    root: str
    home: str
    launcher: str | None = None
    """The program that the client starts; None: the interpreter itself, with code."""
    scout: bool = False
    """Whether the scout's tools are watched too."""
    mod: str | None = None
    """The folder that the client loads the mod from; None: the mod is left out."""

    def hook_argv(self, event: str) -> list[str]:
        """Return what the client starts at an event."""
        if self.launcher:
            return [self.launcher, event]
        return [self.interpreter, "-I", "-S", "-c", self._code(), event]

    def launcher_bytes(self) -> bytes:
        """The launcher as a file."""
        return os.fsencode(f"#!{self.interpreter} {_OPTIONS}\n{self._code()}\n")

    def _code(self) -> str:
        return bootstrap_code(self.root, self.home, *paths.folders_to_pin()[1:])


NOWHERE = Wiring("", "", "")


class Installed(NamedTuple):
    """What an entry or a status line of ours starts, as far as that can be told."""

    event: str
    launcher: str | None
    interpreter: str | None
    root: str | None
    home: str | None
    wrapped: str | None = None
    """The status line that was there before."""


def launcher_path_if_usable(interpreter: str, home_dir: str) -> str | None:
    """The launcher's path; None where a script cannot start this interpreter, or not from there."""
    if not can_start_scripts(interpreter):
        return None
    path = home_dir + paths.LAUNCHER
    is_anothers = os.path.lexists(path) and not is_launcher(path)
    return None if is_anothers or _is_on_noexec_disk(home_dir) else path


def can_start_scripts(interpreter: str) -> bool:
    """Tell whether the first line of a script can name it."""
    first_line = os.fsencode(f"#!{interpreter} {_OPTIONS}")
    return len(first_line.split()) == 2 and len(first_line) <= _FIRST_LINE_BYTES  # noqa: PLR2004 - path and options


def _is_on_noexec_disk(folder: str) -> bool:
    """Tell whether nothing can be started from the disk that a folder is, or will be, on."""
    while not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    return bool(os.statvfs(folder).f_flag & getattr(os, "ST_NOEXEC", 0))


def hook_group_by_event(wiring: Wiring) -> dict[str, dict[str, Any]]:
    """The settings group of every event."""
    return {event: _hook_group_for_event(event, wiring) for event in table.EVENTS}


def statusline_command(wiring: Wiring, wrapped: str | None = None) -> str:
    """The status-line command: a shell string, which is the only form the client takes there.

    The command that was there before, an empty one too, is carried as the last argument, so that it
    survives the loss of anything else of ours.
    """
    return shlex.join([*wiring.hook_argv(_STATUSLINE), *([] if wrapped is None else [wrapped])])


def parse_our_statusline(command: str | None) -> Installed | None:
    """Take a status-line command of ours apart.

    None for every other command, also for one in which somebody built ours into a command of their
    own: that one is theirs.
    """
    try:
        program, *arguments = shlex.split(command or "")
    except ValueError:
        return None
    found = parse_our_command(program, arguments)
    if found is None or found.event != _STATUSLINE or shlex.join([program, *arguments]) != command:
        return None
    return found


def parse_our_command(program: str, arguments: list[str]) -> Installed | None:
    """Return what a command of ours starts, by the launcher or with code; None for others'."""
    if is_launcher(program) and arguments and arguments[0] in (*table.EVENTS, _STATUSLINE):
        first, _, code = _read_launcher_text(program).partition("\n")
        interpreter = first.removeprefix("#!").removesuffix(_OPTIONS).strip() or None
        root, home = _package_and_data_folder_in_code(code)[0], program.removesuffix(paths.LAUNCHER)
        name, *wrapped = arguments
        return Installed(name, program, interpreter, root, home, *wrapped[:1])
    if len(arguments) <= _CODE_AT + 1 or not is_bootstrap(arguments[_CODE_AT]):
        return None
    root, told_home = _package_and_data_folder_in_code(arguments[_CODE_AT])
    name, *wrapped = arguments[_CODE_AT + 1 :]
    return Installed(name, None, program, root, told_home, *wrapped[:1])


def _package_and_data_folder_in_code(code: str) -> tuple[str | None, str | None]:
    """The package's folder and the data folder that code of ours names."""
    match = _CODE.search(code)
    try:
        root, told = ast.literal_eval(f"{match[1]}, ({match[2]},)" if match else "None, (None,)")
    except (ValueError, SyntaxError):
        return None, None
    return root, told[0]


def _read_launcher_text(launcher: str) -> str:
    try:
        return io.read_file(launcher).decode("utf-8", "surrogateescape")
    except OSError:
        return ""


def our_hooks_in(settings: dict[str, Any]) -> list[Installed]:
    """Every hook entry of ours in a settings object of any shape, by the event it is under."""
    found = [(event, parse_our_hook(entry)) for event, entry in all_hooks_in(settings)]
    return [entry._replace(event=event) for event, entry in found if entry]


def all_hooks_in(settings: dict[str, Any]) -> list[tuple[str, Any]]:
    """Every hook entry in a settings object of any shape, with the event it is under."""
    hooks = settings.get("hooks")
    return [
        (event, entry)
        for event, groups in (hooks.items() if isinstance(hooks, dict) else ())
        for group in (groups if isinstance(groups, list) else ())
        for entry in entries_of_group(group)
    ]


def entries_of_group(group: Any) -> list[Any]:
    """The hook entries of one group; none where it is not a group."""
    entries = group.get("hooks") if isinstance(group, dict) else None
    return entries if isinstance(entries, list) else []


def parse_our_hook(entry: Any) -> Installed | None:
    """Return what a hook entry starts, if brimline wrote it, whatever its version."""
    arguments = entry.get("args") if isinstance(entry, dict) else None
    if not isinstance(arguments, list) or not all(isinstance(text, str) for text in arguments):
        return None
    return parse_our_command(str(entry.get("command")), arguments)


def starts_brimline(text: str) -> bool:
    """Tell whether a command line holds the code that starts brimline, or its launcher."""
    words = [word.strip("'\"") for word in text.split()]
    return (
        is_bootstrap(text) or any(map(is_launcher, words)) or parse_our_statusline(text) is not None
    )


def is_our_rule(rule: Any) -> bool:
    """Whether a permission rule is one that earlier versions wrote: by a name anybody may have."""
    text = str(rule)
    return text in table.RECALL or (text.startswith("Bash(") and text.endswith(_COMMAND_RULE))


def _hook_group_for_event(event: str, wiring: Wiring) -> dict[str, Any]:
    answered = table.EVENTS[event]
    command, *arguments = wiring.hook_argv(event)
    entry: dict[str, Any] = {"type": "command", "command": command, "args": arguments}
    entry["timeout"] = answered.timeout_s
    matcher = answered.tool_matcher(scout=wiring.scout)
    return ({} if matcher is None else {"matcher": matcher}) | {"hooks": [entry]}
