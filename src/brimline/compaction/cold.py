"""What a compaction without a model lets go of: old bulk for a line, long old inputs for the ends.

Pure; the rules are simple because nothing cleverer did better (docs/explanation/lossless.md). Every
reply, every word of the user and every call stays. So do short results, the last ones, the latest
Read of the files edited last, reports of subagents, and a failure that nothing has mended since.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from brimline import clienttools

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# The last calls keep their results; of the others those from this length on become a line.
_KEPT_RESULTS = 15
_LONG_RESULT_CHARACTERS = 1_500
# Calls further back keep shorter results only, and no long input.
_RECENT_CALLS = 60
_LONG_OLD_RESULT_CHARACTERS = 800
_LONG_INPUT_CHARACTERS = 1_200
_LONG_STRING_CHARACTERS = 400
_KEPT_HEAD, _KEPT_TAIL = 150, 100
_EDITED_FILES = 4
# A subagent's report is somebody's words, and no call brings the same ones again.
_REPORTING = ("Task", "Agent")
_LONG_REPORT_CHARACTERS = 5_000
# Whatever these answer is the user's: answers, plans with what was said about them.
_ASKING = ("AskUserQuestion", "ExitPlanMode")


class Call(NamedTuple):
    """A tool call of a conversation, with its result where there is one."""

    id: str
    tool: str
    arguments: dict[str, Any]
    text: str | None = None
    is_error: bool = False
    has_image: bool = False
    is_users: bool = False
    """Whether the result holds words of the user's: a refusal, an answer, an approved plan."""


def cold_results(calls: Sequence[Call]) -> list[Call]:
    """The calls whose results are old bulk, in their order."""
    hot = {call.id for call in calls[-_KEPT_RESULTS:]}
    hot |= {*_reads_of_edited_files(calls), *_unmended_failures(calls)}
    # A rebuilt message cannot hold an image, whatever its age.
    return [
        call
        for at, call in enumerate(calls)
        if call.text is not None
        and not (call.is_users or call.tool in _ASKING)
        and (call.has_image or (call.id not in hot and _is_long(call, len(calls) - at)))
    ]


def cold_inputs(calls: Sequence[Call]) -> list[Call]:
    """The calls whose long inputs are old enough to be shortened, in their order."""
    old = calls[: max(0, len(calls) - _RECENT_CALLS)]
    return [call for call in old if _long_characters(call.arguments) > _LONG_INPUT_CHARACTERS]


def shortened(value: Any, mark: str) -> Any:
    """An input with the middle of its long strings cut out, and a mark where that was."""
    if isinstance(value, str):
        is_long = len(value) > _LONG_STRING_CHARACTERS
        return f"{value[:_KEPT_HEAD]}{mark}{value[-_KEPT_TAIL:]}" if is_long else value
    if isinstance(value, dict):
        return {name: shortened(item, mark) for name, item in value.items()}
    return [shortened(item, mark) for item in value] if isinstance(value, list) else value


def _is_long(call: Call, age: int) -> bool:
    """Whether a result is bulk for its age, in calls."""
    limit = _LONG_RESULT_CHARACTERS if age <= _RECENT_CALLS else _LONG_OLD_RESULT_CHARACTERS
    if call.tool in _REPORTING:
        limit = _LONG_REPORT_CHARACTERS
    return len(call.text or "") >= limit


def _reads_of_edited_files(calls: Sequence[Call]) -> Iterator[str]:
    """The latest Read of each of the files that were edited last."""
    edited = [_path(call) for call in reversed(calls) if call.tool in clienttools.EDITING]
    wanted = set(list(dict.fromkeys(filter(None, edited)))[:_EDITED_FILES])
    for call in reversed(calls):
        if call.tool == "Read" and _path(call) in wanted:
            wanted.discard(_path(call))
            yield call.id


def _unmended_failures(calls: Sequence[Call]) -> list[str]:
    """The last result of each command that failed and has not been run with success since."""
    latest = {
        str(call.arguments.get("command")): call
        for call in calls
        if call.tool == "Bash" and call.text is not None
    }
    return [call.id for call in latest.values() if call.is_error]


def _path(call: Call) -> Any:
    return call.arguments.get("file_path") or call.arguments.get("notebook_path")


def _long_characters(value: Any) -> int:
    """How many characters the long strings of an input have."""
    if isinstance(value, str):
        return len(value) if len(value) > _LONG_STRING_CHARACTERS else 0
    if isinstance(value, dict):
        return sum(map(_long_characters, value.values()))
    return sum(map(_long_characters, value)) if isinstance(value, list) else 0
