"""The list of sessions: a page of it, chosen and sorted, and the file of each."""

from __future__ import annotations

import json
import os
import sqlite3
from typing import TYPE_CHECKING, Any

import pytest

from brimline.dashboard import index
from brimline.dashboard.index import _TITLE_CHARACTERS
from brimline.errors import BrimlineError
from brimline.figures import store
from brimline.testing import SessionBuilder
from brimline.transcript import find

if TYPE_CHECKING:
    from pathlib import Path

IDS = [f"1f0c2d3e-aaaa-4bbb-8ccc-00000000000{number}" for number in range(5)]
PROJECT = "/home/dev/other"
NUMBERS = ("zero", "one", "two", "three", "four")


@pytest.fixture
def known(world: Path, home_dir: str) -> index.Index:
    """An index of five sessions, each an hour later and fuller by 1,000 tokens than the last."""
    folder = world / "home" / ".claude" / "projects" / "-home-dev-other"
    for number, name in enumerate(IDS):
        model = "claude-opus-5-5" if number % 2 else "claude-sonnet-4-6"
        made = SessionBuilder(str(folder / f"{name}.jsonl"), name, PROJECT, model)
        made.now += 3_600 * number
        made.prompt(f"Wish number {NUMBERS[number]}")
        made.reply(50_000 + 1_000 * number)
        if number == 2:
            made.compact(60_000)
            made.reply(9_000)
    sessions = index.Index(home_dir)
    sessions.refresh()
    return sessions


def ids(known: index.Index, size: int = 50, **chosen: Any) -> tuple[list[str], int]:
    """The last digits of the sessions on a page, and how many there are in all."""
    rows, count = known.page_of_sessions(index.Filter(**chosen), size, {})
    return [row["id"][-1] for row in rows], count


def test_a_page_has_so_many_sessions_the_newest_first(known: index.Index) -> None:
    """The next page goes on where it ended; the last may be shorter."""
    assert ids(known, 2) == (["4", "3"], 5)
    assert ids(known, 2, page=2) == (["2", "1"], 5)
    assert ids(known, 2, page=3) == (["0"], 5)
    assert known.is_current
    assert known.busy is None


def test_sessions_are_chosen_by_model_project_and_words(known: index.Index) -> None:
    """And sorted by what was asked for; an order that is none is the usual one."""
    assert ids(known, model="claude-opus-5-5") == (["3", "1"], 2)
    assert ids(known, project=PROJECT)[1] == 5
    assert ids(known, project="/home/dev") == ([], 0)
    assert ids(known, words="WISH Three") == (["3"], 1)
    assert ids(known, words="wish otter") == ([], 0)
    assert ids(known, words="wish number " * 4 + "otter")[1] == 5  # eight words are enough
    assert ids(known, sort="fullest")[0] == ["4", "3", "2", "1", "0"]
    assert ids(known, sort="compacted")[0][0] == "2"
    assert ids(known, sort="1; DROP TABLE sessions")[0][0] == "4"
    assert known.values_of_column("model") == ["claude-opus-5-5", "claude-sonnet-4-6"]


def test_a_session_that_is_gone_leaves_the_list_and_a_damaged_list_is_made_anew(
    known: index.Index, home_dir: str
) -> None:
    """One of another version too."""
    os.remove(known.transcript_path_of_session(IDS[0]))
    known.refresh()
    left = ids(known)[1]
    path = f"{home_dir}/{store.FILE}"
    with sqlite3.connect(path) as base:
        base.execute("PRAGMA user_version = 99")
    base.close()
    emptied = ids(known)[1]
    known.refresh()
    with open(path, "r+b") as file:
        file.seek(4_096)
        file.write(b"no database" * 9_999)
    with pytest.raises(BrimlineError, match="was damaged and is made anew: try again"):
        known.page_of_sessions(index.Filter(), 50, {})
    with open(path, "wb") as file:
        file.write(b"no database" * 999)
    known.refresh()

    assert (left, emptied) == (4, 0)
    assert ids(known)[1] == 4


def test_only_some_words_are_looked_for(known: index.Index) -> None:
    """In any order and case; all of them have to be there."""
    assert ids(known, words="FOUR wish") == (["4"], 1)
    assert ids(known, words="four three") == ([], 0)
    assert ids(known, words="wish " * index._MOST_WORDS + "nothing") == (
        ["4", "3", "2", "1", "0"],
        5,
    )
    assert ids(known, words="wish " * (index._MOST_WORDS - 1) + "nothing") == ([], 0)


