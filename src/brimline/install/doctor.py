"""`brimline doctor`: a list of checks, each of which yields findings; the texts are a data file.

The checks here are about the installation; those about its use are in `checks_use`.
"""

from __future__ import annotations

import os
import shlex
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from brimline import clientsettings, yielding
from brimline.errors import InstallError
from brimline.hooks import table
from brimline.install import client, entries, parts, pythons, settingsfile, wiring
from brimline.install.plugin import Plugin

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    # The name of a text, and what is filled into it.
    Said = tuple[str, dict[str, Any]]
    Check = Callable[[str, str], Iterator[Said]]

_COLOURS = {"ok": "32", "note": "36", "warning": "33", "broken": "1;31"}
_WIDTH = len("warning")
_INSTALL = "brimline install"


class Finding(NamedTuple):
    """What was found, why it matters, and the command or edit that fixes it."""

    check: str
    level: str
    what: str
    why: str = ""
    fix: str = ""


def examine(home_dir: str, project_dir: str) -> list[Finding]:
    """Look at everything that brimline needs in order to work here."""
    from brimline.install import checks_use

    checks: tuple[Check, ...] = (_settings, _plugin, _commands, _server, *checks_use.CHECKS)
    said = [said for check in checks for said in check(home_dir, project_dir)]
    # Settings and plugin may start the same program.
    return list(dict.fromkeys(finding(name, **filled) for name, filled in said))


def finding(name: str, **filled: Any) -> Finding:
    """A finding from its text."""
    text = tomllib.loads(Path(__file__).with_name("findings.toml").read_text(encoding="utf-8"))[
        name
    ]
    told = [text.get(part, "").format(**filled) for part in ("level", "what", "why", "fix")]
    return Finding(text.get("check", name), *told)


def render(findings: list[Finding]) -> str:
    """One line per finding, its reason and remedy below it, then the count of what is wrong."""
    colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    lines = []
    for found in findings:
        mark = ("BROKEN" if found.level == "broken" else found.level).ljust(_WIDTH)
        mark = f"\x1b[{_COLOURS[found.level]}m{mark}\x1b[0m" if colour else mark
        lines.append(f"{mark}  {_printable(found.what)}")
        below = [found.why, found.fix and f"fix: {found.fix}"]
        lines += [" " * (_WIDTH + 2) + _printable(text) for text in below if text]
    broken, warned = (sum(f.level == level for f in findings) for level in ("broken", "warning"))
    if broken:
        return "\n".join([*lines, "", f"{broken} broken, {warned} to look at."])
    summary = f"It works; {warned} to look at." if warned else "All is well."
    return "\n".join([*lines, "", summary])


def _printable(text: str) -> str:
    """Foreign words without what would steer a terminal."""
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in text)


def _settings(home_dir: str, project_dir: str) -> Iterator[Said]:
    """The settings files, and our entries in them."""
    settings: dict[str, dict[str, Any]] = {}
    for path in dict.fromkeys(clientsettings.settings_files(project_dir).values()):
        try:
            settings[path] = wiring.parse(settingsfile.read(path).text)
        except InstallError as error:
            yield "settings-unreadable", {"path": path, "problem": error}
    for path, values in settings.items():
        if values.get("disableAllHooks") is True:
            yield "hooks-disabled", {"path": path}
    found = {path: entries.installed(values) for path, values in settings.items()}
    found = {path: ours for path, ours in found.items() if ours}
    if found:
        yield from _status_line(settings, project_dir)
    elif not client.plugin_is_on(project_dir):
        yield "not-installed", {}
    first = next(iter(found), "")
    for path, ours in found.items():
        scope, install = _scope(path, project_dir), _install(path, project_dir)
        place = {"path": path, "scope": scope, "install": install, "first": first}
        yield _entries(path, ours, home_dir, project_dir), place | {"events": _missing(ours)}
        if {_start(entry) for entry in ours} != {_start(entry) for entry in found[first]}:
            yield "fires-twice", place
        if all(parts.may_start(entry, path, home_dir) for entry in ours):
            yield from _started(ours, home_dir)
        else:
            yield "stranger", place


def _started(ours: list[entries.Installed], home_dir: str) -> Iterator[Said]:
    """What the entries of one file start."""
    for entry in dict.fromkeys(map(_start, ours)):
        if entry.home and entry.home != home_dir:
            quoted = shlex.quote(entry.home)
            yield "other-home", {"home": entry.home, "here": home_dir, "quoted": quoted}
        yield from _program(entry, _INSTALL)


def _start(entry: entries.Installed) -> entries.Installed:
    """What an entry starts, whatever the event."""
    return entry._replace(event="", wrapped=None)


def _scope(path: str, project_dir: str) -> str:
    files = clientsettings.settings_files(project_dir)
    return next((scope for scope, file in files.items() if file == path), "user")


def _install(path: str, project_dir: str) -> str:
    scope = _scope(path, project_dir)
    return f"{_INSTALL} --scope {scope}" if scope in parts.SCOPES else f"correct {path}"


