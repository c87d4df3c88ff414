"""From an event to its answer: measure, let the rooms decide, merge, write the wire format.

Fast path: imports only rooms of ours, those that decide only once there is something to decide.
"""

from __future__ import annotations

from brimline import fastio, policy
from brimline.gauge import reading as gauge
from brimline.gauge import telemetry
from brimline.hooks import wire
from brimline.state.session import SessionState

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from brimline.decision import Decision

_LOADING_TOOLS = ("Agent", "Task", "Skill")
# `offload.waiting`, `offload.seen` and `carry.crossing` have these names too; a quiet hook does not
# load them for a text.
_PINS_WAIT = "offload-pins.jsonl"
_PREVIEWED = "offload-read-"
_REMAINDER = "carry-remainder"
_CARRIED = "carried-"
# After so much new transcript the ledger is brought up to date.
_CARRY_EVERY_BYTES = 4 << 20


def respond(name: str, raw: bytes, home_dir: str) -> bytes:
    """The answer to one hook event; empty for events that are not ours."""
    handler = HANDLERS.get(name)
    if handler is None:
        return b""
    event = wire.Event(name, raw)
    decision = handler(event, home_dir)
    return wire.render(name, decision).encode("utf-8", "replace") if decision else b""


def project_dir(event: wire.Event) -> str:
    """The project a session belongs to, which its current folder may have left."""
    return fastio.env("CLAUDE_PROJECT_DIR") or event.text("cwd") or "/"


def _evaluate(event: wire.Event, home_dir: str) -> Decision | None:
    """Measure the session and say what the reading calls for."""
    if event.from_subagent:
        return None
    rules = policy.load(home_dir, project_dir(event))
    state = SessionState(home_dir, event.text("session_id"))
    decisions = []
    if event.name == "PostToolUse" and _may_be_bulk(event, rules.values, state):
        from brimline.hooks import bulk

        decisions.append(bulk.keep_out(event, state, rules.values, home_dir, project_dir(event)))
    reading = gauge.measure(
        event.text("transcript_path"), state, rules, added_characters=event.added_characters()
    )
    state.add_line(event.name, reading.figures())
    if event.name != "PostToolUse" or telemetry.is_due(reading, state.telemetry()):
        telemetry.publish(reading, state)
    if _REMAINDER in state.names:
        from brimline.hooks import carrying

        session = carrying.about(event, state, rules.values, home_dir, project_dir(event))
        decisions.append(carrying.remainder(session))
    if reading.offset > _CARRY_EVERY_BYTES and _has_grown(reading.offset, state):
        from brimline.hooks import carrying

        carrying.keep_up(carrying.about(event, state, rules.values, home_dir, project_dir(event)))
    if reading.tier or state.has_spoken:
        from brimline.guard import monitor

        decisions.append(monitor.decide(event.name, reading, state, rules, home_dir))
    if event.name == "UserPromptSubmit":
        from brimline.guard import prompt

        told = prompt.decide(state, rules)
        if any(told):
            state.add_line("Told", {"notes": sum(decision is not None for decision in told)})
        decisions += told
        if "pin" in event.text("prompt").lower():
            from brimline.hooks import bulk

            decisions.append(bulk.pin(event, state, rules.values, home_dir))
    return _merged(decisions)


def _has_grown(offset: int, state: SessionState) -> bool:
    """Whether much was written since the ledger was brought up to date."""
    marks = [name[len(_CARRIED) :] for name in state.names if name.startswith(_CARRIED)]
    return offset - max([int(mark) for mark in marks if mark.isdecimal()], default=0) > (
        _CARRY_EVERY_BYTES
    )


def _may_be_bulk(event: wire.Event, values: dict[str, Any], state: SessionState) -> bool:
    """Whether a result is worth a look: it may be too large, fetched back, or to be pinned."""
    if _PINS_WAIT in state.names:
        return True
    if values["offload.preset"] == "off":
        return False
    tool = event.text("tool_name")
    if tool == "Read":
        smallest = min(values["offload.read_bytes"], values["offload.code_bytes"])
        return bool(event.file_characters() >= smallest) or _was_previewed(event, state)
    return event.size_bytes > values["offload.inline_bytes"] or event.names_us()


