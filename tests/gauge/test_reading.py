"""Readings: what transcript and status line say together."""

from __future__ import annotations

import os
import posix
from typing import TYPE_CHECKING, Any

import pytest
from tests.guard.dialogue import SILENT

from brimline import models
from brimline.fast import clock, io
from brimline.fast.policy import Policy
from brimline.gauge.reading import (
    _REPLY_CHARACTERS_PER_TOKEN,
    HISTORY_REQUESTS,
    Reading,
    make_reading,
    measure_session,
)
from brimline.gauge.window import NEAR_REQUESTS
from brimline.settings.values import default_values
from brimline.state.session import WINDOW, SessionState, Snapshot
from brimline.testing import SessionBuilder, text_block
from brimline.transcript.usage import read_tail

if TYPE_CHECKING:
    from tests.guard.dialogue import Talk


@pytest.mark.row("S0-03", "S1-16")
def test_projected_is_occupancy_plus_tail(session: SessionBuilder) -> None:
    """The reply's output, the results since and the event at hand are what the next one adds."""
    call = session.tool_call(100_000, output_tokens=500)
    session.tool_result(call, "x" * 2_850)

    reading = _reading(session)

    assert (reading.occupancy_tokens, reading.tail_tokens) == (100_000, 500 + 1_000)
    assert reading.projected_tokens == 101_500
    assert reading.compaction.tokens == 167_000
    assert reading.margin_tokens == 65_500
    assert reading.document()["used_ratio"] == 0.5
    assert reading.measured_by == "transcript"
    assert reading.measured_at is not None
    assert _reading(session, added_characters=2_850).tail_tokens == 500 + 2_000


@pytest.mark.parametrize(
    ("model", "reply", "output", "result", "tail"),
    [
        # Newer tokenizers make more tokens of the same text.
        ("claude-opus-5", "Done.", 0, 2_201, 1_000 + 1),
        ("claude-sonnet-4-6", "Done.", 0, 2_850, 1_000 + 1),
        # The larger of what was counted and what was written is taken.
        ("claude-sonnet-4-6", "x" * 1_000 * _REPLY_CHARACTERS_PER_TOKEN, 3, 0, 1_000),
    ],
)
def test_the_tail_is_estimated_by_the_models_tokenizer(
    model: str, reply: str, output: int, result: int, tail: int, session: SessionBuilder
) -> None:
    """From the characters of results and, without a count, of the reply."""
    session.model = model
    session.reply(100_000, text_block(reply), output_tokens=output)
    session.tool_result("toolu_1", "x" * result)

    assert _reading(session).tail_tokens == tail


@pytest.mark.parametrize(
    ("seconds", "told", "occupancy", "tail", "measured_by"),
    [
        # It knows a request that the transcript does not hold yet.
        (5, (120_000, 70), 120_000, 70, "statusline"),
        # Both saw the same reply; the results since are in the file.
        (5, (100_000, 100), 100_000, 1_100, "statusline"),
        # The transcript has moved on.
        (0, (90_000, 70), 100_000, 1_100, "transcript"),
        (-500, (90_000, 70), 100_000, 1_100, "transcript"),
        # Null before the first reply and zero after `/compact` mean unknown.
        (5, (None, None), 100_000, 1_100, "transcript"),
        (5, (0, 0), 100_000, 1_100, "transcript"),
    ],
)
def test_the_newer_of_transcript_and_status_line_wins(
    seconds: float,
    told: tuple[int | None, int | None],
    occupancy: int,
    tail: int,
    measured_by: str,
    session: SessionBuilder,
) -> None:
    """Its window stays true either way."""
    session.reply(100_000, output_tokens=100)
    at = session.now + seconds
    session.tool_result("toolu_1", "x" * 2_850)
    known = {"occupancy_tokens": told[0], "output_tokens": told[1]}

    reading = _reading(session, Snapshot(at=at, window_tokens=1_000_000, **known))  # type: ignore[arg-type]

    assert (reading.occupancy_tokens, reading.tail_tokens) == (occupancy, tail)
    assert reading.measured_by == measured_by
    if measured_by == "statusline":
        assert reading.measured_at == clock.format_utc(at)
    assert (reading.window.tokens, reading.window.source) == (1_000_000, "statusline")


