"""Age, size and references: what goes, in which order, and what never goes."""

from __future__ import annotations

import json
import math
import os
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brimline.errors import StoreError
from brimline.fast import paths
from brimline.store import contents, layout, pins, put, retention
from brimline.store.contents import Blob
from brimline.store.retention import Holds, Limits, Pass, choose, prune
from brimline.testing import SessionBuilder

from . import shelves
from .examples import thorough
from .shelves import DAY_S, noise, stored, text

NOW = 2_000_000_000 * 10**9
DAY = 86_400 * 10**9
LONG_AGO = 40 * DAY_S
GARBAGE = Limits(grace_s=retention.GRACE_S, unreferenced=True)


@pytest.fixture
def projects(world: Path) -> Path:
    """The client's folder of projects."""
    folder = Path(paths.client_config_dir()) / "projects"
    folder.mkdir(parents=True)
    return folder


def blob(name: str, size: int = 100, days: float = 1) -> Blob:
    """A blob that was last used so many days ago."""
    return Blob(name, size, NOW - int(days * DAY))


def names(blobs: list[Blob], holds: Holds, limits: Limits, now_ns: int = NOW) -> str:
    """What goes, in order."""
    return "".join(one.digest for one in choose(blobs, holds, limits, now_ns)[0])


def tidied(home_dir: str, **options: Any) -> retention.Outcome | None:
    """Enforce the limits, with all the time in the world."""
    return retention.tidy(home_dir, **({"until": math.inf} | options))


@pytest.mark.row("S3-62", "S3-67")
def test_by_age_goes_what_was_not_used_for_so_long_and_is_not_pinned() -> None:
    """The longest unused first; neither soft nor hard pins go by age."""
    blobs = [blob("a", days=31), blob("b", days=29), blob("c", days=90), blob("d", days=90)]
    blobs += [blob("e", days=90), blob("f", days=90)]
    holds = Holds({"d": "soft", "e": "hard"}, {"f"})

    assert names(blobs, holds, Limits(max_age_s=30 * 86_400)) == "ca"


@pytest.mark.row("S3-62", "S3-63", "S3-64", "S3-68")
@pytest.mark.parametrize(
    ("max_bytes", "wanted", "shortfall"),
    [
        *[(600, "", 0), (599, "b", 0), (400, "ba", 0), (350, "baf", 0), (200, "bafc", 0)],
        *[(150, "bafc", 50), (0, "bafc", 200)],
    ],
)
def test_by_size_soft_pins_go_after_everything_that_is_not_pinned(
    max_bytes: int, wanted: str, shortfall: int
) -> None:
    """Last used longest ago first, until it fits; hard pins and mentioned blobs stay."""
    blobs = [blob("a", days=2), blob("b", days=5), blob("c", days=50), blob("d", days=90)]
    blobs += [blob("e", days=90), blob("f", days=1)]
    holds = Holds({"c": "soft", "d": "hard"}, {"e"})

    chosen, done = choose(blobs, holds, Limits(max_bytes=max_bytes), NOW)

    assert "".join(one.digest for one in chosen) == wanted
    assert done.shortfall_bytes == shortfall
    assert done.held_bytes == ({"hard": 100, "referenced": 100} if shortfall else {})


@pytest.mark.row("S3-68")
def test_of_blobs_of_one_age_the_largest_goes_first() -> None:
    """So that fewer have to go."""
    blobs = [blob("a", 10), blob("b", 500), blob("c", 90)]

    assert names(blobs, Holds(), Limits(max_bytes=100)) == "b"


def test_a_forced_key_may_go_whatever_holds_it_but_goes_last() -> None:
    """Forcing names what may go; the limits decide whether it does."""
    blobs = [blob("a", days=90), blob("b", days=1), blob("c", days=1), blob("d", days=90)]
    holds = Holds({"a": "hard", "c": "soft"}, {"a", "d"}, {"a"})

    assert names(blobs, holds, Limits(max_bytes=200)) == "bc"
    assert names(blobs, holds, Limits(max_bytes=0)) == "bca"
    assert names(blobs, holds, Limits(max_age_s=30 * 86_400)) == "a"


def test_a_time_in_the_future_is_never_old() -> None:
    """After the clock went back, nothing goes early."""
    blobs = [blob("a", days=-40), blob("b", days=0)]
    limits = Limits(max_age_s=86_400, max_bytes=0, grace_s=3_600)

    chosen, done = choose(blobs, Holds(), limits, NOW - 5 * DAY)

    assert chosen == []
    assert (done.held_bytes, done.shortfall_bytes) == ({"recent": 200}, 200)


