"""A service for every test of the gateway."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.gateway.upstream import Upstream

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    """One that listens."""
    found = Upstream()
    yield found
    found.close()
