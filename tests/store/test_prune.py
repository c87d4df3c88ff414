"""Making room in a real store: what transcripts mention stays, wherever they mention it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from brimline import paths
from brimline.store import layout, pins, prune, put, read, references, scan, sources, sweep
from brimline.store.errors import StoreError
from brimline.store.plan import Limits
from brimline.store.prune import Search
from brimline.testing import SessionBuilder

from . import shelves
from .shelves import DAY_S, noise, stored, text

LONG_AGO = 40 * DAY_S


@pytest.fixture
def projects(world: Path) -> Path:
    """The client's folder of projects."""
    folder = Path(paths.client_config_dir()) / "projects"
    folder.mkdir(parents=True)
    return folder


def collected(home_dir: str, **options: object) -> prune.Outcome:
    """Collect garbage, looking where keys can be."""
    return prune.collect(home_dir, Search(**options))  # type: ignore[arg-type]


def test_collecting_removes_the_blob_its_sidecar_and_tells_the_trail(
    home_dir: str, projects: Path
) -> None:
    """What nothing mentions goes without a trace but a line in the audit."""
    key = stored(home_dir, text(1), LONG_AGO)

    done = collected(home_dir)

    assert done.keys == [key]
    assert shelves.keys(home_dir) == set()
    assert list(scan.beside(home_dir)) == []
    assert shelves.temporary_files(home_dir) == []
    last = json.loads(Path(layout.index(home_dir)).read_text().splitlines()[-1])
    assert (last["event"], last["key"]) == ("gc", key)


def test_collecting_works_without_the_folder_for_temporary_files(home_dir: str) -> None:
    """A user may have cleared it away; a folder among the blobs is no blob."""
    key = stored(home_dir, text(1), LONG_AGO)
    os.rmdir(layout.tmp_dir(home_dir))
    os.mkdir(layout.blob(home_dir, key[7:9] + "0" * 62))

    assert collected(home_dir).keys == [key]


@pytest.mark.row("S3-69")
@pytest.mark.parametrize("place", ["result", "compacted", "subagent", "backup", "own copy", "text"])
def test_a_mentioned_blob_survives_wherever_it_is_mentioned(
    home_dir: str, projects: Path, place: str
) -> None:
    """In results, before a compaction, in a subagent's file, in a backup, in user text."""
    key = stored(home_dir, text(1), LONG_AGO)
    lost = stored(home_dir, text(2), LONG_AGO)
    names = {
        "subagent": "project/0000/subagents/agent-1.jsonl",
        "backup": "project/0000.jsonl.backup.20260108_154903",
    }
    session = SessionBuilder(str(projects / names.get(place, "project/0000.jsonl")))
    if place == "text":
        session.prompt(f"look at {key}, please")
    elif place == "own copy":
        session.row("user", toolUseResult={"file": {"content": f"[x: {key}]"}})
    else:
        session.tool_result(session.tool_call(1_000), f"[brimline stored 4000 bytes: {key}]")
    if place == "compacted":
        session.compact(150_000)

    done = collected(home_dir)

    assert done.keys == [lost]
    assert read.get(home_dir, key) == text(1)


@pytest.mark.row("S3-69")
@pytest.mark.parametrize(
    ("name", "holds"),
    [
        ("sessions/s1/checkpoint.json", True),
        ("sessions/s1/ledger.jsonl", True),
        ("carry/card.md", True),
        ("sessions/s1/spool.jsonl", False),
        ("policy/x.json", False),
    ],
)
def test_a_ledger_holds_what_it_mentions_and_a_spool_does_not(
    home_dir: str, name: str, *, holds: bool
) -> None:
    """Promises count; records of what happened do not."""
    key = stored(home_dir, text(1), LONG_AGO)
    file = Path(home_dir) / name
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps({"key": key}))

    collected(home_dir)

    assert shelves.keys(home_dir) == ({key} if holds else set())


