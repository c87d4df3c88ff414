"""The user's last prompts: what was typed, and nothing that the client put in its place."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from brimline.transcript.tail import last_prompts

if TYPE_CHECKING:
    from brimline.testing import SessionBuilder


def test_the_last_prompts_come_oldest_first(session: SessionBuilder) -> None:
    """As many as were asked for, or as there are."""
    for number in range(4):
        session.prompt(f"prompt {number}")
        session.reply(1_000)

    assert last_prompts(session.path, 2) == ["prompt 2", "prompt 3"]
    assert last_prompts(session.path, 9) == [f"prompt {number}" for number in range(4)]


def test_results_and_notices_are_no_prompts(session: SessionBuilder) -> None:
    """Only what the user typed counts, of all rows that bear the user's name."""
    session.prompt("typed")
    call = session.tool_call(1_000)
    session.tool_result(call, "output of a tool")
    session.prompt("caveat of the client", isMeta=True)
    session.prompt("of a subagent", isSidechain=True)
    session.prompt("shown to the person", isVisibleInTranscriptOnly=True)
    session.prompt("   ")
    session.row("system", content="of the client")
    session.row("attachment", rendered="of the client")

    assert last_prompts(session.path, 9) == ["typed"]


def test_prompts_from_before_a_compaction_are_found(session: SessionBuilder) -> None:
    """The summary is the client's; what the user said before it is still theirs."""
    session.prompt("before")
    session.compact(167_000, summary="A summary.")
    session.prompt("after")

    assert last_prompts(session.path, 5) == ["before", "after"]


def test_torn_and_foreign_lines_are_passed_over(session: SessionBuilder) -> None:
    """Neither a half-written row nor two on one line lose a prompt."""
    session.prompt("first")
    session.raw('{"type": "user", "message": {"con\n')
    session.raw("\x00\n[1, 2]\nnull\n")
    session.prompt("second")
    path = Path(session.path)
    path.write_bytes(path.read_bytes().rstrip(b"\n"))
    session.prompt("third")

    assert last_prompts(session.path, 9) == ["first", "second", "third"]


def test_what_cannot_be_read_has_no_prompts(tmp_path: Path) -> None:
    """A missing file, an empty one, a folder: none of them stops a checkpoint."""
    (tmp_path / "empty").write_bytes(b"")

    for name in ("missing", "empty", "."):
        assert last_prompts(str(tmp_path / name), 5) == []


def test_the_search_for_prompts_ends_somewhere(session: SessionBuilder) -> None:
    """A checkpoint is written within a hook: what lies megabytes back is not looked for."""
    session.prompt("long ago")
    for _ in range(3):
        session.row("progress", data="x" * 1_000_000)
    session.prompt("lately")

    assert last_prompts(session.path, 5) == ["lately"]
