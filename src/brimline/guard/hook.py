"""The guard's face to the hooks: tiers, ceiling, reminder, rate limits.

Fast path: imports nothing.
"""

from __future__ import annotations

from brimline.guard import CEILING_MARK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from brimline.fast.decision import Decision
    from brimline.hooks.turn import Turn


def post_tool_use(turn: Turn) -> Decision | None:
    """Announce a tier that was entered."""
    if not turn.reading.tier and not turn.state.has_spoken:
        return None
    from brimline.guard import monitor

    return monitor.decide(turn)


stop = post_tool_use


def user_prompt_submit(turn: Turn) -> Decision | None:
    """A tier, then the user's reminder, then the rate limits."""
    answers = []
    snapshot = turn.state.snapshot()
    limits = snapshot.rate_limits if snapshot and turn.values["guard.preset"] != "off" else None
    if turn.values["reminder.file"] or limits:
        from brimline.guard import prompts

        answers.append(turn.attempt("reminder", prompts.remind_from_file_on_prompt, turn))
        answers.append(turn.attempt("limits", prompts.tell_rate_limits_in_new_band, turn, limits))
    notes = [decision for decision in answers if decision]
    if notes:
        turn.spool_event("Told", notes=len(notes))
    tier = post_tool_use(turn)
    decisions = [tier, *notes] if tier else notes
    if not decisions:
        return None
    from brimline.fast.decision import merge_decisions

    return merge_decisions(decisions)


def pre_tool_use(turn: Turn) -> Decision | None:
    """The ceiling, before an agent or a skill is loaded."""
    from brimline.guard import ceiling

    return ceiling.decide(turn)


def session_start(turn: Turn) -> Decision | None:
    """The user's reminder."""
    if not turn.values["reminder.file"]:
        return None
    from brimline.guard import prompts

    return prompts.remind_from_file_at_start(turn)


def post_compact(turn: Turn) -> None:
    """The next climb is news, for tiers and ceiling alike."""
    if any(name.startswith(CEILING_MARK) for name in turn.state.names):
        from brimline.guard import ceiling

        ceiling.forget_advice(turn.state)
    for level in turn.state.offsets_of_spoken_levels():
        turn.state.release_level(level)
