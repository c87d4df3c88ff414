"""Rows around the user's words, in the shapes that recorded sessions have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from brimline.carry import fold, ledger

if TYPE_CHECKING:
    from brimline.carry.ledger import Ledger
    from brimline.testing import SessionBuilder

REFUSED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was "
    "a file edit, the new_string was NOT written to the file). To tell you how to proceed, the "
    "user said:\n"
)


def recorded(session: SessionBuilder) -> Ledger:
    """What is known of a session after all of it was read."""
    record = ledger.Ledger(session.session_id)
    fold.fold_new_rows(record, session.path)
    return record


def said(session: SessionBuilder) -> list[str]:
    """The user's messages, oldest first."""
    return [message["text"] for message in recorded(session).messages]


def ran(session: SessionBuilder, command: str, output: str = "", *, failed: bool = False) -> None:
    """A shell command and how it went."""
    call = session.tool_call(20_000, "Bash", command=command)
    answered(session, call, f"Exit code 1\n{output}" if failed else output, failed=failed)


def answered(
    session: SessionBuilder, call: str, text: str, *, failed: bool = False, copy: Any = None
) -> None:
    """A tool's answer, with the client's own copy of it."""
    block = {"type": "tool_result", "tool_use_id": call, "content": text, "is_error": failed}
    own = f"Error: {text}" if failed else {"stdout": text, "stderr": "", "interrupted": False}
    session.row(
        "user",
        message={"role": "user", "content": [block]},
        toolUseResult=own if copy is None else copy,
    )


def queued(session: SessionBuilder, text: str, operation: str = "enqueue") -> None:
    """What is typed while the assistant works."""
    session.row("queue-operation", operation=operation, content=text)


def numbers(texts: Any) -> list[int]:
    """The numbers at the end of texts."""
    return [int(text.rpartition(" ")[2]) for text in texts]
