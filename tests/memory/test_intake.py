"""What goes into the search: how texts are parted, what stays out, what is taken in when."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest
from tests.memory.worlds import QUESTION, SESSION, recorded, talked

from brimline.carry import ledger, notes
from brimline.fast import paths
from brimline.memory import deep, forget, hits, overview, traces
from brimline.memory.forget import Kept
from brimline.search import stored, vectors
from brimline.search.turns import Entry
from brimline.state import forgotten
from brimline.state.forgotten import Asked
from brimline.testing import text_block

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("a" * 1_500, [1_500]),
        ("a" * 1_501, [1_500, 1]),
        ("a" * 700 + "\n\n" + "b" * 800, [1_501]),
        ("a" * 701 + "\n\n" + "b" * 800, [701, 800]),
        ("a" * 1_000 + "\n- " + "b" * 1_000, [1_000, 1_002]),
        ("\n\n".join(["a" * 1_500] * 13), [1_500] * 12),
        ("  ", []),
    ],
)
def test_a_text_is_parted_where_paragraphs_end(text: str, sizes: list[int]) -> None:
    """Into at most twelve parts; the first keeps its name, the others are numbered."""
    parts = list(deep.split_into_parts(Entry("x", text)))

    assert [len(part.text) for part in parts] == sizes
    assert [part.ref for part in parts] == ["x", *[f"x#{n}" for n in range(2, 13)]][: len(sizes)]


def test_what_was_forgotten_stays_out_until_it_is_said_again(home_dir: str) -> None:
    """A session, a project with its folders, or what is older than a moment; nothing else."""
    forgotten.note_forgotten(home_dir, 100.0, {"session": "s1"})
    forgotten.note_forgotten(home_dir, 100.0, {"project": "/p"})
    forgotten.note_forgotten(home_dir, 100.0, {"before": 50.0})
    refused = deep.Refused(home_dir, [])

    def is_out(at: float, group: str = "s2", project: str = "/q") -> bool:
        return refused(Entry("r", "t", group, at, "user", project))

    assert is_out(100.0, "s1") is True
    assert is_out(100.0, "s1/notes") is True
    assert is_out(100.1, "s1") is False
    assert is_out(100.0, project="/p/below") is True
    assert is_out(100.0, project="/pq") is False
    assert is_out(49.9) is True
    assert is_out(50.0) is False


def test_what_was_said_at_an_unknown_time_stays_in_when_others_are_forgotten(
    home_dir: str,
) -> None:
    """Nobody asked for its end."""
    forgotten.note_forgotten(home_dir, 100.0, {"session": "s1"})

    assert not deep.Refused(home_dir, [])(Entry("r", "t", "s2"))
    assert deep.Refused(home_dir, ["/ex"])(Entry("r", "t", "s2", project="/ex/a"))


@pytest.mark.parametrize(
    ("project", "excluded"),
    [("/a/b", True), ("/a/b/c", True), ("/a/bc", False), ("/x/tmp", True), ("", False)],
)
def test_a_project_is_excluded_with_all_below_it(project: str, excluded: bool) -> None:
    """By its name, or by a pattern."""
    assert deep.is_excluded_project(project, ["/a/b", "*/tmp"]) is excluded


def test_each_source_is_taken_in_once(home_dir: str, project_dir: str) -> None:
    """Without any nothing is made; what is unread is known by its size."""
    assert deep.index_sources(home_dir, project_dir) == deep.Taken(0, 0)
    assert not os.path.exists(stored.search_folder(home_dir))
    session = talked(project_dir)
    assert deep.bytes_of_unread_sources(home_dir, project_dir) == os.path.getsize(session.path)
    sizes: list[int] = []

    assert deep.index_sources(home_dir, project_dir, progress=sizes.append) == deep.Taken(6, 0)
    assert sizes == [os.path.getsize(session.path)]
    assert deep.index_sources(home_dir, project_dir, progress=sizes.append) == deep.Taken(0, 0)
    assert len(sizes) == 1
    assert deep.bytes_of_unread_sources(home_dir, project_dir) == 0


def test_without_time_one_source_is_read_in_any_case(home_dir: str, project_dir: str) -> None:
    """And the others are counted."""
    for number in (1, 2, 3):
        recorded(project_dir, f"{SESSION[:-1]}{number}").prompt(QUESTION)

    assert deep.index_sources(home_dir, project_dir, until=0.0) == deep.Taken(1, 2)
    assert deep.index_sources(home_dir, project_dir) == deep.Taken(2, 0)


def test_a_row_without_a_time_has_none() -> None:
    """And a turn's entries say where it begins."""
    rows: list[tuple[int, dict[str, Any]]] = [
        (7, {"type": "user", "uuid": "u", "message": {"role": "user", "content": "Hello."}}),
        (
            9,
            {
                "type": "assistant",
                "uuid": "a",
                "message": {"role": "assistant", "content": [text_block("Yes?")]},
            },
        ),
    ]

    spoken = list(deep.entries_of_what_was_said(rows))

    assert [(at, entry.at, entry.source) for at, entry in spoken] == [
        (7, 0.0, "user"),
        (7, 0.0, "reply"),
    ]


