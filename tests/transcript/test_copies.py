"""A session compacted without a model says everything twice, and every reader counts once."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.session.recorded import plain

from brimline.carry import fold, ledger
from brimline.recall import deep
from brimline.session import inspect, repair
from brimline.testing import SessionBuilder, text_block
from brimline.transcript import read
from brimline.transcript.typed import Session

from .compacted import LINE, compact_inside

if TYPE_CHECKING:
    from collections.abc import Callable

    Told = Callable[[bool | None], SessionBuilder]

BULK = "a line of output\n" * 400


@pytest.fixture
def told(world: Path, project_dir: str) -> Told:
    """The same conversation, without a compaction, or with one in the middle of either form."""

    def tell(is_rebuilt: bool | None) -> SessionBuilder:
        session = SessionBuilder(str(world / f"{is_rebuilt}.jsonl"), cwd=project_dir)
        session.prompt("Make the tests pass.\nbrim:keep the billing tables as they are")
        _work(session, 40_000, "make test", BULK)
        session.prompt("brim:done the billing tables as they are")
        _work(session, 60_000, "make lint", "ok")
        if is_rebuilt is None:
            session.now += 1  # as long as a compaction takes
        else:
            compact_inside(session, is_rebuilt=is_rebuilt)
        session.prompt("Now commit it.")
        _work(session, 30_000, "git commit", "[main 0123abc] done")
        return session

    return tell


def _work(session: SessionBuilder, tokens: int, command: str, output: str) -> None:
    thought = {"type": "thinking", "thinking": "", "signature": "s" * 400}
    session.reply(tokens, thought, message_id=f"msg_{command}")
    call = session.tool_call(tokens, command=command)
    session.tool_result(call, output, sourceToolAssistantUUID=session.parent)
    session.tool_result(
        session.tool_call(tokens, "Edit", file_path=f"{session.cwd}/a.py"), "edited"
    )
    session.reply(tokens, text_block(f"{command} is done."))


@pytest.mark.parametrize("is_rebuilt", [True, False])
def test_every_reader_counts_once(told: Told, is_rebuilt: bool) -> None:
    """Turns, requests, messages, notes, files, commands and what memory takes in."""
    plain, twice = told(None), told(is_rebuilt)
    for reader in (_inspected, _carried, _remembered):
        assert reader(twice) == reader(plain), reader.__name__


@pytest.mark.parametrize("is_rebuilt", [True, False])
def test_what_is_in_the_context_are_the_copies(told: Told, is_rebuilt: bool) -> None:
    """Calls, replies and lines behind the boundary; nothing of what stands before it."""
    session = told(is_rebuilt)
    held: Counter[str] = Counter()
    for row in Session().rows_of(session.path):
        if row.is_boundary:
            held.clear()
        for piece in row.entry.pieces:
            held[piece.kind] += piece.characters
    assert held["tool_result"] < len(BULK) / 4
    assert held["tool_input"] > 0
    assert held["assistant"] > len("make test is done. make lint is done.")


def test_only_rows_older_than_the_boundary_are_copies(told: Told) -> None:
    """A row that is written after the compaction is news, and so are all behind it."""
    found = read.Copies()
    rows = list(read.rows_of_file(told(True).path))
    again = [fields for fields in rows if found.is_copy(fields)]
    boundary = next(n for n, fields in enumerate(rows) if fields.get("subtype"))
    assert again == rows[boundary + 1 : boundary + 1 + len(again)]
    assert LINE in str(again)
    assert "Now commit it." not in str(again)


def test_a_compaction_with_a_summary_has_no_copies(session: SessionBuilder) -> None:
    """Rows of a command may stand behind it that were written before."""
    session.prompt("go on")
    session.compact(100_000)
    session.prompt("/compact", timestamp="2020-01-01T00:00:00.000Z")
    found = read.Copies()
    assert not any(found.is_copy(fields) for fields in read.rows_of_file(session.path))


def test_a_compaction_by_handle_gets_its_anchors(told: Told, home_dir: str) -> None:
    """The boundary names every row behind it; nothing else changes."""
    session = told(False)
    os.utime(session.path, (1_700_000_000, 1_700_000_000))
    before = Path(session.path).read_bytes()
    report = repair.repair(session.path, home_dir=home_dir)
    assert report.copy
    session_id = json.loads(before.partition(b"\n")[0])["sessionId"]
    mended = plain(Path(report.copy.path).read_bytes(), session_id)
    rows, old = ([json.loads(x) for x in data.splitlines()] for data in (mended, before))
    at = next(n for n, fields in enumerate(rows) if fields.get("subtype"))
    kept = rows[at]["compactMetadata"].pop("preservedMessages")

    assert [fault.kind for fault in report.before.mendable_faults] == ["undone_compaction"]
    assert kept["anchorUuid"] == rows[at]["uuid"]
    assert kept["uuids"] == [fields["uuid"] for fields in rows[at + 1 :]]
    assert rows == old
    assert repair.examine(report.copy.path).faults == []
    assert Path(session.path).read_bytes() == before


def test_a_rebuilt_session_is_sound(told: Told) -> None:
    """Its copies are tied to each other, so that a resume needs nothing of before."""
    assert repair.examine(told(True).path).faults == []


def _inspected(session: SessionBuilder) -> Any:
    found = inspect.inspect(session.path)
    return found.turns, list(found.occupancies), found.models


def _carried(session: SessionBuilder) -> Any:
    record = ledger.Ledger("s")
    fold.fold_new_rows(record, session.path)
    return _of_ledger(record)


def _of_ledger(record: ledger.Ledger) -> Any:
    messages = [message["text"] for message in record.messages]
    return messages, record.notes, record.changed, record.commands, record.checks, record.commits


def _remembered(session: SessionBuilder) -> Any:
    rows = enumerate(read.rows_of_file(session.path))
    return [entry.text for _, entry in deep.entries_of_what_was_said(rows)]
