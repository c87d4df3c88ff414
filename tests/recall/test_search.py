"""The search over stored outputs: words found, places kept apart, damage mended, nothing leaked."""

from __future__ import annotations

import contextlib
import math
import os
import random
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.recall.worlds import SESSION, talked

from brimline.bulk import contents, layout, put, removal
from brimline.bulk.retention import Limits, Pass, prune
from brimline.errors import StoreError
from brimline.recall import deep, forget, hits, stored
from brimline.rooms import values_in_all_traces
from brimline.state.forgotten import Asked
from brimline.transcript.project import Project, real_folder

HERE = "/home/dev/my projéct"
SEARCHES = """
import math, sys
from brimline.recall import stored
from brimline.bulk.contents import Span
for _ in range(int(sys.argv[2])):
    found = stored.find_outputs(sys.argv[1], "needle", None, lambda n: Span(1, n), until=math.inf)
    print(found.total, found.pending, flush=True)
"""
KILLED = """
import math, os, sys
from brimline.recall import database, stored
calls = []
def encodable(text):
    calls.append(text)
    if len(calls) > int(sys.argv[2]):
        os.kill(os.getpid(), 9)
    return list(text)
database.storable_values = encodable
stored.tidy(sys.argv[1], until=math.inf)
"""


def put_here(home_dir: str, content: str, **meta: Any) -> str:
    """Store an output that was made in that place."""
    return put.put(home_dir, content.encode(), {"cwd": HERE} | meta)


def find(
    home_dir: str, query: str, project: str | None = HERE, *, until: float = math.inf
) -> stored.Found:
    """All hits of one place."""
    within = project and Project((real_folder(project),))
    return stored.find_outputs(
        home_dir, query, within or None, lambda n: contents.Span(1, n), until=until
    )


def keys(found: stored.Found) -> list[str]:
    """What was found, the best first; nothing where only some of the words fit."""
    hits = found.hits if found.all_words else ()
    return [layout.PREFIX + hit.record.ref for hit in hits]


def files(home_dir: str) -> list[Path]:
    """The files of the search."""
    return sorted(Path(stored.search_folder(home_dir)).glob("1-*"))


def traces(home_dir: str, word: str) -> list[str]:
    """The files of ours that hold a word, in any case."""
    paths = [path for path in Path(home_dir).rglob("*") if path.is_file()]
    return [path.name for path in paths if word.encode() in path.read_bytes().lower()]


