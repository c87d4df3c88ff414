"""What the model is told about the tools: every word of it is in its context, so there are few."""

from __future__ import annotations

from typing import Any

RECALL, STATUS, NOTE = "recall", "context_status", "note"

# Shown at the start of every session, also where the client loads tools on demand.
INSTRUCTIONS = (
    "Text that begins `[brimline stored ...: sha256:...]` is a preview of a longer output: "
    "the tool `recall` gets any part of it, and finds other stored outputs."
)
_UNTOUCHED = {"readOnlyHint": True, "openWorldHint": False}

TOOLS: list[dict[str, Any]] = [
    {
        "name": RECALL,
        "description": (
            "Get back tool output that was stored outside the context. Give `key` to read one "
            "output, or `query` to find outputs of this project, earlier sessions included. "
            "To save context, narrow with `lines`, or give both: the lines of that output that "
            "hold the words. The first line says which lines are shown of how many, and how to "
            "ask for the next."
        ),
        "inputSchema": {
            "type": "object",
            "properties": {
                "key": {
                    "type": "string",
                    "description": "sha256:... as in the preview; 8 digits or more will do.",
                },
                "query": {
                    "type": "string",
                    "description": 'Words to look for; "quoted" ones stand side by side.',
                },
                "lines": {
                    "type": "string",
                    "description": "A:B, from 1; -20: for the last 20. Query alone: hits A to B.",
                },
                "everywhere": {
                    "type": "boolean",
                    "description": "Other projects too, if the user asks.",
                },
            },
            "additionalProperties": False,
        },
        "annotations": _UNTOUCHED,
    },
    {
        "name": STATUS,
        "description": (
            "How full the context window is: tokens in use, tokens left until the session is "
            "compacted, and about how many requests that is."
        ),
        "inputSchema": {"type": "object", "properties": {}, "additionalProperties": False},
        "annotations": _UNTOUCHED,
    },
    {
        "name": NOTE,
        "description": (
            "Write down a decision with its reason: it is handed back after every compaction of "
            "this session, in these words."
        ),
        "inputSchema": {
            "type": "object",
            "properties": {"text": {"type": "string"}, "reason": {"type": "string"}},
            "required": ["text"],
            "additionalProperties": False,
        },
        # The call itself is the record: carry reads it in the transcript.
        "annotations": _UNTOUCHED,
    },
]
