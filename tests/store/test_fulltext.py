"""Full text: finds what is stored, forgets what is not, and makes its index anew at any time."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from brimline import fastio
from brimline.store import (
    forget,
    fulltext,
    layout,
    plan,
    prune,
    put,
    read,
    searchfile,
    searchindex,
)

from . import shelves
from .shelves import stored, text

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = "/home/dev/my projéct"
SEARCHES = """
import sys
from brimline.store import fulltext
home, rounds, budget = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
for _ in range(rounds):
    found = fulltext.search(home, "needle", lambda cwd: True, budget_s=budget)
    print(len(found.keys), found.pending, flush=True)
"""
KILLED = """
import os, sys
from brimline.store import fulltext, searchindex
calls = []
def encodable(text):
    calls.append(text)
    if len(calls) > 6:
        os.kill(os.getpid(), 9)
    return text
searchindex._encodable = encodable
fulltext.search(sys.argv[1], "needle", lambda cwd: True)
"""


def found(home_dir: str, query: str, **options: Any) -> fulltext.Found:
    """A search through everything that was made in one place."""
    return fulltext.search(home_dir, query, lambda cwd: cwd == HERE, **options)


def put_here(home_dir: str, content: str, **meta: Any) -> str:
    """Store an output that was made in that place."""
    return stored(home_dir, content.encode(), cwd=HERE, **meta)


def traces(home_dir: str, word: str) -> list[str]:
    """The files of the store that hold a word, in any case."""
    files = [path for path in Path(layout.root(home_dir)).rglob("*") if path.is_file()]
    return [path.name for path in files if word.encode() in path.read_bytes().lower()]


@pytest.fixture(params=["index", "no index"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """With the index, and with an SQLite that has no FTS5."""
    if request.param == "no index":
        monkeypatch.setattr(searchindex, "_SCHEMA", "CREATE VIRTUAL TABLE words USING fts99(a)")
    return str(request.param)


@pytest.fixture
def processes() -> Iterator[list[subprocess.Popen[bytes]]]:
    """Processes that do not outlive the test."""
    started: list[subprocess.Popen[bytes]] = []
    yield started
    for process in started:
        process.kill()
        process.communicate()


def start(script: str, *arguments: str) -> subprocess.Popen[bytes]:
    """Run a script with this package."""
    return subprocess.Popen(
        [sys.executable, "-c", script, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def test_nothing_stored_is_nothing_found(home_dir: str) -> None:
    """And nothing is created for it."""
    assert found(home_dir, "word") == fulltext.Found()
    assert not os.path.exists(home_dir)


@pytest.mark.parametrize(
    ("query", "fits"),
    [
        ("timeout", True),
        ("TIMEOUT worker", True),
        ("time", True),
        ("imeou", True),
        ("cafe", True),
        ("東京", True),
        ("京都", True),
        ("foo_bar.py:12", True),
        ('"worker 7"', True),
        ("->", True),
        ('"7 worker"', False),
        ("absent", False),
        ("NEAR(timeout, x) OR * ^ col:", False),
    ],
)
def test_words_beginnings_parts_and_phrases_are_found(
    home_dir: str, way: str, query: str, fits: bool
) -> None:
    """In any script, whatever the query's characters mean to the database."""
    content = "\x1b[31mTimeout\x1b[0m in worker 7 -> foo_bar.py:12\ncafé 東京都庁\n"
    key = put_here(home_dir, content)
    put_here(home_dir, "something else\n")

    answer = found(home_dir, query)

    assert ([key] if fits else []) == (answer.keys if answer.how != "some" else [])
    assert answer.outputs == 2


def test_the_command_is_found_too(home_dir: str) -> None:
    """An output that does not name its own command is found by it."""
    key = put_here(home_dir, "all is well\n", source="make coverage")

    assert found(home_dir, "coverage").keys == [key]


def test_outputs_of_other_places_are_not_searched(home_dir: str, way: str) -> None:
    """Nor counted, and neither is one of which the place is unknown."""
    mine = put_here(home_dir, "needle one")
    stored(home_dir, b"needle two", cwd="/elsewhere")
    lost = stored(home_dir, b"needle three", cwd=HERE)
    os.unlink(layout.sidecar(home_dir, lost[7:]))

    answer = found(home_dir, "needle")

    assert (answer.keys, answer.outputs) == ([mine], 1)


def test_where_no_output_holds_all_words_some_will_do(home_dir: str) -> None:
    """And it is said."""
    key = put_here(home_dir, "only one of them\n")

    answer = found(home_dir, "one absent")

    assert (answer.keys, answer.how) == ([key], "some")


def test_parts_of_words_are_said_to_be(home_dir: str) -> None:
    """They are looked for only where no whole word fits."""
    key = put_here(home_dir, "myTimeoutError\n")

    answer = found(home_dir, "timeout")

    assert (answer.keys, answer.how) == ([key], "inside")


