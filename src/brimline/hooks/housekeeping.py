"""What is done once per session rather than per tool call: drain, learn, forget what is stale."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

from brimline import fastio, fastjson, paths
from brimline.carry import links
from brimline.gauge import growth
from brimline.offload import learning
from brimline.state import history, learned, series
from brimline.state.failures import guarded

if TYPE_CHECKING:
    from brimline.state.session import SessionState

_BUDGET_S = 0.5
# A compaction takes seconds; an older note belongs to one that never came to its end.
_OLDEST_NOTE_S = 600
_KEEP_DAYS = 30
_TRANSIENT = (
    "spoke-L",
    "window-",
    "compacted-",
    "ceiling-",
    "quota-",
    "reminder",
    "telemetry.json",
)


def tidy(home_dir: str, session_id: str, values: dict[str, Any]) -> None:
    """Bring the time series, the learned figures and the session folders up to date.

    A failure of one task must cost neither the session its start nor the other tasks their turn.
    """
    hours = values["state.max_age_hours"]
    guarded(home_dir, "learning", lambda: _learn(home_dir))
    guarded(home_dir, "housekeeping", lambda: _forget_stale(home_dir, session_id, hours))
    guarded(home_dir, "draining", lambda: _drain_and_retire(home_dir, session_id))
    guarded(home_dir, "store", lambda: _keep_store_small(home_dir, values))
    guarded(home_dir, "learning", lambda: learning.compact(home_dir, time.time()))
    guarded(home_dir, "purges", lambda: _forget_purges(home_dir))
    guarded(home_dir, "carry", lambda: links.retire(home_dir, session_id, _KEEP_DAYS * 86_400))


def learn_point(home_dir: str, state: SessionState, trigger: str) -> None:
    """Keep where the client compacted by itself; called once the compaction is known to be done."""
    before = state.last_line("PreCompact")
    occupancy, tail = before.get("occupancy"), before.get("tail")
    if trigger != "auto" or before.get("trigger") != "auto" or occupancy is None:
        return
    if abs(time.time() - before["at"]) > _OLDEST_NOTE_S:
        return
    learned.record(
        home_dir,
        learned.Sample(
            at=time.time(),
            session=state.session_id,
            window=before["window"],
            effective=before["effective"],
            expected=before.get("expected"),
            tokens=occupancy + (tail or 0),
            trigger=trigger,
        ),
    )


def _learn(home_dir: str) -> None:
    document: dict[str, Any] = {"points": learned.points(home_dir)}
    segments = history.growth_statistics(home_dir)
    if segments:
        document["growth"] = growth.summarise(segments)
    data = fastjson.dumps(document).encode()
    path = paths.learned_file(home_dir)
    if not os.path.exists(path) or fastio.read_file(path) != data:
        fastio.replace_file(path, data)


def _forget_stale(home_dir: str, session_id: str, hours: float) -> None:
    """Drop announced tiers and telemetry of sessions that have not been heard of for a day."""
    for folder in _sessions_older_than(home_dir, session_id, hours * 3_600):
        for file in fastio.names_in(folder):
            if file.startswith(_TRANSIENT):
                fastio.remove(f"{folder}/{file}")


def _drain_and_retire(home_dir: str, session_id: str) -> None:
    """Fill the time series; what it holds of a session is all that is kept after a month."""
    drained = series.drain(home_dir, budget_s=_BUDGET_S)
    if not drained.finished or drained.unreadable:
        return
    for folder in _sessions_older_than(home_dir, session_id, _KEEP_DAYS * 86_400):
        for file in fastio.names_in(folder):
            fastio.remove(f"{folder}/{file}")
        os.rmdir(folder)


def _keep_store_small(home_dir: str, values: dict[str, Any]) -> None:
    """Once a day: the store's limits, then a better compression of what hooks wrote in haste."""
    if not os.path.isdir(f"{home_dir}/store"):
        return
    from brimline.store import caps, recompress

    limits = {"max_mb": values["store.max_mb"], "max_age_days": values["store.max_age_days"]}
    if caps.enforce_caps(home_dir, **limits, budget_s=_BUDGET_S) is not None:
        recompress.recompress(home_dir, values["store.compression"], budget_s=_BUDGET_S)


def _forget_purges(home_dir: str) -> None:
    """The way back of purges goes with the sessions that the client has deleted."""
    if os.path.isdir(f"{home_dir}/backups/purges"):
        from brimline.session import hook

        hook.tidy(home_dir)


def _sessions_older_than(home_dir: str, session_id: str, age_s: float) -> list[str]:
    """Session folders in which nothing was written for that long, the running session aside."""
    parent = paths.sessions_dir(home_dir)
    oldest = time.time() - age_s
    found = []
    for name in fastio.names_in(parent):
        folder = f"{parent}/{name}"
        if name == session_id or os.path.islink(folder) or not os.path.isdir(folder):
            continue
        files = [f"{folder}/{file}" for file in fastio.names_in(folder)]
        if max([os.lstat(path).st_mtime for path in (folder, *files)]) < oldest:
            found.append(folder)
    return found
