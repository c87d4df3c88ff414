"""What a compaction without a model lets go of: old bulk for a line, long old inputs for the ends.

Pure; the rules are simple because nothing cleverer did better (docs/explanation/lossless.md). Every
reply, every word of the user and every call stays. So do short results, the last ones, the latest
Read of the files edited last, reports of subagents, and a failure that nothing has mended since.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter

from brimline.fast.io import NamedTuple
from brimline.transcript import clienttools

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

    from brimline.transcript.calls import Call


class Rule(NamedTuple):
    """What a setting of `compaction.inside` lets go of; ages are in calls, the newest is 1."""

    share: float
    """Of the messages, which has to go for a compaction to be worth its while."""
    warm_calls: int
    """Up to this age a result stays unless it is huge."""
    long_characters: int
    """From this length on a result goes."""
    inputs_from: int
    """Beyond this age long inputs are cut."""
    input_characters: int
    """So many have to be in long strings for that."""
    hot_calls: int = 8
    """Up to this age every result stays."""
    long_old_characters: int = 800
    """Of results beyond `_OLD_CALLS`."""


RULES = {
    "keep": Rule(0.1, 15, 1_500, 60, 1_200),
    "balanced": Rule(0.3, 25, 2_500, 20, 600),
    "thrifty": Rule(0.3, 15, 1_500, 20, 600),
}
_OLD_CALLS = 60
_HUGE_CHARACTERS = 10_000
_LONG_STRING_CHARACTERS = 400
_KEPT_HEAD, _KEPT_TAIL = 150, 100
# How a mark begins that stands in for the middle of a string.
CUT = " … [brimline: cut here, recall "
# The latest Read of each of the files edited last, and what a command that fails said last.
_EDITED_FILES, _READ_CHARACTERS, _FAILURE_CHARACTERS = 4, 12_000, 3_000
# The echo of an edit.
_ECHO_CALLS, _ECHO_CHARACTERS = 5, 300
# A subagent's report is somebody's words, and no call brings the same ones again.
_LONG_REPORT_CHARACTERS = 5_000
_LONG_ENDS, _KEPT_END = 3_200, 1_500
# A result is said again if so much of its lines stands in one later result.
_SAME_CHARACTERS, _SAME_LINES, _SAME_LINE_CHARACTERS, _SAME_SHARE = 300, 3, 12, 0.6
# Of the results with the same line so many are compared.
_MOST_HOLDERS = 16
# With the line break before it, which is what makes a search fast.
_NUMBERING = re.compile(r"\n *\d+(?:→|\t)")


class Gone(NamedTuple):
    """A result that goes."""

    call: Call
    is_said_again: bool
    """Whether a later result has most of it."""


def select_cold_results(
    calls: Sequence[Call], texts: Mapping[str, str], rule: Rule = RULES["balanced"]
) -> list[Gone]:
    """The results that are old bulk, or said again later, in their order.

    Args:
        calls: those of the conversation as it is now, oldest first.
        texts: their results.
        rule: what the user chose.
    """
    again = _ids_of_results_said_again(calls, texts)
    kept = {*_ids_of_latest_reads_of_edited_files(calls), *_ids_of_commands_still_failing(calls)}
    return [
        Gone(call, call.id in again)
        for age, call in zip(range(len(calls), 0, -1), calls, strict=True)
        if call.characters is not None
        and not call.is_users
        and (
            call.has_image
            or call.id in again
            or _is_echo(call, age)
            or (call.id not in kept and _is_cold(call, age, rule))
        )
    ]


def _is_echo(call: Call, age: int) -> bool:
    """Tell whether all it says is what an edit has written."""
    is_long = (call.characters or 0) >= _ECHO_CHARACTERS and not call.is_error
    return call.tool in clienttools.EDITING and age > _ECHO_CALLS and is_long


def _is_cold(call: Call, age: int, rule: Rule) -> bool:
    """Tell whether a result is long for its age."""
    characters = call.characters or 0
    if age <= rule.hot_calls or (age <= rule.warm_calls and characters < _HUGE_CHARACTERS):
        return False
    if call.tool in clienttools.DELEGATING:
        return characters >= _LONG_REPORT_CHARACTERS
    return characters >= (rule.long_characters if age <= _OLD_CALLS else rule.long_old_characters)


def _ids_of_results_said_again(calls: Sequence[Call], texts: Mapping[str, str]) -> set[str]:
    """Results most of whose lines stand in a later one that is not among these itself."""
    found: set[str] = set()
    holders: dict[str, list[str]] = {}
    for call in reversed(calls):
        if call.is_users or (call.characters or 0) < _SAME_CHARACTERS:
            continue
        lines = _telling_lines(texts.get(call.id, ""))
        if len(lines) < _SAME_LINES:
            continue
        shared = Counter(itertools.chain.from_iterable(holders.get(line, ()) for line in lines))
        if max(shared.values(), default=0) >= _SAME_SHARE * len(lines):
            found.add(call.id)
            continue
        for line in lines:
            held = holders.setdefault(line, [])
            if len(held) < _MOST_HOLDERS:
                held.append(call.id)
    return found


def without_line_numbers(text: str) -> str:
    """A text without the numbers that the client puts before the lines of a file."""
    return _NUMBERING.sub("\n", f"\n{text}")[1:] if "\t" in text or "→" in text else text


def _telling_lines(text: str) -> set[str]:
    """The lines of a result that are long enough to tell it from another one."""
    lines = set(map(str.strip, without_line_numbers(text).split("\n")))
    return {line for line in lines if len(line) >= _SAME_LINE_CHARACTERS}


def ends_of_report(gone: Gone, text: str) -> tuple[str, str]:
    """Return what of a subagent's long report stays around its line; nothing of other results."""
    call = gone.call
    if call.tool not in clienttools.DELEGATING or gone.is_said_again or len(text) < _LONG_ENDS:
        return "", ""
    return f"{text[:_KEPT_END]}\n", f"\n{text[-_KEPT_END:]}"


