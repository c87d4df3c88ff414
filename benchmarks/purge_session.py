"""Writes sessions of any size whose bytes are shared out as in recorded ones, for timing purges.

In 398 recorded sessions copies of results took 41 % of the bytes, progress rows 16 %, the envelope
of rows 16 % and tool results 13 %; of the results half had less than 321 bytes, a tenth more than
4.4 kB and a hundredth more than 27 kB.
"""

from __future__ import annotations

import json
import random
import uuid
from typing import Any

_TEXT = (
    "self return value index result module import class function error warning path config "
    "session buffer stream handler request response token window offset length cursor parser "
    'test_passes test_fails "quoted" \\escaped <tag> {brace} naïve — 測試 0x7f3a /usr/lib/python'
)
_WORDS = _TEXT.split()
_TOOLS = ("Read", "Bash", "Edit", "Grep", "Write")
_SHARES = (50, 25, 15, 7, 3)
_PROGRESS_PER_CALL = 3
_LARGEST_RESULT_BYTES = 90_000
_FILES = 400


def write(path: str, size_bytes: int, seed: int = 41) -> None:
    """Write a session of about that size."""
    writer = _Writer(seed)
    with open(path, "wb", buffering=1 << 20) as file:
        written = 0
        while written < size_bytes:
            for row in writer.round():
                written += file.write(
                    json.dumps(row, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"
                )


class _Writer:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.parent: str | None = None
        self.number = 0
        lines = [
            " ".join(self.random.choices(_WORDS, k=self.random.randrange(3, 14)))
            for _ in range(3_000)
        ]
        self.prose = "\n".join(lines)

    def round(self) -> list[dict[str, Any]]:
        """A call, what was told about its progress, and its result; now and then a prompt."""
        self.number += 1
        if self.number % 40 == 1:
            prompt = self._row("user", message={"role": "user", "content": self._text(300)})
        else:
            prompt = None
        tool = self.random.choices(_TOOLS, _SHARES)[0]
        file = f"/home/dev/project/src/module_{self.random.randrange(_FILES)}.py"
        call_id = f"toolu_{self.number:024d}"
        thought = self._reply({"type": "thinking", "thinking": "", "signature": "x" * 900})
        asked = {"file_path": file} if tool in ("Read", "Edit", "Write") else {"command": "make"}
        if tool in ("Edit", "Write"):
            asked["new_string"] = self._text(3_000)
        call = self._reply({"type": "tool_use", "id": call_id, "name": tool, "input": asked})
        told = [self._progress(call_id, call["uuid"]) for _ in range(_PROGRESS_PER_CALL)]
        self.parent = call["uuid"]
        result = self._result(call_id, tool)
        return [*([prompt] if prompt else []), thought, call, *told, result]

    def _result(self, call_id: str, tool: str) -> dict[str, Any]:
        text = self._text(min(_LARGEST_RESULT_BYTES, int(self.random.lognormvariate(5.77, 1.95))))
        copies = {"Edit": 9, "Write": 2}.get(tool, 1)
        copy = text if tool == "Read" else self._text(850 * copies * 2)
        block = {"tool_use_id": call_id, "type": "tool_result", "content": text}
        return self._row(
            "user",
            message={"role": "user", "content": [block]},
            toolUseResult={"type": "text", "stdout": text, "originalFile": copy},
        )

    def _progress(self, call_id: str, parent: str) -> dict[str, Any]:
        row = self._row(
            "progress",
            data={"type": "bash_progress", "output": self._text(380), "elapsedTimeSeconds": 3},
            toolUseID=f"bash-progress-{self.number}",
            parentToolUseID=call_id,
        )
        row["parentUuid"] = parent
        return row

    def _reply(self, block: dict[str, Any]) -> dict[str, Any]:
        usage = {
            "input_tokens": 10,
            "cache_creation_input_tokens": 900,
            "cache_read_input_tokens": 40_000 + self.number,
            "cache_creation": {"ephemeral_5m_input_tokens": 900, "ephemeral_1h_input_tokens": 0},
            "output_tokens": 120,
            "service_tier": "standard",
            "server_tool_use": {"web_search_requests": 0, "web_fetch_requests": 0},
        }
        message = {
            "model": "claude-sonnet-4-5-20250929",
            "id": f"msg_{self.number:024d}",
            "type": "message",
            "role": "assistant",
            "content": [block],
            "stop_reason": None,
            "usage": usage,
        }
        return self._row("assistant", message=message, requestId=f"req_{self.number:024d}")

    def _row(self, kind: str, **fields: Any) -> dict[str, Any]:
        name = str(uuid.UUID(int=self.random.getrandbits(128)))
        row = {
            "parentUuid": self.parent,
            "isSidechain": False,
            "userType": "external",
            "cwd": "/home/dev/project",
            "sessionId": "11111111-2222-4333-8444-555555555555",
            "version": "2.1.199",
            "gitBranch": "feature/the-branch-of-the-session",
            "slug": "quiet-running-river",
            "entrypoint": "cli",
            "type": kind,
            **fields,
            "uuid": name,
            "timestamp": "2026-11-15T10:00:00.000Z",
        }
        self.parent = name
        return row

    def _text(self, characters: int) -> str:
        start = self.random.randrange(max(1, len(self.prose) - characters))
        return f"{self.random.getrandbits(64):x} {self.prose[start : start + characters]}"
