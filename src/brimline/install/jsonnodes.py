"""Strict JSON (RFC 8259) read into nodes that remember where in the text they stand."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

Kind: TypeAlias = Literal["object", "array", "string", "number", "true", "false", "null"]
Path: TypeAlias = Sequence[str | int]

BOM = "\ufeff"
MAX_DEPTH = 200

_BLANK = re.compile(r"[ \t\n\r]*")
_LINE_BREAK = re.compile(r"\r\n|\r|\n")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_STRING_HEAD = re.compile(
    r'"[^"\\\x00-\x1f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*)*'
)
_WORDS: tuple[Kind, ...] = ("true", "false", "null")


class JsonTextError(ValueError):
    """A text that is not JSON, or an edit it does not allow, with the place it concerns."""

    def __init__(self, problem: str, line: int, column: int) -> None:
        super().__init__(f"{problem} at line {line}, column {column}.")
        self.line = line
        self.column = column


@dataclass(frozen=True, slots=True)
class Node:
    """One JSON value, spanning `source[start:end]`."""

    kind: Kind
    source: str = field(repr=False)
    start: int
    end: int
    members: tuple["Member", ...] = ()
    elements: tuple["Node", ...] = ()

    @property
    def value(self) -> Any:
        """The value as `json.loads` gives it: of duplicate keys the last one counts."""
        return json.loads(self.source[self.start : self.end])

    @property
    def children(self) -> "tuple[Member | Node, ...]":
        """The members of an object or the elements of an array."""
        return self.members or self.elements

    @property
    def is_single_line(self) -> bool:
        """Whether no line break stands between the first and the last character."""
        return _LINE_BREAK.search(self.source, self.start, self.end) is None

    def index_of(self, step: str | int) -> int | None:
        """Where among the children a key or an index leads, or None; the last duplicate counts."""
        if isinstance(step, int):
            return step if self.kind == "array" and 0 <= step < len(self.elements) else None
        key = _paired(step)
        found = [index for index, member in enumerate(self.members) if member.key == key]
        return found[-1] if found else None


@dataclass(frozen=True, slots=True)
class Member:
    """One key with its value inside an object; `key` is decoded, the span covers both."""

    key: str
    start: int
    key_end: int
    node: Node

    @property
    def end(self) -> int:
        """Where the member's value ends."""
        return self.node.end


def parse(text: str) -> Node:
    """Read a whole JSON text, a leading byte order mark allowed, or raise `JsonTextError`."""
    root = _value(text, _skip(text, len(BOM) if text.startswith(BOM) else 0), 0)
    at = _skip(text, root.end)
    if at != len(text):
        raise error_at(text, at, "Expected nothing more after the JSON value")
    return root


def resolve(root: Node, path: Path) -> tuple[Node, ...]:
    """List the nodes from the root to the one at `path`, both included."""
    if isinstance(path, str):
        raise TypeError("A path is a sequence of keys and indices, not one string.")
    chain = [root]
    for step in path:
        node = chain[-1]
        index = node.index_of(step)
        if index is None:
            name = json.dumps(step)
            raise error_at(node.source, node.start, f"Nothing is named {name} in the {node.kind}")
        child = node.children[index]
        chain.append(child.node if isinstance(child, Member) else child)
    return tuple(chain)


def error_at(text: str, at: int, problem: str) -> JsonTextError:
    """Make the error for the character at `at`; lines and columns count from 1."""
    lines = _LINE_BREAK.split(text[:at].removeprefix(BOM))
    return JsonTextError(problem, len(lines), len(lines[-1]) + 1)


def _value(text: str, start: int, depth: int) -> Node:
    opening = text[start : start + 1]
    if opening in ("{", "["):
        if depth >= MAX_DEPTH:
            raise error_at(text, start, f"Nested deeper than {MAX_DEPTH} levels")
        read = _object if opening == "{" else _array
        return read(text, start, depth + 1)
    if opening == '"':
        return Node("string", text, start, _string_end(text, start))
    for word in _WORDS:
        if text.startswith(word, start):
            return Node(word, text, start, start + len(word))
    number = _NUMBER.match(text, start)
    if number is None:
        raise error_at(text, start, "Expected a JSON value")
    return Node("number", text, start, number.end())


def _object(text: str, start: int, depth: int) -> Node:
    members: list[Member] = []
    at = _skip(text, start + 1)
    while members or not text.startswith("}", at):
        if not text.startswith('"', at):
            raise error_at(text, at, "Expected a key in double quotes")
        key_end = _string_end(text, at)
        colon = _skip(text, key_end)
        if not text.startswith(":", colon):
            raise error_at(text, colon, "Expected a colon after the key")
        node = _value(text, _skip(text, colon + 1), depth)
        members.append(Member(json.loads(text[at:key_end]), at, key_end, node))
        at = _skip(text, node.end)
        if text.startswith("}", at):
            break
        if not text.startswith(",", at):
            raise error_at(text, at, "Expected a comma or a closing brace")
        at = _skip(text, at + 1)
    return Node("object", text, start, at + 1, members=tuple(members))


def _array(text: str, start: int, depth: int) -> Node:
    elements: list[Node] = []
    at = _skip(text, start + 1)
    while elements or not text.startswith("]", at):
        elements.append(_value(text, at, depth))
        at = _skip(text, elements[-1].end)
        if text.startswith("]", at):
            break
        if not text.startswith(",", at):
            raise error_at(text, at, "Expected a comma or a closing bracket")
        at = _skip(text, at + 1)
    return Node("array", text, start, at + 1, elements=tuple(elements))


def _string_end(text: str, start: int) -> int:
    head = _STRING_HEAD.match(text, start)
    at = head.end() if head else start
    stop = text[at : at + 1]
    if stop == '"':
        return at + 1
    if stop == "\\":
        raise error_at(text, at, "Expected a valid escape")
    if stop:
        raise error_at(text, at, "Expected no bare control character inside a string")
    raise error_at(text, start, "Expected a closing quote for the string")


def _skip(text: str, at: int) -> int:
    blank = _BLANK.match(text, at)
    return blank.end() if blank else at


def _paired(key: str) -> str:
    """Join surrogate pairs, as reading their escapes back does."""
    return key.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
