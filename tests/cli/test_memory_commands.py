"""`brimline forget`: what is chosen, and how it is counted."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from brimline.cli import memory_commands
from brimline.fast import paths
from brimline.settings import config
from brimline.state.forgotten import Asked

if TYPE_CHECKING:
    from pathlib import Path

    from .conftest import Run


@pytest.mark.parametrize(
    ("count", "text"),
    [
        ((1, 1, 1, 1), "1 session, 1 entry, 1 output and 1 backup"),
        ((2, 0, 1_000, 3), "2 sessions, 0 entries, 1,000 outputs and 3 backups"),
    ],
)
def test_what_was_forgotten_is_counted_in_words(
    count: tuple[int, int, int, int], text: str
) -> None:
    """One of each is one."""
    document = dict(zip(("sessions", "entries", "outputs", "backups"), count, strict=True))

    assert memory_commands._deleted_counts_text(document) == text


def test_a_session_that_ended_at_midnight_did_not_end_before_that_day(world: Path) -> None:
    """A moment earlier it did."""
    moment = memory_commands._parse_day_as_timestamp("2026-01-31")
    kept = {
        "at": SimpleNamespace(last_at=moment, project=str(world)),
        "before": SimpleNamespace(last_at=moment - 0.001, project=str(world)),
    }

    assert memory_commands._choose_sessions(kept, None, None, "2026-01-31") == Asked(
        ("before",), before=moment
    )


@pytest.mark.parametrize("has_server", [True, False])
def test_what_is_forgotten_here_is_to_be_forgotten_on_the_teams_server(
    has_server: bool, home_dir: str, brimline: Run
) -> None:
    """Where one is named."""
    if has_server:
        config.write_setting(
            paths.user_config(home_dir),
            "memory.url",
            "qdrant+http://127.0.0.1:9/team",
        )

    done = brimline("forget", "--before", "2026-01-31", "--yes")

    told = "`brimline memory sync` deletes it on the team's server too"
    assert (told in done.err) is has_server
    assert done.code == 0
