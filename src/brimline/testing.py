"""Sessions and events in the client's real shapes, for tests, the demo and your own experiments."""

from __future__ import annotations

import json
import os
import uuid
from dataclasses import dataclass, field
from typing import Any

from brimline.fast import clock

CLIENT_VERSION = "2.1.325"
# What the client sends in the place of a result that it has cut.
STAND_IN = "[Old tool result content cleared]"
_FIRST_SECOND = 1_790_000_000.0


@dataclass(slots=True)
class SessionBuilder:
    """Writes a transcript row by row, as the client would.

    Timestamps advance by one second per row from a fixed start, so that a session is the same every
    time it is built.
    """

    path: str
    session_id: str = "11111111-2222-4333-8444-555555555555"
    cwd: str = "/home/dev/project"
    model: str = "claude-sonnet-4-6"
    version: str = CLIENT_VERSION
    now: float = _FIRST_SECOND
    parent: str | None = None
    counter: int = field(default=0)
    sent_tokens: int = 0

    def prompt(self, text: str = "go on", **extra: Any) -> dict[str, Any]:
        """The user says something."""
        return self.row("user", message={"role": "user", "content": text}, **extra)

    def reply(
        self,
        tokens: int,
        *blocks: dict[str, Any],
        output_tokens: int = 120,
        message_id: str | None = None,
        **extra: Any,
    ) -> list[dict[str, Any]]:
        """A model request that took `tokens` on the prompt side; one row per content block."""
        message_id = message_id or f"msg_{self._next_number():06d}"
        cached = max(0, tokens - 1_010)
        if self.sent_tokens:
            cached = min(cached, self.sent_tokens)
        self.sent_tokens = tokens
        usage = {
            "input_tokens": min(tokens, 10),
            "cache_creation_input_tokens": tokens - cached - min(tokens, 10),
            "cache_read_input_tokens": cached,
            "output_tokens": output_tokens,
        }
        return [
            self.row(
                "assistant",
                message={
                    "id": message_id,
                    "type": "message",
                    "role": "assistant",
                    "model": self.model,
                    "content": [block],
                    "stop_reason": None,
                    "usage": dict(usage),
                },
                **extra,
            )
            for block in blocks or (text_block("Done."),)
        ]

    def tool_call(
        self, tokens: int, name: str = "Bash", output_tokens: int = 120, **tool_input: Any
    ) -> str:
        """A model request that ends in a tool call; returns the call's id."""
        call_id = f"toolu_{self._next_number():06d}"
        block = {"type": "tool_use", "id": call_id, "name": name, "input": tool_input}
        self.reply(tokens, block, output_tokens=output_tokens)
        return call_id

    def tool_result(self, call_id: str, text: str, **extra: Any) -> dict[str, Any]:
        """The result of a tool call, with the copy that the client keeps for itself."""
        block = {"type": "tool_result", "tool_use_id": call_id, "content": text}
        message = {"role": "user", "content": [block]}
        return self.row("user", message=message, **{"toolUseResult": {"stdout": text}} | extra)

    def cut(self, *call_ids: str, tokens: int = 900) -> dict[str, Any]:
        """The client leaves results out of all its requests from here on."""
        cut = {"type": "tool_results_cut", "callIds": list(call_ids), "roughTokens": tokens}
        return self.row("attachment", attachment=cut | {"standIn": STAND_IN})

    def compact(
        self,
        pre_tokens: int,
        trigger: str = "auto",
        summary: str = "Summary.",
        *,
        legacy: bool = False,
    ) -> None:
        """A compaction: boundary and summary, or the summary alone as old clients wrote it."""
        if not legacy:
            before, self.parent = self.parent, None
            self.row(
                "system",
                logicalParentUuid=before,
                subtype="compact_boundary",
                content="Conversation compacted",
                compactMetadata={"trigger": trigger, "preTokens": pre_tokens},
            )
        self.row("user", message={"role": "user", "content": summary}, isCompactSummary=True)

    def row(self, kind: str, **fields: Any) -> dict[str, Any]:
        """Append any row."""
        self.now += 1
        row = {
            "parentUuid": self.parent,
            "isSidechain": False,
            "userType": "external",
            "cwd": self.cwd,
            "sessionId": self.session_id,
            "version": self.version,
            "type": kind,
            "uuid": str(uuid.UUID(int=self._next_number())),
            "timestamp": clock.format_utc(self.now),
        } | fields
        self.parent = row["uuid"]
        self.raw(json.dumps(row, separators=(",", ":"), ensure_ascii=False) + "\n")
        return row

    def raw(self, text: str | bytes) -> None:
        """Append bytes as they are: torn lines, foreign rows, anything."""
        os.makedirs(os.path.dirname(self.path) or ".", exist_ok=True)
        data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
        with open(self.path, "ab") as file:
            file.write(data)

    def _next_number(self) -> int:
        self.counter += 1
        return self.counter


def text_block(text: str) -> dict[str, Any]:
    """A piece of assistant text."""
    return {"type": "text", "text": text}


def event(name: str, session: SessionBuilder, **fields: Any) -> dict[str, Any]:
    """A hook payload as the client sends it."""
    return {
        "session_id": session.session_id,
        "transcript_path": session.path,
        "cwd": session.cwd,
        "prompt_id": "9241e175-4914-4807-ae9b-0c53a2b8692b",
        "permission_mode": "default",
        "hook_event_name": name,
    } | fields


def bash_event(session: SessionBuilder, stdout: str = "ok", **fields: Any) -> dict[str, Any]:
    """A PostToolUse payload of a Bash call."""
    quiet = dict.fromkeys(("interrupted", "isImage", "noOutputExpected"), False)
    known = {
        "tool_name": "Bash",
        "tool_input": {"command": "make test", "description": "Run the tests"},
        "tool_response": {"stdout": stdout, "stderr": ""} | quiet,
        "tool_use_id": "toolu_000001",
        "duration_ms": 275,
    }
    return event("PostToolUse", session, **known | fields)


def statusline_event(
    session: SessionBuilder, window_tokens: int | None, occupancy_tokens: int | None
) -> dict[str, Any]:
    """A status-line payload; an unknown occupancy is null, as before the first reply."""
    usage = {
        "input_tokens": 10,
        "output_tokens": 50,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": (occupancy_tokens or 10) - 10,
    }
    return {
        "session_id": session.session_id,
        "transcript_path": session.path,
        "cwd": session.cwd,
        "model": {"id": session.model, "display_name": "Model"},
        "workspace": {"current_dir": session.cwd, "project_dir": session.cwd, "added_dirs": []},
        "version": session.version,
        "context_window": {
            "context_window_size": window_tokens,
            "current_usage": usage if occupancy_tokens else None,
        },
    }
