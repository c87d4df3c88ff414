"""Checks of the wiring: settings files, our entries in them, and what these entries start."""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING, Any

from brimline import clientsettings
from brimline.errors import InstallError
from brimline.hooks import table
from brimline.install import (
    clientstate,
    entries,
    installer,
    interpreter,
    precompile,
    settingsfile,
    wiring,
)
from brimline.install.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

_INSTALL = "brimline install"


def findings(home_dir: str, project_dir: str) -> Iterator[Finding]:
    """Everything about the wiring."""
    settings, broken = _read_all(project_dir)
    yield from broken
    yield from _switched_off(settings)
    found = {path: entries.installed(settings[path]) for path in settings}
    found = {path: ours for path, ours in found.items() if ours}
    if not found:
        if not clientstate.plugin_is_on(project_dir):
            yield _not_installed(broken)
        return
    for path, ours in found.items():
        yield _entries_current(path, ours, home_dir, project_dir)
    yield from _fires_twice(found, project_dir)
    yield from _status_line(settings, project_dir)
    yield from _unvouched(found, home_dir, project_dir)
    known = [
        entry
        for path, ours in found.items()
        for entry in ours
        if installer.may_start(entry, path, home_dir)
    ]
    yield from _other_home(known, home_dir)
    for started in dict.fromkeys(entry._replace(event="", wrapped=None) for entry in known):
        yield from program_findings(started)


def _read_all(project_dir: str) -> tuple[dict[str, dict[str, Any]], list[Finding]]:
    """The settings in reach by path, the strongest last, and what is wrong with the others."""
    settings: dict[str, dict[str, Any]] = {}
    broken = []
    for path in dict.fromkeys(clientsettings.settings_files(project_dir).values()):
        try:
            file = settingsfile.read(path)
            if file.raw is None:
                continue
            settings[path] = wiring.parse(file.text)
        except InstallError as error:
            broken.append(_unreadable(path, str(error)))
    return settings, broken


def _unreadable(path: str, problem: str) -> Finding:
    return Finding(
        "settings-json",
        "broken",
        f"{path}: {problem}",
        "The client ignores the whole file, hooks and all, and brimline does not change it.",
        f"correct {path}",
    )


def _switched_off(settings: dict[str, dict[str, Any]]) -> Iterator[Finding]:
    for path, values in settings.items():
        if values.get("disableAllHooks") is True:
            yield Finding(
                "hooks-disabled",
                "broken",
                f'{path} sets "disableAllHooks"',
                "The client then runs no hook and no status line: brimline neither measures nor "
                "warns.",
                f'take "disableAllHooks" out of {path}',
            )


def _not_installed(broken: list[Finding]) -> Finding:
    return Finding(
        "entries",
        "broken",
        "brimline is not installed in any settings that apply here",
        "The client starts no hook of brimline, so nothing is measured and nobody is warned.",
        f"{_INSTALL}, once the settings are readable" if broken else _INSTALL,
    )


def _entries_current(
    path: str, ours: list[entries.Installed], home_dir: str, project_dir: str
) -> Finding:
    missing = [event for event in table.EVENTS if event not in {e.event for e in ours}]
    fix = _install_in(path, project_dir)
    if missing:
        return Finding(
            "entries",
            "broken",
            f"{path} has no entry for {', '.join(missing)}",
            "At these events brimline is not asked; what it does there does not happen.",
            fix,
        )
    try:
        wired = installer.wiring_for(ours[0].interpreter or "", home_dir)
        current = not installer.plan_install(path, wired, home_dir, project_dir).changes
        current = current and (not wired.launcher or installer.launcher_is_current(wired))
    except InstallError as error:
        return _unreadable(path, str(error))
    if current:
        return Finding("entries", "ok", f"hooks and status line are installed in {path}")
    return Finding(
        "entries",
        "warning",
        f"the entries in {path} are not what this version would write",
        "They may start another copy of brimline, use another data folder or miss what is new.",
        fix,
    )


def _fires_twice(found: dict[str, list[entries.Installed]], project_dir: str) -> Iterator[Finding]:
    """The client runs equal commands of several files once, and different ones each."""
    commands = {
        path: {entry._replace(interpreter=entry.launcher or entry.interpreter) for entry in ours}
        for path, ours in found.items()
    }
    first, *others = commands
    for path in others:
        if commands[path] != commands[first]:
            scope = _scope_of(path, project_dir)
            yield Finding(
                "scopes",
                "warning",
                f"{first} and {path} start brimline in different ways",
                "The client runs both, so every hook costs twice.",
                f"brimline uninstall --scope {scope}",
            )


