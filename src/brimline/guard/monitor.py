"""The tiers: whether the one a reading is in is news, what is said, and what follows from it.

Fast path: imports nothing at module level; it is loaded only once a tier was reached.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from brimline.fast.decision import Decision
    from brimline.hooks.turn import Turn

# The estimated part of a reading wavers from call to call; a tier is left only past this much.
REARM_POINTS = 2
# In this many of the last tiers the hook writes a checkpoint by itself.
CHECKPOINT_TIERS = 2
# Models that bind their thinking say in it what others say as text, and no compaction keeps it.
THINKING = " Thinking will not survive: write its reasons down too."


def decide(turn: Turn) -> Decision | None:
    """Speak when a tier is entered from below; stay silent until it was left again.

    Where the preset says so, the last tier speaks again with each model request, and a preset may
    repeat every tier.
    """
    preset, reading = turn.policy.preset, turn.reading
    if reading.tier is None or not preset["tiers"]:
        return None
    _release_tiers_that_were_left(turn)
    if reading.tier == 0 or turn.event.name not in preset["events"]:
        return None
    return announce_tier_if_due(turn)


def announce_tier_if_due(turn: Turn) -> Decision | None:
    """Announce the tier a reading is in, unless that was done and is not to be repeated."""
    preset, reading = turn.policy.preset, turn.reading
    lasting = preset["persistent"] and reading.tier == reading.tier_count > 1
    if lasting and not turn.state.claim_speaking_for_request(reading.offset):
        return None  # a parallel call of the same request has spoken
    # A steep climb has skipped the tiers below, which are taken with this one.
    levels = range(1, (reading.tier or 0) + 1)
    entered = [level for level in levels if turn.state.claim_level(level, reading.offset)]
    won = reading.tier in entered
    if won:
        _record_tiers(turn, entered)
        _save_checkpoint_in_last_tiers(turn)
    if not (won or lasting or preset["repeats"]):
        return None
    from brimline.fast.decision import Decision
    from brimline.gauge import wording
    from brimline.state.session import MOD_ALIVE

    text = _announcement_text(turn, preset["tiers"], first=won)
    person = _announcement_text(turn, preset["person"], first=won) if preset["person"] else ""
    # Context added at the end of a turn would make the model go on; the person is told instead.
    if turn.event.name == "Stop":
        return Decision(person_notes=(person or text,))
    # Of a tool's hook, in whose place the mod answers, the client shows no note.
    is_for_mod = turn.event.name == "PostToolUse" if person else won
    if MOD_ALIVE in turn.state.names and is_for_mod:
        notice = person or wording.tier_entry_notice_text(reading.document())
        until = "prompt" if person else "request"
        turn.attempt("notice", turn.state.save_mod_notice, notice, until)
        person = ""
    return Decision(model_notes=(text,), person_notes=(person,) if person else ())


def template_fields(turn: Turn) -> dict[str, Any]:
    """Return what any template may name."""

    reading = turn.reading
    occupancy, window = reading.occupancy_tokens or 0, reading.window.tokens
    return {
        # How our commands begin where the person types them.
        "brim": turn.state.command_start,
        "occupancy": occupancy,
        "window": window,
        "percent": min(100.0, 100 * occupancy / window),
        "floor": occupancy * 100 // window,
        "in_use": f"{occupancy:,} of {window:,} tokens in use",
    }


def _announcement_text(turn: Turn, words: dict[str, str], *, first: bool) -> str:
    """The text for a tier when it is entered, or while it lasts."""
    from brimline.gauge.wording import distance_to_end_text

    reading = turn.reading
    level = reading.tier or 0
    is_last = level == reading.tier_count > 1
    template = words.get("last" if is_last else f"L{level}", words["other"])
    name = turn.policy.preset["names"].get(f"L{level}", f"L{level}")
    steep = " (raised one level because the context is filling fast)" if reading.raised else ""
    return (template if first else words.get("again", template)).format_map(
        template_fields(turn)
        | {
            "head": f"[brimline] Context tier {name}{steep}.",
            "thinking": THINKING if reading.known_model.binds_thinking else "",
            "distance": distance_to_end_text(reading.document()),
        }
    )


def _release_tiers_that_were_left(turn: Turn) -> None:
    """Forget the tiers that a reading has clearly left, so that the next climb is announced again.

    The reading must be newer than the announcement: a hook that started earlier may still hold an
    older one. A tier that steep growth holds up is not left, wherever the reading stands.
    """
    reading = turn.reading
    tokens, tier = reading.ladder_tokens or 0, reading.tier or 0
    for level, offset in turn.state.offsets_of_spoken_levels().items():
        has_left = level > tier and reading.ladder.is_clearly_below(level, tokens, REARM_POINTS)
        if has_left and reading.offset > offset:
            turn.state.release_level(level)


def _record_tiers(turn: Turn, entered: list[int]) -> None:
    """Leave a line in the audit log for every tier that was entered, also on the way."""
    from brimline.state import logs

    figures = turn.reading.recorded_figures()
    for level in entered:
        fields = {"kind": "escalation", "level": level}
        turn.attempt("audit", logs.audit_notice, turn.home, turn.state.session_id, figures, fields)


def _save_checkpoint_in_last_tiers(turn: Turn) -> None:
    """Note that a tier is announced, and save a checkpoint in the last two."""
    from brimline.carry.hook import checkpoint_or_raise_if_on

    level = turn.reading.tier or 0
    turn.spool_event("Announced", spoke=level)
    if level >= turn.reading.tier_count - CHECKPOINT_TIERS + 1:
        turn.attempt("checkpoint", checkpoint_or_raise_if_on, turn, f"L{level}")
