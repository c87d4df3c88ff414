"""`brimline demo`: a made-up bug hunt through the real hook entry, one process per event.

It fills a window once, and a compaction without a model makes room. Sizes follow recorded sessions:
a first request of some 24,000 tokens, a few thousand for most steps, now and then far more.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from typing import TYPE_CHECKING, Any, NamedTuple

import brimline
from brimline import models, output, testing
from brimline.bulk import contents
from brimline.fast import policy
from brimline.figures import savings
from brimline.gauge import reading
from brimline.launch import bootstrap_code
from brimline.state.session import SessionState

if TYPE_CHECKING:
    from collections.abc import Iterator

    from brimline.gauge.reading import Reading

_ROOT = os.path.dirname(os.path.dirname(os.path.abspath(brimline.__file__)))
_MODEL = "claude-opus-5-5"
_WINDOW_TOKENS = 200_000
_FIRST_REQUEST_TOKENS = 24_000
_CHARACTERS_PER_TOKEN = models.lookup_model(_MODEL).characters_per_token
# The rest of what a step adds is what the model itself writes.
_MOST_CHARACTERS = 7_500
_BAR_CELLS = 50
_SHOWN_LINES, _SHOWN_WIDTH = 8, 150
_TITLES = {
    "bulk": "a long output stays out, the model gets a preview instead",
    "recall": "the model fetches what it needs of it",
    "compact": "compacted without a model: results become lines, words stay",
}
_TASK = (
    "The nightly import drops rows. Find out why and fix it. Never touch prod_db. The staging "
    "database listens on port 48213."
)
_FAULTY_BATCH = 611
_LOG = "\n".join(
    f"2026-11-14T02:{at // 60:02d}:{at % 60:02d} "
    + (f"INFO batch {at}: ok" if at != _FAULTY_BATCH else "ERROR 501 rows, 500 written")
    for at in range(760)
)


class Step(NamedTuple):
    """One thing that happens in the session."""

    # `prompt`, a tool, `bulk` (a result that is kept out), `recall` (a part of it) or `compact`
    kind: str
    label: str
    # What it adds to the context.
    tokens: int = 0


STORY = (
    Step("prompt", _TASK, 300),
    Step("Grep", "import_rows", 1_900),
    Step("Read", "src/importer/pipeline.py", 19_800),
    Step("Read", "src/importer/batch.py", 7_400),
    Step("Read", "tests/test_pipeline.py", 21_200),
    Step("bulk", "cat logs/import.log"),
    Step("recall", "the lines around the first error"),
    Step("Read", "logs/nightly.log", 18_900),
    Step("Bash", "make test", 6_300),
    Step("prompt", "It is the batches with more than 500 rows, right?", 200),
    Step("Skill", "review-batches", 3_400),
    Step("Read", "src/importer/limits.py", 3_900),
    Step("Edit", "src/importer/batch.py", 1_500),
    Step("Bash", "python -m importer --dry-run", 5_300),
    Step("Read", "docs/import-format.md", 3_200),
    Step("Bash", "git log --stat -20", 2_600),
    Step("prompt", "Good. Add a regression test and update the docs.", 200),
    Step("Write", "tests/test_batch.py", 1_900),
    Step("Read", "tests/fixtures/rows.csv", 3_100),
    Step("Bash", "make test", 3_500),
    Step("Bash", "make integration", 8_600),
    Step("Read", "CHANGELOG.md", 3_400),
    Step("Grep", "carry_over", 1_900),
    Step("Read", "src/weekly/schedule.py", 9_800),
    Step("Bash", "git diff", 5_400),
    Step("Bash", "make test", 3_200),
    Step("compact", "no model is asked"),
    Step("prompt", "Now the same for the weekly import.", 200),
    Step("Read", "src/weekly/pipeline.py", 9_400),
)
# Where a tool's input has what the step names; a command elsewhere.
_INPUTS = {"Skill": "skill", "Grep": "pattern"} | dict.fromkeys(
    ("Read", "Edit", "Write"), "file_path"
)


@output.command("demo")
def demo(as_json: bool) -> None:
    """Watch a session fill up, with every message the model would see. No client needed.

    It plays in a temporary folder through the real hook entry and touches nothing else.

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
        else:
            for text in told_in_story(player):
                output.say(text)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class Moment(NamedTuple):
    """The session after one step: what was measured and what the model was told."""

    step: Step
    reading: Reading
    note: str
    # What the model got instead of a result, or what it fetched back of it.
    instead: str


