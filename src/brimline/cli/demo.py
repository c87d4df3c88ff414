"""`brimline demo`: a session fills up, brimline speaks, the client compacts, it starts over."""

from __future__ import annotations

import io
import json
import shutil
import statistics
import sys
import tempfile
import time
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.live import Live
from rich.panel import Panel
from rich.text import Text

from brimline.cli import demo_script
from brimline.cli.demo_player import Moment, Player

if TYPE_CHECKING:
    from brimline.gauge.reading import Reading

_COLOURS = ("green", "cyan", "yellow", "magenta", "bold red")
_BAR_CELLS = 60
# The last tier goes on speaking; its full text is shown once.
_REPEATED = "Still critical"
_PAUSE_S = 0.12
_CHARACTERS_PER_TOKEN = 2.85
_SHOWN_LINES = 8
_CARD_LINES = 24
_SHOWN_WIDTH = 150
_PAUSE_AFTER_NOTE_S = 0.6


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--json", "as_json", is_flag=True, help="Print the moments and figures as JSON.")
@click.option("--fast", is_flag=True, help="Do not pause between the steps.")
def demo(as_json: bool, fast: bool) -> None:
    """Watch a session fill up, with every message the model would see. No client needed.

    It plays a made-up session in a temporary folder through the real hook entry, one process per
    event, and touches nothing else.

    \b
    Example:
      brimline demo
    """
    folder = tempfile.mkdtemp(prefix="brimline-demo-")
    try:
        player = Player(folder)
        if as_json:
            click.echo(json.dumps(_as_document(list(player.play()), player), indent=2))
            return
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(errors="replace")  # a terminal that knows ASCII only
        console = Console(highlight=False)
        show(player, console, paced=console.is_terminal and not fast)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def show(player: Player, console: Console, *, paced: bool) -> None:
    """Play the story on a console."""
    moments: list[Moment] = []
    console.print(_title())
    with Live(console=console, refresh_per_second=20, transient=True) as live:
        for moment in player.play():
            moments.append(moment)
            live.update(_gauge(moment, len(moments)))
            shown = [_instead(moment, len(moments)), _told(moment, moments)]
            for told in reversed(shown) if moment.step.kind == "compact" else shown:
                if told is not None:
                    live.console.print(told)
            if paced:
                time.sleep(_PAUSE_AFTER_NOTE_S if moment.note or moment.instead else _PAUSE_S)
    console.print(_summary(moments, player))


def bar(reading: Reading) -> Text:
    """The window as a bar: what is in use, the tiers ahead, the compaction point."""
    window = reading.window.tokens
    used = _cell(reading.projected_tokens or 0, window)
    point = _cell(reading.compaction.tokens, window)
    text = Text()
    colour = _COLOURS[reading.tier or 0]
    for cell in range(_BAR_CELLS):
        if cell == point:
            text.append("┃", "bold")
        elif cell < used:
            text.append("█", colour)
        else:
            text.append("·" if cell < point else "╱", "dim")
    return text


def _title() -> Text:
    text = Text("brimline demo", "bold")
    text.append(
        f"  a bug hunt in a {demo_script.WINDOW_TOKENS:,}-token window, "
        "played through the real hook entry\n",
        "dim",
    )
    return text


def _gauge(moment: Moment, number: int) -> Text:
    reading = moment.reading
    text = Text(f"  {number:2d}/{len(demo_script.STORY)}  ")
    text.append(bar(reading))
    if reading.used_ratio is not None:
        text.append(f" {reading.used_ratio:4.0%}")
        text.append(f"  L{reading.tier} {reading.tier_name}", _COLOURS[reading.tier or 0])
    text.append(
        f"\n         {moment.step.tool if moment.step.kind == 'tool' else moment.step.kind}: "
    )
    text.append(moment.step.label, "dim")
    return text


def _told(moment: Moment, moments: list[Moment]) -> Panel | Text | None:
    """What is worth keeping on the screen: a message to the model, a compaction."""
    if _REPEATED in moment.note:
        return Text(f"  step {len(moments)}: told again that it is still critical", "bold red")
    if moment.note:
        tier = moment.reading.tier or 0
        title = f"after step {len(moments)}, the model is told"
        return Panel(_line(moment, moment.note), title=title, border_style=_COLOURS[tier])
    if moment.step.kind == "compact":
        before = moments[-2].reading
        return Text(
            f"── step {len(moments)}: the client compacts at {before.projected_tokens:,} tokens; "
            "occupancy is unknown until the next reply, and the tiers are armed again ──\n",
            "bold",
        )
    return None


