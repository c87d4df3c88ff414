"""What commands print: within 80 columns, nothing that a terminal would obey."""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING

import click
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from brimline import output
from brimline.errors import BrimlineError

if TYPE_CHECKING:
    from collections.abc import Sequence

TEXTS = st.text(st.characters(codec="utf-8"), max_size=120)


@pytest.fixture(autouse=True)
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Terminals of these tests may have as few columns as their texts need."""
    monkeypatch.setattr(output, "_LEAST_WIDTH", 40)


def columns(text: str) -> int:
    """What a terminal needs for a text."""
    wide = sum(unicodedata.east_asian_width(letter) in ("W", "F") for letter in text)
    return len(text) + wide - sum(bool(unicodedata.combining(letter)) for letter in text)


@given(st.lists(st.tuples(TEXTS, TEXTS, TEXTS | TEXTS.map(output.Path)), min_size=1, max_size=5))
def test_a_table_fits_and_obeys_nobody(rows: list[tuple[str, ...]]) -> None:
    """Whatever stands in its cells: one line each, 80 columns, printable."""
    lines = output.table_text(["a", "b", "c"], rows, right={1}, indent=2).split("\n")

    assert all(line.isprintable() and columns(line) <= 80 for line in lines)
    assert len(lines) == len(rows) + 1


@given(TEXTS)
def test_a_text_is_printed_without_orders_for_the_terminal(text: str) -> None:
    """Only line breaks are left of what is not printable."""
    assert output.without_control_characters(text).replace("\n", "").isprintable()
    assert output.one_line(text, 20).isprintable()
    assert len(output.one_line(text, 20)) <= 20


def test_letters_that_the_output_does_not_know_do_no_harm(monkeypatch: pytest.MonkeyPatch) -> None:
    """An old locale sees question marks."""
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", stream)

    output.say("caf\u00e9 \ud800\x1b[2J")

    stream.seek(0)
    assert stream.read() == "caf? ??[2J\n"
    known = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    monkeypatch.setattr(sys, "stdout", known)
    output.say("caf\u00e9")
    known.seek(0)
    assert known.read() == "caf\u00e9\n"


def test_a_hook_can_make_texts() -> None:
    """It runs without installed packages, so that a table needs none of them."""
    code = "import sys; sys.path.insert(0, sys.argv[1]); from brimline import output;"
    code += "print(output.table_text(['a'], [['b']])); assert 'click' not in sys.modules"
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
    assert sparkline([0, 0], None) == "▁▁"
    long = sparkline([10_000] * 500 + [200_000] + [10_000] * 499, 200_000)
    assert (len(long), long.count("█")) == (output._SPARK_CELLS, 1)


def test_a_duration_is_told_in_the_unit_that_fits() -> None:
    """Seconds as they are known, minutes and hours to a tenth; unknown is empty."""
    told = (0.42, 16, 59.9, 60, 95, 16_200, None)
    durations = [output.duration_text(seconds) for seconds in told]

    assert durations == ["0.4 s", "16 s", "59.9 s", "1.0 min", "1.6 min", "4.5 h", ""]


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1_000, "1.0 kB"),
        (1_500, "1.5 kB"),
        (999_000, "999.0 kB"),
        (1_000_000, "1.0 MB"),
        (2_500_000_000, "2.5 GB"),
        (-1_500, "-1.5 kB"),
    ],
)
def test_a_size_is_told_in_the_unit_that_fits(count: int, text: str) -> None:
    """By thousands; bytes are whole."""
    assert output.size_text(count) == text


def test_numbers_have_their_nouns_and_commas() -> None:
    """One is singular; what nobody knows says so."""
    counts = [output.count_text(number, "file") for number in (0, 1, 2, 1_234)]
    assert counts == ["0 files", "1 file", "2 files", "1,234 files"]
    assert [output.number_text(value) for value in (None, 0, 1_234)] == ["unknown", "0", "1,234"]


def test_a_time_is_told_to_the_minute() -> None:
    """In UTC; what nobody knows says so."""
    assert output.utc_minute_text("2026-01-08T15:49:03.054Z") == "2026-01-08 15:49Z"
    assert output.utc_minute_text(None) == "unknown"
    assert output.utc_from_to_text(None, "2026-01-08T15:49:03Z") == "unknown to 2026-01-08 15:49Z"


@pytest.mark.parametrize(
    ("text", "characters", "shown"),
    [
        ("abcde", 5, "abcde"),
        ("abcdef", 5, "abcd…"),
        (output.Path("/a/b/cd"), 5, "…b/cd"),
        (" a\n b ", 9, "a b"),
        (None, 9, ""),
        (0, 9, "0"),
    ],
)
def test_a_line_is_cut_where_it_has_no_room(text: object, characters: int, shown: str) -> None:
    """At its end, a path at its beginning."""
    assert output.one_line(text, characters) == shown


def test_a_long_line_is_cut() -> None:
    """Where nobody says otherwise."""
    line = "x" * output._LINE_CHARACTERS
    assert output.one_line(line) == line
    assert output.one_line(line + "x") == line[1:] + "…"


def test_a_file_is_a_path_and_a_command_is_none() -> None:
    """A path is told by its end, a command by how it begins."""
    assert isinstance(output.subject_as_path_or_text("Read", "/a/b"), output.Path)
    assert (
        output.subject_as_path_or_text("Read", "/a"),
        output.subject_as_path_or_text("Grep", "word"),
    ) == (
        "/a",
        "word",
    )
    assert not isinstance(output.subject_as_path_or_text("Bash", "/a/b"), output.Path)
    assert not isinstance(output.subject_as_path_or_text("Grep", "word"), output.Path)
    assert output.subject_as_path_or_text(None, None) == ""


def test_a_path_is_told_from_where_the_command_runs() -> None:
    """Its own folder needs no name."""
    assert output.Path(f"{Path.cwd()}/a/b") == "a/b"
    assert output.Path("/elsewhere/b") == "/elsewhere/b"


@pytest.mark.parametrize(
    ("values", "most", "largest"),
    [
        ([], 3, []),
        ([1, 2], 3, [1, 2]),
        ([1, 5, 2, 3], 2, [5, 3]),
        ([3, 1, 1, 4, 1], 2, [3, 4]),
        ([1, 2, 3], 0, []),
    ],
)
def test_of_many_values_the_largest_of_each_share_are_kept(
    values: Sequence[int], most: int, largest: list[int]
) -> None:
    """At most as many as there is room for."""
    assert output.group_peaks(values, most) == largest


def test_bars_are_drawn_over_several_rows() -> None:
    """By eighths of a row, the uppermost first; even nothing is seen, and more than all is all."""
    assert output.vertical_bar_rows([0, 4, 8, 12, 16, 99], 16, 2) == ["   ▄██", "▁▄████"]
    assert output.vertical_bar_rows([1, 2, 8], 8, 1) == ["▁▂█"]


def test_a_table_has_its_columns_below_each_other() -> None:
    """Numbers to the right, a head if there is one, blanks before each row."""
    rows = [("a", "1", "first"), ("bcd", "20", "x")]
    assert output.table_text(("n", "#", "t"), rows, right={1}, indent=1) == (
        " n     #  t\n a     1  first\n bcd  20  x"
    )
    assert output.table_text((), rows) == "a    1   first\nbcd  20  x"
    assert output.table_text((), [("a", "7"), ("b", "10")], right={1}) == "a   7\nb  10"


def test_the_last_column_is_cut_where_there_is_no_room() -> None:
    """A path at its beginning, until the columns fit exactly."""
    with output.temporary_terminal_columns(40):
        text = output.table_text((), [("a" * 10, "b" * 40)])
        path = output.table_text((), [("a" * 10, output.Path("/" + "c" * 39))])
        fits = output.table_text((), [("a" * 10, "b" * 28)])
        first = output.table_text((), [("a" * 50 + "z" * 10, "b" * 20)])
    assert text == "a" * 10 + "  " + "b" * 27 + "…"
    assert path == "a" * 10 + "  …" + "c" * 27
    assert fits == "a" * 10 + "  " + "b" * 28
    assert first == "a" * 29 + "…  " + "b" * 7 + "…"


def test_letters_that_are_twice_as_wide_take_two_columns() -> None:
    """And marks that stand above others none."""
    assert output.table_text((), [("你", "x"), ("ab", "x"), ("e\u0301f", "x")]) == (
        "你  x\nab  x\ne\u0301f  x"
    )


def test_texts_are_as_wide_as_where_they_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """But never too narrow to be read; afterwards all is as it was before."""
    monkeypatch.setenv("COLUMNS", "70")
    with output.temporary_terminal_columns(50):
        assert output.terminal_columns() == 50
    assert output.terminal_columns() == 70
    with output.temporary_terminal_columns(10):
        assert output.terminal_columns() == 40
    monkeypatch.delenv("COLUMNS")
    with output.temporary_terminal_columns(50):
        pass
    assert output.terminal_columns() == 80


def test_a_paragraph_is_wrapped_between_its_words() -> None:
    """Later lines hang; a path that is too long stays whole."""
    with output.temporary_terminal_columns(40):
        assert output.wrapped_text("word " * 9, "- ", "  ") == (
            "- word word word word word word word\n  word word"
        )
        assert output.wrapped_text("word " * 9, "  ") == (
            "  word word word word word word word\n  word word"
        )
        assert output.wrapped_text("/" + "a-" * 30) == "/" + "a-" * 30


def test_names_and_values_stand_below_each_other() -> None:
    """Two blanks before the names and behind the longest."""
    assert output.name_value_text([("a", "1"), ("bcd", "2")]) == "  a    1\n  bcd  2"


def test_an_answer_is_for_a_program_or_for_a_person(capsys: pytest.CaptureFixture[str]) -> None:
    """JSON, a text, or what makes one of the document; an empty text is not a line."""
    for text in ("plain", lambda document: f"{document['a']} made", ""):
        output.answer({"a": 1}, text, as_json=False)
    output.answer({"a": 1}, "plain", as_json=True)

    assert capsys.readouterr().out == 'plain\n1 made\n{\n  "a": 1\n}\n'


def test_what_is_to_be_known_besides_goes_to_standard_error(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """On one line for a program, without marks."""
    output.print_note(f"two\n{output.mark_strong('lines')}")

    said = capsys.readouterr()
    assert (said.out, said.err) == ("", "note: two lines\n")
    assert output.without_strong_marks(output.mark_strong("a")) == "a"


def test_tabs_become_blanks_and_what_is_no_letter_a_question_mark() -> None:
    """Other blanks become plain ones; marks of ours stay until a text is printed."""
    assert output.without_control_characters("a\tb\u2003c\x07\nd") == "a   b c?\nd"
    assert output.without_control_characters(output.mark_strong("a\x07")) == output.mark_strong(
        "a?"
    )


def test_without_a_terminal_nobody_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A yes needs no question; otherwise nothing is changed, and the sentence says how."""
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))
    output.require_consent("sure?", yes=True)
    with pytest.raises(BrimlineError, match="add --yes"):
        output.require_consent("sure?", yes=False)


