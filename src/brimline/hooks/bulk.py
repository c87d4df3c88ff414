"""A large tool result on its way into the window: the offload room decides, this keeps score.

Fast path: imports only rooms of ours; loaded for results that may be large.
"""

from __future__ import annotations

from brimline.offload import intercept

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
    payload = event.payload
    call = intercept.Call(
        event.text("tool_name"),
        payload.get("tool_input"),
        payload.get("tool_response"),
        cwd=event.text("cwd"),
        project_dir=project_dir,
    )
    try:
        decision = intercept.after(call, state, values, home_dir)
    except Exception as error:  # noqa: BLE001 - what the reading has to say is not lost with it
        from brimline.state import failures

        failures.guarded(home_dir, "offload", lambda: failures.record(home_dir, "offload", error))
        return None
    if decision:
        # What is measured from here on is what the model will see.
        payload["tool_response"] = decision.replacement
    return decision
