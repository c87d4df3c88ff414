"""One measurement of a session: how full, how fast, how far from compaction.

Fast path: imports only rooms below it. `measure` reads files, `make_reading` is pure.
"""

from __future__ import annotations

from brimline.gauge import window as windows
from brimline.transcript import tail as tails

TYPE_CHECKING = False
if TYPE_CHECKING:
    from brimline.gauge.forecast import Forecast
    from brimline.policy import Policy
    from brimline.state.session import SessionState, Snapshot

TIER_NAMES = ("Calm", "Warning", "Advisory", "Yellow Alert", "Critical")
# Characters per token of tool results, by tokenizer generation, measured on recorded sessions.
_CHARACTERS_PER_TOKEN = 2.85
_NEWER_CHARACTERS_PER_TOKEN = 2.2
_NEWER_FROM_VERSION = (4, 7)
# Replies are prose and code, which pack more characters into a token than tool results do.
_REPLY_CHARACTERS_PER_TOKEN = 4


class Reading:
    """All figures of one measurement with their sources; unknown is None."""

    __slots__ = (
        "compaction",
        "history",
        "margin_tokens",
        "measured_at",
        "measured_by",
        "model",
        "occupancy_tokens",
        "offset",
        "projected_tokens",
        "tail_tokens",
        "tier",
        "window",
    )

    def __init__(self, window: windows.Window, compaction: windows.CompactionPoint) -> None:
        self.window = window
        self.compaction = compaction
        self.occupancy_tokens: int | None = None
        self.tail_tokens: int | None = None
        self.projected_tokens: int | None = None
        self.margin_tokens: int | None = None
        self.tier: int | None = None
        self.measured_by: str | None = None
        self.measured_at: str | None = None
        self.model: str | None = None
        self.offset = 0
        self.history: list[int] = []

    @property
    def margin_points(self) -> float | None:
        """Distance to the compaction point in percentage points of the effective window."""
        if self.margin_tokens is None:
            return None
        return 100 * self.margin_tokens / self.compaction.effective_window_tokens

    @property
    def used_ratio(self) -> float | None:
        """Occupancy as a share of the window."""
        if self.occupancy_tokens is None:
            return None
        return self.occupancy_tokens / self.window.tokens

    def velocity(self) -> float | None:
        """Tokens per operation lately; needs a history of at least two requests."""
        from brimline.gauge import forecast

        return forecast.velocity(self.history)

    def forecast(self) -> Forecast | None:
        """Operations left until the compaction point; None before the second request."""
        from brimline.gauge import forecast

        if self.margin_tokens is None:
            return None
        return forecast.forecast(self.history, self.margin_tokens, forecast.prior_for(self.model))


def measure(
    transcript: str | None,
    state: SessionState,
    policy: Policy,
    *,
    snapshot: Snapshot | None = None,
    added_characters: int = 0,
    requests: int = 1,
) -> Reading:
    """Take a reading of a session now.

    Args:
        transcript: the session's file; one that does not exist yet is an empty session.
        state: what we remember of the session.
        policy: the settings in force.
        snapshot: what the status line just told, where it is the status line that asks.
        added_characters: text of the event at hand that is not in the file yet.
        requests: how many requests to look back for the growth.

    Raises:
        OSError: the transcript exists and cannot be read.
    """
    tail = tails.Tail()
    if transcript:
        try:
            tail = tails.read_tail(transcript, requests)
        except FileNotFoundError:
            pass
    observed = state.observed_window()
    reading = make_reading(tail, snapshot or state.snapshot(), policy, observed, added_characters)
    proved = windows.proved_window(reading.occupancy_tokens)
    if proved and reading.window.source == "observed" and proved != observed:
        state.remember_window(proved)
    return reading


def make_reading(
    tail: tails.Tail,
    snapshot: Snapshot | None,
    policy: Policy,
    observed_window: int | None = None,
    added_characters: int = 0,
) -> Reading:
    """Combine what the transcript and the status line say. Pure."""
    usage = tail.usage
    newer = _newer_snapshot(tail, snapshot)
    occupancy = newer.occupancy_tokens if newer else usage.prompt_tokens if usage else None
    model = (usage.model if usage else None) or (snapshot.model if snapshot else None)
    requested = (usage.requested_model if usage else None) or (snapshot.model if snapshot else None)
    window = windows.resolve_window(
        configured=policy.values["context_window"],
        statusline=snapshot.window_tokens if snapshot else None,
        client=policy.client,
        observed=observed_window,
        occupancy_tokens=occupancy,
        model=model,
        requested_model=requested,
    )
    compaction = windows.resolve_compaction(
        configured=policy.values["compaction_tokens"],
        client=policy.client,
        window=window,
        model=model,
        version=usage.version if usage else None,
        requested_model=requested,
    )
    reading = Reading(window, compaction)
    reading.model = model
    reading.offset = tail.offset
    reading.history = tail.history[::-1]
    if occupancy is None:
        return reading
    reading.occupancy_tokens = occupancy
    if newer:
        from brimline import clock

        reading.measured_by, reading.measured_at = "statusline", clock.format_utc(newer.at)
    elif usage:
        reading.measured_by, reading.measured_at = "transcript", usage.timestamp
    reading.tail_tokens = _tail_tokens(tail, newer, model, added_characters)
    reading.projected_tokens = occupancy + reading.tail_tokens
    reading.margin_tokens = compaction.tokens - reading.projected_tokens
    reading.tier = tier_of(reading.margin_points, policy.values["guard.tiers"])
    return reading


def tier_of(margin_points: float | None, thresholds: list[float]) -> int | None:
    """The tier of a margin: each threshold belongs to the tier it opens."""
    if margin_points is None:
        return None
    return sum([margin_points <= threshold for threshold in thresholds])


def characters_per_token(model: str | None) -> float:
    """How many characters of tool output make a token for this model."""
    newer = (windows.model_version(model) or (0, 0)) >= _NEWER_FROM_VERSION
    return _NEWER_CHARACTERS_PER_TOKEN if newer else _CHARACTERS_PER_TOKEN


def _newer_snapshot(tail: tails.Tail, snapshot: Snapshot | None) -> Snapshot | None:
    """The status line's reading where it is younger than the transcript's last word."""
    if snapshot is None or not snapshot.occupancy_tokens:
        return None
    from brimline import clock

    if tail.usage is None:
        boundary = tail.boundary_timestamp
        since = clock.parse(boundary) if boundary is not None else 0.0
    else:
        since = clock.parse(tail.usage.timestamp)
    return snapshot if since is not None and snapshot.at > since else None


def _tail_tokens(
    tail: tails.Tail, newer: Snapshot | None, model: str | None, added_characters: int
) -> int:
    added = int(added_characters / characters_per_token(model))
    if newer and (tail.usage is None or newer.occupancy_tokens != tail.usage.prompt_tokens):
        # The status line knows a request that the transcript does not hold yet.
        return (newer.output_tokens or 0) + added
    reply = max(tail.output_tokens, tail.reply_characters // _REPLY_CHARACTERS_PER_TOKEN)
    return reply + int(tail.result_characters / characters_per_token(model)) + added