def test_a_note_is_as_old_as_it_says(home_dir: str, project_dir: str) -> None:
    """Not as old as its file."""
    note = notes.append_note(home_dir, SESSION, ledger.KEEP, "Never touch the ostrich tables.")
    path = f"{paths.carry_session_dir(home_dir, SESSION)}/{notes.FILE_NAME}"
    os.utime(path, (1_000, 1_000))

    deep.index_sources(home_dir, project_dir)

    rows = hits.open_memory(home_dir).run_on_database(
        lambda base: base.execute("SELECT ref, source, session, at FROM entries").fetchall()
    )
    assert [row[:3] for row in rows] == [(f"note:{SESSION}:{note}", "note", f"{SESSION}/notes")]
    assert rows[0][3] > 1_000_000


def test_a_checkpoint_that_says_nothing_of_its_own_is_no_entry(
    home_dir: str, project_dir: str
) -> None:
    """Messages and notes are taken in by themselves."""
    folder = paths.carry_session_dir(home_dir, SESSION)
    os.makedirs(folder)
    for text, added in (
        ("# Head\n\n## Messages of the user\nx\n\n## Notes\ny\n", 0),
        ("# Head\n\n## Notes\ny\n\n## Files\na.py\n", 1),
    ):
        with open(f"{folder}/checkpoint.md", "w", encoding="utf-8") as file:
            file.write(text)
        assert deep.index_sources(home_dir, project_dir) == deep.Taken(added, 0)


def test_entries_taken_in_without_the_table_of_meanings_get_theirs_with_it(
    home_dir: str, project_dir: str
) -> None:
    """The next time that there is time for it."""
    talked(project_dir)
    deep.index_sources(home_dir, project_dir)
    memory = hits.open_memory(home_dir)

    def lacking(until: float) -> int:
        memory.run_on_database(lambda base: base.execute("UPDATE entries SET has_vector = 0"))
        deep.index_sources(home_dir, project_dir, until=until)
        asked = "SELECT count(*) FROM entries WHERE NOT has_vector"
        found: int = memory.run_on_database(lambda base: base.execute(asked).fetchone()[0])
        return found

    assert lacking(0.0) == 6
    assert lacking(float("inf")) == (0 if vectors.load_table() else 6)


def test_the_sessions_that_something_is_kept_of_are_known_with_their_project(
    home_dir: str, project_dir: str
) -> None:
    """One that nothing is kept of is the client's alone."""
    session = talked(project_dir)
    deep.index_sources(home_dir, project_dir)
    recorded(project_dir, SESSION[:-1] + "9").prompt("Hello.")

    kept = forget.sessions_with_kept_data(home_dir)

    assert kept == {SESSION: Kept(os.path.realpath(project_dir), os.path.getmtime(session.path))}


def test_forgetting_tells_what_went_by_kind(home_dir: str, project_dir: str) -> None:
    """A dry run the same, and nothing is gone."""
    talked(project_dir)
    deep.index_sources(home_dir, project_dir)
    nothing = {"sessions": 1, "outputs": 0, "entries": 0, "files": 0, "backups": 0}

    would = forget.forget(home_dir, Asked((SESSION,)), dry_run=True)
    assert would == nothing | {"entries": 6}
    assert forget.forget(home_dir, Asked((SESSION,))) == would
    assert forget.forget(home_dir, Asked((SESSION,)), dry_run=True) == nothing


