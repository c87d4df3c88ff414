"""Age, size and references: what goes, in which order, and what never goes."""

from __future__ import annotations

import json
import math
import os
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brimline.bulk import contents, hook, layout, pins, put, retention
from brimline.bulk.contents import Blob
from brimline.bulk.retention import _ROTATE_AT_BYTES, Holds, Limits, Pass, choose_removals, prune
from brimline.compaction.stand_ins import StandIn
from brimline.errors import StoreError
from brimline.fast import paths
from brimline.gateway.stickiness import Sent, Stickiness
from brimline.rooms import values_in_all_traces
from brimline.testing import SessionBuilder

from . import shelves
from .shelves import DAY_S, golden, noise, stored, text

NOW = 2_000_000_000 * 10**9
DAY = 86_400 * 10**9
LONG_AGO = 40 * DAY_S
GARBAGE = Limits(grace_s=retention.GRACE_S, unreferenced=True)
DIGEST = "0123456789abcdef" * 4


@pytest.fixture
def projects(world: Path) -> Path:
    """The client's folder of projects."""
    folder = Path(paths.client_config_dir()) / "projects"
    folder.mkdir(parents=True)
    return folder


def blob(name: str, size: int = 100, days: float = 1) -> Blob:
    """A blob that was last used so many days ago."""
    return Blob(name, size, NOW - int(days * DAY))


def tidied(home_dir: str, **options: Any) -> retention.Outcome | None:
    """Enforce the limits, with all the time in the world."""
    usual = {"max_mb": 500, "max_age_days": 30, "until": math.inf}
    return retention.tidy(home_dir, traces=values_in_all_traces, **(usual | options))


def mentioning(content: bytes, name: str = "a.jsonl") -> str:
    """A transcript that was written a while ago."""
    path = Path(paths.client_config_dir(), "projects/p", name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    os.utime(path, (1_000_000, 1_000_000))
    return str(path)


def held(home_dir: str, *digests: str) -> set[str] | None:
    """Which digests a look through everything finds mentioned."""
    return retention.digests_mentioned_anywhere(
        home_dir, [DIGEST, "f" * 64, *digests], Pass(values_in_all_traces)
    )


@pytest.mark.row("S3-62", "S3-63", "S3-64", "S3-67", "S3-68", "S3-69")
@pytest.mark.parametrize("row", golden("choices.json"), ids=lambda row: row["why"])
def test_what_goes_goes_in_its_order(row: dict[str, Any]) -> None:
    """By age, for want of a reference, by size; pins, mentions, clocks that err."""
    told = [one.split() for one in row["blobs"].split("|")]
    blobs = [blob(name, int(size), float(days)) for name, size, days in told]
    holds = Holds(row["levels"], set(row["references"]))

    chosen, done = choose_removals(
        blobs, holds, Limits(**row["limits"]), NOW + row["now_days"] * DAY
    )

    assert "".join(one.digest for one in chosen) == row["wanted"]
    assert done.shortfall_bytes == row["shortfall"]


@pytest.mark.parametrize(
    ("limits", "staying"),
    [
        (Limits(max_age_s=DAY_S), [0, 1]),
        (Limits(max_bytes=0, grace_s=DAY_S), [0]),
        (Limits(max_bytes=200), [0, 1]),
        (Limits(max_bytes=199), [0]),
    ],
    ids=["as old as may be", "used just so long ago", "as much as may be", "a byte less"],
)
def test_a_limit_that_is_met_exactly_is_met(limits: Limits, staying: list[int]) -> None:
    """What was used a moment before a day ago, at that moment, and a moment after."""
    blobs = [Blob(f"{n}", 100, NOW - DAY + moment) for n, moment in enumerate((1, 0, -1))]

    chosen, _ = choose_removals(blobs, Holds(), limits, NOW)

    assert [one for one in blobs if one not in chosen] == [blobs[n] for n in staying]


def test_what_was_freed_and_what_is_left_add_up(home_dir: str) -> None:
    """In bytes on the disk; where nothing goes, nothing is freed."""
    old, _ = stored(home_dir, noise(1, 2_000), LONG_AGO), stored(home_dir, noise(2, 3_000))
    sizes = {one.key: one.disk_bytes for one in contents.list_blobs(home_dir)}

    done = prune(home_dir, GARBAGE, Pass(values_in_all_traces))
    again = prune(home_dir, GARBAGE, Pass(values_in_all_traces))

    assert (done.freed_bytes, done.left_bytes) == (sizes[old], sum(sizes.values()) - sizes[old])
    assert (again.freed_bytes, again.left_bytes) == (0, done.left_bytes)


LEVELS = st.sampled_from(["none", "soft", "hard"])


@given(
    facts=st.lists(st.tuples(st.integers(0, 300), st.floats(0, 60), LEVELS, st.booleans())),
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

    chosen, done = choose_removals(blobs, Holds(levels, mentioned), limits, NOW)

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
@pytest.mark.parametrize(
    ("place", "holds"),
    [
        ("P/p/0000.jsonl", True),
        ("P/p/0000/subagents/agent-1.jsonl", True),
        ("P/p/0000.jsonl.backup.20260108_154903", True),
        ("H/sessions/s1/checkpoint.json", True),
        ("H/carry/card.md", True),
        ("H/sessions/s1/spool.jsonl", False),
        ("H/policy/x.json", False),
    ],
)
def test_a_mentioned_blob_survives_wherever_a_promise_mentions_it(
    home_dir: str, projects: Path, place: str, *, holds: bool
) -> None:
    """Sessions, those of subagents, backups, ledgers; records of what happened do not count."""
    key = stored(home_dir, text(1), LONG_AGO)
    file = Path(place.replace("P", str(projects)).replace("H", home_dir))
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"said": f"[brimline stored 4000 bytes: {key}]"}))

    prune(home_dir, GARBAGE, Pass(values_in_all_traces))

    assert shelves.keys(home_dir) == ({key} if holds else set())


