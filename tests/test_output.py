"""What commands print: within 80 columns, nothing that a terminal would obey."""

from __future__ import annotations

import io
import subprocess
import sys
import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from brimline import output

if TYPE_CHECKING:
    import pytest

TEXTS = st.text(st.characters(codec="utf-8"), max_size=120)


def columns(text: str) -> int:
    """What a terminal needs for a text."""
    wide = sum(unicodedata.east_asian_width(letter) in ("W", "F") for letter in text)
    return len(text) + wide - sum(bool(unicodedata.combining(letter)) for letter in text)


@given(st.lists(st.tuples(TEXTS, TEXTS, TEXTS | TEXTS.map(output.Path)), min_size=1, max_size=5))
def test_a_table_fits_and_obeys_nobody(rows: list[tuple[str, ...]]) -> None:
    """Whatever stands in its cells: one line each, 80 columns, printable."""
    lines = output.table(["a", "b", "c"], rows, right={1}, indent=2).split("\n")

    assert all(line.isprintable() and columns(line) <= 80 for line in lines)
    assert len(lines) == len(rows) + 1


@given(TEXTS)
def test_a_text_is_printed_without_orders_for_the_terminal(text: str) -> None:
    """Only line breaks are left of what is not printable."""
    assert output.printable(text).replace("\n", "").isprintable()
    assert output.line(text, 20).isprintable()
    assert len(output.line(text, 20)) <= 20


def test_letters_that_the_output_does_not_know_do_no_harm(monkeypatch: pytest.MonkeyPatch) -> None:
    """An old locale sees question marks."""
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", stream)

    output.say("caf\u00e9 \ud800\x1b[2J")

    stream.seek(0)
    assert stream.read() == "caf? ??[2J\n"


def test_a_hook_can_make_texts() -> None:
    """It runs without installed packages, so that a table needs none of them."""
    code = "import sys; sys.path.insert(0, sys.argv[1]); from brimline import output;"
    code += "print(output.table(['a'], [['b']])); assert 'click' not in sys.modules"
    root = str(Path(output.__file__).parents[1])

    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code, root], capture_output=True, check=True, text=True
    )

    assert done.stdout == "a\nb\n"


def test_the_line_of_occupancy_is_scaled_to_the_window() -> None:
    """A full block is a full window; long sessions keep their peaks."""
    sparkline = output.sparkline
    assert sparkline([0, 25_000, 100_000, 199_999, 200_000], 200_000) == "▁▂▅██"
    assert sparkline([50, 100], None) == "▅█"
    long = sparkline([10_000] * 500 + [200_000] + [10_000] * 499, 200_000)
    assert (len(long), long.count("█")) == (60, 1)


def test_a_duration_is_told_in_the_unit_that_fits() -> None:
    """Seconds as they are known, minutes to a tenth; unknown is empty."""
    durations = [output.duration(seconds) for seconds in (0.42, 16, 59.9, 60, 95, None)]

    assert durations == ["0.4 s", "16 s", "59.9 s", "1.0 min", "1.6 min", ""]
