"""Sends hook events to brimline as the client would, and reads the answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from brimline.hooks.entry import ask_rooms, open_turn, tidy
from brimline.settings import BY_KEY
from brimline.testing import bash_event, event, statusline_event

if TYPE_CHECKING:
    import pytest

    from brimline.testing import SessionBuilder


class Answer(NamedTuple):
    """What one hook answered; parts that were not given are empty."""

    note: str = ""
    refusal: str = ""
    person: str = ""


SILENT = Answer()


def send(home_dir: str, payload: dict[str, Any]) -> Answer:
    """One event, answered in this process; the answer must be in the client's shape."""
    name = payload["hook_event_name"]
    turn = open_turn(name, json.dumps(payload).encode(), home_dir)
    if turn is None:
        return SILENT
    answer = understood(name, ask_rooms(turn))
    if name == "SessionStart":
        tidy(turn, seconds=60)
    return answer


def understood(name: str, raw: bytes) -> Answer:
    """The parts of an answer; whatever the client would not understand fails the test."""
    if not raw or name == "PreCompact":  # what is said there is for the summary
        return SILENT
    document = json.loads(raw)
    person = document.pop("systemMessage", "")
    specific = document.pop("hookSpecificOutput", {"hookEventName": name})
    assert document == {}
    assert specific.pop("hookEventName") == name
    assert specific.pop("permissionDecision", "deny") == "deny"
    note, refusal = (
        specific.pop(key, "") for key in ("additionalContext", "permissionDecisionReason")
    )
    assert specific == {}
    return Answer(note, refusal, person)


def after_tool(session: SessionBuilder, home_dir: str, stdout: str = "", **fields: Any) -> Answer:
    """A Bash call has ended."""
    return send(home_dir, bash_event(session, stdout, **fields))


def at_prompt(session: SessionBuilder, home_dir: str, prompt: str = "go on") -> Answer:
    """The user has sent a prompt."""
    return send(home_dir, event("UserPromptSubmit", session, prompt=prompt))


def at_stop(session: SessionBuilder, home_dir: str) -> Answer:
    """A turn has ended."""
    fields = {"stop_hook_active": False, "last_assistant_message": "Done."}
    return send(home_dir, event("Stop", session, **fields))


def at_start(session: SessionBuilder, home_dir: str, source: str = "startup") -> Answer:
    """A session starts, goes on after a compaction, or is resumed."""
    return send(home_dir, event("SessionStart", session, source=source))


def before_compaction(session: SessionBuilder, home_dir: str, trigger: str = "auto") -> Answer:
    """The client is about to compact."""
    return send(home_dir, event("PreCompact", session, trigger=trigger, custom_instructions=""))


def after_compaction(session: SessionBuilder, home_dir: str, trigger: str = "auto") -> Answer:
    """The client has compacted."""
    return send(
        home_dir, event("PostCompact", session, trigger=trigger, compact_summary="Summary.")
    )


def before_load(
    session: SessionBuilder, home_dir: str, tool: str = "Skill", name: str = "planner"
) -> Answer:
    """An agent or a skill is about to be loaded."""
    return send(home_dir, load_event(session, tool, name))


def load_event(
    session: SessionBuilder, tool: str = "Skill", name: str = "planner"
) -> dict[str, Any]:
    """The payload of a load."""
    agent = {"description": "Look around", "prompt": "Look around", "subagent_type": name}
    tool_input = {"skill": name, "args": ""} if tool == "Skill" else agent
    return event(
        "PreToolUse",
        session,
        tool_name=tool,
        tool_input=tool_input,
        tool_use_id="toolu_000002",
    )


def before_tool(session: SessionBuilder, home_dir: str, tool: str, **tool_input: Any) -> Answer:
    """Any tool is about to run."""
    return send(home_dir, event("PreToolUse", session, tool_name=tool, tool_input=tool_input))


def show_window(
    session: SessionBuilder, home_dir: str, window: int, rate_limits: dict[str, Any] | None = None
) -> None:
    """The status line tells the size of the window, and rate limits, before the first reply."""
    from brimline.hooks import statusline

    payload = statusline_event(session, window, None)
    if rate_limits is not None:
        payload["rate_limits"] = rate_limits
    statusline.respond(json.dumps(payload).encode(), home_dir)


def use(monkeypatch: pytest.MonkeyPatch, **settings: object) -> None:
    """Put settings in force through the environment; `guard__tiers` stands for `guard.tiers`."""
    for name, value in settings.items():
        setting = BY_KEY[name.replace("__", ".")]
        text = ",".join(map(str, value)) if isinstance(value, list) else str(value)
        monkeypatch.setenv(setting.env, text)


def audit(home_dir: str) -> list[dict[str, Any]]:
    """Every line of the audit trail."""
    path = Path(home_dir, "audit.jsonl")
    return [json.loads(line) for line in path.read_bytes().splitlines()] if path.exists() else []


def kept(session: SessionBuilder, home_dir: str, name: str) -> Path:
    """A file that brimline keeps of a session."""
    return Path(home_dir, "sessions", session.session_id, name)
