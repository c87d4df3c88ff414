"""A shell command line, as far as offloading has to understand it: what it runs, reads, and names.

Lexed with `shlex`, without a shell, and tolerant on purpose: a line that is cut off or unbalanced
ends where it breaks, and nothing here raises. Pure.
"""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

# A command line says what it is at its beginning; a here-document may be as long as a book.
_LONGEST_COMMAND = 8_000
_LONGEST_PATTERN = 80
_HERE_DOCUMENT = re.compile(r"<<-?[ \t]*(['\"]?)(\w+)\1(.*?\n)(?:.*?\n)??[ \t]*\2[ \t]*(?=\n|$)", re.S)
_COMMENT = re.compile(r"^[ \t]*#.*$", re.MULTILINE)
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")
_NAME = re.compile(r"[A-Za-z][\w:-]*")
_HARMLESS_TARGETS = ("/dev/null", "&1", "&2", "1", "2")
# What stands before a program and hands over to it, with its options that take a word.
_WRAPPERS = {
    **dict.fromkeys(("nohup", "command", "exec", "builtin", "time", "stdbuf", "!"), ""),
    **{"sudo": "-u -g", "env": "-u -C", "nice": "-n", "timeout": "-s -k", "xargs": "-n -P -I -L -d"},
}
_SHELL_WORDS = ("do", "then", "else", "if", "while", "until", "{", "(")
_SHELL_ENDS = ("for", "case", "done", "fi", "esac", "}", "[[")
_SILENT = frozenset(
    ("cd pushd popd echo printf true false test [ [[ : pwd export set unset sleep wait source .").split()
)
_FILTERS = frozenset("head tail sort uniq cut tr column nl wc tee sed awk grep rg egrep cat less".split())
BRIEF = frozenset(
    ("pwd|whoami|which|type|echo|true|false|exit|cd|pushd|popd|export|set|unset|alias|command -v|"
     "git status|git branch|git remote|git config").split("|")
)  # fmt: skip
INTERACTIVE = frozenset(
    "ssh telnet ftp sftp vim vi nvim nano emacs less more man top htop tmux screen gdb lldb".split()
)
_INTERPRETERS = frozenset(
    ("bash sh zsh fish python python3 ipython node irb ghci psql mysql sqlite3 redis-cli").split()
)
# Programs that show what a file holds: what they print is of the file's kind.
_SHOWING = frozenset("cat bat head tail nl sed less more tac".split())
# Commands that change nothing wherever they run, so that anybody may be invited to repeat them, by
# their first word or two; words behind a colon make an exception of the call.
_READING = {
    **dict.fromkeys("cat bat head tail nl tac cut tr column uniq wc ls tree stat file du df diff cmp".split(), ""),
    **dict.fromkeys("grep egrep fgrep ag ack jq yq comm basename dirname realpath date ps whoami id".split(), ""),
    **dict.fromkeys("uname hostname printenv which type hexdump xxd od strings journalctl shellcheck".split(), ""),
    "rg": "--pre",
    "sort": "-o --output",
    "find": "-delete -exec -execdir -ok -okdir -fprint -fprintf -fls",
    "fd": "-x --exec -X --exec-batch",
    "sed": "-i --in-place",
    "awk": "-i",
    **dict.fromkeys(("git diff", "git show", "git log"), "--output"),
    **dict.fromkeys("git blame|git status|git ls-files|git ls-tree|git grep|git reflog".split("|"), ""),
    **dict.fromkeys("git shortlog|git rev-parse|git describe|git cat-file|git merge-base".split("|"), ""),
    **dict.fromkeys("gh pr|gh issue|gh run|gh release".split("|"), "create edit merge close comment delete rerun cancel review ready reopen checkout develop download upload lock unlock pin unpin transfer watch"),
    **dict.fromkeys("docker logs|docker ps|docker images|docker inspect|kubectl get|kubectl logs|kubectl describe".split("|"), ""),
    **dict.fromkeys("npm ls|npm outdated|npm view|pip list|pip show|pip freeze|go list|go doc|go vet|cargo tree".split("|"), ""),
    "ruff check": "--fix --fix-only",
}  # fmt: skip
# What prints a log: tests, builds, downloads, and what services wrote down.
_LOGGING = frozenset(
    ("docker logs|kubectl logs|journalctl|dmesg|git log|git reflog|git shortlog|gh run|npm install|npm ci|npm test|"
     "npm run|pnpm install|pnpm test|pnpm run|yarn install|yarn test|yarn run|bun test|pip install|uv sync|uv pip|"
     "poetry install|cargo build|cargo test|cargo check|cargo clippy|go test|go build|go mod|go get|make|cmake|ninja|"
     "mvn|gradle|./gradlew|./mvnw|pytest|tox|nox|jest|vitest|mocha|rspec|phpunit|ctest|bazel build|bazel test|"
     "docker build|docker compose|docker pull|terraform plan|terraform apply|brew install|apt install|apt-get install|"
     "dotnet build|dotnet test|swift build|swift test|mix test|mix deps.get|bundle install|composer install|tsc").split("|")
)  # fmt: skip
_KEEPS_A_LOG = frozenset(("docker logs", "kubectl logs", "journalctl", "dmesg", "git log", "git reflog"))


