"""Draws `session.svg` (status line and page) and `images/pane.svg` from one played session.

It is the demo's story with results as long as they are said to be; the texts, figures and colours
are what the product made of it.
"""

from __future__ import annotations

import io
import json
import re
import time
from html import escape
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from brimline import models, testing
from brimline.cli import demo
from brimline.dashboard import chart, story

if TYPE_CHECKING:
    from pathlib import Path

WINDOW_TOKENS = 200_000
# What is read after the compaction.
_LATER = (6_100, 4_800, 9_300, 3_200, 5_700, 4_100)
PANE = {"columns": 62, "rows": 40}
_INK, _SOFT, _EDGE, _BAD, _WARN = "#1c2126", "#57606a", "#d4d8dd", "#b3192b", "#a33b00"
_SCREEN, _LINE_HEIGHT = "#14171a", 24
# What a terminal makes of the codes of the status line.
_TERMINAL = {"32": "#4fc06f", "36": "#3fc1c9", "33": "#e3c04b", "35": "#d678d6", "1;31": "#ff6b6b"}
_ESCAPED = re.compile(r"\x1b\[([\d;]*)m(.*?)\x1b\[0m")


def draw(folder: str, docs: Path) -> dict[Path, str]:
    """Play the session in a folder; return the pictures by their files."""
    player = _Player(folder)
    lines: dict[int, tuple[str, str]] = {}
    for moment in player.play():
        if moment.reading.tier is not None:
            note = f"request {player.session.requests}"
            lines.setdefault(moment.reading.tier, (player.status_line(), note))
    for tokens in _LATER:
        player.read_file(tokens)
    session = story.read_story(player.session.path, player.home_dir)
    last = f"request {player.session.requests}, after a compaction"
    shown = [*lines.values(), (player.status_line(), last)]
    return {
        docs / "session.svg": _session(shown, session),
        docs / "images" / "pane.svg": _pane(player),
    }


class _Builder(testing.SessionBuilder):
    """Writes results as long as what they add to the context, when they come."""

    characters = 0
    requests = 0

    def reply(self, *arguments: Any, **fields: Any) -> list[dict[str, Any]]:
        """One request."""
        self.requests += 1
        return super().reply(*arguments, **fields)

    def row(self, kind: str, **fields: Any) -> dict[str, Any]:
        """One row."""
        self.now = time.time() - 1  # to which one is added
        return super().row(kind, **fields)

    def tool_result(self, call_id: str, text: str, **extra: Any) -> dict[str, Any]:
        """The result of a tool call."""
        return super().tool_result(call_id, text.ljust(self.characters, "x"), **extra)


class _Player(demo.Player):
    """The demo's player with such results, in a file that is found by its name."""

    def __init__(self, folder: str) -> None:
        super().__init__(folder)
        name = self.session.session_id
        path = f"{folder}/projects/demo/{name}.jsonl"
        self.session: _Builder = _Builder(path, name, self.session.cwd, self.session.model)

    def status_line(self) -> str:
        """What stands below the prompt now."""
        event = testing.statusline_event(self.session, WINDOW_TOKENS, None)
        return self._run_process("statusline", event).decode().strip()

    def rows(self) -> list[list[tuple[str, str]]]:
        """What the pane shows now."""
        question = {"session": self.session.session_id, "cwd": self.session.cwd}
        answer: dict[str, Any] = json.loads(self._run_process("mod pane", question | PANE))
        rows: list[list[tuple[str, str]]] = answer["rows"]
        return rows

    def read_file(self, tokens: int) -> None:
        """Have one more file read."""
        ratio = models.lookup_model(self.session.model).characters_per_token
        text = "x" * int(tokens * ratio)
        self._play_tool_call("Read", {"file_path": f"src/weekly/part{tokens}.py"}, text, tokens)

    def _play_compaction(self) -> str:
        """Compact, and write down what stays as the client does: every row once more."""
        answer = super()._play_compaction()
        lines = json.loads(self.compacted)["results"]
        for entry in self.messages:
            for use in entry.get("toolUses", ()):
                block = {"type": "tool_use", "id": use["tool_use_id"], "name": use["tool"]}
                message = {"role": "assistant", "content": [block | {"input": use["input"]}]}
                self.session.row("assistant", message=message)
            for result in entry.get("toolResults", ()):
                text = lines.get(result["tool_use_id"], result["text"])
                _Builder.characters = 0
                self.session.tool_result(result["tool_use_id"], text)
        return answer

    def _run_process(self, name: str, payload: dict[str, Any]) -> bytes:
        answer = super()._run_process(name, payload)
        if name == "mod compact":
            self.compacted = answer
        return answer

    def _play_tool_call(
        self, tool: str, asked: dict[str, Any], text: str, tokens: int | None = None
    ) -> tuple[str, str]:
        _Builder.characters = len(text) if tokens else 0
        return super()._play_tool_call(tool, asked, text, tokens)


