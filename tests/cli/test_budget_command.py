"""`brimline budget`: what is given is kept, secrets aside, and shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from brimline.fast import paths
from brimline.testing import SessionBuilder

if TYPE_CHECKING:
    from .conftest import Refused, Run

TOKEN = "ghp_abcdefghijklmnopqrst0123"  # noqa: S105 - looks like one, and is none


@pytest.fixture(autouse=True)
def session(project_dir: str) -> SessionBuilder:
    """A session of the project."""
    path = f"{paths.project_transcripts_dir(project_dir)}/abc.jsonl"
    built = SessionBuilder(path, session_id="abc", cwd=project_dir)
    built.reply(50_000)
    return built


def test_without_an_operation_the_compartments_are_shown(brimline: Run) -> None:
    """Of the newest session."""
    shown, named = brimline("budget", "--json").document, brimline("budget", "get", "--json")

    assert shown == named.document
    assert (shown["session_id"], shown["operation"]) == ("abc", "get")
    assert len(shown["compartments"]) == 5


def test_an_item_is_kept_with_its_priority_and_its_pin(brimline: Run) -> None:
    """Five, and not pinned, unless told otherwise; what looks like a secret is masked."""
    words = ("budget", "add", "--in", "active_task", "--json", "--text")

    plain = brimline(*words, f"Use {TOKEN} now.").document["item"]
    urgent = brimline(*words, "Ship it.", "--priority", "9", "--pinned").document["item"]

    assert (plain["priority"], plain["pinned"]) == (5, False)
    assert TOKEN not in plain["text"]
    assert plain["text"].startswith("Use ")
    assert (urgent["priority"], urgent["pinned"], urgent["text"]) == (9, True, "Ship it.")
    gone = brimline("budget", "remove", "--id", plain["id"][:4], "--json").document["item"]
    assert gone["id"] == plain["id"]
    listed = brimline("budget", "list", "--in", "active_task", "--json").document["items"]
    assert [item["id"] for item in listed] == [urgent["id"]]


def test_what_is_no_operation_or_compartment_is_wrong_usage(refused: Refused) -> None:
    """In one line."""
    assert "'grow'" in refused("budget", "grow", code=2)
    assert "'attic'" in refused("budget", "add", "--in", "attic", "--text", "x", code=2)
    assert "text" in refused("budget", "add", "--in", "active_task")
