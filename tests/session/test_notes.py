"""Backups and the notes on rewrites, each function by itself."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from brimline.fast import paths
from brimline.session import restore
from brimline.session.disk import Fingerprint
from brimline.session.restore import Note
from brimline.session.rewrite import Rewritten

from .machines import LONG_AGO
from .recorded import output

if TYPE_CHECKING:
    from .recorded import Recorded

KEY = "sha256:" + "ab" * 32


def done_at(path: str) -> Rewritten:
    """A rewrite of a file."""
    return Rewritten(path, Fingerprint(9, "d1"), Fingerprint(5, "d2"))


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        ("s.jsonl.backup.20260101_120000", True),
        ("/p/s.jsonl.backup.20260101_120000", True),
        ("a\nb.jsonl.backup.20260101_120000", True),
        ("s.jsonl.backup.20260101_12000", False),
        ("s.jsonl.backup.2026010_120000", False),
        ("s.jsonl.backup.20260101-120000", False),
        ("s.jsonl.backup.20260101_120000.gz", False),
        (".backup.20260101_120000", False),
        ("s.jsonl", False),
    ],
)
def test_a_backup_is_known_by_its_name(name: str, is_one: bool) -> None:
    """The session's, and the time to the second."""
    assert restore.has_backup_name(name) is is_one


def test_backups_come_newest_first_and_by_name_within_a_second(world: Path) -> None:
    """Those of one session, or of all in the client's folders, subagents' too."""
    projects = Path(paths.client_config_dir()) / "projects" / "p[1]"
    agents = projects / "s" / "subagents"
    agents.mkdir(parents=True)
    made = {
        projects / "s.jsonl.backup.20260101_000001": 100,
        projects / "s.jsonl.backup.20260101_000003": 300,
        projects / "s.jsonl.backup.20260101_000002": 300,
        agents / "a.jsonl.backup.20260101_000001": 200,
        projects / "s.jsonl.backup.other": 900,
    }
    for path, at in made.items():
        path.write_bytes(b"x" * at)
        os.utime(path, (at, at))
    (projects / "s.jsonl.backup.20260101_000009").mkdir()

    own, everything = restore.backups_of(str(projects / "s.jsonl")), restore.all_backups()

    assert [(Path(one.path).name[-1], one.made_at) for one in own] == [
        ("2", 300),
        ("3", 300),
        ("1", 100),
    ]
    assert {one.session for one in own} == {str(projects / "s.jsonl")}
    assert [one.size_bytes for one in everything] == [300, 300, 200, 100]
    assert everything[2].session == str(agents / "a.jsonl")
    assert restore.backups_of(str(world / "none.jsonl")) == []


def test_notes_are_numbered_read_newest_first_and_forgotten_one_by_one(
    world: Path, home_dir: str
) -> None:
    """The number after the highest there is; the folder goes with the last."""
    path = str(world / "s.jsonl")
    folder = Path(restore.rewrite_notes_folder(home_dir, "s"))
    first = restore.write_note(home_dir, done_at(path), {"context_tokens": 30, "keys": [KEY]})
    (folder / "000007.jsonl").write_bytes(Path(first).read_bytes())
    third = restore.write_note(home_dir, done_at(path), {"lost_thoughts": 2, "tokens_of": {"t": 4}})

    notes, problems = restore.read_notes_and_problems(home_dir, "s")

    assert problems == []
    assert [Path(note.file).name for note in notes] == [
        f"{number:06}.jsonl" for number in (8, 7, 1)
    ]
    assert restore.sessions_with_notes(home_dir) == ["s"]
    assert json.loads(Path(first).read_bytes())["v"] == 2
    newest, _, oldest = notes
    assert (newest.file, newest.path) == (third, path)
    assert (newest.before, newest.after) == (Fingerprint(9, "d1"), Fingerprint(5, "d2"))
    assert (newest.context_tokens, newest.lost_thoughts, newest.tokens_of) == (0, 2, {"t": 4})
    assert (oldest.context_tokens, oldest.lost_thoughts, oldest.tokens_of) == (30, 0, {})
    assert (newest.store_keys, oldest.store_keys) == (set(), {KEY})
    for left, note in zip((2, 1, 0), notes, strict=True):
        restore.remove_note(note)
        assert len(restore.read_notes_and_problems(home_dir, "s")[0]) == left
    assert not folder.exists()
    assert restore.sessions_with_notes(home_dir) == []


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"v": 1}, ""),
        ({"v": 3}, "was written by a newer brimline: upgrade this one"),
        ({"before": [1]}, "cannot be read"),
        ({"path": None}, ""),
        ({"tokens_of": 5}, "cannot be read"),
        ({"context_tokens": "x"}, "cannot be read"),
        ({"at": ...}, "cannot be read ('at'): the session's backup holds what it was before"),
    ],
)
def test_a_note_that_cannot_be_read_is_told_and_stops_no_other(
    world: Path, home_dir: str, change: dict[str, Any], told: str
) -> None:
    """An old format is read; a file of another name is none."""
    file = Path(restore.write_note(home_dir, done_at(str(world / "s.jsonl")), {}))
    head = json.loads(file.read_bytes()) | change
    head = {name: value for name, value in head.items() if value is not ...}
    (file.parent / "000002.jsonl").write_text(json.dumps(head) + "\nmore that is not read\n")
    (file.parent / "unfinished").write_text("half")

    notes, problems = restore.read_notes_and_problems(home_dir, "s")

    assert len(notes) == (1 if told else 2)
    assert len(problems) == (1 if told else 0)
    assert not told or told in str(problems[0])


