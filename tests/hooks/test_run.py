"""From an event to its answer, as functions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from brimline import config
from brimline.fast import paths
from brimline.hooks import table
from brimline.hooks.entry import respond
from brimline.hooks.turn import Turn
from brimline.hooks.wire import Event
from brimline.testing import SessionBuilder, bash_event, event

from .processes import spool


@pytest.mark.row("S4-19", "S1-24")
def test_a_session_is_warned_once_per_tier(session: SessionBuilder, home_dir: str) -> None:
    """From calm to critical through real events, each tier is announced exactly once."""
    spoken = []
    for tokens in range(80_000, 167_000, 3_000):
        session.reply(tokens)
        answer = respond("PostToolUse", _raw(bash_event(session)), home_dir)
        if answer and b"Still critical" not in answer:
            note = json.loads(answer)["hookSpecificOutput"]["additionalContext"]
            spoken.append(note.partition("tier ")[2][:2])

    assert spoken == ["L1", "L2", "L3", "L4"]


def test_prompts_and_results_share_their_tiers(session: SessionBuilder, home_dir: str) -> None:
    """What a prompt was told, the next result does not repeat."""
    session.reply(145_000)

    first = respond("UserPromptSubmit", _raw(event("UserPromptSubmit", session)), home_dir)
    second = respond("PostToolUse", _raw(bash_event(session)), home_dir)

    assert json.loads(first)["hookSpecificOutput"]["hookEventName"] == "UserPromptSubmit"
    assert second == b""


@pytest.mark.row("S4-10")
def test_a_quiet_preset_still_measures(
    session: SessionBuilder, home_dir: str, world: Path, project_dir: str
) -> None:
    """The spool fills, nothing is said."""
    config.change(paths.user_config(home_dir), "guard.preset", "off", project=False)
    config.compile_policy(home_dir, project_dir)
    session.reply(165_000)

    assert respond("PostToolUse", _raw(bash_event(session)), home_dir) == b""
    assert spool(world)[0]["tier"] == 4


@pytest.mark.row("S3-30")
@pytest.mark.parametrize("name", ["BRIMLINE_OFF", "CLAUDE_HOOKS_PASSTHROUGH"])
def test_the_switch_turns_every_event_off(
    name: str, session: SessionBuilder, home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even the spool is written."""
    monkeypatch.setenv(name, "1")
    session.reply(165_000)

    for answered in table.EVENTS:
        assert respond(answered, _raw(bash_event(session)), home_dir) == b""
    assert not Path(home_dir).exists()


