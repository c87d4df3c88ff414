"""The client's tools: which change files, which look up, what a call is about, what is cut.

Fast path: imports nothing.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

EDITING = ("Edit", "MultiEdit", "Write", "NotebookEdit")
FILE_TOOLS = ("Read", *EDITING)
# They change nothing, so that the same call may be made again.
LOOKING_UP = ("Read", "Grep", "Glob")
DELEGATING = ("Agent", "Task")
# Their results may be large, and may be shown as a preview; so may those of MCP servers.
ANSWERING = (*LOOKING_UP, "Bash", "WebFetch", "WebSearch", *DELEGATING)
MCP_PREFIX = "mcp__"
# They report back to the model in a sentence; their records hold whole files.
TERSE = frozenset({*EDITING, "TodoWrite", "Skill"})

# How it tells that the user turned a call down, and that they ask back.
REFUSED = "The user doesn't want to proceed with this tool use."
CLARIFIES = "The user wants to clarify these questions"
# Holds the calls whose results the client leaves out of its requests.
CUT_MARK = b'"tool_results_cut"'

# Above so many characters the client keeps a result in a file and shows its beginning; a Read is
# bounded by its own limits.
_SHOWN_WHOLE_CHARACTERS = {"Bash": 30_000, "Grep": 20_000, "Read": 1 << 62}
_OTHERS_SHOWN_WHOLE_CHARACTERS = 50_000
# Of a command that failed it shows both ends of as much as of another one, and keeps no file.
_FAILED_CHARACTERS = 10_000
_FAILED_CUT = ("... [", " characters truncated] ...")
# That beginning, and the same with what the client says around it.
BEGINNING_CHARACTERS, PERSISTED_CHARACTERS = 2_000, 2_300

_FILE_ARGUMENTS = ("file_path", "notebook_path")
_SUBJECT_ARGUMENTS = (
    *(*_FILE_ARGUMENTS, "command", "url", "pattern", "query", "path"),
    *("skill", "description", "prompt"),
)
_PAGE_ARGUMENTS = ("offset", "limit", "pages")
LONGEST_SUBJECT = 400
_OPEN_END = 1 << 62


def characters_shown_whole(tool: str) -> int:
    """Return up to how many characters the client shows a tool's result whole."""
    return _SHOWN_WHOLE_CHARACTERS.get(tool, _OTHERS_SHOWN_WHOLE_CHARACTERS)


def has_failed_output_lost_its_end(failure: str) -> bool:
    """Tell whether the client threw away the end of what a failing command printed."""
    number = failure.partition(_FAILED_CUT[1])[0].rpartition(_FAILED_CUT[0])[2]
    is_cut = number.isascii() and number.isdigit() and _FAILED_CUT[1] in failure
    return is_cut and _FAILED_CHARACTERS + int(number) >= characters_shown_whole("Bash")


def subject_of_call(arguments: Mapping[str, Any], most: int = LONGEST_SUBJECT) -> str:
    """Return the file, command, address, pattern … that a call is about; empty without one."""
    return first_text_among_names(arguments, _SUBJECT_ARGUMENTS)[:most]


def file_of_call(arguments: Mapping[str, Any]) -> str:
    """Return the file that a call is about; empty without one."""
    return first_text_among_names(arguments, _FILE_ARGUMENTS)


def half_open_line_range_asked_for(arguments: Mapping[str, Any]) -> tuple[int, int]:
    """Return the first line that a read asked for, and the first behind it; the end may be open."""
    offset, limit = arguments.get("offset"), arguments.get("limit")
    first = offset if isinstance(offset, int) and offset > 0 else 1
    return first, first + limit if isinstance(limit, int) and limit > 0 else _OPEN_END


def asks_for_part_of_file(arguments: Mapping[str, Any]) -> bool:
    """Tell whether a Read is of a part of a file that it names itself."""
    return any(arguments.get(name) is not None for name in _PAGE_ARGUMENTS)


def count_line_number_bytes(response: Any) -> int:
    """Count the bytes that the client puts before the lines of a file: numbers, and tabs."""
    file = response.get("file") if isinstance(response, dict) else None
    if not isinstance(file, dict) or not isinstance(file.get("content"), str):
        return 0
    content: str = file["content"]
    first = file.get("startLine")
    first = first if isinstance(first, int) else 1
    count = content.count("\n") + 1
    return len("".join(map(str, range(first, first + count)))) + count


def first_text_among_names(arguments: Mapping[str, Any], names: tuple[str, ...]) -> str:
    for name in names:
        text = arguments.get(name)
        if isinstance(text, str) and text:
            return text
    return ""
