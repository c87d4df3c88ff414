"""What two sessions share counts once: in a fork, and in copies of ours."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from brimline.fast import json, paths
from brimline.figures import lookback, store
from brimline.recall import deep, hits
from brimline.session import inspect, purge, restore
from brimline.transcript import find, read, row

from .test_recordings import recordings

if TYPE_CHECKING:
    from collections.abc import Callable

    GoOn = Callable[[str, str], str]

__all__ = ["recordings"]
_LONG_AGO = 1_700_000_000


def undone(path: str, home_dir: str) -> str:
    """A copy from before the last compaction."""
    return restore.copy_before_compaction(restore.plan_cut_before(path), home_dir).path


def purged(path: str, home_dir: str) -> str:
    """A purged copy."""
    plan = purge.plan_purge(path, purge.Options(keep_requests=0), home_dir)
    return purge.purge(path, plan, home_dir).path


def forked(path: str, _home_dir: str) -> str:
    """A fork, whose file begins with the last compaction, rows with their names."""
    lines = Path(path).read_bytes().splitlines(keepends=True)
    last = max(n for n, line in enumerate(lines) if b'"compact_boundary"' in line)
    fork = str(Path(path).with_name("f0000000-0000-4000-8000-000000000000.jsonl"))
    first_id, fork_id = (find.session_id_of(each).encode() for each in (path, fork))
    Path(fork).write_bytes(b"".join(lines[last:]).replace(first_id, fork_id))
    os.utime(fork, (_LONG_AGO + 9, _LONG_AGO + 9))
    return fork


@pytest.fixture
def first(recordings: Path, project_dir: str) -> str:
    """A recorded session among the client's, compacted by our mod in its second turn of three."""
    return _placed(recordings / "by_us" / "resumed" / "compacted.jsonl", project_dir)


def _placed(source: Path, project_dir: str) -> str:
    session_id = next(filter(None, map(row.session_id_in, read.rows_of_file(str(source)))))
    path = f"{paths.project_transcripts_dir(project_dir)}/{session_id}.jsonl"
    os.makedirs(os.path.dirname(path))
    shutil.copy(source, path)
    os.utime(path, (_LONG_AGO, _LONG_AGO))
    return path


@pytest.mark.parametrize("go_on", [undone, purged, forked])
@pytest.mark.parametrize("is_read_before", [True, False])
def test_memory_has_every_message_once(
    first: str, home_dir: str, project_dir: str, go_on: GoOn, is_read_before: bool
) -> None:
    """Under the session in which it was said first, whenever the two are read."""
    said = Counter(
        entry.text
        for _, entry in deep.entries_of_what_was_said(enumerate(read.rows_of_file(first)))
    )
    assert said["Begin."] == said["Done: Begin."] == said["Read all parts."] == 1
    if is_read_before:
        deep.index_sources(home_dir, project_dir)

    go_on(first, home_dir)
    deep.index_sources(home_dir, project_dir)

    asked = "SELECT session, text FROM entries"
    memory = hits.open_or_make_memory(home_dir)
    entries = memory.run_on_database(lambda base: base.execute(asked).fetchall())
    assert Counter(text for _, text in entries) == said
    owners = {text: session for session, text in entries}
    for text in ("Begin.", "Done: Begin.", "Read all parts."):
        assert owners[text] == find.session_id_of(first), text


@pytest.mark.parametrize("go_on", [undone, purged, forked])
@pytest.mark.parametrize("is_known_by", ["the file", "hooks"])
def test_history_has_every_compaction_once(
    first: str, home_dir: str, go_on: GoOn, is_known_by: str
) -> None:
    """Under the session that was compacted, also where only hooks have told of it."""
    name, at = find.session_id_of(first), inspect.inspect(first).compactions[0].at or 0
    if is_known_by == "the file":
        with store.opened(home_dir) as figures:
            figures.refresh([first])
    else:
        spool = f"{paths.session_dir(home_dir, name)}/spool.jsonl"
        os.makedirs(os.path.dirname(spool))
        for seconds, event in ((-9, {"event": "UserPromptSubmit"}), (1, {"event": "PostCompact"})):
            json.append_line(spool, event | {"at": at + seconds})

    second = go_on(first, home_dir)
    with store.opened(home_dir) as figures:
        figures.refresh([first, second])

    def shown(session_id: str | None = None) -> list[str]:
        with store.opened(home_dir) as figures:
            document = lookback.document(figures, lambda *_: {}, session_id, compactions=True)
        return [each["session_id"] for each in document["compactions"]]

    assert shown() == [name]
    assert shown(name) == [name]
    assert shown(find.session_id_of(second)) == []


def test_inspect_counts_the_turns_that_began_in_a_session(first: str, home_dir: str) -> None:
    """As it counts requests: those of before are in the context, but were made elsewhere."""
    whole = inspect.inspect(first)
    second = inspect.inspect(forked(first, home_dir))
    assert (whole.turns, len(whole.occupancies)) == (3, 7)
    assert (second.turns, len(second.occupancies)) == (1, 3)
    assert second.context.composed.parts["user"] > 0
