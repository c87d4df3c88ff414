"""Finding sessions: the newest of a project, the one with an id, or a sentence."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from brimline.errors import SessionError
from brimline.fast import paths
from brimline.testing import SessionBuilder
from brimline.transcript import find
from brimline.transcript.find import _LOOK_BYTES, _MOST_LATER_FILES

if TYPE_CHECKING:
    from collections.abc import Callable


def test_the_newest_session_of_a_project_is_found(project_dir: str) -> None:
    """The file written last wins; other files and folders are no sessions."""
    folder = Path(paths.project_transcripts_dir(project_dir))
    folder.mkdir(parents=True)
    for age, name in enumerate(["new.jsonl", "old.jsonl", "notes.txt"]):
        (folder / name).write_text("{}\n")
        os.utime(folder / name, (1_000_000 - age, 1_000_000 - age))
    (folder / "folder.jsonl").mkdir()

    assert find.newest_in_project(project_dir) == str(folder / "new.jsonl")
    assert find.newest_in_project(project_dir + "/src/deep") == str(folder / "new.jsonl")
    with pytest.raises(SessionError, match="no session in this folder yet"):
        find.newest_in_project("/another/project")


def test_a_session_is_found_by_its_id_in_any_project() -> None:
    """The id alone is enough."""
    folder = Path(paths.client_config_dir()) / "projects" / "-some-where"
    folder.mkdir(parents=True)
    (folder / "abc-1.jsonl").write_text("")

    assert find.transcript_by_id_start("abc-1") == str(folder / "abc-1.jsonl")
    assert find.session_id_of(find.transcript_by_id_start("abc-1")) == "abc-1"
    with pytest.raises(SessionError, match="no session 'xyz' is known"):
        find.transcript_by_id_start("xyz")


@pytest.mark.row("S4-45")
@pytest.mark.parametrize("session_id", ["../secret", "*", "a/b", ""])
def test_an_id_that_is_no_id_never_becomes_a_path(session_id: str) -> None:
    """Foreign characters are refused, not searched for."""
    with pytest.raises(SessionError, match=r"no session .* is known"):
        find.transcript_by_id_start(session_id)


@pytest.mark.parametrize(
    "content", [b"\0" * 5_000, b"plain text\n" * 9, b"[1, 2]\n", b"\xff\xfe\x00"]
)
def test_what_is_no_transcript_is_refused(content: bytes, tmp_path: Path) -> None:
    """A wrong file gets a sentence, not an empty reading."""
    path = tmp_path / "file"
    path.write_bytes(content)

    with pytest.raises(SessionError, match="is not a session's transcript"):
        find.checked_transcript(str(path))
    for good in (b"", b"\n", b'{"type":"user"}\n', b'torn{"a"\n{"type":"user"}\n'):
        path.write_bytes(good)
        find.checked_transcript(str(path))


@pytest.fixture
def build(project_dir: str) -> Callable[..., SessionBuilder]:
    """Sessions of one project, each written at a given time."""

    def make(session_id: str, at: float, began_with: str) -> SessionBuilder:
        folder = paths.project_transcripts_dir(project_dir)
        built = SessionBuilder(f"{folder}/{session_id}.jsonl", session_id, project_dir)
        built.reply(1_000, session_id=began_with)
        os.utime(built.path, (at, at))
        return built

    return make


def test_after_clear_it_is_the_latest_naming_the_first(
    build: Callable[..., SessionBuilder],
) -> None:
    """Also where another client wrote last."""
    build("first", 10, began_with="first")
    build("other", 20, began_with="other")
    build("old", 5, began_with="first")
    assert find.session_id_after_clears("first") == "first"
    build("second", 20, began_with="first")
    build("third", 30, began_with="first")
    build("other", 40, began_with="other")

    assert find.session_id_after_clears("first") == "third"


def test_torn_and_foreign_rows_name_nothing(build: Callable[..., SessionBuilder]) -> None:
    """Text that merely mentions the id is not a row of that client."""
    build("first", 10, began_with="first")
    other = build("other", 20, began_with="other")
    other.raw('"session_id":"first"\n["session_id":"first"\n{"a":{"session_id":"first"}}\n{"sess')
    os.utime(other.path, (30, 30))

    assert find.session_id_after_clears("first") == "first"


def test_a_session_has_the_same_names_everywhere(
    world: Path, project_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its id, how that begins, its file, or `last` for the newest of this project."""
    session = SessionBuilder(
        f"{paths.project_transcripts_dir(project_dir)}/1f0c2d3e-0000.jsonl", "1f0c2d3e-0000"
    )
    session.reply(20_000)
    monkeypatch.chdir(project_dir)

    for name in ("1f0c2d3e-0000", "1f0c2d3e", session.path, "last"):
        assert find.transcript_named(name) == find.wanted_transcript(name) == session.path
        assert find.wanted_session_id(name) == "1f0c2d3e-0000"
        assert find.only_matching_id(name, ["1f0c2d3e-0000", "2"]) == "1f0c2d3e-0000"


