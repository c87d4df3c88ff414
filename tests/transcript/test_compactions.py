"""Compactions read from transcripts: every one once, with what the client wrote down of it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from brimline import clock
from brimline.transcript.compactions import scan

from . import reference
from .generated import mutated_transcripts, transcripts

if TYPE_CHECKING:
    from typing import Any

    from brimline.testing import SessionBuilder


@pytest.mark.row("S2-21", "S2-50")
def test_a_compaction_has_its_trigger_its_tokens_and_the_size_of_its_summary(
    session: SessionBuilder,
) -> None:
    """What was before is the client's figure, what came after is what the next request took."""
    session.reply(160_000)
    begun_at = session.now + 1
    session.compact(167_000, "auto", "x" * 11_645)
    session.prompt()
    session.reply(50_800)
    session.reply(52_000)
    session.compact(90_000, "manual", "y" * 4_000)

    first, second = scan(session.path).compactions

    assert (first.trigger, first.pre_tokens, first.post_tokens) == ("auto", 167_000, 50_800)
    assert first.summary_characters == 11_645
    assert first.at == begun_at
    assert (second.trigger, second.pre_tokens, second.post_tokens) == ("manual", 90_000, None)
    assert second.summary_characters == 4_000
    assert first.uuid != second.uuid


def test_what_the_client_expected_after_it_stands_until_a_request_was_made(
    session: SessionBuilder,
) -> None:
    """Newer clients write `postTokens`; the first usage replaces it."""
    figures = {"trigger": "auto", "preTokens": 167_000, "postTokens": 30_000}
    session.row("system", subtype="compact_boundary", compactMetadata=figures)
    expected = scan(session.path).compactions[0].post_tokens
    session.reply(41_000)

    assert expected == 30_000
    assert scan(session.path).compactions[0].post_tokens == 41_000


def test_a_summary_in_blocks_is_measured_too(session: SessionBuilder) -> None:
    """Content may be a text or a list of blocks."""
    session.row("system", subtype="compact_boundary", compactMetadata={"trigger": "auto"})
    content = [{"type": "text", "text": "x" * 700}, {"type": "text", "text": "y" * 70}]
    session.row("user", message={"content": content}, isCompactSummary=True)

    (found,) = scan(session.path).compactions

    assert found.summary_characters == 770


def test_old_sessions_have_the_summary_only(session: SessionBuilder) -> None:
    """Who asked and how full it was is not known then."""
    session.reply(150_000)
    session.compact(0, summary="x" * 500, legacy=True)
    session.reply(40_000)

    (found,) = scan(session.path).compactions

    assert (found.trigger, found.pre_tokens) == (None, None)
    assert (found.post_tokens, found.summary_characters) == (40_000, 500)


def test_a_subagents_rows_are_none_of_the_sessions(session: SessionBuilder) -> None:
    """Neither its compactions nor its requests."""
    session.row("system", subtype="compact_boundary", isSidechain=True)
    session.compact(167_000)
    session.reply(9_000, isSidechain=True)
    session.reply(50_000)

    (found,) = scan(session.path).compactions

    assert found.post_tokens == 50_000


@pytest.mark.parametrize(
    "figures",
    [
        None,
        5,
        [],
        "auto",
        {"trigger": 5, "preTokens": "many"},
        {"preTokens": -1},
        {"preTokens": True},
    ],
)
def test_foreign_figures_are_unknown(figures: Any, session: SessionBuilder) -> None:
    """A row of another shape is still a compaction."""
    session.row("system", subtype="compact_boundary", compactMetadata=figures, uuid=7, timestamp=8)
    session.row("user", message="none", isCompactSummary=True)

    (found,) = scan(session.path).compactions

    assert found[:5] == (None, None, None, None, None)
    assert found.summary_characters == 0


def test_torn_and_merged_lines_are_survived(session: SessionBuilder) -> None:
    """Two rows on a line are two rows; half a row is none."""
    session.raw('{"type":"system","subtype":"compact_bou\n')
    session.raw(
        '{"type":"system","subtype":"compact_boundary","timestamp":"2026-01-08T15:49:03.054Z"}'
    )
    session.compact(1, legacy=True, summary="12345")
    session.raw('{"type":"assistant","message":{"usage":')

    (found,) = scan(session.path).compactions

    assert found.summary_characters == 5
    assert found.at == clock.parse("2026-01-08T15:49:03.054Z")


def test_every_compaction_shrinks_the_context_and_leaves_a_summary(session: SessionBuilder) -> None:
    """In a built session, and in recorded ones where `BRIMLINE_CORPUS` names some."""
    for size in (6_800, 11_600, 18_200):
        session.compact(167_000, summary="x" * size)
        session.reply(50_800)
    corpus = os.environ.get("BRIMLINE_CORPUS")
    files = [session.path, *(sorted(Path(corpus).glob("*.jsonl")) if corpus else [])]

    found = [one for file in files for one in scan(str(file)).compactions]

    assert len(found) >= 3
    for one in found:
        assert (one.summary_characters or 0) > 1_000
        assert 0 < (one.post_tokens or 0) < (one.pre_tokens or 0)


thorough = settings(
    max_examples=400,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@given(data=transcripts() | mutated_transcripts() | st.binary(max_size=200))
@thorough
def test_the_scan_equals_what_the_slow_reader_finds(data: bytes, tmp_path: Path) -> None:
    """On any file both count the same compactions and the same requests."""
    path = tmp_path / "transcript.jsonl"
    path.write_bytes(data)

    steps: list[int] = []
    found = scan(str(path), steps.append)
    expected = reference.read(path)

    assert len(found.compactions) == expected.compactions
    assert found.occupancies == expected.history
    assert found.largest_occupancy_tokens == expected.largest_occupancy_tokens
    assert sum(steps) == len(data)


@pytest.mark.parametrize("legacy", [False, True])
def test_every_compaction_counts_once(session: SessionBuilder, legacy: bool) -> None:
    """Boundary and summary are one event; old clients wrote the summary alone."""
    for _ in range(3):
        session.reply(160_000)
        session.compact(167_000, legacy=legacy)
    session.reply(50_000)
    session.reply(51_000)

    found = scan(session.path)

    assert len(found.compactions) == 3
    assert found.occupancies == [50_000, 51_000]
    assert found.largest_occupancy_tokens == 160_000


def test_a_compaction_of_each_kind_in_a_row_counts_as_two(session: SessionBuilder) -> None:
    """A summary without a boundary of its own is not swallowed by the compaction before it."""
    session.compact(167_000)
    session.reply(50_000)
    session.compact(167_000, legacy=True)

    assert len(scan(session.path).compactions) == 2


def test_two_summaries_in_a_row_are_two_compactions(session: SessionBuilder) -> None:
    """Old clients left nothing but summaries; one without a request after it still happened."""
    session.compact(155_000, legacy=True)
    session.compact(155_000, legacy=True)

    assert len(scan(session.path).compactions) == 2
