"""JSON without `import json`, whose cost alone would double a hook's start-up.

Fast path: imports nothing at module level but `_json`. The C scanner is private API of CPython, so
every interpreter that lacks it falls back to the standard module, and a test compares the two.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
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


def loads(text: str) -> Any:
    """Parse one document; whatever follows it is ignored.

    Raises:
        ValueError: the text is no JSON, is cut off, or is nested too deeply.
    """
    return scan(text, _skip_whitespace(text, 0))[0]


def load_object(raw: bytes) -> dict[str, Any]:
    """Parse one document that must be an object.

    Raises:
        ValueError: it is something else, or no JSON.
    """
    found = loads(raw.decode("utf-8", "surrogateescape"))
    if not isinstance(found, dict):
        raise ValueError("not a JSON object")
    return found


def loads_all(text: str) -> list[Any]:
    """Parse every document on a line, up to the first that is broken."""
    documents = []
    position = _skip_whitespace(text, 0)
    while position < len(text):
        try:
            document, end = scan(text, position)
        except ValueError:
            break
        documents.append(document)
        position = _skip_whitespace(text, end)
    return documents


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


def scan(text: str, position: int) -> tuple[Any, int]:
    """The document that begins at a position, and where it ends.

    Raises:
        ValueError: the text is no JSON, is cut off, or is nested too deeply.
    """
    try:
        found: tuple[Any, int] = _scan(text, position)
    except (StopIteration, SystemError):
        # Python 3.11 has no exception to raise for broken text while `json` is not loaded.
        raise ValueError("cut off or not JSON") from None
    except RecursionError:
        raise ValueError("nested too deeply") from None
    return found


def _skip_whitespace(text: str, position: int) -> int:
    while position < len(text) and text[position] in _WHITESPACE:
        position += 1
    return position
