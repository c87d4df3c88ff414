"""The audit trail: one `CONTEXT_PRESSURE` line per escalation and per refusal, append-only."""

from __future__ import annotations

import time
from typing import Any

from brimline.fast import io, json, paths

FORMAT = 1
EVENT = "CONTEXT_PRESSURE"
_LOG_LIMIT_BYTES = 8 << 20


def record(home_dir: str, session_id: str, figures: dict[str, Any], fields: dict[str, Any]) -> None:
    """A tier was entered and announced (kind `escalation`), or a tool call refused (`block`)."""
    head = {"v": FORMAT, "event": EVENT, "at": round(time.time(), 3), "session": session_id}
    line = head | fields | {"reading": figures}
    io.rotate(paths.audit_log(home_dir), _LOG_LIMIT_BYTES)
    io.append_line(paths.audit_log(home_dir), json.dumps(line))
