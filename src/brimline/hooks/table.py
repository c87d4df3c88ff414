"""Which rooms answer which event of the client, in which order.

Fast path: imports only `fast.io` and `fast.owntools`. A room is a folder with a `hook.py`, whose
functions are named here; it is taken out by deleting that folder and its words below. Everything
else is made from this table: the entry asks the rooms, the installer registers the events, `doctor`
and the docs list them. Housekeeping and what rooms leave in the data folder are in
`brimline.rooms`.
"""

from __future__ import annotations

from brimline.fast import io, owntools


class Answered(io.Record):
    """One event: the function that each room offers for it, and how the client is to call us."""

    function: str
    # In the order they are asked, each with the tools it is asked about; empty: whatever it is.
    rooms: dict[str, str]
    purpose: str
    timeout_s: int = 10
    # Whether the event counts too where a subagent caused it: that one has its own window.
    subagents: bool = True

    def tool_matcher(self, *, scout: bool = False) -> str | None:
        """The tools that the client is to call us for; None where a room is asked in any case.

        Args:
            scout: whether those are among them that the scout alone is asked about.
        """
        if "" in self.rooms.values():
            return None
        wanted = [tools for room, tools in self.rooms.items() if room not in OPTIONAL or scout]
        return "*" if "*" in wanted else "|".join(dict.fromkeys(wanted))


# A room that is asked where the last reply counts results that are not sent any more.
CLEARED = "cleared"
# The tool that is let pass where it is ours; its call is answered for in subagents too.
RECALL = owntools.names("recall")
EVENTS = {
    "SessionStart": Answered(
        function="session_start",
        rooms=dict.fromkeys(("gauge", "guard", "rules", "carry", "recall", "bulk"), ""),
        purpose="fresh settings, the card after a compaction, the user's reminder; housekeeping",
    ),
    "UserPromptSubmit": Answered(
        function="user_prompt_submit",
        rooms={
            **dict.fromkeys(("slash", "gauge", "carry", "guard", "bulk"), ""),
            "session": CLEARED,
        },
        purpose="answers `/brim:…`; measures; announces a new tier, a rate limit, a reminder",
        subagents=False,
    ),
    "PreToolUse": Answered(
        function="pre_tool_use",
        rooms={
            "guard": "Agent|Task|Skill",
            "bulk": "Write",
            "recall": "|".join(RECALL),
            "scout": "Read|Glob|Grep|Bash",
        },
        purpose="the ceiling; an overwrite of a file seen as a preview; lets our own recall pass; "
        "with the scout on, also reads",
        subagents=False,
    ),
    "PostToolUse": Answered(
        function="post_tool_use",
        rooms={**dict.fromkeys(("bulk", "gauge", "carry", "guard"), "*"), "session": CLEARED},
        purpose="measures; announces a new tier; keeps large results out of the window",
        subagents=False,
    ),
    "PostToolUseFailure": Answered(
        function="post_tool_use_failure",
        rooms={"bulk": "Bash"},
        purpose="says so where the client lost the end of a failing command's output",
        subagents=False,
    ),
    "Stop": Answered(
        function="stop",
        rooms={"gauge": "", "carry": "", "guard": ""},
        purpose="measures; some presets tell the person here",
        subagents=False,
    ),
    "PreCompact": Answered(
        function="pre_compact",
        rooms={"gauge": "", "carry": ""},
        purpose="records how full the window was; saves the state; tells the summary what to hold",
    ),
    "PostCompact": Answered(
        function="post_compact",
        rooms={"gauge": "", "guard": "", "carry": ""},
        purpose="records the size of the summary and which messages it holds; learns the point",
    ),
    "SessionEnd": Answered(
        function="session_end",
        rooms={"carry": ""},
        purpose="leaves word for the next session, and in the daily note",
        timeout_s=5,
    ),
}
# Rooms whose tools the client calls us for only where the user wants that.
OPTIONAL = ("scout",)
# Rooms that are asked even in a session where the user silenced the others.
WHILE_OFF = ("slash",)
# After this event's answer is written, rooms tidy up.
TIDY_AFTER = "SessionStart"
