"""The checkpoint that a high tier writes by itself: the reading and the user's last prompts.

Written by the hook, because a message to the model may come too late to be acted upon.
"""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

from brimline import fastio
from brimline.transcript import tail

if TYPE_CHECKING:
    from brimline.state.session import SessionState

FORMAT = 1
FILE_NAME = "checkpoint.json"
_PROMPTS = 5


def write(state: SessionState, transcript: str | None, reading: dict[str, Any]) -> str:
    """Write the session's checkpoint; returns its path.

    Raises:
        OSError: it cannot be written.
    """
    document = {
        "v": FORMAT,
        "at": round(time.time(), 3),
        "session": state.session_id,
        "transcript": transcript,
        "reading": reading,
        "last_prompts": tail.last_prompts(transcript, _PROMPTS) if transcript else [],
    }
    path = f"{state.folder}/{FILE_NAME}"
    text = json.dumps(document, indent=1, ensure_ascii=False)
    fastio.replace_file(path, text.encode("utf-8", "replace"))  # prompts may hold half an emoji
    return path
