"""The tools: what the model is told about them, and the answer to one call.

Every word of the descriptions is in the model's context, so there are few. Whatever goes wrong in a
call becomes one sentence for the model.
"""

from __future__ import annotations

import contextlib
import os
import time
from typing import TYPE_CHECKING, Any

from brimline.errors import BrimlineError, SessionError
from brimline.fast import io, paths

if TYPE_CHECKING:
    from brimline.transcript.project import Project

RECALL, ELSEWHERE, REMEMBER = "recall", "recall_elsewhere", "remember"
STATUS, NOTE, BUDGET = "context_status", "note", "context_budget"
# Shown at the start of every session, also where the client loads tools on demand.
INSTRUCTIONS = (
    "Text that begins `[brimline stored ...: sha256:...]` is a preview: `recall` gets the rest."
)
_LONGEST_NOTE = 600
_SHARE_S = 20.0


def _make_tool(
    name: str, description: str, properties: dict[str, Any], **more: Any
) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties} | more
    hints = {"readOnlyHint": name not in (REMEMBER, BUDGET), "openWorldHint": False}
    told = {"name": name, "description": description}
    return told | {"inputSchema": schema, "annotations": hints}


def _string_schema(description: str) -> dict[str, str]:
    return {"type": "string", "description": description}


TOOLS = [
    _make_tool(
        RECALL,
        "Search earlier sessions of this project and stored tool output: `query` finds, `key` "
        "reads one, both find lines of one.",
        {
            "key": _string_schema("sha256:... or m12"),
            "query": {"type": "string"},
            "lines": _string_schema("A:B or -20: (the last 20); with query: outputs A to B"),
        },
    ),
    _make_tool(
        ELSEWHERE,
        "`recall` in all projects.",
        {name: {} for name in ("key", "query", "lines")},
    ),
    _make_tool(
        REMEMBER,
        "Keep what later sessions must know.",
        {
            "name": {"type": "string"},
            "type": _string_schema("user|feedback|project|reference"),
            "description": _string_schema("one line"),
            "text": {"type": "string"},
        },
        required=["name", "type", "description", "text"],
    ),
    _make_tool(STATUS, "How full the context window is.", {}),
    # The call itself is the record: carry reads it in the transcript.
    _make_tool(
        NOTE,
        "Note a decision with its reason: handed back after every compaction.",
        {"text": {"type": "string"}, "reason": {"type": "string"}},
        required=["text"],
    ),
    _make_tool(
        BUDGET,
        "Plan what the context holds. Pinned safety_constraints and active_task items survive "
        "compactions.",
        {
            "operation": _string_schema(
                "get|add|remove|pin|unpin|evict|enforce|estimate|alerts|log|list"
            ),
            "compartment": _string_schema(
                "active_task|project_background|operator_preferences|safety_constraints|"
                "ambient_knowledge"
            ),
            "text": {"type": "string"},
            "id": {"type": "string"},
            "priority": {"type": "integer", "description": "0-10; 0 goes first"},
            "pinned": {"type": "boolean"},
        },
    ),
]


def are_left_to_plugin() -> bool:
    """Tell whether the client has the plugin as well, whose server offers the same."""
    from brimline.settings import plugins

    return not paths.is_plugin() and plugins.plugin_at_work(_project_dir()) is not None


def answer(name: str, arguments: dict[str, Any]) -> tuple[str, bool]:
    """The text of the answer, and whether it tells of a failure."""
    try:
        told, failed = _text_answered_by_tool(name, arguments), False
    except BrimlineError as error:
        told, failed = str(error), True
    except OSError as error:
        subject = os.fsdecode(error.filename or "a file of the store")
        told, failed = f"{subject}: {error.strerror or error}", True
    except Exception as error:  # noqa: BLE001 - the top of this door: no traceback to the model
        _log_failure(name, error)
        told = f"{name[:40]} failed ({type(error).__name__}): see `brimline doctor`"
        failed = True
    # Paths may hold bytes that are not text, which JSON cannot carry.
    return told.encode("utf-8", "replace").decode(), failed


def send_waiting_entries_to_team() -> None:
    """Send what waits for the team's server, where there is one; what is wrong, `doctor` tells."""
    from brimline.recall import together

    try:
        queue = together.open_queue(paths.data_dir(), _project_dir())
        if queue:
            from brimline.mcp import remembered

            # To the end, so that one round sends all that there is.
            remembered.index_new_sources(paths.data_dir(), _project_dir(), None)
            queue.drain(queue.sync_list_and_find_waiting(), until=time.monotonic() + _SHARE_S)
    except (BrimlineError, OSError):
        pass
    except Exception as error:  # noqa: BLE001 - the top of this thread: it tries again later
        _log_failure("share", error)


def _text_answered_by_tool(name: str, arguments: dict[str, Any]) -> str:
    home_dir = paths.data_dir()
    if name in (RECALL, ELSEWHERE):
        from brimline.mcp import recall

        within = _project_of_session() if name == RECALL else None
        return recall.answer(home_dir, _project_dir(), within, arguments)
    if name == REMEMBER:
        from brimline.mcp import remembered

        return remembered.save_topic(_project_dir(), arguments)
    if name in (STATUS, BUDGET):
        from brimline.mcp import window_tools

        if name == STATUS:
            return window_tools.status_text(home_dir, _project_dir())
        return window_tools.budget_text(home_dir, _project_dir(), arguments)
    if name == NOTE:
        return _check_note_and_confirm(arguments)
    known = ", ".join(tool["name"] for tool in TOOLS)
    raise BrimlineError(f"there is no tool {name[:40]!r}: use one of {known}")


def _check_note_and_confirm(arguments: dict[str, Any]) -> str:
    """Accept a note. Its call stands in the session's transcript, where carry reads it."""
    text = arguments.get("text")
    if not isinstance(text, str) or not text.strip():
        raise BrimlineError("there is nothing to write down: give a `text`")
    if len(text) > _LONGEST_NOTE:
        raise BrimlineError(f"a note has at most {_LONGEST_NOTE} characters: say it shorter")
    return "Noted. It comes back after every compaction of this session."


def _project_of_session() -> Project:
    """The project of the session that asks, where the client started this server for it.

    Raises:
        SessionError: the session's folder is not known, or two marks contradict each other.
    """
    from brimline.transcript import project

    found, here = project.project_of_caller(), project.current_folder()
    if not found.holds(here):
        raise SessionError(f"the session began in {found.folders[0]}, this server in {here}")
    return found


def _project_dir() -> str:
    """The folder of the project, which the client tells where it can."""
    try:
        return io.env("CLAUDE_PROJECT_DIR") or os.getcwd()
    except OSError as error:
        raise SessionError(f"the project's folder is not there: {error.strerror}") from error


def _log_failure(name: str, error: Exception) -> None:
    from brimline.state import logs

    with contextlib.suppress(OSError):
        logs.record_failure(paths.data_dir(), f"mcp {name}", error)
