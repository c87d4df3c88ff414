"""What a shell command that has run tells: a check's result, a commit, a way that works. Pure.

A command line is split at its operators only, and its exit is all that is believed. A check whose
exit went into a pipe, or is not the one that the line ended with, has an unknown result.
"""

from __future__ import annotations

import re

from brimline.bulk import shell
from brimline.carry.ledger import put_last_and_drop_oldest
from brimline.masking import mask

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from brimline.carry.ledger import Ledger

PASSED, FAILED, UNKNOWN = "passed", "failed", "result unknown"
PIPED = "result unknown (its output was piped)"
DOUBTFUL = "exit 0, though its output tells of failures"
# What the client writes where a command printed nothing.
_NO_OUTPUT = "(Bash completed with no output)"


def _set_of_words(text: str) -> frozenset[str]:
    """A set of words, as they stand in a text."""
    return frozenset(text.split())


_MOST_CHECKS, _MOST_COMMANDS, _MOST_WORKED, _MOST_FAILED = 12, 40, 8, 5
_MOST_COMMITS, _MOST_PULLS = 30, 10
_LONGEST_COMMAND = 400
# Of the words of two commands so many are the same in similar ones.
_SIMILAR = 0.6

_ENDS_LIST = (";", "&", "\n")
_COMMENTS = re.compile(r"\A(?:\s*#[^\n]*\n)+")
_CHECKERS = _set_of_words("""
    pytest tox nox jest vitest mocha ava cypress rspec phpunit pest ctest gotestsum bats eslint
    biome oxlint stylelint prettier tsc vue-tsc mypy pyright basedpyright pyre ruff flake8 pylint
    black isort bandit golangci-lint staticcheck shellcheck hadolint rubocop standardrb phpstan
    psalm ktlint detekt swiftlint checkstyle lint-imports
""")
_RUNNERS = _set_of_words("""
    go cargo npm pnpm yarn bun deno make gmake just task mise rake gradle gradlew mvn mvnw ant
    dotnet swift xcodebuild bazel bazelisk buck2 mix rebar3 flutter dart zig sbt lein stack cabal
    composer nx turbo moon meson ninja cmake python python3 node php elm gleam hatch pdm
""")
_VERB = re.compile(
    r"(?:(?:unit|integration|e2e|ci|all|type|types)[-:_]?)?(?:tests?|lint|build|checks?|vet|clippy"
    r"|types|verify|analy[sz]e|compile|ci|unittest|pytest|mypy|ruff)(?:[-:_.]\S*)?"
)
_ONLY_ASKS = {
    *("version", "help", "--version", "--help", "-h", "-V", "linters", "cache", "config"),
    *("--collect-only", "--co", "--list", "--listTests", "--dry-run", "--just-print"),
}
# What runs other commands, or decides by their exit: theirs is not told by the line's.
_OPAQUE = _set_of_words("""
    ! { if then else elif fi for while until do done case esac eval exit trap function bash sh zsh
    nohup xargs parallel watch ssh docker
""")
_INSTALLERS = {"npm", "pnpm", "yarn", "bun"}
# How a check counts what failed, whatever it exits with.
_FAILURES = re.compile(
    r"\b[1-9][\d,]* (?:tests? |specs? )?(?:failed|failures?|failing|errors?)\b"
    r"|\b(?:failed|failures|errors)[:=] ?[1-9]",
    re.IGNORECASE,
)
# What differs between two runs of the same command: texts, numbers, names of commits.
_VARIABLE = re.compile(r"'[^']*'|\"[^\"]*\"|\b[0-9a-f]{7,40}\b|\d+")
_COMMITTED = re.compile(r"^\[[^\]\n]* ([0-9a-f]{7,40})\] (.+)$", re.MULTILINE)
_PULL = re.compile(r"https?://[^\s\"'<>]+/(?:pull|merge_requests|pull-requests)/\d+")
# The client's closing tag, and what a task runner prints before it starts another program.
_NO_ENDING = re.compile(r"</|\[[^\]]*\] \$ ")
_RESET_MODES = {"--hard", "--soft", "--mixed", "--keep", "--merge"}
_LOOKING = _set_of_words("""
    cat head tail less ls ll pwd cd echo printf which whoami date wc true sleep tree stat file type
    test mkdir grep rg find sed awk
""")


