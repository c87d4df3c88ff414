"""The document behind `status --composition`, and its text: what a session's tokens went into."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from brimline import output
from brimline.gauge import composition, wording
from brimline.transcript import find, usage
from brimline.transcript.typed import Session

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable

    from brimline.gauge.composition import Composition, Turn

TOP_FILES = 20
SHOWN_TOOLS = 5
_SHOWN_FILES = 10
_SHOWN_REPEATED = 5
_SHOWN_TURNS = 5
# The longest and the shortest bar of all, and the columns before it.
_BAR_CELLS, _LEAST_CELLS, _BEFORE_BAR = 20, 8, 48


def document(path: str, progress: Callable[[int], None] | None = None) -> dict[str, Any]:
    """Return where a session's tokens went, under the documented keys.

    Raises:
        OSError: its file cannot be read.
    """
    last = usage.read_tail(path, requests=1)
    composed = composition.composition_of(Session().rows_of(path, progress))
    recorded = last.usage.session_id if last.usage else None
    return {
        "session_id": recorded or find.session_id_of(path),
        "transcript": os.path.abspath(path),
        **composition_document(composed),
    }


def composition_document(found: Composition) -> dict[str, Any]:
    """The composition under the keys that other programs rely on; unknown is null."""
    files = sorted(found.files, key=lambda file: (-file.tokens, file.file))
    again = sorted(files, key=lambda file: (-file.repeated_tokens, file.file))
    return {
        "occupancy_tokens": found.occupancy_tokens,
        "parts": _part_documents(found.parts, found.occupancy_tokens),
        "floor_by_source": _name_and_tokens_documents(found.floor),
        "tool_results_by_tool": [
            {"tool": tool, "tokens": tokens, "results": found.results[tool]}
            for tool, tokens in found.tools.most_common()
        ],
        "tool_results_by_file": [
            output.pick_attrs(file, "file tokens reads") for file in files[:TOP_FILES]
        ],
        "repeated_reads": [
            {"file": file.file, "reads": file.reads, "tokens_repeated": file.repeated_tokens}
            for file in again
            if file.repeated_tokens
        ],
        "hooks": [
            {"name": name, "ours": ours, "tokens": tokens}
            for (name, ours), tokens in found.hooks.most_common()
        ],
        "client_injections": _name_and_tokens_documents(found.client),
        "turns": [_turn_document(turn) for turn in found.turns],
    }


def _part_documents(parts: Counter[str], whole: int | None) -> list[dict[str, Any]]:
    """Every part that is there, largest first, the unexplained one always last."""
    if not parts:
        return []
    last = composition.UNEXPLAINED
    kinds = [kind for kind, tokens in parts.most_common() if tokens and kind != last]
    return [
        {
            "kind": kind,
            "name": composition.NAMES[kind],
            "tokens": parts[kind],
            "share": round(parts[kind] / whole, 4) if whole else None,
        }
        for kind in [*kinds, last]
    ]


def _name_and_tokens_documents(counts: Counter[str]) -> list[dict[str, Any]]:
    return [{"name": name, "tokens": tokens} for name, tokens in counts.most_common() if tokens]


def _turn_document(turn: Turn) -> dict[str, Any]:
    return {
        **output.pick_attrs(turn, "number prompt requests tokens_added in_context"),
        "parts": _part_documents(turn.parts, turn.tokens_added),
    }


def text(report: dict[str, Any]) -> str:
    """The composition for a person."""
    lines = [f"Session {report['session_id']}"]
    whole = report["occupancy_tokens"]
    if whole is None:
        return "\n".join([*lines, f"  where the tokens went  {wording.NOT_MEASURED}"])
    lines += [f"  in use  {whole:,} tokens at the last request", "", *part_lines(report)]
    files = _file_rows(report["tool_results_by_file"][:_SHOWN_FILES], "tokens")
    lines += titled_table("Tool results by file", files) + reread_lines(report)
    hooks = [
        [f"{hook['tokens']:,}", "brimline" if hook["ours"] else "others", hook["name"]]
        for hook in report["hooks"]
    ]
    lines += titled_table("Injected by hooks", hooks)
    return "\n".join(
        [*lines, *titled_table("Largest turns", _rows_of_largest_turns(report["turns"]))]
    )


def part_lines(report: dict[str, Any]) -> list[str]:
    """Return what the tokens went into, with a bar each."""
    rows = [row for part in report["parts"] for row in _rows_of_part_and_its_tools(part, report)]
    lines = [output.table_text([], rows, right={0, 1}, indent=2)]
    dropped = -report["parts"][-1]["tokens"]
    if dropped > 0:
        lines.append(f"  {dropped:,} tokens of what is listed were dropped; no record says which.")
    return lines


def reread_lines(report: dict[str, Any]) -> list[str]:
    """The files of which parts stand there twice."""
    found = report["repeated_reads"][:_SHOWN_REPEATED]
    return titled_table("Read again", _file_rows(found, "tokens_repeated"))


def titled_table(title: str, rows: list[list[str]], right: int = 2) -> list[str]:
    """Rows in columns under a title, the first ones to the right; nothing without rows."""
    return ["", title, output.table_text([], rows, right=range(right), indent=2)] if rows else []


def _rows_of_part_and_its_tools(part: dict[str, Any], report: dict[str, Any]) -> list[list[str]]:
    whole = report["occupancy_tokens"]
    room = output.terminal_columns() - _BEFORE_BAR
    cells = min(_BAR_CELLS, room) if room >= _LEAST_CELLS else 0
    bar = output.marks_or_plain_ones("█", "#") * min(cells, round(cells * part["tokens"] / whole))
    rows = [[*_token_cells(part["tokens"], whole), part["name"], bar]]
    if part["kind"] == "tool_result":
        tools = report["tool_results_by_tool"][:SHOWN_TOOLS]
        rows += [[*_token_cells(tool["tokens"], whole), f"  {tool['tool']}", ""] for tool in tools]
    return rows


def _token_cells(tokens: int, whole: int) -> list[str]:
    return [f"{tokens:,}", f"{round(tokens / whole, 3) + 0:.1%}"]


def _file_rows(files: list[dict[str, Any]], tokens: str) -> list[list[str]]:
    return [
        [f"{file[tokens]:,}", output.count_text(file["reads"], "read"), output.Path(file["file"])]
        for file in files
    ]


def _rows_of_largest_turns(turns: list[dict[str, Any]]) -> list[list[str]]:
    """The turns that added most themselves: what a first request brings is not their doing."""
    given = ("floor", "summary")
    added = [
        (sum(part["tokens"] for part in turn["parts"] if part["kind"] not in given), turn)
        for turn in turns
        if turn["in_context"]
    ]
    return [
        [
            f"{tokens:,}",
            output.count_text(turn["requests"], "request"),
            f"turn {turn['number']}: {turn['prompt']}",
        ]
        for tokens, turn in sorted(added, key=lambda pair: -pair[0])[:_SHOWN_TURNS]
        if tokens > 0
    ]
