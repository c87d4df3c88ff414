"""`brimline history --savings`: what offloading kept out of windows, as JSON and for people."""

from __future__ import annotations

from typing import Any

from brimline import clock
from brimline.cli import store_text as text
from brimline.errors import SessionError
from brimline.fast import paths
from brimline.offload import learning

_LISTED = 20
_SHORT_ID = 8
_PROJECT_CHARACTERS = 24
_NOTHING = "Nothing was kept out, and nothing was fetched back."


def show(session: str | None, *, every: bool, as_json: bool) -> None:
    """Print what was saved.

    Args:
        session: one session, by its id or the start of it.
        every: list all sessions, also those in which nothing was kept out.
        as_json: for a program.

    Raises:
        SessionError: the session that was asked for is not there, or not the only one.
    """
    found = learning.saved_by_sessions(paths.home())
    if session is not None:
        found = [one for one in found if one.session_id.startswith(session)]
        if not found:
            raise SessionError(
                f"no hook of a session {session!r} is on record; records are kept a month"
            )
        if len(found) > 1:
            raise SessionError(
                f"{len(found)} sessions begin with {session!r}: write more of the id"
            )
    used = [one for one in found if one.references or one.recalls]
    listed = found if every or session is not None else used[:_LISTED]
    document = {
        "session_count": len(found),
        "sessions_with_offload": len(used),
        "sessions": [_named(one) for one in listed],
        "total": _figures(learning.total(found)),
    }
    text.answer(document, _render(document), as_json=as_json)


def _named(one: learning.Saved) -> dict[str, Any]:
    return {
        "session_id": one.session_id,
        "project": one.project,
        "last_at": clock.format_utc(one.last_at),
        **_figures(one),
    }


def _figures(one: learning.Saved) -> dict[str, Any]:
    return {
        "references": one.references,
        "stored_bytes": one.stored_bytes,
        "would_have_shown_characters": one.would,
        "reference_characters": one.shown,
        "recalls": one.recalls,
        "recalled_characters": one.recalled,
        "kept_out_characters": one.kept_out,
        "estimated_kept_out_tokens": one.kept_out_tokens,
    }


def _render(document: dict[str, Any]) -> str:
    if not document["sessions_with_offload"]:
        return _NOTHING
    rows = [
        [
            text.minute(one["last_at"]),
            text.shown(one["session_id"])[:_SHORT_ID],
            text.shown(
                (one["project"] or "unknown").rstrip("/").rpartition("/")[2], _PROJECT_CHARACTERS
            ),
            *_cells(one),
        ]
        for one in document["sessions"]
    ]
    head = ["last active", "session", "project", "replaced", "fetched", "kept out", "tokens"]
    table = text.table(head, [*rows, ["all", "", "", *_cells(document["total"])]], {3, 4, 5, 6})
    total = document["total"]
    lines = [table, "", "Kept out: what the client would have shown, less references and recalls;"]
    lines.append("tokens are estimated from characters.")
    if total["kept_out_characters"] < 0:
        lines.append("It cost more than it saved.")
    return "\n".join(lines)


def _cells(one: dict[str, Any]) -> list[str]:
    size = one["kept_out_characters"]
    kept = f"-{text.size(-size)}" if size < 0 else text.size(size)
    tokens = f"~{one['estimated_kept_out_tokens']:,}"
    return [f"{one['references']:,}", f"{one['recalls']:,}", kept, tokens]
