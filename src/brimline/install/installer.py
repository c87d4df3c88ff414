"""Wires brimline into a settings file and takes it out again: plan first, then act."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass

from brimline import clientsettings, paths
from brimline.errors import InstallError
from brimline.install import entries, record, settingsfile, wiring

_TRIES = 5


@dataclass(frozen=True, slots=True)
class Plan:
    """A change to one settings file. `after` is None where the file is to be removed."""

    file: settingsfile.SettingsFile
    after: bytes | None
    made: tuple[wiring.Path, ...] = ()

    @property
    def changes(self) -> bool:
        """Whether there is anything to do."""
        return self.after != self.file.raw


def settings_path(scope: str, project_dir: str) -> str:
    """The settings file of a scope."""
    return clientsettings.settings_files(project_dir)[scope]


def installed_interpreter(path: str) -> str | None:
    """The interpreter that entries of ours in a settings file point to."""
    settings = clientsettings.read_settings(path)
    hooks = settings.get("hooks")
    groups = [group for found in hooks.values() for group in found] if _is_table(hooks) else []
    for group in groups:
        for entry in group.get("hooks", []) if isinstance(group, dict) else []:
            if entries.is_our_hook(entry):
                return str(entry["command"])
    return None


def plan_install(path: str, wired: entries.Wiring) -> Plan:
    """What installing would do to a settings file."""
    file = settingsfile.read(path)
    try:
        text, made = wiring.wire(file.text, wired)
    except InstallError as error:
        raise InstallError(f"{path}: {error}; nothing was changed") from None
    return Plan(file, file.encode(text), tuple(made))


def install(path: str, wired: entries.Wiring, home_dir: str) -> str | None:
    """Wire brimline in; returns the backup's path. Another program's write leads to a new try.

    Raises:
        InstallError: nothing was changed.
    """
    for attempt in range(_TRIES):
        plan = plan_install(path, wired)
        if not plan.changes:
            return None
        try:
            return _apply_install(plan, home_dir)
        except settingsfile.ChangedMeanwhile:
            if attempt == _TRIES - 1:
                raise
    raise AssertionError("unreachable")


def plan_uninstall(path: str, home_dir: str) -> Plan:
    """What uninstalling would do: the original bytes while the file is untouched, else our entries out."""
    file = settingsfile.read(path)
    known = record.load(home_dir, path)
    if file.raw is None:
        return Plan(file, file.raw)
    if known and settingsfile.digest(file.raw) == known.written:
        return Plan(file, _original(known))
    made = [tuple(step) for step in known.made] if known else None
    try:
        text = wiring.unwire(file.text, made) if wiring.has_entries(file.text) else file.text
    except InstallError as error:
        raise InstallError(f"{path}: {error}; nothing was changed") from None
    return Plan(file, file.encode(text))


def uninstall(path: str, home_dir: str) -> bool:
    """Take brimline out of a settings file; False where nothing of ours was there.

    Raises:
        InstallError: nothing was changed.
    """
    for attempt in range(_TRIES):
        plan = plan_uninstall(path, home_dir)
        try:
            if plan.changes:
                settingsfile.back_up(plan.file, f"{home_dir}/backups")
                _apply(plan)
        except settingsfile.ChangedMeanwhile:
            if attempt == _TRIES - 1:
                raise
            continue
        known = record.load(home_dir, path)
        if known:
            record.forget(home_dir, known)
        return plan.changes
    raise AssertionError("unreachable")


def known_paths(home_dir: str, project_dir: str) -> list[str]:
    """Every settings file that may hold entries of ours: the recorded ones and those in reach."""
    recorded = [entry.path for entry in record.load_all(home_dir)]
    near = [settings_path(scope, project_dir) for scope in ("user", "project", "local")]
    return list(dict.fromkeys([*recorded, *near]))


def _apply_install(plan: Plan, home_dir: str) -> str | None:
    backup = settingsfile.back_up(plan.file, f"{home_dir}/backups")
    known = record.load(home_dir, plan.file.path)
    entry = _record_for(plan, known, home_dir)
    record.save(home_dir, entry)
    try:
        _apply(plan)
    except BaseException:
        with contextlib.suppress(OSError):
            if known:
                record.save(home_dir, known)
            else:
                record.forget(home_dir, entry)
        raise
    return backup


def _record_for(plan: Plan, known: record.Record | None, home_dir: str) -> record.Record:
    """What to put back later: the very first original while nobody else wrote since, else this file less our entries."""
    raw = plan.file.raw
    written = settingsfile.digest(plan.after or b"")
    made = [list(step) for step in plan.made]
    path = plan.file.path
    if known and raw is not None:
        made = [*known.made, *[step for step in made if step not in known.made]]
        if settingsfile.digest(raw) == known.written:
            return record.Record(path, written, known.restore, made)
    if raw is None:
        return record.Record(path, written, None, made)
    text = plan.file.text
    if text.strip() and wiring.has_entries(text):
        raw = plan.file.encode(wiring.unwire(text, [tuple(step) for step in made] or None))
    return record.Record(path, written, record.keep_original(home_dir, path, raw), made)


def _apply(plan: Plan) -> None:
    if plan.after is None:
        settingsfile.delete(plan.file)
    else:
        settingsfile.replace(plan.file, plan.after)


def _original(known: record.Record) -> bytes | None:
    if known.restore is None:
        return None
    try:
        with open(known.restore, "rb") as file:
            return file.read()
    except OSError as error:
        raise InstallError(
            f"the original of {known.path} is not readable any more ({error.strerror}); "
            f"backups are in {os.path.dirname(os.path.dirname(known.restore))}/backups"
        ) from error


def _is_table(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(found, list) for found in value.values())


def home_to_bake(home_dir: str) -> str | None:
    """The data folder for the entries: only one that the client's own environment would not lead to."""
    usual = paths.client_config_dir() + "/brimline"
    return None if home_dir == usual else home_dir
