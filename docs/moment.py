"""Records `moment.svg` and `images/after.svg`: a compaction on the screen of the real client.

`python docs/moment.py` starts the client that the tests use, with brimline installed, in a folder
of its own. What the model says is written here; everything else on the screen is what it was. It
stops where the model was asked for a summary, or no longer has what the last question is about.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
import time
from collections import Counter
from html import escape
from itertools import accumulate, groupby, pairwise
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.client import harness
from tests.client.brimline_home import Installed
from tests.client.fetch import cache_dir, fetch
from tests.client.stub_api import StubApi, Turn, filled, text, tools

DOCS = Path(__file__).parent
COLUMNS, ROWS = 92, 27
MODEL = "claude-opus-4-5"
TASK = "The nightly import drops rows. Find out why. The staging database listens on port 48213."
QUESTION = "Which port was the staging database on?"
FOUND = "Found it: batch.py writes 500 rows at most and drops the rest. It writes all of them now."
ANSWER = "48213. You said so in your first message."
# A wait of the client's is shown no longer than this; the end stays for a while.
_SHORTEST_S, _LONGEST_S, _LAST_S = 0.1, 1.6, 5.0
_TEXT = re.compile("<text.*?</text>")
_CELL, _LINE, _SIZE = 8.4, 18, 14
_BACK, _INK = "#14171a", "#e7eaed"
_COLOURS = {
    "default": _INK, "black": "#5c6370", "red": "#ff6b6b", "green": "#4fc06f", "brown": "#e3c04b",
    "blue": "#6aa5ff", "magenta": "#d678d6", "cyan": "#3fc1c9", "white": "#c9ced3",
    "brightblack": "#8b949e",
}  # fmt: skip


class Run(NamedTuple):
    """Characters of one look, side by side."""

    column: int
    text: str
    colour: str
    is_bold: bool


class Frame(NamedTuple):
    """The screen, and since when it looks so."""

    at_s: float
    rows: tuple[tuple[Run, ...], ...]


class Camera(harness.InteractiveClient):
    """A live session whose screens are kept."""

    frames: list[Frame]

    def _drain(self) -> bool:
        is_there = super()._drain()
        rows = tuple(self._runs(number) for number in range(ROWS))
        if not self.frames or rows != self.frames[-1].rows:
            self.frames.append(Frame(time.monotonic(), rows))
        return is_there

    def _runs(self, number: int) -> tuple[Run, ...]:
        """One row of the screen."""
        row = self._screen.buffer[number]
        cells = [(at, row[at]) for at in range(COLUMNS)]
        found = []
        for (colour, is_bold), run in groupby(cells, lambda cell: (cell[1].fg, cell[1].bold)):
            part = list(run)
            shown = "".join(cell.data for _, cell in part)
            if shown.strip():
                start = part[0][0] + len(shown) - len(shown.lstrip())
                found.append(Run(start, shown.strip(), colour, is_bold))
        return tuple(found)


def main() -> None:
    """Record, draw, write."""
    binary = fetch(cache_dir(os.environ)).binary
    if not binary:
        sys.exit("there is no client here: run the tests first")
    harness.SCREEN_ROWS = ROWS
    root = Path(tempfile.gettempdir()) / "importer"
    shutil.rmtree(root, ignore_errors=True)
    stub = StubApi()
    stub.start()
    try:
        frames, still = record(harness.Client(binary, stub, root), stub)
    finally:
        stub.stop()
        shutil.rmtree(root, ignore_errors=True)
    (DOCS / "moment.svg").write_text(moving(frames), encoding="utf-8")
    (DOCS / "images" / "after.svg").write_text(drawn([_rows_of(still)], ""), encoding="utf-8")


def record(client: harness.Client, stub: StubApi) -> tuple[list[Frame], Frame]:
    """One session to behind its compaction; its screens, and the one after the compaction."""
    installed = Installed(client)
    installed.install()
    allowed = {"permissions": {"allow": ["Bash(make:*)"]}}
    client.write_settings(allowed | {"autoCompactWindow": 200_000})
    stub.script(*_replies(client), text(FOUND, filled(91_500)), text(ANSWER, filled(92_100)))
    Camera.frames = []
    command = [str(client.binary), "--model", MODEL, "--permission-mode", "default"]
    with Camera(command, client.env(), client.project, COLUMNS) as session:
        session.say(TASK, FOUND[:40])
        session.wait_for(lambda now: "esc to interrupt" not in now and "· L4 ·" not in now)
        still = Camera.frames[-1]
        session.say(QUESTION, ANSWER)
        session.wait_for(lambda now: "esc to interrupt" not in now)
        frames = Camera.frames[:]
    last = stub.requests("main")[-1]
    if stub.requests("compaction") or "port 48213" not in last.seen_text():
        sys.exit("it was not as the picture would have it")
    told = [line for line in installed.spool(client.transcripts()[0].stem) if "seconds" in line]
    print(f"the compaction took {[line['seconds'] for line in told]} s")
    begun = next(at for at, frame in enumerate(frames) if "nightly" in _words(frame))
    return frames[begun:], still


def _replies(client: harness.Client) -> list[Turn]:
    """Files are read until the window is full."""
    (client.project / "Makefile").write_text("lint test:\n\t@sleep 0.6; echo $@ passed\n", "utf-8")
    turns, used = [], 27_000
    for part in range(8):
        files = []
        for number in range(part * 9, part * 9 + 9):
            path = client.project / f"step_{number}.py"
            lines = (f"def step_{number}_{at}(rows): return rows[{at}:]\n" for at in range(110))
            path.write_text("".join(lines), encoding="utf-8")
            files.append(("Read", {"file_path": str(path)}))
        turns.append(tools(*files, _make("lint"), usage=filled(used)))
        used += 18_300
    return [*turns, tools(_make("test"), usage=filled(168_500))]


def _make(target: str) -> tuple[str, dict[str, Any]]:
    return "Bash", {"command": f"make {target}", "description": f"Run make {target}"}


def _words(frame: Frame) -> str:
    return " ".join(run.text for row in frame.rows for run in row)


def moving(frames: list[Frame]) -> str:
    """The frames one after the other, for ever; the last one where nothing may move."""
    kept = [one for one, after in pairwise(frames) if after.at_s - one.at_s >= _SHORTEST_S]
    kept.append(frames[-1])
    lengths = [min(after.at_s - one.at_s, _LONGEST_S) for one, after in pairwise(kept)]
    begins = [0.0, *accumulate(lengths)]
    whole = begins[-1] + _LAST_S
    style = [f".f{{visibility:hidden;animation:{whole:.1f}s step-end infinite}}"]
    groups = []
    for number, (frame, begin, end) in enumerate(
        zip(kept, begins, [*begins[1:], whole], strict=True)
    ):
        first, last = 100 * begin / whole, 100 * end / whole
        style.append(
            f"@keyframes k{number}{{0%{{visibility:hidden}}{first:.2f}%{{visibility:visible}}"
            f"{last:.2f}%{{visibility:hidden}}}}#f{number}{{animation-name:k{number}}}"
        )
        groups.append(f'<g class="f" id="f{number}">{_rows_of(frame)}</g>')
    quiet = f"#f{len(kept) - 1}{{visibility:visible}}.f{{animation:none}}"
    style.append(f"@media (prefers-reduced-motion:reduce){{{quiet}}}")
    return drawn(_with_rows_once(groups), "\n".join(style))


def _with_rows_once(groups: list[str]) -> list[str]:
    """The same with each text written once, however many frames show it."""
    texts = Counter(found for group in groups for found in _TEXT.findall(group))
    often = {
        found: f"t{number}" for number, (found, times) in enumerate(texts.items()) if times > 1
    }
    named = [found.replace("<text", f'<text id="{name}"', 1) for found, name in often.items()]

    def put(match: re.Match[str]) -> str:
        name = often.get(match[0])
        return f'<use href="#{name}"/>' if name else match[0]

    return [f"<defs>{''.join(named)}</defs>", *[_TEXT.sub(put, group) for group in groups]]


def drawn(groups: list[str], style: str) -> str:
    """A terminal with what it shows."""
    width, height = COLUMNS * _CELL + 24, ROWS * _LINE + 20
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}"'
    font = f'font-family="ui-monospace, Menlo, Consolas, monospace" font-size="{_SIZE}"'
    return "\n".join(
        [
            f'{head} {font} xml:space="preserve">',
            f"<style>{style}</style>",
            f'<rect width="100%" height="100%" rx="8" fill="{_BACK}"/>',
            *groups,
            "</svg>",
            "",
        ]
    )


def _rows_of(frame: Frame) -> str:
    return "".join(_run(run, 22 + _LINE * at) for at, row in enumerate(frame.rows) for run in row)


def _run(run: Run, y: int) -> str:
    colour = _COLOURS.get(run.colour, f"#{run.colour}")
    weight = ' font-weight="600"' if run.is_bold else ""
    place = f'x="{12 + run.column * _CELL:.1f}" y="{y}" textLength="{len(run.text) * _CELL:.1f}"'
    return f'<text {place} fill="{colour}"{weight}>{escape(run.text)}</text>'


if __name__ == "__main__":
    main()
