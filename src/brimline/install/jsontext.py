"""Edits of JSON text that leave every character outside the edit as it was.

`remove` undoes `with_new_member` and `with_appended` to the byte, for every valid text, without
being told what the text was:

- In a container that has children, the addition is one run right after the last child: comma,
  white space, child. Removing a child that has a predecessor cuts from the predecessor's end to
  its own.
- In an empty container whose brackets hold the white space W, the addition goes between W and
  the closing bracket. On one line it is child + W, so W stands on both sides. On several lines it
  is newline + indentation + child + newline + indentation, so W is what precedes the last newline
  before the child. The newline after the child tells which newline that is, LF or CRLF.

Only an only child laid out in neither way, which no addition makes, leaves W unknown: removing it
leaves the container as `{}` or `[]`. A first child with successors takes what separates it from
the next one along, so several additions can be removed in any order.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

from brimline.errors import InstallError

Path: TypeAlias = Sequence[str | int]

_DEFAULT_UNIT = "  "
_FIRST_INDENT = re.compile(r"[\r\n]([ \t]+)[^ \t\r\n]")
_BLANK = re.compile(r"[ \t\n\r]*")
_SCALAR = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[^ \t\n\r,\]}]+')
_SURROGATE = re.compile("[\ud800-\udfff]")
_TAIL = re.compile(r"(\r?\n)[ \t]*")


def parse_json_text(text: str) -> Any:
    """The value of a JSON text: of duplicate keys the last one counts.

    Raises:
        InstallError: it is none.
    """
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        place = f"at line {error.lineno}, column {error.colno}"
        raise InstallError(f"this is not valid JSON: {error.msg} {place}") from None
    except (ValueError, RecursionError) as error:
        raise InstallError(f"this is not valid JSON: {error}") from None


def with_new_member(text: str, path: Path, key: str, value: object) -> str:
    """Add a member at the end of the object at `path`; the key must be new there.

    Objects that are missing on the way are made.
    """
    try:
        return _with_child(text, path, json.dumps(key, ensure_ascii=False) + ": ", value)
    except IndexError:
        return with_new_member(text, path[:-1], str(path[-1]), {key: value})


def with_appended(text: str, path: Path, value: object) -> str:
    """Add an element at the end of the array at `path`."""
    return _with_child(text, path, "", value)


def with_value(text: str, path: Path, value: object) -> str:
    """Put another value in the place of the one at `path`."""
    *_, old = _nodes_on_path(text, path)
    return (
        text[: old.start] + _json_text(text, value, _indent_at(text, old.start)) + text[old.end :]
    )


def without_value(text: str, path: Path) -> str:
    """Take out the member or element at `path`, with the comma and space its addition brought.

    Of duplicate keys the last one goes, which uncovers the one before it.
    """
    *_, parent, child = _nodes_on_path(text, path)
    children, index = parent.children, parent.children.index(child)
    if index:
        return text[: children[index - 1].end] + text[child.end :]
    if len(children) > 1:
        return text[: child.begin] + text[children[1].begin :]
    opened, closing = parent.start + 1, parent.end - 1
    before, after = text[opened : child.begin], text[child.end : closing]
    return text[:opened] + _blank_left_in_emptied_container(before, after) + text[closing:]


class _Node(NamedTuple):
    """One JSON value, spanning `text[start:end]`; with the key before it, from `begin` on."""

    key: str | int
    begin: int
    start: int
    end: int
    children: list[_Node]


def _nodes_on_path(text: str, path: Path) -> list[_Node]:
    """The nodes from the root to the one at `path`, both included; the last duplicate counts.

    Raises:
        IndexError: there is none.
    """
    parse_json_text(text)
    try:
        chain = [_parse_node(text, "", _end_of_space_at(text, 0), _end_of_space_at(text, 0))]
    except RecursionError:
        raise InstallError("this is not valid JSON: it is nested too deep") from None
    for step in path:
        chain.append([child for child in chain[-1].children if child.key == step][-1])
    return chain


def _parse_node(text: str, key: str | int, begin: int, start: int) -> _Node:
    """The value that begins at `start`, in a text that is known to be JSON."""
    children: list[_Node] = []
    if text[start] not in "{[":
        return _Node(key, begin, start, _end_of_match_at(_SCALAR, text, start), children)
    place = _end_of_space_at(text, start + 1)
    while text[place] not in "}]":
        name: str | int = len(children)
        inner = place
        if text[start] == "{":
            name_end = _end_of_match_at(_SCALAR, text, place)
            name = json.loads(text[place:name_end])
            inner = _end_of_space_at(text, _end_of_space_at(text, name_end) + 1)
        children.append(_parse_node(text, name, place, inner))
        place = _end_of_space_at(text, children[-1].end)
        if text[place] == ",":
            place = _end_of_space_at(text, place + 1)
    return _Node(key, begin, start, place + 1, children)


def _with_child(text: str, path: Path, name: str, value: object) -> str:
    *_, target = _nodes_on_path(text, path)
    at, newline = target.end - 1, _line_break_used_in(text)
    if target.children:
        last = target.children[-1]
        at, indent, tail = last.end, _indent_at(text, last.begin), ""
        before = target.children[-2].end if len(target.children) > 1 else target.start + 1
        in_lines = _has_line_break(text[before : last.begin])
        lead = "," + newline + indent if in_lines else ", "
    elif _is_whole_text_on_one_line(text):
        indent = lead = ""
        tail = text[target.start + 1 : at]
    else:
        outer = _indent_at(text, target.start)
        indent = outer + _indent_unit(text)
        lead, tail = newline + indent, newline + outer
    return text[:at] + lead + name + _json_text(text, value, indent) + tail + text[at:]


def _json_text(text: str, value: object, indent: str) -> str:
    """Write a value whose first line starts at `indent`, laid out as the text is."""
    unit = None if _is_whole_text_on_one_line(text) else _indent_unit(text)
    written = json.dumps(value, ensure_ascii=False, indent=unit)
    written = _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", written)
    return written.replace("\n", _line_break_used_in(text) + indent)


def _is_whole_text_on_one_line(text: str) -> bool:
    """Tell whether all of it is on one line; `{}` shows no style."""
    return not _has_line_break(text.strip()) and bool(text.strip(" \t\r\n{}[]"))


def _indent_unit(text: str) -> str:
    found = _FIRST_INDENT.search(text)
    return found[1] if found else _DEFAULT_UNIT


def _blank_left_in_emptied_container(before: str, after: str) -> str:
    """Recover what an empty container held from the blanks around its only child."""
    tail = _TAIL.fullmatch(after)
    if tail is None:
        return before if before == after and not _has_line_break(before) else ""
    head = before.rstrip(" \t")
    return head.removesuffix(tail[1]) if head.endswith(tail[1]) else ""


def _end_of_match_at(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return found.end() if found else at


def _end_of_space_at(text: str, at: int) -> int:
    return _end_of_match_at(_BLANK, text, at)


def _line_break_used_in(text: str) -> str:
    return "\r\n" if 2 * text.count("\r\n") > text.count("\n") else "\n"


def _indent_at(text: str, at: int) -> str:
    line_start = max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1
    line = text[line_start:at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _has_line_break(text: str) -> bool:
    return "\n" in text or "\r" in text
