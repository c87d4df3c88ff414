"""Output that is described rather than shown: JSON by its shape, lists of paths by directory. Pure."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from brimline.offload import kinds, names

if TYPE_CHECKING:
    from brimline.offload.preview import Source

_LARGEST_CHARACTERS = 4_000_000
_MOST_DOCUMENTS = 400
# A list in brackets at the start of a log is no document: JSON has to be most of the text.
_LEAST_SHARE = 1 / 3
_MOST_KEYS = 24
_MOST_DEPTH = 4
_SAMPLE_CHARACTERS = 60
_ROW_FIELDS = 5
_ROW_CHARACTERS = 72
_COMPARED_ITEMS = 50
_NAMED_CHARACTERS = 200_000
_SHAPE_SHARE = 0.45
_ROWS_SHARE = 0.3
_NOTE_CHARACTERS = 40
_NEXT = re.compile(r"\S")
# Values that nobody reads: links, hashes, identifiers made by machines, times.
_OPAQUE = re.compile(
    r"\w+://\S*|[0-9a-f]{16,}|[0-9a-fA-F-]{32,36}|\d{4}-\d\d-\d\d[T ][\d:.,Z+-]*|"
    r"[\w+/-]{40,}={0,2}|(?:msg|req|toolu)_\w+"
)
# Fields by which people and services name things, best first.
_NAMING = (
    "path file filename file_path name id number key title subject identifier slug ref state status "
    "conclusion type kind line login message body text content description"
).split()


def describe(text: str, source: Source, kind: str, budget: int) -> str:
    """What the output holds, in so many characters; empty where it is no JSON after all."""
    if kind == kinds.PATHS:
        return _paths(source, budget)
    found = _documents(text.lstrip())
    return _json(*found, budget) if found else ""


def _documents(text: str) -> tuple[list[Any], str] | None:
    """One document, or one after the other, and what follows; None where that is most of it."""
    if len(text) > _LARGEST_CHARACTERS:
        return None
    decoder = json.JSONDecoder(strict=False)
    found: list[Any] = []
    position = end = 0
    while position < len(text) and len(found) < _MOST_DOCUMENTS:
        try:
            document, end = decoder.raw_decode(text, position)
        except (ValueError, RecursionError):
            break
        if not isinstance(document, dict | list):
            break
        found.append(document)
        following = _NEXT.search(text, end)
        position = following.start() if following else len(text)
    if not found or end <= len(text) * _LEAST_SHARE:
        return None
    return found, text[end:].strip()


def _json(values: list[Any], rest: str, budget: int) -> str:
    """Shape first, then a row for each item of the longest list, then names out of its texts."""
    value = values[0] if len(values) == 1 else values
    title = "JSON" if len(values) == 1 else f"{len(values)} JSON documents"
    rows = [names.clip(f"{title}: {_shape(value, 0)}", int(budget * _SHAPE_SHARE))]
    if rest:
        rows.append(f"…then {len(rest):,} characters: {_sample(rest)}")
    left = budget - sum(len(row) + 1 for row in rows)
    for row in _item_rows(value, min(left, int(budget * _ROWS_SHARE))):
        rows.append(row)
        left -= len(row) + 1
    mentions = "Names in it:"
    found = names.names(enumerate(_values(value)), "\n".join(rows))
    chosen = names.afford(found, left - len(mentions), names.NUMBER)
    if chosen:
        rows.append(" ".join([mentions, *[name.text for name in chosen]]))
    return "\n".join(rows)[:budget]


def _shape(value: Any, depth: int) -> str:
    if isinstance(value, dict):
        return _object_shape(value, depth, [])
    if not isinstance(value, list):
        return _sample(value) if isinstance(value, str) else json.dumps(value)
    if depth >= _MOST_DEPTH or not value:
        return f"[{len(value)} items]" if value else "[]"
    objects = [item for item in value if isinstance(item, dict)]
    if len(objects) < len(value):
        return f"[{len(value)} × {_shape(value[0], depth + 1)}]"
    # All samples are of one item: values of several side by side would describe none of them.
    sample = max(objects[:_COMPARED_ITEMS], key=lambda item: sum(not _is_dull(v) for v in item.values()))
    known = dict.fromkeys(key for item in objects for key in item)
    elsewhere = [f"{key}?" for key in known if key not in sample]
    return f"[{len(value)} × {_object_shape(sample, depth + 1, elsewhere)}]"


def _object_shape(value: dict[str, Any], depth: int, elsewhere: list[str]) -> str:
    """Keys with samples, then those whose values say nothing, then those of other items."""
    if depth >= _MOST_DEPTH:
        return f"{{{len(value)} keys}}"
    telling = [key for key in value if not _is_dull(value[key])][:_MOST_KEYS]
    inner = [f"{key}: {_shape(value[key], depth + 1)}" for key in telling]
    rest = [*(key for key in value if key not in telling), *elsewhere]
    more = f" +{len(rest) - 6} keys" if len(rest) > 6 else ""  # noqa: PLR2004 - as many as fit on a glance
    return "{" + ", ".join([*inner, *([" ".join(rest[:6]) + more] if rest else [])]) + "}"


def _is_dull(value: Any) -> bool:
    """Whether the key alone says as much; 0 is a number like any other."""
    if isinstance(value, str):
        return not value or bool(_OPAQUE.fullmatch(value))
    return not value and (isinstance(value, bool) or not isinstance(value, int | float))


def _sample(text: str, most: int = _SAMPLE_CHARACTERS) -> str:
    short = " ".join(text[: 4 * most].split())
    return f'"{short}"' if len(text) <= most else f'"{short[:most]}…{len(text)}"'


def _item_rows(value: Any, room: int) -> list[str]:
    where, items = _longest_list(value)
    fields = _telling_fields(items)
    rows: list[str] = []
    for index, item in enumerate(items if fields else ()):
        cells = [
            f"{key}={_sample(item[key], _ROW_CHARACTERS) if isinstance(item[key], str) else item[key]}"
            for key in fields
            if not _is_dull(item.get(key))
        ]
        rows.append(" ".join([f"{where}[{index}]", *cells]))
        room -= len(rows[-1]) + 1
        if room < 0:
            return rows[:-1]
    return rows


def _longest_list(value: Any) -> tuple[str, list[dict[str, Any]]]:
    """The longest list of objects near the top, and the path to it."""
    best: tuple[str, list[dict[str, Any]]] = ("", [])
    pending: list[tuple[str, Any, int]] = [("", value, 0)]
    while pending:
        path, current, depth = pending.pop()
        if isinstance(current, list):
            objects = [item for item in current if isinstance(item, dict)]
            if len(objects) > max(1, len(best[1])):
                best = (path, objects)
        elif isinstance(current, dict) and depth < _MOST_DEPTH:
            inner = [(f"{path}.{key}".lstrip("."), current[key], depth + 1) for key in current]
            pending += reversed(inner)
    return best


def _telling_fields(items: list[dict[str, Any]]) -> list[str]:
    """The few scalar fields that tell items apart, names and numbers before prose."""
    values: dict[str, set[str]] = {}
    compared = min(len(items), _COMPARED_ITEMS)
    for item in items[:compared]:
        for key, value in item.items():
            if isinstance(value, str | int | float) and not _is_dull(value):
                values.setdefault(key, set()).add(str(value)[:_ROW_CHARACTERS])
    telling = [key for key, seen in values.items() if len(seen) > compared // 2]
    order = {name: place for place, name in enumerate(_NAMING)}
    return sorted(telling, key=lambda key: order.get(key.lower(), len(order)))[:_ROW_FIELDS]


def _values(value: Any) -> list[str]:
    """Every text in a document that somebody may have written, in order."""
    found, pending, room = [], [value], _NAMED_CHARACTERS
    while pending and room > 0:
        current = pending.pop()
        if isinstance(current, str):
            if not _OPAQUE.fullmatch(current[:400]):
                found.append(current[:room])
                room -= len(current)
        elif isinstance(current, dict | list):
            inner = list(current.values()) if isinstance(current, dict) else current
            pending.extend(reversed(inner))
    return found


def _paths(source: Source, budget: int) -> str:
    """Directories in the order of their size, each with as many of its names as there is room."""
    listed = kinds.is_listing(source.lines)
    folders = _listed(source) if listed else _grouped(source.lines)
    count, what = sum(map(len, folders.values())), "names" if listed else "paths"
    title = f"{count:,} {what} in {len(folders):,} directories, with counts and names:"
    if not source.is_whole:
        looked = f"{len(source.lines):,} looked at"
        title = f"{source.total:,} lines of paths; directories among the {looked} with counts and names:"
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
        fitting = _fitting(folders[folder], left // (len(shown) - place))
        left -= sum(len(name) + 1 for name in fitting)
        rows.append(" ".join([f"{labels[folder]}:", *fitting]) if fitting else labels[folder])
    if len(shown) < len(order):
        rows.append(f"…{len(order) - len(shown):,} more directories")
    return "\n".join(rows)


def _grouped(lines: list[str]) -> dict[str, list[str]]:
    """Names by directory, from one path per line; of Windows, too."""
    folders: dict[str, list[str]] = {}
    for path in filter(None, map(names.clean, lines)):
        separator = "/" if "/" in path else "\\"
        folder, mark, name = path.rstrip(separator).rpartition(separator)
        folders.setdefault(folder + mark or ".", []).append(name)
    return folders


def _listed(source: Source) -> dict[str, list[str]]:
    """Names by directory, from what `ls -R` prints: its name, the names in it, a blank line."""
    folders: dict[str, list[str]] = {}
    inside: list[str] | None = None
    before, expected = "", 0
    for line, number in zip(source.lines, source.numbers, strict=True):
        if number != expected:
            inside, before = None, "unknown"  # lines were left out, and with them the directory
        text = names.clean(line)
        if not before and text.endswith(":"):
            inside = folders.setdefault(text[:-1].rstrip("/") + "/", [])
        elif text and inside is not None:
            inside.append(text)
        before, expected = text, number + 1
    return folders


def _fitting(found: list[str], room: int) -> list[str]:
    fitting = []
    for name in found:
        room -= len(name) + 1
        if room < 0:
            break
        fitting.append(name)
    return fitting
