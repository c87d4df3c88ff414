"""Memory's face to the hooks: when the index is given, and how much of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from brimline.fast import paths
from brimline.fast.decision import Decision
from brimline.hooks import entry
from brimline.recall import deep, hits, hook
from brimline.testing import event

if TYPE_CHECKING:
    from brimline.hooks.turn import Turn
    from brimline.testing import SessionBuilder


@pytest.fixture
def index(project_dir: str) -> Path:
    """The index of a project, where the client's own memory is switched off."""
    folder = Path(paths.project_transcripts_dir(project_dir), "memory")
    folder.mkdir(parents=True)
    settings = Path(paths.client_config_dir(), "settings.json")
    settings.write_text('{"autoMemoryEnabled": false}', encoding="utf-8")
    return folder / "MEMORY.md"


def begun(session: SessionBuilder, home_dir: str, source: str = "startup") -> Turn:
    """A session that begins."""
    raw = json.dumps(event("SessionStart", session, source=source)).encode()
    turn = entry.open_turn("SessionStart", raw, home_dir)
    assert turn is not None
    return turn


@pytest.mark.parametrize(
    ("source", "is_given"),
    [("startup", True), ("clear", True), ("compact", True), ("resume", False)],
)
def test_the_index_is_given_where_a_context_begins_anew(
    index: Path, session: SessionBuilder, home_dir: str, source: str, is_given: bool
) -> None:
    """A session that is resumed has it already."""
    index.write_text("- [One](one.md) — about one\n", encoding="utf-8")

    said = hook.session_start(begun(session, home_dir, source))

    if not is_given:
        assert said is None
    else:
        assert said is not None
        head = f"[brimline] Memory of this project, from {index.parent}/MEMORY.md (the files beside"
        assert said.model_notes == (f"{head} it tell more):\n- [One](one.md) — about one",)


@pytest.mark.parametrize("text", ["", "\n \n"])
def test_an_index_that_says_nothing_is_not_given(
    index: Path, session: SessionBuilder, home_dir: str, text: str
) -> None:
    """Nor is one that is not there."""
    assert hook.session_start(begun(session, home_dir)) is None
    index.write_text(text, encoding="utf-8")

    assert hook.session_start(begun(session, home_dir)) is None


LEAST = hook._LEAST_CHARACTERS


@pytest.mark.parametrize(("room", "is_given"), [(LEAST, False), (LEAST + 1, True)])
def test_in_little_room_nothing_is_said(
    index: Path, session: SessionBuilder, home_dir: str, room: int, is_given: bool
) -> None:
    """Little beside the line that tells where it is from is too little."""
    index.write_text("- [One](one.md) — about one\n" * 99, encoding="utf-8")
    turn = begun(session, home_dir)
    head = hook._HEAD.format(index.parent)
    others = turn.characters_left_for_notes() - room - len(head) - 4
    turn.decisions.append(Decision(model_notes=("x" * others,)))

    said = hook.session_start(turn)

    assert (said is not None) is is_given
    if said:
        assert len(said.model_notes[0]) <= len(head) + room
        assert said.model_notes[0].endswith("\n[truncated]")


def test_housekeeping_takes_in_what_was_said(
    session: SessionBuilder, home_dir: str, project_dir: str
) -> None:
    """But for what is excluded."""
    path = Path(paths.project_transcripts_dir(project_dir), f"{session.session_id}.jsonl")
    session.path = str(path)
    session.prompt("The otter swims.")
    turn = begun(session, home_dir)

    hook.tidy(turn, float("inf"))
    found = [hit.record.text for hit in hits.open_or_make_memory(home_dir).search("otter")]
    session.prompt("The otter dives.")
    turn.values["memory.exclude"] = None  # it could not be read
    hook.tidy(turn, float("inf"))
    kept = [hit.record.text for hit in hits.open_or_make_memory(home_dir).search("otter")]
    turn.values["memory.exclude"] = ["/"]
    hook.tidy(turn, float("inf"))

    assert found == kept == ["The otter swims."]
    assert hits.open_or_make_memory(home_dir).search("otter") == []
    assert deep.bytes_of_unread_sources(home_dir, project_dir) == 0
