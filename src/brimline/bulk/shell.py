"""The one reader of shell command lines: their commands, what those print, show and change. Pure.

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
_LONGEST_CHARACTERS = 8_000
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
_NO_PROGRAMS = ("", "do", "then", "else", "if", "while", "until", "{")
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
_PYTHONS = ("python", "python3")
_WRAPPING = frozenset((*_WRAPPERS, *_RUNNERS, *_PYTHONS))
# Programs whose second word says what they do, with options before it that take a word.
_WITH_SUBCOMMANDS = {"git": "-C -c", "gh": "-R --repo", "npm": "--prefix", "make": "-C"}
_HARMLESS_TARGETS = ("/dev/null", "1", "2", "-")
_WRITING_OPTION = {"awk": re.compile(r"[>|]|system"), "sed": re.compile(r"\A-[a-zA-Z]*i")}
# A line with one of these does more than its words say.
_SUBSTITUTIONS = ("$(", "`", "<(")
_MORE_THAN_WORDS = "&|;\n$`<>"
# Programs, or programs with a word, by what is known of them.
_KNOWN = {
    name: frozenset(programs.split("|"))
    for name, programs in {
        "silent": "cd|pushd|popd|echo|printf|true|false|test|[|:|pwd|export|set|unset|sleep|wait|.",
        "filter": "head|tail|sort|uniq|cut|tr|column|nl|wc|tee|sed|awk|grep|rg|egrep|cat|less",
        # What a file holds: what they print is of the file's kind.
        "showing": "cat|bat|head|tail|nl|sed|less|more|tac",
        # Brief or interactive.
        "exempt": (
            "pwd|whoami|which|type|echo|true|false|exit|cd|pushd|popd|export|set|unset|alias|"
            "command -v|git status|git branch|git remote|git config|ssh|telnet|ftp|sftp|vim|vi|"
            "nvim|nano|emacs|less|more|man|top|htop|tmux|screen|gdb|lldb"
        ),
        # Interactive where they are told nothing to run.
        "interpreter": (
            "bash|sh|zsh|fish|python|python3|ipython|node|irb|ghci|psql|mysql|sqlite3|redis-cli"
        ),
        # Prints a log: tests, builds, downloads, and what services wrote down.
        "log": (
            "docker logs|kubectl logs|journalctl|dmesg|git reflog|git shortlog|gh run|"
            "npm install|npm ci|npm test|npm run|pnpm install|pnpm test|pnpm run|yarn install|"
            "yarn test|yarn run|bun test|pip install|uv sync|uv pip|poetry install|cargo build|"
            "cargo test|cargo check|cargo clippy|go test|go build|go mod|go get|make|cmake|ninja|"
            "mvn|gradle|./gradlew|./mvnw|pytest|tox|nox|jest|vitest|mocha|rspec|phpunit|ctest|"
            "bazel build|bazel test|docker build|docker compose|docker pull|terraform plan|"
            "terraform apply|brew install|apt install|apt-get install|dotnet build|dotnet test|"
            "swift build|swift test|mix test|mix deps.get|bundle install|composer install|tsc"
        ),
        "paths": "ls|find|fd|tree|du|git ls-files|git ls-tree",
        # Failures that it tells of are not its own.
        "keeps a log": "docker logs|kubectl logs|journalctl|dmesg|git log|git reflog",
        # Changes nothing wherever it runs, so that anybody may be invited to repeat it.
        "reading": (
            "cat|bat|head|tail|nl|tac|cut|tr|column|uniq|wc|ls|tree|stat|file|du|df|diff|cmp|grep|"
            "egrep|fgrep|ag|ack|jq|yq|comm|basename|dirname|realpath|date|ps|whoami|id|uname|"
            "hostname|printenv|which|type|hexdump|xxd|od|strings|journalctl|shellcheck|git blame|"
            "git status|git ls-files|git ls-tree|git grep|git reflog|git shortlog|git rev-parse|"
            "git describe|git cat-file|git merge-base|docker logs|docker ps|docker images|"
            "docker inspect|kubectl get|kubectl logs|kubectl describe|npm ls|npm outdated|npm view|"
            "pip list|pip show|pip freeze|go list|go doc|go vet|cargo tree"
        ),
    }.items()
}
# The same, but for calls with one of these words.
_READING_UNLESS = {
    "rg": "--pre",
    "sort": "-o --output",
    "find": "-delete -exec -execdir -ok -okdir -fprint -fprintf -fls",
    "fd": "-x --exec -X --exec-batch",
    "sed": "-i --in-place",
    "awk": "-i",
    "ruff check": "--fix --fix-only",
    **dict.fromkeys(("git diff", "git show", "git log"), "--output"),
    **dict.fromkeys(
        ("gh pr", "gh issue", "gh run", "gh release"),
        "create edit merge close comment delete rerun cancel review ready reopen checkout develop "
        "download upload lock unlock pin unpin transfer watch",
    ),
}


# Failures in what they print are not their own.
_KEEPING = _KNOWN["keeps a log"] | _KNOWN["filter"] | _KNOWN["showing"]


class Command(NamedTuple):
    """One simple command."""

    # All of them without their quotes; redirections are apart.
    words: tuple[str, ...]
    # How many of them stand before the program: shell words, assignments, wrappers.
    before: int
    # The program and what it is given; empty where there is only a word of the shell.
    own: tuple[str, ...]
    # The program without its folder; one in the current folder keeps its `./`.
    program: str
    # Its first two words, options left out: `git log`, `make test`, `cat app.log`.
    pattern: str
    # What stands behind it, such as `|` or `&&`; empty at the end of the line.
    operator: str
    # As it was written.
    text: str
    # Their operators and targets.
    redirections: tuple[tuple[str, str], ...]
    # Whether something of its output goes to a file.
    writes: bool


class Line(NamedTuple):
    """A command line, and what its output can be."""

    # In their order.
    commands: list[Command]
    # What most likely produced the output: of the last that prints, what feeds the filters.
    main: Command | None
    # The files whose content is printed, where that is all it does.
    files: list[str]
    # Whether it changes nothing, as far as the list of such commands knows.
    only_reads: bool
    # Whether it is one brief or interactive command.
    is_exempt: bool
    # `log` where it runs what prints one (tests, a build, a service), `paths` for a listing.
    prints: str
    # Whether failures in the output are its own, not those that a log or a file kept.
    ran_something: bool


def parse_line(text: str) -> Line:
    """Understand a command line."""
    pipelines = _split_pipelines(text)
    commands = [command for pipeline in pipelines for command in pipeline]
    main = _main_command(pipelines)
    names = {main.pattern, main.program} if main else set()
    is_opaque = len(text) > _LONGEST_CHARACTERS or any(mark in text for mark in _SUBSTITUTIONS)
    prints = "log" if names & _KNOWN["log"] else ""
    # What xargs is given are paths, what it prints is not.
    if not prints and names & _KNOWN["paths"] and "xargs" not in text:
        prints = "paths"
    return Line(
        commands,
        main,
        files=[] if is_opaque else _files_if_only_files_are_shown(pipelines),
        only_reads=bool(commands) and not is_opaque and all(map(_is_read_only_command, commands)),
        is_exempt=_is_brief_or_interactive(text),
        prints=prints,
        ran_something=bool(names) and not names & _KEEPING,
    )


def main_program_if_known(text: str) -> str:
    """Return the program that a line is about, where everybody has that; empty otherwise."""
    main = parse_line(text).main
    everybodys = {name.split()[0] for programs in _KNOWN.values() for name in programs}
    return main.program if main and main.program in everybodys else ""


def _split_pipelines(text: str) -> list[list[Command]]:
    """Return the commands that have a program, those of a pipe together."""
    pipelines: list[list[Command]] = [[]]
    for command in split_commands(text):
        if command.program:
            pipelines[-1].append(command)
        if command.operator not in ("|", "|&"):
            pipelines.append([])
    return [pipeline for pipeline in pipelines if pipeline]


def _main_command(pipelines: list[list[Command]]) -> Command | None:
    main = None
    for pipeline in pipelines:
        if pipeline[-1].writes:
            continue
        sources = [each for each in pipeline if each.program not in _KNOWN["filter"]]
        source = (sources or pipeline[:1])[-1]
        if main is None or source.program not in _KNOWN["silent"]:
            main = source
    return main


def _is_brief_or_interactive(text: str) -> bool:
    """Tell whether a line is one brief or interactive command, and nothing else."""
    words = text.split()
    if not words or any(mark in text for mark in _MORE_THAN_WORDS):
        return False
    program = words[0].rpartition("/")[2]
    if program in _KNOWN["interpreter"]:
        return words[1:] in ([], ["-i"])
    return not _KNOWN["exempt"].isdisjoint((program, " ".join([program, *words[1:2]])))


def _is_read_only_command(command: Command) -> bool:
    """Tell whether a command is known to change nothing, with the options that it has."""
    if command.writes or command.program in _KNOWN["silent"]:
        return not command.writes
    forms, options = {command.pattern, command.program}, command.own[1:]
    refused = [_READING_UNLESS[form] for form in forms if form in _READING_UNLESS]
    if not refused and not forms & _KNOWN["reading"]:
        return False
    writing = _WRITING_OPTION.get(command.program)
    if writing and any(map(writing.search, options)):
        return False
    return not any(word.partition("=")[0] in " ".join(refused).split() for word in options)


def _files_if_only_files_are_shown(pipelines: list[list[Command]]) -> list[str]:
    """Return the files whose content is all that is printed, but for what is silent."""
    files: list[str] = []
    for first, *others in pipelines:
        if first.program in _KNOWN["silent"]:
            continue
        is_shown = first.program in _KNOWN["showing"] & _KNOWN["filter"]
        if not is_shown or any(other.program not in _KNOWN["filter"] for other in others):
            return []
        operands = [word for word in first.own[1:] if not word.startswith("-")]
        operands = operands[1:] if first.program == "sed" else operands
        files += [word for word in operands if "." in word or "/" in word]
    return files


def split_commands(line: str) -> list[Command]:
    """Return the simple commands of a line; what stands in a here-document is none."""
    line = (_without_here_documents(line) if "<<" in line else line)[:_LONGEST_CHARACTERS]
    commands: list[Command] = []
    words: list[str] = []
    redirections: list[tuple[str, str]] = []
    start = 0
    for kind, token, at in _shell_tokens(line):
        if kind == "operator":
            if words:
                commands.append(_make_command(words, redirections, token, line[start:at].strip()))
            words, redirections = [], []
        elif redirections and not redirections[-1][1]:
            redirections[-1] = redirections[-1][0], token or "''"
        elif kind == "redirection":
            redirections.append((token, ""))
        else:
            start = start if words else at
            words.append(token)
    return commands


def _shell_tokens(line: str) -> Iterator[tuple[str, str, int]]:
    """Each token that says something: its kind, its text without quotes, and its place."""
    end = 0
    while match := _TOKEN.match(line, end):
        kind, token, end = str(match.lastgroup), match[0], match.end()
        if kind == "word":
            token = _QUOTES.sub(_unquote_match, token)
        if kind != "nothing":
            yield kind, token, match.start()
    yield "operator", "", end  # the end of the line, or a quote that is never closed


def _unquote_match(part: re.Match[str]) -> str:
    return part[1] or part[2] or _ESCAPED_IN_QUOTES.sub(r"\1", part[3] or "")


def _make_command(
    words: list[str], redirections: list[tuple[str, str]], operator: str, text: str
) -> Command:
    before = _index_of_program(words)
    own = words[before:]
    program = own[0] if own else ""
    folder, slash, name = program.rpartition("/")
    if slash and name:
        program = f"./{name}" if folder == "." else name
    if program in _WITH_SUBCOMMANDS:
        own[1:] = own[1 + _count_option_words(own[1:], _WITH_SUBCOMMANDS[program]) :]
    second = next((word for word in own[1:] if not word.startswith("-")), "")
    return Command(
        tuple(words),
        before,
        tuple(own),
        program,
        pattern=f"{program} {second}".strip()[:_LONGEST_PATTERN],
        operator=operator,
        text=text,
        redirections=tuple(redirections),
        writes=any(">" in mark and to not in _HARMLESS_TARGETS for mark, to in redirections),
    )


def _index_of_program(words: list[str]) -> int:
    """Return the place of the program behind shell words, assignments and wrappers."""
    at = 0
    while at < len(words):
        name = words[at].rpartition("/")[2]
        if name in _SHELL_ENDS:
            return len(words)
        step = 1
        if words[at] not in _NO_PROGRAMS and not _ASSIGNMENT.match(words[at]):
            step = _count_wrapper_words(name, words[at + 1 :]) if name in _WRAPPING else 0
        if not step:
            break
        at += step
    return min(at, len(words))


def _count_wrapper_words(name: str, following: list[str]) -> int:
    """Count the words of a wrapper before the program that it hands over to; 0 for none."""
    if name in _WRAPPERS and following:
        return 1 + _count_option_words(following, _WRAPPERS[name]) + (name == "timeout")
    if name in _RUNNERS and following and following[0] in _RUN_WORDS:
        return 2 + _count_option_words(following[1:], "")
    return 2 if name in _PYTHONS and following[:1] == ["-m"] and following[1:] else 0


def _count_option_words(words: list[str], with_values: str) -> int:
    """Count the words at the beginning that are options or their values."""
    at = 0
    while at < len(words) and words[at].startswith("-"):
        at += 2 if words[at] in with_values.split() else 1
    return at


def _without_here_documents(text: str) -> str:
    """Take the bodies of here-documents out; one that never ends takes the rest with it."""
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
