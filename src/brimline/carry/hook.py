"""Carry's face to the hooks: the whole of a compaction, and what comes before and after it.

Fast path: imports nothing. The names of the room's files in a session's folder are here, so that a
quiet hook can tell from the folder's listing that there is nothing to do.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from brimline.carry.session import Session
    from brimline.decision import Decision
    from brimline.hooks.turn import Turn

# What the summary dropped and the card did not hold, given back once.
REMAINDER = "carry-remainder"
# How long the transcript was when the ledger was last brought up to date by the way.
CARRIED = "carried-"
# After so much new transcript the ledger is brought up to date.
_EVERY_BYTES = 4 << 20
_KEEP_S = 30 * 86_400


def pre_compact(turn: Turn) -> Decision | None:
    """Save the state; what is said goes into the request for the summary."""
    if not turn.values["carry.enabled"]:
        return None
    from brimline.carry import crossing
    from brimline.decision import Decision

    prepared = crossing.before(_session(turn), turn.event.trigger, turn.reading.figures())
    if prepared.refusal:
        return Decision(permission="deny", reason=prepared.refusal)
    return Decision(model_notes=(prepared.instructions,)) if prepared.instructions else None


def session_start(turn: Turn) -> Decision | None:
    """The card after a compaction, a pointer otherwise, rules nobody else loads."""
    if not turn.values["carry.enabled"]:
        return None
    from brimline import fastio
    from brimline.carry import crossing
    from brimline.decision import Decision

    room = turn.note_room() - 2
    pid = fastio.env("CLAUDE_PID")
    found = crossing.at_start(_session(turn), turn.event.source, pid, room)
    return Decision(model_notes=tuple(found)) if found else None


def post_compact(turn: Turn) -> None:
    """Look what the summary dropped."""
    if turn.event.summary and turn.values["carry.enabled"]:
        from brimline.carry import crossing

        crossing.after(_session(turn), turn.event.summary, turn.event.trigger)


def post_tool_use(turn: Turn) -> Decision | None:
    """Read on in a session that grew much; give back what neither summary nor card held."""
    given = REMAINDER in turn.state.names
    grown = turn.reading.offset > _EVERY_BYTES and _has_grown(turn)
    if not (given or grown) or not turn.values["carry.enabled"]:
        return None
    from brimline.carry import crossing
    from brimline.decision import Decision

    if grown:
        turn.attempt("carry", crossing.keep_up, _session(turn))
    text = crossing.take_remainder(turn.state) if given else ""
    return Decision(model_notes=(text,)) if text else None


user_prompt_submit = stop = post_tool_use


def subagent_stop(turn: Turn) -> None:
    """Keep what an agent reported; compactions end with one that has no type."""
    event = turn.event
    if event.agent_type and turn.values["carry.enabled"]:
        from brimline.carry import notes

        notes.add_agent(
            turn.home,
            turn.state.session_id,
            agent_type=event.agent_type,
            report=event.report,
            transcript=event.agent_transcript,
        )


def session_end(turn: Turn) -> None:
    """Leave what the next session of the project is told, and a trace for the person."""
    if turn.values["carry.enabled"]:
        from brimline.carry import crossing

        crossing.at_end(_session(turn))


def tidy(turn: Turn, until: float) -> None:
    """Drop what is carried of sessions that are long gone."""
    from brimline.carry import links

    links.retire(turn.home, turn.state.session_id, _KEEP_S, until)


def _has_grown(turn: Turn) -> bool:
    """Whether much was written since the ledger was brought up to date."""
    marks = [name[len(CARRIED) :] for name in turn.state.names if name.startswith(CARRIED)]
    known = max([int(mark) for mark in marks if mark.isdecimal()], default=0)
    return turn.reading.offset - known > _EVERY_BYTES


def _session(turn: Turn) -> Session:
    from brimline.carry.session import Session

    return Session(turn.home, turn.state, turn.event.transcript, turn.project, turn.values)
