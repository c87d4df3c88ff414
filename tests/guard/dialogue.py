"""A session that talks to brimline as the client would, and understands the answers."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from brimline.fast import paths
from brimline.hooks import statusline
from brimline.hooks.entry import answer_turn, open_turn, tidy
from brimline.settings import config
from brimline.settings.catalogue import BY_KEY
from brimline.testing import SessionBuilder, bash_event, event, statusline_event

if TYPE_CHECKING:
    import pytest


class Answer(NamedTuple):
    """What one hook answered; parts that were not given are empty."""

    note: str = ""
    refusal: str = ""
    person: str = ""

    @property
    def kind(self) -> str:
        """Refused, noted (with the excuse where there is one), told to the person, or silent."""
        excuse = re.search(r"\[(not blocked: [\w ]+)\]", self.note)
        noted = excuse[1] if excuse else "noted" if self.note else ""
        return "refused" if self.refusal else noted or ("told" if self.person else "silent")


SILENT = Answer()


def understood(name: str, raw: bytes) -> Answer:
    """The parts of an answer; whatever the client would not understand fails the test."""
    if not raw or name == "PreCompact":  # what is said there is for the summary
        return SILENT
    document = json.loads(raw)
    person = document.pop("systemMessage", "")
    specific = document.pop("hookSpecificOutput", {"hookEventName": name})
    assert document == {}
    assert specific.pop("hookEventName") == name
    assert specific.pop("permissionDecision", "deny") == "deny"
    keys = ("additionalContext", "permissionDecisionReason")
    note, refusal = (specific.pop(key, "") for key in keys)
    assert specific == {}
    return Answer(note, refusal, person)


def load_event(session: SessionBuilder, tool: str = "Skill", name: str = "x") -> dict[str, Any]:
    """An agent or a skill is about to be loaded."""
    agent = {"description": "Look around", "prompt": "Look around", "subagent_type": name}
    tool_input = {"skill": name, "args": ""} if tool == "Skill" else agent
    known = {"tool_name": tool, "tool_input": tool_input, "tool_use_id": "toolu_000002"}
    return event("PreToolUse", session, **known)


def set_by_user(home_dir: str, project_dir: str, key: str, text: str) -> None:
    """Put a setting into the user's file, and in force."""
    config.write_setting(paths.user_config(home_dir), key, text)
    config.compile_policy(home_dir, project_dir)


@dataclass(slots=True)
class Talk:
    """One session. Where tokens are given, a reply that took so many comes first."""

    session: SessionBuilder
    home_dir: str
    patch: pytest.MonkeyPatch

    def use(self, **settings: object) -> None:
        """Put settings in force through the environment or the user's file.

        `guard__tiers` is `guard.tiers`.
        """
        for name, value in settings.items():
            text = ",".join(map(str, value)) if isinstance(value, list) else str(value)
            setting = BY_KEY[name.replace("__", ".")]
            if setting.project:
                self.patch.setenv(setting.variable, text)
            else:
                set_by_user(self.home_dir, self.session.cwd, setting.key, text)

    def unset(self, *names: str) -> None:
        """Take settings of the user's back."""
        for name in names:
            config.remove_setting(paths.user_config(self.home_dir), name.replace("__", "."))
        config.compile_policy(self.home_dir, self.session.cwd)

    def anew(self, session_id: str) -> None:
        """Another session, with a file of its own."""
        Path(self.session.path).unlink(missing_ok=True)
        self.session.session_id = session_id

    def send(self, payload: dict[str, Any]) -> Answer:
        """One event, answered in this process; the answer must be in the client's shape."""
        name = payload["hook_event_name"]
        turn = open_turn(name, json.dumps(payload).encode(), self.home_dir)
        if turn is None:
            return SILENT
        answer = understood(name, answer_turn(turn))
        if name == "SessionStart":
            tidy(turn, seconds=60)
        return answer

    def tell(self, name: str, **fields: Any) -> Answer:
        """An event by its name."""
        return self.send(event(name, self.session, **fields))

    def after_tool(self, tokens: int | None = None, stdout: str = "", **fields: Any) -> Answer:
        """A Bash call has ended."""
        if tokens is not None:
            self.session.reply(tokens)
        return self.send(bash_event(self.session, stdout, **fields))

    def at_prompt(self, tokens: int | None = None) -> Answer:
        """The user has sent a prompt."""
        if tokens is not None:
            self.session.reply(tokens)
        return self.tell("UserPromptSubmit", prompt="go on")

    def at_stop(self, tokens: int | None = None) -> Answer:
        """A turn has ended."""
        if tokens is not None:
            self.session.reply(tokens)
        return self.tell("Stop", stop_hook_active=False, last_assistant_message="Done.")

    def at_start(self, source: str = "startup") -> Answer:
        """A session starts, goes on after a compaction, or is resumed."""
        return self.tell("SessionStart", source=source)

    def compact(self, trigger: str = "auto") -> None:
        """The client compacts; its boundary is in the file a little later."""
        self.tell("PreCompact", trigger=trigger, custom_instructions="")
        self.tell("PostCompact", trigger=trigger, compact_summary="Summary.")

    def load(self, tokens: int | None = None, tool: str = "Skill", name: str = "planner") -> Answer:
        """An agent or a skill is about to be loaded."""
        if tokens is not None:
            self.session.reply(tokens)
        return self.send(load_event(self.session, tool, name))

    def show_window(self, window: int, limits: dict[str, Any] | None = None) -> None:
        """The status line tells the window, and rate limits, before the first reply."""
        payload = statusline_event(self.session, window, None)
        if limits is not None:
            payload["rate_limits"] = limits
        statusline.respond(json.dumps(payload).encode(), self.home_dir)

    def heard(self, *occupancies: int) -> str:
        """Which tier is announced at each of these values: `1` to `9`, or `-`."""
        notes = [self.after_tool(tokens).note for tokens in occupancies]
        return "".join(note.partition("tier L")[2][:1] or "-" for note in notes)

    def audit(self) -> list[dict[str, Any]]:
        """Every line of the audit trail."""
        path = Path(self.home_dir, "audit.jsonl")
        return (
            [json.loads(line) for line in path.read_bytes().splitlines()] if path.exists() else []
        )

    def kept(self, name: str) -> Path:
        """A file that brimline keeps of the session."""
        return Path(self.home_dir, "sessions", self.session.session_id, name)
