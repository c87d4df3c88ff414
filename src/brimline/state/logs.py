"""Two bounded logs: a line per failed hook, and one per escalation and refusal.

Fast path: imports only rooms of the ground floor.
"""

from __future__ import annotations

from brimline import clock
from brimline.fast import io, json, paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FORMAT = 1
_ERRORS_LIMIT_BYTES = 256 << 10
_AUDIT_LIMIT_BYTES = 8 << 20
PRESSURE = "CONTEXT_PRESSURE"
_MESSAGE_LENGTH = 300
_LARGEST_TIME = 1e12


def record_failure(home_dir: str, event: str, error: BaseException, session: str = "") -> None:
    """Append one failure. The previous log is kept as `.old` once the current one is full."""
    path = paths.error_log(home_dir)
    line = {
        "v": FORMAT,
        "at": round(clock.now(), 3),
        "event": event[:40],
        "error": type(error).__name__,
        "message": str(error)[:_MESSAGE_LENGTH],
        "where": _place(error),
    } | ({"session": paths.safe_session_id(session)} if session else {})
    io.rotate(path, _ERRORS_LIMIT_BYTES)
    io.append_line(path, json.dumps(line))


def recent_failures(home_dir: str, since: float) -> list[dict[str, Any]]:
    """The failures recorded after a point in time, oldest first."""
    try:
        raw = io.read_file(paths.error_log(home_dir), 2 * _ERRORS_LIMIT_BYTES)
    except OSError:
        return []
    lines = raw.decode("utf-8", "replace").split("\n")
    found = [entry for line in lines for entry in json.loads_all(line)]
    known = [entry for entry in found if isinstance(entry, dict)]
    return [
        entry
        for entry in known
        if isinstance(entry.get("at"), int | float) and since <= entry["at"] < _LARGEST_TIME
    ]


def record_pressure(
    home_dir: str, session_id: str, figures: dict[str, Any], fields: dict[str, Any]
) -> None:
    """A tier was entered and announced (kind `escalation`), or a tool call refused (`block`)."""
    head = {"v": FORMAT, "event": PRESSURE, "at": round(clock.now(), 3), "session": session_id}
    io.rotate(paths.audit_log(home_dir), _AUDIT_LIMIT_BYTES)
    io.append_line(paths.audit_log(home_dir), json.dumps(head | fields | {"reading": figures}))


def _place(error: BaseException) -> str:
    """File and line of ours where it happened; no local values, which may be private."""
    trace = error.__traceback__
    place = ""
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename.replace("\\", "/")
        place = "/".join(file.split("/")[-2:]) + f":{trace.tb_lineno}"
        trace = trace.tb_next
    return place
