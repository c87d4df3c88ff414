"""What is shown of a large output: every line is shown or inside a range that is written down."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brimline.bulk import judge, kinds, preview

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
def test_each_kind_is_shown_in_its_way(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Failures once per message, definitions, headings, shapes, directories, changed lines."""
    for sized, value in json.loads((GOLDEN / "preview-sizes.json").read_text()).items():
        monkeypatch.setattr(f"brimline.bulk.{sized}", value)
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


def test_of_many_files_with_missing_lines_some_are_named() -> None:
    """In half of the room there is."""
    room = preview._FILES_CHARACTERS
    diff = "\n".join(f"diff --git a/f{n} b/file_{n}\n@@ -1 +1 @@\n+x" for n in range(200))

    told = preview.preview_of_diff(diff, room).partition("are missing: ")[2]

    assert told.startswith("file_0 (1), file_1 (1), ")
    assert room // 2 <= len(told) <= room // 2 + 40
    assert "…+" in told


@pytest.mark.row("S2-28")
@pytest.mark.parametrize("size", [40_000, 400_000, 6_000_000])
def test_however_long_the_output_its_preview_is_not(size: int) -> None:
    """Both ends, what failed in the middle of a huge one, and every line inside a range."""
    text = (LOG + "\n") * (size // len(LOG) + 1)

    found = shown(text)

    assert len(found) <= preview._LEAST_CHARACTERS + 100
    assert "worker 0 finished" in found
    assert "worker 3999 finished" in found
    assert_complete(found, text)
    found = shown(text + BUILD + "\n" + text)
    assert "ERROR connection 500 refused by upstream (+2" in found
    whole = shown(SOURCE, "Read", "/p/a.py")
    assert 0.8 < len(whole) / preview._MOST_CHARACTERS < 1.1
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


@pytest.mark.timeout(30)
@pytest.mark.parametrize("unit", ["~/", "</", "./a", "\r", "public" + " " * 900 + "\n"])
@pytest.mark.parametrize("before", ["", "**"])
def test_no_output_makes_its_preview_slow(unit: str, before: str) -> None:
    """Lines that almost fit what is looked for, in every place: the client waits for the hook."""
    text = "\n".join(
        [before + unit * (39_000 // len(unit))] * 4 + [unit * (2_000_000 // len(unit))]
    )

    assert len(shown(text)) < preview._MOST_CHARACTERS + 1_000


PLACES = " ".join(f"src/{letter}.cfgs" for letter in "abcdefghij")
