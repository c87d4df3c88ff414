"""Rows that the client is about to send and store: the text that stands in for a large result.

The judge, the preview, the key, the same call again and what is learned are the hook's own; a
result that the hook replaced is left alone. What a person wrote is never touched.
"""

from __future__ import annotations

from typing import Any

from brimline import clienttools
from brimline.hooks.turn import Turn
from brimline.offload import hook, intercept, tool_results
from brimline.offload.tool_results import ToolResult
from brimline.store import stub
from brimline.transcript import find, words

_PERSISTED = "<persisted-output>"


def answer(request: dict[str, Any], home_dir: str) -> dict[str, Any]:
    """Return the texts that stand in for rows, by the id of their call; most have none.

    Args:
        request: what the mod sends: session, folder, `rows` (each with `id`, `tool`, `input`,
            `text`, `is_error`, and where it knows them `response`, the tool's own answer, and
            `whole`, a failing command's output before the client cut it); `results` and `edited`:
            how many other results came and which files were changed since it asked last.
        home_dir: the data folder.

    Raises:
        KeyError, TypeError, AttributeError: the rows have another shape.
    """
    texts: dict[str, str] = {}
    for row in request["rows"]:
        turn = Turn(_Event(request, row), home_dir)  # type: ignore[arg-type]
        if turn.state.is_off:
            break
        if _was_answered(turn, row["text"]):
            continue
        for path in request.pop("edited", ()):
            hook.note_edit(turn, path)
        hook.count_results(turn, 1 + request.pop("results", 0))
        text = _instead(turn, row)
        if text is not None:
            texts[row["id"]] = text
    return {"texts": texts}


class _Event:
    """A row in the words of a hook's event."""

    def __init__(self, request: dict[str, Any], row: dict[str, Any]) -> None:
        self.name, self.payload, self.agent_id = "PostToolUse", request, request.get("agent")
        self.session_id, self.cwd = request["session"], request["cwd"]
        self.tool, self.tool_input, self.call_id = row["tool"], row["input"], row["id"]
        self._transcript: str | None = request.get("transcript")

    @property
    def transcript(self) -> str:
        """The session's file, which matters only where it has a past."""
        if self._transcript is None:
            self._transcript = next(iter(find.beginning_with(f"{self.session_id}.jsonl")), "")
        return self._transcript


def _was_answered(turn: Turn, text: str) -> bool:
    """Tell whether the hook came first: it replaced the result, or let it pass."""
    judged = intercept.read_mark(turn, hook.JUDGED).split("\n")
    return turn.event.call_id in judged or text.startswith(stub.BEGINNINGS[0])


def _instead(turn: Turn, row: dict[str, Any]) -> str | None:
    """Return what the model is shown in the place of a row; None where it stays as it is."""
    text, is_error = row["text"], bool(row.get("is_error"))
    if turn.event.agent_id or words.may_be_in(turn.event.tool, text, is_error=is_error):
        return None
    decision = intercept.on_result(turn, _result(turn.event.tool, row, is_error=is_error))
    if decision:
        return str(decision.replacement)
    if is_error and turn.event.tool == "Bash" and clienttools.has_lost_its_end(text):
        return f"{text}\n{hook.END_IS_LOST}"
    return None


def _result(tool: str, row: dict[str, Any], *, is_error: bool) -> ToolResult:
    """Return a result: from the tool's own answer where that tells more than the row."""
    text, whole = row["text"], row.get("whole")
    if not is_error and (tool != "Bash" or text.startswith(_PERSISTED)):
        result = tool_results.read_result(tool, row["input"], row.get("response"))
        if result:
            return result._replace(
                replaced=str, was_persisted=result.was_persisted or text.startswith(_PERSISTED)
            )
    shown = whole if isinstance(whole, str) and len(whole) > len(text) else text
    return ToolResult(
        shown,
        str,
        clienttools.subject_of(row["input"]),
        shown.encode(*tool_results.ANY_TEXT),
        exit_code=None if is_error or tool != "Bash" else 0,
        was_persisted=shown is whole,
        failed=is_error,
    )