@pytest.mark.row("S3-69")
def test_what_the_gateway_sends_a_key_of_stays(home_dir: str, projects: Path) -> None:
    """For as long as it may send it; a dry run leaves its file alone."""
    now = time.time()
    keys = [stored(home_dir, text(number), LONG_AGO) for number in range(3)]
    sticky = Stickiness(home_dir, now)
    for key, at in zip(keys, (now, now - LONG_AGO), strict=False):
        stands = {key: StandIn(1, {"text": "x" * 9_000}, key, 1.0)}
        sticky.record_request("session/", Sent(key, 1, "p", None, at), stands)
    for is_running in (True, False):
        before = sorted(os.listdir(f"{home_dir}/gateway"))
        found = prune(home_dir, GARBAGE, Pass(values_in_all_traces, dry_run=True))
        assert set(found.keys) == set(keys[1:])
        assert sorted(os.listdir(f"{home_dir}/gateway")) == before
        if is_running:
            sticky.close()
    Path(paths.stand_ins_database(home_dir)).write_bytes(b"no database" * 99)

    with pytest.raises(StoreError, match="nothing was removed"):
        prune(home_dir, GARBAGE, Pass(values_in_all_traces))


@pytest.mark.row("S3-69")
def test_a_key_is_found_however_it_is_written(home_dir: str) -> None:
    """Shortened, in capitals, escaped, across blocks; digits that say nothing else are no key."""
    for row in golden("mentions.json"):
        mentioning(row["written"].encode())
        assert held(home_dir) == ({DIGEST} if row["found"] else set()), row
        Path(home_dir + layout.REFERENCES).unlink()
    for at in (-72, -55, -7, -1, 0, 1):
        mentioning(b"\xff" * (retention._BLOCK_BYTES + at) + f"sha256:{DIGEST}yy".encode())
        assert held(home_dir) == {DIGEST}, at
        Path(home_dir + layout.REFERENCES).unlink()


def test_an_unchanged_file_is_not_read_again(home_dir: str) -> None:
    """Size and time tell; what changed just now may change again, what is gone is forgotten."""
    path, memory = mentioning(f"sha256:{DIGEST}".encode()), Path(home_dir + layout.REFERENCES)
    other = mentioning(b"nothing", "other.jsonl")
    os.utime(path)
    assert held(home_dir) == {DIGEST}
    assert list(json.loads(memory.read_text())["files"]) == [other]
    os.utime(path, (1_000_000, 1_000_000))
    assert held(home_dir) == {DIGEST}
    Path(path).write_bytes(b"-" * 71)
    os.utime(path, (1_000_000, 1_000_000))
    before = memory.read_bytes()

    assert held(home_dir) == {DIGEST}
    assert (
        retention.digests_mentioned_anywhere(
            home_dir, [DIGEST], Pass(values_in_all_traces, until=0.0)
        )
        is None
    )
    assert memory.read_bytes() == before
    os.utime(path, (1_000_001, 1_000_001))
    os.unlink(other)
    assert held(home_dir) == set()
    assert list(json.loads(memory.read_text())["files"]) == [path]


