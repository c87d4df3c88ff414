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


def shown(text: str, tool: str = "Bash", *files: str) -> str:
    """The preview of an output."""
    source = preview.Source(text)
    kind = kinds.kind_of(text, source.lines, tool, list(files))
    return preview.make_preview(text, source, kind, tool, "subject")


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
    """Whatever the lines hold, and whatever they are taken for."""
    text = "\n".join(["2026-11-15 10:00:00 start", *lines, "2026-11-15 10:00:09 end"])
    for kind in (kinds.LOG, kinds.CODE, kinds.PROSE, kinds.FOUND):
        found = preview.make_preview(text, preview.Source(text), kind, "Bash", "x")
        assert_complete(found, text)


@pytest.mark.row("S2-28")
@pytest.mark.parametrize("size", [40_000, 400_000, 6_000_000])
def test_however_long_the_output_its_preview_is_not(size: int) -> None:
    """Both ends, and every line inside a range."""
    text = (LOG + "\n") * (size // len(LOG) + 1)

    found = shown(text)

    assert len(found) <= 1_600
    assert "worker 0 finished" in found
    assert "worker 3999 finished" in found
    assert_complete(found, text)


def test_what_failed_stands_out_of_a_log_once_per_message() -> None:
    """The graver first, also in the middle of a huge one, and from the last state of a line."""
    lines = LOG.split("\n")
    for at in (500, 2_000, 2_001):
        lines[at] = f"2026-11-15 10:00:00 ERROR connection {at} refused by upstream"
    lines[700] = "loading 10 %\rloading 90 %\rFAILED to load\r"
    for at in range(805, 3_000, 10):
        lines[at] = f"warning: {'very ' * (at // 10 % 23)}old form"
    text = "\n".join(lines)

    for found in (shown(text), shown(text + "\n" + LOG * 3)):
        assert "ERROR connection 500 refused by upstream (+2" in found
        assert ": FAILED to load" in found
        assert "warning: " in found


def test_source_shows_its_definitions_and_names_what_is_in_between() -> None:
    """The names are what a model comes back to; line numbers are kept, so that pages can be had."""
    body = "\n".join(f"    total = accumulate_{n}(total, limit_{n})" for n in range(40))
    text = "\n".join(f"def step_{n}(total):\n{body}\n" for n in range(12))

    found = shown(text, "Read", "/p/a.py")

    assert all(f"def step_{n}(total):" in found for n in range(12))
    assert "accumulate_7" in found
    assert_complete(found, text)
    whole = shown(SOURCE, "Read", "/p/a.py")
    assert 4_800 < len(whole) <= 5_100
    assert_complete(whole, SOURCE)


def test_headings_and_first_hits_are_shown() -> None:
    """Of a document, without what looks like one in code; of a search each file once."""
    parts = [f"## Part {n}\n\n```\n# no heading {n}\n```\n{'words ' * 90}" for n in range(20)]
    document = shown("\n".join(parts), "Read", "/p/a.md")
    hits = [f"src/mod_{n}.py:{line}: found it" for n in range(9) for line in range(60)]
    search = shown("\n".join(hits), "Grep")

    assert all(f"## Part {n}" in document for n in range(20))
    assert "no heading 7" not in document.split("…")[0]
    assert all(f"src/mod_{n}.py:0: found it" in search for n in range(9))


def test_json_and_paths_are_described() -> None:
    """By shape, with the number of items and samples of one; by directory, the largest first."""
    rows = [
        {"id": n, "title": f"Fix parser_{n}", "labels": ["bug"], "url": f"https://x/{n}"}
        for n in range(300)
    ]
    described = shown(json.dumps({"total": 300, "items": rows}))
    paths = "\n".join(f"src/pkg_{n % 3}/mod_{n}.py" for n in range(900)) + "\ndocs/index.md"
    listed = shown(paths)

    assert 'items: [300 × {id: 0, title: "Fix parser_0"' in described
    assert "Names in it: " in described
    assert len(described) <= 1_000
    assert listed.startswith("901 paths in 4 directories")
    assert "src/pkg_0/ (300): mod_0.py mod_3.py" in listed
    assert "docs/ (1)" in listed


def test_what_only_begins_like_json_is_not() -> None:
    """A review comment with its number in brackets is content."""
    text = "\n".join(
        f"[{n}] src/a_{n}.go:{n}\nplease {'re' * (n % 7)}name this\n" for n in range(900)
    )

    assert kinds.kind_of(text, text.split("\n"), "Bash", []) != kinds.JSON


def test_bytes_that_somebody_decoded_are_not_shown() -> None:
    """And half of a surrogate pair, a lone carriage return or an escape does no harm."""
    for binary in ("\x00\x01" * 9_000, "\x01a\x02b" * 5_000, "\ufffdxyz" * 5_000):
        assert shown(binary).startswith("Binary data, not shown")
    odd = "\n".join(f"\x1b[3{n % 8}m{n}%\rdone {n} \ud800" for n in range(2_000))
    assert "done 0" in shown(odd)


def test_a_diff_without_context_is_all_there() -> None:
    """Headers of files and hunks, commit messages, changed lines that look like headers."""
    kept = "commit 1\n\n    why\n\ndiff --git a/x b/x\n{}@@ -1,3 +1,3 @@ f\n{}--- removed comment\n"
    kept += "+++ added comment\n{}diff --git a/y b/y\n@@ -1 +1 @@\n-a\n+b\n"
    text = kept.format("index 1..2\n--- a/x\n+++ b/x\n", " same\n", " same\n")

    found = preview.changed_lines(text)

    expected = kept.format("+++ b/x\n", "", "").split("\n")
    assert [line for line in found.split("\n")[:-1] if line] == [line for line in expected if line]
    assert found.endswith("nothing is missing]")
