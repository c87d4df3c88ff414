"""The search's one file: who may use it, what happens where it is damaged, what a hit shows."""

from __future__ import annotations

import os
import sqlite3
from typing import TYPE_CHECKING, Any

import pytest

from brimline.errors import StoreError
from brimline.recall import database

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def base(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    """An open file."""
    connection = database._connect(str(tmp_path / "1-1.sqlite3"))
    yield connection
    connection.close()


def test_the_newest_generation_of_this_format_is_used(tmp_path: Path) -> None:
    """By its number, not by its name; files of other formats are not looked at."""
    for name in ("1-9.sqlite3", "1-10.sqlite3", "2-11.sqlite3", "1-12.sqlite3-wal", "1-x.sqlite3"):
        (tmp_path / name).touch()

    assert database._path_of_newest_database(str(tmp_path)) == f"{tmp_path}/1-10.sqlite3"
    assert database._path_of_newest_database(str(tmp_path / "new")) == f"{tmp_path}/new/1-1.sqlite3"
    assert (tmp_path / "new" / "1-1.sqlite3").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("which", ["file", "folder"])
def test_a_link_is_not_followed(tmp_path: Path, which: str) -> None:
    """What it leads to may be somebody else's."""
    folder = tmp_path / "search"
    (tmp_path / "elsewhere").mkdir()
    if which == "folder":
        folder.symlink_to(tmp_path / "elsewhere")
    else:
        folder.mkdir()
        (folder / "1-1.sqlite3").symlink_to(tmp_path / "elsewhere" / "a")

    with pytest.raises(StoreError, match=r"the search index cannot be used: .* is a link, and"):
        database.run_on_database(str(folder), lambda _: 1)
    assert os.listdir(tmp_path / "elsewhere") == []


def test_a_damaged_file_is_begun_anew(tmp_path: Path) -> None:
    """All that belonged to it goes; the next one finds an empty one."""
    folder = str(tmp_path)
    for ending in ("", "-wal", "-shm"):
        (tmp_path / f"1-7.sqlite3{ending}").write_bytes(b"no database" * 999)

    def work(base: sqlite3.Connection) -> list[Any]:
        return base.execute("SELECT * FROM documents").fetchall()

    assert database.run_on_database(folder, work) == []
    assert [name for name in os.listdir(folder) if "1-7" in name] == []
    assert os.path.exists(f"{folder}/1-8.sqlite3")
    assert database.renewed == [f"{folder}/1-7.sqlite3"]


@pytest.mark.parametrize(
    ("code", "attempts"),
    [
        (sqlite3.SQLITE_BUSY, database._ATTEMPTS),
        (sqlite3.SQLITE_LOCKED, database._ATTEMPTS),
        (sqlite3.SQLITE_FULL, 1),
        (sqlite3.SQLITE_READONLY | 8 << 8, 1),
        (sqlite3.SQLITE_ERROR, 1),
    ],
)
def test_work_is_tried_again_if_another_has_it(tmp_path: Path, code: int, attempts: int) -> None:
    """Whatever else is wrong is told at once."""
    tried: list[int] = []

    def work(_: sqlite3.Connection) -> None:
        tried.append(code)
        error = sqlite3.OperationalError("failed")
        error.sqlite_errorcode = code
        raise error

    with pytest.raises(StoreError, match="the search index cannot be used: failed"):
        database.run_on_database(str(tmp_path), work)
    assert len(tried) == attempts


def test_a_file_can_be_read_while_another_writes_and_keeps_nothing_that_is_deleted(
    base: sqlite3.Connection,
) -> None:
    """Its layout is made once."""
    told = [
        base.execute(f"PRAGMA {name}").fetchone()[0]
        for name in ("journal_mode", "synchronous", "secure_delete", "user_version")
    ]

    assert told == ["wal", 1, 1, database._LAYOUT]


@pytest.mark.parametrize(
    ("error", "is_damage"),
    [
        (sqlite3.DatabaseError("database disk image is malformed"), False),
        (sqlite3.DatabaseError("malformed database schema"), True),
        (sqlite3.OperationalError("no such table: words"), True),
        (sqlite3.OperationalError("no such column: state"), True),
        (sqlite3.OperationalError("Could not decode to UTF-8 column"), True),
        (sqlite3.OperationalError("database is locked"), False),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid"), True),
        (ValueError("other"), False),
    ],
)
def test_some_failures_say_that_a_file_is_damaged(error: Exception, is_damage: bool) -> None:
    """By their words, where SQLite has no number for them."""
    assert database.is_damage_error(error) is is_damage


@pytest.mark.parametrize(
    ("code", "is_damage"),
    [
        (sqlite3.SQLITE_CORRUPT, True),
        (sqlite3.SQLITE_CORRUPT | 1 << 8, True),
        (26, True),
        (5, False),
    ],
)
def test_some_numbers_say_that_a_file_is_damaged(code: int, is_damage: bool) -> None:
    """Whatever is added to them for the details."""
    error = sqlite3.DatabaseError("failed")
    error.sqlite_errorcode = code

    assert database.is_damage_error(error) is is_damage


def test_what_is_no_unicode_becomes_visible() -> None:
    """What is not a text stays as it is."""
    assert database.storable_values(["a\ud800é", 3, None]) == ["a\\ud800é", 3, None]