def _session(lines: list[tuple[str, str]], told: story.Story) -> str:
    """The status line at every tier, and the chart of the session's page."""
    plot = chart.occupancy_plot(told, chart.fullest_moment_per_column(told.moments), chart.SIZES[0])
    top = 46 + _LINE_HEIGHT * len(lines)
    parts = [_caption(22, "Below the prompt, as the window fills")]
    parts.append(f'<rect y="32" width="1000" height="{top - 38}" rx="6" fill="{_SCREEN}"/>')
    for at, (line, note) in enumerate(lines):
        y = 54 + _LINE_HEIGHT * at
        parts.append(_status_line(line, y))
        parts.append(f'<text x="986" y="{y}" text-anchor="end" fill="#8b949e">{note}</text>')
    parts.append(_caption(top + 26, "The session in the browser: what each request held"))
    parts.append(_legend(plot, top + 50))
    parts.append(f'<g transform="translate(0 {top + 58})">{_chart(plot)}</g>')
    height = top + 58 + plot.size.height
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-20 0 1040 {height + 10}"'
    background = '<rect x="-20" width="1040" height="100%" fill="#fff"/>'
    style = 'font-family="system-ui, sans-serif" font-size="13"'
    return "\n".join([f"{head} {style}>", background, *parts, "</svg>", ""])


def _caption(y: int, text: str) -> str:
    return f'<text y="{y}" font-size="15" font-weight="600" fill="{_INK}">{escape(text)}</text>'


def _status_line(line: str, y: int) -> str:
    found = _ESCAPED.fullmatch(line)
    code, text = found.groups() if found else ("", line)
    colour = _TERMINAL.get(code, "#e7eaed")
    font = 'font-family="ui-monospace, Menlo, Consolas, monospace" font-size="15"'
    return f'<text x="14" y="{y}" {font} fill="{colour}">{escape(text)}</text>'


def _legend(plot: chart.Plot, y: int) -> str:
    parts, x = [], 0
    for shape in plot.shapes:
        if shape.style.startswith("line"):
            look = f'stroke="{_BAD}" stroke-width="2" stroke-dasharray="4 3"'
            parts.append(f'<path d="M{x} {y - 4}h11" {look}/>')
        else:
            box = f'x="{x}" y="{y - 10}" width="11" height="11"'
            parts.append(f'<rect {box} fill="{_colour(shape.style)}"/>')
        parts.append(f'<text x="{x + 16}" y="{y}" fill="{_SOFT}">{escape(shape.name)}</text>')
        x += 26 + round(7.8 * len(shape.name))
    return "".join(parts)


def _chart(plot: chart.Plot) -> str:
    """The chart as the page's template draws it, in the colours of its style file."""
    size, parts = plot.size, []
    for y, label in plot.rules:
        parts.append(f'<path d="M{size.left} {y}H{size.width}" stroke="{_EDGE}"/>')
        place = f'x="{size.left - 6}" y="{y + 4}" text-anchor="end"'
        parts.append(f'<text {place} fill="{_SOFT}">{label}</text>')
    for shape in plot.shapes:
        if shape.style.startswith("line"):
            look = f'fill="none" stroke="{_BAD}" stroke-width="2" stroke-dasharray="7 5"'
        else:
            look = f'fill="{_colour(shape.style)}"'
        parts.append(f'<path d="{shape.path}" {look}/>')
    for mark in plot.marks:
        if mark.letter:
            place = f'x="{mark.x}" y="13" text-anchor="middle"'
            parts.append(f'<text {place} fill="{_WARN}">{mark.letter}</text>')
        else:
            bottom = size.height - size.bottom
            parts.append(f'<path d="M{mark.x} 14V{bottom}" stroke="{_INK}" stroke-width="1.5"/>')
            label = "compacted, no model asked"
            parts.append(f'<text x="{mark.x + 6}" y="28" fill="{_INK}">{label}</text>')
    for x, number in plot.below:
        label = f"request {number}" if x == plot.x_of_column(0) else number
        parts.append(f'<text x="{x}" y="{size.height - 6}" fill="{_SOFT}">{label}</text>')
    return "\n".join(parts)


def _colour(style: str) -> str:
    """The colour of a class in the page's style file, as it is on a light page."""
    from importlib import resources

    sheet = resources.files("brimline.dashboard").joinpath("static/page.css").read_text("utf-8")
    found = re.search(rf"--{style.rsplit(maxsplit=1)[-1]}: (#\w+);", sheet)
    return found[1] if found else _SOFT


def _pane(player: _Player) -> str:
    """The pane as a terminal shows it."""
    console = Console(record=True, width=PANE["columns"], file=io.StringIO(), highlight=False)
    for row in player.rows():
        console.print(Text.assemble(*[(text, style) for text, style in row]), soft_wrap=True)
    return console.export_svg(title="/brim-pane", unique_id="brimline-pane")
