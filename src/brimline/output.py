"""What commands print: texts without control characters, tables, JSON, questions, progress.

Rooms make their texts with it and doors print them; Click is loaded only where a command is made
or somebody is asked, as a hook has no Click. Whatever a text holds, nothing that a terminal would
obey gets out of here.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import shutil
import sys
import textwrap
import time
import unicodedata
from collections import Counter
from typing import TYPE_CHECKING, Any, Self

from brimline.errors import BrimlineError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    import click

HELP: dict[str, Any] = {"help_option_names": ["-h", "--help"]}

_WIDTH = 80
_LEAST_WIDTH = 40
_GAP, _LEAST_CELL = "  ", 8
_NOBODY_TO_ASK = (
    "this changes or deletes files: add --yes where there is no terminal to ask; nothing was "
    "changed"
)
# A shorter name, such as that of a work tree, says nothing without the folder that it is in.
_LEAST_NAME = 3
_KILO = 1_000
_MINUTE_S, _HOUR_S, _HOURS_FROM_S = 60, 3_600, 7_200
_MINUTE_CHARACTERS = len("2026-01-08T15:49")
_LINE_CHARACTERS = 60
_BLOCKS, _PLAIN_BLOCKS = "▁▂▃▄▅▆▇█", "_.-=+*%#"
_SPARK_CELLS = 60
_PROGRESS_AFTER_S = 1.0
# Around what stands out, until it is known where it is shown.
_MARKS = "\ue000\ue001"
_STRONG = dict(zip(map(ord, _MARKS), ("\x1b[1m", "\x1b[0m"), strict=True))
_PLAIN = dict.fromkeys(map(ord, _MARKS))
_STEPS = 400


def command(name: str, **settings: Any) -> Callable[[Callable[..., None]], click.Command]:
    """A command with `-h` and `--json`, which every command has; it gets `as_json`."""

    import click

    def make(function: Callable[..., None]) -> click.Command:
        made: click.Command = click.command(name, None, context_settings=HELP, **settings)(function)
        made.params.append(click.Option(["--json", "as_json"], is_flag=True, help="Print JSON."))
        return made

    return make


def yes_option(function: Any) -> Any:
    """Give a command the option not to ask."""
    import click

    return click.option("--yes", is_flag=True, help="Do not ask.")(function)


def dry_run_option(function: Any) -> Any:
    """Give a command the option to change nothing."""
    import click

    return click.option("--dry-run", is_flag=True, help="Show what would happen; change nothing.")(
        function
    )


def session_option(function: Any) -> Any:
    """Give a command the option to name a session."""
    import click

    help_text = "A session: its id (or how it begins), file, or last."
    return click.option("--session", "session_id", metavar="ID", help=help_text)(function)


def session_argument_and_option(function: Any) -> Any:
    """Give a command both ways to name a session, of which `given_session` makes one."""
    import click

    file_argument = click.argument("file", metavar="[SESSION]", required=False)
    return session_option(file_argument(function))


def given_session(file: str | None, session_id: str | None) -> str | None:
    """Return how a session was named, if it was.

    Raises:
        click.UsageError: it was in both ways, or with nothing.
    """
    import click

    if file is not None and session_id is not None:
        raise click.UsageError("Name a session as SESSION or by --session, not by both.")
    if "" in (file, session_id):
        raise click.UsageError("SESSION and ID must not be empty.")
    return file or session_id


def answer(document: Any, text: str | Callable[[Any], str], *, as_json: bool) -> None:
    """Print for a program, or for a person: a text, or what makes one of the document."""
    if as_json:
        say(json.dumps(document, indent=2))
    else:
        say(text if isinstance(text, str) else text(document))


def pick_attrs(found: Any, names: str) -> dict[str, Any]:
    """Attributes of a thing under their names, for a document."""
    return {name: getattr(found, name) for name in names.split()}


def say(text: str, *, err: bool = False) -> None:
    """Print a text; an empty one is not a line.

    Raises:
        BrimlineError: standard output cannot be written.
    """
    if not text:
        return
    stream = sys.stderr if err else sys.stdout
    if stream is None:  # it was closed when we were started
        if err:
            return
        raise BrimlineError("standard output is closed")
    encoding = stream.encoding or "ascii"
    shown = without_control_characters(text).translate(_STRONG if stream.isatty() else _PLAIN)
    told = f"{shown}\n".encode(encoding, "replace").decode(encoding)
    with stdout_errors_raised_as_ours():
        stream.write(told)
        stream.flush()


def mark_strong(text: str) -> str:
    """A part of a text that stands out on a terminal."""
    return f"{_MARKS[0]}{text}{_MARKS[1]}"


def without_strong_marks(text: str) -> str:
    """A text without such marks, for those who print it themselves."""
    return text.translate(_PLAIN)


def print_note(text: str) -> None:
    """Something that is to be known beside the answer, which programs do not read."""
    complain(f"note: {text}")


def complain(text: str) -> None:
    """Print on standard error: within the columns on a terminal, one line for a program."""
    say(wrapped_text(text) if sys.stderr.isatty() else " ".join(text.splitlines()), err=True)


@contextlib.contextmanager
def stdout_errors_raised_as_ours() -> Iterator[None]:
    """Blame standard output, and nothing of ours, where it cannot be written.

    Raises:
        BrimlineError: it cannot.
    """
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        # What could not be written is still waiting, and would fail again when the program ends.
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        reason = error.strerror or error
        raise BrimlineError(f"standard output cannot be written: {reason}") from error


def without_control_characters(text: str) -> str:
    """A text of several lines without anything that a terminal would obey."""
    rows = text.split("\n")
    return "\n".join([row if row.isprintable() else _line_without_controls(row) for row in rows])


def _line_without_controls(row: str) -> str:
    shown = row.expandtabs(4)
    return "".join(
        [c if c.isprintable() or c in _MARKS else " " if c.isspace() else "?" for c in shown]
    )


def marks_or_plain_ones(marks: str, plain: str) -> str:
    """Marks to draw with, or plain ones where the output does not know them."""
    try:
        marks.encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return plain
    return marks


def sparkline(values: Sequence[int], full: int | None) -> str:
    """Values as a line of blocks, each the largest of its share; a full block is a full window."""
    blocks = marks_or_plain_ones(_BLOCKS, _PLAIN_BLOCKS)
    top = max(full or 1, *values)
    largest = group_peaks(values, _SPARK_CELLS)
    return "".join(blocks[min(value * len(blocks) // top, len(blocks) - 1)] for value in largest)


def vertical_bar_rows(values: Sequence[int], top: int, rows: int) -> list[str]:
    """Values as bars side by side over several rows, the uppermost first; a full one is `top`."""
    blocks = " " + _BLOCKS
    eighths = [max(1, round(8 * rows * min(value, top) / top)) for value in values]
    return [
        "".join(blocks[min(8, max(0, height - 8 * below))] for height in eighths)
        for below in reversed(range(rows))
    ]


def group_peaks(values: Sequence[int], most: int) -> list[int]:
    """Return at most so many values, each the largest of its share."""
    count = min(len(values), most)
    edges = [len(values) * cell // count for cell in range(count + 1)] if count else []
    return [max(values[low:high]) for low, high in itertools.pairwise(edges)]


def one_line(text: Any, characters: int = _LINE_CHARACTERS) -> str:
    """A foreign text on one line, shortened; of a path the end is kept."""
    words = _line_without_controls(" ".join(str(text).split())) if text is not None else ""
    if len(words) <= characters:
        return words
    room = characters - 1
    return "…" + words[-room:] if isinstance(text, Path) else words[:room] + "…"


class Path(str):
    """A path as seen from where the command runs; it tells most at its end."""

    __slots__ = ()

    def __new__(cls, text: str) -> Self:
        """Without the folder that the command runs in."""
        return super().__new__(cls, text.removeprefix(os.getcwd() + os.sep))


def folder_names(paths: Iterable[str]) -> dict[str, str]:
    """A name for each folder: its last part, with those before it that tell it from the others."""
    left, names, parts = {path for path in paths if path}, {"": "unknown"}, 0
    while left:
        parts += 1
        ends = {path: "/".join(path.rstrip("/").split("/")[-parts:]) for path in left}
        times = Counter(ends.values())
        for path, end in ends.items():
            is_told = times[end] == 1 and len(end) >= _LEAST_NAME
            if is_told or parts > path.count("/"):
                names[path] = end or "/"
                left.discard(path)
    return names


def subject_as_path_or_text(tool: str | None, text: str | None) -> str:
    """Return what a tool was asked for: a file is a path, a command is told by how it begins."""
    return Path(text or "") if tool != "Bash" and (text or "").startswith("/") else text or ""


def size_text(count: int) -> str:
    """Bytes for a person."""
    if count < 0:
        return f"-{size_text(-count)}"
    number = float(count)
    for unit in ("B", "kB", "MB"):
        if number < _KILO:
            return f"{number:.0f} {unit}" if unit == "B" else f"{number:.1f} {unit}"
        number /= _KILO
    return f"{number:.1f} GB"


def count_text(number: int, noun: str) -> str:
    """A number with its noun."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def number_text(value: int | None) -> str:
    """A number that may be unknown."""
    return "unknown" if value is None else f"{value:,}"