def test_the_project_is_the_sessions_not_the_current_folder(
    session: SessionBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client names it in the environment; the event's folder may be anywhere below."""
    found = Event("PostToolUse", _raw(bash_event(session, cwd="/somewhere/else")))
    assert Turn(found, "/h").project == "/somewhere/else"

    monkeypatch.setenv("CLAUDE_PROJECT_DIR", "/project")
    assert Turn(found, "/h").project == "/project"

    monkeypatch.delenv("CLAUDE_PROJECT_DIR")
    assert Turn(Event("PostToolUse", b"{}"), "/h").project == "/"


@pytest.fixture
def reminder(home_dir: str, world: Path, project_dir: str) -> str:
    """A reminder of the user's, put before the model with the next prompt."""
    file = world / "reminder.md"
    file.write_text("Never touch prod_db.")
    config.change(paths.user_config(home_dir), "reminder.file", str(file), project=False)
    config.compile_policy(home_dir, project_dir)
    return "Never touch prod_db."


@pytest.mark.row("S1-11", "S1-12", "S1-23")
def test_all_notes_of_an_event_are_one_answer_the_warning_first(
    session: SessionBuilder, home_dir: str, reminder: str
) -> None:
    """One process, one document: the tier, then the user's reminder, each of them whole."""
    alone = respond("UserPromptSubmit", _raw(event("UserPromptSubmit", session)), home_dir)
    session.reply(145_000)
    session.session_id = "another"

    both = respond("UserPromptSubmit", _raw(event("UserPromptSubmit", session)), home_dir)

    warning, _, rest = _note(both).partition("\n\n")
    assert "tier L2" in warning
    assert reminder in rest
    assert rest == _note(alone)


@pytest.mark.parametrize("kind", ["unnamed", "missing", "empty"])
@pytest.mark.row("S1-06", "S1-07", "S1-08")
def test_an_unknown_fill_warns_of_nothing_and_leaves_other_notes_alone(
    kind: str, session: SessionBuilder, home_dir: str, world: Path, reminder: str
) -> None:
    """Without a path, before the file exists and while it is empty."""
    (world / "empty").write_text("")
    path = {"unnamed": None, "missing": str(world / "later"), "empty": str(world / "empty")}[kind]
    payload = event("UserPromptSubmit", session, transcript_path=path)

    note = _note(respond("UserPromptSubmit", _raw(payload), home_dir))

    assert reminder in note
    assert "tier" not in note


@pytest.mark.row("S1-09")
def test_the_size_of_a_transcript_does_not_move_the_figure(
    session: SessionBuilder, home_dir: str, world: Path
) -> None:
    """Bulk on disk that the model never sees changes nothing."""
    session.reply(40_000)
    session.tool_result("toolu_1", "ok")
    for _ in range(20):
        session.row("progress", data={"output": "x" * 50_000})

    assert respond("PostToolUse", _raw(bash_event(session, "")), home_dir) == b""
    assert spool(world)[0]["occupancy"] == 40_000
    assert spool(world)[0]["tail"] == 120


def test_a_session_start_leaves_what_it_was_told(
    session: SessionBuilder, home_dir: str, world: Path
) -> None:
    """Source and model are on record, empty fields are not."""
    payload = event("SessionStart", session, source="compact", model="claude-opus-5")

    assert respond("SessionStart", _raw(payload), home_dir) == b""

    (line,) = spool(world)
    assert (line["event"], line["source"], line["model"]) == (
        "SessionStart",
        "compact",
        "claude-opus-5",
    )
    assert Path(paths.policy_file(home_dir, session.cwd)).exists()


@pytest.mark.row("S1-17")
def test_settings_changed_meanwhile_hold_from_the_next_session_start(
    session: SessionBuilder, home_dir: str
) -> None:
    """Hooks read the compiled file only; SessionStart brings it up to date."""
    respond("SessionStart", _raw(event("SessionStart", session)), home_dir)
    config.change(paths.user_config(home_dir), "compaction_tokens", "50000", project=False)
    session.reply(45_000)

    assert respond("PostToolUse", _raw(bash_event(session)), home_dir) == b""
    respond("SessionStart", _raw(event("SessionStart", session, source="resume")), home_dir)
    assert b"tier L4" in respond("PostToolUse", _raw(bash_event(session)), home_dir)


def test_the_clients_settings_move_the_tiers(
    session: SessionBuilder, home_dir: str, project_dir: str
) -> None:
    """An auto-compact window in the project's settings is in force after the start."""
    Path(project_dir, ".claude").mkdir()
    Path(project_dir, ".claude/settings.json").write_text('{"autoCompactWindow": 100000}')
    respond("SessionStart", _raw(event("SessionStart", session)), home_dir)
    session.reply(60_000)

    answer = respond("PostToolUse", _raw(bash_event(session)), home_dir)

    assert b"compaction expected at 67,000" in answer
    assert b"tier L3" in answer


@pytest.mark.row("S0-28")
def test_the_status_lines_window_is_used_by_hooks(session: SessionBuilder, home_dir: str) -> None:
    """A million tokens on the screen make 160,000 a calm reading."""
    session.now = 1_000_000_000.0
    session.reply(160_000)
    payload = {"session_id": session.session_id, "context_window": {"context_window_size": 10**6}}
    respond("statusline", _raw(payload), home_dir)

    assert respond("PostToolUse", _raw(bash_event(session)), home_dir) == b""


def _note(answer: bytes) -> str:
    note: str = json.loads(answer)["hookSpecificOutput"]["additionalContext"]
    return note


def _raw(payload: dict[str, Any]) -> bytes:
    return json.dumps(payload).encode()
