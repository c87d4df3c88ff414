"""Checks of what brimline keeps: the data folder, the hooks' errors, the settings in force."""

from __future__ import annotations

import os
import shlex
import stat
from typing import TYPE_CHECKING

from brimline import clock, config
from brimline.errors import SessionError
from brimline.fast import io, paths, policy
from brimline.install import datafolder, entries, hookerrors
from brimline.install.finding import Finding
from brimline.state import logs
from brimline.transcript import find

if TYPE_CHECKING:
    from collections.abc import Iterator

_RECENT_S = 24 * 3_600
_FOR_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_MESSAGE_LENGTH = 200


def findings(home_dir: str, project_dir: str) -> Iterator[Finding]:
    """Everything about the data folder and what is in it."""
    yield from _data_folder(home_dir)
    yield _own_errors(home_dir)
    yield from _client_errors(project_dir)
    yield from _configuration(home_dir, project_dir)
    if policy.switched_off():
        yield Finding(
            "switch",
            "note",
            "brimline is switched off by the environment",
            "While BRIMLINE_OFF or CLAUDE_HOOKS_PASSTHROUGH is set every hook stays silent.",
            "unset BRIMLINE_OFF CLAUDE_HOOKS_PASSTHROUGH",
        )


def _data_folder(home_dir: str) -> Iterator[Finding]:
    if not os.path.lexists(home_dir):
        yield Finding(
            "data-folder",
            "note",
            f"there is no data folder {home_dir} yet",
            "The installer makes it, or the first hook that has something to keep.",
        )
        return
    problem = _write_problem(home_dir)
    if problem:
        yield Finding(
            "data-folder",
            "broken",
            f"cannot write to the data folder {home_dir}: {problem}",
            "Hooks then forget what they announced, and cannot even note their errors.",
            f"chmod u+rwx {shlex.quote(home_dir)}, make room on its disk, or name another folder "
            "in BRIMLINE_HOME",
        )
        return
    loose = [path for path in _kept(home_dir) if _mode(path) & _FOR_OTHERS]
    if loose:
        # Behind a closed folder nobody gets at them; the user's own editor made them so.
        reachable = bool(_mode(home_dir) & _FOR_OTHERS)
        yield Finding(
            "data-folder",
            "broken" if reachable else "warning",
            f"others can read {loose[0]}" + (f" and {len(loose) - 1} more" if loose[1:] else ""),
            "What brimline keeps tells about your sessions; folders are 700 and files 600.",
            "chmod go= " + " ".join(shlex.quote(path) for path in _shortest(loose, home_dir)),
        )
        return
    yield Finding("data-folder", "ok", f"the data folder {home_dir} is private and writable")


def _kept(home_dir: str) -> list[str]:
    return [*datafolder.folders(home_dir), *datafolder.files(home_dir)]


def _shortest(loose: list[str], home_dir: str) -> list[str]:
    """What to name in the command: the folder with everything in it where too much is loose."""
    return loose if len(loose) <= 3 else ["-R", home_dir]  # noqa: PLR2004 - fits a line


def _write_problem(home_dir: str) -> str | None:
    probe = f"{home_dir}/errors.jsonl.{os.getpid()}.0.tmp"
    try:
        io.create_exclusively(probe, b"doctor\n")
        io.remove(probe)
    except OSError as error:
        return error.strerror or str(error)
    return None


def _mode(path: str) -> int:
    try:
        return os.lstat(path).st_mode if not os.path.islink(path) else os.stat(path).st_mode
    except OSError:
        return 0


def _own_errors(home_dir: str) -> Finding:
    recent = logs.recent_failures(home_dir, clock.now() - _RECENT_S)
    if not recent:
        return Finding("hook-errors", "ok", "no hook failed in the last 24 hours")
    last = recent[-1]
    told = f"{last.get('event')}: {last.get('error')}: {last.get('message')} ({last.get('where')})"
    return Finding(
        "hook-errors",
        "warning",
        f"{_times(len(recent))} in the last 24 hours, last at {told[:_MESSAGE_LENGTH]}",
        "Your session went on, but brimline did nothing at these events.",
        f"tail -n 5 {shlex.quote(paths.error_log(home_dir))}",
    )


def _client_errors(project_dir: str) -> Iterator[Finding]:
    """What the client itself noted about our hooks in the newest session of this project."""
    try:
        transcript = find.newest(project_dir)
        noted = hookerrors.find(transcript, entries.is_our_code)
    except (SessionError, OSError):
        return
    since = clock.now() - _RECENT_S
    recent = [failure for failure in noted if (clock.parse(failure.timestamp) or since) >= since]
    if not recent:
        yield Finding("client-errors", "ok", "the client noted no failure of our hooks lately")
        return
    last = recent[-1]
    yield Finding(
        "client-errors",
        "warning",
        f"the client noted that {_times(len(recent), 'one of our hooks failed')}, "
        f"last at {last.event}: {last.message[:_MESSAGE_LENGTH]}",
        "It could not start the hook or did not accept its answer. This is about the newest "
        "session; the next one shows whether it is mended.",
        "brimline install",
    )


def _times(count: int, what: str = "a hook failed") -> str:
    return f"{what} {count} times" if count > 1 else f"{what} once"


def _configuration(home_dir: str, project_dir: str) -> Iterator[Finding]:
    problems = config.load(home_dir, project_dir).problems
    for problem in problems:
        yield Finding(
            "config",
            "warning",
            problem,
            "A wrong setting never takes effect: the weaker one stays in force.",
            "brimline config explain",
        )
    if not problems:
        yield Finding("config", "ok", "every setting of brimline is understood")
