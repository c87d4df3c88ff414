"""The ceiling: an economy gate on what loads more into the context (agents, skills). Pure.

Fast path: imports nothing; loaded for the few tool calls it gates. It looks at occupancy, not at
the projection: what counts is what is already in use.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from brimline.gauge.window import Window

GATED_TOOLS = ("Agent", "Task", "Skill")
DELEGATING_TOOLS = ("Agent", "Task")
BUCKET_POINTS = 5
_LONGEST_NAME = 200
# Multiples of the ceiling at which the advice becomes more pressing.
BANDS = (1.0, 1.25, 1.5)


class Ceiling:
    """The ceiling in tokens and which of its two bounds is the lower one."""

    __slots__ = ("bound", "tokens")

    def __init__(self, window_tokens: int, percent: float, most_tokens: int) -> None:
        share = int(window_tokens * percent / 100)
        self.tokens = min(share, most_tokens)
        self.bound = "percentage" if share <= most_tokens else "absolute"


class Load:
    """A tool call that loads an agent or a skill."""

    __slots__ = ("name", "tool")

    def __init__(self, tool: str, tool_input: Any) -> None:
        self.tool = tool
        fields = tool_input if isinstance(tool_input, dict) else {}
        keys = ("skill", "name", "command") if tool == "Skill" else ("subagent_type", "name")
        found = [fields[key] for key in keys if isinstance(fields.get(key), str) and fields[key]]
        # Foreign text that ends up in a message: one line, and not a long one.
        self.name = " ".join(found[0][:_LONGEST_NAME].split()) if found else ""

    @property
    def label(self) -> str:
        """What is about to happen, in words."""
        verb = "invoking skill" if self.tool == "Skill" else "loading agent"
        return f"{verb} '{self.name or 'unnamed'}'"

    @property
    def bare_name(self) -> str:
        """The name without `plugin:` prefixes and leading slash."""
        return self.name.rpartition(":")[2].lstrip("/").strip()


class Verdict:
    """What the ceiling says about one load: its band, and why it does not refuse, if it could."""

    __slots__ = ("band", "bucket", "ceiling", "excuse", "refuse")

    def __init__(
        self, ceiling: Ceiling, band: int, bucket: int, *, refuse: bool, excuse: str
    ) -> None:
        self.ceiling = ceiling
        self.band = band
        self.bucket = bucket
        self.refuse = refuse
        self.excuse = excuse


def judge(
    load: Load,
    occupancy_tokens: int | None,
    window: Window,
    rules: dict[str, Any],
    doubt: str = "",
) -> Verdict | None:
    """Whether a load is over the ceiling; None where it is not, or may never be held up.

    Args:
        load: the tool call.
        occupancy_tokens: tokens in use; None says nothing.
        window: the window and its source.
        rules: settings by name.
        doubt: what is not known well enough to refuse anything; empty where all is.
    """
    posture = rules["guard.ceiling"]
    if posture == "off" or occupancy_tokens is None or load.tool not in GATED_TOOLS:
        return None
    if load.tool == "Skill" and load.bare_name in rules["guard.recovery_skills"]:
        return None
    ceiling = Ceiling(window.tokens, rules["guard.ceiling_percent"], rules["guard.ceiling_tokens"])
    if occupancy_tokens < ceiling.tokens:
        return None
    band = sum([occupancy_tokens >= factor * ceiling.tokens for factor in BANDS])
    bucket = occupancy_tokens * 100 // window.tokens // BUCKET_POINTS
    excuse = ""
    if posture == "strict":
        delegation = load.tool in DELEGATING_TOOLS and not rules["guard.block_delegation"]
        excuse = "delegation" if delegation else doubt
    refuse = posture == "strict" and not excuse
    return Verdict(ceiling, band, bucket, refuse=refuse, excuse=excuse)
