"""The replay of compactions ends well only if the history reports what was recorded."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from brimline.testing import SessionBuilder

ROOT = Path(__file__).parent.parent


def test_a_replayed_session_is_reported_as_it_was_recorded(world: Path) -> None:
    """Two compactions through real hooks; what the second summary lost is told."""
    session = SessionBuilder(str(world / "corpus" / "one.jsonl"), session_id="one")
    session.prompt("Make the import faster. Never touch the billing tables.")
    for summary in ("Never touch the billing tables.", "The import is faster now."):
        session.reply(160_000)
        session.compact(166_000, summary=summary)
        session.reply(50_000)

    done = subprocess.run(
        [sys.executable, ROOT / "benchmarks/compactions.py", world / "corpus", "--lost"],
        env={"PATH": os.defpath, "HOME": str(world), "TMPDIR": str(world)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert "2 reported, 2 recorded, equal: True" in done.stdout
    rule = [line for line in done.stdout.splitlines() if line.endswith("the billing tables.")]
    assert [line.split()[2] for line in rule] == ["kept", "missing"]