def put(folder: Path, name: str, at: float, content: str = "{}\n") -> str:
    """A file that was written at a time."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(content)
    os.utime(folder / name, (at, at))
    return str(folder / name)


@pytest.fixture
def projects() -> Path:
    """Where the client keeps the sessions of its projects."""
    return Path(paths.client_config_dir()) / "projects"


def test_all_sessions_are_told_the_newest_first(projects: Path) -> None:
    """Of every project; neither those of subagents nor folders are sessions."""
    old, new = put(projects / "-a", "old.jsonl", 10), put(projects / "-b", "new.jsonl", 20)
    put(projects / "-a", "agent-1.jsonl", 30)
    (projects / "-a" / "folder.jsonl").mkdir()

    assert find.all_transcripts() == [new, old]
    assert [find.modified_at(path) for path in (new, f"{new}.gone")] == [20.0, 0.0]


def test_folders_that_the_client_files_together_have_sessions_of_their_own(tmp_path: Path) -> None:
    """`my_app` and `my-app`; a folder without a session of its own still gets the newest there."""
    twins = [str(tmp_path / name) for name in ("my_app", "my-app", "my.app")]
    folder = Path(paths.project_transcripts_dir(twins[0]))
    made = []
    for at, project in enumerate(twins[:2], 10):
        row = json.dumps({"type": "user", "uuid": "u", "cwd": project})
        made.append(put(folder, f"{at}.jsonl", at))
        Path(made[-1]).write_text(row + "\n")
        os.utime(made[-1], (at, at))

    assert [*map(find.newest_in_project, twins)] == [*made, made[1]]


def test_of_two_files_with_one_id_the_one_written_last_is_meant(projects: Path) -> None:
    """A project that was moved leaves the other; a beginning of two ids is refused."""
    put(projects / "-a", "id-1.jsonl", 10)
    new = put(projects / "-b", "id-1.jsonl", 20)
    put(projects / "-b", "id-2.jsonl", 30)

    assert find.transcript_by_id_start("id-1") == new
    with pytest.raises(SessionError, match="2 sessions begin with 'id-'"):
        find.transcript_by_id_start("id-")


def test_what_is_heard_of_a_resumed_one_makes_it_newest(projects: Path, project_dir: str) -> None:
    """Its file is only written to by the next prompt, but its status line is drawn."""
    folder = Path(paths.project_transcripts_dir(project_dir))
    put(folder, "written.jsonl", 20)
    resumed = put(folder, "resumed.jsonl", 10)

    for name, at in (("spool.jsonl", 30), ("statusline.json", 40)):
        put(folder, "written.jsonl", at - 5)
        put(Path(paths.session_dir(paths.data_dir(), "resumed")), name, at)
        assert find.newest_in_project(project_dir) == resumed


def test_the_session_that_this_runs_in_is_meant_where_none_is_named(
    projects: Path, project_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The newest of the project where the client has not written its file yet."""
    newest = put(Path(paths.project_transcripts_dir(project_dir)), "newest.jsonl", 20)
    running = put(projects / "-b", "running.jsonl", 10)
    monkeypatch.chdir(project_dir)

    assert (find.wanted_transcript(None), find.wanted_session_id(None)) == (newest, "newest")
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "running")
    assert (find.wanted_transcript(None), find.wanted_session_id(None)) == (running, "running")
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "unwritten")
    assert (find.wanted_transcript(None), find.wanted_session_id(None)) == (newest, "unwritten")


