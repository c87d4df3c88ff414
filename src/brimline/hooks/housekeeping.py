"""What is done once per session rather than per tool call: drain, learn, forget what is stale."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

from brimline import fastio, fastjson, paths
from brimline.carry import links
from brimline.gauge import forecast
from brimline.offload import learning
from brimline.state import history, learned
from brimline.state.failures import guarded

if TYPE_CHECKING:
    from brimline.state.session import SessionState

_BUDGET_S = 0.5
# A compaction takes seconds; an older note belongs to one that never came to its end.
_OLDEST_NOTE_S = 600
_KEEP_DAYS = 30


def tidy(home_dir: str, session_id: str, values: dict[str, Any]) -> None:
    """Bring the history, the learned figures and the session folders up to date.

    A failure of one task must cost neither the session its start nor the other tasks their turn.
    """
    hours = values["state.max_age_hours"]
    guarded(home_dir, "learning", lambda: _learn(home_dir))
    until = time.monotonic() + _BUDGET_S
    guarded(home_dir, "history", lambda: history.tidy(home_dir, session_id, hours * 3_600, until))
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
        document["growth"] = forecast.summarise(segments)
    data = fastjson.dumps(document).encode()
    path = paths.learned_file(home_dir)
    if not os.path.exists(path) or fastio.read_file(path) != data:
        fastio.replace_file(path, data)


def _keep_store_small(home_dir: str, values: dict[str, Any]) -> None:
    """The store's limits, once a day, and the words of new outputs for the search."""
    if not os.path.isdir(f"{home_dir}/store"):
        return
    from brimline.search import stored
    from brimline.store import retention

    limits = (values["store.max_mb"], values["store.max_age_days"])
    retention.tidy(home_dir, *limits, until=time.monotonic() + _BUDGET_S)
    stored.tidy(home_dir, until=time.monotonic() + _BUDGET_S)


def _forget_purges(home_dir: str) -> None:
    """The way back of purges goes with the sessions that the client has deleted."""
    if os.path.isdir(f"{home_dir}/backups/purges"):
        from brimline.session import hook

        hook.tidy(home_dir)