@pytest.mark.row("S3-69")
def test_garbage_is_what_nothing_mentions_pins_or_used_just_now() -> None:
    """A soft pin holds as well as a hard one."""
    blobs = [blob("a"), blob("b"), blob("c"), blob("d"), blob("e", days=0.01)]

    assert names(blobs, Holds({"b": "soft", "c": "hard"}, {"d"}), GARBAGE) == "a"


@thorough
@given(
    facts=st.lists(
        st.tuples(
            st.integers(0, 300),
            st.floats(0, 60),
            st.sampled_from(["none", "soft", "hard"]),
            st.booleans(),
        ),
        max_size=30,
    ),
    max_days=st.none() | st.integers(0, 40),
    max_bytes=st.none() | st.integers(0, 4_000),
)
def test_the_promises_hold_for_every_store(
    facts: list[tuple[int, float, str, bool]], max_days: int | None, max_bytes: int | None
) -> None:
    """Nothing held goes, no soft pin while an unpinned one could, and the shortfall is exact."""
    blobs = [blob(f"{n:02}", size, days) for n, (size, days, _, _) in enumerate(facts)]
    levels = {f"{n:02}": level for n, (_, _, level, _) in enumerate(facts)}
    mentioned = {f"{n:02}" for n, fact in enumerate(facts) if fact[3]}
    limits = Limits(None if max_days is None else max_days * 86_400, max_bytes)

    chosen, done = choose(blobs, Holds(levels, mentioned), limits, NOW)

    gone = {one.digest for one in chosen}
    assert len(gone) == len(chosen)
    assert not gone & mentioned
    assert "hard" not in {levels[name] for name in gone}
    if "soft" in {levels[name] for name in gone}:
        assert {name for name, level in levels.items() if level == "none"} - mentioned <= gone
    left = sum(one.disk_bytes for one in blobs if one.digest not in gone)
    if max_bytes is not None:
        assert done.shortfall_bytes == max(0, left - max_bytes)


@pytest.mark.row("S3-69")
def test_what_goes_leaves_nothing_but_a_line_in_the_trail(home_dir: str, projects: Path) -> None:
    """Also without the folder for temporary files; a folder among the blobs is no blob."""
    key = stored(home_dir, text(1), LONG_AGO)
    os.rmdir(home_dir + layout.TMP)
    os.mkdir(layout.file(home_dir, key[7:9] + "0" * 62))

    assert prune(home_dir, GARBAGE, Pass()).keys == [key]
    assert shelves.keys(home_dir) == set()
    assert list(contents.beside(home_dir)) == []
    assert shelves.temporary_files(home_dir) == []
    last = list(contents.trail(home_dir))[-1]
    assert (last["event"], last["key"]) == ("prune", key)


@pytest.mark.row("S3-69")
@pytest.mark.parametrize("place", ["result", "compacted", "subagent", "backup", "own copy", "text"])
def test_a_mentioned_blob_survives_wherever_it_is_mentioned(
    home_dir: str, projects: Path, place: str
) -> None:
    """In results, before a compaction, in a subagent's file, in a backup, in user text."""
    key = stored(home_dir, text(1), LONG_AGO)
    lost = stored(home_dir, text(2), LONG_AGO)
    files = {
        "subagent": "project/0000/subagents/agent-1.jsonl",
        "backup": "project/0000.jsonl.backup.20260108_154903",
    }
    session = SessionBuilder(str(projects / files.get(place, "project/0000.jsonl")))
    if place == "text":
        session.prompt(f"look at {key}, please")
    elif place == "own copy":
        session.row("user", toolUseResult={"file": {"content": f"[x: {key}]"}})
    else:
        session.tool_result(session.tool_call(1_000), f"[brimline stored 4000 bytes: {key}]")
    if place == "compacted":
        session.compact(150_000)

    assert prune(home_dir, GARBAGE, Pass()).keys == [lost]
    assert contents.get(home_dir, key) == text(1)


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

    prune(home_dir, GARBAGE, Pass())

    assert shelves.keys(home_dir) == ({key} if holds else set())


