"""Sessions that the real client recorded, compacted by our mod and by handle: read once each.

`make recordings` makes them (`tests/client/recordings.py`), each beside the same conversation
without a compaction.
"""

from __future__ import annotations

import json
import os
import shutil
import tarfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from brimline.carry import fold, ledger
from brimline.dashboard import story
from brimline.figures import bill, spending
from brimline.recall import deep
from brimline.session import inspect, purge, repair, session_documents
from brimline.transcript import read, row
from brimline.transcript.typed import Session

if TYPE_CHECKING:
    from collections.abc import Callable

ARCHIVE = Path(__file__).parent / "compacted_by_mods.tar.xz"
_LONG_AGO = 1_700_000_000
BY_US = (
    *("parallel", "failing", "edits", "twice", "pictured", "delegated"),
    *("queued", "planned", "thought", "resumed"),
)
BY_HANDLE = ("parallel", "edits", "twice", "thought", "resumed")
FORKED, KINDS = "by_us/forked", ("plain", "compacted")
NAMES = [*(f"by_us/{name}" for name in BY_US), *(f"by_handle/{name}" for name in BY_HANDLE)]


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All of them, unpacked."""
    folder = tmp_path_factory.mktemp("recordings")
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(folder, filter="data")
    for path in folder.rglob("*.jsonl"):
        os.utime(path, (_LONG_AGO, _LONG_AGO))
    return folder


def sent(recordings: Path, name: str) -> dict[str, Any]:
    """What the service got when this was recorded."""
    found: dict[str, Any] = json.loads((recordings / name / "sent.json").read_bytes())
    return found


def _inspected(path: str, _home_dir: str) -> Any:
    found = inspect.inspect(path)
    return found.turns, list(found.occupancies), found.models


def _told(path: str, home_dir: str) -> Any:
    found = story.read_story(path, home_dir)
    return (
        found.turns,
        found.title,
        found.tokens_by_billing,
        [moment.tokens for moment in found.moments],
    )


def _carried(path: str, _home_dir: str) -> Any:
    record = ledger.Ledger("s")
    fold.fold_new_rows(record, path)
    messages = [message["text"] for message in record.messages]
    return messages, record.notes, record.changed, [*record.commands], [*record.checks]


def _remembered(path: str, _home_dir: str) -> Any:
    return [
        entry.text for _, entry in deep.entries_of_what_was_said(enumerate(read.rows_of_file(path)))
    ]


def _spent(path: str, _home_dir: str) -> Any:
    total = bill.document(spending.read_spendings(None, [path]))["total"]
    return {key: total[key] for key in total if not key.endswith("_at")}


@pytest.mark.parametrize("reader", [_inspected, _told, _carried, _remembered, _spent])
@pytest.mark.parametrize("name", NAMES)
def test_every_reader_says_what_it_says_without_the_compaction(
    recordings: Path, home_dir: str, name: str, reader: Callable[[str, str], Any]
) -> None:
    """Turns, requests, messages, files, commands, checks, cost, and what memory takes in."""
    plain, compacted = (recordings / name / f"{kind}.jsonl" for kind in KINDS)
    assert reader(str(compacted), home_dir) == reader(str(plain), home_dir)


@pytest.mark.parametrize("name", [*NAMES, FORKED])
def test_what_is_in_the_context_is_what_was_sent(recordings: Path, name: str) -> None:
    """The occupancy is the last request's; calls and replies are equal to it to a character.

    So are results, but for what the client attaches, some of which it sends inside them.
    """
    path = str(recordings / name / "compacted.jsonl")
    last = sent(recordings, name)["last"]
    held: Counter[str] = Counter()
    carried: Counter[str] = Counter()
    for each in Session().rows_of(path):
        if each.is_boundary:
            held.clear()
        if each.request:
            carried = held.copy()
        for piece in each.entry.pieces:
            held[piece.kind] += piece.characters
    composed = inspect.inspect(path).context.composed

    assert composed.occupancy_tokens == composed.parts.total() == last["tokens"]
    characters = last["characters"]
    for kind in ("assistant", "tool_input"):
        assert carried[kind] == characters[kind], kind
    attached = carried["client"] + carried["hook"]
    assert carried["tool_result"] <= characters["tool_result"] <= carried["tool_result"] + attached


def test_a_fork_has_what_was_said_before_the_compaction(recordings: Path) -> None:
    """It begins with the compaction: what was written again is all that it has of before.

    Its turns and requests are its own.
    """
    plain, compacted = (str(recordings / FORKED / f"{kind}.jsonl") for kind in KINDS)
    assert _carried(compacted, "") == _carried(plain, "")
    assert inspect.inspect(compacted).turns == 1


@pytest.mark.parametrize("name", [*NAMES, FORKED])
def test_inspect_says_what_a_resume_sends(
    recordings: Path, world: Path, home_dir: str, name: str
) -> None:
    """Within two in a hundred of what the service got, before a repair and after one."""
    got = sent(recordings, name)
    path = shutil.copy2(recordings / name / "compacted.jsonl", str(world / "session.jsonl"))
    before = inspect.inspect(path)
    assert before.is_undone == ("repaired" in got) == name.startswith("by_handle")
    assert before.resume_tokens == pytest.approx(got["resumed"]["tokens"], rel=0.02)
    if before.is_undone:
        report = repair.repair(path, home_dir=home_dir)
        assert report.copy
        after = inspect.inspect(report.copy.path)
        assert not after.is_undone
        assert after.resume_tokens == pytest.approx(got["repaired"]["tokens"], rel=0.02)


@pytest.mark.parametrize("name", BY_HANDLE)
def test_inspect_says_what_a_resume_sends_after_a_purge(
    recordings: Path, world: Path, home_dir: str, name: str
) -> None:
    """A result and the copies that compactions wrote of it are one; a repair sends the copies."""
    got = sent(recordings, f"by_handle/{name}")
    source = recordings / "by_handle" / name / "compacted.jsonl"
    path = shutil.copy2(source, str(world / "session.jsonl"))
    options = purge.Options(1_000, rule="thrifty")
    plan = purge.plan_purge(path, options, home_dir)
    changed = session_documents.documents_of_results_to_purge(plan)
    path = purge.purge(path, plan, home_dir).path

    results, kept = _lost_characters(source, Path(path))
    assert len(changed) == len(plan.results) == len(results) > 3
    whole = got["resumed"]["tokens"] - sum(results.values()) / 3
    before = session_documents.inspection_document(path, home_dir)["resume_tokens_estimated"]
    assert before == pytest.approx(whole, rel=0.03)

    report = repair.repair(path, home_dir=home_dir)
    assert report.copy
    path = report.copy.path
    after = session_documents.inspection_document(path, home_dir)["resume_tokens_estimated"]
    assert after == pytest.approx(got["repaired"]["tokens"] - sum(kept.values()) / 3, rel=0.03)


def _lost_characters(before: Path, after: Path) -> tuple[Counter[str], Counter[str]]:
    """What each changed result lost, by call: all of them, and those after the last compaction.

    Of a call that a compaction wrote twice the first row is sent.
    """
    lost: Counter[str] = Counter()
    kept: Counter[str] = Counter()
    named = {fields["uuid"]: fields for fields in read.rows_of_file(str(after)) if "uuid" in fields}
    for old in [fields for fields in read.rows_of_file(str(before)) if "uuid" in fields]:
        new = named[old["uuid"]]
        if row.is_compaction_row(old):
            kept.clear()
        count = len(json.dumps(row.message_of(old))) - len(json.dumps(row.message_of(new)))
        for call in row.answered_call_ids(old):
            kept.setdefault(call, count)
            lost[call] = max(lost[call], count)
    return +lost, +kept
