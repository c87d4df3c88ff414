"""Answers one call of a tool; whatever goes wrong becomes one sentence for the model."""

from __future__ import annotations

import contextlib
import os
from typing import Any

from brimline import clock
from brimline.errors import BrimlineError, SessionError
from brimline.fast import io, paths
from brimline.mcp import tools

_LONGEST_NOTE = 600


def answer(name: str, arguments: dict[str, Any]) -> tuple[str, bool]:
    """The text of the answer, and whether it tells of a failure."""
    try:
        return _encodable(_dispatched(name, arguments)), False
    except BrimlineError as error:
        return _encodable(str(error)), True
    except OSError as error:
        subject = error.filename or "a file of the store"
        return _encodable(f"{subject}: {error.strerror or error}"), True
    except Exception as error:  # noqa: BLE001 - the top of this door: no traceback to the model
        _record(name, error)
        return f"{name[:40]} failed ({type(error).__name__}): see `brimline doctor`", True


def _dispatched(name: str, arguments: dict[str, Any]) -> str:
    home_dir = paths.home()
    if name == tools.RECALL:
        from brimline.mcp import recall

        return recall.answer(home_dir, _project_dir(), arguments)
    if name == tools.STATUS:
        from brimline.mcp import status

        return status.answer(home_dir, _project_dir(), clock.now())
    if name == tools.NOTE:
        return _noted(arguments)
    known = f"{tools.RECALL}, {tools.STATUS} or {tools.NOTE}"
    raise BrimlineError(f"there is no tool {name[:40]!r}: use {known}")


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


def _encodable(text: str) -> str:
    """A text that JSON can carry: paths may hold bytes that are no text."""
    return text.encode("utf-8", "replace").decode()
