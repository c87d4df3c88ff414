"""Each strategy takes what it is meant to take, and its savings are counted by themselves."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from brimline.session import purge as purging
from brimline.store import contents, stub

from .recorded import call, data, output, prepare, purge, restore, results, rows, talk

if TYPE_CHECKING:
    from brimline.testing import SessionBuilder


def only(*names: str) -> dict[str, Any]:
    """Options for some strategies alone."""
    return {"strategies": frozenset(names)}


def progress(session: SessionBuilder, call_id: str, parent: str | None) -> str | None:
    """A row that tells how far a call has come, beside the chain; returns its name."""
    last = session.parent
    session.parent = parent
    told = {"type": "bash_progress", "output": "x" * 400}
    row = session.row("progress", data=told, toolUseID=call_id, parentToolUseID=call_id)
    session.parent = last
    name: str = row["uuid"]
    return name


def test_reads_that_were_repeated_go(session: SessionBuilder, home_dir: str) -> None:
    """Also small ones; the last read and reads of other files stay."""
    session.prompt()
    first = call(session, output("v1", 2_000), "Read", file_path="/a.py")
    other = call(session, output("b", 2_000), "Read", file_path="/b.py")
    last = call(session, output("v2", 2_000), "Read", file_path="/a.py")
    talk(session)

    found = prepare(session, home_dir)
    purge(session, home_dir)

    after = results(session)
    assert found.savings["superseded"].items == 1
    assert found.savings["old"].items == 0
    assert "read or changed again later" in after[first]
    assert "or Read it again" in after[first]
    assert after[other] == output("b", 2_000)
    assert after[last] == output("v2", 2_000)


@pytest.mark.parametrize("tool", ["Edit", "Write", "MultiEdit", "NotebookEdit"])
def test_reads_of_files_that_were_written_later_go(
    session: SessionBuilder, home_dir: str, tool: str
) -> None:
    """What was read is no longer what the file holds."""
    name = "notebook_path" if tool == "NotebookEdit" else "file_path"
    session.prompt()
    first = call(session, output("v1", 2_000), "Read", file_path="/a.py")
    call(session, "done", tool, **{name: "/a.py"})
    talk(session)

    purge(session, home_dir)

    assert "read or changed again later" in results(session)[first]


def test_a_part_does_not_supersede_the_whole(session: SessionBuilder, home_dir: str) -> None:
    """A later read counts only if it asked for at least the same lines, and got them."""
    session.prompt()
    whole = call(session, output("all", 2_000), "Read", file_path="/a.py")
    part = call(session, output("part", 2_000), "Read", file_path="/a.py", offset=10, limit=20)
    call(session, output("p2", 2_000), "Read", file_path="/a.py", offset=5, limit=30)
    refused = session.tool_call(50_000, "Read", file_path="/a.py")
    block = {"type": "tool_result", "tool_use_id": refused, "content": "no", "is_error": True}
    session.row("user", message={"role": "user", "content": [block]})
    call(session, "File unchanged since last read. Refer to it.", "Read", file_path="/a.py")
    talk(session)

    purge(session, home_dir)

    after = results(session)
    assert after[whole] == output("all", 2_000)
    assert stub.parse(after[part]) is not None


def test_of_equal_results_the_last_stays(session: SessionBuilder, home_dir: str) -> None:
    """Word for word the same, whichever tools returned them."""
    session.prompt()
    first, second = call(session, output("log", 2_000)), call(session, output("log", 2_000))
    last = call(session, output("log", 2_000), "Grep", pattern="x")
    talk(session)

    found = prepare(session, home_dir)
    purge(session, home_dir)

    after = results(session)
    assert found.savings["duplicates"].items == 2
    assert "came again later" in after[first]
    assert "came again later" in after[second]
    assert after[last] == output("log", 2_000)


def test_a_result_counts_once(session: SessionBuilder, home_dir: str) -> None:
    """Large, repeated and superseded: one strategy has it, so savings add up to the whole."""
    session.prompt()
    for _ in range(3):
        call(session, output("same"), "Read", file_path="/a.py")
    talk(session)
    before = len(data(session))

    found = prepare(session, home_dir, **only("old", "superseded", "duplicates"))
    purge(session, home_dir, **only("old", "superseded", "duplicates"))

    items = {name: saving.items for name, saving in found.savings.items()}
    assert items == {"old": 1, "superseded": 2, "duplicates": 0}
    assert before - len(data(session)) == found.disk_bytes


def test_copies_go_from_the_disk_and_results_stay(session: SessionBuilder, home_dir: str) -> None:
    """Nothing but the client's own field leaves the row; no context is claimed for it."""
    session.prompt()
    call(session, output("a", 3_000))
    talk(session)
    before = rows(session)

    found = prepare(session, home_dir, **only("copies"))
    purge(session, home_dir, **only("copies"))

    saving = found.savings["copies"]
    assert (saving.items, saving.context_items) == (1, 0)
    for row in before:
        row.pop("toolUseResult", None)
    assert rows(session) == before
    assert json.dumps(rows(session)) == json.dumps(before)


@pytest.mark.parametrize("tool", ["Agent", "Task", "TaskCreate", "TodoWrite", "ExitPlanMode"])
def test_copies_that_the_client_goes_on_from_stay(
    session: SessionBuilder, home_dir: str, tool: str
) -> None:
    """Agents, tasks and plans live in them."""
    session.prompt()
    call(session, output("a", 3_000), tool, description="x")
    talk(session)

    assert prepare(session, home_dir, **only("copies")).is_empty


