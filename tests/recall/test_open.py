"""`recall.open`: entries go in, the ones that answer a question come out, and nothing gets lost."""

from __future__ import annotations

import contextlib
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from brimline import recall

TALK = [
    ("a", "Anna: Where did you adopt the puppy?"),
    ("b", "Ben: At the shelter by the harbour."),
    ("c", "Anna: Nice! We painted the kitchen yellow."),
    ("d", "Ben: Yellow suits a kitchen."),
]
WRITES = """
import sys
from brimline import recall
store = recall.open(sys.argv[1])
for number in range(int(sys.argv[3])):
    name = f"{sys.argv[2]}-{number}"
    store.add([{"id": name, "text": f"entry {name} needle", "group": sys.argv[2]}])
    print(name, flush=True)
"""


def said(rows: list[tuple[str, str]] = TALK, group: str = "one") -> list[dict[str, Any]]:
    """Entries of one session."""
    return [{"id": name, "text": text, "group": group, "at": "2026-05-08"} for name, text in rows]


def ids(store: Any, query: str, limit: int = 10) -> list[str]:
    """What is found, the best first."""
    return [hit.id for hit in store.search(query, limit)]


def test_an_answer_is_found_by_the_words_of_its_question(world: Path) -> None:
    """The entry before counts, that of another session does not; the same again changes nothing."""
    store = recall.open(str(world / "m"))
    assert store.add(said()) == 4
    assert store.add(said()) == 0
    store.add(said([("x", "Cleo: Tomorrow."), ("y", "Dan: The shelter is full.")], "two"))

    assert ids(store, "adopt a puppy")[:2] == ["a", "b"]
    assert set(ids(store, "who painted the kitchens?")[:2]) == {"c", "d"}
    assert len(ids(store, "shelter", 1)) == 1
    hit = store.search("harbour", 1)[0]
    assert (hit.record.text, hit.record.session, hit.record.at > 0) == (TALK[1][1], "one", True)
    assert ids(store, "") == []
    assert ids(store, '"NEAR( * shelter') != []
    store.add(said([("s", "Wir wohnen in der Lange Straße."), ("i", "İstanbul: mon résumé")], "de"))
    for query, name in (("Straße", "s"), ("İstanbul", "i"), ("re\u0301sume\u0301", "i")):
        assert ids(store, query, 1) == [name]


def test_eight_writers_lose_nothing(world: Path) -> None:
    """What each was told is there, for all of them."""
    folder = str(world / "m")
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITES, folder, f"w{number}", "12"], stdout=subprocess.PIPE
        )
        for number in range(8)
    ]
    told = {name for one in writers for name in one.communicate()[0].decode().split()}

    assert len(told) == 96
    assert {hit.id for hit in recall.open(folder).search("needle", 200)} == told


@pytest.mark.parametrize("moments", [20, pytest.param(200, marks=pytest.mark.long)])
def test_a_writer_that_is_killed_leaves_what_it_acknowledged(world: Path, moments: int) -> None:
    """However far it came, at moments that the machine chooses."""
    import random

    chance = random.Random(moments)
    folder = str(world / "m")
    told: set[str] = set()
    for number in range(moments):
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITES, folder, f"k{number}", "400"], stdout=subprocess.PIPE
        )
        assert writer.stdout is not None
        for _ in range(chance.randrange(1, 6)):
            told.add(writer.stdout.readline().decode().strip())
        writer.kill()
        told |= set(writer.communicate()[0].decode().split("\n")[:-1])
    found = {hit.id for hit in recall.open(folder).search("needle", 100_000)}

    connection = sqlite3.connect(next(Path(folder).glob("*.sqlite3")))
    kept = {row[0] for row in connection.execute("SELECT ref FROM entries")}
    sound = connection.execute("PRAGMA integrity_check").fetchone()[0]
    connection.execute("INSERT INTO turns (turns) VALUES ('integrity-check')")
    connection.close()
    assert told - {""} <= kept
    assert sound == "ok"
    assert found


# What 0.2.0 made, as far as memory goes.
LAYOUT_3 = """
    CREATE TABLE entries (
        id INTEGER PRIMARY KEY, ref TEXT NOT NULL UNIQUE, source TEXT NOT NULL,
        project TEXT NOT NULL, session TEXT NOT NULL, at REAL NOT NULL,
        has_vector INTEGER NOT NULL DEFAULT 0, before_id INTEGER,
        text TEXT NOT NULL, before TEXT NOT NULL
    );
    CREATE INDEX entries_plain ON entries (id) WHERE NOT has_vector;
    CREATE VIRTUAL TABLE turns USING fts5(
        before, text, content='entries', content_rowid='id',
        tokenize='porter unicode61 remove_diacritics 2'
    );
    CREATE TRIGGER entry_added AFTER INSERT ON entries BEGIN
        INSERT INTO turns (rowid, before, text) VALUES (new.id, new.before, new.text);
    END;
    CREATE TRIGGER entry_removed AFTER DELETE ON entries BEGIN
        INSERT INTO turns (turns, rowid, before, text)
        VALUES ('delete', old.id, old.before, old.text);
    END;
    CREATE TRIGGER entry_changed AFTER UPDATE OF before ON entries BEGIN
        INSERT INTO turns (turns, rowid, before, text)
        VALUES ('delete', old.id, old.before, old.text);
        INSERT INTO turns (rowid, before, text) VALUES (new.id, new.before, new.text);
    END;
    CREATE TABLE vectors (block INTEGER PRIMARY KEY, records BLOB NOT NULL);
    CREATE TABLE projects (number INTEGER PRIMARY KEY, project TEXT UNIQUE NOT NULL);
    CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
    INSERT INTO vectors VALUES (0, x'00');
    INSERT INTO entries VALUES
        (1, 'a', 'user', '/p', 's', 1.0, 1, NULL, 'Die Suchmaschine', ''),
        (2, 'b', 'user', '/p', 's', 2.0, 1, 1, '検索が遅い', 'Die Suchmaschine');
    PRAGMA user_version = 3;
"""


def test_what_version_0_2_0_took_in_is_kept_and_found_as_what_comes_later(world: Path) -> None:
    """It may be all that there is of a session; that version still finds and writes its own."""
    (world / "m").mkdir()
    path = world / "m" / "1-1.sqlite3"
    with contextlib.closing(sqlite3.connect(path)) as earlier:
        earlier.executescript(LAYOUT_3)

    store = recall.open(str(world / "m"))

    assert (ids(store, "Maschine"), ids(store, "検索")) == (["a"], ["b"])
    with contextlib.closing(sqlite3.connect(path)) as earlier:
        assert earlier.execute("SELECT count(*) FROM vectors").fetchall() == [(0,)]
        earlier.execute(
            "INSERT INTO entries (ref, source, project, session, at, text, before) "
            "VALUES ('c', 'user', '/p', 't', 3.0, 'walrus', '')"
        )
        earlier.execute("PRAGMA user_version = 3")
        earlier.execute("DELETE FROM entries WHERE ref = 'a'")
        earlier.commit()
    assert (ids(store, "walrus"), ids(store, "Suchmaschine")) == (["c"], ["b"])
    store.run_on_database(
        lambda base: base.execute("INSERT INTO turns (turns) VALUES ('integrity-check')")
    )
