"""What was done on a day."""

from __future__ import annotations

import json
from datetime import date
from typing import TYPE_CHECKING

import pytest

from brimline.fast import paths
from brimline.figures import day
from brimline.testing import SessionBuilder

if TYPE_CHECKING:
    from tests.cli.conftest import Run

WEDNESDAY = date(2026, 11, 18)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("today", "2026-11-18"),
        ("Yesterday", "2026-11-17"),
        ("tuesday", "2026-11-17"),
        ("wednesday", "2026-11-18"),
        ("thursday", "2026-11-12"),
        ("2026-02-28", "2026-02-28"),
        ("2026-02-30", None),
        ("last week", None),
        ("", None),
    ],
)
def test_a_day_is_named_as_people_do(text: str, meant: str | None) -> None:
    """A weekday is the last one, today included."""
    found = day.parse_day(text, WEDNESDAY)

    assert (str(found) if found else None) == meant


def test_a_day_tells_its_sessions_with_what_they_changed_and_cost(
    project_dir: str, brimline: Run
) -> None:
    """What they did before and afterwards is not in it."""
    folder = paths.project_transcripts_dir(project_dir)
    for name in ("first", "second"):
        session = SessionBuilder(f"{folder}/{name}.jsonl", name, project_dir)
        session.now = 1_790_000_000 + (7_200 if name == "second" else 0)
        session.prompt(f"The {name} wish")
        for file in ("a.py", "b.py") if name == "first" else ():
            block = {"type": "tool_use", "id": file, "name": "Edit", "input": {"file_path": file}}
            usage = {"input_tokens": 100_000, "output_tokens": 1}
            message = {"id": file, "role": "assistant", "model": session.model, "usage": usage}
            session.row("assistant", message=message | {"content": [block]})
            session.now += 86_400 * (file == "a.py")
        session.reply(10_000)

    told = brimline("history", "--day", "2026-09-21", "--json").document

    assert [
        (one["session"], one["title"], one["requests"], one["changed_files"])
        for one in told["sessions"]
    ] == [("first", "The first wish", 1, ["a.py"]), ("second", "The second wish", 1, [])]
    assert told["dollars"] == pytest.approx(sum(one["dollars"] for one in told["sessions"]))
    text = brimline("history", "--day", "2026-09-21").out
    assert text.startswith("2026-09-21: 2 sessions, $")
    assert "The second wish" in text
    assert brimline("history", "--day", "2026-09-20").out == (
        "No session asked for anything on 2026-09-20.\n"
    )
    refused = brimline("history", "--day", "someday")
    assert (refused.code, json.dumps("someday").strip('"') in refused.err) == (2, True)


def test_a_day_tells_commits_and_what_was_compacted_and_lost(
    project_dir: str, brimline: Run
) -> None:
    """A commit that another one replaced is not one more; those of the next day are not in it."""
    session = SessionBuilder(
        f"{paths.project_transcripts_dir(project_dir)}/long.jsonl", "long", project_dir
    )
    session.now = 1_790_000_000
    session.prompt("Find the leak of ghp_abcdefghijklmnopqrst0123")
    for name, command in (("aaaaaaa", "git commit -m one"), ("bbbbbbb", "git commit --amend")):
        made = f"[main {name}] The leak is gone\n 1 file changed"
        session.tool_result(session.tool_call(20_000, command=command), made)
    session.prompt("Now the weekly one")
    session.reply(160_000)
    session.compact(161_000, summary="The leak.")
    session.reply(30_000)
    session.now += 86_400
    call = session.tool_call(31_000, command="git commit -m later")
    session.tool_result(call, "[main ccccccc] Later")

    (told,) = brimline("history", "--day", "2026-09-21", "--json").document["sessions"]

    assert told["commits"] == [["bbbbbbb", "The leak is gone"]]
    assert told["first_prompt"].startswith("Find the leak of ")
    assert "ghp_" not in told["first_prompt"] + told["title"]
    (compaction,) = told["compactions"]
    assert (compaction["pre_tokens"], compaction["post_tokens"]) == (161_000, 30_000)
    assert compaction["lost"]["messages"][1:] == ["Now the weekly one"]
    text = " ".join(brimline("history", "--day", "2026-09-21").out.split())
    assert "1 commit: bbbbbbb The leak is gone" in text
    assert "161,000 tokens before, 30,000 after; not in the summary: 2 messages" in text
