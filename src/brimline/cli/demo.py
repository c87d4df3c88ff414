"""`brimline demo`: a made-up session through the real hook entry, one process per event."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import click

import brimline
from brimline import output, testing
from brimline.cli import demo_story
from brimline.cli.demo_story import STORY, WINDOW_TOKENS
from brimline.fast import policy
from brimline.gauge import reading
from brimline.launch import bootstrap
from brimline.offload import learning
from brimline.state.session import SessionState
from brimline.store import stub

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console
    from rich.text import Text

    from brimline.cli.demo_story import Step
    from brimline.gauge.reading import Reading

_ROOT = os.path.dirname(os.path.dirname(os.path.abspath(brimline.__file__)))
_COLOURS = ("green", "cyan", "yellow", "magenta", "bold red")
_BAR_CELLS = 50
_CHARACTERS_PER_TOKEN = 2.85
# The rest of what a step adds is what the model itself writes.
_MOST_CHARACTERS = 7_500
_SHOWN_LINES, _CARD_LINES, _SHOWN_WIDTH = 8, 24, 150
_PAUSE_S, _PAUSE_AFTER_NOTE_S = 0.12, 0.6


@output.command("demo")
@click.option("--fast", is_flag=True, help="Do not pause between the steps.")
def demo(fast: bool, as_json: bool) -> None:
    """Watch a session fill up, with every message the model would see. No client needed.

    It plays a made-up session in a temporary folder through the real hook entry and touches nothing
    else.

    \b
    Example:
      brimline demo
    """
    folder = tempfile.mkdtemp(prefix="brimline-demo-")
    try:
        player = Player(folder)
        if as_json:
            moments = [
                {"step": step.label, "kind": step.kind, "tier": found.tier}
                | {"occupancy_tokens": found.occupancy_tokens, "note": note, "instead": instead}
                for step, found, note, instead in player.play()
            ]
            output.answer({"moments": moments, "figures": player.figures()}, "", as_json=True)
            return
        from rich.console import Console

        console = Console(highlight=False)
        show(player, console, paced=console.is_terminal and not fast)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class Moment(NamedTuple):
    """The session after one step: what was measured and what the model was told."""

    step: Step
    reading: Reading
    note: str
    instead: str
    """What the model got instead of a result, or what it fetched back of it."""


@dataclass(slots=True)
class Player:
    """A session in a temporary folder and the hook processes that watch it."""

    folder: str
    tokens: int = demo_story.FIRST_REQUEST_TOKENS
    moments: list[Moment] = field(default_factory=list)
    processes: int = 0
    session: testing.SessionBuilder = field(init=False)
    reference: str = ""
    """What the model got last of a result that was kept out."""

    def __post_init__(self) -> None:
        path = f"{self.folder}/projects/demo/session.jsonl"
        self.session = testing.SessionBuilder(
            path, cwd=f"{self.folder}/project", model=demo_story.MODEL
        )
        os.makedirs(self.session.cwd, exist_ok=True)

    def play(self) -> Iterator[Moment]:
        """Every step in turn."""
        self._send("SessionStart", source="startup")
        for step in STORY:
            note, instead = self._take(step)
            found = reading.measure(
                self.session.path,
                SessionState(f"{self.folder}/brimline", self.session.session_id),
                policy.load(f"{self.folder}/brimline", self.session.cwd),
                requests=40,
            )
            self.moments.append(Moment(step, found, note, instead))
            yield self.moments[-1]

    def _take(self, step: Step) -> tuple[str, str]:
        """One step; returns the note for the model and what it got instead of a result."""
        self.session.now = max(self.session.now, time.time())
        if step.kind == "prompt":
            note = self._send("UserPromptSubmit", prompt=step.label).get("additionalContext", "")
            self.session.prompt(step.label)
            self.tokens += step.tokens
            return note, ""
        if step.kind == "compact":
            return "", self._compact(step)
        if step.kind == "bulk":
            characters = int(step.tokens * _CHARACTERS_PER_TOKEN)
            note, self.reference = self._call(
                "Bash", {"command": step.label}, demo_story.log(characters)
            )
            return note, self.reference
        if step.kind == "recall":
            command, text = self._fetch_back()
            return self._call("Bash", {"command": command}, text)[0], f"$ {command}\n{text}"
        size = 200 if step.kind in ("Edit", "Write") else step.tokens * _CHARACTERS_PER_TOKEN
        asked = {"skill" if step.kind == "Skill" else "command": step.label}
        before = ""
        if step.kind == "Skill":
            answer = self._send("PreToolUse", tool_name="Skill", tool_input=asked)
            before = answer.get("additionalContext", "")
        note, _ = self._call(step.kind, asked, "x" * min(int(size), _MOST_CHARACTERS), step.tokens)
        return "\n\n".join(filter(None, [before, note])), ""

    def _call(
        self, tool: str, asked: dict[str, Any], text: str, tokens: int | None = None
    ) -> tuple[str, str]:
        """A tool's result; returns the note for the model, and the result as it reaches it."""
        call_id = self.session.tool_call(self.tokens, tool, **asked)
        payload = testing.bash_event(self.session, text, tool_name=tool, tool_use_id=call_id)
        answer = self._send("PostToolUse", **payload | {"tool_input": asked})
        given = answer.get("updatedToolOutput", {}).get("stdout", text)
        self.session.tool_result(call_id, given)
        self.tokens += int(len(given) / _CHARACTERS_PER_TOKEN) if tokens is None else tokens
        line = testing.statusline_event(self.session, WINDOW_TOKENS, None)
        self._run("statusline", line)
        return answer.get("additionalContext", ""), given

    def _fetch_back(self) -> tuple[str, str]:
        """The model asks the store for a few lines of what was kept out."""
        found = stub.parse(self.reference)
        key = found.key if found else "last"
        first = demo_story.FAULTY_LINE
        words = ["store", "get", key, "--lines", f"{first}:{first + 4}"]
        environment = self._environment() | {"PYTHONPATH": _ROOT}
        command = [sys.executable, "-m", "brimline", *words]
        told = subprocess.run(command, capture_output=True, env=environment, check=True, timeout=30)
        return " ".join(["brimline", *words]), told.stdout.decode()

    def _compact(self, step: Step) -> str:
        """The client compacts, and its summary forgets; returns the card that comes after it."""
        self._run("PreCompact", testing.event("PreCompact", self.session, trigger="auto"))
        card: str = self._send("SessionStart", source="compact").get("additionalContext", "")
        self._send("PostCompact", trigger="auto", compact_summary=demo_story.SUMMARY)
        self.session.compact(self.tokens, summary=demo_story.SUMMARY)
        self.tokens = step.tokens
        return card

    def _send(self, name: str, **fields: Any) -> dict[str, Any]:
        """One hook process; returns what it answers."""
        answer = self._run(name, testing.event(name, self.session, **fields))
        found: dict[str, Any] = json.loads(answer)["hookSpecificOutput"] if answer else {}
        return found

    def _run(self, name: str, payload: dict[str, Any]) -> bytes:
        self.processes += 1
        return subprocess.run(
            [sys.executable, "-I", "-S", "-c", bootstrap(_ROOT), name],
            input=json.dumps(payload).encode(),
            stdout=subprocess.PIPE,
            env=self._environment(),
            check=True,
            timeout=30,
        ).stdout

    def _environment(self) -> dict[str, str]:
        """Nothing inherited: the demo must not see or touch the user's own files."""
        return {
            "HOME": self.folder,
            "CLAUDE_CONFIG_DIR": self.folder,
            "CLAUDE_PROJECT_DIR": self.session.cwd,
            "BRIMLINE_HOME": f"{self.folder}/brimline",
        }

    def figures(self) -> dict[str, Any]:
        """What was played, as the hooks noted it."""
        home_dir = f"{self.folder}/brimline"
        saved = learning.saved_by(home_dir, self.session.session_id)
        carried = SessionState(home_dir, self.session.session_id).last_line("Carried")
        return {
            "steps": len(self.moments),
            "processes": self.processes,
            "messages": sum(bool(moment.note) for moment in self.moments),
            "peak_tokens": max(moment.reading.projected_tokens or 0 for moment in self.moments),
            "references": saved.references,
            "recalled_bytes": saved.recalled,
            "kept_out_tokens": saved.kept_out_tokens,
            "messages_of_the_user": carried["messages"],
            "held": carried["held"],
        }


