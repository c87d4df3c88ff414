"""What a compaction without a model lets go of: old bulk for a line, long old inputs for the ends.

Pure; the rules are simple because nothing cleverer did better (docs/explanation/lossless.md). Every
reply, every word of the user and every call stays. So do short results, the last ones, the latest
Read of the files edited last, reports of subagents, and a failure that nothing has mended since.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from brimline.transcript import clienttools

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from brimline.transcript.calls import Call

# The share of the messages that has to go, by setting, for a compaction to be worth its while.
SHARES = {"keep": 0.1, "balanced": 0.3, "thrifty": 0.5}
# The last calls keep their results; of the others those from this length on become a line.
KEPT_RESULTS = 15
_LONG_RESULT_CHARACTERS = 1_500
# Calls further back keep shorter results only, and no long input.
_RECENT_CALLS = 60
_LONG_OLD_RESULT_CHARACTERS = 800
_LONG_INPUT_CHARACTERS = 1_200
_LONG_STRING_CHARACTERS = 400
_KEPT_HEAD, _KEPT_TAIL = 150, 100
_EDITED_FILES = 4
# A subagent's report is somebody's words, and no call brings the same ones again.
_LONG_REPORT_CHARACTERS = 5_000


def select_cold_result_calls(
    calls: Sequence[Call], kept: int = KEPT_RESULTS, least: int | None = None
) -> list[Call]:
    """The calls whose results are old bulk, in their order.

    Args:
        calls: those of the conversation as it is now, oldest first.
        kept: how many of the last ones keep their results.
        least: the characters from which on a result is long, where the caller says so.
    """
    hot = {call.id for call in calls[max(0, len(calls) - kept) :]}
    hot |= {*_ids_of_latest_reads_of_edited_files(calls), *_ids_of_commands_still_failing(calls)}
    return [
        call
        for at, call in enumerate(calls)
        if call.characters is not None
        and not call.is_users
        and (call.has_image or (call.id not in hot and _has_bulk(call, len(calls) - at, least)))
    ]


def has_cold_input(arguments: Any, age: int) -> bool:
    """Tell whether the input of a call that is so many calls old is to be shortened."""
    return age > _RECENT_CALLS and _length_of_long_strings(arguments) > _LONG_INPUT_CHARACTERS


def cut_string_middles(value: Any, mark: str) -> Any:
    """An input with the middle of its long strings cut out, and a mark where that was."""
    if isinstance(value, str):
        is_long = len(value) > _LONG_STRING_CHARACTERS
        return f"{value[:_KEPT_HEAD]}{mark}{value[-_KEPT_TAIL:]}" if is_long else value
    if isinstance(value, dict):
        return {name: cut_string_middles(item, mark) for name, item in value.items()}
    return [cut_string_middles(item, mark) for item in value] if isinstance(value, list) else value


def readable_input_text(value: Any, name: str = "") -> str:
    """An input for a reader, as it is stored: each value under its name, texts as they are."""
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        return "\n".join(
            readable_input_text(item, f"{name}.{key}" if name else str(key)) for key, item in items
        )
    text = str(value)
    return f"{name}:\n{text}" if "\n" in text else f"{name}: {text}"


def _has_bulk(call: Call, age: int, least: int | None) -> bool:
    """Tell whether a result is bulk for its age, in calls."""
    if least is None:
        least = _LONG_RESULT_CHARACTERS if age <= _RECENT_CALLS else _LONG_OLD_RESULT_CHARACTERS
    if call.tool in clienttools.DELEGATING:
        least = max(least, _LONG_REPORT_CHARACTERS)
    return (call.characters or 0) >= least


def _ids_of_latest_reads_of_edited_files(calls: Sequence[Call]) -> Iterator[str]:
    """The latest Read of each of the files that were edited last."""
    edited = [call.subject for call in reversed(calls) if call.tool in clienttools.EDITING]
    wanted = set(list(dict.fromkeys(filter(None, edited)))[:_EDITED_FILES])
    for call in reversed(calls):
        if call.tool == "Read" and call.subject in wanted:
            wanted.discard(call.subject)
            yield call.id


def _ids_of_commands_still_failing(calls: Sequence[Call]) -> list[str]:
    """The last result of each command that failed and has not been run with success since."""
    commands = [call for call in calls if call.tool == "Bash" and call.characters is not None]
    latest = {call.subject: call for call in commands}
    return [call.id for call in latest.values() if call.is_error]


def _length_of_long_strings(value: Any) -> int:
    """Return how many characters the long strings of an input have."""
    if isinstance(value, str):
        return len(value) if len(value) > _LONG_STRING_CHARACTERS else 0
    if isinstance(value, dict):
        return sum(map(_length_of_long_strings, value.values()))
    return sum(map(_length_of_long_strings, value)) if isinstance(value, list) else 0