class Player:
    """A session in a temporary folder and the hook processes that watch it."""

    def __init__(self, folder: str) -> None:
        self.folder, self.home_dir = folder, f"{folder}/brimline"
        self.tokens = _FIRST_REQUEST_TOKENS
        self.moments: list[Moment] = []
        # What the client would hand to the mod, and what each call has added.
        self.messages: list[dict[str, Any]] = []
        self.sizes: dict[str, int] = {}
        self.moved_out = 0
        path, project = f"{folder}/projects/demo/session.jsonl", f"{folder}/project"
        self.session = testing.SessionBuilder(path, cwd=project, model=_MODEL)
        os.makedirs(project, exist_ok=True)

    def play(self) -> Iterator[Moment]:
        """Every step in turn."""
        self._run_hook("SessionStart", source="startup")
        for step in STORY:
            self.session.now = max(self.session.now, time.time())
            note, instead = self._play_step(step)
            state = SessionState(self.home_dir, self.session.session_id)
            rules = policy.load(self.home_dir, self.session.cwd)
            found = reading.measure_session(self.session.path, state, rules)
            self.moments.append(Moment(step, found, note, instead))
            yield self.moments[-1]

    def _play_step(self, step: Step) -> tuple[str, str]:
        """One step; returns the note for the model and what it got instead of a result."""
        if step.kind == "prompt":
            note = self._run_hook("UserPromptSubmit", prompt=step.label).get(
                "additionalContext", ""
            )
            self.session.prompt(step.label)
            self.messages.append({"text": step.label})
            self.tokens += step.tokens
            return note, ""
        if step.kind == "compact":
            return "", self._play_compaction()
        if step.kind == "bulk":
            return self._play_tool_call("Bash", {"command": step.label}, _LOG)
        if step.kind == "recall":
            first = _FAULTY_BATCH
            key = contents.resolve_key(self.home_dir, contents.LAST)
            rows = contents.read_content(self.home_dir, key)
            text = b"\n".join(rows.split(b"\n")[first - 1 : first + 4]).decode()
            command = f"brimline store get last --lines {first}:{first + 4}"
            return self._play_tool_call("Bash", {"command": command}, text)[
                0
            ], f"$ {command}\n{text}"
        asked = {_INPUTS.get(step.kind, "command"): step.label}
        before = ""
        if step.kind == "Skill":
            answer = self._run_hook("PreToolUse", tool_name="Skill", tool_input=asked)
            before = answer.get("additionalContext", "")
        size = 200 if step.kind in ("Edit", "Write") else int(step.tokens * _CHARACTERS_PER_TOKEN)
        note, _ = self._play_tool_call(step.kind, asked, "x" * size, step.tokens)
        return "\n\n".join(filter(None, [before, note])), ""

    def _play_tool_call(
        self, tool: str, tool_input: dict[str, Any], text: str, tokens: int | None = None
    ) -> tuple[str, str]:
        """A tool's result; returns the note for the model, and the result as it reaches it."""
        call_id = self.session.tool_call(self.tokens, tool, **tool_input)
        seen = text if tokens is None else text[:_MOST_CHARACTERS]
        payload = testing.bash_event(self.session, seen, tool_name=tool, tool_use_id=call_id)
        answer = self._run_hook("PostToolUse", **payload | {"tool_input": tool_input})
        result_text = answer.get("updatedToolOutput", {}).get("stdout", text)
        self.session.tool_result(call_id, result_text[:_MOST_CHARACTERS])
        added = int(len(result_text) / _CHARACTERS_PER_TOKEN) if tokens is None else tokens
        self.tokens, self.sizes[call_id] = self.tokens + added, added
        use = {"tool_use_id": call_id, "tool": tool, "input": tool_input}
        result = {"tool_use_id": call_id, "text": result_text}
        self.messages += [{"text": "", "toolUses": [use]}, {"text": "", "toolResults": [result]}]
        self._run_process(
            "statusline", testing.statusline_event(self.session, _WINDOW_TOKENS, None)
        )
        return answer.get("additionalContext", ""), result_text

    def _play_compaction(self) -> str:
        """What the mod does: old results become lines; returns those and what comes after them."""
        request = {"session": self.session.session_id, "cwd": self.session.cwd, "trigger": "auto"}
        answer = json.loads(self._run_process("mod compact", request | {"messages": self.messages}))
        lines: dict[str, str] = answer["results"]
        card: str = self._run_hook("SessionStart", source="compact").get("additionalContext", "")
        self._run_hook("PostCompact", trigger="auto", compact_summary=card)
        self.session.compact(self.tokens, summary=card)
        self.tokens -= sum(self.sizes[call] for call in lines)
        self.moved_out += len(lines)
        words = [f"> {entry['text']}" for entry in self.messages if entry["text"]]
        return "\n".join(
            [*lines.values(), "", "Every message is still there, such as:", words[0], "", card]
        )

    def _run_hook(self, name: str, **fields: Any) -> dict[str, Any]:
        """One hook process; returns what it answers."""
        answer = self._run_process(name, testing.event(name, self.session, **fields))
        found: dict[str, Any] = json.loads(answer)["hookSpecificOutput"] if answer else {}
        return found

    def _run_process(self, name: str, payload: dict[str, Any]) -> bytes:
        """One process that inherits nothing: it must not see or touch the user's own files."""
        return subprocess.run(
            [sys.executable, "-I", "-S", "-c", bootstrap_code(_ROOT), *name.split()],
            input=json.dumps(payload).encode(),
            stdout=subprocess.PIPE,
            env=dict.fromkeys(("HOME", "CLAUDE_CONFIG_DIR"), self.folder)
            | {"CLAUDE_PROJECT_DIR": self.session.cwd, "BRIMLINE_HOME": self.home_dir},
            check=True,
            timeout=30,
        ).stdout

    def figures(self) -> dict[str, Any]:
        """Return what was played, as the hooks noted it."""
        saved = savings.saved_in_one_session(self.home_dir, self.session.session_id)
        return {
            "steps": len(self.moments),
            "messages_to_the_model": sum(m.note.count("[brimline]") for m in self.moments),
            "results_moved_out": self.moved_out,
            "peak_tokens": max(moment.reading.projected_tokens or 0 for moment in self.moments),
            "tokens_kept_out": saved.kept_out_tokens,
        }


