"""What the state leaves in the data folder: sessions' folders, their history, logs."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from brimline.errors import do_all
from brimline.fast import io, json, paths
from brimline.state import forgotten, history
from brimline.transcript import find

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from brimline.state.forgotten import Asked

FILES = {
    "": r"(errors|audit)\.jsonl(\.old)?|learned\.jsonl?|history\.(jsonl|lock)",
    "sessions": "",
    "sessions/*": r"(statusline|telemetry)\.json|spool\.jsonl|off|mod-(alive|judged|notice|reading)"
    r"|(spoke|window|compacted)-[\w.-]+",
    "memory": r"forgotten\.jsonl",
}
# What a session was told and has shown: after a day it may be told again.
BRIEF = ("spoke-", "window-", "compacted-", "telemetry.json")
MENTIONS = ("sessions",)
PASSING = ("spool", "telemetry", "statusline")
_LOGS = ("audit.jsonl", "audit.jsonl.old", "errors.jsonl", "errors.jsonl.old", "learned.jsonl")


def sessions(home: str) -> Iterator[tuple[str, str, float]]:
    """Those with a folder, and those in the history."""
    for name in io.list_names(paths.sessions_dir(home)):
        folder = paths.session_dir(home, name)
        times = [find.modified_at(f"{folder}/{file}") for file in io.list_names(folder)]
        yield name, "", max(times, default=0.0)
    for session in history.sessions_in_file(home):
        folders = [event["cwd"] for event in session.events if event.get("cwd")]
        last_at = max((event.get("at", 0) for event in session.events), default=0.0)
        yield session.session_id, folders[0] if folders else "", last_at


def forget(home: str, asked: Asked, *, dry_run: bool) -> dict[str, int]:
    """Delete sessions' folders and lines of the history and the logs."""
    tasks: list[Callable[[], int | None]] = []
    for name in asked.sessions:
        folder = paths.session_dir(home, name)
        tasks.append(partial(forgotten.delete_folder, folder, dry_run=dry_run))
        if not dry_run:  # the line after the folder, from which it would be made anew
            tasks.append(partial(history.delete_line_of_session, home, name))
            logs = [f"{home}/{log}" for log in _LOGS]
            tasks += [partial(json.blank_out_lines, log, "session", name) for log in logs]
    return {"files": do_all(tasks)}
