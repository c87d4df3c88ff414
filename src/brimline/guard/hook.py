"""The guard's face to the hooks: tiers, ceiling, reminder, rate limits.

Fast path: imports nothing.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from brimline.decision import Decision
    from brimline.hooks.turn import Turn


def post_tool_use(turn: Turn) -> Decision | None:
    """Announce a tier that was entered."""
    if not turn.reading.tier and not turn.state.has_spoken:
        return None
    from brimline.guard import monitor

    return monitor.decide(turn.event.name, turn.reading, turn.state, turn.policy, turn.home)


stop = post_tool_use


def user_prompt_submit(turn: Turn) -> Decision | None:
    """A tier, then the user's reminder, then the rate limits."""
    from brimline.guard import prompt

    told = [decision for decision in prompt.decide(turn.state, turn.policy) if decision]
    if told:
        turn.note("Told", notes=len(told))
    tier = post_tool_use(turn)
    decisions = [tier, *told] if tier else told
    if not decisions:
        return None
    from brimline.decision import merge

    return merge(decisions)


def pre_tool_use(turn: Turn) -> Decision | None:
    """The ceiling before an agent or a skill is loaded."""
    from brimline.guard import ceiling, gate

    load = ceiling.Load(turn.event.tool, turn.event.tool_input)
    decision = gate.decide(load, turn.reading, turn.state, turn.policy, turn.home)
    if decision and not decision.permission:
        turn.note("Advised", tool=load.tool)
    return decision


def session_start(turn: Turn) -> Decision | None:
    """The user's reminder."""
    if not turn.values["reminder.file"]:
        return None
    from brimline.guard import reminder

    return reminder.on_start(turn.state, turn.values)


def post_compact(turn: Turn) -> None:
    """The next climb is news."""
    from brimline.state import marks

    marks.forget_ceiling(turn.state)
    for level in turn.state.spoken_levels():
        turn.state.release_level(level)
