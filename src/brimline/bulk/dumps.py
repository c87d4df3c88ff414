"""Output that is described, not shown: JSON by its shape, paths by their directory. Pure."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from brimline.bulk import kinds, names
from brimline.foreign import flatten

if TYPE_CHECKING:
    from brimline.bulk.preview import Excerpt

_MOST_KEYS = 24
_MOST_DEPTH = 4
_MOST_DULL = 6
_SAMPLE_CHARACTERS = 60
_COMPARED_ITEMS = 50
_NAMED_CHARACTERS = 200_000
_SHAPE_SHARE = 0.45
_NOTE_CHARACTERS = 40
# Values that nobody reads: links, hashes, identifiers made by machines, times.
_OPAQUE = re.compile(
    r"\w+://\S*|[0-9a-f]{16,}|[0-9a-fA-F-]{32,36}|\d{4}-\d\d-\d\d[T ][\d:.,Z+-]*|"
    r"[\w+/-]{40,}={0,2}|(?:msg|req|toolu)_\w+"
)


def describe_dump(text: str, source: Excerpt, kind: str, budget: int) -> str:
    """Describe the output in so many characters; empty where it is not JSON after all."""
    if kind == kinds.PATHS:
        return _describe_paths(source, budget)
    documents = kinds.parse_json_documents_and_rest(text)
    return _describe_json(*documents, budget) if documents else ""


def _describe_json(values: list[Any], rest: str, budget: int) -> str:
    """Shape first, then names out of its texts."""
    value = values[0] if len(values) == 1 else values
    title = "JSON" if len(values) == 1 else f"{len(values)} JSON documents"
    shape = flatten(_describe_value(value, 0), _NAMED_CHARACTERS)
    rows = [names.clip_at_word(f"{title}: {shape}", int(budget * _SHAPE_SHARE))]
    if rest:
        rows.append(f"…then {len(rest):,} characters: {_quote_beginning(rest)}")
    left = budget - sum(len(row) + 1 for row in rows)
    mentions = "Names in it:"
    named = names.find_names_not_shown(enumerate(_json_prose_strings(value)), "\n".join(rows))
    chosen = names.choose_names_that_fit(named, left - len(mentions), names.NUMBER)
    if chosen:
        rows.append(" ".join([mentions, *[name.text for name in chosen]]))
    return "\n".join(rows)[:budget]


def _describe_value(value: Any, depth: int) -> str:
    if isinstance(value, dict):
        return _describe_object(value, depth)
    if isinstance(value, list):
        return _describe_list(value, depth)
    return _quote_beginning(value) if isinstance(value, str) else json.dumps(value)


def _describe_list(value: list[Any], depth: int) -> str:
    if depth >= _MOST_DEPTH or not value:
        return f"[{len(value)} items]" if value else "[]"
    if not all(isinstance(item, dict) for item in value):
        return f"[{len(value)} × {_describe_value(value[0], depth + 1)}]"
    # All samples are of one item: values of several side by side would describe none of them.
    sample = max(value[:_COMPARED_ITEMS], key=_count_informative_values)
    return f"[{len(value)} × {_describe_object(sample, depth + 1)}]"


def _count_informative_values(item: dict[str, Any]) -> int:
    return sum(not _is_uninformative(value) for value in item.values())


def _describe_object(value: dict[str, Any], depth: int) -> str:
    """Keys with samples, then those whose values say nothing."""
    if depth >= _MOST_DEPTH:
        return f"{{{len(value)} keys}}"
    telling = [key for key in value if not _is_uninformative(value[key])][:_MOST_KEYS]
    inner = [f"{key}: {_describe_value(value[key], depth + 1)}" for key in telling]
    rest = [key for key in value if key not in telling]
    more = f" +{len(rest) - _MOST_DULL} keys" if len(rest) > _MOST_DULL else ""
    return "{" + ", ".join([*inner, *([" ".join(rest[:_MOST_DULL]) + more] if rest else [])]) + "}"


def _is_uninformative(value: Any) -> bool:
    """Tell whether the key alone says as much; 0 is a number like any other."""
    if isinstance(value, str):
        return not value or bool(_OPAQUE.fullmatch(value))
    return not value and (isinstance(value, bool) or not isinstance(value, int | float))


def _quote_beginning(text: str) -> str:
    most = _SAMPLE_CHARACTERS
    short = flatten(text[: 4 * most], 4 * most)
    return f'"{short}"' if len(text) <= most else f'"{short[:most]}…{len(text)}"'


def _json_prose_strings(value: Any) -> list[str]:
    """Every text in a document that somebody may have written, in order."""
    texts, pending, room = [], [value], _NAMED_CHARACTERS
    while pending and room > 0:
        current = pending.pop()
        if isinstance(current, str):
            if not _OPAQUE.fullmatch(current[:400]):
                texts.append(current[:room])
                room -= len(current)
        elif isinstance(current, dict | list):
            inner = list(current.values()) if isinstance(current, dict) else current
            pending.extend(reversed(inner))
    return texts


def _describe_paths(source: Excerpt, budget: int) -> str:
    """Directories in the order of their size, each with as many of its names as there is room."""
    folders = _names_by_folder(source.lines)
    count = sum(map(len, folders.values()))
    title = f"{count:,} paths in {len(folders):,} directories, with counts and names:"
    if len(source.lines) < source.total:
        looked = f"{len(source.lines):,} looked at"
        title = f"{source.total:,} lines of paths; directories of {looked}, with counts and names:"
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
        room = left // (len(shown) - place)
        inside = names.clip_at_word(" ".join(folders[folder]), room - _NOTE_CHARACTERS)
        left -= len(inside) + 1
        rows.append(f"{labels[folder]}: {inside}" if room > _NOTE_CHARACTERS else labels[folder])
    if len(shown) < len(order):
        rows.append(f"…{len(order) - len(shown):,} more directories")
    return "\n".join(rows)


def _names_by_folder(lines: list[str]) -> dict[str, list[str]]:
    """Names by directory, from one path per line; of Windows, too."""
    folders: dict[str, list[str]] = {}
    for path in filter(None, map(names.line_without_escapes, lines)):
        separator = "/" if "/" in path else "\\"
        folder, mark, name = path.rstrip(separator).rpartition(separator)
        folders.setdefault(folder + mark or ".", []).append(name)
    return folders