def start(script: str, *arguments: str) -> subprocess.Popen[bytes]:
    """Run a script with this package."""
    return subprocess.Popen(
        [sys.executable, "-c", script, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


@pytest.mark.parametrize(
    ("query", "fits"),
    [
        *[("timeout", True), ("TIMEOUT worker", True), ("timeouts in workers", True)],
        *[("time", True), ("cafe", True), ("東京", True), ("foo_bar.py:12", True)],
        *[('"worker 7"', True), ("coverage", True), ('"7 worker"', False), ("absent", False)],
        *[("->", False), ("NEAR(timeout, x) OR * ^ col:", False)],
    ],
)
def test_words_stems_starts_and_phrases_are_found(home_dir: str, query: str, *, fits: bool) -> None:
    """In any script, in the command too, whatever the query's characters mean to the database."""
    content = "\x1b[31mTimeout\x1b[0m in worker 7 -> foo_bar.py:12\ncafé 東京都庁\n"
    key = put_here(home_dir, content, source="make coverage")
    put_here(home_dir, "something else\n")

    assert keys(find(home_dir, query)) == ([key] if fits else [])


@settings(max_examples=200)
@given(query=st.text(max_size=40))
def test_no_query_is_an_error_to_the_database(query: str) -> None:
    """It is refused in one sentence (without words, or with too many), or means what it says."""
    for refused in ("", " ", '""', "x" * 501, " ".join(map(str, range(17)))):
        with pytest.raises(StoreError, match=r"the query (is|has)"):
            stored.parse_terms(refused)
    try:
        wanted = stored.parse_terms(query)
    except StoreError:
        return
    with sqlite3.connect(":memory:") as connection:
        connection.execute("CREATE VIRTUAL TABLE t USING fts5(a, tokenize='porter unicode61')")
        for joined_by in ("AND", "OR"):
            if expression := stored.fts_terms_joined_by(wanted, joined_by):
                connection.execute("SELECT * FROM t WHERE t MATCH ?", (expression,)).fetchall()
    connection.close()


def test_the_better_hit_comes_first_and_some_words_are_better_than_none(home_dir: str) -> None:
    """More of the word in less text; and it is said where not all words occur."""
    dilute = put_here(home_dir, "needle " + "hay " * 500)
    dense = put_here(home_dir, "needle needle needle")
    some = find(home_dir, "needle absent")

    assert keys(find(home_dir, "needle")) == [dense, dilute]
    assert (some.total, some.all_words) == (2, False)
    assert some.hits[0].snippet == "needle needle needle"


def test_a_text_without_a_fitting_line_is_shown_around_its_first_match(home_dir: str) -> None:
    """Words are found by their stems; a few words before and after tell where."""
    before = " ".join(f"b{number}" for number in range(20))
    after = " ".join(f"a{number}" for number in range(30))
    put_here(home_dir, f"{before} needled {after} needles")

    shown = find(home_dir, "needle").hits[0].snippet.split()

    assert shown[:9] == [*(f"b{number}" for number in range(12, 20)), "needled"]
    assert shown[9:] == [f"a{number}" for number in range(15)]


def test_a_text_that_matches_everywhere_is_searched_at_once(home_dir: str) -> None:
    """FTS5's own excerpts take minutes for as many matches as this."""
    put_here(home_dir, "1 " * 90_000)

    assert find(home_dir, "1").hits[0].snippet == " ".join("1" * 16)


def test_what_cannot_be_searched_is_told(home_dir: str) -> None:
    """Binary, damaged, the end of what is large; to be searched is not to be used."""
    put_here(home_dir, "needle\x00")
    head = put_here(home_dir, "needle " + "hay " * 60_000 + " straw")
    put_here(home_dir, "x" * 200_000)
    damaged = put_here(home_dir, "needle, damaged")
    Path(layout.stored_path(home_dir, damaged[7:])).write_bytes(b"BRB1n")
    before = contents.list_blobs(home_dir)

    found = find(home_dir, "needle")

    assert contents.list_blobs(home_dir) == before
    assert keys(found) == [head]
    assert sorted(found.states) == ["", "binary", "damaged", "head"]
    assert keys(find(home_dir, "straw")) == []
    put_here(home_dir, "needle, damaged")
    assert set(keys(find(home_dir, "needle"))) == {head, damaged}


def test_what_the_time_does_not_suffice_for_is_said_and_done_next_time(home_dir: str) -> None:
    """Each search gets further, even without time, and so does housekeeping; files are private."""
    wanted = {put_here(home_dir, f"needle {number}") for number in range(4)}
    before = os.umask(0)
    try:
        pending = [find(home_dir, "needle", until=0.0).pending for _ in range(3)]
    finally:
        os.umask(before)
    stored.tidy(home_dir, until=0.0)

    assert pending == [3, 2, 1]
    (file,) = files(home_dir)
    assert [path.stat().st_mode & 0o777 for path in (file, file.parent)] == [0o600, 0o700]
    assert set(keys(find(home_dir, "needle", until=0.0))) == wanted


def test_a_full_index_drops_the_oldest_text(home_dir: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are still found by their commands; the newest are found by their words."""
    monkeypatch.setattr(stored, "LARGEST_BYTES", 1)
    monkeypatch.setattr(stored, "_DROPPED_AT_ONCE", 1)
    old = put_here(home_dir, "needle old", source="make first")
    find(home_dir, "needle")
    new = put_here(home_dir, "needle new", source="make second")
    monkeypatch.setattr(stored, "LARGEST_BYTES", math.inf)

    assert keys(find(home_dir, "needle")) == [new]
    assert keys(find(home_dir, "first")) == [old]
    assert sorted(find(home_dir, "needle").states) == ["", "title"]


@pytest.mark.parametrize("seed", range(12))
def test_flipped_bytes_cost_the_index_at_most(home_dir: str, project_dir: str, seed: int) -> None:
    """Searching, reading on and forgetting go on with what is left, or with a new one."""
    talked(project_dir)
    deep.index_sources(home_dir, project_dir)
    (file,) = files(home_dir)
    with contextlib.closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    raw, chance = bytearray(file.read_bytes()), random.Random(seed)
    # A text that is none any more, and a few others anywhere.
    raw[bytes(raw).index(b"signed cookies")] = 0xFF
    for _ in range(seed):
        raw[chance.randrange(100, len(raw))] ^= 0xFF
    file.write_bytes(raw)

    hits.open_or_make_memory(home_dir).search("signed cookies")
    deep.index_sources(home_dir, project_dir)
    forget.forget(home_dir, Asked((SESSION,)), values_in_all_traces)

    assert all(b"cookies" not in path.read_bytes() for path in files(home_dir))


def test_forgotten_content_leaves_no_word(home_dir: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not in a free page or the journal, nor if it goes while it is indexed; what is pruned too."""
    secret = put_here(home_dir, "zanzibar " * 50, source="cat zanzibar")
    other = put_here(home_dir, "harmless")
    assert keys(find(home_dir, "zanzibar")) == [secret]
    assert traces(home_dir, "zanzibar")

    removal.forget_key(home_dir, secret)
    stored.forget(home_dir, [secret])

    assert traces(home_dir, "zanzibar") == []
    assert keys(find(home_dir, "zanzibar")) == []
    assert keys(find(home_dir, "harmless")) == [other]
    os.utime(layout.stored_path(home_dir, other[7:]), (1_000, 1_000))
    assert prune(home_dir, Limits(max_age_s=86_400), Pass(values_in_all_traces)).keys == [other]
    assert keys(find(home_dir, "harmless")) == []
    gone, real = put_here(home_dir, "zanzibar"), stored._put

    def removed_first(*arguments: Any) -> None:
        removal.forget_key(home_dir, gone)
        real(*arguments)

    monkeypatch.setattr(stored, "_put", removed_first)
    assert keys(find(home_dir, "zanzibar")) == []
    assert traces(home_dir, "zanzibar") == []


@pytest.mark.parametrize("at", [0, 3, 10, 19])
def test_an_indexing_that_is_killed_harms_nobody(home_dir: str, at: int) -> None:
    """The next search finds everything."""
    wanted = {put_here(home_dir, f"needle {number} " + "x" * 50_000) for number in range(20)}
    killed = start(KILLED, home_dir, str(at))
    killed.communicate(timeout=60)
    assert killed.returncode == -9

    assert set(keys(find(home_dir, "needle"))) == wanted


def test_many_searches_at_once_find_everything(home_dir: str) -> None:
    """Also while outputs are forgotten, and the index is damaged under them."""
    for number in range(60):
        put_here(home_dir, f"needle {number}\n" + "hay\n" * 2_000)
    extra = [put_here(home_dir, f"straw {number}") for number in range(5)]
    find(home_dir, "needle", until=0.0)
    processes = [start(SEARCHES, home_dir, "6") for _ in range(4)]
    for key in extra:
        removal.forget_key(home_dir, key)
        stored.forget(home_dir, [key])
    files(home_dir)[0].write_bytes(b"no database " * 1_000)

    answers = [process.communicate(timeout=120) for process in processes]
    assert [out.decode().splitlines() for out, _ in answers] == [["60 0"] * 6] * 4, answers
    assert find(home_dir, "needle").total == 60
    assert find(home_dir, "straw").total == 0
