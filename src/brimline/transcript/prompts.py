"""The user's last prompts, found from the end of a session."""

from __future__ import annotations

from brimline.transcript import rows, tail

_LONGEST_CHARACTERS = 4_000
_WALK_LIMIT_BYTES = 2 << 20


def last(path: str, count: int) -> list[str]:
    """Up to `count` prompts, oldest first; none where the session cannot be read."""
    found: list[str] = []
    try:
        for row in tail.rows_backward(path, b'"user"', _WALK_LIMIT_BYTES):
            text = rows.prompt_text(row)
            if text:
                found.insert(0, text[:_LONGEST_CHARACTERS])
            if len(found) == count:
                break
    except OSError:
        return []
    return found
