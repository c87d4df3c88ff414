"""Which paths a Bash command line reads into the conversation.

Only commands that print what they read count. Building, running, writing and deleting do not, nor
does output that goes to a file. Without a shell this is an estimate: what cannot be known (most
variables, loops, scripts) is taken as not read.
"""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING, NamedTuple

from brimline.guard.scout_readers import READERS, READING_COMMANDS, Reader
from brimline.guard.scout_shell import UNKNOWN, Token, tokens

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

# Longer lines carry data, not commands; what comes after this is not looked at.
MOST_CHARACTERS = 20_000
_MOST_DEPTH = 4

_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")
_AMOUNT = re.compile(r"\d+(?:\.\d+)?[smhd]?\Z")
_DRIVE = re.compile(r"[A-Za-z]:[/\\]")
_KEYWORDS = frozenset({"if", "then", "else", "elif", "while", "until", "do", "!", "{", "}"})
_SHELLS = frozenset({"bash", "sh", "zsh", "dash", "ksh"})
_CHANGES_FOLDER = frozenset({"cd", "pushd"})
# Neither reading nor work: after `cd folder`, these alone do not explain why one goes there.
_IDLE = frozenset(
    {"echo", "printf", "pwd", "true", "false", ":", "set", "export", "exit", "test", "[", "[["}
    | {"sleep", "fi", "done", "popd"}
)
_NO_WORK = READING_COMMANDS | _CHANGES_FOLDER | _IDLE
# Commands that run another one, with their options that take a value.
_WRAPPERS = {
    "sudo": "u g p C h",
    "doas": "u",
    "time": "f o",
    "nice": "n",
    "nohup": "",
    "env": "u C",
    "command": "",
    "builtin": "",
    "exec": "a",
    "timeout": "k s",
    "stdbuf": "i o e",
    "xargs": "I n P L d s E a",
    "watch": "n",
}
_VISIBLE_DEVICES = frozenset({"/dev/stdout", "/dev/stderr", "/dev/tty"})


class Read(NamedTuple):
    """A path a command reads: absolute, lexically normalised; wildcards stay in it."""

    path: str
    command: str


def reads(line: str, cwd: str, variables: Mapping[str, str]) -> list[Read]:
    """What a command line reads, in its order; empty where it builds, runs, writes or deletes."""
    return list(_Walk(cwd, variables, 0).line(line[:MOST_CHARACTERS]))


def resolve(cwd: str | None, path: str, home: str = "") -> str | None:
    """The absolute form of a path without looking at the disk; None where it cannot be known."""
    if home and (path == "~" or path.startswith("~/")):
        path = home + path[1:]
    if _DRIVE.match(path):
        path = path.replace("\\", "/")
    absolute = path.startswith("/") or _DRIVE.match(path)
    if not path or path[0] in (UNKNOWN, "~") or (cwd is None and not absolute):
        return None
    whole = path if absolute else f"{cwd}/{path}"
    return _normal(whole.replace(UNKNOWN, "*"))


class _Simple:
    """One command with its words, its redirected input and where its output goes."""

    __slots__ = ("hidden", "inner", "inputs", "words")

    def __init__(self) -> None:
        self.words: list[str] = []
        self.inner: list[str] = []
        self.inputs: list[str] = []
        self.hidden = False

    def redirect(self, operator: str, target: str) -> None:
        kind = operator.lstrip("0123456789")
        if kind == "<":
            self.inputs.append(target)
        elif operator in (">", ">>", ">|", "1>", "1>>", "1>|", "&>", "&>>", ">&"):
            shown = target in _VISIBLE_DEVICES or (kind == ">&" and target[:1] in "0123456789-")
            self.hidden = not shown


class _Walk:
    """One walk along a line, following `cd` and coming back from subshells."""

    def __init__(self, cwd: str | None, variables: Mapping[str, str], depth: int) -> None:
        self.cwd = cwd
        self.variables = variables
        self.depth = depth
        self.home = variables.get("HOME", "")

    def line(self, line: str) -> Iterator[Read]:
        if self.depth > _MOST_DEPTH:
            return
        known = {**self.variables, "PWD": self.cwd} if self.cwd else self.variables
        steps = _steps(tokens(line, known))
        last_work = max((at for at, step in enumerate(steps) if _is_work(step)), default=-1)
        outer: list[str | None] = []
        for at, step in enumerate(steps):
            if isinstance(step, list):
                yield from self._pipeline(step, work_follows=at < last_work)
            elif step == "(":
                outer.append(self.cwd)
            elif outer:
                self.cwd = outer.pop()

    def _pipeline(self, pipeline: list[_Simple], *, work_follows: bool) -> Iterator[Read]:
        for place, simple in enumerate(pipeline):
            for command in _commands_inside(simple):
                yield from _Walk(self.cwd, self.variables, self.depth + 1).line(command)
            words = _unwrapped(simple.words)
            name = _name(words[0]) if words else ""
            if name in _CHANGES_FOLDER:
                self.cwd = resolve(self.cwd, _destination(words), self.home)
                if self.cwd and not work_follows:
                    yield Read(self.cwd, name)
            elif name in READING_COMMANDS and not pipeline[-1].hidden:
                for path in _paths_read(words, simple.inputs, piped=place > 0):
                    absolute = resolve(self.cwd, path, self.home)
                    if absolute:
                        yield Read(absolute, name)


