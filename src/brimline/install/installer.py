"""Wires brimline into a settings file and takes it out again: plan first, then act."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from brimline import clientsettings, config
from brimline.errors import InstallError
from brimline.fast import paths
from brimline.install import entries, precompile, record, settingsfile, wiring
from brimline.launch import LAUNCHER, is_launcher

SCOPES = ("user", "project", "local")
_TRIES = 5


@dataclass(frozen=True, slots=True)
class Plan:
    """A change to one settings file. `after` is None where the file is to be removed."""

    file: settingsfile.SettingsFile
    after: bytes | None
    made: tuple[wiring.Path, ...] = ()
    remove_folder: bool = False

    @property
    def changes(self) -> bool:
        """Whether there is anything to do."""
        return self.after != self.file.raw


def settings_path(scope: str, project_dir: str) -> str:
    """The settings file of a scope."""
    return clientsettings.settings_files(project_dir)[scope]


def wiring_for(interpreter: str, home_dir: str) -> entries.Wiring:
    """Where entries of this installation point to.

    Raises:
        InstallError: one of the paths cannot be written into JSON.
    """
    user_file = config.load(home_dir, home_dir, environment=False)
    scout = user_file.values["scout.mode"] != "off"
    launcher = entries.launcher_for(interpreter, home_dir)
    wired = entries.Wiring(interpreter, precompile.package_root(), home_dir, launcher, scout)
    for path in (wired.interpreter, wired.root, wired.home):
        try:
            path.encode("utf-8")
        except UnicodeEncodeError:
            raise InstallError(f"the path {path!r} is not UTF-8, which settings must be") from None
    return wired


def home_to_bake(home_dir: str) -> str | None:
    """The data folder to tell a command: only one that the environment does not lead to."""
    usual = paths.client_config_dir() + "/brimline"
    return None if home_dir == usual else home_dir


def installed_interpreter(path: str, home_dir: str, project_dir: str) -> str | None:
    """The interpreter of our entries in a settings file, else in any other file in reach.

    Two scopes with the same command fire once, with different ones twice.
    """
    for file in (path, *[settings_path(scope, project_dir) for scope in SCOPES]):
        for entry in entries.installed(clientsettings.read_settings(file)):
            if entry.interpreter and may_start(entry, file, home_dir):
                return entry.interpreter
    return None


def may_start(entry: entries.Installed, path: str, home_dir: str) -> bool:
    """Whether an entry is the user's or our own work.

    A project's settings may come with a stranger's repository. The client asks the user before it
    trusts them, so nothing they name is started here unless we wrote it there ourselves.
    """
    if path in (_user_settings(), clientsettings.settings_files("")["managed"]):
        return True
    known = record.load(home_dir, path)
    return known is not None and (entry.interpreter, entry.root) == (known.interpreter, known.root)


def hidden_statusline(path: str, project_dir: str) -> str | None:
    """The status line of a weaker scope, which one in this settings file would hide."""
    command = None
    for scope in SCOPES:
        file = settings_path(scope, project_dir)
        if file == path:
            break
        command = _foreign_statusline(clientsettings.read_settings(file)) or command
    return command


def plan_install(path: str, wired: entries.Wiring, home_dir: str, project_dir: str) -> Plan:
    """What installing would do to a settings file.

    Raises:
        InstallError: the file cannot be read or has a shape that cannot be edited.
    """
    file = settingsfile.read(path)
    known = record.load(home_dir, path)
    hidden = hidden_statusline(path, project_dir)
    try:
        text, made = wiring.wire(file.text, wired, _made(known), hidden)
    except InstallError as error:
        raise InstallError(f"{path}: {error}; nothing was changed") from None
    return Plan(file, file.encode(text), tuple(made))


def install(path: str, wired: entries.Wiring, home_dir: str, project_dir: str) -> str | None:
    """Wire brimline in; returns the backup's path. Another program's write leads to a new try.

    Raises:
        InstallError: nothing was changed.
    """
    for attempt in range(_TRIES):
        plan = plan_install(path, wired, home_dir, project_dir)
        if not plan.changes:
            return None
        try:
            return _apply_install(plan, wired, home_dir)
        except settingsfile.ChangedMeanwhileError:
            if attempt == _TRIES - 1:
                raise
    raise AssertionError("unreachable")


def plan_uninstall(path: str, home_dir: str) -> Plan:
    """What uninstalling would do: the original back while the file is ours, else our entries out.

    Raises:
        InstallError: entries of ours are in there and cannot be taken out.
    """
    file = settingsfile.read(path)
    if file.raw is None:
        return Plan(file, None)
    home_dir, known = _find_record(home_dir, path)
    if known and settingsfile.digest(file.raw) in known.written:
        with contextlib.suppress(LookupError):
            original = record.original_bytes(home_dir, known)
            return Plan(file, original, remove_folder=known.made_folder)
    if not entries.mention_us(file.raw) and not (known and b"brimline store get" in file.raw):
        return Plan(file, file.raw)
    try:
        text = file.text
        if known or wiring.has_entries(text):
            text = wiring.unwire(text, _made(known) if known else None)
    except InstallError as error:
        raise InstallError(f"{path}: {error}; nothing was changed there") from None
    return Plan(file, file.encode(text))


def uninstall(path: str, home_dir: str) -> bool:
    """Take brimline out of a settings file; False where nothing of ours was there.

    Raises:
        InstallError: nothing was changed.
    """
    for attempt in range(_TRIES):
        plan = plan_uninstall(path, home_dir)
        record_home, _ = _find_record(home_dir, path)
        try:
            if plan.changes:
                settingsfile.back_up(plan.file, f"{home_dir}/backups")
                _apply(plan)
        except settingsfile.ChangedMeanwhileError:
            if attempt == _TRIES - 1:
                raise
            continue
        with contextlib.suppress(OSError):  # a record that stays does no harm
            record.forget(record_home, path)
        return plan.changes
    raise AssertionError("unreachable")


def known_paths(home_dir: str, project_dir: str) -> list[str]:
    """Every settings file that may hold entries of ours: the recorded ones and those in reach."""
    recorded = [entry.path for entry in record.load_all(home_dir)]
    near = [settings_path(scope, project_dir) for scope in SCOPES]
    return list(dict.fromkeys([*recorded, *near]))


def other_homes(chosen: list[str], home_dir: str) -> list[str]:
    """Data folders that entries in these settings files name and that are not the one in use."""
    named = [
        entry.home
        for path in chosen
        for entry in entries.installed(clientsettings.read_settings(path))
    ]
    return [home for home in dict.fromkeys(named) if home and home != home_dir]


def write_launcher(wired: entries.Wiring) -> None:
    """Put the program that the client starts in its place, where it is not there already.

    Raises:
        InstallError: it cannot be written; nothing was changed.
    """
    if wired.launcher is None or launcher_is_current(wired):
        return
    try:
        settingsfile.write_program(wired.launcher, wired.launcher_bytes())
    except OSError as error:
        reason = error.strerror or error
        raise InstallError(
            f"cannot write {wired.launcher}: {reason}; nothing was changed"
        ) from error


def launcher_is_current(wired: entries.Wiring) -> bool:
    """Whether the launcher is what this version would write, and can be started."""
    path = wired.launcher or ""
    try:
        return Path(path).read_bytes() == wired.launcher_bytes() and os.access(path, os.X_OK)
    except OSError:
        return False


def remove_launcher(home_dir: str, project_dir: str) -> None:
    """Remove it once no settings that we know of start it any more."""
    path = home_dir + LAUNCHER
    for file in known_paths(home_dir, project_dir):
        started = entries.installed(clientsettings.read_settings(file))
        if any(entry.launcher == path for entry in started):
            return
    if os.path.lexists(path) and is_launcher(path):
        with contextlib.suppress(OSError):  # nobody starts it any more
            os.unlink(path)
            os.rmdir(os.path.dirname(path))


def _apply_install(plan: Plan, wired: entries.Wiring, home_dir: str) -> str | None:
    backup = settingsfile.back_up(plan.file, f"{home_dir}/backups")
    try:
        new = _record_for(plan, record.load(home_dir, plan.file.path), home_dir)
        new.interpreter, new.root = wired.interpreter, wired.root
        record.save(home_dir, new)
    except OSError as error:
        reason = error.strerror or error
        raise InstallError(f"cannot write to {home_dir}: {reason}; nothing was changed") from error
    write_launcher(wired)
    _apply(plan)
    return backup


def _record_for(plan: Plan, known: record.Record | None, home_dir: str) -> record.Record:
    """What to put back later: the first original while nobody else wrote, else this without us."""
    path, raw = plan.file.path, plan.file.raw
    new = record.Record(path, [settingsfile.digest(plan.after or b"")])
    new.made = [list(place) for place in plan.made]
    if raw is None:
        new.made_folder = not os.path.isdir(os.path.dirname(plan.file.target))
        return new
    if known and settingsfile.digest(raw) in known.written:
        new.written = [*known.written, *new.written]
        new.original, new.made_folder = known.original, known.made_folder
        return new
    text = plan.file.text
    if wiring.has_entries(text):
        raw = plan.file.encode(wiring.unwire(text, _made(known) if known else None))
    new.original = record.keep_original(home_dir, path, raw)
    return new


def _apply(plan: Plan) -> None:
    if plan.after is None:
        settingsfile.delete(plan.file, folder=plan.remove_folder)
    else:
        settingsfile.replace(plan.file, plan.after)


def _find_record(home_dir: str, path: str) -> tuple[str, record.Record | None]:
    """The record of a settings file with its data folder, which the user's own entries may name."""
    known = record.load(home_dir, path)
    if known or path != _user_settings():
        return home_dir, known
    for entry in entries.installed(clientsettings.read_settings(path)):
        known = record.load(entry.home, path) if entry.home else None
        if entry.home and known:
            return entry.home, known
    return home_dir, None


def _user_settings() -> str:
    return clientsettings.settings_files("")["user"]


def _foreign_statusline(settings: dict[str, Any]) -> str | None:
    command = wiring.statusline_of(settings)
    ours = entries.parse_statusline(command) if command is not None else None
    return ours.wrapped if ours else command


def _made(known: record.Record | None) -> list[wiring.Path]:
    return [tuple(place) for place in known.made] if known else []