def _instead(moment: Moment, number: int) -> Panel | None:
    """A result that was kept out, or a part of it that was fetched back."""
    if not moment.instead:
        return None
    if moment.step.kind == "compact":
        title = f"step {number}: after the compaction, the model is given back"
        return Panel(
            Text(_few_lines(moment.instead, _CARD_LINES)), title=title, border_style="cyan"
        )
    if moment.step.kind == "recall":
        title = f"step {number}: the model fetches what it needs of it"
        return Panel(Text(_few_lines(moment.instead)), title=title, border_style="green")
    would = moment.step.tokens
    took = int(len(moment.instead) / _CHARACTERS_PER_TOKEN)
    title = f"step {number}: {would:,} tokens stay out, the model gets about {took:,} instead"
    return Panel(Text(_few_lines(moment.instead)), title=title, border_style="green")


def _few_lines(text: str, most: int = _SHOWN_LINES) -> str:
    lines = [
        line if len(line) <= _SHOWN_WIDTH else line[:_SHOWN_WIDTH] + "…"
        for line in text.rstrip("\n").split("\n")
    ]
    if len(lines) > most:
        lines = [*lines[: most - 2], "…", lines[-1]]
    return "\n".join(lines)


def _line(moment: Moment, note: str) -> Text:
    text = bar(moment.reading)
    text.append(f" {moment.reading.used_ratio or 0:.0%}\n")
    text.append(note)
    outlook = moment.reading.forecast()
    if outlook and "Context tier" not in note:
        text.append(
            f"\nforecast: about {outlook.ops} requests left ({outlook.low} to {outlook.high})",
            "dim",
        )
    return text


def _summary(moments: list[Moment], player: Player) -> Text:
    figures = _figures(moments, player)
    ratio = figures["hook_cost_ratio"]
    return Text.assemble(
        ("Figures\n", "bold"),
        f"  {figures['steps']} steps, {figures['hook_processes']} hook processes, ",
        f"{figures['messages']} messages to the model ",
        f"({figures['message_characters']:,} characters)\n",
        f"  fullest: {figures['peak_tokens']:,} tokens of {demo_script.WINDOW_TOKENS:,}; ",
        f"{figures['compactions']} compaction, after which the tiers spoke again\n",
        f"  kept out: {figures['stored_bytes']:,} bytes in {figures['references']} references, ",
        f"{figures['recalled_bytes']:,} bytes fetched back; ",
        f"about {figures['kept_out_tokens']:,} tokens saved\n",
        f"  of the user's {figures['messages_of_the_user']} messages the summary held ",
        f"{figures['held']} word for word; the card gave all back\n",
        f"  a hook took {ratio:.2f} times an empty Python interpreter (median, same run),\n",
        "  in a session where nearly every step moves the gauge; quiet hooks cost less\n",
    )


def _figures(moments: list[Moment], player: Player) -> dict[str, Any]:
    notes = [moment.note for moment in moments if moment.note]
    saved, carried = player.saved(), player.carried()
    return {
        "steps": len(moments),
        "hook_processes": len(player.hook_seconds),
        "messages": len(notes),
        "message_characters": sum(len(note) for note in notes),
        "peak_tokens": max(moment.reading.projected_tokens or 0 for moment in moments),
        "compactions": sum(moment.step.kind == "compact" for moment in moments),
        "references": saved.references,
        "stored_bytes": saved.stored_bytes,
        "recalled_bytes": saved.recalled,
        "kept_out_tokens": saved.kept_out_tokens,
        "messages_of_the_user": carried["messages"],
        "held": carried["held"],
        "hook_cost_ratio": round(
            statistics.median(player.hook_seconds) / statistics.median(player.empty_seconds), 2
        ),
    }


def _as_document(moments: list[Moment], player: Player) -> dict[str, Any]:
    rows = [
        {
            "step": moment.step.label,
            "kind": moment.step.kind,
            "occupancy_tokens": moment.reading.occupancy_tokens,
            "tier": moment.reading.tier,
            "note": moment.note or None,
            "instead": moment.instead or None,
        }
        for moment in moments
    ]
    return {"moments": rows, "figures": _figures(moments, player)}


def _cell(tokens: int, window: int) -> int:
    return min(_BAR_CELLS - 1, tokens * _BAR_CELLS // window)


if __name__ == "__main__":
    sys.exit(demo())