def test_what_was_forgotten_is_on_record_unless_it_was_a_dry_run(home_dir: str) -> None:
    """By project, by time and by session, so that none of it is taken in again."""
    asked = Asked(("s1", "s2"), "/p", 5.0)
    forget.forget(home_dir, asked, dry_run=True)
    assert forgotten.read_forgotten_lines(home_dir) == []

    forget.forget(home_dir, asked)

    told = [{**line, "at": line["at"] > 0} for line in forgotten.read_forgotten_lines(home_dir)]
    known = {"v": 1, "at": True}
    assert told == [
        known | {"project": "/p"},
        known | {"before": 5.0},
        known | {"session": "s1", "cursor": {}},
        known | {"session": "s2", "cursor": {}},
    ]


def test_entries_are_forgotten_by_session_project_and_time(home_dir: str, project_dir: str) -> None:
    """Topics are the user's own; without a search nothing is counted."""
    assert traces.forget(home_dir, Asked(("s",)), dry_run=True) == {"entries": 0}
    assert list(traces.sessions(home_dir)) == []
    memory = hits.open_memory(home_dir)
    memory.put_entries(
        [
            Entry("1", "a", "s", 5.0, "user", "/p"),
            Entry("2", "b", "s/notes", 6.0, "note", "/q"),
            Entry("3", "c", "t", 7.0, "user", "/p"),
            Entry("4", "d", "/f.md", 1.0, "topic", "/p"),
        ]
    )

    def would(*asked: Any, **more: Any) -> dict[str, int]:
        return traces.forget(home_dir, Asked(*asked, **more), dry_run=True)

    assert would(("s",)) == {"entries": 2}
    assert would((), project="/p") == {"entries": 2}
    assert would((), before=7.0) == {"entries": 2}
    assert would(("s",), project="/p", before=7.0) == {"entries": 3}
    assert sorted(traces.sessions(home_dir)) == [
        ("s", "/p", 5.0),
        ("s", "/q", 6.0),
        ("t", "/p", 7.0),
    ]
    assert traces.forget(home_dir, Asked((), "/p"), dry_run=False) == {"entries": 2}
    assert would(("s",)) == {"entries": 1}


def test_how_much_there_is(home_dir: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing, at first; meaning is searched where there is a table."""
    folder = str(tmp_path / "memory")
    empty = {"folder": folder, "topics": 0, "index_bytes": 0, "entries": {}, "sessions": 0}
    assert overview.status_document(home_dir, folder) == empty | {
        "vectors": vectors.load_table() is not None
    }
    memory = hits.open_memory(home_dir)
    memory.put_entries([Entry("1", "a", "s", 5.0, "user"), Entry("2", "b", "/f.md", 1.0, "topic")])
    monkeypatch.setattr(vectors, "load_table", lambda: None)

    there = overview.status_document(home_dir, folder)

    assert there == empty | {
        "entries": {"user": 1, "topic": 1},
        "sessions": 1,
        "vectors": False,
    }


def test_an_entry_is_opened_with_its_neighbours(home_dir: str) -> None:
    """Without a score: nobody searched."""
    memory = hits.open_memory(home_dir)
    memory.put_entries([Entry(str(n), f"text {n}", "s", float(n)) for n in range(1, 6)])

    document = hits.entry_with_neighbours(home_dir, "m3")

    assert [entry["key"] for entry in document["entries"]] == ["m2", "m3", "m4"]
    assert {entry["score"] for entry in document["entries"]} == {0.0}
    assert hits.is_entry_key("m3") is True
    assert hits.is_entry_key("m") is False


def test_a_key_that_is_none_is_told_by_its_beginning(home_dir: str) -> None:
    """The first forty characters."""
    from brimline.errors import StoreError

    with pytest.raises(StoreError, match=f"^'{'x' * 40}' is no key"):
        hits.entry_with_neighbours(home_dir, "x" * 50)
