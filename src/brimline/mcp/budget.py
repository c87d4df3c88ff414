"""The tool `context_budget`: five compartments of items that the model manages itself."""

from __future__ import annotations

from typing import Any

from brimline.budget import operations
from brimline.fast import io
from brimline.masking import mask
from brimline.state.session import TELEMETRY, SessionState
from brimline.transcript import find

_MOST_CHARACTERS = 5_000


def do_operation_and_answer(home_dir: str, project_dir: str, arguments: dict[str, Any]) -> str:
    """Do one operation, and say what came of it.

    Raises:
        SessionError: there is no such session.
        StateError: the operation or one of its arguments is wrong.
        OSError: the budget cannot be read or written.
    """
    fields = dict(arguments)
    operation, session = (
        str(fields.pop("operation", "get")),
        _current_or_newest_session_id(project_dir),
    )
    if isinstance(fields.get("text"), str):
        fields["text"] = mask(fields["text"])
    window = SessionState(home_dir, session).read_document(TELEMETRY).get("window_tokens")
    text = operations.text(operations.run_operation(home_dir, session, window, operation, fields))
    if len(text) <= _MOST_CHARACTERS:
        return text
    shown = text[:_MOST_CHARACTERS].rpartition("\n")[0]
    left = text.count("\n") - shown.count("\n")
    return f"{shown}\n[{left} more lines: name a compartment, or remove what is not needed]"


def _current_or_newest_session_id(project_dir: str) -> str:
    """The session that the client is in, else the project's newest."""
    first = io.env("CLAUDE_CODE_SESSION_ID")
    if first:
        return find.session_id_after_clears(first)
    return find.session_id_of(find.newest_in_project(project_dir))
