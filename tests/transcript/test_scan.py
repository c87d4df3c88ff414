"""The streaming scan: of one mind with the slow reader, and right about compactions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from brimline.transcript.scan import scan

from . import reference
from .generated import mutated_transcripts, transcripts

if TYPE_CHECKING:
    from pathlib import Path

    from brimline.testing import SessionBuilder

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

    found = scan(str(path))
    expected = reference.read(path)

    assert found.compactions == expected.compactions
    assert found.occupancies == expected.history
    assert found.largest_occupancy_tokens == expected.largest_occupancy_tokens


@pytest.mark.parametrize("legacy", [False, True])
def test_every_compaction_counts_once(session: SessionBuilder, legacy: bool) -> None:
    """Boundary and summary are one event; old clients wrote the summary alone."""
    for _ in range(3):
        session.reply(160_000)
        session.compact(167_000, legacy=legacy)
    session.reply(50_000)
    session.reply(51_000)

    found = scan(session.path)

    assert found.compactions == 3
    assert found.occupancies == [50_000, 51_000]
    assert found.largest_occupancy_tokens == 160_000


def test_a_compaction_of_each_kind_in_a_row_counts_as_two(session: SessionBuilder) -> None:
    """A summary without a boundary of its own is not swallowed by the compaction before it."""
    session.compact(167_000)
    session.reply(50_000)
    session.compact(167_000, legacy=True)

    assert scan(session.path).compactions == 2


def test_two_summaries_in_a_row_are_two_compactions(session: SessionBuilder) -> None:
    """Old clients left nothing but summaries; one without a request after it still happened."""
    session.compact(155_000, legacy=True)
    session.compact(155_000, legacy=True)

    assert scan(session.path).compactions == 2


def test_progress_adds_up_to_the_size_of_the_file(session: SessionBuilder, tmp_path: Path) -> None:
    """Every byte is reported once, the unfinished last line included."""
    session.reply(50_000)
    session.raw('{"torn')
    steps: list[int] = []

    scan(session.path, steps.append)

    assert sum(steps) == (tmp_path / "session.jsonl").stat().st_size
