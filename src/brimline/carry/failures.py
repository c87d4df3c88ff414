"""What an error says in few lines, and when another run of the command has passed. Pure."""

from __future__ import annotations

from brimline.carry import values
from brimline.carry.words import word_set

_SHORT_CHARACTERS = 330
_LONG_CHARACTERS = 390
_LINE_CHARACTERS = 240
_SHORTEST_LINE = 4
_MOST_LINES = 3
_NAMES_AN_ERROR = 2.0
# What a line is worth that looks like no other.
_UNLIKE = 0.8
_LONGEST_TEXT = 200_000
_COMMAND_CHARACTERS = 400
_STRONG = (
    *("error:", "error[", "error ", "errno", "fatal", "panic", "exception", "failed", "failure"),
    *("cannot", "can't", "could not", "couldn't", "denied", "refused", "not found", "undefined"),
    *("unresolved", "no such", "timed out", "timeout", "invalid", "unexpected", "missing"),
    *("abort", "segmentation", "killed", "out of memory", "unable to", "mismatch", "assert"),
    *("expected", "violat", "exceed", "unknown", "unsupported", "conflict", "traceback"),
    *("no space", "corrupt", "unauthorized", "forbidden", "rejected", "deadlock", "overflow"),
    *("unreachable", "not allowed", "does not exist", "is not ", "illegal", "broken", "stale"),
    *("expired", "incompatible"),
)
_HOLLOW = ("exit code", "traceback (most recent", "stack trace", "npm err! a complete log", "at ")
# Programs whose second word says what they do.
_WITH_SUBCOMMAND = word_set(
    "git go cargo npm pnpm yarn npx uv pip poetry docker kubectl make mise just python"
    " python3 node bun deno terraform helm gh brew apt dotnet mvn gradle ./gradlew bundle"
    " rails rake php mix flutter swift bazel nix ansible aws gcloud az systemctl"
)
_WRAPPERS = ("sudo", "time", "env", "timeout", "nice")
_PREPARATIONS = ("cd", "export", "source", "set", "echo", "pwd")
# Results of these that passed but speak of failures: a pipe hides the exit code.
_CHECKS = (
    *("test", "pytest", "lint", "check", "build", "tsc", "make", "cargo", "mypy", "ruff"),
    *("eslint", "vitest", "jest", "go vet", "gradle", "mvn", "tox", "nox", "clippy"),
    *("typecheck", "verify"),
)
_SURE_FAILURES = (
    *("FAILED ", "--- FAIL", "FAIL\t", "error[E", "ERROR ", "Error: ", "error: ", "E   "),
)


def telling(text: str) -> str:
    """The lines of an error's text that say what went wrong."""
    every = _lines(text)
    lines = list(dict.fromkeys(every))
    whole = " / ".join(lines)
    if len(whole) <= _SHORT_CHARACTERS:
        return whole
    alike: dict[str, int] = {}
    for line in every:
        alike[_shape(line)] = alike.get(_shape(line), 0) + 1
    rates = [
        _rate(line, at, len(lines)) + _UNLIKE * (alike[_shape(line)] == 1)
        for at, line in enumerate(lines)
    ]
    rated = sorted(range(len(lines)), key=lambda at: (-rates[at], -at))
    return " / ".join(lines[at][:_LINE_CHARACTERS] for at in sorted(_fitting(rated, lines)))


def _fitting(rated: list[int], lines: list[str]) -> list[int]:
    chosen: list[int] = []
    length = 0
    for at in rated[:_MOST_LINES]:
        length += min(len(lines[at]), _LINE_CHARACTERS) + len(" / ")
        if chosen and length > _LONG_CHARACTERS:
            break
        chosen.append(at)
    return chosen


def reported(text: str) -> str:
    """The one line in pasted text that names an error; empty without one."""
    lines = [line for line in _lines(text) if _rate(line, 0, 1) >= _NAMES_AN_ERROR]
    return max(lines, key=lambda line: _rate(line, 0, 1))[:_LINE_CHARACTERS] if lines else ""


def hidden(command: str, output: str) -> str:
    """What failed in a check whose exit code a pipe has swallowed; empty where nothing did."""
    lowered = command.lower()
    if not any(word in lowered for word in _CHECKS) or lowered.startswith(("grep", "rg", "cat")):
        return ""
    failed = [line for line in _lines(output) if line.startswith(_SURE_FAILURES)]
    return " / ".join(line[:_LINE_CHARACTERS] for line in failed[-_MOST_LINES:])


def pattern(command: str) -> list[str]:
    """The words of a command that tell it from others: program, subcommand, what it works on."""
    lines = command.strip()[:_COMMAND_CHARACTERS].splitlines()
    told = lines[0] if lines else ""
    for separator in ("&&", ";"):
        told = _last_part(told.split(separator)) or told
    told = told.partition("|")[0].partition(">")[0].removesuffix("2").strip()
    words = told.split()
    while words and ("=" in words[0] or words[0] in _WRAPPERS):
        words = words[1:]
    return [word for word in words if not word.startswith("-")]


def _last_part(parts: list[str]) -> str:
    """The last of several commands that does something."""
    does = [part for part in parts if part.strip() and part.split()[0] not in _PREPARATIONS]
    return does[-1] if does else ""


def passes(failed: list[str], passed: list[str]) -> bool:
    """Whether a command that passed makes up for one that failed: the same, or a broader one."""
    if not failed or not passed or failed[0] != passed[0]:
        return False
    if failed[0] in _WITH_SUBCOMMAND and failed[1:2] != passed[1:2]:
        return False
    return set(passed) <= set(failed)


def _lines(text: str) -> list[str]:
    text = text[:_LONGEST_TEXT].replace("<tool_use_error>", "").replace("</tool_use_error>", "")
    found = [" ".join(line.split()) for line in text.splitlines()]
    return [line for line in found if line and not line.lower().startswith("exit code ")]


def _shape(line: str) -> str:
    """A line without its figures and names: those of a progress report are all alike."""
    return " ".join([word for word in line.split() if word.isalpha()])


def _rate(line: str, at: int, count: int) -> float:
    lowered = line.lower()
    if lowered.startswith(_HOLLOW) or len(line) < _SHORTEST_LINE:
        return -1.0
    rate = 2.0 * any(word in lowered for word in _STRONG)
    rate += min(values.specificity(line), 2.0) / 2
    rate += 0.6 * (line.startswith(_SURE_FAILURES) or "error:" in lowered or "Error:" in line)
    return rate + 0.4 * (at >= count - 3)
