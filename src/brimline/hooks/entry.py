"""The process behind every installed hook: read the event, ask the rooms, answer, tidy up, leave.

Fast path: imports only rooms of ours. Whatever goes wrong, the client gets an empty
answer and exit code 0, and the failure becomes one line in the error log.
"""

from __future__ import annotations

from brimline.fast import io, paths
from brimline.hooks import table, wire
from brimline.hooks.turn import Turn, ask_rooms, call_room, log_failure
from brimline.state.session import LEFT_TO_PLUGIN, MOD_ALIVE, MOD_JUDGED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


STDIN_LIMIT_BYTES = 256 << 20
# The client writes the event and closes; a pipe that stays open is no reason to stay.
STDIN_S = 10.0
# All of housekeeping, and what it may take at most should one of its steps hang.
TIDY_S = 0.5
LEAVE_S = 2.0


def main(name: str, wrapped: str = "") -> None:
    """Answer one event and end the process.

    Args:
        name: the event's.
        wrapped: for the status line the command that was there before, if any.
    """
    home_dir = turn = None
    answer = b""
    try:
        home_dir = paths.data_dir()
        _set_alarm(STDIN_S, _raise_timeout)
        raw = io.read_descriptor(0, STDIN_LIMIT_BYTES)
        _set_alarm(0.0, _end_process)
        if name == "statusline":
            from brimline.hooks import statusline

            answer = statusline.respond(raw, home_dir, wrapped)
        elif turn := open_turn(name, raw, home_dir):
            answer = answer_turn(turn)
    except BaseException as error:  # noqa: BLE001 - nothing of ours may reach the session
        log_failure(home_dir, name, error, turn)
        turn = None
    io.write_to_stdout(answer)
    if turn and name == table.TIDY_AFTER and _is_left_alone():
        try:
            # Whatever housekeeping finds, and wherever it hangs: the process ends.
            _set_alarm(LEAVE_S, _end_process)
            tidy(turn)
        except BaseException as error:  # noqa: BLE001 - the answer is given
            log_failure(home_dir, name, error, turn)
    _end_process()


def _is_left_alone() -> bool:
    """Go on in a process for which nobody waits, where the system has one to spare.

    The client waits until a hook has ended and nobody holds its output.
    """
    if not hasattr(io.system, "fork"):
        return True
    try:
        if io.system.fork():
            return False
        io.system.setsid()
        nothing = io.system.open("/dev/null", io.system.O_RDWR)
        for descriptor in range(3):
            io.system.dup2(nothing, descriptor)
    except OSError:
        return False  # the next session's start comes to it
    return True


def open_turn(name: str, raw: bytes, home_dir: str) -> Turn | None:
    """The turn of an event; None for one that nobody here answers.

    Raises:
        ValueError: the event is not a JSON object.
    """
    if name not in table.EVENTS:
        return None
    event = wire.Event(name, raw)
    if event.agent_id and not table.EVENTS[name].subagents and event.tool not in table.RECALL:
        return None
    turn = Turn(event, home_dir)
    return None if _is_left_to_plugin(turn) else turn


def _is_left_to_plugin(turn: Turn) -> bool:
    """Tell whether this session has the plugin, which then answers: found out as it starts."""
    starts = turn.event.name == "SessionStart"
    if not starts and LEFT_TO_PLUGIN not in turn.state.names:
        return False
    if paths.is_plugin():
        return False
    from brimline.settings import plugins

    if starts and plugins.plugin_at_work(turn.project):
        io.create_exclusively(f"{turn.state.folder}/{LEFT_TO_PLUGIN}", b"")
        return True
    return not starts


def respond(name: str, raw: bytes, home_dir: str) -> bytes:
    """The answer to one event, without the process around it: for tests and other tools."""
    turn = open_turn(name, raw, home_dir)
    return answer_turn(turn) if turn else b""


def answer_turn(turn: Turn) -> bytes:
    """Answer an event in the client's words; empty where no room has decided anything."""
    event = turn.event
    if wire.MOD_KEY in event.payload:
        from brimline.hooks import mod_results

        return mod_results.respond(turn)
    if event.name == "PostToolUse" and MOD_ALIVE in turn.state.names:
        # The client did not leave this result to the mod, which must not have it judged again.
        io.append_line(f"{turn.state.folder}/{MOD_JUDGED}", event.call_id)
    decision = ask_rooms(turn)
    return wire.answer_text(event.name, decision).encode("utf-8", "replace") if decision else b""


def tidy(turn: Turn, seconds: float = TIDY_S) -> None:
    """Housekeeping, which nobody waits for: each room has its share of the time that is left."""
    from time import monotonic

    from brimline.rooms import TIDY

    end = monotonic() + seconds
    for at, room in enumerate(TIDY):
        now = monotonic()
        until = now + max(0.0, end - now) / (len(TIDY) - at)
        turn.attempt(f"tidy {room}", call_room, room, "tidy", turn, until)
    turn.attempt("settings", turn.refresh_settings)  # what was learned is part of them


def _set_alarm(seconds: float, handler: Callable[..., None]) -> None:
    """Have a function called in so many seconds, whatever is being done then; 0 takes it back."""
    import _signal  # type: ignore[import-not-found] # `signal` itself would load `enum`

    _signal.signal(_signal.SIGALRM, handler)
    _signal.setitimer(_signal.ITIMER_REAL, seconds)


def _raise_timeout(*_: object) -> None:
    raise TimeoutError(f"the event did not end within {STDIN_S:.0f} s: standard input is open")


def _end_process(*_: object) -> None:
    """End the process; skipping the interpreter's own shutdown saves a tenth of the whole cost."""
    io.system._exit(0)  # noqa: SLF001 - its public name
