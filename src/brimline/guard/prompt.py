"""What comes with a prompt beside the tiers: the user's reminder and the rate limits.

Fast path: imports nothing at module level; each part is loaded only where it has something to say.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from brimline.decision import Decision
    from brimline.policy import Policy
    from brimline.state.session import SessionState


def decide(state: SessionState, policy: Policy) -> list[Decision | None]:
    """The decisions of every part."""
    decisions = []
    if policy.values["reminder.file"]:
        from brimline.guard import reminder

        decisions.append(reminder.on_prompt(state, policy.values))
    snapshot = state.snapshot()
    if snapshot and snapshot.rate_limits and policy.values["guard.preset"] != "off":
        from brimline.guard import quota

        decisions.append(quota.decide(state, snapshot.rate_limits))
    return decisions
