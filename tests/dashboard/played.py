"""A session played through the real hooks at one pace: prompts, bulk, tiers, a compaction."""

from __future__ import annotations

import json
import time
from typing import Any

from brimline.hooks.entry import respond
from brimline.testing import SessionBuilder, bash_event, event, text_block

NAME = "1f0c2d3e-aaaa-4bbb-8ccc-000000000001"
CHARACTERS_PER_TOKEN = 2.85
CODE = "\n".join(
    f"def part_{at}(rows):\n    return rows[{at}:]  # of the import" for at in range(900)
)
LOG = "\n".join(f"2026-11-14T02:00:{at % 60:02d} INFO batch {at}: ok" for at in range(900))


class Now(SessionBuilder):
    """A session whose rows are of the moment at which they are written, as the hooks' lines are."""

    def row(self, kind: str, **fields: Any) -> dict[str, Any]:
        """Append any row."""
        self.now = time.time() - 1
        return super().row(kind, **fields)


class Played:
    """One session in the client's folder, and the hooks that watch it."""

    def __init__(self, folder: str, home_dir: str, name: str = NAME) -> None:
        path = f"{folder}/projects/-project/{name}.jsonl"
        self.session = Now(path, session_id=name, cwd="/home/dev/importer")
        self.home_dir = home_dir

    def send(self, payload: dict[str, Any]) -> dict[str, Any]:
        """One event, at the session's own time; returns the answer."""
        raw = json.dumps(payload).encode()
        answer = respond(payload["hook_event_name"], raw, self.home_dir)
        is_document = answer.startswith(b"{")
        found: dict[str, Any] = json.loads(answer) if is_document else {}
        return found

    def call(self, tokens: int, text: str, command: str = "make test") -> None:
        """A Bash call, its hook, and its result as the model gets it."""
        name = self.session.tool_call(tokens, command=command)
        payload = bash_event(self.session, text, tool_use_id=name)
        answer = self.send(payload | {"tool_input": {"command": command}})
        specific = answer.get("hookSpecificOutput", {})
        self.session.tool_result(name, specific.get("updatedToolOutput", {}).get("stdout", text))
        if note := specific.get("additionalContext"):
            self.inject("PostToolUse:Bash", note)

    def inject(self, hook: str, text: str) -> None:
        """What a hook added, as the client writes it down."""
        attached = {"type": "hook_additional_context", "hookName": hook, "content": [text]}
        self.session.row("attachment", attachment=attached)

    def play(self) -> Played:
        """All of it."""
        session = self.session
        self.send(event("SessionStart", session, source="startup"))
        session.prompt("Find out why <script>alert('x')</script> the import drops rows.")
        session.reply(24_000, text_block("I look into it."))
        self.inject("UserPromptSubmit", "Always answer in French.")
        self.call(30_000, "ok " * 900)
        self.call(36_000, LOG, "cat logs/import.log")
        tokens = 36_900
        for step in range(36):
            added = (1_800, 5_200, 2_400, 900, 7_100, 3_000)[step % 6]
            text = CODE[: int(added * CHARACTERS_PER_TOKEN)]
            self.call(tokens, text, f"cat src/importer/part_{step}.py")
            tokens += added + 120
        self.send(event("PreCompact", session, trigger="auto", custom_instructions=""))
        card = self.send(event("SessionStart", session, source="compact"))
        self.send(event("PostCompact", session, trigger="auto", compact_summary="Summary."))
        session.compact(161_000, summary="The summary. " * 200)
        self.inject("SessionStart:compact", card["hookSpecificOutput"]["additionalContext"])
        session.prompt("Now the weekly one.")
        self.call(41_000, "ok " * 500)
        session.reply(43_000)
        return self