def told_in_story(player: Player) -> Iterator[str]:
    """Play the story; what is told of it, as it happens."""
    yield output.mark_strong(f"brimline demo: a bug hunt in a {_WINDOW_TOKENS:,}-token window\n")
    for number, moment in enumerate(player.play(), 1):
        yield from _told_of_moment(moment, number)
    rows = [(name.replace("_", " "), f"{value:,}") for name, value in player.figures().items()]
    yield f"Figures\n{output.name_value_text(rows)}"


def _told_of_moment(moment: Moment, number: int) -> Iterator[str]:
    """Yield what is worth showing: what the model is told, given instead, given back."""
    if moment.instead:
        most = 2 * _SHOWN_LINES if moment.step.kind == "compact" else _SHOWN_LINES
        rows = [output.one_line(row, _SHOWN_WIDTH) for row in moment.instead.strip().split("\n")]
        rows = rows if len(rows) <= most else [*rows[: most - 2], "…", rows[-1]]
        yield _titled_text(f"step {number}: {_TITLES[moment.step.kind]}", rows)
    if moment.note:
        rows = [_window_bar(moment.reading), *moment.note.split("\n")]
        yield _titled_text(f"after step {number}, the model is told", rows)


def _titled_text(title: str, rows: list[str]) -> str:
    wrapped = [output.wrapped_text(row, "  ") for row in rows]
    return "\n".join([output.mark_strong(title), *wrapped, ""])


def _window_bar(found: Reading) -> str:
    """The window as a bar: what is in use, the room up to the compaction point, the rest."""
    cells = [
        min(_BAR_CELLS - 1, tokens * _BAR_CELLS // found.window.tokens)
        for tokens in (found.projected_tokens or 0, found.compaction.tokens)
    ]
    used, point = min(cells), cells[1]
    full, free, end, beyond = list(output.marks_or_plain_ones("█·┃╱", "#.|/"))
    bar = full * used + free * (point - used) + end + beyond * (_BAR_CELLS - point - 1)
    share = (found.projected_tokens or 0) / found.window.tokens
    return f"{bar} {share:4.0%}  L{found.tier}" if share else bar
