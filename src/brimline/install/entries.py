"""What brimline writes into the client's settings, and how it knows its own entries again. Pure."""

from __future__ import annotations

import ast
import re
import shlex
from typing import Any, NamedTuple

from brimline import clientsettings
from brimline.hooks import table
from brimline.launch import bootstrap, is_bootstrap

# Present in every entry any version of ours has written.
_OUR_MARK = "from brimline."
# The word by which the plugin's hooks are told from those in settings (`hooks.entry`).
_PLUGIN = "plugin"
_ROOT = re.compile(r"sys\.path\.insert\(0,(.*?)\);from brimline\.", re.DOTALL)
_CODE_AT = 4
_NAME_AT = 5


class Wiring(NamedTuple):
    """Where the installed entries point to."""

    interpreter: str
    root: str
    home: str | None
    scout: bool = False
    """Whether the scout's tools are watched too."""
    plugin: bool = False
    """Whether the entries are those of the plugin, which yield to the ones in settings."""
    rules: tuple[str, ...] = ()
    """Permission rules that let the model fetch stored output without asking; none: as they are."""

    def arguments(self, event: str) -> list[str]:
        """The interpreter's arguments for one event."""
        extra = [self.home] if self.home else []
        if self.plugin:
            extra = [self.home or "", _PLUGIN]
        return ["-I", "-S", "-c", bootstrap(self.root), event, *extra]


class Installed(NamedTuple):
    """One hook entry of ours, as it was found in settings."""

    event: str
    interpreter: str
    arguments: tuple[str, ...]

    @property
    def root(self) -> str | None:
        """The folder from which the entry loads the package."""
        found = next((_ROOT.search(text) for text in self.arguments if _OUR_MARK in text), None)
        try:
            root = ast.literal_eval(found[1]) if found else None
        except (ValueError, SyntaxError):
            return None
        return root if isinstance(root, str) else None

    @property
    def home(self) -> str | None:
        """The data folder that the entry carries, if any."""
        after = self.arguments[_NAME_AT:]
        return (after[0] or None) if after else None


class StatusLine(NamedTuple):
    """The parts of a status-line command of ours."""

    interpreter: str
    home: str | None
    wrapped: str | None


def hook_groups(wiring: Wiring) -> dict[str, dict[str, Any]]:
    """The settings group of every event."""
    switched_on = ("scout",) if wiring.scout else ()
    return {event: _group(event, wiring, switched_on) for event in table.EVENTS}


def statusline_command(wiring: Wiring, wrapped: str | None = None) -> str:
    """The status-line command: a shell string, which is the only form the client takes there.

    The command that was there before, an empty one too, is carried as the last argument, so that it
    survives the loss of anything else of ours.
    """
    arguments = [wiring.interpreter, *wiring.arguments("statusline")]
    if wrapped is not None:
        arguments += [wrapped] if wiring.home else ["", wrapped]
    return shlex.join(arguments)


def parse_statusline(command: str) -> StatusLine | None:
    """Take a status-line command of ours apart.

    None for every other command, also for one in which somebody built ours into a command of their
    own: that one is theirs.
    """
    try:
        arguments = shlex.split(command)
    except ValueError:
        return None
    if len(arguments) <= _NAME_AT or arguments[_NAME_AT] != "statusline":
        return None
    if not is_our_code(arguments[_CODE_AT]) or shlex.join(arguments) != command:
        return None
    home, wrapped, *_ = [*arguments[_NAME_AT + 1 :], None, None]
    return StatusLine(arguments[0], home or None, wrapped)


def installed(settings: dict[str, Any]) -> list[Installed]:
    """Every hook entry of ours in a settings object of any shape."""
    hooks = settings.get("hooks")
    return [
        Installed(event, str(entry.get("command")), tuple(entry["args"]))
        for event, groups in (hooks.items() if isinstance(hooks, dict) else ())
        for group in (groups if isinstance(groups, list) else ())
        for entry in entries_of(group)
        if is_our_hook(entry)
    ]


def entries_of(group: Any) -> list[Any]:
    """The hook entries of one group; none where it is no group."""
    entries = group.get("hooks") if isinstance(group, dict) else None
    return entries if isinstance(entries, list) else []


def is_our_hook(entry: Any) -> bool:
    """Whether a hook entry was written by brimline, whatever its version."""
    arguments = entry.get("args") if isinstance(entry, dict) else None
    if not isinstance(arguments, list) or not all(isinstance(text, str) for text in arguments):
        return False
    return any(is_our_code(text) for text in arguments)


def is_our_code(text: str) -> bool:
    """Whether a text holds the code that starts brimline."""
    return is_bootstrap(text)


def recall_rules(line: str | None) -> tuple[str, ...]:
    """The permission rules for our recall, the command started by its name and by a line."""
    command, *tools = clientsettings.RECALL_RULES
    started = [f"Bash({line} store get:*)"] if line else []
    return (command, *started, *tools[:1])


def is_our_rule(rule: Any) -> bool:
    """Whether a permission rule is one that we write: for our own command or tool, and no other."""
    if not isinstance(rule, str):
        return False
    started = rule.startswith("Bash(") and rule.endswith("brimline store get:*)")
    return started or rule in clientsettings.RECALL_RULES


def mention_us(raw: bytes) -> bool:
    """Whether the bytes of a settings file can hold anything of ours; no parsing needed."""
    return _OUR_MARK.encode() in raw


def _group(event: str, wiring: Wiring, switched_on: tuple[str, ...]) -> dict[str, Any]:
    answered = table.EVENTS[event]
    entry = {
        "type": "command",
        "command": wiring.interpreter,
        "args": wiring.arguments(event),
        "timeout": answered.timeout_s,
    }
    matcher = answered.matcher(switched_on)
    return ({} if matcher is None else {"matcher": matcher}) | {"hooks": [entry]}
