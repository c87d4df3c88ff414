"""Whether a tool's output is kept out of the context: size, tool, file and command decide. Pure.

Fast path: imports nothing. It says what passes before anything is stored or previewed; the second
half of the answer, `is_worth_it`, needs the text that would stand in.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Mapping
    from typing import Any

OUR_MARK = "[brimline"
# Reasons to pass that callers act upon.
SECOND_LOOK = "a second look at the file"
TRIVIAL = "a trivial command"
# A line number in front of each line that Read shows, as the client writes it: `     1→`.
_NUMBERING_BYTES = 9

_INLINE_BYTES = 8_000
# docs/explanation/offload.md has the measurements behind it.
_READ_BYTES = 25_000
_CODE_BYTES = 12_000
_SEARCH_TOOLS = ("Bash", "Grep", "Glob", "WebFetch", "WebSearch", "Agent", "Task")
MCP_TOOLS = "mcp__"

_NEVER_TEXT = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".ico", ".tiff", ".pdf")
_INSTRUCTION_FILES = ("claude.md", "claude.local.md", "agents.md", "readme", "go.sum")
_INSTRUCTION_STEMS = ("readme.", ".env")
_CONFIGURATION = (
    *(".json", ".jsonc", ".json5", ".yaml", ".yml", ".toml", ".lock", ".ini", ".cfg", ".conf"),
    *(".properties", ".editorconfig", ".env"),
)

_CODE = (
    *(".py", ".pyi", ".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".vue", ".svelte", ".go", ".rs"),
    *(".java", ".kt", ".kts", ".scala", ".c", ".h", ".cc", ".cpp", ".cxx", ".hpp", ".cs", ".fs"),
    *(".swift", ".m", ".mm", ".rb", ".php", ".pl", ".lua", ".r", ".jl", ".ex", ".exs", ".erl"),
    *(".hs", ".ml", ".clj", ".dart", ".zig", ".nim", ".sh", ".bash", ".zsh", ".sql", ".proto"),
    *(".css", ".scss", ".less", ".html", ".astro", ".tf", ".sol", ".groovy", ".ps1"),
)

_COMPOUND = ("&", "|", ";", "\n", "$(", "`", ">", "<")
_TRIVIAL = (
    *("pwd", "whoami", "which", "type", "echo", "true", "false", "exit", "cd", "pushd", "popd"),
    *("export", "set", "unset", "alias"),
)
_TRIVIAL_PAIRS = ("command -v", "git status", "git branch", "git remote", "git config")
_INTERACTIVE = (
    *("ssh", "telnet", "ftp", "sftp", "vim", "vi", "nvim", "nano", "emacs", "less", "more", "man"),
    *("top", "htop", "tmux", "screen", "gdb", "lldb"),
)
_SHELLS = (
    *("bash", "sh", "zsh", "fish", "python", "python3", "ipython", "node", "irb", "ghci", "psql"),
    *("mysql", "sqlite3", "redis-cli"),
)


class Rules:
    """What counts as large, and how much has to be gained."""

    __slots__ = (
        "code_bytes",
        "configuration_bytes",
        "least_ratio",
        "least_tokens",
        "thresholds",
    )

    def __init__(
        self,
        thresholds: Mapping[str, int],
        *,
        least_tokens: int | None,
        least_ratio: float,
        configuration_bytes: int = 100_000,
        code_bytes: int | None = None,
    ) -> None:
        # By tool name; `mcp__` stands for the tools of all MCP servers. A tool without one passes.
        self.thresholds = thresholds
        # The never-worse guard; None turns it off.
        self.least_tokens = least_tokens
        self.least_ratio = least_ratio
        self.configuration_bytes = configuration_bytes
        # For source code with the line numbers that the client adds: previews of it hold most of
        # what is used next. None where it is a file like any other.
        self.code_bytes = code_bytes


def _thresholds(inline_bytes: int, read_bytes: int) -> dict[str, int]:
    sizes = dict.fromkeys((*_SEARCH_TOOLS, MCP_TOOLS), inline_bytes)
    return sizes | {"Read": read_bytes}


DEFAULT = Rules(
    _thresholds(_INLINE_BYTES, _READ_BYTES),
    least_tokens=1_000,
    least_ratio=0.5,
    code_bytes=_CODE_BYTES,
)
CCM = Rules(_thresholds(2_000, 25_000), least_tokens=None, least_ratio=0.0)
PRESETS = {"default": DEFAULT, "ccm": CCM}


class Verdict:
    """Replace or not, and why not."""

    __slots__ = ("reason", "replace")

    def __init__(self, reason: str | None) -> None:
        self.replace = reason is None
        self.reason = reason


def decide(
    tool: str,
    tool_input: Mapping[str, Any],
    text: str,
    rules: Rules = DEFAULT,
    seen: Container[str] = (),
    *,
    agent_id: str | None = None,
) -> Verdict:
    """Whether an output is to be replaced, as far as can be told without its preview.

    Args:
        tool: the tool's name as the client spells it.
        tool_input: what the tool was called with.
        text: the whole output as text; of a file its content without line numbers.
        rules: thresholds and exceptions in force.
        seen: the files of which this session was shown a preview before.
        agent_id: set where a subagent made the call.
    """
    if agent_id:
        return Verdict("a subagent's own work")
    threshold = rules.thresholds.get(MCP_TOOLS if tool.startswith(MCP_TOOLS) else tool)
    if threshold is None:
        return Verdict("an unknown tool")
    numbered = tool == "Read" and rules.code_bytes is not None and is_code(tool_input)
    if numbered and rules.code_bytes is not None:
        threshold = min(threshold, rules.code_bytes)
    # Counting the bytes of a huge text takes longer than all the rest, and cannot matter.
    is_huge = len(text) > max(threshold, rules.configuration_bytes)
    size = len(text) if is_huge else size_bytes(text, numbered=numbered)
    # The sources keep a file of exactly 25,000 bytes out, and leave 2,000 bytes of output in.
    if size < threshold or (size == threshold and tool != "Read"):
        return Verdict("below the threshold")
    if text.startswith(OUR_MARK) or is_ours(tool, tool_input):
        return Verdict("our own recall")
    if tool == "Read":
        return Verdict(_file_passes(tool_input, size, rules, seen))
    if tool == "Bash":
        return Verdict(_command_passes(tool_input.get("command")))
    return Verdict(None)


def is_worth_it(text: str, stub: str, rules: Rules, characters_per_token: float) -> bool:
    """Whether a stub saves enough of the text to be no worse than the text itself."""
    if rules.least_tokens is None:
        return True
    saved = len(text) - len(stub)
    enough = saved / characters_per_token >= rules.least_tokens
    return enough and saved >= len(text) * rules.least_ratio


def size_bytes(text: str, *, numbered: bool = False) -> int:
    """How many bytes the output takes, where asked with the client's line numbers."""
    size = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
    return size + _NUMBERING_BYTES * (text.count("\n") + 1) if numbered else size


