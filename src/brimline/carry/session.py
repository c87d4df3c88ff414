"""The session that an event is about, for everything that is carried across a compaction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from brimline.state.session import SessionState


class Session(NamedTuple):
    """Where a session's files are, and the settings in force for it."""

    home_dir: str
    state: SessionState
    transcript: str
    project_dir: str
    values: dict[str, Any]
