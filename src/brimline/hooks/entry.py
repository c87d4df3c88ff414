"""The process behind every installed hook: read the event, answer, leave.

Fast path: imports only `sys` and rooms of ours. Whatever goes wrong, the client gets an empty
answer and exit code 0, and the failure becomes one line in the error log.
"""

from __future__ import annotations

import sys

from brimline import fastio, paths, policy

STDIN_LIMIT_BYTES = 256 << 20
# The argument by which the plugin's hooks are told from those in the client's settings.
PLUGIN = "plugin"


def main(arguments: list[str] | None = None) -> None:
    """Answer one event and end the process.

    Args:
        arguments: the event's name, then what the installer baked in: the data folder (or nothing)
            and one word more: for the status line the command that was there before, for a hook of
            the plugin `plugin`.
    """
    given = [*(arguments or sys.argv[1:]), "", "", ""]
    name, installed_home, extra = given[:3]
    home_dir = None
    try:
        home_dir = paths.home(installed_home or None)
        answer = respond(name, fastio.read_all(0, STDIN_LIMIT_BYTES), home_dir, extra)
    except BaseException as error:  # noqa: BLE001 - nothing of ours may reach the session
        answer = b""
        log_failure(home_dir, name, error)
    _write(answer)
    # Skipping the interpreter's own shutdown saves a tenth of the whole cost.
    fastio.system._exit(0)  # noqa: SLF001 - its public name


def respond(name: str, raw: bytes, home_dir: str, extra: str = "") -> bytes:
    """The answer to one event."""
    if name == "statusline":
        from brimline.hooks import statusline

        return statusline.respond(raw, home_dir, extra)
    if policy.switched_off():
        return b""
    if extra == PLUGIN:
        from brimline import yielding

        if yielding.yields(name, raw, home_dir):
            return b""
    from brimline.hooks import run

    return run.respond(name, raw, home_dir)


def log_failure(home_dir: str | None, name: str, error: BaseException) -> None:
    """Leave one line that `doctor` and the status line show; failing at that too is final."""
    try:
        from brimline.state import failures

        failures.record(home_dir or paths.home(), name, error)
    except BaseException:  # noqa: BLE001, S110 - there is nobody left to tell
        pass


def _write(answer: bytes) -> None:
    try:
        while answer:
            answer = answer[fastio.system.write(1, answer) :]
    except OSError:
        pass  # the client is gone