class Command(NamedTuple):
    """One simple command without what stands before its program."""

    words: tuple[str, ...]
    writes: bool
    """Whether its output goes to a file."""

    @property
    def program(self) -> str:
        """The program without its folder; one in the current folder keeps its `./`."""
        word = self.words[0]
        folder, slash, name = word.rpartition("/")
        return word if not slash or not name else f"./{name}" if folder == "." else name

    @property
    def pattern(self) -> str:
        """Its first two words, the second only where it is a name: `git log`, `pytest`."""
        rest = self.words[1:]
        if self.program in ("python", "python3") and rest[:1] == ("-m",):
            return " ".join(rest[1:2]) or self.program
        while rest and rest[0] in ("-C", "-c", "--no-pager", "-R", "--repo", "--prefix", "-n"):
            rest = rest[1 if rest[0] == "--no-pager" else 2 :]
        second = rest[0] if rest and _NAME.fullmatch(rest[0]) else ""
        return f"{self.program} {second}".strip()[:_LONGEST_PATTERN]


class Fetch(NamedTuple):
    """Stored content that a call asks for, by the name it uses, and which lines of it (`A:B`)."""

    name: str
    lines: str


def pipelines(line: str) -> list[list[Command]]:
    """The commands of a line in order, those that are tied by pipes together."""
    found: list[list[Command]] = [[]]
    words: list[str] = []
    writes = False
    tokens = _tokens(_COMMENT.sub("", _HERE_DOCUMENT.sub(r"\3", line[:_LONGEST_COMMAND])))
    for token in tokens:
        if token[0] in "<>" or token.startswith("&>"):
            target = next(tokens, "")
            writes = writes or (">" in token and target not in _HARMLESS_TARGETS)
            if words and words[-1].isdigit():
                words.pop()  # the descriptor
        elif set(token) <= set("();|&\n"):
            bare = _bare(words)
            found[-1] += [Command(tuple(bare), writes)] if bare else []
            words, writes = [], False
            if token not in ("|", "|&"):
                found.append([])
        else:
            words.append(token)
    bare = _bare(words)
    found[-1] += [Command(tuple(bare), writes)] if bare else []
    return [pipeline for pipeline in found if pipeline]


def main_command(line: str) -> Command | None:
    """What most likely produced the output: of the last that prints, what feeds the filters."""
    chosen = None
    for pipeline in pipelines(line):
        sources = [one for one in pipeline if one.program not in _FILTERS] or pipeline[:1]
        if not pipeline[-1].writes and (chosen is None or sources[-1].program not in _SILENT):
            chosen = sources[-1]
    return chosen


def pattern_of(tool: str, subject: Any) -> str:
    """What a call is remembered by: two words of a command, a file, a host, else the tool."""
    if not isinstance(subject, str) or not subject.strip():
        return tool
    if tool == "Bash":
        command = main_command(subject)
        return command.pattern if command else tool
    if tool == "Read":
        return f"Read {subject}"
    if tool == "WebFetch":
        return f"WebFetch {subject.partition('://')[2].partition('/')[0].lower()[:_LONGEST_PATTERN]}"
    return tool


def only_reads(line: str) -> bool:
    """Whether a command line changes nothing, as far as the list of such commands knows."""
    if "$(" in line or "`" in line or "<(" in line or len(line) > _LONGEST_COMMAND:
        return False
    commands = [one for pipeline in pipelines(line) for one in pipeline]
    return bool(commands) and all(not one.writes and _is_reading(one) for one in commands)


