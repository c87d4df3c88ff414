"""One measurement of a session: how full, how fast, how far from compaction.

Fast path: imports only rooms below it. `measure_session` reads files, `make_reading` is pure.
"""

from __future__ import annotations

from brimline import models
from brimline.fast import io
from brimline.gauge import window
from brimline.state import session
from brimline.transcript.usage import Tail, read_tail

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from brimline.fast.policy import Policy
    from brimline.gauge.forecast import Forecast
    from brimline.gauge.window import CompactionPoint, Ladder, Window
    from brimline.state.session import SessionState, Snapshot
    from brimline.transcript.typed import Session

# Requests to look back once a tier is reached: the velocity rule and the forecast need them.
HISTORY_REQUESTS = 21
# What a quiet reading knows: the last request of the file, and one that is not in it yet.
_QUIET_REQUESTS = 2
# Replies are prose and code, which pack more characters into a token than tool results do.
_REPLY_CHARACTERS_PER_TOKEN = 4


class Reading(io.Record):
    """All figures of one measurement with their sources; unknown is None."""

    window: Window
    compaction: CompactionPoint
    ladder: Ladder
    known_model: models.Model
    model: str | None
    # What the client's settings say, and its version.
    client: dict[str, Any]
    version: str | None
    history: list[int]
    # What was learned about how the user's earlier sessions grew.
    usual_growth_tokens: object = None
    offset: int = 0
    # How many results the last request had no more.
    cleared_results: int = 0
    transcript: str | None = None
    measured_by: str | None = None
    measured_at: str | None = None
    occupancy_tokens: int | None = None
    # Of the next request, where none came since a compaction and somebody had time to look.
    estimated_tokens: int | None = None
    tail_tokens: int | None = None
    projected_tokens: int | None = None
    margin_tokens: int | None = None
    tier: int | None = None
    # Whether steep growth lifted the tier above the one its distance gives.
    raised: bool = False

    @property
    def tier_count(self) -> int:
        """How many tiers there are."""
        return len(self.ladder.begins)

    @property
    def ladder_tokens(self) -> int | None:
        """The tokens that the tiers go by; None where they are unknown."""
        return self.projected_tokens if self.ladder.counts_next_request else self.occupancy_tokens

    def recorded_figures(self) -> dict[str, object]:
        """The figures that are recorded with every reading."""
        return {
            "occupancy": self.occupancy_tokens,
            "tail": self.tail_tokens,
            "window": self.window.tokens,
            "window_source": self.window.source,
            "compaction": self.compaction.tokens,
            "tier": self.tier,
            "offset": self.offset,
            "model": self.model,
        }

    def document(self) -> dict[str, Any]:
        """The reading under the keys that other programs rely on; unknown is None."""
        ahead, used = self.forecast(), self.occupancy_tokens
        return {
            "occupancy_tokens": used,
            "estimated_tokens": self.estimated_tokens,
            "projected_tokens": self.projected_tokens,
            "tail_tokens": self.tail_tokens,
            "margin_tokens": self.margin_tokens,
            "used_ratio": None if used is None else used / self.window.tokens,
            "window_tokens": self.window.tokens,
            "window_source": self.window.source,
            "effective_window_tokens": self.compaction.effective_window_tokens,
            "compaction_tokens": self.compaction.tokens,
            "compaction_source": self.compaction.source,
            "compaction_enforced": self.compaction.enforced,
            "ending": self.compaction.ending,
            "idle_compaction_tokens": window.idle_compaction_tokens(self.client, self.version),
            "tier": self.tier,
            "velocity_tokens_per_op": self.velocity(),
            "forecast_ops": ahead.ops if ahead else None,
            "forecast_ops_low": ahead.low if ahead else None,
            "forecast_ops_high": ahead.high if ahead else None,
            "forecast_as_usual": ahead.is_as_usual if ahead else None,
            "model": self.model,
            "model_taken_for": self.known_model.label if self.known_model.is_assumed else None,
            "measured_by": self.measured_by,
            "measured_at": self.measured_at,
        }

    def fill_in_occupancies(self) -> None:
        """Fetch the occupancies before this one, which a quiet reading does without."""
        latest = self.history[-1:]
        if len(self.history) <= _QUIET_REQUESTS and self.transcript:
            self.history = _read_uncompacted_tail(self.transcript, HISTORY_REQUESTS, None).history[
                ::-1
            ]
            if self.history[-1:] != latest:  # a request that the file does not hold yet
                self.history += latest

    def velocity(self) -> float | None:
        """Tokens per operation lately; needs a history of at least two requests."""
        from brimline.gauge import forecast

        return forecast.mean_recent_growth_tokens(self.history)

    def forecast(self) -> Forecast | None:
        """Operations left until the compaction point; None before the second request."""
        from brimline.gauge import forecast

        if self.margin_tokens is None:
            return None
        return forecast.forecast(self.history, self.margin_tokens, self.usual_growth_tokens)


