"""The error log: one line per failed hook, bounded, shown by `doctor` and the status line.

Fast path: imports only rooms of the ground floor.
"""

from __future__ import annotations

from brimline import clock
from brimline.fast import io, json, paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FORMAT = 1
_LOG_LIMIT_BYTES = 256 << 10
_MESSAGE_LENGTH = 300


def record(home_dir: str, event: str, error: BaseException) -> None:
    """Append one failure. The previous log is kept as `.old` once the current one is full."""
    path = paths.error_log(home_dir)
    line = {
        "v": FORMAT,
        "at": round(clock.now(), 3),
        "event": event[:40],
        "error": type(error).__name__,
        "message": str(error)[:_MESSAGE_LENGTH],
        "where": _place(error),
    }
    io.rotate(path, _LOG_LIMIT_BYTES)
    io.append_line(path, json.dumps(line))


def recent(home_dir: str, since: float) -> list[dict[str, Any]]:
    """The failures recorded after a point in time, oldest first."""
    try:
        raw = io.read_file(paths.error_log(home_dir), 2 * _LOG_LIMIT_BYTES)
    except OSError:
        return []
    lines = raw.decode("utf-8", "replace").split("\n")
    found = [entry for line in lines for entry in json.loads_all(line)]
    return [entry for entry in found if isinstance(entry, dict) and _is_after(entry, since)]


def _is_after(entry: dict[str, Any], since: float) -> bool:
    at = entry.get("at")
    return isinstance(at, int | float) and at >= since


def _place(error: BaseException) -> str:
    """File and line of ours where it happened; no local values, which may be private."""
    trace = error.__traceback__
    place = ""
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename.replace("\\", "/")
        place = "/".join(file.split("/")[-2:]) + f":{trace.tb_lineno}"
        trace = trace.tb_next
    return place
