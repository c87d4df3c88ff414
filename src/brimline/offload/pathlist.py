"""A list of paths in short: directories with their counts, then names. Pure."""

from __future__ import annotations

from brimline.offload import signal

_NOTE_CHARACTERS = 40


def describe(lines: list[str], total: int, budget: int) -> str:
    """Directories in the order of their size, each with as many of its names as there is room."""
    folders: dict[str, list[str]] = {}
    for line in lines:
        path = signal.clean(line)
        if path:
            folder, _, name = path.rstrip("/").rpartition("/")
            folders.setdefault(folder, []).append(name)
    looked_at = "" if len(lines) == total else f" among the {len(lines):,} looked at"
    title = f"{total:,} paths; directories{looked_at} with counts and names:"
    order = sorted(folders, key=lambda folder: (-len(folders[folder]), folder))
    labels = {folder: f"{folder}/ ({len(folders[folder]):,})" for folder in order}
    left = budget - len(title) - _NOTE_CHARACTERS
    shown: list[str] = []
    for folder in order:
        if len(labels[folder]) + 2 > left:
            break
        left -= len(labels[folder]) + 2
        shown.append(folder)
    rows = [title]
    for place, folder in enumerate(shown):
        names = _fitting(folders[folder], left // (len(shown) - place))
        left -= sum(len(name) + 1 for name in names)
        rows.append(" ".join([f"{labels[folder]}:", *names]) if names else labels[folder])
    if len(shown) < len(order):
        rows.append(f"…{len(order) - len(shown):,} more directories")
    return "\n".join(rows)


def _fitting(names: list[str], room: int) -> list[str]:
    found = []
    for name in names:
        room -= len(name) + 1
        if room < 0:
            break
        found.append(name)
    return found
