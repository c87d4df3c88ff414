"""The one reader of shell command lines: the simple commands in them, in their order. Pure.

Lexed without a shell, in one pass, and tolerant on purpose: a line that is cut off or unbalanced
ends where it breaks, and nothing here raises.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

# A command line says what it is at its beginning.
LONGEST_CHARACTERS = 8_000
_LONGEST_PATTERN = 80
_HERE_DOCUMENT = re.compile(r"(?<!<)<<-?[ \t]*(?:(['\"])([^'\"\n]+)\1|\\?([A-Za-z_]\w*))")
_QUOTED = r"\\.|'[^']*'|\"(?:[^\"\\]|\\.)*\""
# What a command prints, as a part of a word; with at most one pair of parentheses inside.
_SUBSTITUTED = rf"\$\((?:{_QUOTED}|[^()'\"\\]|\((?:{_QUOTED}|[^()'\"\\])*\))*\)"
_TOKEN = re.compile(
    r"(?P<nothing>[ \t\r]+|\\\n|#[^\n]*)"
    r"|(?P<redirection>\d*(?:&>>?|<<<|<<-?|[<>]&|<>|>>|>\||[<>]))"
    r"|(?P<operator>&&|\|\||\|&|;;&?|[;&|()\n])"
    rf"|(?P<word>(?:{_SUBSTITUTED}|{_QUOTED}|[^\s\\'\";&|()<>]+)+)",
    re.DOTALL,
)
_QUOTES = re.compile(r"\\(.)|'([^']*)'|\"((?:[^\"\\]|\\.)*)\"", re.DOTALL)
_ESCAPED_IN_QUOTES = re.compile(r"\\([\"\\$`])")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")
# They stand before a command, or instead of one.
_SHELL_WORDS = ("do", "then", "else", "if", "while", "until", "{")
_SHELL_ENDS = ("for", "case", "done", "fi", "esac", "}", "[[")
# What stands before a program and hands over to it, with its options that take a word.
_WRAPPERS = {
    **dict.fromkeys(("nohup", "command", "exec", "builtin", "time", "stdbuf", "!"), ""),
    **dict.fromkeys(("npx", "bunx", "xvfb-run"), ""),
    "sudo": "-u -g",
    "env": "-u -C",
    "nice": "-n",
    "timeout": "-s -k",
    "xargs": "-n -P -I -L",
}
# The same behind a word of their own.
_RUNNERS = ("uv", "poetry", "pipenv", "pdm", "hatch", "rye", "bundle")
_RUN_WORDS = ("run", "exec")
# Programs whose second word says what they do, with options before it that take a word.
_WITH_SUBCOMMANDS = {"git": "-C -c", "gh": "-R --repo", "npm": "--prefix", "make": "-C"}
_HARMLESS_TARGETS = ("/dev/null", "1", "2", "-")


class Command(NamedTuple):
    """One simple command."""

    words: tuple[str, ...]
    """All of them without their quotes; redirections are apart."""
    before: int
    """How many of them stand before the program: shell words, assignments, wrappers."""
    operator: str
    """What stands behind it, such as `|` or `&&`; empty at the end of the line."""
    text: str
    """As it was written."""
    redirections: tuple[tuple[str, str], ...] = ()
    """Their operators and targets."""

    @property
    def own(self) -> tuple[str, ...]:
        """Its program and what that is given; empty where it is only a word of the shell."""
        program, *rest = self.words[self.before :] or [""]
        if program in _WITH_SUBCOMMANDS:
            rest = rest[_options(rest, _WITH_SUBCOMMANDS[program]) :]
        return (program, *rest) if program else ()

    @property
    def program(self) -> str:
        """The program without its folder; one in the current folder keeps its `./`."""
        first = self.words[self.before] if self.before < len(self.words) else ""
        folder, slash, name = first.rpartition("/")
        if not slash or not name:
            return first
        return f"./{name}" if folder == "." else name

    @property
    def pattern(self) -> str:
        """Its first two words, options left out: `git log`, `make test`, `cat app.log`."""
        second = next((word for word in self.own[1:] if not word.startswith("-")), "")
        return f"{self.program} {second}".strip()[:_LONGEST_PATTERN]

    @property
    def writes(self) -> bool:
        """Whether something of its output goes to a file."""
        return any(
            ">" in operator and target not in _HARMLESS_TARGETS
            for operator, target in self.redirections
        )


def read(line: str) -> list[Command]:
    """Return the simple commands of a line; what stands in a here-document is none."""
    line = _without_documents(line)[:LONGEST_CHARACTERS]
    commands: list[Command] = []
    words: list[str] = []
    redirections: list[tuple[str, str]] = []
    start = 0
    for kind, token, at in _tokens(line):
        if kind == "operator":
            if words:
                text = line[start:at].strip()
                commands.append(_command(words, token, text, redirections))
            words, redirections = [], []
        elif redirections and not redirections[-1][1]:
            redirections[-1] = redirections[-1][0], token or "''"
        elif kind == "redirection":
            redirections.append((token, ""))
        else:
            start = start if words else at
            words.append(token)
    return commands


def _tokens(line: str) -> Iterator[tuple[str, str, int]]:
    """Each token that says something: its kind, its text without quotes, and its place."""
    end = 0
    while match := _TOKEN.match(line, end):
        kind, end = str(match.lastgroup), match.end()
        if kind != "nothing":
            yield kind, _unquoted(match[0]) if kind == "word" else match[0], match.start()
    yield "operator", "", end  # the end of the line, or a quote that is never closed


def _unquoted(word: str) -> str:
    if not any(mark in word for mark in "\\'\""):
        return word
    return _QUOTES.sub(
        lambda part: part[1] or part[2] or _ESCAPED_IN_QUOTES.sub(r"\1", part[3] or ""), word
    )


def _command(
    words: list[str], operator: str, text: str, redirections: list[tuple[str, str]]
) -> Command:
    return Command(tuple(words), _program_place(words), operator, text, tuple(redirections))


def _program_place(words: list[str]) -> int:
    """Return the place of the program behind shell words, assignments and wrappers."""
    at = 0
    while at < len(words):
        name, following = words[at].rpartition("/")[2], words[at + 1 :]
        if name in _SHELL_ENDS:
            return len(words)
        if name in _SHELL_WORDS or not words[at] or _ASSIGNMENT.match(words[at]):
            at += 1
        elif name in _WRAPPERS and following:
            at += 1 + _options(following, _WRAPPERS[name]) + (name == "timeout")
        elif name in _RUNNERS and following[:1] and following[0] in _RUN_WORDS:
            at += 2 + _options(following[1:], "")
        elif name in ("python", "python3") and following[:1] == ["-m"] and following[1:]:
            at += 2
        else:
            break
    return min(at, len(words))


def _options(words: list[str], with_values: str) -> int:
    """Count the words at the beginning that are options or their values."""
    at = 0
    while at < len(words) and words[at].startswith("-"):
        at += 2 if words[at] in with_values.split() else 1
    return at


def _without_documents(text: str) -> str:
    """Take the bodies of here-documents out; one that never ends takes the rest with it."""
    if "<<" not in text:
        return text
    lines = text.split("\n")
    places: dict[str, list[int]] = {}
    for place, line in enumerate(lines):
        places.setdefault(line.strip(), []).append(place)
    kept, at = [], 0
    while at < len(lines):
        line = lines[at]
        kept.append(line)
        at += 1
        for mark in _HERE_DOCUMENT.finditer(line):
            ends = places.get((mark[2] or mark[3]).strip(), [])
            later = bisect_left(ends, at)
            at = ends[later] + 1 if later < len(ends) else len(lines)
    return "\n".join(kept)