@pytest.mark.row("S3-69")
def test_what_was_used_just_now_is_no_garbage(home_dir: str) -> None:
    """Its stub may be on the way to the transcript; without a grace period it goes."""
    key = stored(home_dir, text(1), 3_000)

    assert collected(home_dir).keys == []
    assert prune.collect(home_dir, Search(), grace_s=0).keys == [key]


def test_a_transcript_that_cannot_be_read_keeps_everything(home_dir: str, world: Path) -> None:
    """What it mentions is unknown, so nothing is known to be garbage."""
    key = stored(home_dir, text(1), LONG_AGO)

    with pytest.raises(StoreError, match="nothing was removed: what may mention a key cannot be"):
        collected(home_dir, paths=[_unreadable(world)])
    assert shelves.keys(home_dir) == {key}


def test_another_client_that_used_the_store_is_asked_too(
    home_dir: str, world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One data folder may serve two configuration folders."""
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(world / "other"))
    key = stored(home_dir, text(1), LONG_AGO)
    SessionBuilder(str(world / "other/projects/p/s.jsonl")).prompt(f"see {key}")
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(world / "home/.claude"))

    assert collected(home_dir).keys == []
    os.rename(world / "other", world / "elsewhere")
    with pytest.raises(StoreError, match="other: not there"):
        collected(home_dir)


def test_linked_project_folders_are_followed_once(
    home_dir: str, projects: Path, world: Path
) -> None:
    """Also where links go round in circles."""
    key = stored(home_dir, text(1), LONG_AGO)
    SessionBuilder(str(world / "away/s.jsonl")).prompt(f"see {key}")
    (projects / "linked").symlink_to(world / "away")
    (world / "away/back").symlink_to(projects)
    (projects / "dangling").symlink_to(world / "nowhere")

    assert collected(home_dir).keys == []
    assert len(list(sources.Files(home_dir))) == 1


@pytest.mark.row("S3-68")
def test_pruning_by_size_counts_compressed_bytes(home_dir: str) -> None:
    """What is left fits the limit on the disk, not the limit on content."""
    for number in range(6):
        stored(home_dir, noise(number, 50_000), 10_000 - number)
    stored(home_dir, text(9, 900_000), 20_000)
    total = sum(blob.disk_bytes for blob in scan.blobs(home_dir))

    done = prune.prune(home_dir, Limits(max_bytes=200_000), Search())

    left = sum(blob.disk_bytes for blob in scan.blobs(home_dir))
    assert total < 400_000
    assert left <= 200_000
    assert left > 150_000
    assert (done.left_bytes, done.freed_bytes) == (left, total - left)


@pytest.mark.row("S3-64", "S3-68")
def test_pruning_reports_what_it_may_not_remove(home_dir: str, projects: Path) -> None:
    """Referenced and hard-pinned blobs stay, and the shortfall is told."""
    mentioned, pinned, soft, free = [stored(home_dir, noise(n, 2_000), DAY_S) for n in range(4)]
    SessionBuilder(str(projects / "p/s.jsonl")).prompt(mentioned)
    pins.pin(home_dir, pinned, "hard")
    pins.pin(home_dir, soft, "soft")

    done = prune.prune(home_dir, Limits(max_bytes=0), Search())

    assert done.keys == [free, soft]
    assert shelves.keys(home_dir) == {mentioned, pinned}
    assert done.shortfall_bytes == done.left_bytes == 4_026
    assert done.held_bytes == {"referenced": 2_013, "hard": 2_013}
    assert set(scan.pinned(home_dir)) == {pinned[7:]}

    forced = prune.prune(home_dir, Limits(max_bytes=0), Search(), forced=[mentioned[7:]])

    assert forced.keys == [mentioned]
    assert shelves.keys(home_dir) == {pinned}


@pytest.mark.parametrize("digits", [8, 12, 64])
def test_what_a_transcript_mentions_by_its_first_digits_stays(
    home_dir: str, projects: Path, digits: int
) -> None:
    """Recalls and search hits name keys by twelve digits, and eight are enough to fetch by."""
    mentioned, free = [stored(home_dir, noise(n, 2_000), LONG_AGO) for n in range(2)]
    session = SessionBuilder(str(projects / "p/s.jsonl"))
    session.tool_result("t1", f"[brimline recall {mentioned[: 7 + digits]} (Bash): all 3 lines]")

    assert prune.prune(home_dir, Limits(max_bytes=0), Search(dry_run=True)).keys == [free]
    assert prune.prune(home_dir, Limits(max_age_s=1.0), Search(dry_run=True)).keys == [free]
    assert collected(home_dir).keys == [free]


@pytest.mark.row("S3-70")
def test_a_dry_run_says_the_same_and_touches_nothing(home_dir: str, projects: Path) -> None:
    """Not a byte, not a time, not what is remembered of transcripts."""
    keys = [stored(home_dir, noise(n, 2_000), LONG_AGO - n) for n in range(5)]
    session = SessionBuilder(str(projects / "p/s.jsonl"))
    session.prompt(keys[0])
    os.utime(session.path, (1_000, 1_000))
    pins.pin(home_dir, keys[1], "hard", "why")
    pins.pin(home_dir, keys[2], "soft")
    before = shelves.snapshot(home_dir, str(projects))
    limits = Limits(35 * DAY_S, 5_000)

    would = prune.prune(home_dir, limits, Search(dry_run=True))
    garbage = collected(home_dir, dry_run=True)

    assert shelves.snapshot(home_dir, str(projects)) == before
    assert prune.prune(home_dir, limits, Search()) == would
    assert set(garbage.keys) == set(keys[3:])
    assert would.by_age == 2
    assert os.path.exists(references.cache_file(home_dir))


def test_what_comes_into_use_before_its_turn_stays(
    home_dir: str, projects: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stored again, or pinned, while the search for references goes on."""
    used, pinned, garbage = [stored(home_dir, text(n), LONG_AGO) for n in range(3)]

    class Meanwhile(list[str]):
        """Files whose reading takes long enough for something to happen."""

        def __iter__(self):  # type: ignore[no-untyped-def]  # noqa: ANN204
            put.put(home_dir, text(0), {})
            pins.pin(home_dir, pinned, "hard")
            return iter([])

    done = collected(home_dir, paths=Meanwhile())

    assert done.keys == [garbage]
    assert done.came_into_use == 2
    assert shelves.keys(home_dir) == {used, pinned}
    assert read.meta(home_dir, used)["bytes"] == 4_000
    assert pins.level_of(home_dir, pinned[7:]) == "hard"


def test_a_search_that_runs_out_of_time_removes_nothing(home_dir: str, projects: Path) -> None:
    """What was not read may mention anything."""
    key = stored(home_dir, text(1), LONG_AGO)
    SessionBuilder(str(projects / "p/s.jsonl")).prompt("hello")

    assert not collected(home_dir, deadline=0.0).finished
    assert not prune.prune(home_dir, Limits(max_bytes=0), Search(deadline=0.0)).finished
    assert shelves.keys(home_dir) == {key}


def test_leftovers_are_swept_once_they_are_old(home_dir: str) -> None:
    """Unfinished writes and lone sidecars go, blobs left aside come back."""
    key = stored(home_dir, text(1))
    lone = stored(home_dir, text(2))
    os.unlink(layout.blob(home_dir, lone[7:]))
    unfinished = Path(layout.tmp_dir(home_dir), "1.2.tmp")
    unfinished.write_bytes(b"half")
    aside = Path(layout.tmp_dir(home_dir), f"{key[7:]}.blob.1.2.gone")
    os.rename(layout.blob(home_dir, key[7:]), aside)

    assert sweep.sweep(home_dir) == sweep.Swept(returned=1)
    assert read.get(home_dir, key) == text(1)
    later = os.stat(unfinished).st_mtime + 2 * sweep.GRACE_S
    assert sweep.sweep(home_dir, now=later) == sweep.Swept(temporary=1, orphans=1)
    assert shelves.temporary_files(home_dir) == []
    assert [digest for digest, _ in scan.beside(home_dir)] == [key[7:]]


def _unreadable(world: Path) -> str:
    """A file that fails to open for root too: its name is longer than any file system allows."""
    return str(world / ("x" * 300))
