"""A shell command line, as far as offloading has to understand it: what it runs, shows and changes.

Lexed with `shlex`, without a shell, and tolerant on purpose: a line that is cut off or unbalanced
ends where it breaks, and nothing here raises. Pure.
"""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

# A command line says what it is at its beginning; a here-document may be as long as a book.
_LONGEST_COMMAND = 8_000
_LONGEST_PATTERN = 80
_HERE_DOCUMENT = re.compile(
    r"<<-?[ \t]*(['\"]?)(\w+)\1(.*?\n)(?:.*?\n)??[ \t]*\2[ \t]*(?=\n|$)", re.DOTALL
)
_COMMENT = re.compile(r"^[ \t]*#.*$", re.MULTILINE)
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")
_IN_PLACE = re.compile(r"-[a-zA-Z]*i")
_BEFORE_SUBCOMMANDS = ("-C", "-c", "--no-pager", "-R", "--repo", "--prefix")
_FETCHING = ("get", "grep")
_HARMLESS_TARGETS = ("/dev/null", "&1", "&2", "1", "2")


# What stands before a program and hands over to it, with its options that take a word.
_WRAPPERS = {
    **dict.fromkeys(("nohup", "command", "exec", "builtin", "time", "stdbuf", "!"), ""),
    "sudo": "-u -g",
    "env": "-u -C",
    "nice": "-n",
    "timeout": "-s -k",
    "xargs": "-n -P -I -L",
}
_SHELL_WORDS = ("do", "then", "else", "if", "while", "until", "{", "(")
_SHELL_ENDS = ("for", "case", "done", "fi", "esac", "}", "[[")
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


class Command(NamedTuple):
    """One simple command without what stands before its program."""

    program: str
    """Without its folder; a program in the current folder keeps its `./`."""
    pattern: str
    """Its first two words, options left out: `git log`, `make test`, `cat app.log`."""
    words: tuple[str, ...]
    writes: bool
    """Whether its output goes to a file."""


class Line(NamedTuple):
    """A command line."""

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
    main = None
    for pipeline in pipelines:
        sources = [one for one in pipeline if one.program not in _KNOWN["filter"]] or pipeline[:1]
        if not pipeline[-1].writes and (
            main is None or sources[-1].program not in _KNOWN["silent"]
        ):
            main = sources[-1]
    opaque = any(mark in text for mark in ("$(", "`", "<(")) or len(text) > _LONGEST_COMMAND
    every = [command for pipeline in pipelines for command in pipeline]
    only_reads = bool(every) and not opaque and all(map(_only_reads, every))
    words = text.split() if not any(mark in text for mark in "&|;\n$`<>") else []
    first = words[0].rpartition("/")[2] if words else ""
    is_exempt = not _KNOWN["exempt"].isdisjoint((first, " ".join([first, *words[1:2]])))
    is_exempt = is_exempt or (first in _KNOWN["interpreter"] and words[1:] in ([], ["-i"]))
    names = {main.pattern, main.program} if main else set()
    # What xargs is given are paths, what it prints is not.
    lists = names & _KNOWN["paths"] and "xargs" not in text
    prints = "log" if names & _KNOWN["log"] else "paths" if lists else ""
    others = _KNOWN["keeps a log"] | _KNOWN["filter"] | _KNOWN["showing"]
    ran = bool(names) and not names & others
    return Line(every, main, _shown_files(pipelines), only_reads, is_exempt, prints, ran)


def known_program(text: str) -> str:
    """The program that a command line is about, where it is one that everybody has; else empty."""
    program = main.program if (main := read(text).main) else ""
    known = {name.split()[0] for programs in _KNOWN.values() for name in programs}
    return program if program in known else ""


def _pipelines(text: str) -> list[list[Command]]:
    found: list[list[Command]] = [[]]
    words: list[str] = []
    writes = False
    text = _COMMENT.sub("", _HERE_DOCUMENT.sub(r"\3", text[:_LONGEST_COMMAND]))
    lexer = shlex.shlex(f"{text}\n", posix=True, punctuation_chars="();<>|&\n")
    lexer.whitespace, lexer.commenters, lexer.whitespace_split = " \t\r", "", True
    try:
        for token in lexer:
            if token[:1] in ("<", ">") or token.startswith("&>"):
                target = next(lexer, "")
                writes = writes or (">" in token and target not in _HARMLESS_TARGETS)
                if words and words[-1].isdigit():
                    words.pop()  # the descriptor
            elif token and set(token) <= set("();|&\n"):
                found[-1] += _command(words, writes)
                words, writes = [], False
                if token not in ("|", "|&"):
                    found.append([])
            else:
                words.append(token)
    except ValueError:
        found[-1] += _command(words, writes)  # a quote that is never closed
    return [pipeline for pipeline in found if pipeline]


