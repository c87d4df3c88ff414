"""Checks of the store: whether it can be read, and its size against its limit."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from brimline import config
from brimline.errors import StoreError
from brimline.install.finding import Finding
from brimline.store import contents, layout, retention

if TYPE_CHECKING:
    from collections.abc import Iterator


def findings(home_dir: str, project_dir: str) -> Iterator[Finding]:
    """Everything about the store; nothing where there is none yet."""
    if not os.path.isdir(layout.root(home_dir)):
        return
    try:
        layout.check_format(home_dir)
        blobs = contents.blobs(home_dir)
    except (StoreError, OSError) as error:
        yield Finding(
            "store",
            "broken",
            f"the store cannot be read: {error}",
            "Nothing that was kept out of the window can be recalled, and nothing is added.",
            "brimline store list",
        )
        return
    limit_mb = config.load(home_dir, project_dir).values["store.max_mb"]
    used_mb = sum(blob.disk_bytes for blob in blobs) / retention.MEGABYTE
    held = f"the store holds {used_mb:,.1f} of at most {limit_mb:,g} MB"
    if used_mb <= limit_mb:
        yield Finding("store", "ok", f"{held} in {len(blobs):,} blobs")
        return
    yield Finding(
        "store",
        "warning",
        held,
        "It is pruned once a day, but never of what is pinned or a transcript still refers to.",
        f"brimline store prune --max-size-mb {limit_mb:g} --dry-run",
    )
