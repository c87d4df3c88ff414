"""What a tool answered: its text, and the same answer with another text in its place.

The client ignores a replacement that does not have the tool's own shape, so each one is made from
the answer itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from brimline.fast import io, json
from brimline.transcript import clienttools

if TYPE_CHECKING:
    from collections.abc import Callable

# The client puts notes of its own there ("Shell cwd was reset to …"); a short one stays as it is.
_SHORT_STDERR_CHARACTERS = 1_000
_LARGEST_FILE_BYTES = 256 << 20
_BINARY_SAMPLE_BYTES = 8_192
_PERSISTED = ("persistedOutputPath", "persistedOutputSize")
# Marks of a command whose exit nobody knows.
_UNCLEAR = ("interrupted", "returnCodeInterpretation", "backgroundTaskId")
_ANY_TEXT = ("utf-8", "surrogatepass")


class ToolResult(NamedTuple):
    """One answer: all of its text, and how to say something else in its shape."""

    text: str
    replaced: Callable[[str], Any]
    subject: str = ""
    """What was run, read or asked for."""
    data: bytes = b""
    """The exact bytes to keep."""
    exit_code: int | None = None
    note: str = ""
    """What the reader has to know beside the text, such as that it is a part of a file."""
    lines: tuple[int, int, int] | None = None
    """Of a file: the first and last line that it holds, counted from 1, and how many there are."""
    was_persisted: bool = False
    """Whether the client keeps all of it in a file and shows the model its beginning."""
    failed: bool = False
    """Whether the call failed, was broken off or goes on elsewhere."""
    numbering_bytes: int = 0
    """What the client puts before the lines of a file."""


def parse_answer(tool: str, tool_input: dict[str, Any], response: Any) -> ToolResult | None:
    """The text of an answer; None for tools and shapes that are not known to be replaceable."""
    reader = _READERS.get("mcp" if tool.startswith(clienttools.MCP_PREFIX) else tool)
    try:
        result = reader(tool_input, response) if reader else None
        # Half of a surrogate pair may have come as an escape.
        return result and result._replace(data=result.data or result.text.encode(*_ANY_TEXT))
    except (KeyError, TypeError, AttributeError, OSError):
        return None  # another shape than any version of the client is known to send


def _parse_bash_answer(tool_input: dict[str, Any], response: dict[str, Any]) -> ToolResult | None:
    stdout, stderr, data = response["stdout"], response["stderr"], b""
    if response.get("isImage"):
        return None
    was_persisted = bool(response.get(_PERSISTED[0]))
    if was_persisted:
        data = _read_persisted_output(response)
        # Binary data is not shown; taking it for UTF-8 would cost more than all the rest.
        is_binary = b"\0" in data[:_BINARY_SAMPLE_BYTES]
        stdout = data.decode("latin-1" if is_binary else "utf-8", "replace")
    if len(stderr) > _SHORT_STDERR_CHARACTERS:
        stdout += f"\n{stderr}"
        data += b"\n" + stderr.encode(*_ANY_TEXT) if data else b""
        stderr = ""
    rest = {key: value for key, value in response.items() if key not in _PERSISTED}
    failed = any(map(response.get, _UNCLEAR))
    return ToolResult(
        stdout,
        lambda text: rest | {"stdout": text, "stderr": stderr},
        str(tool_input.get("command") or ""),
        data,
        exit_code=None if failed else 0,
        was_persisted=was_persisted,
        failed=failed,
    )


def _read_persisted_output(response: dict[str, Any]) -> bytes:
    """The whole output, of which the answer holds the beginning only.

    Raises:
        OSError: it is not there whole.
    """
    data = io.read_file(response[_PERSISTED[0]], _LARGEST_FILE_BYTES + 1)
    size = response.get(_PERSISTED[1])
    if len(data) > _LARGEST_FILE_BYTES or (isinstance(size, int) and len(data) < size):
        raise OSError("the output is not there whole")
    return data


def _parse_read_answer(tool_input: dict[str, Any], response: dict[str, Any]) -> ToolResult | None:
    file = response["file"]
    if response["type"] == "notebook":
        return _parse_notebook_answer(file)
    if response["type"] != "text":
        return None
    first, count, total = (file.get(name) for name in ("startLine", "numLines", "totalLines"))
    lines = None
    if isinstance(first, int) and isinstance(count, int) and isinstance(total, int):
        # A last line that may have been cut does not count.
        lines = first, first + count - 1 - bool(file.get("truncatedByTokenCap")), total
    return ToolResult(
        file["content"],
        lambda text: _file_response_with_text(file, text),
        str(tool_input.get("file_path") or file["filePath"]),
        note=f"The client had read lines 1-{count} of {total}."
        if lines and lines[1] < total
        else "",
        lines=lines,
        numbering_bytes=clienttools.count_line_number_bytes(response),
    )


def _file_response_with_text(file: dict[str, Any], text: str) -> dict[str, Any]:
    lines = text.count("\n") + 1
    shape = {"content": text, "numLines": lines, "startLine": 1, "totalLines": lines}
    return {"type": "text", "file": {"filePath": file["filePath"]} | shape}


def _parse_notebook_answer(file: dict[str, Any]) -> ToolResult | None:
    parts: list[str] = []
    for cell in file["cells"]:
        parts.append(f"[cell {cell.get('cell_id', '')}, {cell.get('cellType', '')}]")
        parts.append(cell["source"])
        for output in cell.get("outputs") or []:
            if output.get("image"):
                return None
            parts.append(f"[output]\n{output.get('text') or ''}")
    whole = "\n".join(parts)
    count = whole.count("\n") + 1
    return ToolResult(
        whole,
        lambda text: _file_response_with_text(file, text),
        str(file["filePath"]),
        lines=(1, count, count),
        note="The lines are those of the notebook's cells and outputs, one after the other.",
    )


def _parse_grep_answer(tool_input: dict[str, Any], response: dict[str, Any]) -> ToolResult:
    by_name = response["mode"] == "files_with_matches"
    text = "\n".join(response["filenames"]) if by_name else response["content"]

    def response_with_text(instead: str) -> dict[str, Any]:
        # In this mode alone the client shows a text as it is.
        shown = {"mode": "content", "filenames": []} if by_name else {}
        lines = {"numLines": instead.count("\n") + 1} if by_name or "numLines" in response else {}
        return response | shown | {"content": instead} | lines

    return ToolResult(text, response_with_text, str(tool_input.get("pattern") or ""))


def _parse_glob_answer(tool_input: dict[str, Any], response: dict[str, Any]) -> ToolResult:
    return ToolResult(
        "\n".join(response["filenames"]),
        lambda text: response | {"filenames": [text], "numFiles": 1},
        str(tool_input.get("pattern") or ""),
        note="The client had cut the list." if response.get("truncated") else "",
    )


def _parse_web_page_answer(tool_input: dict[str, Any], response: dict[str, Any]) -> ToolResult:
    subject = str(tool_input.get("url") or "")
    return ToolResult(response["result"], lambda text: response | {"result": text}, subject)


def _parse_web_search_answer(tool_input: dict[str, Any], response: dict[str, Any]) -> ToolResult:
    parts = response["results"]
    text = "\n\n".join(part if isinstance(part, str) else json.dumps(part) for part in parts)
    subject = str(tool_input.get("query") or "")
    return ToolResult(text, lambda text: response | {"results": [text]}, subject)


def _parse_agent_answer(tool_input: dict[str, Any], response: dict[str, Any]) -> ToolResult | None:
    blocks = response["content"]
    if response["status"] != "completed" or not all(_is_text_block(block) for block in blocks):
        return None
    return ToolResult(
        "\n".join(block["text"] for block in blocks),
        lambda text: response | {"content": [{"type": "text", "text": text}]},
        str(tool_input.get("description") or ""),
    )


def _parse_mcp_answer(_: dict[str, Any], response: Any) -> ToolResult | None:
    if isinstance(response, str):
        return ToolResult(response, lambda text: text)
    if not isinstance(response, list):
        return None
    texts = [block["text"] for block in response if _is_text_block(block)]
    others = [block for block in response if not _is_text_block(block)]
    return ToolResult("\n".join(texts), lambda text: [{"type": "text", "text": text}, *others])


def _is_text_block(block: dict[str, Any]) -> bool:
    return block.get("type") == "text" and isinstance(block.get("text"), str)


_READERS: dict[str, Callable[[dict[str, Any], Any], ToolResult | None]] = {
    "Bash": _parse_bash_answer,
    "Read": _parse_read_answer,
    "Grep": _parse_grep_answer,
    "Glob": _parse_glob_answer,
    "WebFetch": _parse_web_page_answer,
    "WebSearch": _parse_web_search_answer,
    "Agent": _parse_agent_answer,
    "Task": _parse_agent_answer,
    "mcp": _parse_mcp_answer,
}
