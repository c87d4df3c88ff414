"""What is shown of a large output: every line is shown or inside a range that is written down."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brimline.offload import kinds, preview

from .player import LOG, SOURCE

ROW = re.compile(r"(\d+)(?:-(\d+))?: ")


def shown(text: str, tool: str = "Bash", files: tuple[str, ...] = (), subject: str = "") -> str:
    """The preview of an output."""
    source = preview.Source(text)
    kind = kinds.kind_of(text, source.lines, tool, list(files))
    return preview.make_preview(text, source, kind, tool, subject)


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


@given(
    st.lists(
        st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]), max_size=80),
        min_size=5,
        max_size=200,
    )
)
def test_every_line_is_shown_or_inside_a_range(lines: list[str]) -> None:
    """Whatever the lines hold."""
    text = "\n".join(["2026-11-15 10:00:00 start", *lines, "2026-11-15 10:00:09 end"])
    source = preview.Source(text)
    for kind in (kinds.LOG, kinds.CODE, kinds.PROSE, kinds.FOUND):
        assert_complete(preview.make_preview(text, source, kind, "Bash", "x"), text)


@pytest.mark.row("S2-28")
@pytest.mark.parametrize("size", [40_000, 400_000, 6_000_000])
def test_however_long_the_output_its_preview_is_not(size: int) -> None:
    """Both ends, and every line inside a range."""
    text = (LOG + "\n") * (size // len(LOG) + 1)

    found = shown(text)

    assert len(found) <= 1_700
    assert "worker 0 finished" in found
    assert "worker 3999 finished" in found
    assert_complete(found, text)


def test_what_failed_stands_out_of_a_log_once_per_message() -> None:
    """Also in the middle of a huge one."""
    lines = LOG.split("\n")
    for at in (500, 2_000, 2_001):
        lines[at] = f"2026-11-15 10:00:00 ERROR connection {at} refused by upstream"
    text = "\n".join(lines)

    for found in (shown(text), shown(text + "\n" + LOG * 3)):
        assert "ERROR connection 500 refused by upstream (+2" in found


def test_source_shows_its_definitions_and_names_what_is_in_between() -> None:
    """The names are what a model comes back to."""
    body = "\n".join(f"    total = accumulate_{n}(total, limit_{n})" for n in range(40))
    text = "\n".join(f"def step_{n}(total):\n{body}\n" for n in range(12))

    found = shown(text, "Read", ("/p/a.py",))

    assert all(f"def step_{n}(total):" in found for n in range(12))
    assert "accumulate_7" in found
    assert len(found) <= 5_200


def test_json_is_described_by_its_shape() -> None:
    """With the number of items and samples of one."""
    rows = [
        {"id": n, "title": f"Fix parser_{n}", "labels": ["bug"], "url": f"https://x/{n}"}
        for n in range(300)
    ]

    found = shown(json.dumps({"total": 300, "items": rows}))

    assert 'items: [300 × {id: 0, title: "Fix parser_0"' in found
    assert len(found) <= 1_000


def test_what_only_begins_like_json_is_not() -> None:
    """A review comment with its number in brackets is content."""
    text = "\n".join(
        f"[{n}] src/a_{n}.go:{n}\nplease {'re' * (n % 7)}name this\n" for n in range(900)
    )

    assert kinds.kind_of(text, text.split("\n"), "Bash", []) != kinds.JSON


def test_paths_are_counted_by_directory() -> None:
    """The largest first, with as many names as there is room."""
    text = "\n".join(f"src/pkg_{n % 3}/mod_{n}.py" for n in range(900)) + "\ndocs/index.md"

    found = shown(text)

    assert found.startswith("901 paths in 4 directories")
    assert "src/pkg_0/ (300): mod_0.py mod_3.py" in found
    assert "docs/ (1)" in found


def test_bytes_that_somebody_decoded_are_not_shown() -> None:
    """And half of a surrogate pair, a lone carriage return or an escape does no harm."""
    assert shown("\x00\x01" * 9_000).startswith("Binary data, not shown")
    odd = "\n".join(f"\x1b[3{n % 8}m{n}%\rdone {n} \ud800" for n in range(2_000))
    assert "done 0" in shown(odd)


def test_a_diff_without_context_is_all_there() -> None:
    """Headers of files and hunks, commit messages, changed lines that look like headers."""
    text = (
        "commit 1\n\n    why\n\ndiff --git a/x b/x\nindex 1..2\n--- a/x\n+++ b/x\n"
        "@@ -1,3 +1,3 @@ f\n same\n--- removed comment\n+++ added comment\n same\n"
        "diff --git a/y b/y\n@@ -1 +1 @@\n-a\n+b\n"
    )

    found = preview.changed_lines(text)

    for line in (
        "commit 1",
        "    why",
        "diff --git a/x b/x",
        "@@ -1,3 +1,3 @@ f",
        "--- removed comment",
        "+++ added comment",
        "diff --git a/y b/y",
        "-a",
        "+b",
    ):
        assert line in found.split("\n")
    assert "same" not in found
    assert "nothing is missing" in found


def test_source_that_is_read_keeps_its_line_numbers() -> None:
    """So that pages can be asked for."""
    assert_complete(shown(SOURCE, "Read", ("/p/a.py",)), SOURCE)
