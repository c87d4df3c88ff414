"""Which session a running client is in, after `/clear` and beside others."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from brimline import paths
from brimline.testing import SessionBuilder
from brimline.transcript import lineage

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture
def build(project_dir: str) -> Callable[..., SessionBuilder]:
    """Sessions of one project, each written at a given time."""

    def make(session_id: str, at: float, began_with: str) -> SessionBuilder:
        folder = paths.project_transcripts(project_dir)
        built = SessionBuilder(f"{folder}/{session_id}.jsonl", session_id, project_dir)
        built.reply(1_000, session_id=began_with)
        os.utime(built.path, (at, at))
        return built

    return make


def test_a_client_that_never_cleared_is_in_its_first_session(
    build: Callable[..., SessionBuilder],
) -> None:
    """Whatever other clients do in the same project."""
    build("first", 10, began_with="first")
    build("other", 20, began_with="other")
    build("old", 5, began_with="first")

    assert lineage.current("first") == "first"


def test_after_clear_it_is_in_the_latest_that_names_the_first(
    build: Callable[..., SessionBuilder],
) -> None:
    """Also where another client wrote last."""
    build("first", 10, began_with="first")
    build("second", 20, began_with="first")
    build("third", 30, began_with="first")
    build("other", 40, began_with="other")

    assert lineage.current("first") == "third"


@pytest.mark.parametrize("session", ["unknown", "../up", "", "\ud800", "a" * 500])
def test_an_id_without_a_transcript_stays_as_it_is(session: str) -> None:
    """It is foreign text, and nothing is made of it."""
    assert lineage.current(session) == session


def test_torn_and_foreign_rows_name_nothing(build: Callable[..., SessionBuilder]) -> None:
    """Text that merely mentions the id is no row of that client."""
    build("first", 10, began_with="first")
    other = build("other", 20, began_with="other")
    other.raw('"session_id":"first"\n["session_id":"first"\n{"a":{"session_id":"first"}}\n{"sess')
    os.utime(other.path, (30, 30))

    assert lineage.current("first") == "first"