def test_a_row_of_the_list_is_short(world: Path, home_dir: str) -> None:
    """A title of eighty letters, and figures."""
    folder = world / "home" / ".claude" / "projects" / "-home-dev-other"
    made = SessionBuilder(str(folder / f"{IDS[0]}.jsonl"), IDS[0], PROJECT)
    made.prompt("t" * (_TITLE_CHARACTERS + 1))
    for number in range(82):
        made.reply(1_000 + number)
    sessions = index.Index(home_dir)
    sessions.refresh()

    (row,) = sessions.rows_of_all_sessions()

    assert row["title"] == "t" * (_TITLE_CHARACTERS - 1) + "…"
    assert (row["requests"], row["peak"]) == (82, 1_081)
    assert (row["project"], row["window"]) == (PROJECT, 200_000)


def test_sessions_are_sorted_by_tokens_and_by_what_they_cost(known: index.Index) -> None:
    """The largest first, of equals none is lost."""
    costs = {name: float(number % 3) for number, name in enumerate(IDS)}
    bills = {name: {"dollars": dollars} for name, dollars in costs.items()}

    rows, count = known.page_of_sessions(index.Filter(sort="cost"), 50, bills)

    assert ids(known, sort="tokens")[0] == ["2", "4", "3", "1", "0"]
    assert [costs[row["id"]] for row in rows] == [2.0, 1.0, 1.0, 0.0, 0.0]
    assert count == 5


def test_sessions_of_a_day_are_chosen_running_ones_first(known: index.Index, world: Path) -> None:
    """One that a client has open, though others were heard of later."""
    folder = world / "home" / ".claude" / "sessions"
    folder.mkdir(parents=True)
    (folder / "1.json").write_text(json.dumps({"pid": os.getpid(), "sessionId": IDS[1]}))

    rows, _ = known.page_of_sessions(index.Filter(), 50, {})
    chosen, count = known.page_of_sessions(index.Filter(), 50, {}, {IDS[0], IDS[3]})

    assert [(row["id"][-1], row["is_running"]) for row in rows][:2] == [("1", True), ("4", False)]
    assert ([row["id"][-1] for row in chosen], count) == (["3", "0"], 2)


def test_a_list_that_cannot_be_written_is_named(world: Path) -> None:
    """With the reason."""
    (world / "file").write_text("")
    told = f"{world}/file/{store.FILE}, where figures are kept, cannot be"

    with pytest.raises(BrimlineError, match=f"{told} written: Not a directory"):
        index.Index(f"{world}/file").rows_of_all_sessions()


def test_a_session_without_a_request_is_not_listed(known: index.Index, world: Path) -> None:
    """And a file that is not a session is passed over."""
    folder = world / "home" / ".claude" / "projects" / "-home-dev-other"
    SessionBuilder(str(folder / "5.jsonl"), "5", PROJECT).prompt("Nothing came of it")
    (folder / "6.jsonl").write_text("no session\n")
    known.refresh()

    assert ids(known)[1] == 5
    assert known.total > 0
    known.refresh()
    assert known.total == 0  # nothing is read twice
    assert known.values_of_column("project") == [PROJECT]


def test_an_index_begins_as_one_that_is_not_current(home_dir: str) -> None:
    """Nobody waits for it before it reads."""
    fresh = index.Index(home_dir)

    assert (fresh.total, fresh.is_current, fresh.busy) == (0, False, None)


class Watched(index.Index):
    """An index that keeps what it told of its progress."""

    told: list[Any]

    def __setattr__(self, name: str, value: Any) -> None:
        """Keep it."""
        if name == "busy":
            self.__dict__.setdefault("told", []).append(value)
        super().__setattr__(name, value)


def test_how_far_the_first_reading_is_is_told_in_bytes_and_later_ones_are_not(
    known: index.Index, home_dir: str
) -> None:
    """Whoever has a list already need not wait."""
    os.remove(f"{home_dir}/{store.FILE}")
    watched = Watched(home_dir)
    watched.refresh()
    whole = sum(os.path.getsize(path) for path in find.all_transcripts())
    done = [each[0] for each in watched.told[1:-1]]

    assert {each[1] for each in watched.told[1:-1]} == {whole}
    assert (done[0], done[-1], done) == (0, whole, sorted(done))
    watched.told.clear()
    path = known.transcript_path_of_session(IDS[1])
    with open(path, "a") as file:
        file.write("\n")
    watched.refresh()
    assert watched.told == [None, None]
    assert watched.total == os.path.getsize(path)
