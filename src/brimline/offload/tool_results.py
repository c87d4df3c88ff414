"""What a tool answered: its text, and the same answer with another text in its place.

The client ignores a replacement that does not have the tool's own shape, so each one is made from
the answer itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from brimline.fast import io, json

if TYPE_CHECKING:
    from collections.abc import Callable

# The client puts notes of its own there ("Shell cwd was reset to …"); a short one stays as it is.
_SHORT_STDERR_CHARACTERS = 1_000
_LARGEST_FILE_BYTES = 256 << 20
_BINARY_SAMPLE_BYTES = 8_192
_PERSISTED = ("persistedOutputPath", "persistedOutputSize")
_CUT = "The client had read lines 1-"
# Above these the client keeps an output in a file by itself, and shows so much of its beginning.
BASH_CHARACTERS = 30_000
MCP_CHARACTERS = 50_000
BEGINNING_CHARACTERS = 2_000
PREVIEW_CHARACTERS = 2_300
# A line number in front of each line that Read shows.
_NUMBERING_CHARACTERS = 5


class ToolResult(NamedTuple):
    """One answer: all of its text, and how to say something else in its shape."""

    text: str
    replaced: Callable[[str], Any]
    data: bytes | None = None
    """The bytes that the text was made from, where there are any."""
    subject: str = ""
    """What was run, read or asked for."""
    exit_code: int | None = None
    note: str = ""
    """What the reader has to know beside the text, such as that it is a part of a file."""
    lines: tuple[int, int, int] | None = None
    """Of a file: the first and last line that it holds, counted from 1, and how many there are."""
    was_persisted: bool = False
    """Whether the client keeps all of it in a file and shows the model its beginning."""

    def content(self) -> bytes:
        """The exact bytes to keep."""
        if self.data is not None:
            return self.data
        try:
            return self.text.encode("utf-8", "surrogateescape")
        except UnicodeEncodeError:  # half of a surrogate pair, written as an escape in JSON
            return self.text.encode("utf-8", "surrogatepass")


def shown_characters(found: ToolResult, tool: str) -> int:
    """About how many characters the client would have shown of an answer."""
    if found.was_persisted or (tool != "Read" and len(found.text) > MCP_CHARACTERS):
        return PREVIEW_CHARACTERS
    numbering = 0
    if tool == "Read":
        numbering = _NUMBERING_CHARACTERS * (found.text.count("\n") + 1)
    return len(found.text) + numbering


def find(tool: str, tool_input: dict[str, Any], response: Any) -> ToolResult | None:
    """The text of an answer; None for tools and shapes that are not known to be replaceable."""
    reader = _READERS.get("mcp" if tool.startswith("mcp__") else tool)
    try:
        return reader(tool_input, response) if reader else None
    except (KeyError, TypeError, AttributeError, OSError):
        return None  # another shape than any version of the client is known to send


def _bash(tool_input: dict[str, Any], response: dict[str, Any]) -> ToolResult | None:
    stdout, stderr = response["stdout"], response["stderr"]
    if response.get("isImage") or not isinstance(stdout, str) or not isinstance(stderr, str):
        return None
    data = None
    if response.get(_PERSISTED[0]):
        data = _persisted(response)
        # Binary data is not shown; taking it for UTF-8 would cost more than all the rest.
        is_binary = b"\0" in data[:_BINARY_SAMPLE_BYTES]
        stdout = data.decode("latin-1" if is_binary else "utf-8", "replace")
    keeps_stderr = len(stderr) <= _SHORT_STDERR_CHARACTERS
    if not keeps_stderr:
        stdout = f"{stdout}\n{stderr}"
        data = None if data is None else data + b"\n" + stderr.encode("utf-8", "surrogateescape")
    rest = {key: value for key, value in response.items() if key not in _PERSISTED}
    unclear = response.get("interrupted") or response.get("returnCodeInterpretation")
    return ToolResult(
        stdout,
        lambda text: rest | {"stdout": text, "stderr": stderr if keeps_stderr else ""},
        data=data,
        subject=_text(tool_input.get("command")),
        exit_code=None if unclear or response.get("backgroundTaskId") else 0,
        was_persisted=bool(response.get(_PERSISTED[0])),
    )


def _persisted(response: dict[str, Any]) -> bytes:
    """The whole output, of which the answer holds the beginning only.

    Raises:
        OSError: it is not there whole.
    """
    data = io.read_file(response[_PERSISTED[0]], _LARGEST_FILE_BYTES + 1)
    size = response.get(_PERSISTED[1])
    if len(data) > _LARGEST_FILE_BYTES or (isinstance(size, int) and len(data) < size):
        raise OSError("the output is not there whole")
    return data


def _read(tool_input: dict[str, Any], response: dict[str, Any]) -> ToolResult | None:
    if response["type"] == "notebook":
        return _notebook(response)
    if response["type"] != "text":
        return None
    file = response["file"]
    lines = _lines_of(file)
    cut = lines is not None and lines[1] < lines[2]
    return ToolResult(
        file["content"],
        lambda text: _as_file(file, text),
        subject=_text(tool_input.get("file_path") or file["filePath"]),
        note=f"{_CUT}{file['numLines']} of {file['totalLines']}." if cut else "",
        lines=lines,
    )


def _lines_of(file: dict[str, Any]) -> tuple[int, int, int] | None:
    """Which lines of a file an answer holds; a last one that may have been cut does not count."""
    first, count, total = (file.get(name) for name in ("startLine", "numLines", "totalLines"))
    if not (isinstance(first, int) and isinstance(count, int) and isinstance(total, int)):
        return None
    return first, first + count - 1 - bool(file.get("truncatedByTokenCap")), total


def total_lines(reference: str, stored_lines: int) -> int:
    """How many lines a file has, of which a reference with its note stands for the first."""
    told = reference.partition(_CUT)[2].partition(" of ")[2].partition(".")[0]
    return int(told) if told.isascii() and told.isdigit() else stored_lines


def _as_file(file: dict[str, Any], text: str) -> dict[str, Any]:
    lines = text.count("\n") + 1
    shape = {"content": text, "numLines": lines, "startLine": 1, "totalLines": lines}
    return {"type": "text", "file": {"filePath": file["filePath"]} | shape}


def _notebook(response: dict[str, Any]) -> ToolResult | None:
    file = response["file"]
    parts: list[str] = []
    for cell in file["cells"]:
        parts.append(f"[cell {cell.get('cell_id', '')}, {cell.get('cellType', '')}]")
        parts.append(cell["source"])
        for output in cell.get("outputs") or []:
            if output.get("image"):
                return None
            parts.append(f"[output]\n{_text(output.get('text'))}")
    whole = "\n".join(parts)
    count = whole.count("\n") + 1
    return ToolResult(
        whole,
        lambda text: _as_file(file, text),
        subject=_text(file["filePath"]),
        lines=(1, count, count),
        note="The lines are those of the notebook's cells and outputs, one after the other.",
    )


def _grep(tool_input: dict[str, Any], response: dict[str, Any]) -> ToolResult:
    by_name = response["mode"] == "files_with_matches"
    text = "\n".join(response["filenames"]) if by_name else response["content"]

    def replaced(instead: str) -> dict[str, Any]:
        # In this mode alone the client shows a text as it is.
        shown = {"mode": "content", "filenames": []} if by_name else {}
        lines = {"numLines": instead.count("\n") + 1} if by_name or "numLines" in response else {}
        return response | shown | {"content": instead} | lines

    return ToolResult(text, replaced, subject=_text(tool_input.get("pattern")))


def _glob(tool_input: dict[str, Any], response: dict[str, Any]) -> ToolResult:
    return ToolResult(
        "\n".join(response["filenames"]),
        lambda text: response | {"filenames": [text], "numFiles": 1},
        subject=_text(tool_input.get("pattern")),
        note="The client had cut the list." if response.get("truncated") else "",
    )


def _web_page(tool_input: dict[str, Any], response: dict[str, Any]) -> ToolResult:
    return ToolResult(
        response["result"],
        lambda text: response | {"result": text},
        subject=_text(tool_input.get("url")),
    )


def _web_search(tool_input: dict[str, Any], response: dict[str, Any]) -> ToolResult:
    found = response["results"]
    parts = [part if isinstance(part, str) else json.dumps(part) for part in found]
    return ToolResult(
        "\n\n".join(parts),
        lambda text: response | {"results": [text]},
        subject=_text(tool_input.get("query")),
    )


def _agent(tool_input: dict[str, Any], response: dict[str, Any]) -> ToolResult | None:
    blocks = response["content"]
    if response["status"] != "completed" or not all(_is_text(block) for block in blocks):
        return None
    return ToolResult(
        "\n".join(block["text"] for block in blocks),
        lambda text: response | {"content": [{"type": "text", "text": text}]},
        subject=_text(tool_input.get("description")),
    )


def _mcp(_: dict[str, Any], response: Any) -> ToolResult | None:
    if isinstance(response, str):
        return ToolResult(response, lambda text: text)
    if not isinstance(response, list):
        return None
    texts = [block["text"] for block in response if _is_text(block)]
    others = [block for block in response if not _is_text(block)]
    return ToolResult("\n".join(texts), lambda text: [{"type": "text", "text": text}, *others])


def _is_text(block: dict[str, Any]) -> bool:
    return block.get("type") == "text" and isinstance(block.get("text"), str)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


_READERS: dict[str, Callable[[dict[str, Any], Any], ToolResult | None]] = {
    "Bash": _bash,
    "Read": _read,
    "Grep": _grep,
    "Glob": _glob,
    "WebFetch": _web_page,
    "WebSearch": _web_search,
    "Agent": _agent,
    "Task": _agent,
    "mcp": _mcp,
}
