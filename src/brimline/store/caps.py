"""Keeps the store within its size and age, at most once a day, for a session's start to call."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from brimline import fastio
from brimline.store import audit, clients, files, layout, quiet, scan, sweep
from brimline.store.plan import Limits
from brimline.store.prune import GRACE_S, Outcome, Search, prune

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_MB = 500
MAX_AGE_DAYS = 30
MEGABYTE = 1_000_000
_DAY_S = 86_400.0


def enforce_caps(
    home_dir: str,
    *,
    max_mb: float = MAX_MB,
    max_age_days: float = MAX_AGE_DAYS,
    budget_s: float = 1.0,
    paths: Iterable[str] | None = None,
    now: float | None = None,
) -> Outcome | None:
    """Prune what is too old or too much, sweep leftovers; None where it is not due.

    Where the time is up first, the next call goes on, also on the same day.

    Args:
        home_dir: the data folder.
        max_mb: megabytes on disk that the store may hold.
        max_age_days: days since its last use after which a blob goes.
        budget_s: about how long it may take.
        paths: files that may mention keys; None for the client's and our own.
        now: the present, for tests.

    Raises:
        StoreError: the store, or a file that may hold references, cannot be read.
        OSError: something cannot be written or deleted.
    """
    moment = time.time() if now is None else now
    if not os.path.isdir(layout.root(home_dir)):
        return None
    clients.remember(home_dir)
    if not _is_due(home_dir, moment):
        return None
    scan.check_format(home_dir)
    _mark(home_dir, moment)  # before the work: sessions that start together do it once
    limits = Limits(max_age_days * _DAY_S, int(max_mb * MEGABYTE), GRACE_S)
    deadline = time.monotonic() + budget_s
    search = Search(paths, deadline=deadline)
    done = prune(home_dir, limits, search, now_ns=int(moment * 1e9))
    if not done.finished:
        fastio.remove(marker(home_dir))
        return done
    sweep.sweep(home_dir, orphans=time.monotonic() < deadline, now=moment)
    audit.rotate(home_dir)
    return done


def marker(home_dir: str) -> str:
    """The file that says when it was done last."""
    return layout.root(home_dir) + "/tidied"


def _is_due(home_dir: str, now: float) -> bool:
    try:
        last = float(quiet.read(marker(home_dir)).decode("ascii", "replace"))
    except (OSError, ValueError):
        return True
    # A time in the future is that of a clock that was wrong; ages do not depend on it.
    return not 0 <= now - last < _DAY_S


def _mark(home_dir: str, now: float) -> None:
    files.place(home_dir, marker(home_dir), f"{now:.3f}\n".encode())
