"""What a shell command that has run tells: a check's result, a commit, a way that works. Pure.

A command line is split at its operators only, and its exit is all that is believed. A check whose
exit went into a pipe, or is not the one that the line ended with, has an unknown result.
"""

from __future__ import annotations

import re

from brimline.masking import clean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

    from brimline.carry.ledger import Ledger

    # The words of a simple command, the operator after it, and its text.
    Step: TypeAlias = tuple[list[str], str, str]

PASSED, FAILED, UNKNOWN = "passed", "failed", "result unknown"
PIPED = "result unknown (its output was piped)"
# What the client writes where a command printed nothing.
_NO_OUTPUT = "(Bash completed with no output)"


def words_of(text: str) -> frozenset[str]:
    """A set of words, as they stand in a text."""
    return frozenset(text.split())


_MOST_CHECKS, _MOST_COMMANDS, _MOST_WORKED, _MOST_FAILED = 12, 16, 8, 5
_MOST_COMMITS, _MOST_PULLS = 30, 10
_LONGEST_COMMAND = 400
# Of the words of two commands so many are the same in similar ones.
_SIMILAR = 0.6

_TOKEN = re.compile(
    r"'[^']*'|\"(?:[^\"\\]|\\.)*\"|\d*[<>]&\d*-?|&>+|&&|\|\||[;|&\n]|[^\s;|&'\"<>]+|[<>]+"
)
_OPERATORS = ("&&", "||", ";", "|", "&", "\n")
_ENDS_LIST = (";", "&", "\n")
_COMMENTS = re.compile(r"\A(?:\s*#[^\n]*\n)+")
_REDIRECTION = re.compile(r"\d*[<>]")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
# What only starts another program, the second with a word of their own before it.
_WRAPPERS = {"env", "time", "sudo", "nice", "exec", "command", "npx", "bunx", "xvfb-run"}
_RUN_WRAPPERS = {"uv", "poetry", "pipenv", "pdm", "hatch", "rye", "bundle", "timeout"}
_CHECKERS = words_of("""
    pytest tox nox jest vitest mocha ava cypress rspec phpunit pest ctest gotestsum bats eslint
    biome oxlint stylelint prettier tsc vue-tsc mypy pyright basedpyright pyre ruff flake8 pylint
    black isort bandit golangci-lint staticcheck shellcheck hadolint rubocop standardrb phpstan
    psalm ktlint detekt swiftlint checkstyle lint-imports
""")
_RUNNERS = words_of("""
    go cargo npm pnpm yarn bun deno make gmake just task mise rake gradle gradlew mvn mvnw ant
    dotnet swift xcodebuild bazel bazelisk buck2 mix rebar3 flutter dart zig sbt lein stack cabal
    composer nx turbo moon meson ninja cmake python python3 node php elm gleam hatch pdm
""")
_VERB = re.compile(
    r"(?:(?:unit|integration|e2e|ci|all|type|types)[-:_]?)?(?:tests?|lint|build|checks?|vet|clippy"
    r"|types|verify|analy[sz]e|compile|ci|unittest|pytest|mypy|ruff)(?:[-:_.]\S*)?"
)
_SUBCOMMAND = re.compile(r"[a-z][a-z-]*")
_ONLY_ASKS = {
    *("version", "help", "--version", "--help", "-h", "-V", "linters", "cache", "config"),
    *("--collect-only", "--co", "--list", "--listTests", "--dry-run", "--just-print"),
}
# What runs other commands, or decides by their exit: theirs is not told by the line's.
_OPAQUE = words_of("""
    ! ( { if then else elif fi for while until do done case esac eval exec exit trap function bash
    sh zsh nohup xargs parallel watch ssh docker
""")
_INSTALLERS = {"npm", "pnpm", "yarn", "bun"}
_COMMITTED = re.compile(r"^\[[^\]\n]* ([0-9a-f]{7,40})\] (.+)$", re.MULTILINE)
_PULL = re.compile(r"https?://[^\s\"'<>]+/(?:pull|merge_requests|pull-requests)/\d+")
# The client's closing tag, and what a task runner prints before it starts another program.
_NO_ENDING = re.compile(r"</|\[[^\]]*\] \$ ")
_PARENT = re.compile(r"HEAD(?:~(\d*)|(\^+))")
_RESET_MODES = {"--hard", "--soft", "--mixed", "--keep", "--merge"}
_LOOKING = words_of("""
    cat head tail less ls ll pwd cd echo printf which whoami date wc true sleep tree stat file type
    test mkdir grep rg find sed awk
""")


