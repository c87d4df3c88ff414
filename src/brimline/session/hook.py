"""What the hooks ask of this room: whose session it is, and to finish what rewrites left."""

from __future__ import annotations

import time

from brimline import fastio
from brimline.session import backups, in_use, recovery

# A merge copies the session, for which the start of another has no time.
_MOST_MERGED_BYTES = 50_000_000
# The client deletes sessions after a month, and what was noted about them would stay for ever.
_KEEP_S = 30 * 86_400


def session_start(home_dir: str, session_id: str, transcript: str) -> None:
    """Note which process runs a session; finish the rewrites of it and of those beside it."""
    pid = fastio.env("CLAUDE_PID") or ""
    if pid.isdecimal():
        in_use.note_client(home_dir, session_id, int(pid))
    folder = transcript.rpartition("/")[0]
    if folder:
        recovery.recover(folder, most_bytes=_MOST_MERGED_BYTES)


def session_end(home_dir: str, session_id: str) -> None:
    """A process left a session and goes on with another, as after `/clear`."""
    in_use.forget_client(home_dir, session_id)


def tidy(home_dir: str) -> None:
    """Forget the way back of rewrites whose session the client has deleted."""
    backups.expire(home_dir, time.time() - _KEEP_S)
