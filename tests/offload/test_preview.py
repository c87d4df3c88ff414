"""What is shown of a large output: every line is shown or inside a range that is written down."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brimline.offload import judge, kinds, preview

from .conftest import LOG, SOURCE

GOLDEN = Path(__file__).parent / "golden"
ROW = re.compile(r"(\d+)(?:-(\d+))?: ")
BODY = "\n".join(f"    total = accumulate_{n}(total, limit_{n})" for n in range(40))
ERROR = "10:00:00 ERROR connection {at} refused by upstream"
ALARMS = {500: ERROR, 2_001: ERROR, 2_002: ERROR, 700: "at 10 %\rat 90 %\rFAILED to load\r"}
ALARMS |= {at: f"warning: {'very ' * (at // 10 % 23)}old form" for at in range(805, 3_000, 10)}
BUILD = "\n".join(ALARMS.get(at, line).format(at=at) for at, line in enumerate(LOG.split("\n")))
ISSUES = [
    {"id": n, "title": f"Fix parser_{n}", "labels": ["bug"], "url": f"https://x/{n}", "by": None}
    for n in range(300)
]
DIFF = (
    "commit 1\n\n    why\n\ndiff --git a/x b/x\nindex 1..2\n--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@ f\n"
    " same\n--- removed comment\n+++ added comment\n same\n"
    "diff --git a/y b/y\n@@ -1 +1 @@\n-a\n+b\n"
)
PART = "## Part {n}\n\n```\n# no heading {n}\n```\n" + "words " * 90
OUTPUTS = {
    "alarms": (BUILD, "Bash"),
    "source": ("\n".join(f"def step_{n}(total):\n{BODY}\n" for n in range(12)), "Read", "/p/a.py"),
    "document": ("\n".join(PART.format(n=n) for n in range(20)), "Read", "/p/a.md"),
    "hits": ("\n".join(f"src/m_{n}.py:{k}: hit" for n in range(9) for k in range(60)), "Grep"),
    "json": (json.dumps({"total": 300, "items": ISSUES}) + "\ntrailing words", "Bash"),
    "documents": ("\n".join(json.dumps(issue) for issue in ISSUES), "Bash"),
    "paths": (
        "\n".join(f"src/pkg_{n % 3}/mod_{n}.py" for n in range(900)) + "\nd/index.md",
        "Glob",
    ),
    "minified": ("var a=Something_Long(1);" * 2_000, "Read", "/p/a.js"),
    "letter": ("\n".join(f"Point {n}: " + "many words " * 150 for n in range(20)), "mcp__a__b"),
    "binary": ("\x01a\x02b" * 5_000, "Bash"),
    "diff": (DIFF, "Bash"),
}


def shown(text: str, tool: str = "Bash", *files: str) -> str:
    """The preview of an output."""
    arguments = {"file_path": files[0]} if files else {}
    return preview.make_preview(judge.Case(tool, arguments, text, len(text)), "subject")


def assert_complete(found: str, text: str) -> None:
    """Every line has its place, in order."""
    expected = 1
    for row in found.split("\n"):
        match = ROW.match(row)
        if match is None:
            assert row.startswith(("(Lines are long", '("A-B: x … y"'))
            continue
        assert int(match[1]) == expected
        expected = int(match[2] or match[1]) + 1
    assert expected == text.count("\n") + (not text.endswith("\n")) + 1


@pytest.mark.parametrize("name", OUTPUTS)
def test_each_kind_is_shown_in_its_way(name: str) -> None:
    """Failures once per message, definitions, headings, shapes, directories, changed lines."""
    assert shown(*OUTPUTS[name]) == (GOLDEN / f"preview-{name}.txt").read_text(encoding="utf-8")


@given(
    st.lists(
        st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]), max_size=80),
        min_size=5,
        max_size=200,
    )
)
def test_every_line_is_shown_or_inside_a_range(lines: list[str]) -> None:
    """Whatever the lines hold, and whatever they are taken for."""
    text = "\n".join(["2026-11-15 10:00:00 start", *lines, "2026-11-15 10:00:09 end"])
    for kind in (kinds.LOG, kinds.CODE, kinds.PROSE, kinds.FOUND):
        case = judge.Case("Bash", {}, text, len(text))
        case.kind = kind
        assert_complete(preview.make_preview(case, "x"), text)


CHANGES = "diff --git a/x b/x\n@@ -1 +1 @@\n-a\n+b\ndiff --git a/y b/y\n@@ -1 +1 @@\n-cc\n+dd"


@pytest.mark.parametrize(
    ("left", "lines", "rest"),
    [
        (0, 8, "nothing is missing"),
        (-1, 7, "1 changed lines are missing: y (1)"),
        (-4, 7, "1 changed lines are missing: y (1)"),
        (-5, 6, "2 changed lines are missing: y (2)"),
        (-9, 5, "2 changed lines are missing: y (2)"),
        (-39, 4, "2 changed lines are missing: y (2)"),
        (-40, 3, "3 changed lines are missing: x (1), y (2)"),
    ],
)
def test_of_a_large_diff_the_changed_lines_that_are_missing_are_counted_by_file(
    left: int, lines: int, rest: str
) -> None:
    """Whole lines from the beginning, as many as fit beside a thousand characters for the rest."""
    room = sum(len(line) + 1 for line in CHANGES.split("\n")) + left

    found = preview.preview_of_diff(CHANGES, 1_000 + room)

    shown = CHANGES.split("\n")[:lines]
    assert found.split("\n") == [*shown, f"[changed lines only, without context; {rest}]"]


def test_of_many_files_with_missing_lines_some_are_named() -> None:
    """In about five hundred characters."""
    diff = "\n".join(f"diff --git a/f{n} b/file_{n}\n@@ -1 +1 @@\n+x" for n in range(200))

    told = preview.preview_of_diff(diff, 1_000).partition("are missing: ")[2]

    assert told.startswith("file_0 (1), file_1 (1), ")
    assert 500 <= len(told) <= 540
    assert "…+" in told


@pytest.mark.row("S2-28")
@pytest.mark.parametrize("size", [40_000, 400_000, 6_000_000])
def test_however_long_the_output_its_preview_is_not(size: int) -> None:
    """Both ends, what failed in the middle of a huge one, and every line inside a range."""
    text = (LOG + "\n") * (size // len(LOG) + 1)

    found = shown(text)

    assert len(found) <= 1_600
    assert "worker 0 finished" in found
    assert "worker 3999 finished" in found
    assert_complete(found, text)
    found = shown(text + BUILD + "\n" + text)
    assert "ERROR connection 500 refused by upstream (+2" in found
    whole = shown(SOURCE, "Read", "/p/a.py")
    assert 4_800 < len(whole) <= 5_100
    assert_complete(whole, SOURCE)


def test_odd_characters_do_no_harm() -> None:
    """Half of a surrogate pair, carriage returns, escapes, zeros; some begin like JSON only."""
    odd = "\n".join(f"\x1b[3{n % 8}m{n}%\rdone {n} \ud800" for n in range(2_000))
    assert "done 0" in shown(odd)
    for binary in ("\x00\x01" * 9_000, "\ufffdxyz" * 5_000):
        assert shown(binary).startswith("Binary data, not shown")
    review = "\n".join(
        f"[{n}] src/a_{n}.go:{n}\nplease {'re' * (n % 7)}name this\n" for n in range(900)
    )
    assert kinds.kind_of_output(review, review.split("\n"), "Bash", []) != kinds.JSON


def test_an_empty_first_line_is_counted_as_one() -> None:
    """The row before the first shown line says how many lines it stands for."""
    assert shown("\n" + "\n".join(f"INFO worker {n} finished" for n in range(900))).startswith(
        "1: "
    )


@pytest.mark.timeout(30)
@pytest.mark.parametrize("unit", ["~/", "</", "./a", "\r", "public" + " " * 900 + "\n"])
@pytest.mark.parametrize("before", ["", "**"])
def test_no_output_makes_its_preview_slow(unit: str, before: str) -> None:
    """Lines that almost fit what is looked for, in every place: the client waits for the hook."""
    text = "\n".join(
        [before + unit * (39_000 // len(unit))] * 4 + [unit * (2_000_000 // len(unit))]
    )

    assert len(shown(text)) < 6_000


def shown_as(text: str, kind: str, tool: str = "Read") -> str:
    """The preview of an output that is taken for a kind."""
    case = judge.Case(tool, {}, text, len(text))
    case.kind = kind
    return preview.make_preview(case, "subject")


def full_of_names(length: int, first: int) -> str:
    """A text of that length: short ends, a first line of so many characters, names of ten."""
    head, tail = "#" * first + "\n#\n#\n", "\n#\n#\n#\n#"
    rows = [" ".join(f"na_{row * 5 + at:06}" for at in range(5)) for row in range(length // 50 - 3)]
    body = "\n".join([head, *rows, ""])
    return body + "#" * (length - len(body) - len(tail)) + tail


@pytest.mark.parametrize(
    ("kind", "tool", "length", "characters"),
    [
        # Of code and prose a fifth, from 1,500 to 5,000 characters.
        (kinds.CODE, "Read", 7_000, 1_500),
        (kinds.CODE, "Read", 7_500, 1_500),
        (kinds.CODE, "Read", 7_550, 1_510),
        (kinds.PROSE, "Read", 10_000, 2_000),
        (kinds.CODE, "Read", 24_950, 4_990),
        (kinds.CODE, "Read", 25_000, 5_000),
        (kinds.CODE, "Read", 40_000, 5_000),
        # Not where the client itself would show less.
        (kinds.CODE, "Bash", 30_000, 5_000),
        (kinds.CODE, "Bash", 30_001, 1_500),
        (kinds.LOG, "Read", 40_000, 1_500),
        (kinds.FOUND, "Read", 40_000, 1_500),
        (kinds.DUMP, "Read", 40_000, 1_500),
        (kinds.JSON, "Read", 40_000, 1_000),
    ],
)
def test_a_preview_has_room_for_so_many_characters(
    kind: str, tool: str, length: int, characters: int
) -> None:
    """Filled with names to the last one that fits; a line that is longer by one costs a name."""
    counts = [
        shown_as(full_of_names(length, first), kind, tool).count("na_")
        for first in (60, 61, 70, 71)
    ]

    fitting = characters // 10 - 17
    assert counts == [fitting, fitting - 1, fitting - 1, fitting - 2]


@pytest.mark.parametrize(
    ("headings", "shown", "width"),
    [
        *[(1, 1, 100), (12, 12, 100), (13, 13, 100)],
        *[(14, 14, 96), (15, 15, 89), (20, 20, 64), (30, 30, 39)],
        *[(40, 36, 30), (80, 36, 30)],
    ],
)
def test_headings_are_the_narrower_the_more_there_are(
    headings: int, shown: int, width: int
) -> None:
    """All of them in three tenths of the room, down to thirty characters each."""
    rows = [f"def f_{number:04}(" + "-" * 150 for number in range(headings)]
    text = "\n".join([*"###", *rows, *"####", ""])

    found = re.findall(r": (def .*-)", shown_as(text.ljust(40_000, "#"), kinds.CODE))

    assert (len(found), {len(row) for row in found}) == (shown, {width})


@pytest.mark.parametrize(
    ("times", "told"), [(0, []), (1, [""]), (2, [" (+1 alike)"]), (3, [" (+2 alike)"])]
)
def test_an_alarm_that_came_again_is_counted(times: int, told: list[str]) -> None:
    """Those alike but for their numbers; one alone has no count."""
    rows = [f"INFO step {number}" for number in range(300)]
    for number in range(times):
        rows[50 + 7 * number] = f"ERROR connection {number} refused"

    found = shown_as("\n".join(rows), kinds.LOG, "Bash")

    rows = [row for row in found.split("\n") if "ERROR" in row]
    assert rows == [f"51-296: ERROR connection 0 refused{note} …" for note in told]


@pytest.mark.parametrize(
    ("text", "is_long"),
    [
        ("x" * 2_000, False),
        ("x" * 2_001, True),
        ("x" * 1_999 + "\n" + "x" * 2_000, False),
        ("x" * 2_000 + "\n" + "x" * 2_000, True),
        # What is drawn over is a line of its own here.
        ("x" * 2_000 + "\r" + "x" * 1_999, False),
        ("x" * 2_000 + "\r" + "x" * 2_000, True),
    ],
)
def test_lines_are_long_from_2000_characters_on(text: str, is_long: bool) -> None:
    """On average; then bytes are asked for instead of lines."""
    hint = "\n(Lines are long: ask for --bytes A:B instead of --lines.)"

    assert (hint in shown_as(text, kinds.LOG)) is is_long


SYMBOLS = " ".join(f"na_{number:06}" for number in range(10))
PLACES = " ".join(f"src/{letter}.cfgs" for letter in "abcdefghij")
TICKETS = " ".join(f"12345{number:02}" for number in range(10))


@pytest.mark.parametrize(
    ("named", "first", "lines"),
    [
        *[("", 40, 22), ("", 41, 21), ("", 96, 21), ("", 97, 20)],
        *[(SYMBOLS, 52, 20), (SYMBOLS, 53, 19)],
        *[(PLACES, 42, 20), (PLACES, 43, 19)],
        *[(TICKETS, 40, 22), (TICKETS, 41, 21)],
    ],
)
def test_room_that_symbols_and_paths_leave_is_filled_with_lines(
    named: str, first: int, lines: int
) -> None:
    """From both ends, while there is room for one of full width; other names come after them."""
    rows = [f"{chr(97 + at // 26)}{chr(97 + at % 26)} " + "-" * 40 for at in range(200)]
    rows[100] = named
    text = "\n".join(["#" * first, *"##", *rows, *"####"])

    assert shown_as(text, kinds.LOG).count("-" * 40) == lines


@pytest.mark.parametrize(
    ("length", "rest"),
    [
        (23_968, "nothing is missing"),
        (23_969, "1 changed lines are missing: x (1)"),
    ],
)
def test_of_a_diff_25000_characters_are_shown(length: int, rest: str) -> None:
    """A thousand of them are for what is missing."""
    head = "diff --git a/x b/x\n@@ -1 +1 @@"

    found = preview.preview_of_diff(f"{head}\n+{'x' * (length - 1)}")

    assert found.endswith(f"\n[changed lines only, without context; {rest}]")
    assert ("+xx" in found) is (rest == "nothing is missing")


@pytest.mark.parametrize("line", ["+a", "-a", " a", "\\ a"])
def test_what_stands_before_the_first_hunk_is_no_change(line: str) -> None:
    """It is quoted, whatever it begins with."""
    found = preview.preview_of_diff(f"{line}\n@@ -1 +1 @@\n+b")

    assert found.split("\n")[:3] == [f"  > {line}", "@@ -1 +1 @@", "+b"]


@pytest.mark.parametrize(("before", "is_shown"), [(594, True), (595, False)])
def test_an_alarm_is_looked_for_in_600_characters_of_a_line(before: int, is_shown: bool) -> None:
    """What begins further behind is not seen."""
    rows = [f"{chr(97 + at // 26)}{chr(97 + at % 26)} " + "-" * 40 for at in range(200)]
    rows[100] = "y" * before + " ERROR"

    assert ("yyy" in shown_as("\n".join(rows), kinds.LOG, "Bash")) is is_shown
