"""What the tests of the ledger share: a session that is written and folded at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from brimline.carry import items
from brimline.carry.fold import fold
from brimline.testing import SessionBuilder, text_block

if TYPE_CHECKING:
    from pathlib import Path


class Talk:
    """A session of which every row goes into a ledger."""

    def __init__(self, folder: Path) -> None:
        """Begin with an empty session."""
        self.session = SessionBuilder(str(folder / "talk.jsonl"))
        self.ledger = items.Ledger(self.session.session_id)
        self.rows: list[Any] = []

    def take(self, *rows: Any) -> None:
        """Fold rows."""
        for row in rows:
            self.rows.append(row)
            fold(self.ledger, row)

    def user(self, text: str, **extra: Any) -> None:
        """The user says something."""
        self.take(self.session.prompt(text, **extra))

    def assistant(self, text: str, **extra: Any) -> None:
        """The assistant says something."""
        self.take(*self.session.reply(20_000, text_block(text), **extra))

    def call(self, name: str, **arguments: Any) -> str:
        """The assistant calls a tool; returns the call's id."""
        call_id = f"toolu_{len(self.rows):06d}"
        block = {"type": "tool_use", "id": call_id, "name": name, "input": arguments}
        self.take(*self.session.reply(20_000, block))
        return call_id

    def result(
        self, call_id: str, content: Any, told: Any = None, *, is_error: bool = False
    ) -> None:
        """The tool answers."""
        block = {"type": "tool_result", "tool_use_id": call_id, "content": content}
        if is_error:
            block["is_error"] = True
        message = {"role": "user", "content": [block]}
        self.take(self.session.row("user", message=message, toolUseResult=told))

    def tool(
        self,
        name: str,
        content: Any = "ok",
        told: Any = None,
        *,
        is_error: bool = False,
        **arguments: Any,
    ) -> None:
        """A tool is called and answers."""
        self.result(self.call(name, **arguments), content, told, is_error=is_error)

    def texts(self, *kinds: str, status: str | None = items.OPEN) -> list[str]:
        """The texts of items of some kinds, the open ones unless told otherwise."""
        return [item.text for item in self.ledger.of(*kinds, status=status)]
