"""Plays a story through the real hook entry, one process per event, in a folder of its own."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import brimline
from brimline import config, testing
from brimline.cli import demo_script
from brimline.fast import bundle, paths, policy
from brimline.gauge import reading as gauge
from brimline.launch import bootstrap
from brimline.offload import learning
from brimline.state.session import SessionState
from brimline.store import stub

if TYPE_CHECKING:
    from collections.abc import Iterator

    from brimline.cli.demo_script import Step
    from brimline.offload.learning import Saved

_CHARACTERS_PER_TOKEN = 2.85
_TERSE_TOOLS = ("Edit", "Write")
# The rest of what a step adds is what the model itself writes.
_MOST_CHARACTERS = 7_500
_RECALLED_LINES = 4


@dataclass(slots=True)
class Moment:
    """The session after one step: what was measured and what the model was told."""

    step: Step
    reading: gauge.Reading
    note: str = ""
    instead: str = ""
    """What the model got instead of a result, or what it fetched back of it."""


@dataclass(slots=True)
class Player:
    """A session in a temporary folder and the hook processes that watch it."""

    folder: str
    tokens: int = demo_script.FIRST_REQUEST_TOKENS
    hook_seconds: list[float] = field(default_factory=list)
    empty_seconds: list[float] = field(default_factory=list)
    session: testing.SessionBuilder = field(init=False)
    told_summary: bytes = b""
    """What the client's summary was asked to hold."""
    kept_out: str = ""
    """The reference that the model got last."""

    def __post_init__(self) -> None:
        self.session = testing.SessionBuilder(
            f"{self.folder}/projects/demo/session.jsonl", cwd=f"{self.folder}/project"
        )
        os.makedirs(self.session.cwd, exist_ok=True)
        settings = paths.user_config(f"{self.folder}/brimline")
        config.change(settings, "scout.enabled", "true", project=False)

    def play(self) -> Iterator[Moment]:
        """Every step in turn."""
        with contextlib.suppress(OSError):  # a read-only package only makes the hooks slower
            bundle.build()
        self._send("SessionStart", testing.event("SessionStart", self.session, source="startup"))
        for step in demo_script.STORY:
            if step.kind == "bulk":
                note, instead = self._keep_out(step)
            elif step.kind == "recall":
                note, instead = self._fetch_back()
            elif step.kind == "compact":
                note, instead = "", self._compact(step)
            else:
                note, instead = self._take(step), ""
            yield Moment(step, self._measure(), note, instead)

    def saved(self) -> Saved:
        """What was kept out and brought back, as the hooks noted it."""
        return learning.saved_by(f"{self.folder}/brimline", self.session.session_id)

    def _keep_out(self, step: Step) -> tuple[str, str]:
        """A result that is too large: the hook stores it and gives the model a reference."""
        output = demo_script.log(int(step.tokens * _CHARACTERS_PER_TOKEN))
        payload = testing.bash_event(self.session, output)
        if step.tool == "Read":
            path = f"{self.session.cwd}/{step.label}"
            payload |= {"tool_name": "Read", "tool_input": {"file_path": path}}
            lines = output.count("\n") + 1
            sizes = {"numLines": lines, "startLine": 1, "totalLines": lines}
            file = {"filePath": path, "content": output} | sizes
            payload["tool_response"] = {"type": "text", "file": file}
        else:
            payload["tool_input"] = {"command": step.label}
        call_id = self.session.tool_call(self.tokens, step.tool, **payload["tool_input"])
        answer = self._answer("PostToolUse", payload | {"tool_use_id": call_id})
        replaced = answer["updatedToolOutput"]
        self.kept_out = replaced["file"]["content"] if step.tool == "Read" else replaced["stdout"]
        self._add_result(call_id, self.kept_out)
        return answer.get("additionalContext", ""), self.kept_out

    def _fetch_back(self) -> tuple[str, str]:
        """The model asks the store for a few lines of what was kept out."""
        found = stub.parse(self.kept_out)
        first = demo_script.FAULTY_LINE
        lines = f"{first}:{first + _RECALLED_LINES}"
        arguments = ["store", "get", found.key if found else "last", "--lines", lines]
        done = subprocess.run(
            [sys.executable, "-m", "brimline", *arguments],
            stdout=subprocess.PIPE,
            env=self._environment() | {"PYTHONPATH": _root()},
            check=True,
            timeout=30,
        )
        output = done.stdout.decode()
        command = " ".join(["brimline", *arguments])
        call_id = self.session.tool_call(self.tokens, "Bash", command=command)
        payload = testing.bash_event(self.session, output, tool_use_id=call_id)
        note = self._send("PostToolUse", payload | {"tool_input": {"command": command}})
        self._add_result(call_id, output)
        return note, f"$ {command}\n{output}"

    def _add_result(self, call_id: str, text: str) -> None:
        self.session.tool_result(call_id, text)
        self.tokens += int(len(text) / _CHARACTERS_PER_TOKEN)
        self._tell_statusline()

    def _compact(self, step: Step) -> str:
        """The client compacts, and its summary forgets; returns the card that comes after it."""
        payload = testing.event("PreCompact", self.session, trigger="auto")
        self.told_summary = self._run([_bootstrap(), "PreCompact"], json.dumps(payload).encode())
        started = testing.event("SessionStart", self.session, source="compact")
        card = self._send("SessionStart", started)
        fields = {"trigger": "auto", "compact_summary": demo_script.SUMMARY}
        self._send("PostCompact", testing.event("PostCompact", self.session, **fields))
        self.session.compact(self.tokens, summary=demo_script.SUMMARY)
        self.tokens = step.tokens
        return card

    def carried(self) -> dict[str, Any]:
        """How many messages of the user there were, and how many the summary held."""
        state = SessionState(f"{self.folder}/brimline", self.session.session_id)
        return state.last_line("Carried")

    def _take(self, step: Step) -> str:
        self.session.now = max(self.session.now, time.time())
        if step.kind == "prompt":
            payload = testing.event("UserPromptSubmit", self.session, prompt=step.label)
            note = self._send("UserPromptSubmit", payload)
            self.session.prompt(step.label)
            self.tokens += step.tokens
            return note
        told = self._ask_first(step) if step.kind in ("agent", "read") else ""
        return told or self._call_tool(step)

    def _ask_first(self, step: Step) -> str:
        """The question before a tool runs: the ceiling for agents, the scout for reads."""
        agent = {"description": step.label, "prompt": "Look around.", "subagent_type": step.label}
        payload = testing.event(
            "PreToolUse",
            self.session,
            tool_name=step.tool,
            tool_input=agent if step.kind == "agent" else {"command": step.label},
        )
        note = self._send("PreToolUse", payload)
        self._call_tool(step)
        return note

    def _call_tool(self, step: Step) -> str:
        call_id = self.session.tool_call(self.tokens, step.tool, command=step.label)
        terse = step.tool in _TERSE_TOOLS
        size = 200 if terse else int(step.tokens * _CHARACTERS_PER_TOKEN)
        output = "x" * min(size, _MOST_CHARACTERS)
        payload = testing.bash_event(self.session, output, tool_name=step.tool, tool_use_id=call_id)
        note = self._send("PostToolUse", payload)
        self.session.tool_result(call_id, output)
        self.tokens += step.tokens
        self._tell_statusline()
        return note

    def _tell_statusline(self) -> None:
        payload = testing.statusline_event(self.session, demo_script.WINDOW_TOKENS, None)
        self._run([_bootstrap(), "statusline"], json.dumps(payload).encode())

    def _measure(self) -> gauge.Reading:
        home_dir = f"{self.folder}/brimline"
        rules = policy.load(home_dir, self.session.cwd)
        state = SessionState(home_dir, self.session.session_id)
        return gauge.measure(self.session.path, state, rules, requests=40)

    def _send(self, event: str, payload: dict[str, Any]) -> str:
        """One hook process; returns what the model is told."""
        return str(self._answer(event, payload).get("additionalContext", ""))

    def _answer(self, event: str, payload: dict[str, Any]) -> dict[str, Any]:
        """One hook process, timed beside an empty one; returns what it answers."""
        data = json.dumps(payload).encode()
        begun = time.perf_counter()
        answer = self._run([_bootstrap(), event], data)
        between = time.perf_counter()
        self._run(["pass"], data)
        self.hook_seconds.append(between - begun)
        self.empty_seconds.append(time.perf_counter() - between)
        found: dict[str, Any] = json.loads(answer)["hookSpecificOutput"] if answer else {}
        return found

    def _run(self, arguments: list[str], data: bytes) -> bytes:
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", *arguments],
            input=data,
            stdout=subprocess.PIPE,
            env=self._environment(),
            check=True,
            timeout=30,
        )
        return done.stdout

    def _environment(self) -> dict[str, str]:
        """Nothing inherited: the demo must not see or touch the user's own files."""
        return {
            "HOME": self.folder,
            "CLAUDE_CONFIG_DIR": self.folder,
            "CLAUDE_PROJECT_DIR": self.session.cwd,
            "BRIMLINE_HOME": f"{self.folder}/brimline",
        }


def _bootstrap() -> str:
    return bootstrap(_root())


def _root() -> str:
    return os.path.dirname(os.path.dirname(os.path.abspath(brimline.__file__)))