def has_cold_input(arguments: Any, age: int, rule: Rule = RULES["balanced"]) -> bool:
    """Tell whether the input of a call that is so many calls old is to be shortened."""
    return age > rule.inputs_from and _length_of_long_strings(arguments) > rule.input_characters


def cut_string_middles(value: Any, mark: Callable[[str], str]) -> Any:
    """An input with the middle of its long strings cut out, and there what `mark` says of it."""
    if isinstance(value, str):
        if not _is_long_string(value):
            return value
        return f"{value[:_KEPT_HEAD]}{mark(value[_KEPT_HEAD:-_KEPT_TAIL])}{value[-_KEPT_TAIL:]}"
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


def _ids_of_latest_reads_of_edited_files(calls: Sequence[Call]) -> Iterator[str]:
    """The latest Read of each of the files that were edited last."""
    edited = [call.subject for call in reversed(calls) if call.tool in clienttools.EDITING]
    wanted = set(list(dict.fromkeys(filter(None, edited)))[:_EDITED_FILES])
    for call in reversed(calls):
        if call.tool == "Read" and call.subject in wanted:
            wanted.discard(call.subject)
            if (call.characters or 0) <= _READ_CHARACTERS:
                yield call.id


def _ids_of_commands_still_failing(calls: Sequence[Call]) -> list[str]:
    """The last result of each command that failed and has not been run with success since."""
    commands = [call for call in calls if call.tool == "Bash" and call.characters is not None]
    latest = {call.subject: call for call in commands}
    failed = [call for call in latest.values() if call.is_error]
    return [call.id for call in failed if (call.characters or 0) <= _FAILURE_CHARACTERS]


def _length_of_long_strings(value: Any) -> int:
    """Return how many characters the long strings of an input have."""
    if isinstance(value, str):
        return len(value) if _is_long_string(value) else 0
    if isinstance(value, dict):
        return sum(map(_length_of_long_strings, value.values()))
    return sum(map(_length_of_long_strings, value)) if isinstance(value, list) else 0


def _is_long_string(value: str) -> bool:
    """Tell whether a string is to be cut; one that was cut before is as short as it gets."""
    return len(value) > _LONG_STRING_CHARACTERS and not value.startswith(CUT, _KEPT_HEAD)
