"""A session whose events go through the room's face, in the client's own shapes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from brimline.bulk import contents, hook, stub
from brimline.hooks.turn import Turn
from brimline.hooks.wire import Event

if TYPE_CHECKING:
    from brimline.fast.decision import Decision

SOURCE = "\n".join(
    f"def handler_{n}(request):\n    return render({n}, request)\n" for n in range(2_000)
)
LOG = "\n".join(
    f"2026-11-15 10:00:{n % 60:02d} INFO worker {n} finished job {n * 7}" for n in range(4_000)
)


def cut(text: str, size: int) -> str:
    """The beginning of a text, of exactly so many characters."""
    return text[: size - 1] + "x"


def numbered(text: str) -> str:
    """A file as the client sends it: each line behind its number and a tab."""
    return "\n".join(f"{number}\t{line}" for number, line in enumerate(text.split("\n"), 1))


def cut_as_sent(text: str, size: int) -> str:
    """The beginning of a file, of which exactly so many characters are sent."""
    sent = cut(numbered(text), size)
    return "\n".join(line.partition("\t")[2] for line in sent.split("\n"))


class Player:
    """Plays the client for one session; recalls are allowed, as after a default install."""

    def __init__(
        self, home_dir: str, project_dir: str, session_id: str = "s1", *, source: str = "startup"
    ) -> None:
        self.home_dir = home_dir
        self.project_dir = project_dir
        self.session_id = session_id
        self.transcript = ""
        self.allowed = True
        self.values: dict[str, Any] = {}
        hook.session_start(self.turn("SessionStart", source=source))

    def turn(self, name: str, **fields: Any) -> Turn:
        """An event on its way to the rooms."""
        event = {
            "session_id": self.session_id,
            "cwd": self.project_dir,
            "transcript_path": self.transcript,
            "permission_mode": "default",
            "tool_use_id": "toolu_1",
        }
        turn = Turn(Event(name, json.dumps(event | fields).encode()), self.home_dir)
        turn.policy.client["recall_allowed"] = self.allowed
        turn.policy.values.update(self.values)
        return turn

    def result(self, tool: str, tool_input: dict[str, Any], response: Any, **fields: Any) -> Turn:
        """A result on its way into the window."""
        called = {"tool_name": tool, "tool_input": tool_input, "tool_response": response}
        return self.turn("PostToolUse", **(called | fields))

    def bash(
        self, command: str, output: str, *, response: dict[str, Any] | None = None, **fields: Any
    ) -> str | None:
        """A command ran; what the model gets instead of its output, if anything."""
        told = {"stdout": output, "stderr": "", "interrupted": False, "isImage": False}
        response = told | (response or {})
        decision = hook.post_tool_use(self.result("Bash", {"command": command}, response, **fields))
        return decision.replacement["stdout"] if decision else None

    def read(self, path: str, content: str, **page: Any) -> str | None:
        """A file was read; what the model gets instead, if anything."""
        lines = content.count("\n") + 1
        first = page.get("offset", 1)
        file = {"filePath": path, "content": content, "numLines": lines, "startLine": first}
        total = page.pop("total", lines)
        response = {"type": "text", "file": file | {"totalLines": total}}
        asked = {"file_path": path} | page
        decision = hook.post_tool_use(self.result("Read", asked, response))
        return decision.replacement["file"]["content"] if decision else None

    def edit(self, path: str) -> None:
        """A file was changed."""
        hook.post_tool_use(self.result("Edit", {"file_path": path}, {"filePath": path}))

    def write(self, path: str) -> Decision | None:
        """A file is about to be overwritten."""
        asked = {"tool_name": "Write", "tool_input": {"file_path": path, "content": "new"}}
        return hook.pre_tool_use(self.turn("PreToolUse", **asked))

    def stored(self, shown: str) -> bytes:
        """The bytes behind a reference."""
        found = stub.first_reference_in(shown)
        assert found is not None, shown[:200]
        return contents.read_content(self.home_dir, found.key)


@pytest.fixture
def player(home_dir: str, project_dir: str) -> Player:
    """A session that has just begun."""
    return Player(home_dir, project_dir)