def test_a_damaged_or_older_memory_is_as_good_as_none(home_dir: str) -> None:
    """It costs time, nothing else; first digits hold every blob that has them."""
    path = mentioning(f"sha256:{DIGEST[:11]} sha256:abcdef00".encode())
    memory, other = Path(home_dir + layout.REFERENCES), DIGEST[:11] + "0" * 53
    memory.parent.mkdir(parents=True)
    for content in (
        "{",
        "[]",
        '{"v":2}',
        '{"v":1,"files":{}}',
        f'{{"v":2,"files":{{"{path}":3}}}}',
    ):
        memory.write_text(content)

        assert held(home_dir, "0" * 64, other) == {DIGEST, other}


def test_what_may_mention_a_key_and_cannot_be_read_keeps_everything(
    home_dir: str, projects: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A transcript, or the folder of another client that used this store."""
    key = stored(home_dir, text(1), LONG_AGO)
    SessionBuilder(str(projects / "p/s.jsonl")).prompt("hello")

    with monkeypatch.context() as patch:
        patch.setattr(layout, "open_regular_file", lambda *_, **__: shelves.read_only())
        with pytest.raises(StoreError, match="nothing was removed: what may mention a key cannot"):
            prune(home_dir, GARBAGE, Pass(values_in_all_traces))
    with open(home_dir + layout.CLIENTS, "a", encoding="utf-8") as file:
        file.write("/nowhere/.claude\n")
    with pytest.raises(StoreError, match=r"/nowhere/\.claude: not there"):
        prune(home_dir, GARBAGE, Pass(values_in_all_traces))
    assert shelves.keys(home_dir) == {key}


@pytest.mark.parametrize(("count", "more"), [(1, ""), (2, " (and 1 more)"), (3, " (and 2 more)")])
def test_of_files_that_cannot_be_read_one_is_named_and_the_others_are_counted(
    home_dir: str, projects: Path, monkeypatch: pytest.MonkeyPatch, count: int, more: str
) -> None:
    """With the reason that the system gives."""
    stored(home_dir, text(1), LONG_AGO)
    for number in range(count):
        SessionBuilder(str(projects / f"p/{number}.jsonl")).prompt("hello")
    monkeypatch.setattr(layout, "open_regular_file", lambda *_, **__: shelves.read_only())

    with pytest.raises(StoreError) as told:
        prune(home_dir, GARBAGE, Pass(values_in_all_traces))

    named, _, reason = str(told.value).partition(".jsonl: ")
    assert named.startswith("nothing was removed: what may mention a key cannot be read: /")
    assert reason == f"Read-only file system{more}"


def test_what_somebody_else_removed_meanwhile_is_not_counted_as_removed(
    home_dir: str, projects: Path
) -> None:
    """Between the list of blobs and their turn, a search through all sessions takes its time."""
    first, second = [stored(home_dir, noise(n, 2_000), LONG_AGO) for n in range(2)]
    SessionBuilder(str(projects / "p/s.jsonl")).prompt("hello")
    blob = layout.stored_path(home_dir, layout.digest_of_key(first))

    done = prune(home_dir, GARBAGE, Pass(values_in_all_traces, progress=lambda _: os.unlink(blob)))

    assert done.keys == [second]
    assert shelves.keys(home_dir) == set()


def test_housekeeping_notes_the_client_that_it_is_done_for(
    home_dir: str, world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its sessions may mention keys though it has stored nothing yet."""
    stored(home_dir, text(1))
    usual = paths.client_config_dir()
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(world / "other"))

    tidied(home_dir)

    monkeypatch.setenv("CLAUDE_CONFIG_DIR", usual)
    assert put.client_folders_using_store(home_dir) == [usual, str(world / "other")]


