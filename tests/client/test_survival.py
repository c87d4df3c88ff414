"""Forty facts through a compaction that forgets all of them, in the real client."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from brimline.carry import card
from brimline.testing import SessionBuilder

from .stub_api import bash, text, too_long

if TYPE_CHECKING:
    from .brimline_home import Installed
    from .harness import Client
    from .stub_api import StubApi

ROOT = Path(__file__).resolve().parents[2]
ID = "5a5a5a5a-1111-4222-8333-444444444444"


@pytest.mark.parametrize(("grammar", "seed"), [("published", 1), ("published", 2), ("heldout", 3)])
def test_nearly_every_fact_is_in_the_next_request(
    grammar: str,
    seed: int,
    client: Client,
    stub: StubApi,
    installed: Installed,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """At least 39 of 40 within 9,000 characters; nothing that is done or cancelled is open."""
    monkeypatch.syspath_prepend(str(ROOT))
    from benchmarks import survival, survival_session

    folder = client.config / "projects" / str(client.project).replace("/", "-").replace("_", "-")
    session = SessionBuilder(f"{folder}/{ID}.jsonl", session_id=ID, cwd=str(client.project))
    expected = survival_session.write(session, survival.GRAMMARS[grammar], seed)
    stub.script(bash("sleep 0.3"), too_long(210_000, 200_000), text("end"))

    run = client.run_print("go on", args=["--resume", ID])

    kinds = [request.kind for request in run.requests]
    assert kinds.count("compaction") == 1
    seen = run.requests[kinds.index("compaction") + 1].seen_text()
    held = seen[seen.index(card.OPENING) :]
    held = held[: held.index("</system-reminder>")] if "</system-reminder>" in held else held
    assert len(held) <= 9_000
    found = survival.score(expected, held)
    assert len(expected.facts) == 40
    assert len(found.missing) <= 1, found.missing
    assert found.wrongly_open == []
    assert installed.errors() == ""
