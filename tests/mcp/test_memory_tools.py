"""Memory through the server: what was said comes back with source and age, topics are kept."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.mcp.conversation import Server
from tests.recall.worlds import ANSWER, QUESTION, SESSION, recorded, talked

from brimline.bulk import put
from brimline.fast import paths
from brimline.mcp import recall, tools
from brimline.recall import deep
from brimline.transcript.project import Project

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_CHARACTERS = 4_400  # 2,000 tokens, of 2.2 characters each


def said(server: Server, tool: str, /, **arguments: object) -> str:
    """The text that a tool answers."""
    return server.call(tool, **arguments)[0]


@pytest.fixture
def server(project_dir: str) -> Iterator[Server]:
    """One that runs in the project."""
    with Server(cwd=project_dir) as running:
        running.hello()
        yield running


def test_a_query_finds_what_was_said_and_what_was_stored(
    home_dir: str, project_dir: str, server: Server
) -> None:
    """Each with where it is from and how old it is; a key shows one with its neighbours."""
    talked(project_dir)
    put.put(home_dir, b"the store of sessions\n", {"cwd": project_dir, "tool": "Bash"})
    text = said(server, "recall", query="why did we drop the session store")

    row = next(line for line in text.splitlines() if QUESTION in line)
    assert re.match(rf"m\d+ \(user, \d+ \w+ ago, session {SESSION[:8]}\): ", row) or "just" in row
    assert "the store of sessions" in text
    long = said(server, "recall", query=f"{QUESTION} And what was it with the server of its own?")
    assert QUESTION in long
    assert "[stored outputs were not searched: the query has too many words" in long
    shown = said(server, "recall", key=row.split()[0])
    assert QUESTION in shown
    assert ANSWER in shown
    assert SESSION in shown


def test_other_projects_only_on_request(world: Path, project_dir: str, server: Server) -> None:
    """Neither by a query nor by a key."""
    (world / "other").mkdir()
    recorded(str(world / "other"), SESSION).prompt("The albatross plan.")
    assert "albatross plan" not in said(server, "recall", query="albatross")
    found = said(server, "recall_elsewhere", query="albatross")
    assert "albatross plan" in found
    key = re.search(r"m\d+", found)
    assert key is not None
    assert "`recall_elsewhere` asks" in said(server, "recall", key=key[0])
    assert "albatross plan" in said(server, "recall_elsewhere", key=key[0])
    assert "no entry m999" in said(server, "recall", key="m999")


def test_an_answer_stays_within_2000_tokens(home_dir: str, project_dir: str) -> None:
    """However much fits; it says how to get more."""
    session = recorded(project_dir)
    for number in range(40):
        session.prompt(f"Needle {number}. " + "Many words about it. " * 100)
        put.put(home_dir, f"needle {number} {'x' * 400}\n".encode() * 30, {"cwd": project_dir})
    deep.index_sources(home_dir, project_dir)  # however busy the machine is
    text = recall.answer(home_dir, project_dir, Project((project_dir,)), {"query": "needle words"})
    assert recall.characters_as_client_counts(text) <= MOST_CHARACTERS
    assert 'key="m…"' in text
    assert 'next: lines="' in text
    key = re.search(r"^m\d+", text, re.MULTILINE)
    assert key is not None
    assert (
        len(recall.answer(home_dir, project_dir, Project((project_dir,)), {"key": key[0]}))
        <= MOST_CHARACTERS
    )


@pytest.mark.row("S4-05", "S4-06")
def test_what_the_model_remembers_is_a_topic_marked_as_its_own(
    project_dir: str, server: Server
) -> None:
    """With its line in the index; an unknown type or a missing part is a sentence."""
    parts = {
        "name": "deploys",
        "type": "project",
        "description": "How we deploy",
        "text": "By tag.",
    }
    assert "Kept in" in said(server, "remember", **parts)
    folder = Path(paths.project_transcripts_dir(project_dir), "memory")
    assert "source: model" in (folder / "deploys.md").read_text(encoding="utf-8")
    assert "How we deploy" in (folder / "MEMORY.md").read_text(encoding="utf-8")

    assert "no type 'x'" in said(server, "remember", **parts | {"name": "b", "type": "x"})
    assert "there already" in said(server, "remember", **parts)
    assert "needs name, type" in said(server, "remember", name="c")


def test_without_a_search_file_a_key_still_gives_its_output(
    home_dir: str, project_dir: str
) -> None:
    """Words are refused in a sentence that names the folder."""
    key = put.put(home_dir, b"content", {"cwd": project_dir})
    Path(home_dir, "search").write_text("in the way", encoding="utf-8")
    told, failed = tools.answer("recall", {"query": "content"})
    assert (failed, f"{home_dir}/search: Not a directory" in told) == (True, True)
    assert "content" in tools.answer("recall", {"key": key})[0]