def duration_text(seconds: float | None) -> str:
    """Return how long something took, in the unit that fits; empty where nobody knows."""
    if seconds is None:
        return ""
    if seconds >= _HOURS_FROM_S:
        return f"{seconds / _HOUR_S:,.1f} h"
    if seconds >= _MINUTE_S:
        return f"{seconds / _MINUTE_S:,.1f} min"
    return f"{seconds:.1f} s" if seconds % 1 else f"{seconds:.0f} s"


def utc_minute_text(timestamp: str | None) -> str:
    """A time to the minute, in UTC as documents have it."""
    if timestamp is None:
        return "unknown"
    return one_line(timestamp)[:_MINUTE_CHARACTERS].replace("T", " ") + "Z"


def utc_from_to_text(first: str | None, last: str | None) -> str:
    """From one time to another."""
    return f"{utc_minute_text(first)} to {utc_minute_text(last)}"


def terminal_columns() -> int:
    """Return how many columns there are to fill."""
    return max(_LEAST_WIDTH, shutil.get_terminal_size((_WIDTH, 24)).columns)


@contextlib.contextmanager
def temporary_terminal_columns(columns: int) -> Iterator[None]:
    """Make texts as wide as where they will be shown, whatever this process was started in."""
    before = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = str(columns)
    try:
        yield
    finally:
        del os.environ["COLUMNS"]
        if before is not None:
            os.environ["COLUMNS"] = before