@pytest.mark.parametrize(
    ("tokens", "tokens_of", "wanted"),
    [
        (100, {"a": 60}, {"a": 60, "": 40}),
        (100, {"a": 60, "b": 40}, {"a": 60, "b": 40, "": 0}),
        (100, {"a": 160}, {"a": 160, "": 0}),
        (100, {}, {"": 100}),
    ],
)
def test_what_no_call_took_is_the_rest(
    tokens: int, tokens_of: dict[str, int], wanted: dict[str, int]
) -> None:
    """Never below nothing."""
    whole = Fingerprint(0, "")
    note = Note("/n", "/p", 0.0, whole, whole, tokens, 0, tokens_of)

    assert note.tokens_by_call == wanted


def test_the_session_of_a_note_is_where_it_was_and_wherever_the_client_has_its_name(
    world: Path, home_dir: str
) -> None:
    """Not where it is gone."""
    path, moved = world / "s.jsonl", Path(paths.client_config_dir()) / "projects" / "q" / "s.jsonl"
    restore.write_note(home_dir, done_at(str(path)), {})
    (note,), _ = restore.read_notes_and_problems(home_dir, "s")
    assert note.find_session_files() == []

    moved.parent.mkdir(parents=True)
    moved.write_text("")
    assert note.find_session_files() == [str(moved.resolve())]
    path.write_text("")
    deeper = moved.parent / "a" / "subagents" / "s.jsonl"
    deeper.parent.mkdir(parents=True)
    deeper.write_text("")
    places = [str(moved.resolve()), str(deeper.resolve()), str(path)]
    assert note.find_session_files() == sorted(places)


@pytest.mark.parametrize(
    ("later", "is_there", "left"), [(0, False, 1), (1, False, 0), (1, True, 1)]
)
def test_a_note_expires_once_it_is_old_and_its_session_is_gone(
    world: Path, home_dir: str, later: int, is_there: bool, left: int
) -> None:
    """Not at the very moment."""
    path = world / "s.jsonl"
    restore.write_note(home_dir, done_at(str(path)), {})
    (note,), _ = restore.read_notes_and_problems(home_dir, "s")
    if is_there:
        path.write_text("")

    restore.forget_notes_of_gone_sessions(home_dir, note.at + later)

    assert len(restore.read_notes_and_problems(home_dir, "s")[0]) == left


def test_a_session_without_notes_has_nothing_to_undo(session: Recorded) -> None:
    """It is one piece, from its start to its end."""
    session.prompt()

    found = restore.plan_full_restore(session.path, session.home_dir)

    assert (found.undone, found.stale, found.problems) == ([], [], [])
    (piece,) = found.pieces
    assert (piece.start, piece.end, piece.begins_line) == (0, len(session.data), False)


@pytest.mark.parametrize("adds", [b"", b'{"type":"later"}\n'])
def test_a_rewrite_that_was_undone_by_hand_is_stale(session: Recorded, adds: bytes) -> None:
    """There is nothing to undo, and a restore of others forgets its note."""
    session.prompt()
    session.call(output("build"))
    session.talk()
    before = session.data
    session.purge()
    purged = session.data
    session.data = before + adds

    found = restore.plan_full_restore(session.path, session.home_dir)

    assert (len(found.stale), found.undone, found.problems) == (1, [], [])
    assert [(piece.start, piece.end) for piece in found.pieces] == [(0, len(before + adds))]
    session.purge()
    assert session.data == purged + adds
    session.restore()
    assert session.data == before + adds
    assert restore.read_notes_and_problems(session.home_dir, "session") == ([], [])


def test_a_restore_tells_its_progress_and_may_keep_the_notes(session: Recorded) -> None:
    """Every byte that is written is told of."""
    session.prompt()
    session.call(output("build"))
    session.talk()
    before, told = session.data, list[int]()
    session.purge()
    os.utime(session.path, (LONG_AGO, LONG_AGO))
    found = restore.plan_full_restore(session.path, session.home_dir)

    done = restore.restore(found, quiet_s=0.01, forgets=False, progress=told.append)

    assert session.data == before
    assert sum(told) == len(before)
    assert done.swapped
    assert len(restore.read_notes_and_problems(session.home_dir, "session")[0]) == 1
