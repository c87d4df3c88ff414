"""A slow reader of transcripts that says the same as the fast ones, in the plainest way possible.

It reads the whole file forward with the `json` module, keeps every row and asks afterwards.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

_MODEL_VERSION = re.compile(r"claude-[a-z]+-(\d)(?:-(\d)\b)?")
LARGEST_COUNT = 10**12
_DECODER = json.JSONDecoder(strict=False)
_BLANKS = " \t\r\n\ufeff"


@dataclass
class Request:
    """One model request: the rows that share its id, and what it took."""

    message_id: Any
    prompt_tokens: int
    rows: list[int] = field(default_factory=list)


@dataclass
class Reference:
    """What a transcript says."""

    occupancy_tokens: int | None
    model: str | None
    history: list[int]
    offset: int
    output_tokens: int
    reply_characters: int
    result_characters: int
    boundary_timestamp: str | None
    compactions: int
    largest_occupancy_tokens: int

    @property
    def used_ratio(self) -> float | None:
        """Occupancy as a share of the window, where neither settings nor status line name one."""
        if self.occupancy_tokens is None:
            return None
        window = 200_000
        if self.largest_occupancy_tokens > window:
            window = -(-self.largest_occupancy_tokens // 1_000_000) * 1_000_000
        elif (found := _MODEL_VERSION.search(self.model or "")) and (
            (int(found[1]), int(found[2] or 0)) >= (4, 7)
        ):
            window = 1_000_000
        return self.occupancy_tokens / window


def read(path: str | Path) -> Reference:
    """Read a transcript the slow way."""
    rows = list(_rows(Path(path).read_bytes()))
    boundaries = [index for index, (_, row) in enumerate(rows) if _is_boundary(row)]
    start = boundaries[-1] + 1 if boundaries else 0
    requests = _requests(rows, start)
    last = requests[-1] if requests else None
    found = Reference(
        occupancy_tokens=last.prompt_tokens if last else None,
        model=None,
        history=[request.prompt_tokens for request in requests],
        offset=0,
        output_tokens=0,
        reply_characters=0,
        result_characters=0,
        boundary_timestamp=None,
        compactions=_compactions(rows),
        largest_occupancy_tokens=_largest(rows, boundaries),
    )
    if last:
        _add_last_request(found, rows, last)
    elif boundaries:
        found.boundary_timestamp = _text(rows[boundaries[-1]][1].get("timestamp")) or ""
    return found


def _rows(data: bytes) -> Iterator[tuple[int, Any]]:
    offset = 0
    for line in data.split(b"\n"):
        for row in _documents(line.decode("utf-8", "replace")):
            yield offset, row
        offset += len(line) + 1


def _documents(text: str) -> Iterator[Any]:
    text = text.strip(_BLANKS)
    while text:
        try:
            document, end = _DECODER.raw_decode(text)
        except (ValueError, RecursionError):
            return
        yield document
        text = text[end:].lstrip(_BLANKS)


def _largest(rows: list[tuple[int, Any]], boundaries: list[int]) -> int:
    """The fullest request; of one whose rows differ the last row counts, as it does for all."""
    ends = [*boundaries, len(rows)]
    starts = [0, *[boundary + 1 for boundary in boundaries]]
    requests = [_requests(rows[:end], start) for start, end in zip(starts, ends, strict=True)]
    return max((one.prompt_tokens for segment in requests for one in segment), default=0)


def _requests(rows: list[tuple[int, Any]], start: int) -> list[Request]:
    requests: list[Request] = []
    for index in range(start, len(rows)):
        row = rows[index][1]
        tokens = _prompt_tokens(row)
        if tokens is None:
            continue
        message_id = row["message"].get("id")
        if not requests or message_id is None or requests[-1].message_id != message_id:
            requests.append(Request(message_id, tokens))
        requests[-1].rows.append(index)
        requests[-1].prompt_tokens = tokens
    return requests


def _add_last_request(found: Reference, rows: list[tuple[int, Any]], last: Request) -> None:
    replies = [rows[index][1] for index in last.rows]
    found.model = _text(replies[-1]["message"].get("model"))
    found.offset = rows[last.rows[-1]][0]
    found.output_tokens = max(
        _count(row["message"]["usage"].get("output_tokens")) or 0 for row in replies
    )
    found.reply_characters = sum(len(text) for row in replies for text in _seen_by_model(row))
    since = range(last.rows[0], len(rows))
    results = [rows[index][1] for index in since if index not in last.rows]
    found.result_characters = sum(len(text) for row in results for text in _seen_by_model(row))


def _compactions(rows: list[tuple[int, Any]]) -> int:
    """Boundaries, and summaries that no boundary announced."""
    count = 0
    announced = False
    for _, row in rows:
        if _prompt_tokens(row) is not None:
            announced = False
        elif _is_boundary(row):
            is_summary = row.get("isCompactSummary") is True
            count += not (is_summary and announced)
            announced = not is_summary
    return count


def _prompt_tokens(row: Any) -> int | None:
    if not isinstance(row, dict) or row.get("type") != "assistant":
        return None
    if row.get("isSidechain") or row.get("isApiErrorMessage"):
        return None
    message = row.get("message")
    if not isinstance(message, dict) or message.get("model") == "<synthetic>":
        return None
    if _is_boundary(row) or not isinstance(message.get("usage"), dict):
        return None
    usage = message["usage"]
    names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    counts = [_count(usage.get(name)) for name in names]
    if None in counts:
        return None
    return sum(count or 0 for count in counts) or None


def _is_boundary(row: Any) -> bool:
    if not isinstance(row, dict) or row.get("isSidechain"):
        return False
    kind = (row.get("type"), row.get("subtype"))
    return kind == ("system", "compact_boundary") or row.get("isCompactSummary") is True


def _seen_by_model(row: Any) -> Iterator[str]:
    """The texts of a row that the next request will carry."""
    if not isinstance(row, dict) or row.get("isSidechain"):
        return
    if row.get("type") == "attachment":
        yield from _texts(row.get("rendered"))
    elif row.get("type") in ("user", "assistant") and not row.get("isVisibleInTranscriptOnly"):
        message = row.get("message")
        yield from _content(message.get("content") if isinstance(message, dict) else None)


def _content(content: Any) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    for block in content if isinstance(content, list) else []:
        match block:
            case {"type": "text", "text": str(text)} | {"type": "thinking", "thinking": str(text)}:
                yield text
            case {"type": "tool_result"}:
                yield from _content(block.get("content"))
            case {"type": "tool_use"}:
                yield from _texts([_text(block.get("name")), block.get("input")])
            case {"type": "image"} | {"type": "document"}:
                yield "i" * 4_000


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _texts(item)


def _count(value: Any) -> int | None:
    if value is None:
        return 0
    if type(value) is not int or not 0 <= value <= LARGEST_COUNT:
        return None
    return value


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
