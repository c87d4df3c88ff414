"""`brimline doctor`: every check in one list, and how its findings look to a person."""

from __future__ import annotations

import os
import sys

from brimline.install import (
    checks_client,
    checks_data,
    checks_plugin,
    checks_rules,
    checks_store,
    checks_user,
    checks_wiring,
)
from brimline.install.finding import Finding

__all__ = ["Finding", "examine", "render"]

_MARKS = {"ok": "ok", "note": "note", "warning": "warning", "broken": "BROKEN"}
_COLOURS = {"ok": "32", "note": "36", "warning": "33", "broken": "1;31"}
_WIDTH = max(len(mark) for mark in _MARKS.values())
_INDENT = " " * (_WIDTH + 2)


def examine(home_dir: str, project_dir: str) -> list[Finding]:
    """Look at everything that brimline needs in order to work here."""
    found = [
        *checks_wiring.findings(home_dir, project_dir),
        *checks_plugin.findings(home_dir, project_dir),
        *checks_user.findings(home_dir, project_dir),
        *checks_data.findings(home_dir, project_dir),
        *checks_store.findings(home_dir, project_dir),
        *checks_rules.findings(project_dir),
        *checks_client.findings(home_dir, project_dir),
    ]
    return list(dict.fromkeys(found))  # settings and plugin may start the same program


def render(findings: list[Finding], *, colour: bool | None = None) -> str:
    """One line per finding, its reason and remedy below it, then the count of what is wrong."""
    if colour is None:
        colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    lines = []
    for finding in findings:
        lines.append(f"{_mark(finding, colour=colour)}  {_printable(finding.what)}")
        if finding.level != "ok":
            lines += [_INDENT + finding.why] if finding.why else []
            lines += [f"{_INDENT}fix: {_printable(finding.fix)}"] if finding.fix else []
    return "\n".join([*lines, "", _summary(findings)])


def _mark(finding: Finding, *, colour: bool) -> str:
    mark = _MARKS[finding.level].ljust(_WIDTH)
    return f"\x1b[{_COLOURS[finding.level]}m{mark}\x1b[0m" if colour else mark


def _printable(text: str) -> str:
    """Foreign words without what would steer a terminal."""
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in text)


def _summary(findings: list[Finding]) -> str:
    counts = {level: sum(found.level == level for found in findings) for level in _MARKS}
    if counts["broken"]:
        return f"{counts['broken']} broken, {counts['warning']} to look at."
    if counts["warning"]:
        return f"It works; {counts['warning']} to look at."
    return "All is well."
