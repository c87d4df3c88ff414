"""The events around a compaction, from the client's payloads to the carry room and back.

Whatever fails in that room costs its answer and nothing else of the event.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from brimline import fastio
from brimline.carry.session import Session
from brimline.decision import Decision
from brimline.state.failures import guarded

if TYPE_CHECKING:
    from collections.abc import Callable

    from brimline.hooks.wire import Event
    from brimline.state.session import SessionState


def about(
    event: Event, state: SessionState, values: dict[str, Any], home_dir: str, project_dir: str
) -> Session:
    """The session of an event."""
    return Session(home_dir, state, event.text("transcript_path"), project_dir, values)


def before(session: Session, trigger: str, figures: dict[str, Any]) -> Decision | None:
    """PreCompact: what is printed goes into the request for the summary."""

    def prepare() -> Decision | None:
        from brimline.carry import crossing

        prepared = crossing.before(session, trigger, figures)
        if prepared.refusal:
            return Decision(permission="deny", reason=prepared.refusal)
        return Decision(model_notes=(prepared.instructions,)) if prepared.instructions else None

    return _try(session, "PreCompact", prepare)


def at_start(session: Session, source: str, room: int) -> Decision | None:
    """SessionStart: the card after a compaction, a pointer otherwise, rules nobody else loads."""

    def start() -> Decision | None:
        from brimline.carry import crossing

        found = crossing.at_start(session, source, fastio.env("CLAUDE_PID"), room)
        return Decision(model_notes=tuple(found)) if found else None

    return _try(session, "carry", start)


def after(session: Session, summary: str, trigger: str) -> None:
    """PostCompact: what the summary dropped."""

    def compare() -> None:
        from brimline.carry import crossing

        crossing.after(session, summary, trigger)

    if summary:
        _try(session, "audit", compare)


def remainder(session: Session) -> Decision | None:
    """What the summary dropped and the card did not hold, with the next result or prompt."""

    def take() -> Decision | None:
        from brimline.carry import crossing

        text = crossing.take_remainder(session.state)
        return Decision(model_notes=(text,)) if text else None

    return _try(session, "carry", take)


def keep_up(session: Session) -> None:
    """The session has grown much: read on in it, so that a compaction finds little left."""

    def read_on() -> None:
        from brimline.carry import crossing

        crossing.keep_up(session)

    _try(session, "carry", read_on)


def at_end(session: Session) -> None:
    """SessionEnd: what is left for the next session of the project, and for the person."""

    def leave() -> None:
        from brimline.carry import crossing

        crossing.at_end(session)

    _try(session, "carry", leave)


def note_agent(event: Event, session: Session) -> None:
    """SubagentStop: what an agent reported; compactions end with one that has no type."""

    def note() -> None:
        from brimline.carry import notes

        notes.add_agent(
            session.home_dir,
            session.state.session_id,
            agent_type=event.text("agent_type"),
            report=event.text("last_assistant_message"),
            transcript=event.text("agent_transcript_path"),
        )

    if event.text("agent_type"):
        _try(session, "carry", note)


def _try(session: Session, what: str, task: Callable[[], Decision | None]) -> Decision | None:
    if not session.values["carry.enabled"]:
        return None
    made: list[Decision | None] = []
    guarded(session.home_dir, what, lambda: made.append(task()))
    return made[0] if made else None