def test_what_may_mention_a_key_and_cannot_be_read_keeps_everything(
    home_dir: str, projects: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A transcript, or the folder of another client that used this store."""
    key = stored(home_dir, text(1), LONG_AGO)
    SessionBuilder(str(projects / "p/s.jsonl")).prompt("hello")

    with monkeypatch.context() as patch:
        patch.setattr(layout, "open_file", lambda *_, **__: shelves.read_only())
        with pytest.raises(StoreError, match="nothing was removed: what may mention a key cannot"):
            prune(home_dir, GARBAGE, Pass())
    with open(home_dir + layout.CLIENTS, "a", encoding="utf-8") as file:
        file.write("/nowhere/.claude\n")
    with pytest.raises(StoreError, match=r"/nowhere/\.claude: not there"):
        prune(home_dir, GARBAGE, Pass())
    assert shelves.keys(home_dir) == {key}


def test_another_client_that_used_the_store_is_asked_too(
    home_dir: str, world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One data folder may serve two configuration folders."""
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(world / "other"))
    key = stored(home_dir, text(1), LONG_AGO)
    SessionBuilder(str(world / "other/projects/p/s.jsonl")).prompt(f"see {key}")
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(world / "home/.claude"))

    assert prune(home_dir, GARBAGE, Pass()).keys == []


def test_linked_project_folders_are_followed_once(
    home_dir: str, projects: Path, world: Path
) -> None:
    """Also where links go round in circles."""
    key = stored(home_dir, text(1), LONG_AGO)
    SessionBuilder(str(world / "away/s.jsonl")).prompt(f"see {key}")
    (projects / "linked").symlink_to(world / "away")
    (world / "away/back").symlink_to(projects)
    (projects / "dangling").symlink_to(world / "nowhere")

    assert prune(home_dir, GARBAGE, Pass()).keys == []
    assert len(list(retention.sources(home_dir, []))) == 1


@pytest.mark.row("S3-68")
def test_pruning_by_size_counts_compressed_bytes(home_dir: str) -> None:
    """What is left fits the limit on the disk, not the limit on content."""
    for number in range(6):
        stored(home_dir, noise(number, 50_000), 10_000 - number)
    stored(home_dir, text(9, 900_000), 20_000)
    total = sum(one.disk_bytes for one in contents.blobs(home_dir))

    done = prune(home_dir, Limits(max_bytes=200_000), Pass())

    left = sum(one.disk_bytes for one in contents.blobs(home_dir))
    assert total < 400_000
    assert 150_000 < left <= 200_000
    assert (done.left_bytes, done.freed_bytes) == (left, total - left)


@pytest.mark.row("S3-64", "S3-68")
def test_pruning_reports_what_it_may_not_remove(home_dir: str, projects: Path) -> None:
    """Referenced and hard-pinned blobs stay, and the shortfall is told."""
    mentioned, pinned, soft, free = [stored(home_dir, noise(n, 2_000), DAY_S) for n in range(4)]
    SessionBuilder(str(projects / "p/s.jsonl")).prompt(mentioned[:19])
    pins.pin(home_dir, pinned, "hard")
    pins.pin(home_dir, soft, "soft")

    done = prune(home_dir, Limits(max_bytes=0), Pass())

    assert done.keys == [free, soft]
    assert shelves.keys(home_dir) == {mentioned, pinned}
    assert done.shortfall_bytes == done.left_bytes == 4_026
    assert done.held_bytes == {"referenced": 2_013, "hard": 2_013}
    assert set(pins.pinned(home_dir)) == {pinned[7:]}

    forced = prune(home_dir, Limits(max_bytes=0), Pass(), forced=[mentioned[7:]])

    assert forced.keys == [mentioned]
    assert shelves.keys(home_dir) == {pinned}


@pytest.mark.row("S3-70")
def test_a_dry_run_says_the_same_and_changes_nothing(home_dir: str, projects: Path) -> None:
    """Not a byte, not a time, not what is remembered of transcripts."""
    keys = [stored(home_dir, noise(n, 2_000), LONG_AGO - n) for n in range(5)]
    session = SessionBuilder(str(projects / "p/s.jsonl"))
    session.prompt(keys[0])
    os.utime(session.path, (1_000, 1_000))
    pins.pin(home_dir, keys[1], "hard", "why")
    pins.pin(home_dir, keys[2], "soft")
    before = shelves.snapshot(home_dir, str(projects))
    limits = Limits(35 * DAY_S, 5_000)

    would = prune(home_dir, limits, Pass(dry_run=True))
    garbage = prune(home_dir, GARBAGE, Pass(dry_run=True))

    assert shelves.snapshot(home_dir, str(projects)) == before
    assert prune(home_dir, limits, Pass()) == would
    assert set(garbage.keys) == set(keys[3:])


