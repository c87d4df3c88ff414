"""How properties of the store are tried: on a busy machine no example is too slow."""

from __future__ import annotations

from hypothesis import settings

thorough = settings(deadline=None, database=None)
