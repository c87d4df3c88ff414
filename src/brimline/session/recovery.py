"""Finishes what a rewrite of a session, or one that was cut short, has left to do.

A command that was killed leaves at most: a copy in the making, a lock that nobody holds, and the
file that was the session until the rename. The first two go, and what came to the third is merged.
It happens at the start of every `session` command and of every session.
"""

from __future__ import annotations

import math
import os
import time
from typing import TYPE_CHECKING, NamedTuple

from brimline.fast import io
from brimline.session import disk
from brimline.session.disk import BusyError, RewriteError
from brimline.session.swap import locked_chain

if TYPE_CHECKING:
    from brimline.session.swap import Chain

# What a program writes that holds a former file open for longer is merged by later commands.
GIVE_UP_S = 5.0
QUIET_S = 1.0
_POLL_S = 0.005
# Whatever comes during so many merges in a row goes on coming.
_MERGES = 20
# Where the system cannot tell whether a file is open: nothing came to it for so long.
_FORGOTTEN_S = 86_400.0


class Recovered(NamedTuple):
    """What was done for one session that an earlier command left behind."""

    session: str
    lines: int = 0
    problem: str | None = None


def finish_rewrites_at_path(target: str, *, most_bytes: float = math.inf) -> list[Recovered]:
    """Finish interrupted rewrites of a session, or of every session in a folder.

    Sessions that another command is rewriting right now are left to it, and those larger than
    `most_bytes` to the next command: merging a line copies the session. Cheap where there is
    nothing to do: the folder is listed once.
    """
    target = os.path.realpath(target)
    folder, only = (target, None) if os.path.isdir(target) else os.path.split(target)
    try:
        left = {disk.session_of_our_file(name) for name in io.list_names(folder)}
    except OSError:
        return []
    sessions = [os.path.join(folder, name) for name in sorted(filter(None, left))]
    wanted = [session for session in sessions if only in (None, os.path.basename(session))]
    small = [session for session in wanted if disk.inode_and_size(session)[1] <= most_bytes]
    return list(filter(None, map(_merge_lines_rewrite_left_behind, small)))


def _merge_lines_rewrite_left_behind(session: str) -> Recovered | None:
    try:
        if not os.path.lexists(session):
            _remove_files_of_gone_session(session)
            return None
        with locked_chain(session) as chain:
            merge_until_quiet(chain, QUIET_S, give_up_s=0)
            return Recovered(session, chain.late_lines)
    except BusyError:
        return None
    except RewriteError as error:
        return Recovered(session, problem=str(error))
    except OSError as error:
        return Recovered(session, problem=str(disk_refusal_error(error, session)))


def _remove_files_of_gone_session(session: str) -> None:
    """The session was removed: what we kept for it goes too, a day after the last line."""
    folder, base = os.path.split(session)
    names = [name for name in io.list_names(folder) if disk.session_of_our_file(name) == base]
    ours = [os.path.join(folder, name) for name in names]
    with disk.hold_session_lock(session):
        last_change = max(os.lstat(path).st_mtime for path in ours)
        if time.time() - last_change > _FORGOTTEN_S and not os.path.lexists(session):
            for path in ours:
                disk.remove(path)


def disk_refusal_error(error: OSError, session: str) -> RewriteError:
    """What the disk refused, in one sentence."""
    place = os.fsdecode(error.filename or os.path.dirname(session))
    reason = f"{session} cannot be rewritten ({place}: {error.strerror or error})"
    return RewriteError(f"{reason}; nothing was changed")


def merge_until_quiet(chain: Chain, quiet_s: float, give_up_s: float = GIVE_UP_S) -> None:
    """Merge late lines until every former file is closed, or has been quiet for `quiet_s`.

    With `give_up_s=0` nothing is waited for: how long a file has been quiet is told by its time.

    Raises:
        RewriteError: late lines could not be merged; they are safe in the former file.
        OSError: the same.
    """
    since = time.time() if give_up_s else 0.0
    until = time.monotonic() + give_up_s
    for _ in range(_MERGES):
        closed, calm = _closed_names_and_quiet_names(chain, quiet_s, since)
        while len(calm) < len(chain.state.olds) and time.monotonic() < until:
            time.sleep(_POLL_S)
            closed, calm = _closed_names_and_quiet_names(chain, quiet_s, since)
        is_calm = len(calm) == len(chain.state.olds)
        if not chain.merge_former_files(calm) or not is_calm:
            break
    for old in chain.state.olds:
        # Without a name, where there are no hard links, no later command finds it.
        if old.name in closed or not os.path.lexists(chain.former_path(old)):
            chain.drop_former_file(old)
    chain.write_or_remove_journal()


def _closed_names_and_quiet_names(
    chain: Chain, quiet_s: float, since: float
) -> tuple[set[str], set[str]]:
    """The former files to which nothing can come any more, and with them those that are quiet."""
    closed, calm = set(), set()
    now = time.time()
    for old in chain.state.olds:
        # Whether it is closed is asked before anybody reads what is in it.
        is_closed = disk.has_no_writer(chain.former_descriptor(old))
        status = os.fstat(chain.former_descriptor(old))
        if is_closed is None:
            # It got its second name when it was replaced, which counts as a change.
            is_closed = now - max(status.st_mtime, status.st_ctime) > _FORGOTTEN_S
        if is_closed:
            closed.add(old.name)
        if is_closed or now - max(status.st_mtime, since) >= quiet_s:
            calm.add(old.name)
    return closed, calm
