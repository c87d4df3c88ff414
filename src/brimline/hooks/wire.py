"""Claude Code's hook JSON, in and out. No other module knows it.

Fast path: imports only `brimline.transcript.clienttools`, `fast.json` and `transcript.usage`.
"""

from __future__ import annotations

from brimline.fast import json
from brimline.transcript import clienttools, usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from brimline.fast.decision import Decision

# What the mod tells besides, in an event that it hands on.
MOD_KEY = "brimline"
_TERSE_CHARACTERS = 200
# Where the client takes a refusal as a block of the whole event.
_BLOCKABLE = ("PreCompact", "UserPromptSubmit")


class Event:
    """One hook event in our words; what is missing or of the wrong kind is empty."""

    def __init__(self, name: str, raw: bytes) -> None:
        """Parse the client's payload.

        Raises:
            ValueError: it is not a JSON object.
        """
        self.name = name
        self.payload = payload = json.parse_object(raw)
        self.payload_bytes = len(raw)
        self.session_id = usage.as_text(payload.get("session_id"))
        self.transcript = usage.as_text(payload.get("transcript_path"))
        self.cwd = usage.as_text(payload.get("cwd"))
        # A subagent caused the event: its results never enter the main context.
        self.agent_id = payload.get("agent_id")
        self.tool = usage.as_text(payload.get("tool_name"))
        tool_input = payload.get("tool_input")
        self.tool_input: dict[str, Any] = tool_input if isinstance(tool_input, dict) else {}
        self.tool_response = payload.get("tool_response")
        self.call_id = usage.as_text(payload.get("tool_use_id"))
        self.prompt = usage.as_text(payload.get("prompt"))
        # How a session starts or ends, and who asked for a compaction.
        self.source = usage.as_text(payload.get("source"))
        self.model = usage.as_text(payload.get("model"))
        self.reason = usage.as_text(payload.get("reason"))
        self.trigger = usage.as_text(payload.get("trigger"))
        self.summary = usage.as_text(payload.get("compact_summary"))
        self.error = usage.as_text(payload.get("error"))
        self.permission_mode = usage.as_text(payload.get("permission_mode"))
        # Where the server of a called tool was set up: by a user, a project, a plugin.
        server = payload.get("mcp_server")
        self.server_source = server.get("source") if isinstance(server, dict) else None

    def added_characters(self) -> int:
        """Characters this event adds to the context that are not in the transcript yet."""
        if self.name == "UserPromptSubmit":
            return len(self.prompt)
        if self.name != "PostToolUse":
            return 0
        response = self.tool_response
        if self.tool in clienttools.TERSE:
            return _TERSE_CHARACTERS
        content = response
        if isinstance(response, dict):
            if response.get("persistedOutputPath"):
                return clienttools.PERSISTED_CHARACTERS
            if response.get("type") == "image":
                return usage.IMAGE_CHARACTERS
            content = response.get("content")
        if isinstance(content, list):
            return usage.content_characters(content)
        return usage.count_text_characters(response)


def answer_text(event_name: str, decision: Decision) -> str:
    """A decision as the client reads it; empty where there is nothing to say."""
    if decision.permission == "deny" and event_name in _BLOCKABLE:
        return json.dumps({"decision": "block", "reason": decision.reason})
    if event_name == "PreCompact":
        return "\n\n".join(decision.model_notes)  # it goes into the request for the summary
    specific: dict[str, Any] = {}
    if decision.permission:
        specific["permissionDecision"] = decision.permission
        specific["permissionDecisionReason"] = decision.reason
    if decision.replacement is not None:
        specific["updatedToolOutput"] = decision.replacement
    if decision.model_notes:
        specific["additionalContext"] = "\n\n".join(decision.model_notes)
    document: dict[str, Any] = {}
    if decision.person_notes:
        document["systemMessage"] = "\n\n".join(decision.person_notes)
    if specific:
        document["hookSpecificOutput"] = {"hookEventName": event_name} | specific
    return json.dumps(document) if document else ""
