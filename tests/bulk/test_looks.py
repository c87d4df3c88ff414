"""How much a session was shown of stored content."""

from __future__ import annotations

import pytest

from brimline.bulk import looks, put, tool_results


@pytest.mark.parametrize(
    ("asked", "shown"),
    [
        ("", "one\ntwo"),
        (" --lines 1:1", "one"),
        (" | head -1", "one"),
        ("", "[brimline recall x]\none"),
    ],
)
def test_what_came_back_counts_by_its_bytes(home_dir: str, asked: str, shown: str) -> None:
    """Without the line that our own answer begins with."""
    key = put.put(home_dir, b"one\ntwo", {"tool": "Bash"})
    call = {"command": f"brimline store get {key}{asked}"}
    result = tool_results.parse_answer("Bash", call, {"stdout": shown, "stderr": ""})
    assert result is not None

    ((fetched_key, meta, size),) = looks.recalls_shown_by_call(home_dir, "Bash", call, result)

    assert (fetched_key, meta["tool"]) == (key, "Bash")
    assert size == len(shown.partition("]\n")[2] or shown)
