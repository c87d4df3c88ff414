"""Hook failures in transcripts, in the shapes the client writes them (2.1.325)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from brimline.install import hookerrors

if TYPE_CHECKING:
    from brimline.testing import SessionBuilder

OURS = "/usr/bin/python3 -I -S -c import sys␤try:␤ from brimline.launch import main;main()"
REFUSED = (
    "PostToolUse hook returned updatedToolOutput that does not match Bash's output shape; "
    "using original output. [\n  {\n"
)


def is_ours(command: str) -> bool:
    """Whether a command starts us."""
    return "from brimline." in command


def note(session: SessionBuilder, kind: str, **fields: Any) -> None:
    """Add the row that the client adds after a hook ran."""
    attachment = {"type": kind, "hookName": "PostToolUse:Bash", "hookEvent": "PostToolUse"} | fields
    session.row("attachment", attachment=attachment)


def test_a_hook_that_could_not_start_is_found_by_its_command(session: SessionBuilder) -> None:
    """The interpreter is gone: the client names the command and the reason."""
    reason = "Failed with non-blocking status code: ENOENT: no such file or directory"
    note(session, "hook_non_blocking_error", command=OURS, stderr=reason, toolUseID="t1")
    note(session, "hook_non_blocking_error", command="theirs", stderr="x", toolUseID="t2")

    (found,) = hookerrors.find(session.path, is_ours)

    assert (found.event, found.message) == ("PostToolUse:Bash", reason)
    assert found.timestamp is not None


def test_a_refused_answer_belongs_to_the_hook_that_gave_it(session: SessionBuilder) -> None:
    """That row names no command; the success before it, at the same event and call, does."""
    note(session, "hook_success", command=OURS, toolUseID="t1", stdout="{}")
    note(session, "hook_error_during_execution", content=REFUSED, toolUseID="t1")
    note(session, "hook_success", command="theirs", toolUseID="t2", stdout="{}")
    note(session, "hook_error_during_execution", content=REFUSED, toolUseID="t2")
    note(session, "hook_error_during_execution", content=REFUSED, toolUseID="t1", hookEvent="Stop")

    (found,) = hookerrors.find(session.path, is_ours)

    assert found.message == REFUSED.partition("\n")[0]


def test_a_refused_answer_that_names_us_is_ours(session: SessionBuilder) -> None:
    """Any text of the row will do, whatever the client calls the field."""
    note(session, "hook_error_during_execution", whatever=OURS)

    assert len(hookerrors.find(session.path, is_ours)) == 1


def test_successes_and_other_rows_are_no_failures(session: SessionBuilder) -> None:
    """Only what went wrong counts."""
    note(session, "hook_success", command=OURS, toolUseID="t1")
    note(session, "hook_additional_context", content=[OURS])
    session.prompt("hook_error_during_execution from brimline.")

    assert hookerrors.find(session.path, is_ours) == []


@pytest.mark.parametrize(
    "row",
    [1, None, [], "x", {"type": "attachment"}, {"type": "attachment", "attachment": "hook_"},
     {"type": "attachment", "attachment": {"type": 7, "command": ["x"]}},
     {"type": "attachment", "attachment": {"type": "hook_cancelled", "command": None}}],
)  # fmt: skip
def test_rows_of_any_shape_are_read(row: Any, session: SessionBuilder) -> None:
    """Foreign data says nothing, and the row behind it is still found."""
    session.raw(json.dumps({"hook": row}) + json.dumps(row) + '{"hook_": \n')
    note(session, "hook_non_blocking_error", command=OURS)

    (found,) = hookerrors.find(session.path, is_ours)
    assert found.message == "hook_non_blocking_error"


def test_only_the_end_of_a_long_transcript_is_read(session: SessionBuilder) -> None:
    """A failure of long ago does not count, and its cost does not grow with the session."""
    note(session, "hook_non_blocking_error", command=OURS, stderr="old")
    session.prompt("x" * hookerrors.TAIL_BYTES)
    note(session, "hook_non_blocking_error", command=OURS, stderr="new")

    assert [found.message for found in hookerrors.find(session.path, is_ours)] == ["new"]
