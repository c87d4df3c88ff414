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

import json
import re
from dataclasses import dataclass

from brimline.install.jsonnodes import (
    JsonTextError,
    Member,
    Node,
    Path,
    error_at,
    parse,
    resolve,
)

__all__ = [
    "JsonTextError",
    "Member",
    "Node",
    "append_element",
    "insert_member",
    "parse",
    "remove",
    "replace_value",
]

_DEFAULT_UNIT = "  "
_INDENT = re.compile(r"\ufeff?([ \t]*)")
_SURROGATE = re.compile("[\ud800-\udfff]")
_TAIL = re.compile(r"(\r?\n)[ \t]*")


def insert_member(text: str, path: Path, key: str, value: object) -> str:
    """Add a member at the end of the object at `path`; the key must be new there."""
    chain = resolve(parse(text), path)
    _require(chain[-1], "object")
    if chain[-1].index_of(key) is not None:
        raise error_at(text, chain[-1].start, f"{json.dumps(key)} already is in the object")
    return _add(chain, key, value)


def append_element(text: str, path: Path, value: object) -> str:
    """Add an element at the end of the array at `path`."""
    chain = resolve(parse(text), path)
    _require(chain[-1], "array")
    return _add(chain, None, value)


def replace_value(text: str, path: Path, value: object) -> str:
    """Put another value in the place of the one at `path`; the empty path is the whole value."""
    chain = resolve(parse(text), path)
    old = chain[-1]
    rendered = _Style.around(chain).render(value, _line_indent(text, old.start))
    return _checked(text[: old.start] + rendered + text[old.end :])


def remove(text: str, path: Path) -> str:
    """Take out the member or element at `path`, with the comma and space its addition brought.

    Of duplicate keys the last one goes, which uncovers the one before it.
    """
    root = parse(text)
    if not path:
        raise error_at(text, root.start, "The outermost value cannot be removed")
    parent = resolve(root, path)[-2]
    children = parent.children
    index = parent.index_of(path[-1]) or 0
    if index:
        return text[: children[index - 1].end] + text[children[index].end :]
    if len(children) > 1:
        return text[: children[0].start] + text[children[1].start :]
    opened, closing = parent.start + 1, parent.end - 1
    blank = _blank_before_addition(
        text[opened : children[0].start], text[children[0].end : closing]
    )
    return text[:opened] + blank + text[closing:]


@dataclass(frozen=True, slots=True)
class _Style:
    """How the text around a place is laid out."""

    in_line: bool
    newline: str
    unit: str
    comma: str
    colon: str

    @classmethod
    def around(cls, chain: tuple[Node, ...]) -> "_Style":
        """Read the style off the containers from the root to the place, the nearest first.

        The innermost container that holds anything decides whether to stay on one line; a text
        with nothing in it (`{}`) shows no style and is laid out in lines.
        """
        nearest_first = [node for node in reversed(chain) if node.children]
        text = chain[0].source
        in_line = bool(nearest_first) and nearest_first[0].is_single_line
        comma, colon = _sampled_comma(nearest_first), _sampled_colon(nearest_first)
        is_airy = (colon or comma or (":" if in_line else ": ")).endswith(" ")
        return cls(
            in_line=in_line,
            newline="\r\n" if 2 * text.count("\r\n") > text.count("\n") else "\n",
            unit=_sampled_unit(nearest_first),
            comma=comma or (", " if is_airy else ","),
            colon=colon or (": " if is_airy else ":"),
        )

    def render(self, value: object, indent: str) -> str:
        """Write a value whose first line starts at `indent`."""
        unit, comma = (None, self.comma) if self.in_line else (self.unit, ",")
        written = json.dumps(
            value,
            ensure_ascii=False,
            allow_nan=False,
            indent=unit,
            separators=(comma, self.colon),
        )
        written = _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", written)
        return written.replace("\n", self.newline + indent)


def _require(node: Node, kind: str) -> None:
    if node.kind != kind:
        raise error_at(node.source, node.start, f"Expected an {kind} but found the {node.kind}")


def _add(chain: tuple[Node, ...], key: str | None, value: object) -> str:
    target, style = chain[-1], _Style.around(chain)
    text, at = target.source, target.end - 1
    if target.children:
        at = target.children[-1].end
        indent = _line_indent(text, target.children[-1].start)
        lead, tail = _separator(target, style, indent), ""
    elif style.in_line:
        indent = lead = ""
        tail = text[target.start + 1 : at]
    else:
        outer = _line_indent(text, target.start)
        indent = outer + style.unit
        lead, tail = style.newline + indent, style.newline + outer
    name = "" if key is None else style.render(key, "") + style.colon
    return _checked(text[:at] + lead + name + style.render(value, indent) + tail + text[at:])


def _separator(target: Node, style: _Style, indent: str) -> str:
    children = target.children
    previous_end = children[-2].end if len(children) > 1 else target.start + 1
    if _has_break(target.source[previous_end : children[-1].start]):
        return "," + style.newline + indent
    return style.comma


def _checked(edited: str) -> str:
    """Refuse to hand out a text that could not be edited again, such as one nested too deep."""
    parse(edited)
    return edited


def _blank_before_addition(before: str, after: str) -> str:
    """Recover what an empty container held from the blanks around its only child."""
    tail = _TAIL.fullmatch(after)
    if tail is None:
        return before if before == after and not _has_break(before) else ""
    newline = tail[1]
    head = before.rstrip(" \t")
    return head.removesuffix(newline) if head.endswith(newline) else ""


def _sampled_comma(containers: list[Node]) -> str:
    for node in containers:
        if len(node.children) > 1:
            gap = node.source[node.children[-2].end : node.children[-1].start]
            if not _has_break(gap):
                return _normalised(gap, ",")
    return ""


def _sampled_colon(containers: list[Node]) -> str:
    for node in containers:
        if node.members:
            last = node.members[-1]
            return _normalised(node.source[last.key_end : last.node.start], ":")
    return ""


def _normalised(gap: str, mark: str) -> str:
    """Narrow the blanks around a comma or colon to one space each."""
    before = "" if gap.startswith(mark) else " "
    after = "" if gap.endswith(mark) else " "
    return before + mark + after


def _sampled_unit(containers: list[Node]) -> str:
    for node in containers:
        first = node.children[0].start
        outer = _line_indent(node.source, node.start)
        inner = _line_indent(node.source, first)
        if _has_break(node.source[node.start : first]) and inner.startswith(outer):
            unit = inner.removeprefix(outer)
            if unit:
                return unit
    return _DEFAULT_UNIT


def _line_indent(text: str, at: int) -> str:
    line_start = max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1
    indent = _INDENT.match(text, line_start, at)
    return indent[1] if indent else ""


def _has_break(text: str) -> bool:
    return "\n" in text or "\r" in text
