"""What is ours in the data folder, file by file, and what has to be put back before it goes.

The user may have named a folder of their own, so that only names that brimline writes count.
"""

from __future__ import annotations

import contextlib
import os
import re
from typing import TYPE_CHECKING

from brimline import output, rooms
from brimline.errors import BrimlineError, InstallError, reason
from brimline.fast import io, paths
from brimline.hooks import table
from brimline.session import backups, copies, legacy
from brimline.settings import config

if TYPE_CHECKING:
    from brimline.session.legacy import Restoration

# What a room leaves in a session's folder begins with its name, if nothing else is said.
_ROOMS = "|".join(sorted({room for event in table.EVENTS.values() for room in event.rooms}))
# What a write that was cut short leaves behind.
_LEFTOVER = r"(\.\d+\.\d+\.tmp)?"
_KEY = re.compile(rb"sha256:[0-9a-f]{64}")


def our_folders(home_dir: str) -> list[str]:
    """Every folder of ours in the data folder, the outer ones first, itself included."""
    found = [
        folder for pattern in _our_patterns() for folder in _folders_matching(home_dir, pattern)
    ]
    return [folder for folder in sorted(set(found), key=len) if os.path.isdir(folder)]


def our_files(home_dir: str, *, of_any_kind: bool = False) -> list[str]:
    """Every file of ours in the data folder, by its exact name; or whatever is in its place."""
    return [
        f"{folder}/{name}"
        for pattern, names in _our_patterns().items()
        for folder in _folders_matching(home_dir, pattern)
        for name in sorted(io.list_names(folder))
        if names and re.fullmatch(f"({names}){_LEFTOVER}", name)
        if of_any_kind or not os.path.isdir(f"{folder}/{name}")
    ]


def _our_patterns() -> dict[str, str]:
    """By folder (`*` stands for every one there is) the names in it that only brimline writes."""
    names = {"": "", "sessions/*": rf"({_ROOMS})-[\w.-]+"}
    for files in rooms.values_in_all_traces("FILES"):
        for folder, pattern in files.items():
            names[folder] = "|".join(filter(None, (names.get(folder), pattern)))
    return names


def _folders_matching(home_dir: str, pattern: str) -> list[str]:
    """The folders a pattern stands for; below the data folder itself no link is followed."""
    found = [home_dir]
    for name in pattern.split("/") if pattern else []:
        inner = [
            f"{folder}/{entry}"
            for folder in found
            for entry in (sorted(io.list_names(folder)) if name == "*" else [name])
        ]
        found = [path for path in inner if os.path.isdir(path) and not os.path.islink(path)]
    return found


class Stored:
    """Everything of ours: the data folder, the sessions that refer to it, backups beside these."""

    def __init__(self, home_dir: str) -> None:
        """Look for the sessions that were purged or repaired, wherever they are now."""
        self.home_dir = home_dir
        self.problems: list[str] = []
        self._keys: dict[str, set[str]] = {}
        noted = self._collect_rewritten_sessions()
        beside = [backup for path in (*self._keys, *noted) for backup in backups.beside(path)]
        known = {backup.path: backup.session for backup in [*backups.beside_all(), *beside]}
        # A session may have moved away from its backup.
        there = [p for p, of in known.items() if os.path.exists(of) or noted.get(of)]
        self.backups, self.only_copies = sorted(there), sorted(known.keys() - there)

    def _collect_rewritten_sessions(self) -> dict[str, bool]:
        """The sessions that were rewritten, and whether each is still somewhere."""
        noted: dict[str, bool] = {}
        for name in legacy.sessions_with_notes(self.home_dir):
            notes, damaged = legacy.read_notes_and_problems(self.home_dir, name)
            self.problems += [str(problem) for problem in damaged]
            for note in notes:
                places = note.find_session_files()
                noted[note.path] = bool(places)
                for path in places:
                    self._keys.setdefault(path, set()).update(note.store_keys)
        return noted

    def lines_on_what_deleting_means(self) -> list[str]:
        """Return what deleting it all means, a line each."""
        lines = []
        if self._keys or self.problems:
            amount = output.count_text(len(self._keys), "session")
            lines.append(f"Restore {amount} that an older brimline rewrote, in copies, first.")
        lines.append(f"Delete everything brimline has stored in {self.home_dir}.")
        lines.append("Keys that previews and compactions left in sessions then lead nowhere.")
        lost = [one for one in copies.all_copies(self.home_dir) if one.is_last_to_know]
        if lost:
            told = "purged session" if len(lost) == 1 else "purged sessions"
            lines.append(f"What was replaced in {len(lost):,} {told} is lost: no original is left.")
        if self.backups:
            lines.append(
                f"Delete {output.count_text(len(self.backups), 'backup')} beside sessions."
            )
        return lines

    def restore_and_list_restored(self) -> list[str]:
        """Restore sessions as far as possible; why others still need the data is a problem.

        The notes stay, as another copy may need them.
        """
        restored = []
        for path, keys in sorted(self._keys.items()):
            try:
                plan = legacy.plan_full_restore(path, self.home_dir)
                where = legacy.restore(plan).path if plan.undone else path
                restored += [where] if plan.undone else []
                why = _why_session_needs_data(where, plan, keys)
            except (BrimlineError, OSError) as error:
                why = str(error)
            if why is not None:
                self.problems.append(f"{path} could not be restored: {why}")
        return restored

    def delete(self) -> list[str]:
        """Delete files, the folders that this empties, backups; returns what is in there still.

        Raises:
            InstallError: something of ours cannot be deleted.
        """
        # What else stands in the user's settings file is not ours; this folder is not a project.
        others = config.load(self.home_dir, f"{self.home_dir}/install", environment=False).problems
        kept = paths.user_config(self.home_dir) if others else ""
        try:
            for file in [*self.backups, *our_files(self.home_dir)]:
                if file != kept:
                    io.remove(file)
        except OSError as error:
            raise InstallError(f"not everything could be deleted: {reason(error)}") from error
        for folder in reversed(our_folders(self.home_dir)):
            if not os.path.islink(folder):  # whoever made the link may still want it
                with contextlib.suppress(OSError):  # something in there is not ours
                    os.rmdir(folder)
        return sorted(io.list_names(self.home_dir))


def _why_session_needs_data(path: str, plan: Restoration, keys: set[str]) -> str | None:
    """Why a session would miss the data although it was put back as far as possible."""
    if plan.problems:
        return str(plan.problems[0])
    with open(path, "rb") as file:
        left = {key.decode() for line in file for key in _KEY.findall(line)} & keys
    return f"it still refers to {len(left):,} stored results" if left else None
