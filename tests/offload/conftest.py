"""A session to play."""

from __future__ import annotations

import pytest

from .player import Player


@pytest.fixture
def player(home_dir: str, project_dir: str) -> Player:
    """A session that has just begun."""
    return Player(home_dir, project_dir)