def ran(ledger: Ledger, command: str, output: str, *, failed: bool) -> None:
    """Take in a command that has run."""
    command = _COMMENTS.sub("", command)
    steps = split(command)
    if any(_is_opaque(words) for words, _, _ in steps):
        ran_unseen(ledger, command)
        return
    line = command[:_LONGEST_COMMAND]
    names = [check_name(words) for words, _, _ in steps]
    for at, name in enumerate(names):
        if name:
            _note_check(ledger, steps, at, _result(steps, at, output, failed=failed), output)
    if failed:
        if not any(names):
            ledger.failed = [*ledger.failed, line][-_MOST_FAILED:]
        return
    _note_published(ledger, steps, output)
    operators = {operator for _, operator, _ in steps}
    if not operators.isdisjoint(("||", "&")):
        return  # nobody knows which of its commands the exit is of
    if not any(names) and "|" not in operators:
        _note_worked(ledger, line)
    # Checks have lines of their own, and what only looked is not worth one.
    named = zip(steps, names, strict=True)
    if any(not name and _program(words) not in _LOOKING for (words, _, _), name in named):
        others = [known for known in ledger.commands if known != line]
        ledger.commands = [*others, line][-_MOST_COMMANDS:]


def ran_unseen(ledger: Ledger, command: str) -> None:
    """Take in a command whose exit tells nothing: of checks in it the last result is unknown."""
    for key, told in ledger.checks.items():
        words = key.rpartition("\0")[2].split()
        if all(re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", command) for word in words):
            ledger.checks[key] = {"command": told["command"], "result": UNKNOWN}


def split(command: str) -> list[Step]:
    """The simple commands of a command line; what stands in a here-document is none."""
    if "<<" in command:
        command = command.split("\n", 1)[0]
    steps: list[Step] = []
    words: list[str] = []
    start = 0
    for found in _TOKEN.finditer(command):
        token = found.group()
        if token not in _OPERATORS:
            start = start if words else found.start()
            words.append(token)
        elif words:
            steps.append((words, token, command[start : found.start()].strip()))
            words = []
    return [*steps, (words, "", command[start:].strip())] if words else steps


def _is_opaque(words: list[str]) -> bool:
    first = _without_wrappers(words)[0]
    return first in _OPAQUE or first[0] in "({!\\\"'<>" or first.endswith(")")


def check_name(words: list[str]) -> str:
    """By which words a simple command is a check (test, lint, build, types); empty otherwise."""
    words = _without_wrappers(words)
    if not words or not _ONLY_ASKS.isdisjoint(words):
        return ""
    program = words[0].rpartition("/")[2]
    given = [word for word in words[1:] if not word.startswith("-") and word[:1] not in "<>'\""]
    if program in _CHECKERS:
        named = given[:1] if given and _SUBCOMMAND.fullmatch(given[0]) else []
        return " ".join([program, *named])
    if program in _RUNNERS:
        for count, word in enumerate(given[:3], 1):
            is_install = word == "ci" and program in _INSTALLERS
            if _VERB.fullmatch(word) and not is_install:
                return " ".join([program, *given[:count]])
    return ""


def _without_wrappers(words: list[str]) -> list[str]:
    while len(words) > 1:
        program = words[0].rpartition("/")[2]
        if _ASSIGNMENT.match(words[0]) or program in _WRAPPERS or words[0].startswith("-"):
            words = words[1:]
        elif program in _RUN_WRAPPERS and (words[1] in ("run", "exec") or program == "timeout"):
            words = words[2:]
        else:
            break
    return words


def _program(words: list[str]) -> str:
    found = _without_wrappers(words)
    return found[0].rpartition("/")[2] if found else ""


def _result(steps: list[Step], at: int, output: str, *, failed: bool) -> str:
    """How one step of a command line went, as far as the exit of the line tells.

    The line ends with the exit of its last list. That of a list tied by `&&` is nought if every
    step of it succeeded; otherwise any of them may have failed.
    """
    ends = [place + 1 for place, (_, op, _) in enumerate(steps[:-1]) if op in _ENDS_LIST]
    first = max(ends, default=0)
    operators = [operator for _, operator, _ in steps[first:]]
    if at < first or "||" in operators or operators[-1] == "&":
        return UNKNOWN
    if operators[at - first] == "|":
        return PIPED
    if not failed:
        return PASSED
    before = [_program(words) for words, _, _ in steps[first:at]]
    is_last = at == len(steps) - 1
    changed_folder = all(program == "cd" for program in before) and "cd: " not in output
    return FAILED if is_last and changed_folder else UNKNOWN


def _note_check(ledger: Ledger, steps: list[Step], at: int, result: str, output: str) -> None:
    """Keep the last result of a check: the same words in the same folder."""
    words, _, text = steps[at]
    folders = [step for step in steps[:at] if _program(step[0]) == "cd"]
    line = " && ".join([*(folder for _, _, folder in folders), text])[:_LONGEST_COMMAND]
    given = [word for word in words if word[:1] not in "-<>" and not _REDIRECTION.match(word)]
    told = {"command": line, "result": result}
    alone = len(folders) == at and all(after == "|" for _, after, _ in steps[at:-1])
    if result != PASSED and alone:
        # What the line ended with is this check's own, if only for the end of a pipe.
        end = output.rstrip()[-_LONGEST_COMMAND:].rpartition("\n")[2].strip()
        told["end"] = "" if end == _NO_OUTPUT or _NO_ENDING.match(end) else clean(end)
    key = "\0".join([*(folder for _, _, folder in folders), " ".join(given)])
    ledger.checks.pop(key, None)
    ledger.checks[key] = told
    while len(ledger.checks) > _MOST_CHECKS:
        del ledger.checks[next(iter(ledger.checks))]


def _note_worked(ledger: Ledger, line: str) -> None:
    """Keep a command that succeeded soon after one that is much like it had failed."""
    words = set(line.split())
    for before in ledger.failed:
        known = set(before.split())
        similar = len(words & known) >= _SIMILAR * len(words | known)
        if similar and before != line and line.split(None, 1)[0] == before.split(None, 1)[0]:
            ledger.worked = [*ledger.worked, [line, before]][-_MOST_WORKED:]
            ledger.failed = [one for one in ledger.failed if one != before]
            return


def _note_published(ledger: Ledger, steps: list[Step], output: str) -> None:
    """Commits and pull requests that a command made."""
    for words, _, _ in steps:
        program = _program(words)
        if program == "git" and "commit" in words:
            made = _COMMITTED.findall(output)
            found = [[commit, clean(subject)] for commit, subject in made]
            if "--amend" in words and found and ledger.commits:
                ledger.commits.pop()
            known = [pair for pair in ledger.commits if pair not in found]
            ledger.commits = [*known, *found][-_MOST_COMMITS:]
        elif program == "git" and "reset" in words:
            _take_back(ledger, words[words.index("reset") + 1 :])
        elif program in ("gh", "glab") and "create" in words and "--dry-run" not in words:
            address = _PULL.search(output)
            if address and address.group() not in ledger.pulls:
                ledger.pulls = [*ledger.pulls, address.group()][-_MOST_PULLS:]


def _take_back(ledger: Ledger, words: list[str]) -> None:
    """`git reset` went behind commits made here: by so many, or nobody knows by how many."""
    target = next((word for word in words if not word.startswith("-")), "HEAD")
    parents = _PARENT.fullmatch(target)
    if parents:
        count = len(parents[2]) if parents[2] else int(parents[1] or 1)
        ledger.commits = ledger.commits[: max(0, len(ledger.commits) - count)]
    elif target != "HEAD" and not _RESET_MODES.isdisjoint(words):
        ledger.commits = []
