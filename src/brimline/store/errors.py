"""What the store raises on purpose.

Fast path: imports only `brimline.errors`.
"""

from __future__ import annotations

from brimline.errors import BrimlineError


class StoreError(BrimlineError):
    """A stored blob is missing, damaged or cannot be read, or a key or range is wrong."""
