"""Claude Code's hook JSON, in and out. No other module knows it.

Fast path: imports only `brimline.fastjson` and `brimline.transcript.row`.
"""

from __future__ import annotations

from brimline import fastjson
from brimline.transcript.row import IMAGE_CHARACTERS, content_characters, text_characters

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from brimline.decision import Decision

# These tools report back to the model in a sentence; their records hold whole files.
_TERSE_TOOLS = frozenset({"Edit", "MultiEdit", "Write", "NotebookEdit", "TodoWrite", "Skill"})
_TERSE_CHARACTERS = 200
_NUMBERING_CHARACTERS = 9
# The client shows the model this much of an output that it put on disk.
_PERSISTED_PREVIEW_CHARACTERS = 2_300


class Event:
    """One hook event with the fields we use; what is missing or of the wrong kind is empty."""

    __slots__ = ("name", "payload", "size_bytes")

    def __init__(self, name: str, raw: bytes) -> None:
        """Parse the client's payload.

        Raises:
            ValueError: it is not a JSON object.
        """
        payload = fastjson.loads(raw.decode("utf-8", "surrogateescape"))
        if not isinstance(payload, dict):
            raise ValueError("the event is not a JSON object")
        self.name = name
        self.payload: dict[str, Any] = payload
        self.size_bytes = len(raw)

    def text(self, key: str) -> str:
        """A text field of the payload."""
        value = self.payload.get(key)
        return value if isinstance(value, str) else ""

    @property
    def from_subagent(self) -> bool:
        """Whether a subagent caused the event: its results never enter the main context."""
        return bool(self.payload.get("agent_id"))

    def file_characters(self) -> int:
        """About how long a file is that was read, with the numbers the client puts before lines."""
        response = self.payload.get("tool_response")
        file = response.get("file") if isinstance(response, dict) else None
        content = file.get("content") if isinstance(file, dict) else None
        if not isinstance(content, str):
            return self.size_bytes  # a notebook, an image
        characters = len(content) if content.isascii() else self.size_bytes
        return characters + _NUMBERING_CHARACTERS * (content.count("\n") + 1)

    def names_us(self) -> bool:
        """Whether a tool call mentions brimline: only then can it have fetched a stored output."""
        tool_input = self.payload.get("tool_input")
        command = tool_input.get("command") if isinstance(tool_input, dict) else None
        text = command if isinstance(command, str) else self.text("tool_name")
        return "brimline" in text

    def added_characters(self) -> int:
        """Characters this event adds to the context that are not in the transcript yet."""
        if self.name == "UserPromptSubmit":
            return len(self.text("prompt"))
        if self.name != "PostToolUse":
            return 0
        response = self.payload.get("tool_response")
        if self.text("tool_name") in _TERSE_TOOLS:
            return _TERSE_CHARACTERS
        if isinstance(response, dict) and response.get("persistedOutputPath"):
            return _PERSISTED_PREVIEW_CHARACTERS
        if isinstance(response, list):
            return content_characters(response)
        if isinstance(response, dict) and isinstance(response.get("content"), list):
            return content_characters(response["content"])
        if isinstance(response, dict) and response.get("type") == "image":
            return IMAGE_CHARACTERS
        return text_characters(response)


def render(event_name: str, decision: Decision) -> str:
    """The client's answer document; empty where there is nothing to say."""
    if event_name == "PreCompact":
        return _render_precompact(decision)
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
    return fastjson.dumps(document) if document else ""


def _render_precompact(decision: Decision) -> str:
    """There plain text goes into the request for the summary, and a refusal is a block."""
    if decision.permission == "deny":
        return fastjson.dumps({"decision": "block", "reason": decision.reason})
    return "\n\n".join(decision.model_notes)
