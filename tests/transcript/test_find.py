"""Finding sessions: the newest of a project, the one with an id, or a sentence."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from brimline.errors import SessionError
from brimline.fast import paths
from brimline.testing import SessionBuilder
from brimline.transcript import find

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

    assert find.newest(project_dir) == str(folder / "new.jsonl")
    assert find.newest(project_dir + "/src/deep") == str(folder / "new.jsonl")
    with pytest.raises(SessionError, match="no session in this folder yet"):
        find.newest("/another/project")


def test_a_session_is_found_by_its_id_in_any_project() -> None:
    """The id alone is enough."""
    folder = Path(paths.client_config_dir()) / "projects" / "-some-where"
    folder.mkdir(parents=True)
    (folder / "abc-1.jsonl").write_text("")

    assert find.transcript_with_id("abc-1") == str(folder / "abc-1.jsonl")
    assert find.session_id_of(find.transcript_with_id("abc-1")) == "abc-1"
    with pytest.raises(SessionError, match="no session 'xyz' is known"):
        find.transcript_with_id("xyz")


@pytest.mark.row("S4-45")
@pytest.mark.parametrize("session_id", ["../secret", "*", "a/b", ""])
def test_an_id_that_is_no_id_never_becomes_a_path(session_id: str) -> None:
    """Foreign characters are refused, not searched for."""
    with pytest.raises(SessionError, match=r"no session .* is known"):
        find.transcript_with_id(session_id)


@pytest.mark.parametrize(
    "content", [b"\0" * 5_000, b"plain text\n" * 9, b"[1, 2]\n", b"\xff\xfe\x00"]
)
def test_what_is_no_transcript_is_refused(content: bytes, tmp_path: Path) -> None:
    """A wrong file gets a sentence, not an empty reading."""
    path = tmp_path / "file"
    path.write_bytes(content)

    with pytest.raises(SessionError, match="is not a session's transcript"):
        find.require_transcript(str(path))
    for good in (b"", b"\n", b'{"type":"user"}\n', b'torn{"a"\n{"type":"user"}\n'):
        path.write_bytes(good)
        find.require_transcript(str(path))


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
    assert find.latest_of_client("first") == "first"
    build("second", 20, began_with="first")
    build("third", 30, began_with="first")
    build("other", 40, began_with="other")

    assert find.latest_of_client("first") == "third"


def test_torn_and_foreign_rows_name_nothing(build: Callable[..., SessionBuilder]) -> None:
    """Text that merely mentions the id is no row of that client."""
    build("first", 10, began_with="first")
    other = build("other", 20, began_with="other")
    other.raw('"session_id":"first"\n["session_id":"first"\n{"a":{"session_id":"first"}}\n{"sess')
    os.utime(other.path, (30, 30))

    assert find.latest_of_client("first") == "first"


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