def _was_previewed(event: wire.Event, state: SessionState) -> bool:
    """Whether a preview of the file was shown before: then each further look at it counts."""
    if not any(name.startswith(_PREVIEWED) for name in state.names):
        return False
    from brimline.offload.seen import Looks

    tool_input = event.payload.get("tool_input")
    path = tool_input.get("file_path") if isinstance(tool_input, dict) else None
    return path in Looks(state, event.text("cwd"))


def _gate(event: wire.Event, home_dir: str) -> Decision | None:
    """Before a tool runs: the ceiling for what loads more, the scout for what reads."""
    if event.from_subagent:
        return None
    rules = policy.load(home_dir, project_dir(event))
    tool, tool_input = event.text("tool_name"), event.payload.get("tool_input")
    if tool == "Write":
        from brimline.hooks import bulk

        state = SessionState(home_dir, event.text("session_id"))
        return bulk.before_write(event, state, home_dir, project_dir(event))
    if tool not in _LOADING_TOOLS:
        if not rules.values["scout.enabled"]:
            return None  # switched off while this session runs
        from brimline.scout import check

        state = SessionState(home_dir, event.text("session_id"))
        mode = rules.values["scout.mode"]
        decision = check.decide(
            tool, tool_input, cwd=event.text("cwd"), project_dir=project_dir(event), mode=mode
        )
        return _recorded(decision, tool, state, home_dir, audited=True)
    from brimline.guard import ceiling, gate

    state = SessionState(home_dir, event.text("session_id"))
    reading = gauge.measure(event.text("transcript_path"), state, rules)
    decision = gate.decide(ceiling.Load(tool, tool_input), reading, state, rules, home_dir)
    return _recorded(decision, tool, state, home_dir, audited=False)


def _recorded(
    decision: Decision | None, tool: str, state: SessionState, home_dir: str, *, audited: bool
) -> Decision | None:
    """Leave a trace of advice and refusals; the gate has already audited its own refusals."""
    from brimline.state import audit
    from brimline.state.failures import guarded

    if decision and not decision.permission:
        guarded(home_dir, "spool", lambda: state.add_line("Advised", {"tool": tool}))
    elif decision and audited:
        fields = {"blocked": True, "tool": tool, "subject": "a read"}
        guarded(home_dir, "spool", lambda: state.add_line("Blocked", fields))
        guarded(
            home_dir,
            "audit",
            lambda: audit.record_block(
                home_dir, state.session_id, {}, f"a read by {tool}", "scout"
            ),
        )
    return decision


def _start(event: wire.Event, home_dir: str) -> Decision | None:
    """Fresh settings and the user's reminder first, then housekeeping."""
    from brimline import config
    from brimline.decision import NOTE_BUDGET_CHARACTERS
    from brimline.guard import reminder
    from brimline.offload.seen import Looks
    from brimline.state.failures import guarded

    config.refresh(home_dir, project_dir(event))
    rules = policy.load(home_dir, project_dir(event))
    state = SessionState(home_dir, event.text("session_id"))
    from brimline.hooks import carrying

    session = carrying.about(event, state, rules.values, home_dir, project_dir(event))
    reminded = reminder.on_start(state, rules.values)
    taken = sum(len(note) + 2 for note in reminded.model_notes) if reminded else 0
    carried = carrying.at_start(session, event.text("source"), NOTE_BUDGET_CHARACTERS - taken - 2)
    decision = _merged([carried, reminded])
    fields = {key: event.text(key) for key in ("source", "model", "cwd", "transcript_path")}
    state.add_line(event.name, {key: text for key, text in fields.items() if text})
    source = event.text("source")
    guarded(home_dir, "offload", lambda: Looks(state, "").note_start(source))
    project = project_dir(event)
    guarded(
        home_dir,
        "housekeeping",
        lambda: _tidy(home_dir, project, state.session_id, rules.values),
    )
    transcript = event.text("transcript_path")
    guarded(home_dir, "rewriting", lambda: _watch_over(home_dir, state.session_id, transcript))
    return decision


