"""Forgetting, from inside the client: who installed the command has it in a shell."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from brimline import output
from brimline.fast import paths
from brimline.recall import forget
from brimline.state.forgotten import Asked
from brimline.transcript import find
from brimline.transcript.project import is_within, real_folder

if TYPE_CHECKING:
    from brimline.hooks.turn import Turn

_SESSION, _PROJECT, _EVERYTHING = "session", "project", "everything"
_CONFIRMED = "yes"


def forget_if_confirmed(turn: Turn, arguments: str) -> str:
    """Say what would be deleted; once that is confirmed by typing it again with a word, delete it.

    Raises:
        StateError: some of it is still there.
    """
    scope, _, confirmed = arguments.partition(" ")
    if scope not in (_SESSION, _PROJECT, _EVERYTHING) or confirmed not in ("", _CONFIRMED):
        return "Usage: /brim-forget session|project|everything"
    asked = _sessions_of(turn, scope)
    counts = forget.forget(turn.home, asked, turn.traces, dry_run=not confirmed)
    named = [output.count_text(counts[f"{name}s"], name) for name in ("session", "output")]
    told = f"{named[0]}, {named[1]}, {counts['entries']:,} entries of the search"
    if not confirmed:
        return f"This would delete for good: {told}.\nTo do it: /brim-forget {scope} {_CONFIRMED}"
    client = f"{paths.client_config_dir()}/projects"
    return f"Deleted: {told}.\nThe sessions themselves are Claude Code's, and stay in {client}."


def _sessions_of(turn: Turn, scope: str) -> Asked:
    if scope == _SESSION:
        return Asked((turn.state.session_id,))
    kept, _ = forget.sessions_with_kept_data(turn.home, turn.traces)
    if scope == _EVERYTHING:
        return Asked(tuple(kept), "/")
    began = find.folder_it_began_in(turn.event.transcript) or turn.event.cwd or os.getcwd()
    place = real_folder(began)
    return Asked(tuple(name for name in kept if is_within(kept[name].project, place)), place)
