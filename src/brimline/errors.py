"""Everything brimline raises on purpose.

BrimlineError           one sentence for the user: the thing and the remedy
├── ConfigError         a setting or configuration file is wrong
├── InstallError        the client's settings could not be changed, or changed safely
├── SessionError        a session or transcript cannot be found or read
├── StateError          what brimline keeps cannot be read or written
├── StoreError          a stored output cannot be had, or a key, query or range is wrong
└── TeamError           the team's server cannot be asked, or what it holds does not fit
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any


class BrimlineError(Exception):
    """A problem to be told in one sentence; the command then ends with this code."""

    exit_code = 1


class ConfigError(BrimlineError):
    """A setting or configuration file is wrong."""


class InstallError(BrimlineError):
    """The client's settings could not be changed, or not safely."""


class SessionError(BrimlineError):
    """A session or its transcript cannot be found or read."""


class StateError(BrimlineError):
    """What brimline keeps in its data folder cannot be read or written."""


class StoreError(BrimlineError):
    """A stored output is missing, damaged or cannot be read, or a key, query or range is wrong."""


class TeamError(BrimlineError):
    """The team's server cannot be asked, or says no, or what it holds does not fit."""


def reason(error: Exception) -> str:
    """Return why the system refused, as it says it, without the name of a file of ours."""
    return getattr(error, "strerror", None) or str(error)


def do_all(tasks: Iterable[Callable[[], Any]]) -> int:
    """Do each of some tasks, whatever another one raises; the sum of the numbers they return.

    Raises:
        StateError: some of them failed; it says how.
    """
    import os

    done, problems = 0, []
    for task in tasks:
        try:
            done += task() or 0
        except Exception as error:  # noqa: BLE001 - forgetting goes on; the user is told
            named = getattr(error, "filename", None)
            problems.append(f"{os.fsdecode(named)}: {reason(error)}" if named else str(error))
    if problems:
        raise StateError("; ".join(dict.fromkeys(problems)))
    return done
