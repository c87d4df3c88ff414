"""A command line, as far as offloading has to understand it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brimline.bulk import judge, shell

GOLDEN = json.loads((Path(__file__).parent / "golden/commands.json").read_text(encoding="utf-8"))


@pytest.mark.row("S3-11")
@pytest.mark.parametrize("row", GOLDEN, ids=[row["line"] for row in GOLDEN])
def test_a_line_is_remembered_repeated_and_exempted_by_what_it_runs(row: dict[str, Any]) -> None:
    """Nobody is invited to repeat a push; files tell the kind of text; recalls are our own."""
    found, asked = (
        shell.parse_line(row["line"]),
        judge.recalls_asked_by_call("Bash", {"command": row["line"]}),
    )

    assert row == {
        "line": row["line"],
        "remembered_as": judge.pattern_for_learning("Bash", row["line"]),
        "only_reads": found.only_reads,
        "shows": found.files,
        "prints": found.prints,
        "ran_something": found.ran_something,
        "is_exempt": found.is_exempt,
        "fetches": json.loads(json.dumps(asked)),
    }
    assert judge.files_shown_by_call("Bash", {"command": row["line"]}) == found.files


@given(st.text(alphabet="ab '\"\\$(){}<>|&;\n#`=-", max_size=60))
def test_whatever_a_line_looks_like_nothing_raises(line: str) -> None:
    """And what only reads writes nowhere."""
    found = shell.parse_line(line)

    assert not found.only_reads or not any(one.writes for one in found.commands)
