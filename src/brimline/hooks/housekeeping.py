"""What is done once per session rather than per tool call: drain, learn, forget what is stale."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

from brimline import config, fastio, fastjson, paths
from brimline.errors import BrimlineError
from brimline.gauge import growth
from brimline.state import failures, history, learned, series

if TYPE_CHECKING:
    from brimline.state.session import SessionState

_BUDGET_S = 0.5
_TRANSIENT = ("spoke-L", "window-", "ceiling-", "quota-", "reminder", "telemetry.json")


def tidy(home_dir: str, session_id: str) -> None:
    """Bring the time series, the learned figures and the session folders up to date.

    A failure here must not cost the session its start: it is logged and the rest goes on.
    """
    for task in (_drain, _learn, _forget_stale):
        try:
            task(home_dir, session_id)
        except (OSError, BrimlineError) as error:
            failures.record(home_dir, "housekeeping", error)


def learn_point(home_dir: str, state: SessionState, trigger: str) -> None:
    """Keep where the client compacted by itself; called once the compaction is known to be done."""
    before = state.last_line("PreCompact")
    occupancy, tail = before.get("occupancy"), before.get("tail")
    if trigger != "auto" or before.get("trigger") != "auto" or occupancy is None:
        return
    learned.record(
        home_dir,
        learned.Sample(
            at=time.time(),
            session=state.session_id,
            window=before["window"],
            effective=before["effective"],
            tokens=occupancy + (tail or 0),
            trigger=trigger,
        ),
    )


def _drain(home_dir: str, session_id: str) -> None:  # noqa: ARG001 - one shape for all tasks
    series.drain(home_dir, budget_s=_BUDGET_S)


def _learn(home_dir: str, session_id: str) -> None:  # noqa: ARG001
    document: dict[str, Any] = {"points": learned.points(home_dir)}
    segments = history.growth_statistics(home_dir)
    if segments:
        document["growth"] = growth.summarise(segments)
    data = fastjson.dumps(document).encode()
    path = paths.learned_file(home_dir)
    if not os.path.exists(path) or fastio.read_file(path) != data:
        fastio.replace_file(path, data)


def _forget_stale(home_dir: str, session_id: str) -> None:
    """Drop announced tiers and telemetry of sessions that have not been heard of for a day."""
    hours = config.load(home_dir, os.getcwd()).values["state.max_age_hours"]
    oldest = time.time() - hours * 3_600
    folder = paths.sessions_dir(home_dir)
    for name in fastio.names_in(folder):
        if name != session_id and os.path.getmtime(f"{folder}/{name}") < oldest:
            for file in fastio.names_in(f"{folder}/{name}"):
                if file.startswith(_TRANSIENT):
                    fastio.remove(f"{folder}/{name}/{file}")
