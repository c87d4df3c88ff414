"""What the rules say of a tool's output: its size, tool, file and command, and what is saved. Pure.

Fast path: imports only `brimline.offload.recall`. `intercept.after` has the order of all questions.
"""

from __future__ import annotations

from brimline.offload import recall
from brimline.offload.recall import MCP_TOOLS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Mapping
    from typing import Any

OUR_MARK = "[brimline"
# Why an output passes.
UNKNOWN_TOOL = "an unknown tool"
SMALL = "below the threshold"
OURS = "our own recall"
PAGE = "a page of a file"
SECOND_LOOK = "a second look at the file"
NO_TEXT = "an image or a PDF"
CONFIGURATION = "a configuration or instruction file"
TRIVIAL = "a trivial command"
INTERACTIVE = "an interactive command"
SWITCHED_OFF = "nothing is replaced"
FETCHED_BACK = "its references are always fetched back"
# A line number in front of each line that Read shows, as the client writes it: `     1→`.
_NUMBERING_BYTES = 9

_INLINE_BYTES = 8_000
# docs/explanation/offload.md has the measurements behind it.
_READ_BYTES = 25_000
_CODE_BYTES = 12_000
_SEARCH_TOOLS = ("Bash", "Grep", "Glob", "WebFetch", "WebSearch", "Agent", "Task")

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


def reason_to_pass(
    tool: str,
    tool_input: Mapping[str, Any],
    text: str,
    rules: Rules = DEFAULT,
    seen: Container[str] = (),
) -> str | None:
    """Why the rules leave an output as it is, one of the reasons above; None where they do not.

    Args:
        tool: the tool's name as the client spells it.
        tool_input: what the tool was called with.
        text: the whole output as text; of a file its content without line numbers.
        rules: thresholds and exceptions in force.
        seen: the files of which this session was shown a preview before.
    """
    threshold = rules.thresholds.get(MCP_TOOLS if tool.startswith(MCP_TOOLS) else tool)
    if threshold is None:
        return UNKNOWN_TOOL
    numbered = tool == "Read" and rules.code_bytes is not None and is_code(tool_input)
    if numbered and rules.code_bytes is not None:
        threshold = min(threshold, rules.code_bytes)
    # Counting the bytes of a huge text takes longer than all the rest, and cannot matter.
    is_huge = len(text) > max(threshold, rules.configuration_bytes)
    size = len(text) if is_huge else size_bytes(text, numbered=numbered)
    # The sources keep a file of exactly 25,000 bytes out, and leave 2,000 bytes of output in.
    if size < threshold or (size == threshold and tool != "Read"):
        return SMALL
    if text.startswith(OUR_MARK) or recall.is_ours(tool, tool_input):
        return OURS
    if tool == "Read":
        return _file_passes(tool_input, size, rules, seen)
    return _command_passes(tool_input.get("command")) if tool == "Bash" else None


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
        return PAGE
    if path in seen:
        return SECOND_LOOK
    if path.lower().endswith(_NEVER_TEXT):
        return NO_TEXT
    if is_configuration(path) and size <= rules.configuration_bytes:
        return CONFIGURATION
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
    if any(mark in command for mark in _COMPOUND):
        return None
    words = command.split()
    first = words[0].rpartition("/")[2] if words else ""
    if first in _TRIVIAL or " ".join([first, *words[1:2]]) in _TRIVIAL_PAIRS:
        return TRIVIAL
    if first in _INTERACTIVE or (first in _SHELLS and words[1:] in ([], ["-i"])):
        return INTERACTIVE
    return None