def is_code(tool_input: Mapping[str, Any]) -> bool:
    """Whether a file that was read is source code, by its name."""
    path = tool_input.get("file_path")
    return isinstance(path, str) and path.lower().endswith(_CODE)


def _file_passes(
    tool_input: Mapping[str, Any], size: int, rules: Rules, seen: Container[str]
) -> str | None:
    path = tool_input.get("file_path")
    path = path if isinstance(path, str) else ""
    if any(tool_input.get(key) is not None for key in ("offset", "limit", "pages")):
        return "a page of a file"
    if path in seen:
        return SECOND_LOOK
    if path.lower().endswith(_NEVER_TEXT):
        return "an image or a PDF"
    if is_configuration(path) and size <= rules.configuration_bytes:
        return "a configuration or instruction file"
    return None


def is_configuration(path: str) -> bool:
    """Whether a file is one that is read to be obeyed: settings, instructions, lock files."""
    name = path.replace("\\", "/").rpartition("/")[2].lower()
    if name in _INSTRUCTION_FILES or name.startswith(_INSTRUCTION_STEMS):
        return True
    return name.endswith(_CONFIGURATION) or ".env." in name


def _command_passes(command: Any) -> str | None:
    if not isinstance(command, str):
        return None
    if is_recall(command):
        return "our own recall"
    if any(mark in command for mark in _COMPOUND):
        return None
    words = command.split()
    first = words[0].rpartition("/")[2] if words else ""
    if first in _TRIVIAL or " ".join([first, *words[1:2]]) in _TRIVIAL_PAIRS:
        return TRIVIAL
    if first in _INTERACTIVE or (first in _SHELLS and words[1:] in ([], ["-i"])):
        return "an interactive command"
    return None


def is_ours(tool: str, tool_input: Mapping[str, Any]) -> bool:
    """Whether a call fetches stored content: through our tools, or by our command."""
    if tool.startswith(MCP_TOOLS):
        return "brimline" in tool.lower()
    command = tool_input.get("command") if tool == "Bash" else None
    return isinstance(command, str) and "brimline" in command and is_recall(command)


def is_recall(command: str) -> bool:
    """Whether a command line fetches from our store."""
    for mark in ("|", ";", "&", "(", "\n"):
        command = command.replace(mark, " ")
    words = [word.strip("'\"").rpartition("/")[2] for word in command.split()]
    return any(words[place : place + 2] == ["brimline", "store"] for place in range(len(words)))