def test_the_better_hit_comes_first(home_dir: str) -> None:
    """More of the word in less text."""
    dilute = put_here(home_dir, "needle " + "hay " * 500)
    dense = put_here(home_dir, "needle needle needle")

    assert found(home_dir, "needle").keys == [dense, dilute]


def test_what_cannot_be_searched_is_counted(
    home_dir: str, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Binary, damaged, too large, and the end of what is large."""
    monkeypatch.setattr(fulltext, "HEAD_BYTES", 1_000)
    monkeypatch.setattr(fulltext, "LARGEST_BYTES", 5_000)
    put_here(home_dir, "needle\x00")
    put_here(home_dir, "needle" * 1_000)
    head = put_here(home_dir, "needle " + "hay " * 500 + " straw")
    damaged = put_here(home_dir, "needle, damaged")
    Path(layout.blob(home_dir, damaged[7:])).write_bytes(b"BRB1n")

    answer = found(home_dir, "needle")

    assert answer.keys == [head]
    counts = (answer.binary, answer.too_large, answer.shortened, answer.damaged, answer.pending)
    assert counts == (1, 1, 1, 1, 0)
    assert found(home_dir, "straw").keys == []


def test_a_search_is_no_use_of_an_output(home_dir: str) -> None:
    """It must not keep everything from being pruned by age."""
    put_here(home_dir, "needle", age_s=shelves.DAY_S)
    before = shelves.snapshot(layout.blobs_dir(home_dir), layout.meta_dir(home_dir))

    assert found(home_dir, "needle").keys

    assert shelves.snapshot(layout.blobs_dir(home_dir), layout.meta_dir(home_dir)) == before


def test_what_the_time_does_not_suffice_for_is_said_and_done_next_time(home_dir: str) -> None:
    """Each search gets further, even without any time."""
    keys = {put_here(home_dir, f"needle {number}") for number in range(4)}

    counts = [found(home_dir, "needle", budget_s=0) for _ in range(6)]

    assert counts[0].pending > 0
    assert counts[-1].pending == 0
    assert set(counts[-1].keys) == keys


def test_new_outputs_are_found_by_the_next_search(home_dir: str) -> None:
    """Without indexing the old ones again."""
    first = put_here(home_dir, "needle one")
    assert found(home_dir, "needle").keys == [first]
    inode = os.stat(searchfile.path(home_dir)).st_ino

    second = put_here(home_dir, "needle two")

    assert set(found(home_dir, "needle").keys) == {first, second}
    assert os.stat(searchfile.path(home_dir)).st_ino == inode


def test_the_index_is_private(home_dir: str) -> None:
    """From its creation on."""
    put_here(home_dir, "needle")
    found(home_dir, "needle")

    assert os.stat(searchfile.path(home_dir)).st_mode & 0o777 == 0o600


def test_a_full_index_takes_in_no_more_and_the_rest_is_found_all_the_same(
    home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is searched without the index."""
    monkeypatch.setattr(searchindex, "LARGEST_BYTES", 1)
    key = put_here(home_dir, "needle")

    assert found(home_dir, "needle").keys == [key]
    with sqlite3.connect(searchfile.path(home_dir)) as connection:
        assert connection.execute("SELECT state FROM outputs").fetchall() == [(0,)]
    connection.close()


@pytest.mark.parametrize("damage", ["garbage", "torn", "empty", "tables"])
def test_a_damaged_index_is_made_anew(home_dir: str, damage: str) -> None:
    """Nobody has to do anything."""
    keys = {put_here(home_dir, f"needle {number} " + "hay " * 2_000) for number in range(20)}
    found(home_dir, "needle")
    file = Path(searchfile.path(home_dir))
    raw = file.read_bytes()
    if damage == "garbage":
        file.write_bytes(b"no database " * 1_000)
    elif damage == "torn":
        file.write_bytes(raw[: len(raw) // 2])
    elif damage == "empty":
        file.write_bytes(b"")
    else:
        file.write_bytes(raw[:4096] + b"\xff" * (len(raw) - 4096))

    assert set(found(home_dir, "needle").keys) == keys
    assert set(found(home_dir, "needle").keys) == keys


def test_an_index_of_a_newer_brimline_is_left_alone(home_dir: str) -> None:
    """The content is searched instead."""
    key = put_here(home_dir, "needle")
    found(home_dir, "needle")
    with sqlite3.connect(searchfile.path(home_dir)) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    before = Path(searchfile.path(home_dir)).read_bytes()

    assert found(home_dir, "needle").keys == [key]
    assert Path(searchfile.path(home_dir)).read_bytes() == before


@pytest.mark.parametrize("accident", [shelves.full, shelves.read_only])
def test_a_disk_that_cannot_be_written_can_be_searched(
    home_dir: str, monkeypatch: pytest.MonkeyPatch, accident: Any
) -> None:
    """There is no index then."""
    key = put_here(home_dir, "needle")
    monkeypatch.setattr(fastio, "system", shelves.Disk(accident, 0, lasting=True))

    assert found(home_dir, "needle").keys == [key]


def test_forgotten_content_leaves_no_word_in_the_index(home_dir: str) -> None:
    """Not even in a free page of the database."""
    secret = put_here(home_dir, "zanzibar " * 50)
    other = put_here(home_dir, "harmless")
    assert found(home_dir, "zanzibar").keys == [secret]
    assert traces(home_dir, "zanzibar")

    forget.forget_key(home_dir, secret)

    assert traces(home_dir, "zanzibar") == []
    assert found(home_dir, "zanzibar").keys == []
    assert found(home_dir, "harmless").keys == [other]
    assert traces(home_dir, "zanzibar") == []


def test_a_forgotten_session_leaves_the_index_with_its_commands(home_dir: str) -> None:
    """Also where its content stays because another session stored it too."""
    stored(home_dir, b"shared", cwd=HERE, session="first", source="cat zanzibar")
    put.put(home_dir, b"shared", {"cwd": HERE, "session": "second", "source": "cat notes"})
    assert found(home_dir, "zanzibar").keys

    forget.forget_session(home_dir, "first")

    assert traces(home_dir, "zanzibar") == traces(home_dir, "projéct") == []


def test_pruned_content_leaves_the_index(home_dir: str) -> None:
    """Together with its words."""
    put_here(home_dir, "zanzibar", age_s=90 * shelves.DAY_S)
    kept = put_here(home_dir, "harmless")
    assert found(home_dir, "zanzibar").keys

    limits = plan.Limits(30 * shelves.DAY_S, None, 0)
    assert len(prune.prune(home_dir, limits, prune.Search(paths=[])).keys) == 1

    assert traces(home_dir, "zanzibar") == []
    assert found(home_dir, "harmless").keys == [kept]


def test_content_that_vanished_by_itself_leaves_the_index_with_the_next_search(
    home_dir: str,
) -> None:
    """Whoever removed it may have been killed before the index was dropped."""
    gone = put_here(home_dir, "zanzibar")
    kept = put_here(home_dir, "harmless")
    found(home_dir, "zanzibar")
    os.unlink(layout.blob(home_dir, gone[7:]))

    answer = found(home_dir, "harmless")

    assert (answer.keys, answer.outputs) == ([kept], 1)
    assert found(home_dir, "zanzibar").keys == []
    assert traces(home_dir, "zanzibar") == []


def test_what_is_removed_while_it_is_indexed_does_not_stay(
    home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The search that wrote it notices, or whoever removes it drops the index."""
    gone = put_here(home_dir, "zanzibar")
    real = searchindex.Index.require_stored

    def removed_first(self: searchindex.Index, digests: Any) -> None:
        if os.path.exists(layout.blob(home_dir, gone[7:])):
            os.unlink(layout.blob(home_dir, gone[7:]))
        real(self, digests)

    monkeypatch.setattr(searchindex.Index, "require_stored", removed_first)

    assert found(home_dir, "zanzibar").keys == []
    assert traces(home_dir, "zanzibar") == []


def test_an_index_that_is_dropped_in_use_is_made_anew(
    home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A search that goes on does not write into a file that is gone."""
    key = put_here(home_dir, "needle")
    real = searchindex.Index.note
    drops = iter([True])

    def dropped_first(self: searchindex.Index, cwds: dict[str, str]) -> None:
        if next(drops, False):
            searchfile.drop(home_dir)
        real(self, cwds)

    monkeypatch.setattr(searchindex.Index, "note", dropped_first)

    assert found(home_dir, "needle").keys == [key]
    assert found(home_dir, "needle").keys == [key]


def test_a_search_that_is_killed_while_it_writes_harms_nobody(home_dir: str) -> None:
    """The next one finds everything."""
    keys = {put_here(home_dir, f"needle {number}") for number in range(20)}
    killed = start(KILLED, home_dir)
    killed.communicate(timeout=60)
    assert killed.returncode == -9

    assert set(found(home_dir, "needle").keys) == keys


def test_many_searches_at_once_find_everything(
    home_dir: str, processes: list[subprocess.Popen[bytes]]
) -> None:
    """Also while the index is dropped under them again and again."""
    for number in range(60):
        put.put(home_dir, b"needle %d\n" % number + text(number, 20_000), {"cwd": HERE})
    extra = [stored(home_dir, b"straw %d" % number, cwd=HERE) for number in range(10)]
    processes += [start(SEARCHES, home_dir, "6", "20") for _ in range(4)]
    for key in extra:
        forget.forget_key(home_dir, key)

    for process in processes:
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, err.decode()
        assert out.decode().splitlines() == ["60 0"] * 6
    assert len(found(home_dir, "needle").keys) == 60


def test_paths_that_are_no_text_are_taken_as_they_are(home_dir: str) -> None:
    """A folder's name may hold any bytes, and a sidecar any JSON."""
    strange = "/w/\udcff\ud800"
    key = put.put(home_dir, b"needle", {"cwd": strange, "source": "cat \udcff"})

    answer = fulltext.search(home_dir, "needle", lambda cwd: cwd == strange)

    assert answer.keys == [key]
    assert read.meta(home_dir, key)["cwd"] == strange
