"""A session has the same names for every command that takes one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from brimline.fast import paths
from brimline.hooks.entry import respond
from brimline.testing import SessionBuilder, event, text_block

if TYPE_CHECKING:
    from tests.cli.conftest import Refused, Run

SESSION_ID = "5e1f0c2d-8a41-4f0b-b6a7-6f1f0a5b9c20"
OTHER_ID = "77aa0c2d-8a41-4f0b-b6a7-6f1f0a5b9c20"
COMMANDS = {
    "session inspect": ("session", "inspect", "{}", "--json"),
    "session inspect --session": ("session", "inspect", "--session", "{}", "--json"),
    "report": ("report", "{}", "-o", "report.html", "--json"),
    "report --session": ("report", "--session", "{}", "--json"),
    "cost": ("cost", "--session", "{}", "--json"),
    "history": ("history", "--session", "{}", "--json"),
    "forget": ("forget", "--session", "{}", "--dry-run", "--json"),
}


@pytest.fixture
def session(world: Path, monkeypatch: pytest.MonkeyPatch) -> SessionBuilder:
    """The later one of a project's two."""
    project = world / "named"
    project.mkdir()
    monkeypatch.chdir(project)
    folder = paths.project_transcripts_dir(str(project))
    for number, session_id in enumerate((OTHER_ID, SESSION_ID)):
        path = f"{folder}/{session_id}.jsonl"
        made = SessionBuilder(path, session_id, str(project), now=1_790_000_000.0 + number)
        made.prompt("Look at the batch.")
        made.reply(20_000, text_block("It is whole."))
        respond("Stop", json.dumps(event("Stop", made)).encode(), paths.data_dir())
    return made


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("name", ["id", "first eight", "file", "last"])
def test_a_session_is_named_alike_everywhere(
    command: str, name: str, session: SessionBuilder, brimline: Run
) -> None:
    """By its id, the first eight digits of it, its file, or as the last one."""
    names = {"id": SESSION_ID, "first eight": SESSION_ID[:8], "file": session.path, "last": "last"}

    done = brimline(*(part.format(names[name]) for part in COMMANDS[command]))

    assert done.code == 0, done.err
    assert SESSION_ID in done.out
    assert OTHER_ID not in done.out


@pytest.mark.parametrize("command", ["history", "cost"])
@pytest.mark.parametrize("is_there", [True, False])
def test_a_file_that_is_no_session_is_refused(
    command: str, is_there: bool, session: SessionBuilder, refused: Refused
) -> None:
    """One that is not there, or holds something else: in one sentence, and not with zero."""
    path = session.path.replace(SESSION_ID, "picture")
    if is_there:
        Path(path).write_bytes(bytes(range(256)) * 40)

    reason = refused(*command.split(), "--session", path)

    assert ("is not a session's transcript" in reason) == is_there


def test_a_report_needs_no_words(session: SessionBuilder, brimline: Run) -> None:
    """It is of the newest session, in a file that has the start of its id."""
    done = brimline("report")

    assert done.out.startswith(f"brimline-{SESSION_ID[:8]}.html: 1 request")
    assert Path(f"brimline-{SESSION_ID[:8]}.html").read_bytes().startswith(b"<!doctype html>")
