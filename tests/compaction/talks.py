"""Conversations for tests: requests of the Messages API, as a client would send them."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]
TOOLS = [{"name": "Read", "description": "", "input_schema": {"type": "object"}}]
PROSE = (
    "Looked into module number {0}. It holds what was expected, and a few things besides: "
    "a cache that nobody clears, two helpers that do the same, and comments from another time. "
    "None of it is in the way of what is to be done next, so that all of it can stay as it is now, "
    "but whoever comes by later with more time at hand may want to have a look at these places."
)


class Talk:
    """A conversation that grows step by step; each step is a call and its result."""

    def __init__(self, prompt: str = "Please tidy up the parser.") -> None:
        self.messages: list[Json] = [
            {"role": "user", "content": [{"type": "text", "text": prompt}]}
        ]
        self.count = 0

    def step(self, tool: str, arguments: Json, result: Any, prose: str = "") -> None:
        """The model calls a tool and gets its result."""
        self.count += 1
        name = f"toolu_{self.count:04d}"
        said = [{"type": "text", "text": prose}] if prose else []
        call = {"type": "tool_use", "id": name, "name": tool, "input": arguments}
        answer = {"type": "tool_result", "tool_use_id": name, "content": result}
        self.messages.append({"role": "assistant", "content": [*said, call]})
        self.messages.append({"role": "user", "content": [answer]})

    def read(self, path: str, size: int = 6_000) -> None:
        """A file of source, with names that no other file has."""
        stem = path.rpartition("/")[2].partition(".")[0]
        lines = [
            f"{n}\tdef {stem}_part{n}(value): return {stem}Table[value]" for n in range(1, 999)
        ]
        text = "\n".join(lines)[:size]
        self.step("Read", {"file_path": path}, text, PROSE.format(stem))

    def idle(self, steps: int) -> None:
        """Steps that name nothing of what came before."""
        for _ in range(steps):
            self.step("Bash", {"command": f"sleep {self.count}"}, "ok")

    def body(self, **fields: Any) -> Json:
        """The request that comes next."""
        messages = [dict(message) for message in self.messages]
        last = list(messages[-1]["content"])
        last[-1] = {**last[-1], "cache_control": {"type": "ephemeral"}}
        messages[-1] = {**messages[-1], "content": last}
        system = [{"type": "text", "text": "You are.", "cache_control": {"type": "ephemeral"}}]
        fixed = {"model": "claude-sonnet-4-5", "max_tokens": 100, "stream": True}
        return {**fixed, "system": system, "tools": TOOLS, "messages": messages, **fields}


def flat(body: Json) -> list[tuple[str, Json]]:
    """Every block with its role, without the markers of the cache."""
    return [
        (message["role"], {k: v for k, v in block.items() if k != "cache_control"})
        for message in body["messages"]
        for block in message["content"]
    ]
