"""`brimline carry`: the widths of what is listed."""

from __future__ import annotations

import pytest

from brimline.carry.ledger import Ledger
from brimline.cli import carry_commands


@pytest.mark.parametrize(
    ("characters", "end", "shown"),
    [
        (68, "", "x" * 68),
        (69, "", "x" * 67 + "…"),
        (61, " (done)", "x" * 61 + " (done)"),
        (62, " (done)", "x" * 60 + "… (done)"),
    ],
)
def test_a_note_with_its_id_takes_78_characters(characters: int, end: str, shown: str) -> None:
    """What stands behind it included."""
    line = carry_commands._with_id({"id": "3f2a9c01"}, "x" * characters, end)

    assert line == f"3f2a9c01  {shown}"
    assert len(line) == 78


def test_the_parts_of_a_record_have_their_widths() -> None:
    """A path keeps its end; the result of a check is a few words; what is done says so."""
    record = Ledger("s1")
    record.plan = "/" + "p" * 90 + "/plan.md"
    record.pulls = ["https://" + "h" * 71]
    record.changed = {"/" + "c" * 77: 1}
    record.checks = {"a": {"command": "make", "result": "r" * 15}}
    record.notes = {"n": {"id": "n", "kind": "keep", "text": "t", "done": True}}

    parts = carry_commands._sections_by_title(record)

    assert parts["Plan"][0].endswith("/plan.md")
    assert len(parts["Plan"][0]) == 78
    assert parts["Pull requests"] == ["https://" + "h" * 69 + "…"]
    assert parts["Files changed"] == [*record.changed]
    assert parts["Checks"] == ["make: " + "r" * 13 + "…"]
    assert parts["Notes"] == ["n  keep: t (done)"]