def test_a_command_has_help_in_short_and_json() -> None:
    """Every command has both."""
    made = output.command("x")(lambda as_json: click.echo(str(as_json)))

    assert [option.name for option in made.params] == ["as_json"]
    assert made.context_settings == {"help_option_names": ["-h", "--help"]}
    assert getattr(made.params[0], "is_flag", False)


def test_sizes_of_files_that_are_there_are_added_up(tmp_path: Path) -> None:
    """A folder or one that is gone counts nothing."""
    (tmp_path / "a").write_bytes(b"123")
    (tmp_path / "b").write_bytes(b"12")

    assert output.total_file_bytes([str(tmp_path / name) for name in ("a", "b", "c", ".")]) == 5


@pytest.mark.parametrize(
    ("indent", "line"),
    [
        (0, "name  " + "x" * 34),
        (2, "  name  " + "x" * 31 + "…"),
        (30, " " * 30 + "name  xxx…"),
    ],
)
def test_a_table_that_is_indented_is_no_wider(
    indent: int, line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What its rows begin with is part of the columns."""
    monkeypatch.setenv("COLUMNS", "40")

    (row,) = output.table_text([], [["name", "x" * 34]], indent=indent).split("\n")

    assert len(row) <= 40
    assert row == line


def test_what_stands_out_does_so_on_a_terminal_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the marks, and no further."""
    shown = []
    for is_terminal in (True, False):
        stream = io.StringIO()
        monkeypatch.setattr(stream, "isatty", lambda told=is_terminal: told)
        monkeypatch.setattr(sys, "stdout", stream)
        output.say(f"a {output.mark_strong('b')} c")
        output.say("")
        shown.append(stream.getvalue())

    assert [text.replace("?", "") for text in shown] == ["a \x1b[1mb\x1b[0m c\n", "a b c\n"]


class Terminal(io.StringIO):
    """What a terminal would show."""

    def isatty(self) -> bool:
        """It is one."""
        return True


def shown_terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Standard error on a terminal, where work has taken long enough to be told of."""
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(os, "isatty", lambda number: number == 2)
    monkeypatch.setattr(output, "_PROGRESS_AFTER_S", 0.0)
    return stream


STEPS = output._STEPS


@pytest.mark.parametrize(
    ("total", "done", "shown"),
    [
        (1, [1], ["0%", "100%"]),
        (10, [5, 5], ["0%", "50%", "100%"]),
        (10, [5], ["0%", "50%"]),
        # Drawn by small parts: what is less waits for more, or for the end.
        (STEPS - 1, [1], ["0%"]),
        (STEPS, [STEPS // 100], ["0%", "1%"]),
        (2 * STEPS, [1], []),
        (2 * STEPS, [2], ["0%"]),
        (2 * STEPS + 1, [1, STEPS - 1, 1], ["0%", "49%", "50%"]),
        (0, [1], []),
    ],
)
def test_progress_is_drawn_as_far_as_work_is_done(
    monkeypatch: pytest.MonkeyPatch, total: int, done: list[int], shown: list[str]
) -> None:
    """From nothing to where it ended; where there is nothing to do nothing is drawn."""
    terminal = shown_terminal(monkeypatch)
    with output.Progress("Reading", total) as progress:
        for amount in done:
            progress.advance(amount)

    assert list(dict.fromkeys(re.findall(r"\d+%", terminal.getvalue()))) == shown
    assert terminal.getvalue().endswith("\n") is bool(shown)
    assert ("Reading  [" in terminal.getvalue()) is bool(shown)


def test_what_is_left_is_drawn_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """However little it is."""
    terminal = shown_terminal(monkeypatch)
    with output.Progress("Reading", 800) as progress:
        for amount in (792, 1, 1):
            progress.advance(amount)
        before = terminal.getvalue()
        for _ in range(6):
            progress.advance(1)
    with output.Progress("Writing", 800) as progress:
        progress.advance(799)
        progress.advance(1)

    assert before.count("99%") == 1
    assert terminal.getvalue().count("100%") == 2


def test_work_that_is_soon_done_draws_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor is anything drawn where nobody looks."""
    terminal = shown_terminal(monkeypatch)
    monkeypatch.setattr(output, "_PROGRESS_AFTER_S", 900.0)
    with output.Progress("Reading", 10) as progress:
        progress.advance(10)
    monkeypatch.setattr(output, "_PROGRESS_AFTER_S", 0.0)
    monkeypatch.setattr(os, "isatty", lambda _number: False)
    with output.Progress("Reading", 10) as progress:
        progress.advance(10)

    assert terminal.getvalue() == ""


@pytest.mark.parametrize(("given", "is_yes"), [("y", True), ("n", False), ("", False)])
def test_a_person_at_a_terminal_is_asked_on_standard_error(
    given: str,
    is_yes: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Nothing but a yes is one, and the question obeys nobody."""
    monkeypatch.setattr(sys, "stdin", Terminal(f"{given}\n"))

    with contextlib.nullcontext() if is_yes else pytest.raises(click.Abort):
        output.require_consent("Remove\x1b it?", yes=False)

    said = capsys.readouterr()
    assert said.err.startswith("Remove? it? [y/N]:")
    assert said.out.strip() == ""


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ([], 0, "None False False"),
        (["abc"], 0, "abc False False"),
        (["--session", "abc"], 0, "abc False False"),
        (["--yes", "--dry-run"], 0, "None True True"),
        (["abc", "--session", "abc"], 2, "Name a session as SESSION or by --session, not by both."),
        ([""], 2, "SESSION and ID must not be empty."),
        (["--session", ""], 2, "SESSION and ID must not be empty."),
    ],
)
def test_a_session_is_named_in_one_of_two_ways_or_not_at_all(
    arguments: list[str], code: int, said: str
) -> None:
    """The options not to ask and to change nothing are off."""

    @output.yes_option
    @output.dry_run_option
    @output.session_argument_and_option
    def body(
        file: str | None, session_id: str | None, yes: bool, dry_run: bool, as_json: bool
    ) -> None:
        assert not as_json
        click.echo(f"{output.given_session(file, session_id)} {yes} {dry_run}")

    done = CliRunner().invoke(output.command("x")(body), arguments)

    assert (done.exit_code, done.output.strip().split("\n")[-1].removeprefix("Error: ")) == (
        code,
        said,
    )


def test_help_says_what_every_command_has() -> None:
    """By its short name too."""
    made = output.command("x")(
        output.session_option(output.yes_option(output.dry_run_option(lambda **_: None)))
    )

    shown = " ".join(CliRunner().invoke(made, ["-h"]).output.split())

    for told in (
        "--session ID A session: its id (or how it begins), file, or last.",
        "--yes Do not ask.",
        "--dry-run Show what would happen; change nothing.",
        "--json Print JSON.",
    ):
        assert told in shown


@pytest.mark.parametrize(
    ("failure", "told"),
    [
        (OSError(28, "No space left on device"), "No space left on device"),
        (OSError("odd"), "odd"),
    ],
)
def test_an_output_that_cannot_be_written_is_blamed(
    failure: OSError, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the system's words where it has some."""
    monkeypatch.setattr(sys, "stdout", io.StringIO())

    with (
        pytest.raises(BrimlineError) as raised,
        output.stdout_errors_raised_as_ours(),
    ):
        raise failure

    assert str(raised.value) == f"standard output cannot be written: {told}"


def test_a_complaint_is_wrapped_on_a_terminal_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """For a program it is one line."""
    monkeypatch.setenv("COLUMNS", "40")
    told = []
    for stream in (Terminal(), io.StringIO()):
        monkeypatch.setattr(sys, "stderr", stream)
        output.complain("word " * 8 + "\nend")
        told.append(stream.getvalue())

    assert told == ["word word word word word word word word\nend\n", f"{'word ' * 8} end\n"]


@pytest.mark.parametrize(
    ("values", "full", "line"),
    [
        ([1], None, "█"),
        ([0], None, "▁"),
        ([0], 0, "▁"),
        ([12, 13, 24, 25, 99, 100], 100, "▁▂▂▃██"),
        (range(40), 40, "".join("▁▂▃▄▅▆▇█"[value // 5] for value in range(40))),
    ],
)
def test_a_block_is_an_eighth_of_a_window(
    values: Sequence[int], full: int | None, line: str
) -> None:
    """From exactly its share; what is unknown is measured by the largest."""
    assert output.sparkline(values, full) == line


@pytest.mark.parametrize(
    ("encoding", "line"), [("utf-8", "▁▅█"), ("ascii", "_+#"), ("latin-1", "_+#")]
)
def test_where_blocks_are_not_known_plain_marks_are_drawn(
    encoding: str, line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As high as they would be."""
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding=encoding))

    assert output.sparkline([0, 50, 100], 100) == line
    assert output.marks_or_plain_ones("█", "#") == ("█" if encoding == "utf-8" else "#")


def test_what_is_said_is_out_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """On either stream, as other programs may write there next."""
    for name in ("stdout", "stderr"):
        raw = io.BytesIO()
        monkeypatch.setattr(sys, name, io.TextIOWrapper(raw, encoding="utf-8"))
        output.say("told", err=name == "stderr")
        assert raw.getvalue() == b"told\n"


def test_folders_of_one_name_are_told_apart_by_where_they_are() -> None:
    """A name that says nothing has its folder before it, and the root is one."""
    found = output.folder_names(["/a/cli", "/b/cli", "/b/x/cli", "/b/importer/", "/w/4", "/", ""])

    assert found == {
        "/a/cli": "a/cli",
        "/b/cli": "b/cli",
        "/b/x/cli": "x/cli",
        "/b/importer/": "importer",
        "/w/4": "w/4",
        "/": "/",
        "": "unknown",
    }