def test_every_client_is_asked_and_links_are_followed_once(
    home_dir: str, projects: Path, world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One data folder may serve two configuration folders; links may go round in circles."""
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(world / "other"))
    keys = [stored(home_dir, text(number), LONG_AGO) for number in (1, 2)]
    SessionBuilder(str(world / "other/projects/p/s.jsonl")).prompt(f"see {keys[0]}")
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(projects.parent))
    SessionBuilder(str(world / "away/s.jsonl")).prompt(f"see {keys[1]}")
    (projects / "linked").symlink_to(world / "away")
    (world / "away/back").symlink_to(projects)
    (projects / "dangling").symlink_to(world / "nowhere")

    assert prune(home_dir, GARBAGE, Pass(values_in_all_traces)).keys == []
    assert len(list(retention.files_that_may_mention_keys(home_dir, values_in_all_traces, []))) == 2


@pytest.mark.row("S3-64", "S3-68", "S3-70")
def test_pruning_by_size_reports_what_it_may_not_remove_and_a_dry_run_says_the_same(
    home_dir: str, projects: Path
) -> None:
    """Compressed bytes count; a dry run changes not a byte, not a time, not what is remembered."""
    mentioned, pinned, soft, free = [stored(home_dir, noise(n, 2_000), LONG_AGO) for n in range(4)]
    shrunk = stored(home_dir, text(9, 900_000), LONG_AGO)
    session = SessionBuilder(str(projects / "p/s.jsonl"))
    session.prompt(mentioned[:19])
    os.utime(session.path, (1_000, 1_000))
    pins.pin(home_dir, pinned, "hard")
    pins.pin(home_dir, soft, "soft")
    before = shelves.snapshot(home_dir, str(projects))

    would = prune(home_dir, Limits(max_bytes=0), Pass(values_in_all_traces, dry_run=True))
    garbage = prune(home_dir, GARBAGE, Pass(values_in_all_traces, dry_run=True))
    assert shelves.snapshot(home_dir, str(projects)) == before
    done = prune(home_dir, Limits(max_bytes=0), Pass(values_in_all_traces))

    assert done == would
    assert set(garbage.keys) == {shrunk, free}
    assert set(done.keys[:2]) == {shrunk, free}
    assert done.keys[2:] == [soft]
    assert shelves.keys(home_dir) == {mentioned, pinned}
    assert done.shortfall_bytes == done.left_bytes == 4_026
    assert 4_026 < done.freed_bytes < 400_000
    assert set(pins.all_pins(home_dir)) == {pinned[7:]}


def test_what_comes_into_use_before_its_turn_stays(home_dir: str, projects: Path) -> None:
    """Stored again, or pinned, while the search for references goes on."""
    used, pinned, garbage = [stored(home_dir, text(n), LONG_AGO) for n in range(3)]
    SessionBuilder(str(projects / "p/s.jsonl")).prompt("hello")

    def meanwhile(_: int) -> None:
        put.put(home_dir, text(0), {})
        pins.pin(home_dir, pinned, "hard")

    done = prune(home_dir, GARBAGE, Pass(values_in_all_traces, progress=meanwhile))

    assert done.keys == [garbage]
    assert shelves.keys(home_dir) == {used, pinned}
    assert contents.read_sidecar(home_dir, used)["bytes"] == 4_000
    assert pins.pin_level_of(home_dir, pinned[7:]) == "hard"


@pytest.mark.row("S3-69")
def test_what_goes_leaves_nothing_but_a_line_in_the_trail(home_dir: str, projects: Path) -> None:
    """Unfinished writes and lone sidecars go once they are old, blobs left aside come back."""
    key = stored(home_dir, text(1))
    lone = stored(home_dir, text(2))
    os.unlink(layout.stored_path(home_dir, lone[7:]))
    Path(home_dir + layout.TMP, "1.2.tmp").write_bytes(b"half")
    aside = Path(home_dir + layout.TMP, f"{key[7:]}.blob.1.2.gone")
    os.rename(layout.stored_path(home_dir, key[7:]), aside)

    assert prune(home_dir, Limits(), Pass(values_in_all_traces)).swept == 1
    assert contents.read_content(home_dir, key) == text(1)
    assert (
        prune(
            home_dir, Limits(), Pass(values_in_all_traces), now=time.time() + 2 * retention.GRACE_S
        ).swept
        == 2
    )
    assert shelves.temporary_files(home_dir) == []
    assert [digest for digest, _ in contents.digest_kind_pairs_in_meta(home_dir)] == [key[7:]]
    shelves.age(home_dir, key, LONG_AGO)
    os.rmdir(home_dir + layout.TMP)
    os.mkdir(layout.stored_path(home_dir, key[7:9] + "0" * 62))  # which is no blob
    assert prune(home_dir, GARBAGE, Pass(values_in_all_traces)).keys == [key]
    assert (shelves.keys(home_dir), list(contents.digest_kind_pairs_in_meta(home_dir))) == (
        set(),
        [],
    )
    last = list(contents.read_store_events(home_dir))[-1]
    assert (last["event"], last["key"]) == ("prune", key)


@pytest.mark.row("S3-67", "S3-68")
def test_the_limits_are_enforced_at_most_once_a_day(
    home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By age, then by size; what was used within the hour stays; a large trail is put away."""
    settings = {"store.max_mb": 1, "store.max_age_days": 30}
    turn: Any = SimpleNamespace(home=home_dir, values=settings, traces=values_in_all_traces)
    hook.tidy(turn, math.inf)
    assert not os.path.exists(home_dir)
    old = stored(home_dir, noise(1, 1_000), 31 * DAY_S)
    large = stored(home_dir, noise(2, 900_000), 2 * DAY_S)
    small = stored(home_dir, noise(3, 150_000), DAY_S, session="s1")
    fresh = stored(home_dir, noise(4, 800_000))
    monkeypatch.setattr(retention, "_ROTATE_AT_BYTES", 10)
    now = time.time()

    done = tidied(home_dir, max_mb=1, now=now)

    assert done is not None
    assert done.keys == [old, large]
    assert shelves.keys(home_dir) == {small, fresh}
    assert not os.path.exists(home_dir + layout.INDEX)
    assert list(contents.puts_by_key_and_session(home_dir)) == [small]
    assert tidied(home_dir, now=now + 86_000) is None
    assert tidied(home_dir, now=now + 86_500) is not None
    for marker in ("", "soon", "9999999999", "nan", "-5"):
        Path(layout.store_folder(home_dir), "tidied").write_text(marker)
        assert tidied(home_dir) is not None


def test_a_pass_that_runs_out_of_time_goes_on_the_same_day(home_dir: str, projects: Path) -> None:
    """Nothing is removed on half a search, and the next session continues."""
    key = stored(home_dir, text(1), LONG_AGO)
    SessionBuilder(str(projects / "p/s.jsonl")).prompt("hello")

    done = [tidied(home_dir, until=0.0), tidied(home_dir)]

    assert [one and (one.finished, one.keys) for one in done] == [(False, []), (True, [key])]


@pytest.mark.parametrize(
    ("size", "is_put_away"), [(_ROTATE_AT_BYTES, False), (_ROTATE_AT_BYTES + 1, True)]
)
def test_the_trail_is_put_away_beyond_32_mb(home_dir: str, size: int, is_put_away: bool) -> None:
    """When the limits are enforced."""
    stored(home_dir, text(1))
    os.truncate(home_dir + layout.INDEX, size)

    assert retention.tidy(home_dir, 500, 30, values_in_all_traces, until=math.inf) is not None

    assert os.path.exists(home_dir + layout.INDEX + ".old") is is_put_away


@pytest.mark.parametrize(
    ("mb", "days", "goes"), [(0.000_001, 30, True), (500, 30, False), (500, 0.5, True)]
)
def test_limits_of_housekeeping_are_megabytes_and_days(
    home_dir: str, mb: float, days: float, goes: bool
) -> None:
    """Whichever is reached first."""
    key = stored(home_dir, noise(1, 900), DAY_S)

    done = retention.tidy(home_dir, mb, days, values_in_all_traces, until=math.inf)

    assert done is not None
    assert done.keys == ([key] if goes else [])


def test_what_a_prune_leaves_out_is_none_of_its_figures() -> None:
    """It begins with nothing, and is finished unless told otherwise."""
    done = retention.Outcome()

    figures = (done.freed_bytes, done.left_bytes, done.shortfall_bytes, done.swept)
    assert (figures, done.finished) == ((0, 0, 0, 0), True)
    with pytest.raises(AttributeError):
        done.freed = 5  # type: ignore[attr-defined]
