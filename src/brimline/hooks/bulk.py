"""A large tool result on its way into the window: the offload room decides, this keeps score.

Fast path: imports only rooms of ours; loaded for results that may be large.
"""

from __future__ import annotations

from brimline.offload import intercept
from brimline.offload.calls import Call
from brimline.state.failures import guarded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from brimline.decision import Decision
    from brimline.hooks.wire import Event
    from brimline.state.session import SessionState


def keep_out(
    event: Event, state: SessionState, values: dict[str, Any], home_dir: str, project_dir: str
) -> Decision | None:
    """The replacement for a result, if it is large; a failure leaves the result as it was."""
    call = _call(event, project_dir)
    made: list[Decision | None] = []
    guarded(
        home_dir, "offload", lambda: made.append(intercept.after(call, state, values, home_dir))
    )
    decision = made[0] if made else None
    if decision:
        # What is measured from here on is what the model will see.
        event.payload["tool_response"] = decision.replacement
    return decision


def before_write(
    event: Event, state: SessionState, home_dir: str, project_dir: str
) -> Decision | None:
    """A refusal where the model is about to overwrite what it has seen as a preview only."""
    return intercept.before_write(_call(event, project_dir), state, home_dir)


def pin(
    event: Event, state: SessionState, values: dict[str, Any], home_dir: str
) -> Decision | None:
    """Do what pin directives in a prompt say."""
    from brimline.offload import pinning

    made: list[Decision | None] = []
    prompt, transcript = event.text("prompt"), event.text("transcript_path")
    guarded(
        home_dir,
        "pins",
        lambda: made.append(pinning.on_prompt(prompt, state, values, home_dir, transcript)),
    )
    return made[0] if made else None


def _call(event: Event, project_dir: str) -> Call:
    payload = event.payload
    return Call(
        event.text("tool_name"),
        payload.get("tool_input"),
        payload.get("tool_response"),
        cwd=event.text("cwd"),
        project_dir=project_dir,
        transcript=event.text("transcript_path"),
        call_id=event.text("tool_use_id"),
    )


def pin_before_compaction(state: SessionState, home_dir: str) -> None:
    """What open ranges of pins have gathered is pinned now: the range may never be ended."""
    from brimline.offload import pinning

    guarded(home_dir, "pins", lambda: pinning.before_compaction(state, home_dir))
