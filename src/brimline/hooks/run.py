"""From an event to its answer: measure, let the rooms decide, merge, write the wire format.

Fast path: imports only rooms of ours, those that decide only once there is something to decide.
"""

from __future__ import annotations

from brimline import fastio, policy
from brimline.gauge import reading as gauge
from brimline.hooks import wire
from brimline.state.session import SessionState

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from brimline.decision import Decision


def respond(name: str, raw: bytes, home_dir: str) -> bytes:
    """The answer to one hook event; empty for events that are not ours."""
    handler = HANDLERS.get(name)
    if handler is None:
        return b""
    event = wire.Event(name, raw)
    decision = handler(event, home_dir)
    return wire.render(name, decision).encode() if decision else b""


def project_dir(event: wire.Event) -> str:
    """The project a session belongs to, which its current folder may have left."""
    return fastio.env("CLAUDE_PROJECT_DIR") or event.text("cwd") or "/"


def _evaluate(event: wire.Event, home_dir: str) -> Decision | None:
    """Measure the session and say what the reading calls for."""
    if event.from_subagent:
        return None
    rules = policy.load(home_dir, project_dir(event))
    state = SessionState(home_dir, event.text("session_id"))
    reading = gauge.measure(
        event.text("transcript_path"), state, rules, added_characters=event.added_characters()
    )
    state.add_line(event.name, _line(reading))
    if not reading.tier and not state.has_spoken:
        return None  # by far the most frequent case: nothing below is even loaded
    from brimline.guard import monitor

    return monitor.decide(reading, state, rules)


def _start(event: wire.Event, home_dir: str) -> Decision | None:
    """Bring the compiled settings up to date, once per session."""
    from brimline import config

    config.refresh(home_dir, project_dir(event))
    state = SessionState(home_dir, event.text("session_id"))
    fields = {key: event.text(key) for key in ("source", "model", "cwd", "transcript_path")}
    state.add_line(event.name, {key: text for key, text in fields.items() if text})
    return None


def _note_compaction(event: wire.Event, home_dir: str) -> Decision | None:
    """Record how full the window was when the client decided to compact, and who asked for it."""
    rules = policy.load(home_dir, project_dir(event))
    state = SessionState(home_dir, event.text("session_id"))
    reading = gauge.measure(event.text("transcript_path"), state, rules)
    state.add_line(event.name, {"trigger": event.text("trigger")} | _line(reading))
    return None


def _line(reading: gauge.Reading) -> dict[str, object]:
    return {
        "occupancy": reading.occupancy_tokens,
        "tail": reading.tail_tokens,
        "window": reading.window.tokens,
        "window_source": reading.window.source,
        "compaction": reading.compaction.tokens,
        "tier": reading.tier,
        "offset": reading.offset,
    }


HANDLERS: dict[str, Callable[[wire.Event, str], Decision | None]] = {
    "SessionStart": _start,
    "UserPromptSubmit": _evaluate,
    "PostToolUse": _evaluate,
    "PreCompact": _note_compaction,
}
