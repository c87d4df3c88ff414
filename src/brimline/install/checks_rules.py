"""Checks that marked rules fit where they have to survive a compaction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from brimline import config
from brimline.fast import paths
from brimline.install.finding import Finding
from brimline.rules import marked

if TYPE_CHECKING:
    from collections.abc import Iterator


def findings(project_dir: str) -> Iterator[Finding]:
    """A warning where rules marked (ENFORCED) or (CRITICAL) are more than a card holds."""
    chosen = config.load(paths.home(), project_dir).values["rules.organisation_file"]
    rules = marked.read(project_dir, chosen)
    left_out = [text for name, text in rules if not name]
    if left_out:
        yield Finding(
            "rules",
            "warning",
            left_out[0].removeprefix("[truncated] "),
            "what is left out is not in force after a compaction",
            "mark fewer rules, or shorten them; `brimline rules lint` lists them",
        )
    elif rules:
        yield Finding("rules", "ok", f"{len(rules)} marked rules come back after every compaction")
