"""Advice, refusals and notes of every room leave a trace in the session's spool."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from brimline.fast import paths
from brimline.hooks.entry import respond
from brimline.testing import event

if TYPE_CHECKING:
    from brimline.testing import SessionBuilder


def _answer(session: SessionBuilder, home_dir: str, name: str, **fields: Any) -> str:
    payload = json.dumps(event(name, session, **fields)).encode()
    return respond(name, payload, home_dir).decode()


def _events(session: SessionBuilder, home_dir: str) -> list[str]:
    spool = Path(paths.session_dir(home_dir, session.session_id), "spool.jsonl")
    return [json.loads(line)["event"] for line in spool.read_text().splitlines()]


@pytest.mark.parametrize(("mode", "trace"), [("advise", "Advised"), ("block", "Blocked")])
def test_what_the_scout_says_is_on_record(
    mode: str,
    trace: str,
    session: SessionBuilder,
    home_dir: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A hint is one line of the spool; a refusal is audited as well."""
    monkeypatch.setenv("BRIMLINE_SCOUT_MODE", mode)
    read = {"command": "cat node_modules/a/index.js"}

    assert _answer(session, home_dir, "PreToolUse", tool_name="Bash", tool_input=read)

    assert _events(session, home_dir) == [trace]
    audit = Path(paths.audit_log(home_dir))
    lines = audit.read_text().splitlines() if audit.exists() else []
    assert [json.loads(line)["reason"] for line in lines] == ["scout"] * (mode == "block")


def test_advice_of_the_ceiling_is_on_record(session: SessionBuilder, home_dir: str) -> None:
    """The advice that is given leaves a line, the one that is withheld leaves none."""
    session.reply(100_000)
    agent = {"subagent_type": "Explore", "prompt": "look"}
    for _ in range(2):
        _answer(session, home_dir, "PreToolUse", tool_name="Agent", tool_input=agent)

    assert _events(session, home_dir) == ["Advised"]


def test_notes_with_a_prompt_are_on_record(
    session: SessionBuilder, home_dir: str, world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reminder that is given leaves a line beside the reading."""
    (world / "rules.md").write_text("no force pushes")
    monkeypatch.setenv("BRIMLINE_REMINDER_FILE", str(world / "rules.md"))

    assert "no force pushes" in _answer(session, home_dir, "UserPromptSubmit", prompt="go")

    assert _events(session, home_dir) == ["UserPromptSubmit", "Told"]
