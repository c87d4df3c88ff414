"""Checks that marked rules fit where they have to survive a compaction."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from brimline.install.finding import Finding
from brimline.rules import api

if TYPE_CHECKING:
    from collections.abc import Iterator

_MOST_NAMED = 3


def findings(project_dir: str) -> Iterator[Finding]:
    """A warning where rules marked (ENFORCED) or (CRITICAL) are more than a card holds."""
    rules = api.marked(project_dir)
    if not rules:
        return
    _, cut = api.fit(
        rules,
        4_500,
        overhead_characters=3,
    )
    if not cut:
        yield Finding("rules", "ok", f"{len(rules)} marked rules come back after every compaction")
        return
    places = [f"{os.path.basename(rule.path)}:{rule.line}" for rule in cut[:_MOST_NAMED]]
    yield Finding(
        "rules",
        "warning",
        f"{len(cut)} of {len(rules)} marked rules do not fit into the card: {', '.join(places)} …",
        "what is left out is not in force after a compaction",
        "mark fewer rules, or shorten them; `brimline rules lint` lists them",
    )
