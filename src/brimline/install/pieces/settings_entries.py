"""The hooks and the status line in one settings file of the client."""

from __future__ import annotations

from typing import TYPE_CHECKING

from brimline.install import installer, ownfiles
from brimline.install.pieces.piece import FileChange, Plan

if TYPE_CHECKING:
    from brimline.install import entries


class SettingsEntries:
    """Whatever of ours is in one settings file."""

    def __init__(self, path: str, home_dir: str) -> None:
        """Name the file, and the data folder with its record."""
        self.path, self.home_dir = path, home_dir

    @property
    def subject(self) -> str:
        """The file."""
        return self.path

    def plan_removal(self) -> Plan:
        """The original back, or our entries out."""
        return _plan(installer.plan_uninstall(self.path, self.home_dir))

    def remove(self) -> Plan:
        """Put the file back, after a backup."""
        plan = self.plan_removal()
        if not installer.uninstall(self.path, self.home_dir):
            plan.files = []
        return plan


class NewSettingsEntries(SettingsEntries):
    """Entries to be written into one settings file."""

    def __init__(self, path: str, home_dir: str, project_dir: str, wired: entries.Wiring) -> None:
        """Name also the project, and what the entries shall start."""
        super().__init__(path, home_dir)
        self.project_dir, self.wired = project_dir, wired

    def plan(self) -> Plan:
        """The change to the file."""
        found = installer.plan_install(self.path, self.wired, self.home_dir, self.project_dir)
        plan = _plan(found)
        if self.wired.launcher and not installer.launcher_is_current(self.wired):
            before = ownfiles.read_plain(self.wired.launcher)
            change = FileChange(self.wired.launcher, before, self.wired.launcher_bytes())
            plan.files.append(change)
        if any(rule.encode() not in (found.file.raw or b"") for rule in self.wired.rules):
            plan.notes.append(
                "the model may fetch stored output unasked (`recall`, `brimline store get`); "
                "`--no-allow` leaves these permission rules out"
            )
        return plan

    def apply(self) -> Plan:
        """Write the entries, after a backup."""
        plan = self.plan()
        installer.write_launcher(self.wired)
        plan.backup = installer.install(self.path, self.wired, self.home_dir, self.project_dir)
        return plan


def _plan(found: installer.Plan) -> Plan:
    change = FileChange(found.file.path, found.file.raw, found.after)
    return Plan([change] if found.changes else [])
