"""The shape of JSON output: keys, lengths, samples, items told apart, names in it. Pure."""

from __future__ import annotations

import json
import re

from brimline.offload import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_LARGEST_CHARACTERS = 4_000_000
_MOST_DOCUMENTS = 400
# A list in brackets at the start of a log is no document: JSON has to be most of the text.
_LEAST_SHARE = 1 / 3
_MOST_KEYS = 24
_MOST_DULL_KEYS = 6
_MOST_DEPTH = 4
_SAMPLE_CHARACTERS = 60
_ROW_FIELDS = 5
_ROW_CHARACTERS = 72
_COMPARED_ITEMS = 50
_NAMED_CHARACTERS = 200_000
_SHAPE_SHARE = 0.45
_ROWS_SHARE = 0.3
_NEXT = re.compile(r"\S")
# Values that nobody reads: links, hashes, identifiers made by machines, times.
_OPAQUE = re.compile(
    r"\w+://\S*|[0-9a-f]{16,}|[0-9a-fA-F-]{32,36}|\d{4}-\d\d-\d\d[T ][\d:.,Z+-]*|"
    r"[\w+/-]{40,}={0,2}|(?:msg|req|toolu)_\w+"
)
# Fields by which people and services name things, best first.
_NAMING = (
    *("path", "file", "filename", "file_path", "name", "id", "number", "key", "title", "subject"),
    *(
        "identifier",
        "slug",
        "ref",
        "state",
        "status",
        "conclusion",
        "type",
        "kind",
        "line",
        "login",
    ),
    *("message", "body", "text", "content", "description"),
)


class Documents:
    """The JSON found in a text."""

    __slots__ = ("rest", "values")

    def __init__(self, values: list[Any], rest: str) -> None:
        self.values = values
        # What comes after it.
        self.rest = rest


def documents_of(text: str) -> Documents | None:
    """One document, or one after the other; None where most of the text is something else."""
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
    return Documents(found, text[end:].strip())


def describe(documents: Documents, budget: int) -> str:
    """Shape first, then a row for each item of the longest list, then names out of its texts."""
    values = documents.values
    value = values[0] if len(values) == 1 else values
    title = "JSON" if len(values) == 1 else f"{len(values)} JSON documents"
    rows = [signal.clip(f"{title}: {_shape(value, 0)}", int(budget * _SHAPE_SHARE))]
    if documents.rest:
        rows.append(f"…then {len(documents.rest):,} characters: {_sample(documents.rest)}")
    left = budget - sum(len(row) + 1 for row in rows)
    for row in _item_rows(value, min(left, int(budget * _ROWS_SHARE))):
        rows.append(row)
        left -= len(row) + 1
    mentions = "Names in it:"
    found = signal.names(enumerate(_values(value)), "\n".join(rows))
    chosen = signal.afford(found, left - len(mentions), signal.NUMBER)
    if chosen:
        rows.append(" ".join([mentions, *[name.text for name in chosen]]))
    return "\n".join(rows)[:budget]


def _shape(value: Any, depth: int) -> str:
    if isinstance(value, dict):
        return _object_shape(value, depth)
    if isinstance(value, list):
        return _list_shape(value, depth)
    return _sample(value) if isinstance(value, str) else json.dumps(value)


def _object_shape(value: dict[str, Any], depth: int) -> str:
    if not value:
        return "{}"
    if depth >= _MOST_DEPTH:
        return f"{{{len(value)} keys}}"
    telling = [key for key in value if not _is_dull(value[key])][:_MOST_KEYS]
    inner = [f"{key}: {_shape(value[key], depth + 1)}" for key in telling]
    rest = [key for key in value if key not in telling]
    if rest:
        more = len(rest) - _MOST_DULL_KEYS
        inner.append(" ".join(rest[:_MOST_DULL_KEYS]) + (f" +{more} keys" if more > 0 else ""))
    return "{" + ", ".join(inner) + "}"


def _list_shape(value: list[Any], depth: int) -> str:
    if not value:
        return "[]"
    if depth >= _MOST_DEPTH:
        return f"[{len(value)} items]"
    objects = [item for item in value if isinstance(item, dict)]
    if len(objects) < len(value) or len(value) == 1:
        return f"[{len(value)} × {_shape(value[0], depth + 1)}]"
    merged: dict[str, Any] = {}
    for item in objects:
        for key, inner in item.items():
            if key not in merged or _is_dull(merged[key]):
                merged[key] = inner
    return f"[{len(value)} × {_object_shape(merged, depth + 1)}]"


def _is_dull(value: Any) -> bool:
    """Whether the key alone says as much."""
    if isinstance(value, str):
        return not value or bool(_OPAQUE.fullmatch(value))
    return not value


def _sample(text: str, most: int = _SAMPLE_CHARACTERS) -> str:
    short = " ".join(text[: 4 * most].split())
    return f'"{short}"' if len(text) <= most else f'"{short[:most]}…{len(text)}"'


def _item_rows(value: Any, room: int) -> list[str]:
    where, items = _longest_list(value)
    fields = _telling_fields(items)
    if not fields:
        return []
    rows = []
    for index, item in enumerate(items):
        row = f"{where}[{index}] " + _row(item, fields)
        room -= len(row) + 1
        if room < 0:
            break
        rows.append(row)
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
            pending.extend(
                (f"{path}.{key}".lstrip("."), current[key], depth + 1) for key in reversed(current)
            )
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
    telling.sort(key=lambda key: order.get(key.lower(), len(order)))
    return telling[:_ROW_FIELDS]


def _row(item: dict[str, Any], fields: list[str]) -> str:
    cells = []
    for key in fields:
        value = item.get(key)
        if not _is_dull(value):
            text = _sample(value, _ROW_CHARACTERS) if isinstance(value, str) else str(value)
            cells.append(f"{key}={text}")
    return " ".join(cells)


def _values(value: Any) -> list[str]:
    """Every text in a document that somebody may have written, in order."""
    found, pending, room = [], [value], _NAMED_CHARACTERS
    while pending and room > 0:
        current = pending.pop()
        if isinstance(current, str):
            if not _OPAQUE.fullmatch(current[:400]):
                found.append(current[:room])
                room -= len(current)
        elif isinstance(current, dict):
            pending.extend(reversed(list(current.values())))
        elif isinstance(current, list):
            pending.extend(reversed(current))
    return found
