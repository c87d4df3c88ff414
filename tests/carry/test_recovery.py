"""After a compaction the model is told whether its state was saved, and gets it back."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from brimline import paths, settings
from brimline.carry import crossing, reading
from brimline.carry.session import Session
from brimline.state.session import SessionState

if TYPE_CHECKING:
    from brimline.testing import SessionBuilder

RULE = "Never touch the billing tables."
ROOM = 9_000


@pytest.fixture
def about(session: SessionBuilder, home_dir: str, project_dir: str) -> Session:
    """A session with a rule in it."""
    session.prompt(f"Make the nightly import faster. {RULE}")
    session.reply(160_000)
    return fresh(session, home_dir, project_dir)


def fresh(session: SessionBuilder, home_dir: str, project_dir: str, **changes: Any) -> Session:
    """The session as the next hook finds it."""
    state = SessionState(home_dir, session.session_id)
    values = settings.defaults() | changes
    return Session(home_dir, state, session.path, project_dir, values)


@pytest.mark.row("S4-23")
def test_a_saved_state_is_handed_back_and_a_failed_save_is_told(
    about: Session, session: SessionBuilder, home_dir: str, project_dir: str
) -> None:
    """The card says that it may be incomplete only where the checkpoint could not be written."""
    folder = paths.carry_session_dir(home_dir, session.session_id)
    os.makedirs(f"{folder}/checkpoint.md")
    crossing.before(about, "auto", {})
    (degraded,) = crossing.at_start(fresh(session, home_dir, project_dir), "compact", None, ROOM)
    os.rmdir(f"{folder}/checkpoint.md")

    crossing.before(fresh(session, home_dir, project_dir), "auto", {})
    (good,) = crossing.at_start(fresh(session, home_dir, project_dir), "compact", None, ROOM)

    assert "could not be saved; this may be incomplete" in degraded
    assert "could not be saved" not in good
    assert RULE in good
    assert RULE in degraded


@pytest.mark.row("S4-22")
def test_only_a_manual_compaction_is_refused_and_only_once_a_minute(
    about: Session, session: SessionBuilder, home_dir: str, project_dir: str
) -> None:
    """An automatic one goes ahead whatever happens."""
    os.makedirs(f"{paths.carry_session_dir(home_dir, session.session_id)}/checkpoint.md")

    automatic = crossing.before(about, "auto", {})
    first = crossing.before(fresh(session, home_dir, project_dir), "manual", {})
    second = crossing.before(fresh(session, home_dir, project_dir), "manual", {})

    assert automatic.refusal == ""
    assert RULE in automatic.instructions
    assert "could not be saved" in first.refusal
    assert second.refusal == ""


@pytest.mark.row("S4-35")
def test_a_resumed_session_gets_its_card_only_where_it_was_compacted(
    about: Session, session: SessionBuilder, home_dir: str, project_dir: str
) -> None:
    """What was never compacted is still in its window."""
    before = crossing.at_start(about, "resume", None, ROOM)
    session.compact(167_000)
    after = crossing.at_start(fresh(session, home_dir, project_dir), "resume", None, ROOM)

    assert before == []
    assert RULE in after[0]


@pytest.mark.row("S4-35")
def test_after_clear_the_session_before_is_named_and_can_be_fetched(
    about: Session, session: SessionBuilder, home_dir: str, project_dir: str
) -> None:
    """Linked by the client's process; nothing is put into the new one unasked."""
    crossing.at_start(about, "startup", "4711", ROOM)
    crossing.before(about, "auto", {})
    later = about._replace(state=SessionState(home_dir, "new-session"), transcript="/none")

    told = crossing.at_start(later, "clear", "4711", ROOM)

    assert len(told) == 1
    assert session.session_id in told[0]
    assert RULE not in told[0]
    assert reading.load(home_dir, "new-session").previous == session.session_id