def wrapped_text(text: str, indent: str = "", hanging: str | None = None) -> str:
    """A paragraph within the columns; words that are too long, such as paths, stay whole."""
    later = indent if hanging is None else hanging
    rows = textwrap.wrap(
        without_control_characters(text),
        terminal_columns(),
        initial_indent=indent,
        subsequent_indent=later,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return "\n".join(rows)


def name_value_text(rows: Iterable[tuple[str, str]]) -> str:
    """Names and their values below each other."""
    found = list(rows)
    column = max(len(name) for name, _ in found) + 4
    return "\n".join(
        wrapped_text(value, f"  {name}".ljust(column), " " * column) for name, value in found
    )


def table_text(
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    right: Collection[int] = (),
    indent: int = 0,
) -> str:
    """Columns within the width; the last one is shortened where there is no room for all of it.

    Args:
        head: what stands above the columns; empty for none.
        rows: the cells; of a `Path` the end is shown.
        right: the columns that are aligned to the right.
        indent: how many blanks stand before each row.
    """
    given = [head, *rows] if head else rows
    lines = [[_line_without_controls(cell) for cell in row] for row in given]
    widths = [max(map(_columns_of_text, column)) for column in zip(*lines, strict=True)]
    room = terminal_columns() - indent - len(_GAP) * (len(widths) - 1)
    widths[-1] = min(widths[-1], max(room - sum(widths[:-1]), _LEAST_CELL))
    while sum(widths) > room:
        widths[widths.index(max(widths))] -= 1
    made = []
    for row, cells in zip(given, lines, strict=True):
        shown = [
            _fit_cell(cell, widths[at], right=at in right, keeps_end=isinstance(row[at], Path))
            for at, cell in enumerate(cells)
        ]
        made.append((" " * indent + _GAP.join(shown)).rstrip())
    return "\n".join(made)


def _fit_cell(text: str, room: int, *, right: bool, keeps_end: bool) -> str:
    """A text in exactly that many columns: filled up, or cut with a mark; of a path the end."""
    shown = text
    if _columns_of_text(text) > room:
        shown = text[::-1] if keeps_end else text
        while _columns_of_text(shown) >= room:
            shown = shown[:-1]
        shown = "…" + shown[::-1] if keeps_end else shown + "…"
    blanks = " " * (room - _columns_of_text(shown))
    return blanks + shown if right else shown + blanks


def _columns_of_text(text: str) -> int:
    """Return how many columns of a terminal a text takes."""
    if text.isascii():
        return len(text)
    return sum(
        2 if unicodedata.east_asian_width(c) in "WF" else not unicodedata.combining(c) for c in text
    )


def require_consent(question: str, *, yes: bool = False, alone: str = _NOBODY_TO_ASK) -> None:
    """Let a person decide; a no ends the command.

    Raises:
        BrimlineError: there is nobody to ask, and `--yes` was not given; it says what `alone` does.
        click.Abort: the answer is no.
    """
    if yes:
        return
    if not sys.stdin or not sys.stdin.isatty():
        raise BrimlineError(alone)
    import click

    click.confirm(without_control_characters(question), abort=True, err=True)


def total_file_bytes(files: Iterable[str]) -> int:
    """Add up the sizes of those files that are there."""
    return sum(os.path.getsize(file) for file in files if os.path.isfile(file))


class Progress:
    """A bar on a terminal, once the work has taken a second; it is drawn seldom."""

    def __init__(self, label: str, total: int) -> None:
        self._total, self._label = total, label
        self._begun = time.monotonic()
        self._undrawn = 0
        self._bar: Any = None
        self._wanted = total > 0 and os.isatty(2)

    def __enter__(self) -> Self:
        """Start the clock."""
        return self

    def __exit__(self, *failure: object) -> None:
        """Draw what is left, and leave the bar as it is."""
        if self._bar is not None:
            self._bar.update(self._undrawn)
            self._bar.__exit__(*failure)

    def advance(self, amount: int) -> None:
        """That much more is done."""
        self._undrawn += amount
        if not self._wanted or self._undrawn < self._total // _STEPS:
            return
        if self._bar is None:
            if time.monotonic() - self._begun < _PROGRESS_AFTER_S:
                return
            import click

            self._bar = click.progressbar(length=self._total, label=self._label, file=sys.stderr)
            self._bar.__enter__()
        self._bar.update(self._undrawn)
        self._undrawn = 0
