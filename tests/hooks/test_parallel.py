"""Many hooks at once on one session: no line lost, no tier spoken twice, nothing left behind."""

from __future__ import annotations

import json
import subprocess
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from brimline.testing import SessionBuilder, bash_event

from .processes import command, environment, errors, spool

if TYPE_CHECKING:
    from pathlib import Path

AT_ONCE = 16
TIERS = {"L1": 120_000, "L2": 145_000, "L3": 157_000, "L4": 165_000}


@pytest.mark.row("S4-19")
@pytest.mark.parametrize("hooks", [12, pytest.param(50, marks=pytest.mark.long)])
def test_hooks_at_once_speak_once_a_tier(hooks: int, session: SessionBuilder, world: Path) -> None:
    """So many in each of the four tiers: each tier is announced exactly once."""
    spoken: list[bytes] = []
    for tokens in TIERS.values():
        for step in (3, 2, 1, 0):
            session.reply(tokens - step * 1_000)
        spoken += [answer for answer in _storm(session, world, hooks) if answer]

    notes = [json.loads(answer)["hookSpecificOutput"]["additionalContext"] for answer in spoken]
    assert [note.partition("tier ")[2][:2] for note in notes] == list(TIERS)
    lines = spool(world)
    measured = [line["tier"] for line in lines if line["event"] == "PostToolUse"]
    assert measured == [tier for tier in (1, 2, 3, 4) for _ in range(hooks)]
    assert [line["spoke"] for line in lines if line["event"] == "Announced"] == [1, 2, 3, 4]
    assert len(lines) == 4 * hooks + 4
    assert errors(world) == []
    assert not list((world / "brimline").rglob("*.tmp"))
    claims = sorted(path.name for path in (world / "brimline").rglob("spoke-L*"))
    assert claims == ["spoke-L1", "spoke-L2", "spoke-L3", "spoke-L4"]


def _storm(session: SessionBuilder, world: Path, hooks: int) -> list[bytes]:
    """The answers of many hooks that were started as fast as the machine allows."""
    payload = json.dumps(bash_event(session, "")).encode()

    def run(_: int) -> bytes:
        done = subprocess.run(
            command("PostToolUse"),
            input=payload,
            env=environment(world),
            capture_output=True,
            check=True,
            timeout=120,
        )
        assert done.stderr == b""
        return done.stdout

    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(run, range(hooks)))
