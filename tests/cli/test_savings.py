"""`brimline history --savings`: what a person and a program see of what was kept out."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from brimline.state.session import SessionState

if TYPE_CHECKING:
    from collections.abc import Callable

    from .conftest import Outcome

FIRST = "1f0c2d3e-aaaa-4bbb-8ccc-000000000001"
SECOND = "1f0c90aa-aaaa-4bbb-8ccc-000000000002"
FIGURES = {
    "references": 2,
    "stored_bytes": 140_000,
    "would_have_shown_characters": 42_300,
    "reference_characters": 4_000,
    "recalls": 1,
    "recalled_characters": 1_000,
    "kept_out_characters": 37_300,
    "estimated_kept_out_tokens": 13_088,
}


@pytest.fixture
def saved(home_dir: str) -> None:
    """A session with two references, one of an older version, and a recall; one with nothing."""
    spool = SessionState(home_dir, FIRST)
    spool.add_line("SessionStart", {"cwd": "/home/dev/importer", "source": "startup"})
    given = {"tool": "Bash", "key": "sha256:1", "shown": 2_000}
    spool.add_line("Offloaded", given | {"bytes": 100_000, "would": 2_300})
    spool.add_line("Offloaded", given | {"bytes": 40_000})
    spool.add_line("Recalled", {"tool": "Bash", "shown": 1_000})
    SessionState(home_dir, SECOND).add_line("SessionStart", {"cwd": "/home/dev/website"})


def document(brimline: Callable[..., Outcome], *options: str) -> Any:
    """What a program gets."""
    return json.loads(brimline("history", "--savings", "--json", *options).out)


def test_without_any_session_nothing_was_kept_out(brimline: Callable[..., Outcome]) -> None:
    """It is no error."""
    done = brimline("history", "--savings")

    assert (done.code, done.err) == (0, "")
    assert done.out == "Nothing was kept out, and nothing was fetched back.\n"
    assert document(brimline)["sessions"] == []


@pytest.mark.row("S3-01", "S3-28")
@pytest.mark.usefixtures("saved")
def test_savings_are_told_per_session_and_in_total(brimline: Callable[..., Outcome]) -> None:
    """What would have been shown, less references, less what came back."""
    found = document(brimline)

    (one,) = found["sessions"]
    assert one | FIGURES == one
    assert (one["session_id"], one["project"]) == (FIRST, "/home/dev/importer")
    assert found["total"] == FIGURES
    assert (found["session_count"], found["sessions_with_offload"]) == (2, 1)
    out = brimline("history", "--savings").out
    assert "importer" in out
    assert "37.3 kB" in out
    assert "~13,088" in out
    assert all(len(line) <= 100 for line in out.splitlines())


@pytest.mark.usefixtures("saved")
def test_one_session_is_named_by_the_start_of_its_id(brimline: Callable[..., Outcome]) -> None:
    """One that is unknown, or not the only one, is refused in a sentence."""
    assert [one["session_id"] for one in document(brimline, "--session", "1f0c2")["sessions"]] == [
        FIRST
    ]
    for start, reason in (("1f0c", "2 sessions begin with"), ("9", "no session '9' is known")):
        done = brimline("history", "--savings", "--session", start)
        assert done.code == 1
        assert reason in done.err
        assert len(done.err.splitlines()) == 1


def test_savings_and_compactions_exclude_each_other(brimline: Callable[..., Outcome]) -> None:
    """One question at a time."""
    assert brimline("history", "--savings", "--compactions").code == 2
