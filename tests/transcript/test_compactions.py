"""Compactions read from transcripts: every one once, with what the client wrote down of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from brimline.transcript import row
from brimline.transcript.compactions import Links
from brimline.transcript.typed import measure

from . import reference
from .generated import mutated_transcripts, transcripts

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from brimline.testing import SessionBuilder


def test_clients_differ_in_what_they_write(session: SessionBuilder) -> None:
    """An expected size until a request was made, blocks, the summary alone; no subagent's rows."""
    figures = {"trigger": "auto", "preTokens": 167_000, "postTokens": 30_000}
    session.row("system", subtype="compact_boundary", compactMetadata=figures)
    assert measure(session.path).compactions[0].post_tokens == 30_000
    content = [{"type": "text", "text": "x" * 700}, {"type": "text", "text": "y" * 70}]
    session.row("user", message={"content": content}, isCompactSummary=True)
    session.row("system", subtype="compact_boundary", isSidechain=True)
    session.reply(9_000, isSidechain=True)
    session.reply(41_000)
    session.compact(0, summary="x" * 500, legacy=True)
    session.compact(0, summary="x" * 400, legacy=True)
    session.reply(40_000)

    first, second, third = measure(session.path).compactions

    assert (first.post_tokens, first.summary_characters) == (41_000, 770)
    assert (second.trigger, second.pre_tokens, second.post_tokens) == (None, None, None)
    assert (third.post_tokens, third.summary_characters) == (40_000, 400)


@pytest.mark.parametrize(
    "notice",
    [
        "Compacted while idle, before the prompt cache expired",
        "Compacted using a summary written while you were away",
    ],
)
def test_a_compaction_with_nobody_there_is_idle(session: SessionBuilder, notice: str) -> None:
    """The client says so in a row behind it; the trigger itself does not tell."""
    session.compact(300_000)
    session.compact(310_000)
    session.row("system", subtype="informational", content=notice, level="notice")

    found = measure(session.path).compactions

    assert [(one.trigger, one.pre_tokens) for one in found] == [
        ("auto", 300_000),
        ("idle", 310_000),
    ]


thorough = settings(max_examples=150)
_REPLY = b'{"type":"assistant","message":{"id":"msg_1","model":"m","usage":{"input_tokens":%d}}}\n'


@example(data=_REPLY % 2 + _REPLY % 1)
@given(data=transcripts() | mutated_transcripts() | st.binary(max_size=200))
@thorough
def test_the_scan_equals_what_the_slow_reader_finds(data: bytes, tmp_path: Path) -> None:
    """On any file both count the same compactions and the same requests."""
    path = tmp_path / "transcript.jsonl"
    path.write_bytes(data)

    steps: list[int] = []
    found = measure(str(path), steps.append)
    expected = reference.read(path)

    assert len(found.compactions) == expected.compactions
    assert found.occupancies_since_compaction == expected.history
    assert found.largest_occupancy_tokens == expected.largest_occupancy_tokens
    assert sum(steps) == len(data)


def test_what_the_next_request_did_not_read_from_the_cache_is_told(session: SessionBuilder) -> None:
    """It says what the compaction really had written again; before that request nobody knows."""
    session.reply(100_000)
    session.row("system", subtype="compact_boundary", compactMetadata={"preTokens": 100_000})
    assert measure(session.path).compactions[0].rewritten_tokens is None

    session.reply(60_000)

    assert measure(session.path).compactions[0].rewritten_tokens == 1_010


BARE = {"type": "system", "subtype": "compact_boundary", "uuid": "b"}
NAMED = BARE | {"compactMetadata": {"preservedMessages": {"uuids": ["u1"]}}}
SUMMARY = {"type": "user", "isCompactSummary": True, "uuid": "b"}
BEFORE: list[dict[str, Any]] = [
    {"type": "user", "uuid": "u1"},
    {"type": "assistant", "uuid": "u2", "message": {"id": "m"}},
]


@pytest.mark.parametrize(
    ("rows", "is_undone"),
    [
        ([], False),
        ([BARE], True),
        ([NAMED], False),
        ([SUMMARY], False),
        ([BARE, {"type": "user", "uuid": "u3", "parentUuid": "b"}], False),
        ([BARE, {"type": "user", "uuid": "u3", "parentUuid": "u2"}], True),
        ([BARE, {"type": "assistant", "uuid": "u3", "message": {"id": "m"}}], True),
        ([BARE, {"type": "assistant", "uuid": "u3", "message": {"id": "other"}}], False),
        ([NAMED, {"type": "user", "uuid": "u3", "parentUuid": "u2"}], False),
        ([SUMMARY, {"type": "user", "uuid": "u3", "parentUuid": "u2"}], False),
        ([BARE, {"type": "user", "uuid": "u3", "parentUuid": "u2"}, SUMMARY], False),
        ([BARE | {"isSidechain": True}], False),
        ([BARE, {"type": "progress", "uuid": "u3", "parentUuid": "b"}], True),
    ],
)
def test_a_resume_undoes_a_compaction_that_nothing_holds(
    rows: list[dict[str, Any]], is_undone: bool
) -> None:
    """Where nothing was said since, or something said leads back before it."""
    links = Links()

    for fields in [*BEFORE, *rows]:
        links.read_row(fields, is_boundary=row.is_compaction_row(fields))

    assert links.would_resume_undo_compaction is is_undone
