"""Draws `images/pane.svg` from one played session.

It is the demo's story with results as long as they are said to be; the texts, figures and colours
are what the product made of it.
"""

from __future__ import annotations

import io
import json
import time
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from brimline import models, testing
from brimline.cli import demo

if TYPE_CHECKING:
    from pathlib import Path

# What is read after the compaction.
_LATER = (6_100, 4_800, 9_300, 3_200, 5_700, 4_100)
PANE = {"columns": 62, "rows": 40}


def draw(folder: str, docs: Path) -> dict[Path, str]:
    """Play the session in a folder; return the pictures by their files."""
    player = _Player(folder)
    for _ in player.play():
        pass
    for tokens in _LATER:
        player.read_file(tokens)
    return {docs / "images" / "pane.svg": _pane(player)}


class _Builder(testing.SessionBuilder):
    """Writes results as long as what they add to the context, when they come."""

    characters = 0

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


def _pane(player: _Player) -> str:
    """The pane as a terminal shows it."""
    console = Console(record=True, width=PANE["columns"], file=io.StringIO(), highlight=False)
    for row in player.rows():
        console.print(Text.assemble(*[(text, style) for text, style in row]), soft_wrap=True)
    return console.export_svg(title="/brim-pane", unique_id="brimline-pane")