@pytest.mark.row("S3-40")
@pytest.mark.parametrize("legacy", [False, True])
def test_after_a_compaction_the_occupancy_is_unknown(session: SessionBuilder, legacy: bool) -> None:
    """Neither the old figure nor zero: None, until somebody knows."""
    session.reply(166_000)
    before = Snapshot(at=session.now + 0.5, window_tokens=200_000, occupancy_tokens=166_000)
    session.compact(167_000, legacy=legacy)

    assert _reading(session, before).occupancy_tokens is None
    assert _reading(session, before).tier is None
    after = _reading(session, Snapshot(at=session.now + 5, occupancy_tokens=48_000))
    assert (after.occupancy_tokens, after.tier) == (48_000, 0)


@pytest.mark.row("S3-40")
def test_a_compaction_counts_before_it_is_written(session: SessionBuilder, home_dir: str) -> None:
    """Its row comes a little later; what stood in the file until then is gone."""
    session.prompt("x" * 500)
    session.reply(166_000)
    state = SessionState(home_dir, session.session_id)
    for size in (5, os.path.getsize(session.path)):
        SessionState(home_dir, session.session_id).save_size_at_compaction(size)
    state.claim_level(1, 0)
    shown = Snapshot(at=session.now + 0.5, window_tokens=200_000, occupancy_tokens=166_000)
    state.save_snapshot(shown)

    assert _measured(session, home_dir).occupancy_tokens is None
    session.reply(40_000)
    assert _measured(session, home_dir).occupancy_tokens == 40_000
    marks = sorted(name for name in os.listdir(state.folder))
    assert marks == [f"compacted-{size}", "spoke-L1", "statusline.json"]
    os.unlink(session.path)
    session.reply(30_000)  # rewritten since, and shorter: its offsets mean something else now
    assert _measured(session, home_dir).occupancy_tokens == 30_000


def test_a_request_that_the_file_does_not_hold_yet_counts_for_the_speed(
    session: SessionBuilder, home_dir: str
) -> None:
    """Else the tier would be told twice: once by the fill alone, once more with the row there."""
    for tokens in (50_000, 51_000):
        session.reply(tokens)
    state = SessionState(home_dir, session.session_id)
    shown = Snapshot(at=session.now + 5, occupancy_tokens=140_000)

    early = measure_session(session.path, state, _policy(), snapshot=shown)
    session.reply(140_000)
    late = measure_session(session.path, state, _policy(), snapshot=shown)

    assert early.history == late.history == [50_000, 51_000, 140_000]
    assert (early.tier, early.raised) == (late.tier, late.raised) == (3, True)
    quiet = Reading(**vars(late))
    quiet.transcript, quiet.history = session.path, [51_000, 150_000]
    quiet.fill_in_occupancies()
    assert quiet.history == [50_000, 51_000, 140_000, 150_000]