def test_progress_rows_go_unless_something_hangs_on_them(
    session: SessionBuilder, home_dir: str
) -> None:
    """One that is on the way from a message to its parents stays, and so do recent ones."""
    session.prompt()
    call_id = session.tool_call(50_000, command="make")
    asked = session.parent
    loose = [progress(session, call_id, asked) for _ in range(3)]
    before_chained = progress(session, call_id, asked)
    chained = progress(session, call_id, before_chained)
    session.parent = chained
    session.tool_result(call_id, "ok")
    talk(session)
    recent = progress(session, call_id, session.parent)

    found = prepare(session, home_dir)
    purge(session, home_dir)

    names = [row["uuid"] for row in rows(session)]
    assert found.savings["progress"].items == 3
    assert not set(loose) & set(names)
    assert {before_chained, chained, recent} <= set(names)
    parents = {row["parentUuid"] for row in rows(session)} - {None}
    assert parents <= set(names)


@pytest.mark.row("S3-43")
def test_truncate_keeps_the_first_500_bytes_and_says_how_many_there_were(
    session: SessionBuilder, home_dir: str
) -> None:
    """Bytes, not characters; what was cut is in the store and comes back with a restore."""
    session.prompt()
    ascii_id = call(session, "x" * 6_000)
    wide_id = call(session, "é€" * 3_000)
    talk(session)
    original = data(session)

    purge(session, home_dir, **only("truncate"))

    assert results(session)[ascii_id] == "x" * 500 + "[TRUNCATED - original: 6000 bytes]"
    kept, _, told = results(session)[wide_id].partition("[TRUNCATED")
    assert len(kept.encode()) == 500
    assert told == " - original: 15000 bytes]"
    assert prepare(session, home_dir, **only("truncate")).is_empty
    assert prepare(session, home_dir, threshold_bytes=100).savings["old"].items == 0
    restore(session.path, home_dir)
    assert data(session) == original


@pytest.mark.row("S3-71")
def test_recent_results_stay_whatever_else_goes(session: SessionBuilder, home_dir: str) -> None:
    """As many requests as the setting says are left alone, by every strategy."""
    session.prompt()
    recent = call(session, output("recent"))

    plan = prepare(session, home_dir, strategies=frozenset(purging.STRATEGIES))
    assert (plan.savings["old"].items, plan.savings["truncate"].items) == (0, 0)
    assert plan.kept["recent"] == 1
    purge(session, home_dir, keep_requests=0)

    assert not results(session)[recent].startswith("recent")


def test_a_reference_names_a_failed_commands_exit_code(
    session: SessionBuilder, home_dir: str
) -> None:
    """What is known without looking is told in the reference."""
    session.prompt()
    call_id = session.tool_call(50_000, command="make\n  all  " + "x" * 100)
    block = {
        "type": "tool_result",
        "tool_use_id": call_id,
        "content": "Exit code 2\n" + output("failure"),
        "is_error": True,
    }
    session.row("user", message={"role": "user", "content": [block]})
    talk(session)

    purge(session, home_dir)

    found = stub.parse(results(session)[call_id])
    assert found is not None
    assert found.exit_code == 2
    assert found.source == "make all " + "x" * 50 + "…"
    assert contents.meta(home_dir, found.key)["exit"] == 2


def test_a_list_of_blocks_keeps_its_form(session: SessionBuilder, home_dir: str) -> None:
    """Large texts in it become references one by one; images and small texts stay."""
    session.prompt()
    call_id = session.tool_call(50_000, "mcp__lab__big", query="q")
    image = {"type": "image", "source": {"type": "base64", "data": "A" * 9_000}}
    blocks = [
        {"type": "text", "text": output("one")},
        image,
        {"type": "text", "text": "small"},
        {"type": "text", "text": output("two")},
    ]
    block = {"type": "tool_result", "tool_use_id": call_id, "content": blocks}
    session.row("user", message={"role": "user", "content": [block]})
    talk(session)
    original = data(session)

    purge(session, home_dir)

    (row,) = [row for row in rows(session) if row["type"] == "user" and "uuid" in row][1:]
    content = row["message"]["content"][0]["content"]
    assert [part["type"] for part in content] == ["text", "image", "text", "text"]
    assert content[1:3] == blocks[1:3]
    assert stub.parse(content[0]["text"]) is not None
    assert stub.parse(content[3]["text"]) is not None
    restore(session.path, home_dir)
    assert data(session) == original


def test_results_that_the_client_itself_cleared_save_no_context(
    session: SessionBuilder, home_dir: str
) -> None:
    """They are on the disk, but in no request any more."""
    session.prompt()
    call_id = call(session, output("cleared"))
    told = {"trigger": "auto", "compactedToolIds": [call_id]}
    session.row("system", subtype="microcompact_boundary", microcompactMetadata=told)
    talk(session)

    saving = prepare(session, home_dir).savings["old"]

    assert (saving.items, saving.context_items) == (1, 0)


def test_every_strategy_is_described() -> None:
    """What can be chosen has words for the table."""
    assert set(purging.STRATEGIES) > purging.DEFAULT