def show(player: Player, console: Console, *, paced: bool) -> None:
    """Play the story on a console."""
    from rich.live import Live
    from rich.text import Text

    console.print(Text(f"brimline demo: a bug hunt in a {WINDOW_TOKENS:,}-token window\n", "bold"))
    with Live(console=console, refresh_per_second=20, transient=True) as live:
        for number, moment in enumerate(player.play(), 1):
            line = Text(f"  {number:2d}/{len(STORY)}  ").append(_bar(moment.reading))
            live.update(line.append(f"\n         {moment.step.kind}: {moment.step.label}"))
            for told in _told(moment, number):
                live.console.print(told)
            if paced:
                time.sleep(_PAUSE_AFTER_NOTE_S if moment.note or moment.instead else _PAUSE_S)
    rows = [(name.replace("_", " "), f"{value:,}") for name, value in player.figures().items()]
    console.print(Text(f"Figures\n{output.pairs(rows)}"))


def _told(moment: Moment, number: int) -> Iterator[Any]:
    """What is worth keeping on the screen: what the model is told, given instead, given back."""
    from rich.panel import Panel
    from rich.text import Text

    titles = {
        "bulk": f"{moment.step.tokens:,} tokens stay out, the model gets a preview instead",
        "recall": "the model fetches what it needs of it",
        "compact": "the client compacts, and the model is given back",
    }
    if moment.instead:
        most = _CARD_LINES if moment.step.kind == "compact" else _SHOWN_LINES
        lines = [row[:_SHOWN_WIDTH] for row in moment.instead.rstrip("\n").split("\n")]
        lines = lines if len(lines) <= most else [*lines[: most - 2], "…", lines[-1]]
        title = f"step {number}: {titles[moment.step.kind]}"
        yield Panel(Text("\n".join(lines)), title=title, border_style="green")
    if moment.note:
        text = _bar(moment.reading).append(f"\n{moment.note}")
        style = _COLOURS[moment.reading.tier or 0]
        yield Panel(text, title=f"after step {number}, the model is told", border_style=style)


def _bar(found: Reading) -> Text:
    """The window as a bar: what is in use, the room up to the compaction point, the rest."""
    from rich.text import Text

    cells = [
        min(_BAR_CELLS - 1, tokens * _BAR_CELLS // found.window.tokens)
        for tokens in (found.projected_tokens or 0, found.compaction.tokens)
    ]
    used, point = min(cells), cells[1]
    text = Text("█" * used, _COLOURS[found.tier or 0]).append("·" * (point - used), "dim")
    text.append("┃", "bold").append("╱" * (_BAR_CELLS - point - 1), "dim")
    return text.append(f" {found.used_ratio:4.0%}  L{found.tier}" if found.used_ratio else "")