def _is_reading(command: Command) -> bool:
    if command.program in _SILENT:
        return True
    forbidden = _READING.get(command.pattern, _READING.get(command.program))
    if forbidden is None:
        return False
    if command.program == "awk" and any(mark in "".join(command.words) for mark in (">", "|", "system")):
        return False
    refused = forbidden.split()
    return not any(word.partition("=")[0] in refused or _is_in_place(command, word) for word in command.words[1:])


def _is_in_place(command: Command, word: str) -> bool:
    return command.program == "sed" and word.startswith("-") and not word.startswith("--") and "i" in word


def shown_files(line: str) -> list[str]:
    """The files whose content a line prints, where that is all it does; empty otherwise."""
    files: list[str] = []
    for pipeline in pipelines(line):
        first = pipeline[0]
        if first.program in _SILENT:
            continue
        if any(one.program not in _FILTERS for one in pipeline) or first.program not in _SHOWING:
            return []
        named = [word for word in first.words[1:] if not word.startswith("-")]
        named = named[1:] if first.program == "sed" else named
        files += [word for word in named if "." in word or "/" in word]
    return files


def prints_a_log(line: str) -> bool:
    """Whether the line runs what prints a log: a test run, a build, a service's messages."""
    command = main_command(line)
    return command is not None and not _LOGGING.isdisjoint((command.pattern, command.program))


def ran_something(line: str) -> bool:
    """Whether failures in the output are the command's own, not those that a log kept."""
    command = main_command(line)
    if command is None or not _KEEPS_A_LOG.isdisjoint((command.pattern, command.program)):
        return False
    return command.program not in _SHOWING and command.program not in _FILTERS


def is_exempt(line: str) -> bool:
    """Whether a line is one brief or interactive command."""
    if any(mark in line for mark in "&|;\n$`<>"):
        return False
    words = line.split()
    first = words[0].rpartition("/")[2] if words else ""
    if not BRIEF.isdisjoint((first, " ".join([first, *words[1:2]]))) or first in INTERACTIVE:
        return True
    return first in _INTERPRETERS and words[1:] in ([], ["-i"])


def fetches(tool: str, tool_input: Mapping[str, Any]) -> list[Fetch]:
    """The stored content that a call asks for."""
    if tool == "Bash":
        line = tool_input.get("command")
        return _fetched_by(line) if isinstance(line, str) and "brimline" in line else []
    key, lines = tool_input.get("key"), tool_input.get("lines")
    if not isinstance(key, str) or not key or not is_our_tool(tool):
        return []
    return [Fetch(key, lines if isinstance(lines, str) else "")]


def is_our_tool(tool: str) -> bool:
    """Whether a tool is one of our MCP server, under whatever name that was registered."""
    return tool.startswith("mcp__") and "brimline" in tool.lower()


def _fetched_by(line: str) -> list[Fetch]:
    found = []
    for words in (one.words for pipeline in pipelines(line) for one in pipeline):
        names = [word.rpartition("/")[2] for word in words]
        for at, name in enumerate(names[:-2]):
            if name == "brimline" and names[at + 1] == "store" and names[at + 2] in ("get", "grep"):
                found.append(_fetch(words[at + 3 :]))
    return found


def _fetch(words: Sequence[str]) -> Fetch:
    name = lines = ""
    rest = iter(words)
    for word in rest:
        option, equals, value = word.partition("=")
        if option in ("--lines", "--bytes", "-C", "--context", "--find"):
            value = value if equals else next(rest, "")
            lines = value if option == "--lines" else lines
        elif not name and not word.startswith("-"):
            name = word
    return Fetch(name, lines)


def _tokens(line: str) -> Iterator[str]:
    lexer = shlex.shlex(line, posix=True, punctuation_chars="();<>|&\n")
    lexer.whitespace, lexer.commenters, lexer.whitespace_split = " \t\r", "", True
    try:
        yield from filter(None, lexer)
    except ValueError:
        return  # a quote that is never closed


def _bare(words: list[str]) -> list[str]:
    """A command without what stands before its program: shell words, assignments, wrappers."""
    while words:
        first = words[0].rpartition("/")[2]
        if first in _SHELL_ENDS:
            return []
        if first in _SHELL_WORDS or _ASSIGNMENT.match(words[0]):
            words = words[1:]
        elif first in _WRAPPERS and len(words) > 1:
            rest = words[1:]
            while rest and rest[0].startswith("-"):
                rest = rest[2 if rest[0] in _WRAPPERS[first].split() else 1 :]
            words = rest[1:] if first == "timeout" else rest
        else:
            return words
    return []
