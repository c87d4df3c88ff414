"""The slash commands' face to the hooks: a prompt that is one of ours is answered and ends there.

Fast path: imports nothing.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from brimline.fast.decision import Decision
    from brimline.hooks.turn import Turn


def user_prompt_submit(turn: Turn) -> Decision | None:
    """The answer to `/brim:…`, which the person sees in place of a reply of the model."""
    if "brim:" not in turn.event.prompt[:64] or not turn.event.prompt.startswith("/"):
        return None
    from brimline.slash import answer

    return answer.decision_answering_prompt(turn)
