"""A command that a person types in the client: the text that the hook gives for `/brim:…`."""

from __future__ import annotations

from typing import Any

from brimline.fast import paths
from brimline.hooks.turn import Turn


def respond(request: dict[str, Any], home_dir: str) -> dict[str, Any]:
    """Return the text of a command.

    Args:
        request: what the mod sends: session, folder, the command's `name` and its `arguments`.
        home_dir: the data folder.

    Raises:
        KeyError, ValueError: it names no session, or no command of ours.
    """
    from brimline.slash import answer

    decision = answer.decision_answering_prompt(Turn(Event(request), home_dir))  # type: ignore[arg-type]
    if decision is None:
        raise ValueError(f"there is no command {request['name']!r}")
    return {"text": decision.reason}


class Event:
    """What the mod asks, in the words of a hook's event."""

    def __init__(self, request: dict[str, Any]) -> None:
        self.name, self.payload, self.agent_id = "UserPromptSubmit", request, None
        self.session_id, self.cwd = request["session"], request["cwd"]
        self.prompt = f"/brim:{request.get('name')} {request.get('arguments')}"
        self.transcript = paths.transcript_of_session(self.session_id)

    def added_characters(self) -> int:
        """Nothing: what is typed here is not sent."""
        return 0
