"""The benchmark of the server's start runs and tells a ratio."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

ROOT = Path(__file__).parents[2]


def test_both_servers_are_started_in_turn_and_compared(
    world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With two samples only: the figures are for `benchmarks/`, not for a test."""
    monkeypatch.syspath_prepend(str(ROOT))
    from benchmarks import mcp

    found = mcp.measure(str(world), 2, 0)
    page = mcp.render(found)

    assert [len(one.bare) for one in found] == [len(one.ours) for one in found] == [2, 2]
    assert "| `initialize` |" in page
    assert "| `server/discover` |" in page
    assert not (world / "brimline").exists()