def _watch_over(home_dir: str, session_id: str, transcript: str) -> None:
    """Note whose session this is, and finish what a rewrite of one beside it has left undone."""
    from brimline.session import hook

    hook.session_start(home_dir, session_id, transcript)


def _tidy(home_dir: str, project: str, session_id: str, values: dict[str, Any]) -> None:
    from brimline import config
    from brimline.hooks import housekeeping

    housekeeping.tidy(home_dir, session_id, values)
    config.refresh(home_dir, project)


def _before_compaction(event: wire.Event, home_dir: str) -> Decision | None:
    """Record how full the window was and who asked for it; save the state, steer the summary."""
    from brimline.hooks import carrying
    from brimline.state.failures import guarded

    rules = policy.load(home_dir, project_dir(event))
    state = SessionState(home_dir, event.text("session_id"))
    figures: dict[str, Any] = {}
    guarded(home_dir, event.name, lambda: figures.update(_note_compaction(event, state, rules)))
    if _PINS_WAIT in state.names:
        from brimline.hooks import bulk

        bulk.pin_before_compaction(state, home_dir)
    session = carrying.about(event, state, rules.values, home_dir, project_dir(event))
    return carrying.before(session, event.text("trigger"), figures)


def _note_compaction(
    event: wire.Event, state: SessionState, rules: policy.Policy
) -> dict[str, object]:
    reading = gauge.measure(event.text("transcript_path"), state, rules)
    point = reading.compaction
    known = {"effective": point.effective_window_tokens, "expected": point.expected_tokens}
    state.add_line(event.name, {"trigger": event.text("trigger")} | reading.figures() | known)
    return reading.figures()


def _note_summary(event: wire.Event, home_dir: str) -> None:
    """Record the size of the summary, and learn where the client compacts by itself."""
    from brimline.hooks import housekeeping
    from brimline.state import marks

    state = SessionState(home_dir, event.text("session_id"))
    marks.forget_ceiling(state)
    for level in state.spoken_levels():
        state.release_level(level)
    state.remember_compaction(gauge.file_size(event.text("transcript_path")))
    size = {"summary_characters": len(event.text("compact_summary"))}
    state.add_line(event.name, {"trigger": event.text("trigger")} | size)
    housekeeping.learn_point(home_dir, state, event.text("trigger"))
    from brimline.hooks import carrying

    rules = policy.load(home_dir, project_dir(event))
    session = carrying.about(event, state, rules.values, home_dir, project_dir(event))
    carrying.after(session, event.text("compact_summary"), event.text("trigger"))


def _note_agent(event: wire.Event, home_dir: str) -> None:
    """Keep what a subagent reported."""
    from brimline.hooks import carrying

    rules = policy.load(home_dir, project_dir(event))
    state = SessionState(home_dir, event.text("session_id"))
    carrying.note_agent(
        event, carrying.about(event, state, rules.values, home_dir, project_dir(event))
    )


def _end(event: wire.Event, home_dir: str) -> None:
    """Leave word for the next session of this project."""
    from brimline.hooks import carrying

    rules = policy.load(home_dir, project_dir(event))
    state = SessionState(home_dir, event.text("session_id"))
    carrying.at_end(carrying.about(event, state, rules.values, home_dir, project_dir(event)))
    if event.text("reason") in ("clear", "resume"):
        from brimline.session import hook

        hook.session_end(home_dir, state.session_id)  # its client runs on with another session


def _merged(decisions: list[Decision | None]) -> Decision | None:
    made = [decision for decision in decisions if decision]
    if len(made) <= 1:
        return made[0] if made else None
    from brimline.decision import merge

    return merge(made)


HANDLERS: dict[str, Callable[[wire.Event, str], Decision | None]] = {
    "SessionStart": _start,
    "UserPromptSubmit": _evaluate,
    "PreToolUse": _gate,
    "PostToolUse": _evaluate,
    "Stop": _evaluate,
    "PreCompact": _before_compaction,
    "PostCompact": _note_summary,
    "SubagentStop": _note_agent,
    "SessionEnd": _end,
}
