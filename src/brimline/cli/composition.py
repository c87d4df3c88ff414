"""`brimline status --composition`: where the tokens of a session went, as JSON and for people."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any

import click
from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from brimline.errors import SessionError
from brimline.gauge import composition as gauge
from brimline.transcript import find, pieces, tail

if TYPE_CHECKING:
    from collections import Counter

UNKNOWN = "unknown: no model request since the session began or compacted"
PROMPT_CHARACTERS = 80
TOP_FILES = 20

_NAMES = {
    "floor": "system, tools, instructions",
    "summary": "summary of what was compacted",
    "user": "user text",
    "assistant": "assistant text",
    "thinking": "thinking",
    "tool_input": "tool inputs",
    "tool_result": "tool results",
    "hook": "injected by hooks",
    "client": "injected by the client",
    "unexplained": "unexplained",
}
_SHOWN_TOOLS = 5
_SHOWN_FILES = 10
_SHOWN_REPEATED = 5
_SHOWN_TURNS = 5
_BAR = "█"
_BAR_CELLS = 20
_BESIDE_BAR_CELLS = 52
_LEAST_ROOM_CELLS = 10
# Reading and sharing out takes about a second for this much.
_PROGRESS_FROM_BYTES = 64 << 20


def show(path: str, *, as_json: bool) -> None:
    """Print the composition of a session.

    Raises:
        SessionError: the file cannot be read.
    """
    report = read_composition(path)
    if as_json:
        click.echo(json.dumps(report, indent=2))
    else:
        render(report, Console(highlight=False))


def read_composition(path: str) -> dict[str, Any]:
    """Where a session's tokens went, under the documented keys.

    Raises:
        SessionError: the file cannot be read.
    """
    try:
        last = tail.read_tail(path, requests=1)  # first: it refuses pipes, which we would wait for
        found = _compose(path)
    except OSError as error:
        raise SessionError(f"cannot read {path}: {error.strerror or error}") from error
    recorded = last.usage.session_id if last.usage else None
    return {
        "session_id": recorded or find.session_id_of(path),
        "transcript": os.path.abspath(path),
        **as_document(found),
    }


def _compose(path: str) -> gauge.Composition:
    size = os.path.getsize(path)
    if size < _PROGRESS_FROM_BYTES or not os.isatty(2):
        return gauge.compose(pieces.entries(path))
    with click.progressbar(length=size, label="Reading", file=sys.stderr) as bar:
        return gauge.compose(pieces.entries(path, bar.update))


def as_document(found: gauge.Composition) -> dict[str, Any]:
    """The composition under the keys that other programs rely on; unknown is null."""
    files = sorted(found.files, key=lambda file: (-file.tokens, file.file))
    again = sorted(files, key=lambda file: (-file.repeated_tokens, file.file))
    return {
        "occupancy_tokens": found.occupancy_tokens,
        "parts": _parts(found.parts, found.occupancy_tokens),
        "floor_by_source": _named("name", found.floor),
        "tool_results_by_tool": [
            entry | {"results": found.results[entry["tool"]]}
            for entry in _named("tool", found.tools, zeros=True)
        ],
        "tool_results_by_file": [
            {"file": file.file, "tokens": file.tokens, "reads": file.reads}
            for file in files[:TOP_FILES]
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
        "client_injections": _named("name", found.client),
        "turns": [_turn(turn) for turn in found.turns],
    }


def _parts(parts: Counter[str], whole: int | None) -> list[dict[str, Any]]:
    """Every part that is there, largest first, the unexplained one always last."""
    if not parts:
        return []
    kinds = [kind for kind, tokens in parts.most_common() if tokens and kind != gauge.UNEXPLAINED]
    return [
        {
            "kind": kind,
            "name": _NAMES[kind],
            "tokens": parts[kind],
            "share": round(parts[kind] / whole, 4) if whole else None,
        }
        for kind in [*kinds, gauge.UNEXPLAINED]
    ]


def _named(key: str, counts: Counter[str], *, zeros: bool = False) -> list[dict[str, Any]]:
    return [
        {key: name, "tokens": tokens} for name, tokens in counts.most_common() if tokens or zeros
    ]


def _turn(turn: gauge.Turn) -> dict[str, Any]:
    return {
        "number": turn.number,
        "prompt": turn.prompt[:PROMPT_CHARACTERS],
        "requests": turn.requests,
        "tokens_added": turn.tokens_added,
        "in_context": turn.in_context,
        "parts": _parts(turn.parts, turn.tokens_added),
    }


def render(report: dict[str, Any], console: Console) -> None:
    """The composition for a person."""
    page = _Page(console)
    page.line(f"Session {report['session_id']}")
    if report["occupancy_tokens"] is None:
        page.line(f"  where the tokens went  {UNKNOWN}")
        return
    page.line(f"  in use  {report['occupancy_tokens']:,} tokens at the last request")
    cells = max(0, min(_BAR_CELLS, console.width - _BESIDE_BAR_CELLS))
    page.table("", [row for part in report["parts"] for row in _part_rows(part, report, cells)])
    dropped = -report["parts"][-1]["tokens"]
    if dropped > 0:
        page.line(f"  {dropped:,} tokens of what is listed were dropped; no record says which.")
    files = report["tool_results_by_file"][:_SHOWN_FILES]
    page.table("Tool results by file", _file_rows(files, "tokens"), keep_end=True)
    files = report["repeated_reads"][:_SHOWN_REPEATED]
    page.table("Read again", _file_rows(files, "tokens_repeated"), keep_end=True)
    page.table(
        "Injected by hooks",
        [
            (f"{hook['tokens']:,}", "brimline" if hook["ours"] else "others", hook["name"])
            for hook in report["hooks"]
        ],
    )
    page.table("Largest turns", _turn_rows(report["turns"]))


def _part_rows(part: dict[str, Any], report: dict[str, Any], cells: int) -> list[tuple[str, ...]]:
    whole = report["occupancy_tokens"]
    bar = _BAR * min(cells, round(cells * part["tokens"] / whole))
    rows: list[tuple[str, ...]] = [(*_figures(part["tokens"], whole), part["name"], bar)]
    if part["kind"] == "tool_result":
        tools = report["tool_results_by_tool"][:_SHOWN_TOOLS]
        rows += [(*_figures(tool["tokens"], whole), f"  {tool['tool']}", "") for tool in tools]
    return rows


def _figures(tokens: int, whole: int) -> tuple[str, str]:
    return f"{tokens:,}", f"{tokens / whole:.1%}"


def _file_rows(files: list[dict[str, Any]], tokens: str) -> list[tuple[str, ...]]:
    here = os.getcwd() + os.sep
    return [
        (f"{file[tokens]:,}", _times(file["reads"], "read"), file["file"].removeprefix(here))
        for file in files
    ]


def _turn_rows(turns: list[dict[str, Any]]) -> list[tuple[str, ...]]:
    """The turns that added most themselves: what a first request brings is not their doing."""
    given = ("floor", "summary")
    added = [
        (sum(part["tokens"] for part in turn["parts"] if part["kind"] not in given), turn)
        for turn in turns
        if turn["in_context"]
    ]
    largest = sorted(added, key=lambda pair: -pair[0])[:_SHOWN_TURNS]
    return [
        (
            f"{tokens:,}",
            _times(turn["requests"], "request"),
            f"turn {turn['number']}: {turn['prompt']}",
        )
        for tokens, turn in largest
        if tokens > 0
    ]


def _times(count: int, noun: str) -> str:
    return f"{count} {noun}{'s' * (count != 1)}"


class _Page:
    """Prints foreign texts: no markup, no control characters, nothing the terminal cannot show."""

    def __init__(self, console: Console) -> None:
        self.console = console

    def line(self, text: str) -> None:
        self.console.print(Text(self._safe(text)), soft_wrap=True)

    def table(self, title: str, rows: list[tuple[str, ...]], *, keep_end: bool = False) -> None:
        """Print rows under a title; figures stand right, the last column takes the room left."""
        if not rows:
            return
        self.line("")
        if title:
            self.line(title)
        safe = [[self._safe(cell) for cell in row] for row in rows]
        widths = [max(cell_len(row[i]) for row in safe) for i in range(len(safe[0]) - 1)]
        room = max(_LEAST_ROOM_CELLS, self.console.width - sum(widths) - 2 * len(widths) - 2)
        for row in safe:
            cells = [_aligned(cell, width) for cell, width in zip(row, widths, strict=False)]
            line = "  " + "  ".join([*cells, _shortened(row[-1], room, keep_end=keep_end)])
            self.console.print(Text(line.rstrip()), soft_wrap=True)

    def _safe(self, text: str) -> str:
        encoding = self.console.encoding
        shown = "".join([letter if letter.isprintable() else " " for letter in text])
        if not encoding.startswith("utf"):
            shown = shown.replace(_BAR, "#")
        return shown.encode(encoding, "replace").decode(encoding)


def _aligned(cell: str, width: int) -> str:
    gap = " " * (width - cell_len(cell))
    return gap + cell if cell.lstrip("-")[:1].isdigit() else cell + gap


def _shortened(text: str, room: int, *, keep_end: bool) -> str:
    if cell_len(text) <= room:
        return text
    if keep_end:
        return "..." + set_cell_size(text[::-1], room - 3)[::-1]
    return set_cell_size(text, room - 3) + "..."