def test_what_comes_into_use_before_its_turn_stays(
    home_dir: str, projects: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stored again, or pinned, while the search for references goes on."""
    used, pinned, garbage = [stored(home_dir, text(n), LONG_AGO) for n in range(3)]
    SessionBuilder(str(projects / "p/s.jsonl")).prompt("hello")

    def meanwhile(_: int) -> None:
        put.put(home_dir, text(0), {})
        pins.pin(home_dir, pinned, "hard")

    done = prune(home_dir, GARBAGE, Pass(progress=meanwhile))

    assert done.keys == [garbage]
    assert done.came_into_use == 2
    assert shelves.keys(home_dir) == {used, pinned}
    assert contents.meta(home_dir, used)["bytes"] == 4_000
    assert pins.level_of(home_dir, pinned[7:]) == "hard"


def test_leftovers_are_swept_once_they_are_old(home_dir: str) -> None:
    """Unfinished writes and lone sidecars go, blobs left aside come back."""
    key = stored(home_dir, text(1))
    lone = stored(home_dir, text(2))
    os.unlink(layout.file(home_dir, lone[7:]))
    unfinished = Path(home_dir + layout.TMP, "1.2.tmp")
    unfinished.write_bytes(b"half")
    aside = Path(home_dir + layout.TMP, f"{key[7:]}.blob.1.2.gone")
    os.rename(layout.file(home_dir, key[7:]), aside)

    assert prune(home_dir, Limits(), Pass()).swept == 1
    assert contents.get(home_dir, key) == text(1)
    assert prune(home_dir, Limits(), Pass(), now=time.time() + 2 * retention.GRACE_S).swept == 2
    assert shelves.temporary_files(home_dir) == []
    assert [digest for digest, _ in contents.beside(home_dir)] == [key[7:]]


@pytest.mark.row("S3-67", "S3-68")
def test_the_limits_are_enforced_at_most_once_a_day(home_dir: str) -> None:
    """By age first, then by size; what was used within the hour stays."""
    old = stored(home_dir, noise(1, 1_000), 31 * DAY_S)
    large = stored(home_dir, noise(2, 900_000), 2 * DAY_S)
    small = stored(home_dir, noise(3, 150_000), DAY_S)
    fresh = stored(home_dir, noise(4, 800_000))
    now = time.time()

    done = tidied(home_dir, max_mb=1, now=now)

    assert done is not None
    assert done.keys == [old, large]
    assert shelves.keys(home_dir) == {small, fresh}
    assert tidied(home_dir, now=now + 86_000) is None
    assert tidied(home_dir, now=now + 86_500) is not None


def test_without_a_store_nothing_happens(home_dir: str) -> None:
    """No folder is made for it."""
    assert tidied(home_dir) is None
    assert not os.path.exists(home_dir)


@pytest.mark.parametrize("marker", ["", "soon", "9999999999", "nan", "-5"])
def test_a_marker_that_makes_no_sense_does_not_stop_it(home_dir: str, marker: str) -> None:
    """Damaged, or from a clock that was wrong."""
    stored(home_dir, text(1))
    Path(layout.root(home_dir), "tidied").write_text(marker)

    assert tidied(home_dir) is not None


def test_a_clock_that_goes_back_deletes_nothing_early(home_dir: str) -> None:
    """Neither while it is wrong nor once it is right again."""
    now = time.time()
    before = stored(home_dir, text(1))
    tidied(home_dir, now=now)
    # The clock is set back by forty days: what is written now must not look that old later.
    assert tidied(home_dir, now=now - 40 * DAY_S) is not None
    ahead = int((now + 3) * 1e9)
    os.utime(home_dir + layout.LAST_KEY, ns=(ahead, ahead))
    meanwhile = put.put(home_dir, text(2), {})
    tidied(home_dir, now=now + 29 * DAY_S)

    assert shelves.keys(home_dir) == {before, meanwhile}
    tidied(home_dir, now=now + 31 * DAY_S)
    assert shelves.keys(home_dir) == set()


def test_a_pass_that_runs_out_of_time_goes_on_the_same_day(home_dir: str, projects: Path) -> None:
    """Nothing is removed on half a search, and the next session continues."""
    key = stored(home_dir, text(1), 40 * DAY_S)
    SessionBuilder(str(projects / "p/s.jsonl")).prompt("hello")

    unfinished = tidied(home_dir, until=0.0)
    assert unfinished is not None
    assert not unfinished.finished
    assert shelves.keys(home_dir) == {key}

    finished = tidied(home_dir)
    assert finished is not None
    assert finished.keys == [key]


def test_a_large_trail_is_put_away(home_dir: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that has grown for years; what it says is still known."""
    key = stored(home_dir, text(1), session="s1")
    monkeypatch.setattr(retention, "_ROTATE_AT_BYTES", 10)

    tidied(home_dir)

    assert not os.path.exists(home_dir + layout.INDEX)
    assert list(contents.sessions_of_keys(home_dir)) == [key]
