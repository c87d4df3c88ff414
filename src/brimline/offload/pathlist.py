"""A list of paths in short: directories with their counts, then names. Pure.

`ls -R` names each directory on a line of its own, with the names in it below and a blank line
after them.
"""

from __future__ import annotations

from brimline.offload import shapes, signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from brimline.offload.source import Source

_NOTE_CHARACTERS = 40


def describe(source: Source, budget: int) -> str:
    """Directories in the order of their size, each with as many of its names as there is room."""
    listed = shapes.is_listing(source.lines)
    folders = _listed(source) if listed else _grouped(source.lines)
    title = _title(source, folders, listed=listed)
    order = sorted(folders, key=lambda folder: (-len(folders[folder]), folder))
    labels = {folder: f"{folder} ({len(folders[folder]):,})" for folder in order}
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


def _title(source: Source, folders: dict[str, list[str]], *, listed: bool) -> str:
    if not source.is_whole:
        what = "lines of a listing" if listed else "paths"
        seen = f"{len(source.lines):,} looked at"
        return f"{source.total:,} {what}; directories among the {seen} with counts and names:"
    count = sum(map(len, folders.values()))
    if listed:
        return f"{count:,} names in {len(folders):,} directories, with counts and names:"
    return f"{count:,} paths; directories with counts and names:"


def _grouped(lines: list[str]) -> dict[str, list[str]]:
    """Names by directory, from one path per line; of Windows, too."""
    folders: dict[str, list[str]] = {}
    for line in lines:
        path = signal.clean(line)
        if path:
            separator = "/" if "/" in path else "\\"
            folder, mark, name = path.rstrip(separator).rpartition(separator)
            folders.setdefault(folder + mark or ".", []).append(name)
    return folders


def _listed(source: Source) -> dict[str, list[str]]:
    """Names by directory, from what `ls -R` prints."""
    folders: dict[str, list[str]] = {}
    names: list[str] | None = None
    before, expected = "", 0
    for line, number in zip(source.lines, source.numbers, strict=True):
        if number != expected:
            names, before = None, "unknown"  # lines were left out, and with them the directory
        text = signal.clean(line)
        if not before and text.endswith(":"):
            names = folders.setdefault(text[:-1].rstrip("/") + "/", [])
        elif text and names is not None:
            names.append(text)
        before, expected = text, number + 1
    return folders


def _fitting(names: list[str], room: int) -> list[str]:
    found = []
    for name in names:
        room -= len(name) + 1
        if room < 0:
            break
        found.append(name)
    return found
