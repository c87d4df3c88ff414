"""Edits of JSON text that leave every character outside the edit as it was.

`remove` undoes `insert_member` and `append_element` to the byte, for every valid text, without
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
from typing import Any, NamedTuple, NoReturn, TypeAlias

Path: TypeAlias = Sequence[str | int]

_MAX_DEPTH = 200
_DEFAULT_UNIT = "  "
_BLANK = re.compile(r"[ \t\n\r]*")
_INDENT = re.compile(r"[ \t]*")
_SCALAR = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[^ \t\n\r,\]}]+')
_SURROGATE = re.compile("[\ud800-\udfff]")
_TAIL = re.compile(r"(\r?\n)[ \t]*")


class JsonTextError(ValueError):
    """A text that is not JSON, or an edit it does not allow."""


class Node(NamedTuple):
    """One JSON value, spanning `text[start:end]`."""

    text: str
    start: int
    end: int
    children: tuple[Child, ...] = ()

    @property
    def value(self) -> Any:
        """The value as `json.loads` gives it: of duplicate keys the last one counts."""
        return json.loads(self.text[self.start : self.end])

    def index_of(self, step: str | int) -> int | None:
        """Where among the children a key or an index leads, or None; the last duplicate counts."""
        found = [at for at, child in enumerate(self.children) if child.key == step]
        return found[-1] if found else None


class Child(NamedTuple):
    """A member of an object, or an element of an array, with the value in it."""

    key: str | int
    start: int
    key_end: int
    node: Node

    @property
    def end(self) -> int:
        """Where its value ends."""
        return self.node.end


def parse(text: str) -> Node:
    """Read a whole JSON text.

    Raises:
        JsonTextError: it is none, or one that is nested too deep.
    """
    try:
        json.loads(text, parse_constant=_refuse)
    except json.JSONDecodeError as error:
        place = f"at line {error.lineno}, column {error.colno}"
        raise JsonTextError(f"{error.msg} {place}") from None
    except (ValueError, RecursionError) as error:
        raise JsonTextError(f"it cannot be read: {error}") from None
    return _node(text, _skip(text, 0), 0)


def insert_member(text: str, path: Path, key: str, value: object) -> str:
    """Add a member at the end of the object at `path`; the key must be new there."""
    chain = _resolve(parse(text), path)
    if text[chain[-1].start] != "{" or chain[-1].index_of(key) is not None:
        raise JsonTextError(f"cannot add {json.dumps(key)}: no object, or it is there already")
    return _add(chain, key, value)


def append_element(text: str, path: Path, value: object) -> str:
    """Add an element at the end of the array at `path`."""
    chain = _resolve(parse(text), path)
    if text[chain[-1].start] != "[":
        raise JsonTextError("cannot append to what is no list")
    return _add(chain, None, value)


def replace_value(text: str, path: Path, value: object) -> str:
    """Put another value in the place of the one at `path`; the empty path is the whole value."""
    chain = _resolve(parse(text), path)
    old = chain[-1]
    rendered = _Style.around(chain).render(value, _line_indent(text, old.start))
    return text[: old.start] + rendered + text[old.end :]


def remove(text: str, path: Path) -> str:
    """Take out the member or element at `path`, with the comma and space its addition brought.

    Of duplicate keys the last one goes, which uncovers the one before it.
    """
    parent = _resolve(parse(text), path)[-2]
    children = parent.children
    index = parent.index_of(path[-1]) or 0
    if index:
        return text[: children[index - 1].end] + text[children[index].end :]
    if len(children) > 1:
        return text[: children[0].start] + text[children[1].start :]
    opened, closing = parent.start + 1, parent.end - 1
    before, after = text[opened : children[0].start], text[children[0].end : closing]
    return text[:opened] + _blank_before_addition(before, after) + text[closing:]


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")


def _node(text: str, at: int, depth: int) -> Node:
    """The value that begins at `at`, in a text that is known to be JSON."""
    if depth > _MAX_DEPTH:
        raise JsonTextError(f"it is nested deeper than {_MAX_DEPTH} levels")
    if text[at] not in "{[":
        return Node(text, at, _scalar_end(text, at))
    children: list[Child] = []
    place = _skip(text, at + 1)
    while text[place] not in "}]":
        key: str | int = len(children)
        start = key_end = place
        if text[at] == "{":
            key_end = _scalar_end(text, place)
            key = json.loads(text[place:key_end])
            place = _skip(text, _skip(text, key_end) + 1)
        children.append(Child(key, start, key_end, _node(text, place, depth + 1)))
        place = _skip(text, children[-1].end)
        if text[place] == ",":
            place = _skip(text, place + 1)
    return Node(text, at, place + 1, tuple(children))


def _scalar_end(text: str, at: int) -> int:
    found = _SCALAR.match(text, at)
    return found.end() if found else at


def _skip(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return found.end() if found else at


def _resolve(root: Node, path: Path) -> list[Node]:
    """The nodes from the root to the one at `path`, both included."""
    chain = [root]
    for step in path:
        index = chain[-1].index_of(step)
        if index is None:
            raise JsonTextError(f"nothing is named {json.dumps(step)} there")
        chain.append(chain[-1].children[index].node)
    return chain


class _Style(NamedTuple):
    """How the text around a place is laid out."""

    in_line: bool
    newline: str
    unit: str
    comma: str
    colon: str

    @classmethod
    def around(cls, chain: list[Node]) -> _Style:
        """Read the style off the containers from the root to the place, the nearest first.

        The innermost container that holds anything decides whether to stay on one line; a text
        with nothing in it (`{}`) shows no style and is laid out in lines.
        """
        nearest = [node for node in reversed(chain) if node.children]
        text = chain[0].text
        in_line = bool(nearest) and not _has_break(text[nearest[0].start : nearest[0].end])
        comma, colon = _sampled_comma(nearest), _sampled_colon(nearest)
        is_airy = (colon or comma or (":" if in_line else ": ")).endswith(" ")
        return cls(
            in_line=in_line,
            newline="\r\n" if 2 * text.count("\r\n") > text.count("\n") else "\n",
            unit=_sampled_unit(nearest),
            comma=comma or (", " if is_airy else ","),
            colon=colon or (": " if is_airy else ":"),
        )

    def render(self, value: object, indent: str) -> str:
        """Write a value whose first line starts at `indent`."""
        unit, comma = (None, self.comma) if self.in_line else (self.unit, ",")
        written = json.dumps(
            value, ensure_ascii=False, allow_nan=False, indent=unit, separators=(comma, self.colon)
        )
        written = _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", written)
        return written.replace("\n", self.newline + indent)


def _add(chain: list[Node], key: str | None, value: object) -> str:
    target, style = chain[-1], _Style.around(chain)
    text, at = target.text, target.end - 1
    if target.children:
        last = target.children[-1]
        at, indent, tail = last.end, _line_indent(text, last.start), ""
        before = target.children[-2].end if len(target.children) > 1 else target.start + 1
        in_lines = _has_break(text[before : last.start])
        lead = "," + style.newline + indent if in_lines else style.comma
    elif style.in_line:
        indent = lead = ""
        tail = text[target.start + 1 : at]
    else:
        outer = _line_indent(text, target.start)
        indent = outer + style.unit
        lead, tail = style.newline + indent, style.newline + outer
    name = "" if key is None else style.render(key, "") + style.colon
    return text[:at] + lead + name + style.render(value, indent) + tail + text[at:]


def _blank_before_addition(before: str, after: str) -> str:
    """Recover what an empty container held from the blanks around its only child."""
    tail = _TAIL.fullmatch(after)
    if tail is None:
        return before if before == after and not _has_break(before) else ""
    head = before.rstrip(" \t")
    return head.removesuffix(tail[1]) if head.endswith(tail[1]) else ""


def _sampled_comma(containers: list[Node]) -> str:
    for node in containers:
        if len(node.children) > 1:
            gap = node.text[node.children[-2].end : node.children[-1].start]
            if not _has_break(gap):
                return _normalised(gap, ",")
    return ""


def _sampled_colon(containers: list[Node]) -> str:
    for node in containers:
        last = node.children[-1]
        if isinstance(last.key, str):
            return _normalised(node.text[last.key_end : last.node.start], ":")
    return ""


def _normalised(gap: str, mark: str) -> str:
    """Narrow the blanks around a comma or colon to one space each."""
    return ("" if gap.startswith(mark) else " ") + mark + ("" if gap.endswith(mark) else " ")


def _sampled_unit(containers: list[Node]) -> str:
    for node in containers:
        first = node.children[0].start
        outer, inner = _line_indent(node.text, node.start), _line_indent(node.text, first)
        deeper = inner.startswith(outer) and inner != outer
        if deeper and _has_break(node.text[node.start : first]):
            return inner.removeprefix(outer)
    return _DEFAULT_UNIT


def _line_indent(text: str, at: int) -> str:
    line_start = max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1
    found = _INDENT.match(text, line_start, at)
    return found[0] if found else ""


def _has_break(text: str) -> bool:
    return "\n" in text or "\r" in text
