"""The events around a compaction, from the client's payloads to the carry room and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from brimline import fastio
from brimline.carry import crossing
from brimline.decision import Decision
from brimline.state.failures import guarded

if TYPE_CHECKING:
    from brimline.hooks.wire import Event
    from brimline.state.session import SessionState


def about(
    event: Event, state: SessionState, values: dict[str, Any], home_dir: str, project_dir: str
) -> crossing.Session:
    """The session of an event."""
    return crossing.Session(home_dir, state, event.text("transcript_path"), project_dir, values)


def before(session: crossing.Session, trigger: str, figures: dict[str, Any]) -> Decision | None:
    """PreCompact: what is printed goes into the request for the summary."""
    if not session.values["carry.enabled"]:
        return None
    prepared = crossing.before(session, trigger, figures)
    if prepared.refusal:
        return Decision(permission="deny", reason=prepared.refusal)
    return Decision(model_notes=(prepared.instructions,)) if prepared.instructions else None


def at_start(session: crossing.Session, source: str) -> Decision | None:
    """SessionStart: the card after a compaction, a pointer otherwise."""
    if not session.values["carry.enabled"]:
        return None
    found: list[str] = []
    pid = fastio.env("CLAUDE_PID")
    guarded(
        session.home_dir, "carry", lambda: found.extend(crossing.at_start(session, source, pid))
    )
    return Decision(model_notes=tuple(found)) if found else None


def after(session: crossing.Session, summary: str, trigger: str) -> None:
    """PostCompact: what the summary dropped."""
    if session.values["carry.enabled"] and summary:
        guarded(session.home_dir, "audit", lambda: crossing.after(session, summary, trigger))


def remainder(state: SessionState) -> Decision | None:
    """What the summary dropped and the card did not hold, with the next result or prompt."""
    text = crossing.take_remainder(state)
    return Decision(model_notes=(text,)) if text else None


def keep_up(session: crossing.Session) -> None:
    """The session has grown much: read on in it, so that a compaction finds little left."""
    if session.values["carry.enabled"]:
        guarded(session.home_dir, "carry", lambda: crossing.keep_up(session))


def at_end(event: Event, session: crossing.Session) -> None:
    """SessionEnd: what is left for the next session of the project, and for the person."""
    if session.values["carry.enabled"] and event.text("reason") != "resume":
        crossing.at_end(session)


def note_agent(event: Event, session: crossing.Session) -> None:
    """SubagentStop: what an agent reported; compactions end with one that has no type."""
    from brimline.carry import notes

    if not session.values["carry.enabled"] or not event.text("agent_type"):
        return
    notes.add_agent(
        session.home_dir,
        session.state.session_id,
        agent_type=event.text("agent_type"),
        report=event.text("last_assistant_message"),
        transcript=event.text("agent_transcript_path"),
    )
