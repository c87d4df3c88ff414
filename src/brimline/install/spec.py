"""The one list of hook events brimline answers. Installer, doctor and docs are made from it."""

from __future__ import annotations

from typing import NamedTuple

from brimline.guard import ceiling
from brimline.scout.hook import TOOLS

LOADING_TOOLS = "|".join(ceiling.GATED_TOOLS)
GATED_TOOLS = f"{LOADING_TOOLS}|Write"
READING_TOOLS = "|".join(TOOLS)


class HookSpec(NamedTuple):
    """One hook registration in the client's settings."""

    event: str
    matcher: str | None
    timeout_s: int
    purpose: str


HOOKS = (
    HookSpec(
        "SessionStart",
        None,
        10,
        "housekeeping, fresh settings, the card after a compaction, the user's reminder",
    ),
    HookSpec(
        "UserPromptSubmit",
        None,
        10,
        "measures; announces a tier that was entered, a rate limit, a changed reminder",
    ),
    HookSpec(
        "PreToolUse",
        GATED_TOOLS,
        10,
        "the ceiling; an overwrite of a file seen as a preview; with the scout on, also reads",
    ),
    HookSpec(
        "PostToolUse",
        "*",
        10,
        "measures; announces a tier that was entered; keeps large results out of the window",
    ),
    HookSpec("Stop", None, 10, "measures; some presets tell the person here"),
    HookSpec(
        "PreCompact",
        None,
        10,
        "records how full the window was; saves the state; tells the summary what to hold",
    ),
    HookSpec(
        "PostCompact",
        None,
        10,
        "records the size of the summary; learns the point; finds what the summary dropped",
    ),
    HookSpec("SubagentStop", None, 10, "keeps what a subagent reported"),
    HookSpec("SessionEnd", None, 5, "leaves word for the next session, and in the daily note"),
)


def hooks(*, scout: bool = False) -> tuple[HookSpec, ...]:
    """The registrations in force; the scout widens one of them, and nobody pays for it unasked."""
    if not scout:
        return HOOKS
    return tuple(
        hook._replace(matcher=f"{GATED_TOOLS}|{READING_TOOLS}")
        if hook.event == "PreToolUse"
        else hook
        for hook in HOOKS
    )
