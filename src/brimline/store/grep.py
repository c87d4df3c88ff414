"""Searches the lines of some content, with a pattern that cannot hang the caller.

A regular expression can take longer than anyone lives, and Python's cannot be interrupted from
outside on every system. So it runs in a process of its own, which is ended when its time is up.
Plain text needs none of that and is searched directly.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from typing import NamedTuple

import brimline
from brimline.store.errors import StoreError

TIMEOUT_S = 5.0
_SPECIAL = frozenset(".^$*+?{}[]\\|()")
_BOOTSTRAP = (
    "import sys; sys.path.insert(0, sys.argv[1]); from brimline.store.grep import serve; serve()"
)


class Row(NamedTuple):
    """A line to be shown, counted from 1, and whether it matches or stands beside one that does."""

    number: int
    text: bytes
    matches: bool


def grep(
    data: bytes,
    pattern: str,
    *,
    context: int = 0,
    ignore_case: bool = False,
    plain: bool = False,
    timeout_s: float = TIMEOUT_S,
) -> list[list[Row]]:
    """The matching lines with those around them, in groups that have lines left out in between.

    Args:
        data: the content.
        pattern: a regular expression of Python; lines are matched one by one.
        context: how many lines before and after each match to include.
        ignore_case: whether case matters.
        plain: take the pattern as plain text.
        timeout_s: how long a regular expression may take.

    Raises:
        StoreError: the pattern is wrong, or takes too long.
    """
    lines = split(data)
    if plain or not _SPECIAL & set(pattern):
        found = _search(lines, re.escape(pattern), ignore_case=ignore_case)
    else:
        found = _search_aside(data, pattern, ignore_case, timeout_s)
    return _grouped(lines, found, context)


def split(data: bytes) -> list[bytes]:
    """The lines of some content without their line breaks."""
    lines = data.split(b"\n")
    return lines if lines[-1] else lines[:-1]


def serve() -> None:
    """Answer one search from standard input: the child's side."""
    if hasattr(signal, "alarm"):
        signal.alarm(int(TIMEOUT_S) + 1)  # whoever asked may be gone before it could end this
    question = json.loads(sys.stdin.buffer.readline())
    lines = split(sys.stdin.buffer.read())
    try:
        found = _search(lines, question["pattern"], ignore_case=question["ignore_case"])
    except (re.error, OverflowError, RecursionError, MemoryError) as error:
        answer = {"problem": str(error)}
    else:
        answer = {"lines": found}  # type: ignore[dict-item]
    sys.stdout.write(json.dumps(answer))


def _search(lines: list[bytes], pattern: str, *, ignore_case: bool) -> list[int]:
    """The positions of matching lines; what is no UTF-8 matches nothing but a dot."""
    matches = re.compile(pattern, re.IGNORECASE if ignore_case else 0).search
    return [
        number
        for number, line in enumerate(lines)
        if matches(line.decode("utf-8", "surrogateescape"))
    ]


def _search_aside(data: bytes, pattern: str, ignore_case: bool, timeout_s: float) -> list[int]:
    root = os.path.dirname(os.path.dirname(os.path.abspath(brimline.__file__)))
    question = json.dumps({"pattern": pattern, "ignore_case": ignore_case}).encode()
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-W", "ignore", "-c", _BOOTSTRAP, root],
            input=question + b"\n" + data,
            capture_output=True,
            check=True,
            timeout=timeout_s,
        )
        answer = json.loads(done.stdout)
    except subprocess.TimeoutExpired:
        raise StoreError(
            f"the pattern took more than {timeout_s:g} s, probably nested repetition such as "
            "(a+)+: simplify it, or search for plain text with --fixed"
        ) from None
    except (OSError, ValueError, subprocess.CalledProcessError) as error:
        raise StoreError(f"the search could not be run: {error}") from error
    if "problem" in answer:
        raise StoreError(f"{pattern!r} is no regular expression: {answer['problem']}")
    found: list[int] = answer["lines"]
    return found


def _grouped(lines: list[bytes], found: list[int], context: int) -> list[list[Row]]:
    matching = set(found)
    groups: list[list[Row]] = []
    last = -2
    for number in found:
        first = max(number - context, last + 1, 0)
        if first > last + 1 or not groups:
            groups.append([])
        for position in range(first, min(number + context + 1, len(lines))):
            groups[-1].append(Row(position + 1, lines[position], position in matching))
            last = position
    return groups
