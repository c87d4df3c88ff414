"""`brimline history`: what is noted beside the page."""

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
