"""The one judge of a tool result: it stays, with a reason, or is previewed, with its kind. Pure.

Whoever asks (the hook, the layers, the mod) gets the same answer under the same settings. What is
asked beside it, and the order of all questions, is told in `intercept.decide_on_result`.
"""

from __future__ import annotations

import fnmatch
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from brimline.bulk import kinds, preview, shell, stub
from brimline.fast import owntools
from brimline.models import MOST_CHARACTERS_PER_TOKEN
from brimline.transcript import clienttools

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from brimline.bulk.shell import Line

# The command by which stored content is asked for, in front of its key.
_STORE_GET = re.compile(r"\bbrimline\s+store\s+get\s+(?:--\w+[ =]\S+\s+)*([\w:]*)")
# Why a result stays.
OURS, OTHER_TOOL, NEVER, SMALL = "ours", "other tool", "never", "small"
PAGE, EDITED, CONFIGURATION, BRIEF, FAILED = "page", "edited", "configuration", "brief", "failed"
_LARGEST_CONFIGURATION_BYTES = 100_000
# So much of the window one result may take that is no bulk.
_CONTENT_SHARE = 0.03
# What a reference has to save of the text, and what it takes beside its preview.
_LEAST_TOKENS, _LEAST_SHARE = 1_000, 0.5
_FRAME_CHARACTERS = 400


class Rules(NamedTuple):
    """The user's settings of the same names, in the room's group of them."""

    inline_bytes: int = 8_000
    read_bytes: int = 25_000
    never: Sequence[str] = ()
    always: Sequence[str] = ()


def rules_for_window(rules: Rules, window_tokens: int) -> Rules:
    """The same where the window is known: what is small in it passes, if it is content.

    A size that the user has set holds.
    """
    if rules.read_bytes != Rules().read_bytes:
        return rules
    share = int(_CONTENT_SHARE * window_tokens * MOST_CHARACTERS_PER_TOKEN)
    return rules._replace(read_bytes=max(rules.read_bytes, share))


class Case:
    """A result, and what its call and its text tell of it."""

    def __init__(self, tool: str, arguments: Mapping[str, Any], text: str, sent_bytes: int) -> None:
        self.tool, self.arguments, self.text = tool, arguments, text
        # As the model would be sent it: a file with the numbers of its lines.
        self.sent_bytes = sent_bytes
        self.line = (
            shell.parse_line(str(arguments.get("command") or "")) if tool == "Bash" else None
        )
        self.files = self.line.files if self.line else files_shown_by_call(tool, arguments)
        self.source = preview.Excerpt(text)
        self.kind = kinds.kind_of_output(text, self.source.lines, tool, self.files, self.line)
        is_found = self.kind == kinds.FOUND and self.source.total >= kinds.FEWEST_HITS
        self.is_bulk = is_found or self.kind in kinds.BULK
        # Whether the call failed, was broken off or sent away.
        self.failed = False
        # Whether the client shows no more than its beginning.
        self.is_cut = False
        # Whether the model has had it for a while: then content is held to the rules for bulk.
        self.was_read = False

    def has_failed(self) -> bool:
        """Tell whether the call failed, also where a pipe lost its exit code."""
        if self.line and self.line.ran_something:
            return self.failed or kinds.reports_failure(self.text)
        return self.failed


class Verdict(NamedTuple):
    """Why a result stays, empty where it is previewed; and whether `offload.always` names it."""

    reason: str
    is_listed: bool = False


def judge(case: Case, rules: Rules, was_edited: Callable[[str], bool]) -> Verdict:
    """Judge a result: is it ours, do the user's lists name it, is it small, or is there more?"""
    looks_ours = case.text.startswith(stub.BEGINNINGS[0])
    if looks_ours and stub.first_reference_in(case.text.partition("\n")[0]):
        return Verdict(OURS)  # a program may print what looks like a reference, but for its form
    if recalls_asked_by_call(case.tool, case.arguments) is not None:
        return Verdict(OURS)
    answers = case.tool in clienttools.ANSWERING or case.tool.startswith(clienttools.MCP_PREFIX)
    # The result of an edit echoes the file, which is bulk later on.
    if not (case.was_read if case.tool in clienttools.EDITING else answers):
        return Verdict(OTHER_TOOL)
    if rules.never and does_call_match_any(rules.never, case.tool, case.arguments, case.line):
        return Verdict(NEVER)
    is_listed = bool(rules.always) and does_call_match_any(
        rules.always, case.tool, case.arguments, case.line
    )
    least_bytes = rules.read_bytes
    if is_listed or case.was_read or case.is_bulk:
        least_bytes = min(rules.inline_bytes, rules.read_bytes)
    # The sources keep a file of exactly 25,000 bytes out, and leave 2,000 bytes of output in.
    if case.sent_bytes < least_bytes + (case.tool != "Read"):
        return Verdict(SMALL, is_listed)
    reason = "" if is_listed else _why_large_result_stays(case, rules, was_edited)
    return Verdict(reason, is_listed)


