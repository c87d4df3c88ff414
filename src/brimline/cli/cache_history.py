"""`brimline history --cache`: what sessions read from the prompt cache, and what broke it."""

from __future__ import annotations

import os
from typing import Any

from brimline import clock, output
from brimline.errors import SessionError
from brimline.fast import paths
from brimline.state import figures
from brimline.state.history import spooled
from brimline.transcript import caching, find

_RECENT_SESSIONS = 20
_SHORT_ID = 8
_LAST_BREAKS = 30


def show(session_id: str | None, *, as_json: bool) -> None:
    """Print the figures of the newest sessions, or of one with each of its breaks."""
    named = [find.by_id(session_id)] if session_id is not None else []
    files = named or find.everywhere()[:_RECENT_SESSIONS]
    sessions = []
    with output.Progress("Reading", sum(map(os.path.getsize, files))) as bar:
        for file in files:
            try:
                sessions.append(_session(file, bar.update))
            except OSError as error:
                if not named:
                    continue  # the others are shown
                raise SessionError(f"cannot read {file}: {error.strerror or error}") from error
    known = [one for one in sessions if one["requests"]]
    output.answer({"sessions": known}, _text(known, session_id is not None), as_json=as_json)


def _session(file: str, progress: Any) -> dict[str, Any]:
    name = find.session_id_of(file)
    lines = spooled(paths.home(), name)
    found = caching.scan_cache(file, figures.gateway_edits(lines), progress)
    saved, rewritten = figures.gateway_savings(lines)
    return {
        "session_id": name,
        **output.fields(found, "requests read_tokens written_tokens causes"),
        "breaks": [
            {"at": clock.format_utc(one.at), "tokens": one.tokens, "cause": one.cause}
            for one in found.breaks
        ],
        "gateway_saved_tokens": saved,
        "gateway_rewritten_tokens": rewritten,
    }


def _text(sessions: list[dict[str, Any]], in_full: bool) -> str:
    if not sessions:
        return "No session with usage is known."
    head = ["session", "requests", "read", "written", "breaks", "by"]
    rows = [
        [
            one["session_id"][:_SHORT_ID],
            str(one["requests"]),
            f"{one['read_tokens']:,}",
            f"{one['written_tokens']:,}",
            str(len(one["breaks"])),
            ", ".join(f"{count} {cause}" for cause, count in one["causes"].items()),
        ]
        for one in sessions
    ]
    parts = [
        "Tokens read from the prompt cache and written into it; breaks of its prefix",
        output.table(head, rows, right={1, 2, 3, 4}),
    ]
    for one in sessions if in_full else ():
        parts += [
            f"  {output.minute(found['at'])}  {found['tokens']:>9,} written again: {found['cause']}"
            for found in one["breaks"][-_LAST_BREAKS:]
        ]
        if one["gateway_saved_tokens"]:
            parts.append(
                f"The gateway kept up to {one['gateway_saved_tokens']:,} tokens out of a request, "
                f"and had {one['gateway_rewritten_tokens']:,} written again."
            )
    return "\n".join(parts)
