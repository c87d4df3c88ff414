"""`brimline status --composition`: where the tokens of a session went, as JSON and for people."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.table import Table
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
_BAR_CELLS = 20
# Reading and sharing out takes about a second for this much.
_PROGRESS_FROM_BYTES = 64 << 20


def show(path: str, *, as_json: bool) -> None:
    """Print the composition of a session.

    Raises:
        SessionError: the file cannot be read.
    """
    found = read_composition(path)
    report = {"session_id": find.session_id_of(path), "transcript": os.path.abspath(path)}
    report |= as_document(found)
    if as_json:
        click.echo(json.dumps(report, indent=2))
    else:
        render(report, Console(highlight=False, soft_wrap=True))


def read_composition(path: str) -> gauge.Composition:
    """Account for a session's file.

    Raises:
        SessionError: the file cannot be read.
    """
    try:
        tail.read_tail(path, requests=1)  # it refuses pipes, which reading forward would wait for
        size = os.path.getsize(path)
        if size < _PROGRESS_FROM_BYTES or not os.isatty(2):
            return gauge.compose(pieces.read(path))
        with click.progressbar(length=size, label="Reading", file=sys.stderr) as bar:
            return gauge.compose(pieces.read(path, bar.update))
    except OSError as error:
        raise SessionError(f"cannot read {path}: {error.strerror or error}") from error


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
    kinds = [kind for kind, tokens in parts.most_common() if tokens and kind != gauge.UNEXPLAINED]
    return [
        {
            "kind": kind,
            "name": _NAMES[kind],
            "tokens": parts[kind],
            "share": round(parts[kind] / whole, 4) if whole else None,
        }
        for kind in [*kinds, gauge.UNEXPLAINED]
        if parts
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
    page.table("", [row for part in report["parts"] for row in _part_rows(part, report)])
    dropped = -report["parts"][-1]["tokens"]
    if dropped > 0:
        page.line(
            f"  {dropped:,} tokens of these were dropped without a record of which ones they were."
        )
    here = os.getcwd() + os.sep
    page.table(
        "Results by file",
        [
            (_count(file["tokens"]), _times(file["reads"]), file["file"].removeprefix(here))
            for file in report["tool_results_by_file"][:_SHOWN_FILES]
        ],
    )
    page.table(
        "Read again while still there",
        [
            (_count(file["tokens_repeated"]), _times(file["reads"]), file["file"].removeprefix(here))
            for file in report["repeated_reads"][:_SHOWN_REPEATED]
        ],
    )
    page.table(
        "Injected by hooks",
        [
            (_count(hook["tokens"]), "brimline" if hook["ours"] else "", hook["name"])
            for hook in report["hooks"]
        ],
    )
    page.table("Largest turns", _turn_rows(report["turns"]))


def _part_rows(part: dict[str, Any], report: dict[str, Any]) -> list[tuple[str, ...]]:
    share = part["share"] or 0
    cells = max(0, min(_BAR_CELLS, round(share * _BAR_CELLS)))
    rows: list[tuple[str, ...]] = [(_count(part["tokens"]), f"{share:.1%}", part["name"], "█" * cells)]
    if part["kind"] == "tool_result":
        whole = report["occupancy_tokens"]
        rows += [
            (_count(tool["tokens"]), f"{tool['tokens'] / whole:.1%}", f"  {tool['tool']}", "")
            for tool in report["tool_results_by_tool"][:_SHOWN_TOOLS]
        ]
    return rows


def _turn_rows(turns: list[dict[str, Any]]) -> list[tuple[str, ...]]:
    present = [turn for turn in turns if turn["in_context"]]
    largest = sorted(present, key=lambda turn: -turn["tokens_added"])[:_SHOWN_TURNS]
    return [
        (
            _count(turn["tokens_added"]),
            f"{turn['requests']} request{'s' * (turn['requests'] != 1)}",
            f"{turn['number']}: {turn['prompt']}",
        )
        for turn in largest
    ]


def _count(tokens: int) -> str:
    return f"{tokens:,}"


def _times(reads: int) -> str:
    return f"{reads} read{'s' * (reads != 1)}"


class _Page:
    """Prints foreign texts safely: no markup, no control characters, nothing beyond the encoding."""

    def __init__(self, console: Console) -> None:
        self.console = console

    def line(self, text: str) -> None:
        self.console.print(self._safe(text))

    def table(self, title: str, rows: list[tuple[str, ...]]) -> None:
        """Print rows of figures under a title, or nothing at all where there are none."""
        if not rows:
            return
        self.line("")
        if title:
            self.line(title)
        grid = Table.grid(padding=(0, 2))
        grid.add_column(width=0)
        for cell in rows[0]:
            grid.add_column(no_wrap=True, justify="right" if cell[:1].isdigit() else "left")
        for row in rows:
            grid.add_row("", *[self._safe(cell) for cell in row])
        self.console.print(grid)

    def _safe(self, text: str) -> Text:
        bar = "█" if self.console.encoding.startswith("utf") else "#"
        shown = "".join([letter if letter.isprintable() else " " for letter in text])
        encoding = self.console.encoding
        return Text(shown.replace("█", bar).encode(encoding, "replace").decode(encoding))
