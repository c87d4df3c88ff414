"""The scout's face to the hooks: asked before a read, once `brimline scout on` registered it.

Fast path: imports nothing.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from brimline.fast.decision import Decision
    from brimline.hooks.turn import Turn


def pre_tool_use(turn: Turn) -> Decision | None:
    """Advise against a read into an ignored folder, or refuse it; either is on record."""
    event, mode = turn.event, turn.values["scout.mode"]
    if mode == "off":
        return None  # switched off while this session runs
    from brimline.scout import reads
    from brimline.state import logs

    decision = reads.decide(
        event.tool, event.tool_input, cwd=event.cwd, project_dir=turn.project, mode=mode
    )
    if decision and decision.permission:
        turn.spool_event("Blocked", blocked=True, tool=event.tool, subject="a read")
        fields = {"kind": "block", "subject": f"a read by {event.tool}", "reason": "scout"}
        turn.attempt("audit", logs.audit_notice, turn.home, turn.state.session_id, {}, fields)
    elif decision:
        turn.spool_event("Advised", tool=event.tool)
    return decision
