"""A conversation in the shape that the client's `session.compact` gives to a mod."""

from __future__ import annotations

from typing import Any


class Conversation:
    """Messages, one entry per content block."""

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []
        self.count = 0

    def say(self, role: str, text: str) -> str:
        """A message; returns its handle."""
        return self._add(role, text=text)

    def call(
        self,
        tool: str,
        arguments: dict[str, Any],
        text: str | None = None,
        *,
        is_error: bool = False,
        result: Any = None,
    ) -> str:
        """A call and, where there is a text, its result; returns the id of the call."""
        self.count += 1
        call_id = f"toolu_{self.count}"
        use = {"tool_use_id": call_id, "tool": tool, "input": arguments}
        self._add("assistant", toolUses=[use])
        if text is not None:
            answer = {"tool_use_id": call_id, "text": text, "isError": is_error, "result": result}
            self._add("user", toolResults=[answer])
        return call_id

    def run(self, command: str, text: str, *, is_error: bool = False) -> str:
        """A command with its output; returns the id of the call."""
        return self.call("Bash", {"command": command}, text, is_error=is_error)

    def fill(self, calls: int, text: str = "short") -> None:
        """Calls that nobody looks at, to make what came before them old."""
        for at in range(calls):
            self.run(f"echo {at}", text)

    def request(self, cwd: str = "/", **fields: Any) -> dict[str, Any]:
        """What the mod sends to Python."""
        about: dict[str, Any] = {
            "session": "11111111-2222-3333-4444-555555555555",
            "cwd": cwd,
            "trigger": "auto",
        }
        about |= {"instructions": None, "model": "claude-opus-5-5", "window_tokens": 1_000_000}
        about |= {"brim_tokens": 967_000, "used_tokens": 900_000}
        return about | {"messages": self.messages} | fields

    def _add(self, role: str, **fields: Any) -> str:
        handle = f"h{len(self.messages)}"
        entry = {"role": role, "text": "", "toolUses": [], "toolResults": [], "handle": handle}
        self.messages.append(entry | fields)
        return handle
