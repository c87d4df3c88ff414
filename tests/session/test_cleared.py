"""Where no mod runs, the hooks say what requests have no more."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from brimline.bulk import contents
from brimline.fast import paths
from brimline.state.session import SessionState

if TYPE_CHECKING:
    from tests.guard.dialogue import Talk

BY_SERVICE = {
    "applied_edits": [
        {"type": "clear_thinking_20251015", "cleared_input_tokens": 70},
        {
            "type": "clear_tool_uses_20250919",
            "cleared_tool_uses": 8,
            "cleared_input_tokens": 41_000,
        },
    ]
}


@pytest.fixture
def worked(talk: Talk) -> Talk:
    """A session with two results, two hours after the last one."""
    session = talk.session
    session.path = f"{paths.project_transcripts_dir(session.cwd)}/{session.session_id}.jsonl"
    for name in ("a.py", "b.py"):
        session.tool_result(session.tool_call(40_000, "Read", file_path=name), f"{name}: x\n" * 90)
    session.now += 7_200
    return talk


def go_on(talk: Talk, told: object) -> None:
    """A reply whose row says what its request had no more."""
    [reply] = talk.session.reply(21_000)
    talk.session.row("assistant", message=reply["message"] | {"context_management": told})


@pytest.mark.parametrize("at", ["the next call", "the next prompt"])
def test_what_the_client_dropped_is_said_once_with_keys(at: str, worked: Talk) -> None:
    """To the model and to the person."""
    calls = [f"toolu_{number:06d}" for number in range(1, 9)]
    worked.session.cut(*calls, tokens=9_000)
    go_on(worked, {"client_cut_tool_uses": 2, "applied_edits": []})

    answer = worked.after_tool() if at == "the next call" else worked.at_prompt()

    assert answer.note.startswith("[brimline] The client dropped")
    keys = re.findall(r"(\w\.py) sha256:([0-9a-f]{12})", answer.note)
    assert [name for name, _ in keys] == ["b.py", "a.py"]
    home = worked.home_dir
    for name, key in keys:
        assert contents.read_content(home, contents.resolve_key(home, key)).startswith(
            name.encode()
        )
    assert answer.person.endswith("/brim:recall")
    go_on(worked, {"client_cut_tool_uses": 2})
    go_on(worked, {"client_cut_tool_uses": 3})
    assert "dropped" not in worked.after_tool().note + worked.at_prompt().person


def test_what_the_service_left_out_is_said_once(worked: Talk) -> None:
    """It names no results, so words are what finds them; what it leaves out later is no news."""
    go_on(worked, BY_SERVICE)

    answer = worked.after_tool()

    assert "The service left 8 results (~41k tokens) out of the last request" in answer.note
    assert "`query`" in answer.note
    assert answer.person.endswith("nothing is lost: /brim:recall")
    go_on(worked, {"applied_edits": BY_SERVICE["applied_edits"] * 2})
    assert "service" not in worked.after_tool().note


@pytest.mark.parametrize(
    "told", [None, [1], "x", {"applied_edits": {}}, {"applied_edits": [1, {"type": 7}]}]
)
def test_rows_without_news_say_nothing(told: Any, worked: Talk) -> None:
    """Whatever stands there; nor where the person wants silence."""
    go_on(worked, told)
    assert (worked.after_tool().note, worked.after_tool().person) == ("", "")
    go_on(worked, BY_SERVICE)
    SessionState(worked.home_dir, worked.session.session_id).switch_off_or_on(off=True)
    assert worked.after_tool().note == ""
