"""`brimline history`: one of three pages, each as a document too."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from brimline.fast import paths
from brimline.state.session import SessionState
from brimline.testing import SessionBuilder

if TYPE_CHECKING:
    from .conftest import Run


@pytest.fixture
def session(project_dir: str) -> SessionBuilder:
    """A session of the project with two requests and a compaction."""
    path = f"{paths.project_transcripts_dir(project_dir)}/abc.jsonl"
    built = SessionBuilder(path, session_id="abc", cwd=project_dir)
    built.prompt("hello")
    built.reply(50_000)
    built.compact(60_000)
    built.reply(20_000)
    return built


@pytest.mark.parametrize(
    ("option", "own", "others"),
    [
        ("--cache", "sessions", ("session_count", "compaction_count")),
        ("--compactions", "compactions", ("turns",)),
    ],
)
def test_each_page_has_its_own_document(
    option: str, own: str, others: tuple[str, ...], session: SessionBuilder, brimline: Run
) -> None:
    """And none of another's."""
    document = brimline("history", option, "--json").document

    assert own in document
    assert not [name for name in others if name in document]


def test_of_one_session_every_break_of_its_cache_is_listed(
    session: SessionBuilder, brimline: Run
) -> None:
    """Of all of them only how many."""
    every, one = (
        brimline("history", "--cache", *words).out for words in ([], ["--session", "abc"])
    )

    assert every.split("\n")[2].split()[:2] == ["abc", "2"]
    assert "written again: compaction" not in every
    assert "written again: compaction" in one


def test_what_a_reader_should_know_is_noted_beside_the_page(
    session: SessionBuilder, home_dir: str, brimline: Run
) -> None:
    """A program finds it in the document, and is told nothing else."""
    state = SessionState(home_dir, "abc")
    state.spool_event("SessionStart", {})
    with open(f"{state.folder}/spool.jsonl", "ab") as spool:
        spool.write(b"torn\n")
    told = "1 piece of spool files: damaged, without an event"

    person, program = brimline("history"), brimline("history", "--json")

    assert person.err == f"note: {told}\n"
    assert program.err == ""
    assert program.document["notes"] == [told]
