"""What brimline writes into the client's settings, and how it knows its own entries again. Pure."""

from __future__ import annotations

import shlex
from typing import Any, NamedTuple

from brimline.install.spec import HOOKS, HookSpec
from brimline.launch import bootstrap

# Present in every entry any version of ours has written.
_OUR_MARK = "from brimline."


class Wiring(NamedTuple):
    """Where the installed entries point to."""

    interpreter: str
    root: str
    home: str | None

    def arguments(self, event: str) -> list[str]:
        """The interpreter's arguments for one event."""
        extra = [self.home] if self.home else []
        return ["-I", "-S", "-c", bootstrap(self.root), event, *extra]


def hook_groups(wiring: Wiring) -> dict[str, dict[str, Any]]:
    """The settings group of every event."""
    return {hook.event: _group(hook, wiring) for hook in HOOKS}


def statusline_command(wiring: Wiring, wrapped: str | None = None) -> str:
    """The status-line command: a shell string, which is the only form the client takes there.

    The command that was there before is carried as the last argument, so that it survives the loss
    of anything else of ours.
    """
    arguments = [wiring.interpreter, *wiring.arguments("statusline")]
    if wrapped:
        arguments += ["", wrapped] if not wiring.home else [wrapped]
    return shlex.join(arguments)


def wrapped_command(command: str) -> str | None:
    """The foreign command inside a status-line command of ours, if it carries one."""
    try:
        arguments = shlex.split(command)
    except ValueError:
        return None
    if "statusline" not in arguments:
        return None
    return next(iter(arguments[arguments.index("statusline") + 2 :]), None)


def is_our_hook(entry: Any) -> bool:
    """Whether a hook entry was written by brimline, whatever its version."""
    if not isinstance(entry, dict):
        return False
    arguments = entry.get("args")
    texts = [entry.get("command"), *(arguments if isinstance(arguments, list) else [])]
    return any(is_our_command(text) for text in texts)


def is_our_command(text: Any) -> bool:
    """Whether a command text starts brimline."""
    return isinstance(text, str) and _OUR_MARK in text and "import main" in text


def _group(hook: HookSpec, wiring: Wiring) -> dict[str, Any]:
    entry = {
        "type": "command",
        "command": wiring.interpreter,
        "args": wiring.arguments(hook.event),
        "timeout": hook.timeout_s,
    }
    matcher = {"matcher": hook.matcher} if hook.matcher is not None else {}
    return matcher | {"hooks": [entry]}
