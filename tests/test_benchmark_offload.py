"""The replay behind the offload benchmark: what it counts, on sessions made for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from benchmarks import offload

if TYPE_CHECKING:
    from brimline.testing import SessionBuilder

SOURCE = "\n".join(
    f"def handler_{n}(request):\n    return render_{n}(request, {n})\n" for n in range(900)
)


def read(session: SessionBuilder, path: str, content: str, tokens: int) -> None:
    """A file is read, as the client records it."""
    call_id = session.tool_call(tokens, "Read", file_path=path)
    lines = content.count("\n") + 1
    file = {"filePath": path, "content": content, "numLines": lines, "startLine": 1}
    response = {"type": "text", "file": file | {"totalLines": lines}}
    session.tool_result(call_id, content, toolUseResult=response)


def judged(session: SessionBuilder) -> dict[str, float]:
    """All measures of a session."""
    return offload.figures(offload.replay(str(session.path)))


def act(session: SessionBuilder, tool: str, tokens: int = 120_000, **asked: Any) -> None:
    """The model calls a tool."""
    session.tool_result(session.tool_call(tokens, tool, **asked), "done")


def test_what_is_saved_is_a_share_of_the_fullest_request(session: SessionBuilder) -> None:
    """Nothing was used, so nothing is missed."""
    read(session, "/p/a.py", SOURCE, 90_000)
    session.reply(120_000)

    found = judged(session)

    assert found["replaced"] == 1
    assert found["saved"] == pytest.approx((len(SOURCE) - 5_800) / 2.85 / 120_000, abs=0.01)
    assert (found["retention"], found["edits"], found["recalls"]) == (1.0, 0.0, 0.0)


def test_a_name_and_a_line_out_of_sight_are_counted(session: SessionBuilder) -> None:
    """Unless a page brought them back before they were used."""
    line = "return render_700(request, 700)"
    read(session, "/p/a.py", SOURCE, 90_000)
    act(session, "Edit", file_path="/p/a.py", old_string=line, new_string="x")
    act(session, "Bash", command="grep handler_1 /p/a.py")

    found = judged(session)

    assert found["edits"] == pytest.approx(100 / 3)
    assert found["recalls"] == pytest.approx(100 / 3)
    assert found["retention"] < 1


def test_names_in_the_reference_are_in_sight(session: SessionBuilder) -> None:
    """A preview of source lists its definitions."""
    read(session, "/p/a.py", SOURCE, 90_000)
    act(session, "Bash", command="grep handler_1 /p/a.py")

    assert judged(session)["recalls"] == 0.0


def test_a_compaction_begins_a_segment(session: SessionBuilder) -> None:
    """What was replaced before it is saved no more."""
    read(session, "/p/a.py", SOURCE, 110_000)
    session.reply(130_000)
    session.compact(130_000)
    session.reply(105_000)

    first, second = offload.replay(str(session.path))

    assert first.saved > 0
    assert second.saved == 0
