"""JSON without `import json`, whose cost alone would double a hook's start-up; our files of lines.

Fast path: imports only `_json` and `fast.io`. The C scanner is private API of CPython, so every
interpreter that lacks it falls back to the standard module, and a test compares the two.

A file of ours that grows by lines holds objects, each beginning with its version. They are told
apart by how they begin, which no text within them can look like: a line that a full disk or a kill
cut short has the next one glued to it, and costs itself alone.
"""

from __future__ import annotations

from brimline.fast import io

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

try:
    from _json import encode_basestring_ascii as quote
    from _json import make_scanner

    class _Context:
        """The attributes the C scanner reads; `array_hook` is asked for by newer versions."""

        strict = False
        memo: dict[str, str] = {}  # noqa: RUF012 - read by the C scanner, never by us
        object_hook = object_pairs_hook = array_hook = None
        parse_float, parse_int, parse_constant = float, int, float

    _make_scanner: Any = make_scanner
    _scan: Any = _make_scanner(_Context)
except ImportError:  # pragma: no cover - another Python implementation
    import json

    quote = json.dumps
    _scan = json.JSONDecoder(strict=False).scan_once  # type: ignore[attr-defined]

# Windows tools put a byte order mark in front of a document.
_WHITESPACE = " \t\r\n\ufeff"
FORMAT = 1
_LINE_START = '{"v":'
_NOT_ASCII = "\ufffd"


def loads(text: str) -> Any:
    """Parse one document; whatever follows it is ignored.

    Raises:
        ValueError: the text is not JSON, is cut off, or is nested too deeply.
    """
    return parse_text_at(text.lstrip(_WHITESPACE), 0)[0]


def parse_object(raw: bytes) -> dict[str, Any]:
    """Parse one document that must be an object.

    Raises:
        ValueError: it is something else, or no JSON.
    """
    document, _ = parse_text_at(raw.decode("utf-8", "surrogateescape").lstrip(_WHITESPACE), 0)
    if not isinstance(document, dict):
        raise ValueError("not a JSON object")
    return document


def parse_all_on_line(line: bytes | str) -> list[Any]:
    """Parse every document on a line, up to the first that is broken."""
    documents = []
    text = line if isinstance(line, str) else line.decode("utf-8", "replace")
    rest = text.lstrip(_WHITESPACE)
    while rest:
        try:
            document, end = parse_text_at(rest, 0)
        except ValueError:
            break
        documents.append(document)
        rest = rest[end:].lstrip(_WHITESPACE)
    return documents


def rows_backward(path: str, mark: bytes, limit_bytes: int) -> Iterator[Any]:
    """The rows of lines that hold a mark, the last one first, not further back than a limit.

    Raises:
        OSError: the file cannot be read, or is not a regular file.
    """
    end = None
    for offset, line in io.lines_backward_with_offsets(path):
        end = offset + len(line) if end is None else end
        if end - offset > limit_bytes:
            return
        if mark in line:
            yield from reversed(parse_all_on_line(line))


def append_line(path: str, fields: dict[str, Any]) -> None:
    """Add one line to a file of ours, in a single write: lines of parallel processes never mix.

    Raises:
        OSError: the line could not be written whole.
    """
    io.append_line(path, dumps({"v": FORMAT} | fields))


def read_lines(
    path: str, limit: int | None = None, containing: bytes = b""
) -> list[dict[str, Any]]:
    """Every whole line of a file of ours, or of its first bytes; a missing file has none.

    Args:
        path: the file.
        limit: how many bytes are read at most.
        containing: bytes that a line must have in it to be looked at.

    Raises:
        OSError: the file is there and cannot be read.
    """
    try:
        raw = io.read_file(path, limit)
    except FileNotFoundError:
        return []
    if containing:
        raw = b"\n".join([line for line in raw.split(b"\n") if containing in line])
    return parse_and_count_damaged(raw)[0]


def parse_and_count_damaged(raw: bytes) -> tuple[list[dict[str, Any]], int]:
    """The whole lines of this version, and the number of stretches that hold none."""
    text = raw.decode("ascii", "replace")
    lines, damaged, end = [], 0, 0
    while (start := text.find(_LINE_START, end)) >= 0:
        damaged += bool(text[end:start].strip())
        try:
            line, end = parse_text_at(text, start)
        except ValueError:
            end = start + 1  # what follows up to the next beginning is counted there
            continue
        if _NOT_ASCII in text[start:end]:  # we write none, so that these are not our words
            damaged += 1
        elif line["v"] == FORMAT:
            lines.append(line)
    return lines, damaged + bool(text[end:].strip())


def blank_out_lines(path: str, name: str, value: str) -> None:
    """Blank the lines of a file that hold a value; others may append to it meanwhile.

    Raises:
        OSError: it cannot be written.
    """
    said = f'"{name}":{dumps(value)}'.encode()
    try:
        data = io.read_file(path)
    except FileNotFoundError:
        return
    at = data.find(said)
    if at >= 0:
        with open(path, "r+b", buffering=0) as file:
            while at >= 0:
                line = data.rfind(b"\n", 0, at) + 1
                start = max(line, data.rfind(_LINE_START.encode(), line, at))
                end = data.find(b"\n", at)
                end = end if end >= 0 else len(data)
                file.seek(start)
                file.write(b" " * (end - start))
                at = data.find(said, end)


def dumps(value: Any) -> str:
    """Write plain JSON values compactly, ASCII only; numbers that JSON lacks become null."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return repr(value) if value - value == 0 else "null"
    if isinstance(value, dict):
        return "{" + ",".join([quote(str(k)) + ":" + dumps(v) for k, v in value.items()]) + "}"
    return "[" + ",".join([dumps(item) for item in value]) + "]"


def parse_text_at(text: str, position: int) -> tuple[Any, int]:
    """The document that begins at a position, and where it ends.

    Raises:
        ValueError: the text is not JSON, is cut off, or is nested too deeply.
    """
    try:
        found: tuple[Any, int] = _scan(text, position)
    except (StopIteration, SystemError):
        # Python 3.11 has no exception to raise for broken text while `json` is not loaded.
        raise ValueError("cut off or not JSON") from None
    except RecursionError:
        raise ValueError("nested too deeply") from None
    return found
