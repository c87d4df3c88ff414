"""The history for a person, from its JSON document: tables and a line of occupancy. Pure."""

from __future__ import annotations

import itertools
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

_BLOCKS = "▁▂▃▄▅▆▇█"
_PLAIN_BLOCKS = "_.-=+*%#"
_TEXT_COLUMNS = {"last active", "at", "session", "project", "trigger"}
_SPARK_CELLS = 60
_LAST_TURNS = 30
_LAST_COMPACTIONS = 30
_MESSAGES_NOTE = (
    'Messages are the user\'s until then; those "in it" stand in the summary word for word.'
)


def overview(document: dict[str, Any], *, only_compactions: bool = False) -> str:
    """All sessions at a glance."""
    if not document["sessions"] and not document["compaction_count"]:
        return "No history yet: hooks have recorded nothing, and no transcript has a compaction."
    parts = []
    if only_compactions:
        parts += _compactions(document["compactions"], with_session=True)
    else:
        parts += _sessions(document)
    parts += ["", _summary_sizes(document["summary_characters"])]
    if document["damaged_lines"]:
        parts.append(f"{document['damaged_lines']} damaged pieces of spool files hold no event.")
    return "\n".join(parts)


def session(document: dict[str, Any], *, only_compactions: bool = False) -> str:
    """One session in full."""
    lines = [f"Session {document['session_id']}"]
    if only_compactions:
        return "\n".join(lines + _compactions(document["compactions"], with_session=False))
    lines += [
        f"  project      {document['project'] or 'unknown'}",
        f"  model        {document['model'] or 'unknown'}",
        f"  active       {_moment(document['first_at'])} to {_moment(document['last_at'])}",
        f"  requests     {document['requests']}",
        f"  fullest      {_share(document['peak_occupancy_tokens'], document['window_tokens'])}",
    ]
    if document["occupancy_tokens"]:
        line = sparkline(document["occupancy_tokens"], document["window_tokens"], _blocks())
        lines.append(f"  occupancy    {line}")
    lines += _turns(document["turns"]) + _notices(document)
    return "\n".join(lines + _compactions(document["compactions"], with_session=False))


def sparkline(values: Sequence[int], full: int | None, blocks: str = _BLOCKS) -> str:
    """Values as a line of blocks, each the largest of its share; a full block is a full window."""
    top = max(full or 0, *values)
    count = min(len(values), _SPARK_CELLS)
    edges = [len(values) * cell // count for cell in range(count + 1)]
    largest = [max(values[low:high]) for low, high in itertools.pairwise(edges)]
    return "".join(blocks[min(value * len(blocks) // top, len(blocks) - 1)] for value in largest)


def _sessions(document: dict[str, Any]) -> list[str]:
    shown, total = len(document["sessions"]), document["session_count"]
    head = ["last active", "session", "project", "turns", "requests", "fullest"]
    rows = [
        [
            _moment(line["last_at"]),
            line["session_id"][:8],
            (line["project"] or "unknown").rstrip("/").rpartition("/")[2],
            str(line["turns"]),
            str(line["requests"]),
            _share(line["peak_occupancy_tokens"], line["window_tokens"]),
            str(line["compactions"]),
            str(line["messages"]),
            str(line["blocks"]),
        ]
        for line in document["sessions"]
    ]
    if not rows:
        return ["No session was recorded by hooks yet."]
    title = f"Sessions, newest first ({shown} of {total})"
    return [title, *_table([*head, "compactions", "messages", "blocks"], rows)]


def _compactions(found: list[dict[str, Any]], *, with_session: bool) -> list[str]:
    if not found:
        return ["No compaction yet."]
    rows = [
        [
            _moment(one["at"]),
            *([one["session_id"][:8]] if with_session else []),
            one["trigger"] or "unknown",
            _figure(one["pre_tokens"]),
            _figure(one["post_tokens"]),
            _figure(one["summary_characters"]),
            *_carried(one),
        ]
        for one in found[-_LAST_COMPACTIONS:]
    ]
    head = ["at", *(["session"] if with_session else []), "trigger", "tokens before", "after"]
    head += ["summary characters", "messages", "in it", "card"]
    shown = f" (last {len(rows)} of {len(found)})" if len(found) > len(rows) else ""
    return [f"Compactions{shown}", *_table(head, rows), _MESSAGES_NOTE]


def _carried(one: dict[str, Any]) -> list[str]:
    """Messages of the user, those that the summary holds, the card's size; blank if not known."""
    names = ("messages_of_the_user", "messages_in_summary", "card_characters")
    return ["" if one.get(name) is None else f"{one[name]:,}" for name in names]


def _turns(found: list[dict[str, Any]]) -> list[str]:
    if not found:
        return ["No turn was recorded by hooks yet."]
    rows = [
        [
            str(turn["number"]),
            _moment(turn["at"]),
            _figure(turn["occupancy_tokens"]),
            f"+{turn['growth_tokens']:,}",
            str(turn["requests"]),
            str(turn["compactions"]) if turn["compactions"] else "",
        ]
        for turn in found[-_LAST_TURNS:]
    ]
    shown = f" (last {len(rows)} of {len(found)})" if len(found) > len(rows) else ""
    head = ["turn", "at", "in use", "growth", "requests", "compactions"]
    return [f"Turns{shown}", *_table(head, rows)]


def _notices(document: dict[str, Any]) -> list[str]:
    lines = [
        f"  {_moment(one['at'])}  L{one['tier']} announced at {_figure(one['occupancy_tokens'])}"
        for one in document["messages"]
    ]
    lines += [
        f"  {_moment(one['at'])}  {one['tool'] or one['event']} refused at "
        f"{_figure(one['occupancy_tokens'])}"
        for one in document["blocks"]
    ]
    return ["Messages and blocks", *sorted(lines)] if lines else []


def _summary_sizes(found: dict[str, int] | None) -> str:
    if found is None:
        return "Summary size: no compaction with a summary is known."
    return (
        f"Summary size in characters, over {found['count']} compactions: p50 {found['p50']:,}, "
        f"p95 {found['p95']:,}, p99 {found['p99']:,}, largest {found['largest']:,}"
    )


def _table(head: list[str], rows: list[list[str]]) -> list[str]:
    """Columns as wide as their widest cell; those of figures to the right."""
    widths = [max(len(row[column]) for row in [head, *rows]) for column in range(len(head))]
    lines = []
    for row in [head, *rows]:
        cells = [
            cell.ljust(width) if name in _TEXT_COLUMNS else cell.rjust(width)
            for cell, width, name in zip(row, widths, head, strict=True)
        ]
        lines.append("  " + "  ".join(cells).rstrip())
    return lines


def _share(tokens: int | None, window: int | None) -> str:
    if tokens is None:
        return "unknown"
    return f"{tokens:,} ({tokens / window:.0%})" if window else f"{tokens:,}"


def _figure(value: int | None) -> str:
    return "unknown" if value is None else f"{value:,}"


def _moment(text: str | None) -> str:
    """To the minute, in UTC as the documents have it."""
    return "unknown" if text is None else f"{text[:10]} {text[11:16]}Z"


def _blocks() -> str:
    try:
        _BLOCKS.encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return _PLAIN_BLOCKS
    return _BLOCKS