def measure_session(
    transcript: str | None,
    state: SessionState,
    policy: Policy,
    added_characters: int = 0,
    *,
    snapshot: Snapshot | None = None,
    requests: int = 1,
) -> Reading:
    """Take a reading of a session now.

    Args:
        transcript: the session's file; one that does not exist yet is an empty session.
        state: what we remember of the session.
        policy: the settings in force.
        added_characters: text of the event at hand that is not in the file yet.
        snapshot: what the status line just told, where it is the status line that asks.
        requests: how many requests to look back; in a tier it is at least `HISTORY_REQUESTS`.

    Raises:
        OSError: the transcript exists and cannot be read.
    """
    tail = _read_uncompacted_tail(transcript, requests, state)
    latest = snapshot or state.snapshot()
    observed = state.largest_number_after_prefix(session.WINDOW)
    reading = make_reading(tail, latest, policy, observed, added_characters)
    # The latest step alone may be so large that a few like it would fill the window.
    margin = reading.margin_tokens
    is_near = margin is not None and margin <= window.NEAR_REQUESTS * tail.fresh_tokens
    if requests < HISTORY_REQUESTS and (reading.tier or is_near):
        tail = _read_uncompacted_tail(transcript, HISTORY_REQUESTS, state)
        reading = make_reading(tail, latest, policy, observed, added_characters)
    reading.transcript = transcript
    proved = window.window_proved_by_occupancy(reading.occupancy_tokens)
    if proved and reading.window.source == "observed" and proved != observed:
        state.save_proved_window(proved)
    return reading


def reading_and_state(
    path: str, recorded: Session, home_dir: str, policy: Policy
) -> tuple[Reading, SessionState]:
    """A session as it stands, by all of its file, and what hooks have kept of it.

    Raises:
        OSError: its end cannot be read.
    """
    last, name = read_tail(path), path.rpartition("/")[2].removesuffix(".jsonl")
    state = session.SessionState(home_dir, name)
    if not state.names and last.usage and last.usage.session_id:
        # A subagent's file has its own name.
        state = session.SessionState(home_dir, last.usage.session_id)
    proved = window.window_proved_by_occupancy(recorded.largest_occupancy_tokens)
    observed = max(state.largest_number_after_prefix(session.WINDOW) or 0, proved or 0)
    history = recorded.occupancies_since_compaction
    return make_reading(last, state.snapshot(), policy, observed, history=history), state