# So much in use, 167,000 less the reply are so many steps away as this is from 50,000.
NEAR = -(-(166_880 + 50_000 * NEAR_REQUESTS) // (NEAR_REQUESTS + 1))


@pytest.mark.parametrize(
    ("tokens", "history"), [(NEAR - 1, [NEAR - 1]), (NEAR, [50_000, NEAR]), (140_000, None)]
)
def test_a_step_of_which_a_few_would_reach_the_brim_is_a_reason_to_look_back(
    session: SessionBuilder, home_dir: str, tokens: int, history: list[int] | None
) -> None:
    """So is a tier; a calm session is read no further than its last request."""
    session.reply(50_000)
    session.reply(tokens)

    assert _measured(session, home_dir).history == (history or [50_000, tokens])


def test_a_window_once_observed_is_remembered(session: SessionBuilder, home_dir: str) -> None:
    """After a compaction the occupancy is small again, the window is not."""
    session.reply(250_000)
    known = Policy(values=default_values() | {"context_window": 1_000_000}, client={}, learned={})
    measure_session(session.path, SessionState(home_dir, session.session_id), known)
    assert SessionState(home_dir, session.session_id).largest_number_after_prefix(WINDOW) is None
    assert _measured(session, home_dir).window.source == "observed"
    session.compact(900_000)
    session.reply(40_000)

    later = _measured(session, home_dir)

    assert (later.window.tokens, later.window.source) == (1_000_000, "observed")
    assert (
        SessionState(home_dir, session.session_id).largest_number_after_prefix(WINDOW) == 1_000_000
    )


def _policy(**values: Any) -> Policy:
    policy = Policy(values=default_values() | values, client={}, learned={})
    policy.models = models.shipped_rows()
    return policy


def _reading(
    session: SessionBuilder,
    snapshot: Snapshot | None = None,
    added_characters: int = 0,
    **values: Any,
) -> Reading:
    return make_reading(
        read_tail(session.path), snapshot, _policy(**values), added_characters=added_characters
    )


def _measured(session: SessionBuilder, home_dir: str) -> Reading:
    return measure_session(session.path, SessionState(home_dir, session.session_id), _policy())


@pytest.mark.row("S1-02")
@pytest.mark.parametrize("size", [0, 400_000, 50 << 20])
def test_without_usage_rows_the_fill_is_unknown_however_large_the_file(
    size: int, session: SessionBuilder
) -> None:
    """A size says too little about what the model was sent."""
    session.raw('{"type":"progress","data":"%s"}\n' % ("x" * size))

    reading = _reading(session)

    assert (reading.occupancy_tokens, reading.tier, reading.measured_by) == (None, None, None)


@pytest.mark.row("S1-02", "S3-36", "S3-37", "S3-39")
def test_what_the_server_counted_stands_beside_megabytes(
    session: SessionBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Images and progress count as the server counted them, whatever a source multiplied with."""
    for name, value in (("CHARS_PER_TOKEN", "1"), ("OVERHEAD_TOKENS", "190000")):
        monkeypatch.setenv("CONTEXT_" + name, value)
    session.raw('{"type":"progress","data":"%s"}\n' % ("x" * 2_000_000))
    session.reply(142_000, output_tokens=100)
    session.row("attachment", attachment={"type": "image", "data": "A" * 1_000_000})

    reading = _reading(session)

    assert (reading.occupancy_tokens, reading.tail_tokens) == (142_000, 100)


@pytest.mark.row("S1-13")
def test_a_hook_reads_no_more_of_a_transcript_that_is_forty_times_as_long(
    talk: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same bytes from its end, however much stands before them."""
    counted = _CountingSystem()
    monkeypatch.setattr(io, "system", counted)
    read_bytes = []
    for rows in (500, 20_000):
        talk.anew(f"{rows} rows")
        talk.session.raw(('{"type":"progress","data":"' + "x" * 900 + '"}\n') * rows)
        for _ in range(30):
            talk.session.reply(40_000)
        counted.read_bytes = 0
        assert talk.after_tool(40_000) == SILENT
        read_bytes.append(counted.read_bytes)

    assert read_bytes[1] <= 1.1 * read_bytes[0] < 300_000


class _CountingSystem:
    """The operating system, and how many bytes were read from it."""

    def __init__(self) -> None:
        self.read_bytes = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(posix, name)

    def read(self, descriptor: int, count: int) -> bytes:
        return self._noted(posix.read(descriptor, count))

    def pread(self, descriptor: int, count: int, offset: int) -> bytes:
        return self._noted(posix.pread(descriptor, count, offset))

    def _noted(self, data: bytes) -> bytes:
        self.read_bytes += len(data)
        return data


@pytest.mark.parametrize(
    ("kept", "fetched"), [*((few, HISTORY_REQUESTS) for few in range(3)), (3, 3), (9, 9)]
)
def test_earlier_requests_are_fetched_where_few_are_known(
    session: SessionBuilder, home_dir: str, kept: int, fetched: int
) -> None:
    """The last ones, oldest first; who knows three or more needs no others."""
    sizes = [10_000 + 100 * number for number in range(HISTORY_REQUESTS + 9)]
    for size in sizes:
        session.reply(size)
    reading = _measured(session, home_dir)
    reading.history = sizes[len(sizes) - kept :]

    reading.fill_in_occupancies()

    assert reading.history == sizes[-fetched:]
