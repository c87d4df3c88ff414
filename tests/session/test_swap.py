"""A session file that cannot be opened."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from brimline.session import swap
from brimline.session.disk import RewriteError

if TYPE_CHECKING:
    from pathlib import Path


def test_what_cannot_be_opened_is_told_with_the_reason(world: Path) -> None:
    """Of a folder, that it is none."""
    with pytest.raises(
        RewriteError, match=r"gone\.jsonl cannot be read: No such file or directory"
    ):
        swap.Chain(str(world / "gone.jsonl"))
    with pytest.raises(RewriteError, match=r"is no plain file: name a session's \.jsonl file"):
        swap.Chain(str(world))