def make_reading(
    tail: Tail,
    snapshot: Snapshot | None,
    policy: Policy,
    observed_window: int | None = None,
    added_characters: int = 0,
    history: list[int] | None = None,
) -> Reading:
    """Combine what the transcript and the status line say. Pure.

    `history` has the occupancies since the last compaction, where more than the tail is known.
    """
    newer = _snapshot_if_newer_than_tail(tail, snapshot) if snapshot else None
    occupancy, measured_by, measured_at = _occupancy_with_source(tail, newer)
    # One that knows a request which the transcript does not hold yet.
    is_same = tail.usage and occupancy == tail.usage.prompt_tokens
    ahead = None if is_same else newer
    version = tail.usage.version if tail.usage else None
    # The model that answers, and the name that it was asked for by.
    shown = snapshot.model if snapshot else None
    name = (tail.usage and tail.usage.model) or shown
    requested = (tail.usage and tail.usage.requested_model) or shown
    model = models.lookup_model_in_rows(name, policy.models)
    size = window.resolve_window(
        policy,
        model,
        statusline=snapshot.window_tokens if snapshot else None,
        observed=observed_window,
        occupancy_tokens=occupancy,
        requested_model=requested,
    )
    is_special = policy.values["guard.preset"] != "default"
    remaining = policy.preset["point_remaining"] if is_special else None
    compaction = window.resolve_compaction_point(policy, size, model, version, remaining)
    reading = Reading(
        window=size,
        compaction=compaction,
        ladder=window.Ladder(policy.values, size, compaction),
        known_model=model,
        model=name,
        client=policy.client,
        version=version,
        history=tail.history[::-1] if history is None else history,
        usual_growth_tokens=policy.learned.get("usual_growth_tokens"),
        offset=tail.offset,
        cleared_results=tail.usage.cleared_results if tail.usage else 0,
    )
    if occupancy is not None:
        reading.measured_by, reading.measured_at = measured_by, measured_at
        if ahead:
            reading.history = [*reading.history, occupancy]
        added = _tokens_since_request(tail, ahead, model.characters_per_token, added_characters)
        _fill_in_figures(reading, occupancy, added, policy)
    return reading


def _occupancy_with_source(
    tail: Tail, newer: Snapshot | None
) -> tuple[int | None, str | None, str | None]:
    """The occupancy, who measured it, and when."""
    if newer:
        from brimline.fast import clock

        return newer.occupancy_tokens, newer.source, clock.format_utc(newer.at)
    if tail.usage is None:
        return None, None, None
    return tail.usage.prompt_tokens, "transcript", tail.usage.timestamp


def _fill_in_figures(reading: Reading, occupancy: int, tail_tokens: int, policy: Policy) -> None:
    """Fill in what follows from the occupancy: projection, margin, tier."""
    reading.occupancy_tokens = occupancy
    reading.tail_tokens = tail_tokens
    reading.projected_tokens = occupancy + tail_tokens
    reading.margin_tokens = reading.compaction.tokens - reading.projected_tokens
    tier = reading.ladder.tier_at(reading.ladder_tokens or 0)
    limit_points = policy.values["guard.velocity_points"]
    if limit_points and len(reading.history) > 1:
        reading.raised = window.is_growth_steep_enough_to_lift_tier(reading, tier, limit_points)
        tier += reading.raised
    reading.tier = tier


def _read_uncompacted_tail(
    transcript: str | None, requests: int, state: SessionState | None
) -> Tail:
    """The end of a transcript; empty where all of it was compacted away in the meantime."""
    if not transcript:
        return Tail()
    try:
        tail = read_tail(transcript, requests)
    except FileNotFoundError:
        return Tail()
    compacted_size = state.largest_number_after_prefix(session.COMPACTED) if state else None
    if not state or not compacted_size or not tail.usage or tail.offset >= compacted_size:
        return tail
    if io.file_size(transcript) < compacted_size:
        return tail  # the file was rewritten since: its offsets mean something else now
    from brimline.fast import clock

    gone = Tail()
    mark = f"{state.folder}/{session.COMPACTED}{compacted_size}"
    gone.boundary_timestamp = clock.format_utc(io.file_time(mark))
    return gone


def _snapshot_if_newer_than_tail(tail: Tail, snapshot: Snapshot) -> Snapshot | None:
    """The status line's reading where it is younger than the transcript's last word."""
    if not snapshot.occupancy_tokens:
        return None
    from brimline.fast import clock

    last = tail.usage.timestamp if tail.usage else tail.boundary_timestamp
    since = clock.parse_utc(last) if tail.usage or last is not None else 0.0
    return snapshot if since is not None and snapshot.at > since else None


def _tokens_since_request(
    tail: Tail, ahead: Snapshot | None, characters_per_token: float, added_characters: int
) -> int:
    added = int(added_characters / characters_per_token)
    if ahead:
        return (ahead.output_tokens or 0) + added
    reply = max(tail.output_tokens, tail.reply_characters // _REPLY_CHARACTERS_PER_TOKEN)
    return reply + int(tail.result_characters / characters_per_token) + added
