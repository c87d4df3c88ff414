"""The store's face to the hooks: lets our own recall pass, tells of namesakes, and housekeeping.

Fast path: imports nothing.
"""

from __future__ import annotations

NAMESAKE = "{} puts something else named `brimline` in the place of brimline's own."

TYPE_CHECKING = False
if TYPE_CHECKING:
    from brimline.decision import Decision
    from brimline.hooks.turn import Turn


def session_start(turn: Turn) -> Decision | None:
    """Say so where something of a project stands in the place of our server or our mod."""
    from brimline.settings import clientsettings

    found = clientsettings.namesakes(turn.event.cwd or turn.project)
    if not found:
        return None
    from brimline.decision import Decision
    from brimline.foreign import flatten

    note = NAMESAKE.format(flatten(found[0]))
    return Decision(person_notes=(f"brimline: {note}",), model_notes=(f"[brimline] {note}",))


def pre_tool_use(turn: Turn) -> Decision | None:
    """Leave to call `recall`, where the client says that it would ask the user's own server.

    A project's server of that name stands before the user's, so that a permission rule, which knows
    names only, would let a stranger's pass. The client puts a rule that asks or denies above this.
    """
    server = turn.event.payload.get("mcp_server")
    if not isinstance(server, dict) or server.get("source") != "user":
        return None
    from brimline.decision import Decision
    from brimline.settings import clientsettings

    if not clientsettings.is_mcp_server_ours():
        return None
    return Decision(permission="allow", reason="brimline: recall gives what this project stored")


def tidy(turn: Turn, until: float) -> None:
    """The store's limits, once a day."""
    import os

    if os.path.isdir(f"{turn.home}/store"):
        from brimline.store import retention

        limits = (turn.values["store.max_mb"], turn.values["store.max_age_days"])
        retention.tidy(turn.home, *limits, turn.traces, until=until)