def test_a_session_began_in_the_first_folder_that_is_told(tmp_path: Path) -> None:
    """None where no row tells, or there is no file."""
    told = put(tmp_path, "a.jsonl", 1, '{"type":"x"}\n{"cwd":"/a"}\n{"cwd":"/b"}\n')
    silent = put(tmp_path, "b.jsonl", 1)

    found = [find.folder_it_began_in(path) for path in (told, silent, f"{silent}.gone")]

    assert found == ["/a", None, None]


@pytest.mark.parametrize(
    ("others", "found"), [(_MOST_LATER_FILES - 1, "second"), (_MOST_LATER_FILES, "first")]
)
def test_of_later_files_some_are_looked_into(
    build: Callable[..., SessionBuilder], others: int, found: str
) -> None:
    """Those written last; one of the same moment as the first is a later one."""
    build("first", 10, began_with="first")
    build("second", 10, began_with="first")
    for number in range(others):
        build(f"other{number}", _MOST_LATER_FILES + number, began_with="other")

    assert find.session_id_after_clears("first") == found
    assert find.session_id_after_clears("unknown") == "unknown"


@pytest.mark.parametrize(("size", "is_refused"), [(_LOOK_BYTES - 1, True), (_LOOK_BYTES, False)])
def test_of_a_very_long_first_line_nothing_is_known(
    tmp_path: Path, size: int, is_refused: bool
) -> None:
    """It may be a row; a shorter one that does not end is none."""
    path = tmp_path / "s.jsonl"
    path.write_bytes(b'{"a":"' + b"x" * (size - 6))

    if is_refused:
        with pytest.raises(SessionError, match="is not a session's transcript"):
            find.checked_transcript(str(path))
    else:
        assert find.checked_transcript(str(path)) == str(path)
    with pytest.raises(SessionError, match=r"^cannot read .*: No such file or directory$"):
        find.checked_transcript(str(tmp_path / "gone"))


@pytest.mark.parametrize(("more", "found"), [(0, "second"), (1, "first")])
def test_who_a_session_began_with_is_looked_for_at_its_end(
    build: Callable[..., SessionBuilder], more: int, found: str
) -> None:
    """Counted from its end to where the row begins."""
    build("first", 10, began_with="first")
    second = build("second", 20, began_with="first")
    filler = find._LATER_LOOK_BYTES - os.path.getsize(second.path) + more
    second.raw(b"x" * (filler - 1) + b"\n")
    os.utime(second.path, (20, 20))

    assert find.session_id_after_clears("first") == found


NEWEST = find.MOST_ORIGINS


@pytest.mark.parametrize(("others", "is_found"), [(NEWEST - 2, True), (NEWEST - 1, False)])
def test_what_a_session_went_on_from_is_among_the_newest(
    tmp_path: Path, others: int, is_found: bool
) -> None:
    """Itself and all that were written since included."""
    origin = SessionBuilder(str(tmp_path / "origin.jsonl"))
    origin.prompt("begin")
    origin.reply(50_000)
    origin.compact(50_000)
    lines = Path(origin.path).read_bytes().splitlines(keepends=True)
    fork = tmp_path / "fork.jsonl"
    fork.write_bytes(b"".join(lines[-2:]))
    os.utime(origin.path, (10, 10))
    for number in range(others):
        other = SessionBuilder(str(tmp_path / f"other{number}.jsonl"), now=1_000.0 * number)
        other.prompt("something else")

    found = find.transcript_it_went_on_from(str(fork))

    assert found == (origin.path if is_found else None)
    assert find.transcript_it_went_on_from(origin.path) is None
