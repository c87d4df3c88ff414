"""From an event to its answer, as functions; and the commands that do the same by hand."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.guard.dialogue import SILENT

from brimline.fast import paths
from brimline.hooks.entry import respond
from brimline.hooks.turn import Turn
from brimline.hooks.wire import Event
from brimline.settings import config
from brimline.testing import SessionBuilder, bash_event, event, statusline_event

from .processes import environment, spool

if TYPE_CHECKING:
    from tests.guard.dialogue import Talk

LINES = "\n".join(f"line {number} of the output" for number in range(1_000))


def test_an_event_that_is_not_ours_is_not_answered(talk: Talk) -> None:
    """Not even the spool is written."""
    talk.session.reply(165_000)
    for answered in ("SubagentStop", "Notification", "posttooluse", "../PostToolUse", ""):
        assert respond(answered, _raw(bash_event(talk.session)), talk.home_dir) == b""
    assert not Path(talk.home_dir).exists()


def test_the_project_is_the_sessions_not_the_current_folder(
    session: SessionBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client names it in the environment; the event's folder may be anywhere below."""
    found = Event("PostToolUse", _raw(bash_event(session, cwd="/somewhere/else")))
    assert Turn(found, "/h").project == "/somewhere/else"
    assert Turn(Event("PostToolUse", b"{}"), "/h").project == "/"
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", "/project")

    assert Turn(found, "/h").project == "/project"


@pytest.mark.row("S1-17")
def test_settings_changed_meanwhile_hold_from_the_next_session_start(
    talk: Talk, world: Path, project_dir: str
) -> None:
    """Ours and the client's: hooks read the compiled file, SessionStart brings it up to date."""
    assert talk.tell("SessionStart", source="startup", model="claude-opus-5") == SILENT
    assert (spool(world)[0]["source"], spool(world)[0]["model"]) == ("startup", "claude-opus-5")
    config.write_setting(paths.user_config(talk.home_dir), "compaction_tokens", "50000")
    assert talk.after_tool(45_000) == SILENT
    talk.at_start("resume")
    assert "tier L4" in talk.after_tool().note
    Path(paths.user_config(talk.home_dir)).unlink()
    Path(project_dir, ".claude").mkdir()
    Path(project_dir, ".claude/settings.json").write_text('{"autoCompactWindow": 100000}')
    talk.anew("another")
    talk.at_start()

    note = talk.after_tool(60_000).note

    assert "compaction expected at 67,000" in note
    assert "tier L3" in note


@pytest.mark.parametrize(("mode", "trace"), [("advise", "Advised"), ("block", "Blocked")])
def test_what_the_scout_says_is_on_record(mode: str, trace: str, talk: Talk, world: Path) -> None:
    """A hint is one line of the spool; a refusal is audited as well; off, it says nothing."""
    read = {"tool_name": "Bash", "tool_input": {"command": "cat node_modules/a/index.js"}}
    assert talk.tell("PreToolUse", **read) == SILENT
    talk.use(scout__mode=mode)

    answer = talk.tell("PreToolUse", **read)

    assert answer.kind == ("noted" if mode == "advise" else "refused")
    assert [line["event"] for line in spool(world)] == [trace]
    assert [line["reason"] for line in talk.audit()] == ["scout"] * (mode == "block")


def test_advice_and_notes_are_on_record(talk: Talk, world: Path) -> None:
    """Advice that is given leaves a line, one that is withheld none; a reminder leaves one."""
    for _ in range(2):
        talk.load(100_000)
    (world / "rules.md").write_text("no force pushes")
    talk.use(reminder__file=world / "rules.md")
    assert "no force pushes" in talk.at_prompt().note

    assert [line["event"] for line in spool(world)] == ["Advised", "UserPromptSubmit", "Told"]


@pytest.mark.row("S3-05", "S3-06")
def test_a_subagent_is_left_alone_the_main_one_not(session: SessionBuilder, home_dir: str) -> None:
    """The same output passes where a subagent asked for it, and so does its overwrite."""
    subagent = {"agent_id": "a1b2", "agent_type": "general-purpose"}
    log = bash_event(session, LINES, tool_input={"command": "cat app.log"})

    assert _answer("PostToolUse", log | subagent, home_dir) == {}
    replaced = _answer("PostToolUse", log, home_dir)
    assert replaced["updatedToolOutput"]["stdout"].startswith("[brimline stored")
    shown = {"filePath": "/p/a.log", "content": LINES, "numLines": 1_000, "startLine": 1}
    known = {"tool_name": "Read", "tool_input": {"file_path": "/p/a.log"}}
    known |= {"tool_response": {"type": "text", "file": shown | {"totalLines": 1_000}}}
    assert _answer("PostToolUse", event("PostToolUse", session, **known), home_dir)
    assert _answer("PreToolUse", _write(session, "/p/a.log") | subagent, home_dir) == {}
    inputs: list[object] = [None, [], {}, {"file_path": 5}, {"file_path": "\0"}]
    for asked in inputs:
        odd = _write(session, "") | {"tool_input": asked}
        assert _answer("PreToolUse", odd, home_dir) == {}
    refused = _answer("PreToolUse", _write(session, "/p/a.log"), home_dir)
    assert refused["permissionDecision"] == "deny"


def test_the_commands_answer_like_the_installed_hooks(session: SessionBuilder, world: Path) -> None:
    """Same input, same document, exit code 0; the wrapped status line is the argument."""
    session.reply(160_000)
    code = "from brimline.cli.main import main; main()"
    told = []
    for payload, *arguments in (
        (bash_event(session), "hook", "PostToolUse"),
        (statusline_event(session, 200_000, None), "statusline", "echo THEIRS"),
        ([], "hook", "PostToolUse"),
    ):
        done = subprocess.run(
            [sys.executable, "-c", code, *arguments],
            input=json.dumps(payload).encode(),
            env=environment(world, NO_COLOR="1"),
            cwd=world / "project",
            capture_output=True,
            check=False,
            timeout=120,
        )
        assert (done.returncode, done.stderr) == (0, b"")
        told.append(done.stdout.decode())

    assert "tier L3" in json.loads(told[0])["hookSpecificOutput"]["additionalContext"]
    assert told[1].endswith("80% of 200k window\nTHEIRS\n")
    assert told[2] == ""


def _answer(name: str, payload: dict[str, Any], home_dir: str) -> dict[str, Any]:
    """What the client is told; empty for nothing."""
    said = respond(name, _raw(payload), home_dir)
    found: dict[str, Any] = json.loads(said)["hookSpecificOutput"] if said else {}
    return found


def _write(session: SessionBuilder, path: str) -> dict[str, Any]:
    """A file is about to be written."""
    asked = {"file_path": path, "content": "new"}
    return event("PreToolUse", session, tool_name="Write", tool_input=asked)


def _raw(payload: dict[str, Any]) -> bytes:
    return json.dumps(payload).encode()