def _status_line(settings: dict[str, dict[str, Any]], project_dir: str) -> Iterator[Finding]:
    shown = [path for path in settings if "statusLine" in settings[path]]
    command = wiring.statusline_of(settings[shown[-1]]) if shown else None
    if not shown or (command is not None and entries.is_our_code(command)):
        return
    yield Finding(
        "status-line",
        "note",
        f"the status line comes from {shown[-1]} and is not brimline's",
        "Without its own, brimline does not learn the size of the window from the client.",
        _install_in(shown[-1], project_dir)
        if command is not None
        else f'take "statusLine" out of {shown[-1]}, then {_INSTALL}',
    )


def _unvouched(
    found: dict[str, list[entries.Installed]], home_dir: str, project_dir: str
) -> Iterator[Finding]:
    for path, ours in found.items():
        if not all(installer.may_start(entry, path, home_dir) for entry in ours):
            scope = _scope_of(path, project_dir)
            yield Finding(
                "interpreter",
                "warning",
                f"{path} has entries that this installation did not write",
                "A project's settings may come from a stranger, so doctor does not start what they "
                "name; the client does, once you trust the folder.",
                f"{_INSTALL} --scope {scope}, or brimline uninstall --scope {scope}",
            )


def _other_home(known: list[entries.Installed], home_dir: str) -> Iterator[Finding]:
    for home in dict.fromkeys(entry.home for entry in known):
        if home and home != home_dir:
            yield Finding(
                "data-home",
                "warning",
                f"hooks keep their data in {home}, this command looks in {home_dir}",
                "Status, errors and settings shown here are then not those of the hooks.",
                f"export BRIMLINE_HOME={shlex.quote(home)}",
            )


def program_findings(started: entries.Installed, install: str = _INSTALL) -> Iterator[Finding]:
    """Whether what an entry starts is there, can run the hooks, and does so at its best."""
    python, root = started.interpreter, started.root
    if started.launcher and (not python or not os.access(started.launcher, os.X_OK)):
        yield Finding(
            "launcher",
            "broken",
            f"{started.launcher} is gone, or cannot be started",
            "The client starts it at every event: without it nothing is measured.",
            install,
        )
        return
    if started.launcher:
        yield Finding("launcher", "ok", f"the client starts {started.launcher}")
    python = python or ""
    problem = interpreter.problem_with(python)
    if problem:
        yield Finding(
            "interpreter",
            "broken",
            f"the hooks' interpreter {python} cannot be used: {problem}",
            "The client starts it at every event: without it hooks do nothing, and a shim costs "
            "many times as much.",
            f"{install} --interpreter PATH" if os.path.exists(python) else install,
        )
        return
    probe = interpreter.probe(python)
    version = ".".join(map(str, probe.version)) if probe else "unknown"
    yield Finding("interpreter", "ok", f"hooks run in Python {version}, {python}")
    yield _package(python, root, install)


def _package(python: str, root: str | None, install: str) -> Finding:
    if root and precompile.is_precompiled(python, root):
        return Finding("bytecode", "ok", f"the package in {root} is precompiled for it")
    if not root or not precompile.can_start(python, root):
        return Finding(
            "bytecode",
            "broken",
            f"{python} finds no working brimline in {root or 'any folder that its entries name'}",
            "Hooks then end at once without a word: nothing is measured.",
            install,
        )
    writable = os.access(f"{root}/brimline", os.W_OK)
    return Finding(
        "bytecode",
        "warning",
        f"the package in {root} is not precompiled for {python}",
        "Every hook then looks for and compiles its modules one by one, which costs more than "
        "its work.",
        install if writable else f"{install}, as a user who may write to {root}/brimline",
    )


def _install_in(path: str, project_dir: str) -> str:
    scope = _scope_of(path, project_dir)
    return f"{_INSTALL} --scope {scope}" if scope in installer.SCOPES else f"correct {path}"


def _scope_of(path: str, project_dir: str) -> str:
    files = clientsettings.settings_files(project_dir)
    return next((scope for scope, file in files.items() if file == path), "user")
