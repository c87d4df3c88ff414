"""`history --injections`: what hooks and the client put beside the conversation."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from brimline.session import injected
from brimline.testing import text_block

if TYPE_CHECKING:
    from brimline.testing import SessionBuilder


def test_what_was_injected_adds_up_the_largest_first(session: SessionBuilder) -> None:
    """Over all sessions that can be read."""
    session.prompt("Hello.")
    for text, times in (("a reminder " * 200, 1), ("[brimline] a note " * 20, 2)):
        for _ in range(times):
            session.row(
                "attachment",
                attachment={
                    "type": "hook_additional_context",
                    "content": [text],
                    "hookEvent": "UserPromptSubmit",
                    "hookName": "UserPromptSubmit",
                },
            )
    session.reply(9_000, text_block("Yes."))
    sizes: list[int] = []

    document = injected.document([session.path, session.path, "/gone.jsonl"], sizes.append)

    assert document["sessions"] == 2
    rows = document["injections"]
    assert document["injected_tokens"] == sum(row["tokens"] for row in rows) > 0
    assert rows == sorted(rows, key=lambda row: -row["tokens"])
    assert {(row["times"], row["ours"]) for row in rows} == {(2, False), (4, True)}
    assert sum(sizes) == 2 * os.path.getsize(session.path)


def row(**changes: Any) -> dict[str, Any]:
    """A source of the document."""
    usual = {"by": "hooks", "name": "UserPromptSubmit", "ours": False, "times": 3, "tokens": 1_000}
    return usual | changes


def test_the_text_has_a_row_for_each_source() -> None:
    """With what one of them took; ours is named so."""
    document = {
        "sessions": 1,
        "injected_tokens": 1_200,
        "injections": [row(), row(ours=True, name="Stop", times=1, tokens=200)],
    }

    assert injected.text(document).split("\n") == [
        "Injected in 1 session: 1,200 tokens, each text counted once.",
        "tokens  times  each  by        what",
        " 1,000      3   333  hooks     UserPromptSubmit",
        "   200      1   200  brimline  Stop",
    ]
    nothing = injected.text({"sessions": 2, "injected_tokens": 0, "injections": []})
    assert nothing == "Neither hooks nor the client injected anything in 2 sessions."
