"""What a compaction without a model lets go of: old bulk for a line, long old inputs for the ends.

Pure; the rules are simple because nothing cleverer did better (docs/explanation/lossless.md). Every
reply, every word of the user and every call stays, and so do short results, the last ones, the
latest Read of the files edited last, and a failure that nothing has mended since.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

# The last calls keep their results; of the others those from this length on become a line.
_KEPT_RESULTS = 15
_LONG_RESULT_CHARACTERS = 1_500
# Calls further back keep only very short results, and no long input.
_RECENT_CALLS = 60
_LONG_OLD_RESULT_CHARACTERS = 300
_LONG_INPUT_CHARACTERS = 1_200
_LONG_STRING_CHARACTERS = 400
_KEPT_HEAD, _KEPT_TAIL = 150, 100
_EDITED_FILES = 4
_EDITING = ("Edit", "MultiEdit", "Write", "NotebookEdit")
_PATHS = ("file_path", "notebook_path")
_USERS_TOOLS = ("AskUserQuestion", "ExitPlanMode")


class Call(NamedTuple):
    """A tool call of a conversation, with its result where there is one."""

    id: str
    tool: str
    arguments: Any
    text: str | None = None
    is_error: bool = False
    has_image: bool = False
    is_users: bool = False
    """Whether the result holds words of the user's: a refusal, an answer, an approved plan."""


def cold_results(calls: Sequence[Call]) -> list[Call]:
    """The calls whose results are old bulk, in their order."""
    hot = {call.id for call in calls[-_KEPT_RESULTS:]}
    hot |= {*_reads_of_edited_files(calls), *_unmended_failures(calls)}
    cold = []
    for age, call in enumerate(reversed(calls)):
        if call.text is None or call.is_users or call.tool in _USERS_TOOLS:
            continue
        is_old = age >= _RECENT_CALLS
        limit = _LONG_OLD_RESULT_CHARACTERS if is_old else _LONG_RESULT_CHARACTERS
        # A rebuilt message cannot hold an image, whatever its age.
        if call.has_image or (len(call.text) >= limit and call.id not in hot):
            cold.append(call)
    return cold[::-1]


def cold_inputs(calls: Sequence[Call]) -> list[Call]:
    """The calls whose long inputs are old enough to be shortened."""
    old = calls[: max(0, len(calls) - _RECENT_CALLS)]
    return [call for call in old if _characters(call.arguments) > _LONG_INPUT_CHARACTERS]


def shortened(value: Any, mark: str) -> Any:
    """An input with the middle of its long strings cut out, and the mark where that was."""
    if isinstance(value, str):
        if len(value) <= _LONG_STRING_CHARACTERS:
            return value
        return f"{value[:_KEPT_HEAD]}{mark}{value[-_KEPT_TAIL:]}"
    if isinstance(value, dict):
        return {name: shortened(item, mark) for name, item in value.items()}
    return [shortened(item, mark) for item in value] if isinstance(value, list) else value


def _reads_of_edited_files(calls: Sequence[Call]) -> Iterator[str]:
    """The latest Read of each of the files that were edited last."""
    edited = [_path(call) for call in reversed(calls) if call.tool in _EDITING]
    wanted = set(list(dict.fromkeys(path for path in edited if path))[:_EDITED_FILES])
    for call in reversed(calls):
        if call.tool == "Read" and _path(call) in wanted:
            wanted.discard(_path(call))
            yield call.id


def _unmended_failures(calls: Sequence[Call]) -> Iterator[str]:
    """The last result of each command that failed and has not been run with success since."""
    latest: dict[str, Call] = {}
    for call in calls:
        command = call.arguments.get("command") if isinstance(call.arguments, dict) else None
        if call.tool == "Bash" and isinstance(command, str) and call.text is not None:
            latest[command] = call
    return (call.id for call in latest.values() if call.is_error)


def _path(call: Call) -> str:
    arguments = call.arguments if isinstance(call.arguments, dict) else {}
    path = next((arguments[name] for name in _PATHS if arguments.get(name)), "")
    return path if isinstance(path, str) else ""


def _characters(value: Any) -> int:
    """How many characters the strings of an input have, short ones left out."""
    if isinstance(value, str):
        return len(value) if len(value) > _LONG_STRING_CHARACTERS else 0
    items: Collection[Any] = value.values() if isinstance(value, dict) else value
    return sum(map(_characters, items)) if isinstance(value, dict | list) else 0
