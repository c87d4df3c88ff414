"""Two bounded logs: a line per failed hook, and one per escalation and refusal.

Fast path: imports only rooms of the ground floor.
"""

from __future__ import annotations

from brimline.fast import clock, io, json, paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_ERRORS_LIMIT_BYTES = 256 << 10
_AUDIT_LIMIT_BYTES = 8 << 20
PRESSURE = "CONTEXT_PRESSURE"
_MESSAGE_LENGTH = 300
_LARGEST_TIME = 1e12


def record_failure(home_dir: str, event: str, error: BaseException, session: str = "") -> None:
    """Append one failure. The previous log is kept as `.old` once the current one is full."""
    path = paths.error_log(home_dir)
    line = {
        "at": round(clock.now_s(), 3),
        "event": event[:40],
        "error": type(error).__name__,
        "message": str(error)[:_MESSAGE_LENGTH],
        "where": _file_and_line_of_error(error),
    } | ({"session": paths.safe_session_id(session)} if session else {})
    io.rotate_if_too_large(path, _ERRORS_LIMIT_BYTES)
    json.append_line(path, line)


def recent_failures(home_dir: str, since: float) -> list[dict[str, Any]]:
    """The failures recorded after a point in time, oldest first."""
    try:
        lines = json.read_lines(paths.error_log(home_dir), 2 * _ERRORS_LIMIT_BYTES)
    except OSError:
        return []
    return [
        line
        for line in lines
        if isinstance(line.get("at"), int | float) and since <= line["at"] < _LARGEST_TIME
    ]


def audit_notice(
    home_dir: str, session_id: str, figures: dict[str, Any], fields: dict[str, Any]
) -> None:
    """A tier was entered and announced (kind `escalation`), or a tool call refused (`block`)."""
    head = {"event": PRESSURE, "at": round(clock.now_s(), 3), "session": session_id}
    io.rotate_if_too_large(paths.audit_log(home_dir), _AUDIT_LIMIT_BYTES)
    json.append_line(paths.audit_log(home_dir), head | fields | {"reading": figures})


def _file_and_line_of_error(error: BaseException) -> str:
    """File and line of ours where it happened; no local values, which may be private."""
    trace = error.__traceback__
    place = ""
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        place = "/".join(file.split("/")[-2:]) + f":{trace.tb_lineno}"
        trace = trace.tb_next
    return place
