"""The session of a test, with the data folder that its purges use."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from .recorded import Recorded

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def session(world: Path, project_dir: str, home_dir: str) -> Recorded:
    """An empty session whose rows the test writes."""
    return Recorded(str(world / "session.jsonl"), cwd=project_dir, home_dir=home_dir)