def does_call_match_any(
    patterns: Sequence[str], tool: str, arguments: Mapping[str, Any], line: Line | None = None
) -> bool:
    """Tell whether a list of the user's holds the tool, the file or a command of a call."""
    command = str(arguments.get("command") or "") if tool == "Bash" else ""
    line = line or shell.parse_line(command)
    texts = [tool, command, clienttools.file_of_call(arguments), *line.files]
    commands = []
    for each in line.commands:
        commands += [each.words, each.own, (each.program, *each.own[1:])]
    return any(
        _does_pattern_match_any(pattern, texts)
        or _does_any_command_begin(pattern.split(), commands)
        for pattern in patterns
    )


def _does_pattern_match_any(pattern: str, texts: list[str]) -> bool:
    forms = (pattern, f"*/{pattern}")
    return any(text and fnmatch.fnmatchcase(text, form) for text in texts for form in forms)


def _does_any_command_begin(wanted: list[str], commands: list[tuple[str, ...]]) -> bool:
    """Tell whether a command begins with such words."""
    return bool(wanted) and any(
        len(words) >= len(wanted) and all(map(fnmatch.fnmatchcase, words, wanted))
        for words in commands
    )


def _why_large_result_stays(case: Case, rules: Rules, was_edited: Callable[[str], bool]) -> str:
    """Return why a large result stays all the same; empty where it is previewed."""
    is_fresh = not case.was_read
    if case.tool == "Read" and is_fresh and clienttools.asks_for_part_of_file(case.arguments):
        return PAGE
    if any(map(was_edited, case.files)):
        return EDITED
    is_small = case.sent_bytes <= _LARGEST_CONFIGURATION_BYTES
    if is_small and any(map(kinds.is_settings_or_instructions, case.files)):
        return CONFIGURATION
    if case.line and case.line.is_exempt:
        return BRIEF
    # A failure is content; and of what the client itself cuts, a preview shows more.
    is_read_at_once = case.sent_bytes < rules.read_bytes and not case.is_cut
    return FAILED if is_fresh and is_read_at_once and case.has_failed() else ""


def is_preview_worth_it(case: Case, shown: str) -> bool:
    """Tell whether a reference with such a preview is worth its while."""
    saved = len(case.text) - len(shown) - _FRAME_CHARACTERS
    # The preview of a diff shows what there is to see, so that less need be saved.
    share = 0.0 if case.kind == kinds.DIFF else _LEAST_SHARE
    return saved >= max(_LEAST_TOKENS * MOST_CHARACTERS_PER_TOKEN, len(case.text) * share)


def pattern_for_learning(tool: str, subject: Any) -> str:
    """Return what a call is remembered by: two words of a command, a file, a host or the tool."""
    if not isinstance(subject, str) or not subject.strip():
        return tool
    if tool == "Bash":
        command = shell.parse_line(subject).main
        return command.pattern if command else tool
    if tool == "Read":
        return f"Read {subject}"
    host = subject.partition("://")[2].partition("/")[0].lower()
    return f"WebFetch {host}" if tool == "WebFetch" else tool


def files_shown_by_call(tool: str, arguments: Mapping[str, Any]) -> list[str]:
    """Return the files that a call shows, where that is all it does."""
    if tool == "Bash":
        return shell.parse_line(str(arguments.get("command") or "")).files
    path = clienttools.file_of_call(arguments) if tool == "Read" else ""
    return [path] if path else []


def recalls_asked_by_call(tool: str, arguments: Mapping[str, Any]) -> list[str] | None:
    """Return the stored content that a call asks for, by the name it uses; None if it asks none."""
    if tool == "Bash":
        text = str(arguments.get("command") or "")
        return _STORE_GET.findall(text) or None if "brimline" in text else None
    if not owntools.is_ours(tool):
        return None
    key = arguments.get("key")
    return [key] if key and isinstance(key, str) else []