def _missing(ours: list[entries.Installed]) -> str:
    return ", ".join(event for event in table.EVENTS if event not in {e.event for e in ours})


def _entries(path: str, ours: list[entries.Installed], home_dir: str, project_dir: str) -> str:
    if _missing(ours):
        return "events-missing"
    wired = parts.wiring_for(ours[0].interpreter or "", home_dir)
    plans = [
        parts.Launcher(home_dir, project_dir, wired).install(do=False),
        parts.Settings(path, home_dir, project_dir, wired).install(do=False),
    ]
    return "entries-stale" if any(plan.changes for plan in plans) else "entries-current"


def _status_line(settings: dict[str, dict[str, Any]], project_dir: str) -> Iterator[Said]:
    shown = [path for path in settings if "statusLine" in settings[path]]
    command = wiring.statusline_of(settings[shown[-1]]) if shown else None
    if shown and (command is None or not entries.is_our_code(command)):
        fix = _install(shown[-1], project_dir)
        fix = (
            fix if command is not None else f'take "statusLine" out of {shown[-1]}, then {_INSTALL}'
        )
        yield "foreign-status-line", {"path": shown[-1], "install": fix}


def _program(started: entries.Installed, install: str) -> Iterator[Said]:
    """Whether what an entry starts is there, can run the hooks, and does so at its best."""
    launcher, python, root = started.launcher, started.interpreter or "", started.root
    said = {
        "launcher": launcher,
        "python": python,
        "root": root or "any folder",
        "install": install,
    }
    if launcher and not (python and os.access(launcher, os.X_OK)):
        yield "launcher-gone", said
        return
    if launcher:
        yield "launcher", said
    problem = pythons.problem_with(python)
    if problem:
        yield "interpreter-unusable", said | {"problem": problem}
        return
    version, _ = pythons.probe(python) or ((), "")
    yield "interpreter", said | {"version": ".".join(map(str, version))}
    if root and pythons.is_precompiled(python, root):
        yield "precompiled", said
    else:
        startable = root and pythons.can_start(python, root)
        yield "not-precompiled" if startable else "package-gone", said


def _plugin(home_dir: str, project_dir: str) -> Iterator[Said]:
    """The plugin: whether the client has it, whether it is current, and who yields."""
    enabled, found = client.plugin_is_on(project_dir), Plugin(home_dir)
    hooks, said = found.hooks(), {"folder": found.folder, "known": client.marketplace()}
    if enabled is False:
        yield "plugin-disabled", said
    elif enabled is None and hooks:
        yield "plugin-unknown", said
    if not enabled:
        return
    if hooks and found.is_known:
        wired = parts.wiring_for(hooks[0].interpreter or "", home_dir)
        program = pythons.program(parts.home_to_tell(home_dir))
        current = Plugin(home_dir, wired, program, mcp=found.brings_server)
        stale = current.install(do=False).files
        yield ("plugin-stale", {"path": stale[0].path}) if stale else ("plugin", said)
        yield from _program(_start(hooks[0]), f"{_INSTALL} --as plugin")
    else:
        yield "plugin-elsewhere", said
    if yielding.settings_start_us(project_dir):
        yield "both-ways", said
        return
    files = clientsettings.settings_files(project_dir).values()
    lines = [wiring.statusline_of(clientsettings.read_settings(path)) for path in files]
    if not any(line is not None and entries.is_our_code(line) for line in lines):
        yield "no-status-line", said


def _commands(home_dir: str, project_dir: str) -> Iterator[Said]:
    """The slash commands, which come with entries in the user's settings."""
    if not parts.entries_in(parts.settings_path("user", project_dir)):
        return
    part = parts.Commands(home_dir, pythons.program(parts.home_to_tell(home_dir)))
    changes, foreign = part.own.plan(part.wanted())
    names = [os.path.basename(change.path).removesuffix(".md") for change in changes]
    if changes:
        yield "commands-stale", {"names": ", ".join(names)}
    elif foreign:
        yield "commands-foreign", {"paths": ", ".join(foreign)}
    else:
        yield "commands", {"folder": parts.commands_folder()}


def _server(home_dir: str, project_dir: str) -> Iterator[Said]:
    """The MCP server; the plugin brings its own."""
    part = parts.McpServer(pythons.program(parts.home_to_tell(home_dir)))
    found = client.server()
    missing_sdk = f"{pythons.INSTALL_SDK} in brimline's clone, then {_INSTALL}"
    fix = _INSTALL if client.on_path() else client.line(part.addition())
    fix = fix if part.started.has_sdk else missing_sdk
    if found is None:
        brought = client.plugin_is_on(project_dir) and Plugin(home_dir).brings_server
        if parts.entries_in(parts.settings_path("user", project_dir)) and not brought:
            yield "server-missing", {"fix": fix}
    elif not found.is_ours:
        yield "server-foreign", {}
    elif pythons.lacks_sdk(found.command, found.arguments):
        yield "server-broken", {"python": found.command, "fix": fix}
    elif found != part.wanted:
        yield "server-stale", {}
    else:
        yield "server", {"python": found.command}
