"""The user's last prompts, found from the end of a session."""

from __future__ import annotations

from typing import Any

from brimline.transcript import rows, tail

_LONGEST_CHARACTERS = 4_000


def last(path: str, count: int) -> list[str]:
    """Up to `count` prompts, oldest first; none where the session cannot be read."""
    found: list[str] = []
    try:
        for row in tail.rows_backward(path):
            text = rows.prompt_text(row)
            if text:
                found.insert(0, text[:_LONGEST_CHARACTERS])
            if len(found) == count:
                break
    except OSError:
        return []
    return found


def is_prompt(row: Any) -> bool:
    """Whether a row is something the user typed."""
    return bool(rows.prompt_text(row))
