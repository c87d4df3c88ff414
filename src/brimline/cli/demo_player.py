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
from brimline import bundle, config, paths, policy, testing
from brimline.cli import demo_script
from brimline.gauge import reading as gauge
from brimline.launch import bootstrap
from brimline.state.session import SessionState

if TYPE_CHECKING:
    from collections.abc import Iterator

    from brimline.cli.demo_script import Step

_CHARACTERS_PER_TOKEN = 2.85
_TERSE_TOOLS = ("Edit", "Write")


@dataclass(slots=True)
class Moment:
    """The session after one step: what was measured and what the model was told."""

    step: Step
    reading: gauge.Reading
    note: str = ""


@dataclass(slots=True)
class Player:
    """A session in a temporary folder and the hook processes that watch it."""

    folder: str
    tokens: int = demo_script.FIRST_REQUEST_TOKENS
    hook_seconds: list[float] = field(default_factory=list)
    empty_seconds: list[float] = field(default_factory=list)
    session: testing.SessionBuilder = field(init=False)

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
            note = self._take(step)
            yield Moment(step, self._measure(), note)

    def _take(self, step: Step) -> str:
        if step.kind == "compact":
            self._send("PreCompact", testing.event("PreCompact", self.session, trigger="auto"))
            self.session.compact(self.tokens)
            self.tokens = step.tokens
            return ""
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
        output = "x" * (200 if terse else int(step.tokens * _CHARACTERS_PER_TOKEN))
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
        """One hook process, timed beside an empty one; returns what the model would see."""
        data = json.dumps(payload).encode()
        begun = time.perf_counter()
        answer = self._run([_bootstrap(), event], data)
        between = time.perf_counter()
        self._run(["pass"], data)
        self.hook_seconds.append(between - begun)
        self.empty_seconds.append(time.perf_counter() - between)
        if not answer:
            return ""
        return str(json.loads(answer)["hookSpecificOutput"]["additionalContext"])

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
    return bootstrap(os.path.dirname(os.path.dirname(os.path.abspath(brimline.__file__))))
