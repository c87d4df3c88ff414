"""A command line, as far as offloading has to understand it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brimline.offload import shell

GOLDEN = json.loads((Path(__file__).parent / "golden/commands.json").read_text(encoding="utf-8"))


@pytest.mark.row("S3-11")
@pytest.mark.parametrize("row", GOLDEN, ids=[row["line"] for row in GOLDEN])
def test_a_line_is_remembered_repeated_and_exempted_by_what_it_runs(row: dict[str, Any]) -> None:
    """Two words for learning; nobody is invited to repeat a push; files tell the kind of text."""
    found = shell.read(row["line"])

    assert row == {
        "line": row["line"],
        "remembered_as": shell.pattern_of("Bash", row["line"]),
        "only_reads": found.only_reads,
        "shows": found.files,
        "prints": found.prints,
        "ran_something": found.ran_something,
        "is_exempt": found.is_exempt,
    }
    assert shell.files_of("Bash", {"command": row["line"]}) == found.files


@pytest.mark.parametrize(
    ("line", "asked"),
    [
        ("brimline store get sha256:01 --lines 3:9", [("sha256:01", "3:9")]),
        ("env A=1 /x/python -I -m brimline store get last --lines=3: | head", [("last", "3:")]),
        ("brimline store list; echo brimline store", None),
    ],
)
def test_recalls_are_known_by_their_words(line: str, asked: list[tuple[str, str]] | None) -> None:
    """Wherever in the line they stand."""
    assert shell.fetches("Bash", {"command": line}) == asked


@given(st.text(alphabet="ab '\"\\$(){}<>|&;\n#`=-", max_size=60))
def test_whatever_a_line_looks_like_nothing_raises(line: str) -> None:
    """And what only reads writes nowhere."""
    found = shell.read(line)

    assert not found.only_reads or not any(one.writes for one in found.commands)
