"""What commands read and save of a session: its record up to now, and a checkpoint on demand."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from brimline.carry import ledger, session_record
from brimline.errors import SessionError
from brimline.settings import config
from brimline.testing import SessionBuilder

ID = "1f0c2d3e-aaaa-4bbb-8ccc-000000000002"


@pytest.fixture
def recorded(world: Path) -> SessionBuilder:
    """A session in the client's folder, of another project than the current one."""
    path = world / "home" / ".claude" / "projects" / "-home-dev-other" / f"{ID}.jsonl"
    made = SessionBuilder(str(path), ID, "/home/dev/other")
    made.prompt("Never touch billing.")
    made.reply(20_000)
    return made


def test_a_session_is_found_with_its_transcript_and_project(
    home_dir: str, project_dir: str, recorded: SessionBuilder
) -> None:
    """One that has none is that of the current folder."""
    place = session_record.choose_session(home_dir, ID[:8])

    assert place == (ID, recorded.path, "/home/dev/other")
    assert session_record.transcript_and_project_of_id("gone") == ("gone", None, os.getcwd())
    with pytest.raises(SessionError):
        session_record.choose_session(home_dir, "ffffffff")


def test_what_a_hook_had_no_time_for_is_read_now(home_dir: str, recorded: SessionBuilder) -> None:
    """From the beginning of the transcript."""
    cut = ledger.Ledger(ID)
    cut.unread_bytes = 5
    cut.cursor = {"offset": os.path.getsize(recorded.path), "print": "x"}
    ledger.save(home_dir, cut)

    record = session_record.bring_whole_ledger_up_to_date(
        home_dir, session_record.transcript_and_project_of_id(ID)
    )

    assert [message["text"] for message in record.messages] == ["Never touch billing."]
    assert record.unread_bytes == 0
    assert [m["text"] for m in ledger.load(home_dir, ID).messages] == ["Never touch billing."]


def test_a_checkpoint_on_demand_says_where_it_is_and_what_is_missing(
    home_dir: str, project_dir: str, recorded: SessionBuilder
) -> None:
    """With how full the session was."""
    policy = config.build_live_policy(home_dir, project_dir)
    policy.values["carry.critical_files"] = ["plan.md"]

    document = session_record.save_checkpoint(
        home_dir, session_record.transcript_and_project_of_id(ID), policy
    )

    assert document["session_id"] == ID
    saved = Path(document["path"]).read_text(encoding="utf-8")
    assert "Never touch billing." in saved
    assert "- tokens in use: 20," in saved
    assert session_record.saved_checkpoint_text(document) == "\n".join(
        [document["path"], "not kept: /home/dev/other/plan.md: No such file or directory"]
    )