def note_run(ledger: Ledger, command: str, output: str, at: str | None, *, failed: bool) -> None:
    """Take in a command that has run."""
    command = _COMMENTS.sub("", command)
    steps = shell.split_commands(command)
    if any(map(_runs_other_commands, steps)):
        mark_checks_in_command_unknown(ledger, command)
        return
    checks = [place for place, step in enumerate(steps) if _is_check(step)]
    for place in checks:
        result = _result_of_step_in_line(steps, place, output, failed=failed)
        _note_check(ledger, steps, place, result, output)
    line = command[:_LONGEST_COMMAND]
    if not failed:
        _note_commits_and_prs(ledger, steps, output)
        _note_successful_command(ledger, line, steps, checks, at)
    elif not checks:
        ledger.failed = [*ledger.failed, line][-_MOST_FAILED:]


def mark_checks_in_command_unknown(ledger: Ledger, command: str) -> None:
    """Take in a command whose exit tells nothing: of checks in it the last result is unknown."""
    for key, check in ledger.checks.items():
        words = key.rpartition("\0")[2].split()
        if all(re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", command) for word in words):
            ledger.checks[key] = {"command": check["command"], "result": UNKNOWN}


def note_background_run(ledger: Ledger, command: str, at: str | None) -> None:
    """Take in a command that goes on while the assistant works."""
    mark_checks_in_command_unknown(ledger, command)
    _note_command(ledger, _COMMENTS.sub("", command)[:_LONGEST_COMMAND], at, background=True)


def _runs_other_commands(step: shell.Command) -> bool:
    starters = (*step.words[: step.before], step.program)
    return step.operator in ("(", ")") or not _OPAQUE.isdisjoint(starters)


def _is_check(step: shell.Command) -> bool:
    """Tell whether a command tests, lints, builds or checks types."""
    program = step.program.removeprefix("./")
    if not _ONLY_ASKS.isdisjoint(step.own) or program not in _CHECKERS | _RUNNERS:
        return False
    return program in _CHECKERS or _is_runner_asked_to_check(program, step.own[1:])


def _is_runner_asked_to_check(program: str, words: Sequence[str]) -> bool:
    """Tell whether one of a task runner's first words says so; to some of them `ci` does not."""
    first = [word for word in words if not word.startswith("-")][:3]
    verbs = [word for word in first if _VERB.fullmatch(word)]
    return any(word != "ci" or program not in _INSTALLERS for word in verbs)


def _result_of_step_in_line(
    steps: list[shell.Command], at: int, output: str, *, failed: bool
) -> str:
    """Return how one step of a command line went, as far as the exit of the line tells.

    The line ends with the exit of its last list. That of a list tied by `&&` is nought if every
    step of it succeeded; otherwise any of them may have failed.
    """
    ends = [place + 1 for place, step in enumerate(steps[:-1]) if step.operator in _ENDS_LIST]
    first = max(ends, default=0)
    operators = [step.operator for step in steps[first:]]
    if at < first or "||" in operators or operators[-1] == "&":
        return UNKNOWN
    if operators[at - first] == "|":
        return PIPED
    if failed:
        # Where only the folder was changed before it, the exit is that of the last step.
        programs = {step.program for step in steps[first:at]}
        is_own = programs <= {"cd"} and at == len(steps) - 1 and "cd: " not in output
        return FAILED if is_own else UNKNOWN
    return DOUBTFUL if _FAILURES.search(output[-_LONGEST_COMMAND:]) else PASSED


def _note_check(
    ledger: Ledger, steps: list[shell.Command], at: int, result: str, output: str
) -> None:
    """Keep the last result of a check: the same words in the same folder."""
    folders = [step.text for step in steps[:at] if step.program == "cd"]
    line = " && ".join([*folders, steps[at].text])[:_LONGEST_COMMAND]
    check = {"command": line, "result": result}
    alone = len(folders) == at and all(step.operator == "|" for step in steps[at:-1])
    if result != PASSED and alone:
        # What the line ended with is this check's own, if only for the end of a pipe.
        check["end"] = _last_output_line_if_meaningful(output)
    words = [word for word in steps[at].words if not word.startswith("-")]
    key = "\0".join([*folders, " ".join(words)])
    put_last_and_drop_oldest(ledger.checks, key, check, _MOST_CHECKS)


def _last_output_line_if_meaningful(output: str) -> str:
    end = output.rstrip()[-_LONGEST_COMMAND:].rpartition("\n")[2].strip()
    return "" if end == _NO_OUTPUT or _NO_ENDING.match(end) else mask(end)


def _note_successful_command(
    ledger: Ledger, line: str, steps: list[shell.Command], checks: list[int], at: str | None
) -> None:
    """Keep a command that ended without an error, where that can be told from its exit."""
    operators = {step.operator for step in steps}
    if not operators.isdisjoint(("||", "&")):
        return  # nobody knows which of its commands the exit is of
    if not checks and "|" not in operators:
        _note_success_after_similar_failure(ledger, line)
    # Checks have lines of their own, and what only looked is not worth one.
    programs = [step.program for place, step in enumerate(steps) if place not in checks]
    if not _LOOKING.issuperset(programs):
        _note_command(ledger, line, at)


def _note_command(ledger: Ledger, line: str, at: str | None, *, background: bool = False) -> None:
    """Keep a command by its shape, with when it ran first and last."""
    shape = _VARIABLE.sub("#", line)
    first = ledger.commands.get(shape, {}).get("first", at)
    command = {"line": line, "first": first, "last": at, "background": background}
    put_last_and_drop_oldest(ledger.commands, shape, command, _MOST_COMMANDS)


def _note_success_after_similar_failure(ledger: Ledger, line: str) -> None:
    """Keep a command that succeeded soon after one that is much like it had failed."""
    words = set(line.split())
    for before in ledger.failed:
        earlier = set(before.split())
        similar = len(words & earlier) >= _SIMILAR * len(words | earlier)
        if similar and before != line and line.split(None, 1)[0] == before.split(None, 1)[0]:
            ledger.worked = [*ledger.worked, [line, before]][-_MOST_WORKED:]
            ledger.failed = [other for other in ledger.failed if other != before]
            return


def _note_commits_and_prs(ledger: Ledger, steps: list[shell.Command], output: str) -> None:
    """Keep the commits and pull requests that a command made."""
    for step in steps:
        words = step.own
        if step.program == "git" and "commit" in words:
            _note_commits(ledger, output, amended="--amend" in words)
        elif step.program == "git" and "reset" in words:
            _clear_commits_if_reset_back(ledger, words[words.index("reset") + 1 :])
        elif step.program in ("gh", "glab") and "create" in words and "--dry-run" not in words:
            made = [address.group() for address in _PULL.finditer(output)][:1]
            ledger.pulls = list(dict.fromkeys([*ledger.pulls, *made]))[-_MOST_PULLS:]


def commits_in_output(output: str) -> list[list[str]]:
    """The commits that git says it made, each with its subject."""
    return [[commit, mask(subject)] for commit, subject in _COMMITTED.findall(output)]


def _note_commits(ledger: Ledger, output: str, *, amended: bool) -> None:
    made = commits_in_output(output)
    if amended and made and ledger.commits:
        ledger.commits.pop()
    earlier = [pair for pair in ledger.commits if pair not in made]
    ledger.commits = [*earlier, *made][-_MOST_COMMITS:]


def _clear_commits_if_reset_back(ledger: Ledger, words: tuple[str, ...]) -> None:
    """`git reset` went behind commits made here: nobody knows by how many, so none is claimed."""
    target = next((word for word in words if not word.startswith("-")), "HEAD")
    names_a_commit = target.startswith("HEAD") or not _RESET_MODES.isdisjoint(words)
    if target != "HEAD" and names_a_commit:
        ledger.commits = []
