"""Marked rules and the room there is for them."""

from __future__ import annotations

from pathlib import Path

import pytest

from brimline.install import checks_rules


def levels(project_dir: str) -> list[str]:
    """How serious the findings are."""
    return [finding.level for finding in checks_rules.findings(project_dir)]


@pytest.mark.row("S4-03")
@pytest.mark.parametrize(("rules", "expected"), [(0, []), (3, ["ok"]), (200, ["warning"])])
def test_marked_rules_that_do_not_fit_are_warned_about(
    rules: int, expected: list[str], project_dir: str
) -> None:
    """With their places; where there are none, nothing is said."""
    lines = [f"- Never break promise number {n} to anybody. (CRITICAL)" for n in range(rules)]
    Path(project_dir, "CLAUDE.md").write_text("\n".join(["# Rules", "", *lines]), encoding="utf-8")

    assert levels(project_dir) == expected
    if rules == 200:
        (finding,) = checks_rules.findings(project_dir)
        assert "140 marked rules had no room, see CLAUDE.md" in finding.what
