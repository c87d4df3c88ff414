"""One hook event being answered: all that a room may ask about it, made when first asked for.

Fast path: imports only `io`, `paths` and `table`; the rest is loaded by whoever asks for it. Rooms
get a `Turn` and return a `Decision` or nothing.
"""

from __future__ import annotations

from brimline.fast import io, paths
from brimline.hooks import table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, TypeVar

    from brimline.fast.decision import Decision
    from brimline.fast.policy import Policy
    from brimline.gauge.reading import Reading
    from brimline.hooks.wire import Event
    from brimline.state.session import SessionState

    Made = TypeVar("Made")


class Turn:
    """The event and what was decided so far; settings, state and reading on demand."""

    def __init__(self, event: Event, home_dir: str) -> None:
        self.event = event
        self.home = home_dir
        # The project a session belongs to, which its current folder may have left.
        self.project = io.env("CLAUDE_PROJECT_DIR") or event.cwd or "/"
        # What the rooms that were asked before have answered.
        self.decisions: list[Decision] = []
        self._policy: Policy | None = None
        self._state: SessionState | None = None
        self._reading: Reading | None = None

    @property
    def policy(self) -> Policy:
        """The settings in force; a session's start brings the compiled file up to date first."""
        if self._policy is None:
            from brimline.fast import policy

            if self.event.name == "SessionStart":
                self.attempt("settings", self.refresh_settings)
            self._policy = policy.load(self.home, self.project)
        return self._policy

    @property
    def values(self) -> dict[str, Any]:
        """Settings by name."""
        return self.policy.values

    @property
    def state(self) -> SessionState:
        """What we remember of the session."""
        if self._state is None:
            from brimline.state.session import SessionState

            self._state = SessionState(self.home, self.event.session_id)
        return self._state

    @property
    def reading(self) -> Reading:
        """How full the window is; all unknown where the transcript cannot be read."""
        if self._reading is None:
            from brimline.gauge.reading import measure_session

            facts = (self.state, self.policy, self.event.added_characters())
            measured = self.attempt("measuring", measure_session, self.event.transcript, *facts)
            self._reading = measured or measure_session(None, *facts)
        return self._reading

    def replace_result(self, replacement: Any) -> None:
        """Let the model see something else: what is measured from here on is that."""
        self.event.tool_response = replacement
        self._reading = None

    def attempt(self, what: str, task: Callable[..., Made], *arguments: Any) -> Made | None:
        """Do what must not stop the turn: the task's value, or None and a line in the error log."""
        try:
            return task(*arguments)
        except Exception as error:  # noqa: BLE001 - whatever it is, the session goes on
            log_failure(self.home, what, error, self)
            return None

    def spool_event(self, kind: str, **fields: Any) -> None:
        """Leave a line in the session's spool."""
        self.attempt("spool", self.state.spool_event, kind, fields)

    def characters_left_for_notes(self) -> int:
        """Return how many characters are left of what one answer may hold for the model."""
        from brimline.fast.decision import NOTE_BUDGET_CHARACTERS

        notes = [note for decision in self.decisions for note in decision.model_notes]
        return NOTE_BUDGET_CHARACTERS - sum([len(note) + 2 for note in notes])

    def traces(self, name: str) -> Iterator[Any]:
        """Yield what every room says under a name of what it leaves in the data folder."""
        from brimline import rooms

        return rooms.values_in_all_traces(name)

    def refresh_settings(self) -> None:
        """Compile the settings again where one of their sources has changed."""
        from brimline.settings import stamps

        if stamps.is_policy_file_stale(self.home, self.project):
            from brimline.settings import config

            config.compile_policy(self.home, self.project)


def ask_rooms(turn: Turn, left_out: str = "") -> Decision | None:
    """Return what the rooms that answer an event decide together; one of them may be left out.

    A room that fails costs its own decision and nothing else.
    """
    event = turn.event
    answered = table.EVENTS[event.name]
    silenced = turn.state.is_off
    for room, about in answered.rooms.items():
        is_about = about in ("", "*") or event.tool in about.split("|")
        if about == table.CLEARED:
            is_about = bool(turn.reading.cleared_results)
        is_silent = silenced and room not in table.WHILE_OFF
        if not is_about or is_silent or room == left_out:
            continue
        decision: Decision | None = turn.attempt(room, call_room, room, answered.function, turn)
        if decision is None:
            continue
        turn.decisions.append(decision)
        if decision.permission == "deny":
            break  # the call is refused; later rooms have nothing to add
        if decision.replacement is not None:
            turn.replace_result(decision.replacement)
    if len(turn.decisions) > 1:
        from brimline.fast.decision import merge_decisions

        return merge_decisions(turn.decisions)
    return next(iter(turn.decisions), None)


def call_room(room: str, function: str, *arguments: Any) -> Any:
    """Call a function of a room's `hook` module, which is loaded when it is first needed."""
    module = __import__(f"brimline.{room}.hook", None, None, ("hook",))
    return getattr(module, function)(*arguments)


def log_failure(
    home_dir: str | None, name: str, error: BaseException, turn: Turn | None = None
) -> None:
    """Leave one line that `doctor` and the status line show; failing at that too is final."""
    try:
        from brimline.state import logs

        session = turn.event.session_id if turn else ""
        logs.record_failure(home_dir or paths.data_dir(), name, error, session)
    except BaseException:  # noqa: BLE001, S110 - there is nobody left to tell
        pass