def _command(words: list[str], writes: bool) -> list[Command]:
    """A command without what stands before it: shell words, assignments, wrappers."""
    while words:
        first = words[0].rpartition("/")[2]
        if first in _SHELL_ENDS:
            return []
        if first in _SHELL_WORDS or not words[0] or _ASSIGNMENT.match(words[0]):
            words = words[1:]
        elif first in _WRAPPERS and len(words) > 1:
            rest = words[1:]
            while rest and rest[0].startswith("-"):
                rest = rest[2 if rest[0] in _WRAPPERS[first].split() else 1 :]
            words = rest[1:] if first == "timeout" else rest
        else:
            break
    if not words:
        return []
    folder, slash, name = words[0].rpartition("/")
    program = words[0] if not slash or not name else f"./{name}" if folder == "." else name
    rest = words[1:]
    while rest and rest[0] in _BEFORE_SUBCOMMANDS:
        rest = rest[1 if rest[0] == "--no-pager" else 2 :]
    if program in ("python", "python3") and rest[:1] == ["-m"]:
        program, rest = (rest[1:] or [program])[0], rest[2:]
    second = next((word for word in rest if not word.startswith("-")), "")
    pattern = f"{program} {second}".strip()[:_LONGEST_PATTERN]
    return [Command(program, pattern, tuple(words), writes)]


def _only_reads(command: Command) -> bool:
    if command.program in _KNOWN["silent"]:
        return not command.writes
    forms = {command.pattern, command.program}
    refused = [_READING_UNLESS[form] for form in forms if form in _READING_UNLESS]
    if command.writes or not (refused or forms & _KNOWN["reading"]):
        return False
    options = command.words[1:]
    if command.program == "awk" and any(mark in " ".join(options) for mark in (">", "|", "system")):
        return False
    if command.program == "sed" and any(_IN_PLACE.match(word) for word in options):
        return False
    return not any(word.partition("=")[0] in " ".join(refused).split() for word in options)


def _shown_files(pipelines: list[list[Command]]) -> list[str]:
    files: list[str] = []
    for pipeline in pipelines:
        first = pipeline[0]
        if first.program in _KNOWN["silent"]:
            continue
        filters = all(one.program in _KNOWN["filter"] for one in pipeline)
        if not filters or first.program not in _KNOWN["showing"]:
            return []
        named = [word for word in first.words[1:] if not word.startswith("-")]
        named = named[1:] if first.program == "sed" else named
        files += [word for word in named if "." in word or "/" in word]
    return files


def pattern_of(tool: str, subject: Any) -> str:
    """What a call is remembered by: two words of a command, a file, a host, else the tool."""
    if not isinstance(subject, str) or not subject.strip():
        return tool
    if tool == "Bash":
        command = read(subject).main
        return command.pattern if command else tool
    if tool == "Read":
        return f"Read {subject}"
    host = subject.partition("://")[2].partition("/")[0].lower()[:_LONGEST_PATTERN]
    return f"WebFetch {host}" if tool == "WebFetch" else tool


def files_of(tool: str, tool_input: Mapping[str, Any]) -> list[str]:
    """The files that a call shows, where that is all it does."""
    if tool == "Bash":
        return read(str(tool_input.get("command") or "")).files
    path = tool_input.get("file_path")
    return [path] if tool == "Read" and isinstance(path, str) else []


def fetches(tool: str, tool_input: Mapping[str, Any]) -> list[tuple[str, str]] | None:
    """The stored content that a call asks for, by the name it uses, and which lines (`A:B`).

    None where it does not ask us; the tools are those of our MCP server, under whatever name.
    """
    if tool == "Bash":
        text = tool_input.get("command")
        return _fetched_by(text) or None if isinstance(text, str) and "brimline" in text else None
    if not tool.startswith("mcp__") or "brimline" not in tool.lower():
        return None
    key, lines = tool_input.get("key"), tool_input.get("lines")
    return [(key, lines if isinstance(lines, str) else "")] if key and isinstance(key, str) else []


def _fetched_by(text: str) -> list[tuple[str, str]]:
    found = []
    for command in (one for pipeline in _pipelines(text) for one in pipeline):
        words = [word.rpartition("/")[2] for word in command.words]
        for at, word in enumerate(words[:-2]):
            if word == "brimline" and words[at + 1] == "store" and words[at + 2] in _FETCHING:
                found.append(_arguments(command.words[at + 3 :]))
    return found


def _arguments(words: tuple[str, ...]) -> tuple[str, str]:
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
