"""What hooks answer over a whole session, recorded: the shape stays whatever is rebuilt inside.

Wording is left out on purpose. `«note»` stands for a text; `«L3»` for one that names a tier.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from brimline.hooks.entry import respond
from brimline.testing import SessionBuilder, bash_event, event

from .processes import errors, spool

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

LOG = "\n".join(
    f"{n:05d} INFO worker {n % 7}: handled request {n * 37 % 9973}" for n in range(2_500)
)
BASH = ["interrupted", "isImage", "noOutputExpected", "stderr", "stdout"]
SUBAGENT = {"agent_id": "a1b2", "agent_type": "general-purpose"}


def load(tool: str, session: SessionBuilder) -> dict[str, Any]:
    """An agent or a skill is about to be loaded."""
    named = {"skill": "planner"} if tool == "Skill" else {"subagent_type": "planner", "prompt": "x"}
    return event("PreToolUse", session, tool_name=tool, tool_input=named, tool_use_id="toolu_2")


def read(session: SessionBuilder) -> dict[str, Any]:
    """A long text was read whole."""
    file = {
        "filePath": "/p/app.log",
        "content": LOG,
        "numLines": 2_500,
        "startLine": 1,
        "totalLines": 2_500,
    }
    return event(
        "PostToolUse",
        session,
        tool_name="Read",
        tool_input={"file_path": "/p/app.log"},
        tool_response={"type": "text", "file": file},
    )


def write(session: SessionBuilder) -> dict[str, Any]:
    """The same file is about to be overwritten."""
    asked = {"file_path": "/p/app.log", "content": "new"}
    return event("PreToolUse", session, tool_name="Write", tool_input=asked)


def said(note: str) -> dict[str, Any]:
    """An answer that adds to the context."""
    return {"additionalContext": note}


DENIED = {"permissionDecision": "deny", "permissionDecisionReason": "«note»"}


def test_a_session_is_answered_as_recorded(
    session: SessionBuilder, home_dir: str, world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From its start over bulk, tiers and a compaction to its end."""
    monkeypatch.setenv("BRIMLINE_GUARD_VELOCITY_POINTS", "0")
    answers: list[Any] = []

    def tell(tokens: int | None, payload: dict[str, Any]) -> None:
        if tokens:
            session.reply(tokens)
        answers.append(_shape(respond(payload["hook_event_name"], _raw(payload), home_dir)))

    tell(None, event("SessionStart", session, source="startup", model="claude-sonnet-4-5"))
    session.prompt("Never touch config/prod.yaml.")
    tell(40_000, bash_event(session))
    tell(None, event("UserPromptSubmit", session, prompt="go on"))
    tell(None, event("Stop", session, stop_hook_active=False))
    tell(41_000, bash_event(session, LOG, tool_input={"command": "cat app.log"}))
    tell(None, bash_event(session, LOG, **SUBAGENT))
    tell(None, read(session))
    tell(None, write(session))
    tell(None, write(session) | SUBAGENT)
    tell(90_000, load("Skill", session))
    tell(None, load("Skill", session))
    tell(None, load("Skill", session) | SUBAGENT)
    tell(None, event("PreToolUse", session, tool_name="Bash", tool_input={"command": "ls"}))
    for tokens in (110_000, 140_000, 155_000, 164_000):
        tell(tokens, bash_event(session))
    tell(None, event("UserPromptSubmit", session, prompt="go on"))
    tell(None, event("Stop", session, stop_hook_active=False))
    tell(None, event("PreCompact", session, trigger="auto", custom_instructions=None))
    tell(None, event("SubagentStop", session, agent_type="", agent_id="a"))
    tell(None, event("SessionStart", session, source="compact", model="claude-sonnet-4-5"))
    tell(None, event("PostCompact", session, trigger="auto", compact_summary="All done."))
    session.compact(164_000)
    tell(30_000, event("Notification", session))
    tell(None, event("SessionEnd", session, reason="other"))

    assert answers == [
        *("", "", "", ""),
        {"updatedToolOutput": BASH},
        "",
        {"updatedToolOutput": ["file", "type"]},
        DENIED,
        "",
        said("«note»"),
        *("", "", ""),
        *[said(f"«L{tier}»") for tier in (1, 2, 3, 4)],
        "",
        "",
        "«plain»",
        "",
        said("«note»"),
        *("", "", ""),
    ]
    told = [line["event"] for line in spool(world)]
    assert [told.count(name) for name in ("SessionStart", "PreCompact", "PostCompact")] == [2, 1, 1]
    assert [line["spoke"] for line in spool(world) if line["event"] == "Announced"] == [1, 2, 3, 4]
    assert errors(world) == []


def _shape(answer: bytes) -> Any:
    """What an answer consists of, without its wording."""
    if not answer.startswith(b"{"):
        return "«plain»" if answer else ""
    (key, specific), *others = json.loads(answer).items()
    assert (key, others) == ("hookSpecificOutput", [])
    del specific["hookEventName"]
    return {name: _part(name, value) for name, value in specific.items()}


def _part(name: str, value: Any) -> Any:
    if isinstance(value, dict):
        return sorted(value)
    if name == "permissionDecision":
        return value
    tier = re.search(r"tier (L\d)", value)
    return f"«{tier[1]}»" if tier else "«note»"


def _raw(payload: dict[str, Any]) -> bytes:
    return json.dumps(payload).encode()
