"""The tools: what the model is told about them, and the answer to one call.

Every word of the descriptions is in the model's context, so there are few. Whatever goes wrong in a
call becomes one sentence for the model.
"""

from __future__ import annotations

import contextlib
import os
from typing import Any

from brimline.errors import BrimlineError, SessionError
from brimline.fast import io, paths

RECALL, STATUS, NOTE = "recall", "context_status", "note"
# Shown at the start of every session, also where the client loads tools on demand.
INSTRUCTIONS = (
    "Text that begins `[brimline stored ...: sha256:...]` is a preview of a longer output: "
    "the tool `recall` gets any part of it, and finds other stored outputs."
)
_LONGEST_NOTE = 600


def _tool(name: str, description: str, properties: dict[str, Any], **more: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "additionalProperties": False} | more
    untouched = {"readOnlyHint": True, "openWorldHint": False}
    return {
        "name": name,
        "description": description,
        "inputSchema": schema,
        "annotations": untouched,
    }


def _text(description: str) -> dict[str, str]:
    return {"type": "string", "description": description}


TOOLS = [
    _tool(
        RECALL,
        "Get back tool output that was stored outside the context. Give `key` to read one output, "
        "or `query` to find outputs of this project, earlier sessions included. To save context, "
        "narrow with `lines`, or give both: the lines of that output that hold the words. The "
        "first line says which lines are shown of how many, and how to ask for the next.",
        {
            "key": _text("sha256:... as in the preview; 8 digits or more will do."),
            "query": _text('Words to look for; "quoted" ones stand side by side.'),
            "lines": _text("A:B, from 1; -20: for the last 20. Query alone: hits A to B."),
            "everywhere": {"type": "boolean", "description": "Other projects, if the user asks."},
        },
    ),
    _tool(
        STATUS,
        "How full the context window is: tokens in use, tokens left until the session is "
        "compacted, and about how many requests that is.",
        {},
    ),
    # The call itself is the record: carry reads it in the transcript.
    _tool(
        NOTE,
        "Write down a decision with its reason: it is handed back after every compaction of this "
        "session, in these words.",
        {"text": {"type": "string"}, "reason": {"type": "string"}},
        required=["text"],
    ),
]


def answer(name: str, arguments: dict[str, Any]) -> tuple[str, bool]:
    """The text of the answer, and whether it tells of a failure."""
    try:
        told, failed = _dispatched(name, arguments), False
    except BrimlineError as error:
        told, failed = str(error), True
    except OSError as error:
        subject = os.fsdecode(error.filename or "a file of the store")
        told, failed = f"{subject}: {error.strerror or error}", True
    except Exception as error:  # noqa: BLE001 - the top of this door: no traceback to the model
        _record(name, error)
        told = f"{name[:40]} failed ({type(error).__name__}): see `brimline doctor`"
        failed = True
    # Paths may hold bytes that are no text, which JSON cannot carry.
    return told.encode("utf-8", "replace").decode(), failed


def _dispatched(name: str, arguments: dict[str, Any]) -> str:
    home_dir = paths.home()
    if name == RECALL:
        from brimline.mcp import recall

        return recall.answer(home_dir, _project_dir(), arguments)
    if name == STATUS:
        from brimline.mcp import status

        return status.answer(home_dir, _project_dir())
    if name == NOTE:
        return _noted(arguments)
    raise BrimlineError(f"there is no tool {name[:40]!r}: use {RECALL}, {STATUS} or {NOTE}")


def _noted(arguments: dict[str, Any]) -> str:
    """Accept a note. Its call stands in the session's transcript, where carry reads it."""
    text = arguments.get("text")
    if not isinstance(text, str) or not text.strip():
        raise BrimlineError("there is nothing to write down: give a `text`")
    if len(text) > _LONGEST_NOTE:
        raise BrimlineError(f"a note has at most {_LONGEST_NOTE} characters: say it shorter")
    return "Noted. It comes back after every compaction of this session."


def _project_dir() -> str:
    """The folder of the project, which the client tells where it can."""
    try:
        return io.env("CLAUDE_PROJECT_DIR") or os.getcwd()
    except OSError as error:
        raise SessionError(f"the project's folder is not there: {error.strerror}") from error


def _record(name: str, error: Exception) -> None:
    from brimline.state import logs

    with contextlib.suppress(OSError):
        logs.record_failure(paths.home(), f"mcp {name}", error)
