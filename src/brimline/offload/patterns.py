"""What a tool call is remembered by: `git log` for a command line, a file, a host. Pure.

Fast path: imports only `brimline.offload.programs` and `brimline.offload.shellwords`, and is loaded
only once an output is large. Whatever a command line looks like, nothing here raises.
"""

from __future__ import annotations

from brimline.offload import programs, shellwords

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

# A command line says what it is at its beginning; a here-document may be as long as a book.
_LONGEST_COMMAND = 4_000
_LONGEST_PATTERN = 120
_DEEPEST = 4
_SUBJECTS = {"Bash": "command", "Read": "file_path", "WebFetch": "url"}
_BEGINS_NO_NAME = ("", ".", "-", "+", "@", ":")
_NOT_A_NAME = frozenset("=/\\$*?{}()<>\"'`~,;|& \t\n")


def pattern_of(tool: str, tool_input: Mapping[str, Any]) -> str:
    """What a call is remembered by; never empty where the tool has a name."""
    field = _SUBJECTS.get(tool)
    return of_subject(tool, tool_input.get(field) if field else None)


def of_subject(tool: str, subject: Any) -> str:
    """The same, given the command, file or address itself, as the store's sidecars keep it."""
    if not isinstance(subject, str) or not subject.strip():
        return tool
    if tool == "Bash":
        return command_pattern(subject) or tool
    if tool == "Read":
        return f"Read {subject}"
    return f"WebFetch {_host(subject)}" if tool == "WebFetch" else tool


def command_pattern(command: str, depth: int = 0) -> str:
    """The program that most likely produced a command line's output, with its subcommand.

    Of several commands the last that prints more than a little counts, of a pipeline what feeds the
    filters. Empty where there is no command at all.
    """
    best, best_rank = "", -1
    for pipeline in shellwords.pipelines(command[:_LONGEST_COMMAND]):
        pattern, rank = _of_pipeline(pipeline, depth)
        if pattern and rank >= best_rank:
            best, best_rank = pattern, rank
    return " ".join(best[:_LONGEST_PATTERN].split())


def _of_pipeline(parts: Sequence[shellwords.Command], depth: int) -> tuple[str, int]:
    named = [part for part in parts if _bare(part.words)]
    if not named:
        return "", 0
    sources = [part for part in named if _program(_bare(part.words)[0]) not in programs.FILTERS]
    words = _bare((sources or named[:1])[-1].words)
    pattern = _describe(words, depth)
    if parts[-1].redirected or _program(words[0]) in programs.SILENT:
        return pattern, 0
    little = _program(words[0]) in programs.LIGHT or pattern in programs.LIGHT_PATTERNS
    return pattern, 1 if little else 2


def _bare(words: Sequence[str]) -> Sequence[str]:
    """A command without what stands before its program: keywords, assignments, wrappers."""
    while words:
        first = _program(words[0])
        if first in programs.NO_COMMAND:
            return ()
        if first in programs.OPENING or _is_assignment(words[0]):
            words = words[1:]
        elif first in programs.WRAPPERS and len(words) > 1:
            words = _unwrapped(first, words)
        else:
            return words
    return words


def _unwrapped(wrapper: str, words: Sequence[str]) -> Sequence[str]:
    rest = _after_options(words[1:], programs.WRAPPERS[wrapper].split())
    return rest[1:] if wrapper in programs.WITH_DURATION else rest


def _after_options(words: Sequence[str], with_value: Sequence[str]) -> Sequence[str]:
    while words and words[0].startswith("-"):
        words = words[2:] if words[0] in with_value else words[1:]
    return words


def _describe(words: Sequence[str], depth: int) -> str:
    program, rest = _program(words[0]), words[1:]
    if program in programs.INTERPRETERS or program.startswith("python"):
        return _script(program, rest, depth)
    if program in programs.RUNNERS:
        inner = _after_options(rest, ("-p", "--package", "--from", "--with"))
        return _joined(program, inner, depth)
    if program not in programs.WITH_SUBCOMMANDS:
        return program
    return _subcommand(program, rest, depth)


def _subcommand(program: str, words: Sequence[str], depth: int) -> str:
    with_value = programs.WITH_SUBCOMMANDS[program].split()
    wanted = 2 if program in programs.TWO_WORDS else 1
    pattern = program
    while wanted:
        words = _after_options(words, with_value)
        if words and (_is_assignment(words[0]) or words[0].isdigit()):
            words = words[1:]
            continue
        if not words or not _is_name(words[0]):
            break
        pattern, words, wanted = f"{pattern} {words[0]}", words[1:], wanted - 1
        wanted += pattern in programs.TAKING_ANOTHER
        if pattern in programs.HANDING_OVER:
            return _joined(pattern, _after_options(words, ("--with", "--extra", "-n")), depth)
    return pattern


def _joined(pattern: str, words: Sequence[str], depth: int) -> str:
    """A runner and what it runs."""
    words = _bare(words)
    return f"{pattern} {_describe(words, depth + 1)}" if words and depth < _DEEPEST else pattern


def _script(program: str, words: Sequence[str], depth: int) -> str:
    """An interpreter with the module or the script that it runs."""
    shell = program in programs.SHELLS
    for place, word in enumerate(words):
        following = words[place + 1] if place + 1 < len(words) else ""
        if shell and word.startswith("-") and not word.startswith("--") and "c" in word:
            inner = command_pattern(following, depth + 1) if depth < _DEEPEST else ""
            return inner or program
        if word in ("-m", "-jar"):
            return f"{program} {word} {_program(following)}".strip()
        if word in programs.INLINE:
            return f"{program} {word}"
        if not word.startswith("-"):
            if place and words[place - 1] in programs.VALUE_OPTIONS:
                continue
            return f"{program} {_program(word)}"
    return program


def _program(word: str) -> str:
    """A program without its folder; one in the current folder keeps its `./`."""
    folder, slash, name = word.rpartition("/")
    if not slash or not name:
        return word
    return f"./{name}" if folder == "." else name


def _is_assignment(word: str) -> bool:
    name, equals, _ = word.partition("=")
    return bool(equals) and name.removesuffix("+").isidentifier()


def _is_name(word: str) -> bool:
    return word[:1] not in _BEGINS_NO_NAME and _NOT_A_NAME.isdisjoint(word)


def _host(address: str) -> str:
    rest = address.strip().partition("://")[2] or address.strip()
    for mark in "/?#":
        rest = rest.partition(mark)[0]
    host = rest.rpartition("@")[2].lower()
    name, _, port = host.rpartition(":")
    return (name if port.isdigit() and name else host)[:_LONGEST_PATTERN]
