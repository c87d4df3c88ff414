"""How `brimline store` speaks: sizes, tables, questions, progress."""

from __future__ import annotations

import contextlib
import json
import math
import os
import sys
import time
from typing import TYPE_CHECKING, Any, Self

import click

from brimline import clock
from brimline.errors import StoreError
from brimline.store import layout

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

_KILO = 1_000
_MINUTE_CHARACTERS = len("2026-01-08T15:49")
_SOURCE_CHARACTERS = 60
_PROGRESS_AFTER_S = 1.0
# More days, minutes or megabytes than anybody means.
_LARGEST_AMOUNT = 1e9


def answer(document: Any, text: str, *, as_json: bool) -> None:
    """Print for a program or for a person."""
    told = json.dumps(document, indent=2) if as_json else text
    if told:
        with output():
            click.echo(told)


@contextlib.contextmanager
def output() -> Iterator[None]:
    """Blame what was being written to, and not the store, where writing fails.

    Raises:
        StoreError: standard output cannot be written.
    """
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        # What could not be written is still waiting, and would fail again when the program ends.
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise StoreError(f"standard output cannot be written: {error.strerror or error}") from error


def size(count: int) -> str:
    """Bytes for a person."""
    number = float(count)
    for unit in ("B", "kB", "MB"):
        if number < _KILO:
            return f"{number:.0f} {unit}" if unit == "B" else f"{number:.1f} {unit}"
        number /= _KILO
    return f"{number:.1f} GB"


def count(number: int, noun: str) -> str:
    """A number with its noun."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def moment(nanoseconds: int) -> str:
    """A time of the store, as programs read it."""
    return clock.format_utc(nanoseconds / 1e9)


def minute(timestamp: str) -> str:
    """A time for a person."""
    return timestamp[:_MINUTE_CHARACTERS].replace("T", " ") + "Z"


def shown(text: Any, characters: int = _SOURCE_CHARACTERS) -> str:
    """A foreign text on one line, without anything that a terminal would obey."""
    words = " ".join(str(text).split()) if text is not None else ""
    plain = "".join([character if character.isprintable() else "?" for character in words])
    return plain if len(plain) <= characters else plain[: characters - 1] + "…"


def short(key: str) -> str:
    """As much of a key as people need."""
    return key.removeprefix(layout.PREFIX)[: layout.SHORT_DIGITS]


def table(head: list[str], rows: list[list[str]], right: set[int]) -> str:
    """Columns; those in `right` are aligned to the right."""
    widths = [max(len(row[column]) for row in [head, *rows]) for column in range(len(head))]
    lines = [
        "  ".join(
            cell.rjust(width) if column in right else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in [head, *rows]
    ]
    return "\n".join(lines)


def amount(_context: click.Context, option: click.Parameter, value: str | None) -> float | None:
    """The number that an option was given, which is not below 0; `nan` and the like are none.

    Raises:
        StoreError: it is no such number.
    """
    if value is None:
        return None
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not 0 <= number <= _LARGEST_AMOUNT:
        raise StoreError(f"{option.opts[0]} takes a number from 0 up, not {value!r}")
    return number


def require_consent(*, yes: bool) -> None:
    """See that there is somebody to ask, before any work is done.

    Raises:
        StoreError: there is no terminal, and `--yes` was not given.
    """
    if not yes and (not sys.stdin or not sys.stdin.isatty()):
        raise StoreError("this deletes stored content: add --yes where there is no terminal to ask")


def ask(question: str, *, yes: bool) -> None:
    """Let a person decide; a no ends the command."""
    if not yes:
        click.confirm(question, abort=True, err=True)


class Progress:
    """A bar on a terminal, once the work has taken a second."""

    def __init__(self, total: int, label: str) -> None:
        self._total = total
        self._label = label
        self._begun = time.monotonic()
        self._waiting = 0
        self._bar: Any = None
        self._wanted = total > 0 and os.isatty(2)

    def __enter__(self) -> Self:
        """Start the clock."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Leave the bar as it is."""
        if self._bar is not None:
            self._bar.__exit__(kind, error, trace)

    def update(self, amount: int) -> None:
        """That much more is done."""
        self._waiting += amount
        late = time.monotonic() - self._begun > _PROGRESS_AFTER_S
        if self._bar is None and self._wanted and late:
            self._bar = click.progressbar(length=self._total, label=self._label, file=sys.stderr)
            self._bar.__enter__()
        if self._bar is not None:
            self._bar.update(self._waiting)
            self._waiting = 0
