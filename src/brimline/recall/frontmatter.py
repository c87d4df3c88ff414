"""The head of a topic file: YAML as the client and people write it, read without a library.

That is a line for each key, longer texts on indented lines below it, and `metadata` with keys of
its own.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_KEY = re.compile(r"([\w-]+):(?:[ \t]+(.*))?$")
_NESTED_TYPE = re.compile(r"(?<![\w-])type:[ \t]*([^\s,{}]+)")
# What stands for itself: begins with a letter, and has no sign that means something to YAML.
_PLAIN = re.compile(r"[^\W\d_](?:[^\n:#]|:(?! |$)|(?<! )#)*")
_WORDS_OF_YAML = ("y", "yes", "n", "no", "on", "off", "true", "false", "null")


class BadLineError(ValueError):
    """A line that is none of a front matter."""

    def __init__(self, number: int) -> None:
        super().__init__("is not `key: text`")
        self.number = number


def read_fields(lines: Sequence[str]) -> dict[str, str]:
    """The texts by their keys; the type may stand in `metadata`.

    Raises:
        BadLineError: a line is none of a front matter.
    """
    fields = _fields(lines)
    found = {key: _text_of_parts(*parts) for key, parts in fields.items()}
    if "type" not in fields and "metadata" in fields:
        nested = _NESTED_TYPE.search("\n".join(fields["metadata"]))
        found["type"] = _unquoted(nested[1]) if nested else ""
    return found


def line(key: str, value: str) -> str:
    """A key with its value, quoted where YAML would take it for something else."""
    is_plain = _PLAIN.fullmatch(value) and value.casefold() not in _WORDS_OF_YAML
    return f"{key}: {value if is_plain else json.dumps(value, ensure_ascii=False)}"


def _fields(lines: Sequence[str]) -> dict[str, list[str]]:
    """Return what stands behind each key, and the lines below it."""
    found: dict[str, list[str]] = {}
    last: list[str] | None = None
    for number, text in enumerate(lines):
        match = _KEY.match(text)
        if match:
            last = found[match[1]] = [(match[2] or "").strip()]
        elif last and (not text.strip() or text[0] in " \t-#"):
            last.append(text)
        elif text.strip() and text[0] not in "-#":
            raise BadLineError(number)
    return found


def _text_of_parts(first: str, *more: str) -> str:
    """The value as one line; empty where it is a list or a map."""
    if first[:1] in ("[", "{") or (not first and more and _KEY.match(more[0].strip())):
        return ""
    first = "" if first[:1] in (">", "|") else first
    return _unquoted(" ".join(filter(None, [first, *map(str.strip, more)])))


def _unquoted(text: str) -> str:
    if text[:1] == "'" and text[-1:] == "'" and len(text) > 1:
        return text[1:-1].replace("''", "'")
    if text[:1] == '"':
        try:
            return str(json.loads(text))
        except ValueError:
            return text.strip('"')
    return re.split(r"(?:^|\s)#", text)[0].strip()