def _steps(found: list[Token]) -> list[str | list[_Simple]]:
    """Pipelines in their order, with the parentheses of subshells between them."""
    steps: list[str | list[_Simple]] = []
    pipeline = [_Simple()]
    redirect = ""
    for token in found:
        simple = pipeline[-1]
        if token.kind == "redirect":
            redirect = token.text
        elif token.kind == "word":
            simple.inner += token.inner
            if redirect:
                simple.redirect(redirect, token.text)
            else:
                simple.words.append(token.text)
            redirect = ""
        elif token.text in ("|", "|&"):
            pipeline.append(_Simple())
        elif token.text != "\n" or simple.words or len(pipeline) == 1:
            steps.append(pipeline)
            if token.text in ("(", ")"):
                steps.append(token.text)
            pipeline = [_Simple()]
            redirect = ""
    return [*steps, pipeline]


def _is_work(step: str | list[_Simple]) -> bool:
    """Whether a pipeline does something else than read: builds, runs, writes, deletes."""
    if isinstance(step, str):
        return False
    names = [_name(words[0]) for simple in step if (words := _unwrapped(simple.words))]
    return any(name not in _NO_WORK for name in names)


def _commands_inside(simple: _Simple) -> list[str]:
    """The command lines in a command: substitutions, `bash -c`, `eval`."""
    words = _unwrapped(simple.words)
    inside = list(simple.inner)
    if words and _name(words[0]) == "eval":
        inside.append(" ".join(words[1:]))
    if words and _name(words[0]) in _SHELLS:
        options, operands = _parse(words[1:], frozenset("oO"))
        if any(name == "c" for name, _ in options):
            inside += operands[:1]
    return inside


def _unwrapped(words: list[str]) -> list[str]:
    """The command itself, without assignments, keywords and commands that run commands."""
    at = 0
    while at < len(words):
        name = _name(words[at])
        if words[at] in _KEYWORDS or _ASSIGNMENT.match(words[at]):
            at += 1
        elif name in _WRAPPERS:
            at = _after_options(words, at + 1, _WRAPPERS[name])
        else:
            break
    return words[at:]


def _after_options(words: list[str], at: int, values: str) -> int:
    while at < len(words):
        word = words[at]
        if word.startswith("-"):
            at += 2 if len(word) == len("-n") and word[1] in values.split() else 1
        elif _AMOUNT.match(word):
            at += 1
        else:
            break
    return at


def _name(word: str) -> str:
    return word.replace("\\", "/").rpartition("/")[2].removesuffix(".exe")


def _destination(words: list[str]) -> str:
    """Where `cd` goes; unknown for `cd -`."""
    operands = [word for word in words[1:] if not word.startswith("-")]
    if operands:
        return operands[0]
    return UNKNOWN if "-" in words[1:] else "~"


def _paths_read(words: list[str], inputs: list[str], *, piped: bool) -> list[str]:
    name, arguments = _name(words[0]), words[1:]
    if name == "find":
        return _paths_of_find(arguments)
    return _paths_of(READERS[name], arguments, inputs, piped=piped)


def _paths_of(reader: Reader, arguments: list[str], inputs: list[str], *, piped: bool) -> list[str]:
    options, operands = _parse(arguments, reader.values)
    given = {name for name, _ in options}
    if given & reader.silent:
        return []
    named = operands[1:] if reader.program_first and not given & reader.program else operands
    globs = [value for name, value in options if name in reader.globs and value[:1] != "!"]
    paths = [path for path in named + inputs if path != "-"]
    walks = reader.walks and (not reader.walks_with or given & reader.walks_with)
    searches_input = piped and reader.program_first
    if not named and not inputs and walks and not searches_input:
        paths = ["."]
    return paths + globs


def _parse(arguments: list[str], values: frozenset[str]) -> tuple[list[tuple[str, str]], list[str]]:
    """Options with their values, and operands."""
    options: list[tuple[str, str]] = []
    operands: list[str] = []
    words = iter(arguments)
    for word in words:
        if word == "--":
            operands += words
        elif word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            if not equals and name in values:
                value = next(words, "")
            options.append((name, value))
        elif word.startswith("-") and word != "-":
            for at, letter in enumerate(word[1:], 2):
                if letter in values:
                    options.append((letter, word[at:] or next(words, "")))
                    break
                options.append((letter, ""))
        else:
            operands.append(word)
    return options, operands


def _paths_of_find(arguments: list[str]) -> list[str]:
    """The folders `find` starts at and the paths it asks for, unless it deletes or runs others."""
    words = [word for word in arguments if word not in ("-H", "-L", "-P")]
    ends = (at for at, word in enumerate(words) if word[:1] == "-" or word in ("(", "!"))
    first = next(ends, len(words))
    places, tests = words[:first], words[first:]
    for at, word in enumerate(tests):
        runs = word in ("-exec", "-execdir", "-ok", "-okdir")
        if word == "-delete" or (runs and _name("".join(tests[at + 1 : at + 2])) not in READERS):
            return []
    wanted = [
        tests[at + 1]
        for at, word in enumerate(tests[:-1])
        if word in ("-path", "-ipath", "-wholename")
        and "-prune" not in tests
        and tests[max(at - 1, 0)] not in ("!", "-not")
    ]
    return (places or ["."]) + wanted


def _normal(path: str) -> str:
    return (
        "/" + posixpath.normpath(path).lstrip("/") if path[:1] == "/" else posixpath.normpath(path)
    )
