"""What the programs of a command line print, show and change, as far as that is known. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from brimline import clienttools, shell

if TYPE_CHECKING:
    from collections.abc import Mapping

    from brimline.shell import Command

_IN_PLACE = re.compile(r"-[a-zA-Z]*i")
_FETCHING = ("get", "grep")
_LONGEST_HOST = 80
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


class Line(NamedTuple):
    """A command line, and what its output can be."""

    commands: list[Command]
    """In their order."""
    main: Command | None
    """What most likely produced the output: of the last that prints, what feeds the filters."""
    files: list[str]
    """The files whose content is printed, where that is all it does."""
    only_reads: bool
    """Whether it changes nothing, as far as the list of such commands knows."""
    is_exempt: bool
    """Whether it is one brief or interactive command."""
    prints: str = ""
    """`log` where it runs what prints one (tests, a build, a service), `paths` for a listing."""
    ran_something: bool = False
    """Whether failures in the output are its own, not those that a log or a file kept."""


def read(text: str) -> Line:
    """Understand a command line."""
    pipelines = _pipelines(text)
    commands = [command for pipeline in pipelines for command in pipeline]
    main = _main_command(pipelines)
    is_opaque = len(text) > shell.LONGEST_CHARACTERS or any(mark in text for mark in _SUBSTITUTIONS)
    names = {main.pattern, main.program} if main else set()
    # What xargs is given are paths, what it prints is not.
    lists_paths = names & _KNOWN["paths"] and "xargs" not in text
    others = _KNOWN["keeps a log"] | _KNOWN["filter"] | _KNOWN["showing"]
    return Line(
        commands,
        main,
        files=[] if is_opaque else _shown_files(pipelines),
        only_reads=bool(commands) and not is_opaque and all(map(_only_reads, commands)),
        is_exempt=_is_exempt(text),
        prints="log" if names & _KNOWN["log"] else "paths" if lists_paths else "",
        ran_something=bool(names) and not names & others,
    )


def known_program(text: str) -> str:
    """Return the program that a line is about, where everybody has that; empty otherwise."""
    main = read(text).main
    everybodys = {name.split()[0] for programs in _KNOWN.values() for name in programs}
    return main.program if main and main.program in everybodys else ""


def _pipelines(text: str) -> list[list[Command]]:
    """Return the commands that have a program, those of a pipe together."""
    pipelines: list[list[Command]] = [[]]
    for command in shell.read(text):
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


def _is_exempt(text: str) -> bool:
    """Tell whether a line is one brief or interactive command, and nothing else."""
    words = text.split()
    if not words or any(mark in text for mark in _MORE_THAN_WORDS):
        return False
    program = words[0].rpartition("/")[2]
    if program in _KNOWN["interpreter"]:
        return words[1:] in ([], ["-i"])
    return not _KNOWN["exempt"].isdisjoint((program, " ".join([program, *words[1:2]])))


def _only_reads(command: Command) -> bool:
    if command.writes or command.program in _KNOWN["silent"]:
        return not command.writes
    forms = {command.pattern, command.program}
    refused = " ".join(_READING_UNLESS[form] for form in forms if form in _READING_UNLESS)
    if not refused and not forms & _KNOWN["reading"]:
        return False
    options = command.own[1:]
    if command.program == "awk" and any(mark in " ".join(options) for mark in (">", "|", "system")):
        return False
    if command.program == "sed" and any(_IN_PLACE.match(word) for word in options):
        return False
    return not any(word.partition("=")[0] in refused.split() for word in options)


def _shown_files(pipelines: list[list[Command]]) -> list[str]:
    files: list[str] = []
    for pipeline in pipelines:
        first = pipeline[0]
        if first.program in _KNOWN["silent"]:
            continue
        filters = all(command.program in _KNOWN["filter"] for command in pipeline)
        if not filters or first.program not in _KNOWN["showing"]:
            return []
        operands = [word for word in first.own[1:] if not word.startswith("-")]
        operands = operands[1:] if first.program == "sed" else operands
        files += [word for word in operands if "." in word or "/" in word]
    return files


def pattern_of(tool: str, subject: Any) -> str:
    """Return what a call is remembered by: two words of a command, a file, a host or the tool."""
    if not isinstance(subject, str) or not subject.strip():
        return tool
    if tool == "Bash":
        command = read(subject).main
        return command.pattern if command else tool
    if tool == "Read":
        return f"Read {subject}"
    host = subject.partition("://")[2].partition("/")[0].lower()[:_LONGEST_HOST]
    return f"WebFetch {host}" if tool == "WebFetch" else tool


def files_of(tool: str, arguments: Mapping[str, Any]) -> list[str]:
    """Return the files that a call shows, where that is all it does."""
    if tool == "Bash":
        return read(str(arguments.get("command") or "")).files
    path = clienttools.file_of(arguments)
    return [path] if tool == "Read" and path else []


def fetches(tool: str, arguments: Mapping[str, Any]) -> list[tuple[str, str]] | None:
    """Return the stored content that a call asks for, by the name it uses, and its lines (`A:B`).

    None where it does not ask us; the tools are those of our MCP server, under whatever name.
    """
    if tool == "Bash":
        text = arguments.get("command")
        return _fetched_by(text) or None if isinstance(text, str) and "brimline" in text else None
    if not tool.startswith(clienttools.MCP_PREFIX) or "brimline" not in tool.lower():
        return None
    key, lines = arguments.get("key"), arguments.get("lines")
    return [(key, lines if isinstance(lines, str) else "")] if key and isinstance(key, str) else []


def _fetched_by(text: str) -> list[tuple[str, str]]:
    fetched = []
    for command in shell.read(text):
        words = [word.rpartition("/")[2] for word in command.words]
        for at, word in enumerate(words[:-2]):
            if word == "brimline" and words[at + 1] == "store" and words[at + 2] in _FETCHING:
                fetched.append(_key_and_lines(command.words[at + 3 :]))
    return fetched


def _key_and_lines(words: tuple[str, ...]) -> tuple[str, str]:
    name = lines = ""
    rest = iter(words)
    for word in rest:
        option, equals, value = word.partition("=")
        if option in ("--lines", "--bytes", "-C", "--context", "--find"):
            value = value if equals else next(rest, "")
            lines = value if option == "--lines" else lines
        elif not name and not word.startswith("-"):
            name = word
    return name, lines
