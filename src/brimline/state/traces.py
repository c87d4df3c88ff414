"""What the state leaves in the data folder: sessions' folders, logs."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from brimline.errors import do_all
from brimline.fast import io, json, paths
from brimline.state import forgotten
from brimline.transcript import find

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from brimline.state.forgotten import Asked

FILES = {
    "": r"(errors|audit)\.jsonl(\.old)?|learned\.jsonl?",
    "sessions": "",
    "sessions/*": r"(statusline|telemetry)\.json|spool\.jsonl|off|mod-(alive|judged|notice|reading)"
    r"|left-to-plugin|(spoke|window|compacted)-[\w.-]+",
    "memory": r"forgotten\.jsonl",
}
# What a session was told and has shown: after a day it may be told again.
BRIEF = ("spoke-", "window-", "compacted-", "telemetry.json")
MENTIONS = ("sessions",)
PASSING = ("spool", "telemetry", "statusline")
_LOGS = ("audit.jsonl", "audit.jsonl.old", "errors.jsonl", "errors.jsonl.old", "learned.jsonl")


def sessions(home: str) -> Iterator[tuple[str, str, float]]:
    """Those with a folder."""
    for name in io.list_names(paths.sessions_dir(home)):
        folder = paths.session_dir(home, name)
        times = [find.modified_at(f"{folder}/{file}") for file in io.list_names(folder)]
        yield name, "", max(times, default=0.0)


def forget(home: str, asked: Asked, *, dry_run: bool) -> dict[str, int]:
    """Delete sessions' folders and lines of the logs."""
    tasks: list[Callable[[], int | None]] = []
    for name in asked.sessions:
        folder = paths.session_dir(home, name)
        tasks.append(partial(forgotten.delete_folder, folder, dry_run=dry_run))
        if not dry_run:
            logs = [f"{home}/{log}" for log in _LOGS]
            tasks += [partial(json.blank_out_lines, log, "session", name) for log in logs]
    return {"files": do_all(tasks)}
