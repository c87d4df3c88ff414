"""PreToolUse on agents and skills: the ceiling, and the refusal to dispatch in the last tier."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from brimline import fastio
from brimline.decision import Decision
from brimline.gauge.window import VERIFIED_SOURCES
from brimline.guard import adr11, ceiling, gate_texts
from brimline.state import audit, marks
from brimline.state.failures import guarded

if TYPE_CHECKING:
    from brimline.gauge.reading import Reading
    from brimline.policy import Policy
    from brimline.state.session import SessionState

_ESTIMATED = "fill only estimated"


def decide(
    load: ceiling.Load, reading: Reading, state: SessionState, policy: Policy, home_dir: str
) -> Decision | None:
    """What to say or refuse before an agent or a skill is loaded."""
    rules = policy.values
    if rules["guard.preset"] == "off":
        return None
    if _dispatch_refused(load, reading, policy):
        _record(load, reading, state, home_dir, "critical tier")
        return Decision(permission="deny", reason=gate_texts.dispatch_refusal(load, reading))
    literal = rules["guard.preset"] == "adr11"
    return (_literal if literal else _default)(load, reading, state, policy, home_dir)


def _default(
    load: ceiling.Load, reading: Reading, state: SessionState, policy: Policy, home_dir: str
) -> Decision | None:
    unverified = "" if reading.window.source in VERIFIED_SOURCES else "window unverified"
    doubt = _ESTIMATED if reading.is_estimate else unverified
    verdict = ceiling.judge(load, reading.occupancy_tokens, reading.window, policy.values, doubt)
    if verdict is None:
        _forget_marks_below(reading, reading.window.tokens, state, policy.values)
        return None
    text = gate_texts.ceiling_note(load, verdict, reading)
    return _speak(load, verdict, text, reading, state, home_dir)


def _literal(
    load: ceiling.Load, reading: Reading, state: SessionState, policy: Policy, home_dir: str
) -> Decision | None:
    rules = adr11.apply(policy.values, fastio.env)
    window, provenance = adr11.window_for(rules, reading.model, reading.window)
    occupancy = reading.occupancy_tokens
    doubt = _ESTIMATED if reading.is_estimate else ""
    verdict = ceiling.judge(load, occupancy, window, rules, doubt)
    if verdict is None or occupancy is None:
        _forget_marks_below(reading, window.tokens, state, rules)
        return None
    text = adr11.text(load, verdict, occupancy, window, provenance, estimated=reading.is_estimate)
    return _speak(load, verdict, text, reading, state, home_dir)


def _speak(
    load: ceiling.Load,
    verdict: ceiling.Verdict,
    text: str,
    reading: Reading,
    state: SessionState,
    home_dir: str,
) -> Decision | None:
    """A refusal every time; advice once per bucket, and again when the band rises."""
    if verdict.refuse:
        _record(load, reading, state, home_dir, "context ceiling")
        return Decision(permission="deny", reason=text)
    if not _is_news(verdict, state):
        return None
    return Decision(model_notes=(text,))


def _record(
    load: ceiling.Load, reading: Reading, state: SessionState, home_dir: str, reason: str
) -> None:
    fields = {"blocked": True, "tool": load.tool, "subject": load.label}
    figures = reading.figures()
    guarded(home_dir, "spool", lambda: state.add_line("Blocked", fields))
    guarded(
        home_dir,
        "audit",
        lambda: audit.record_block(home_dir, state.session_id, figures, load.label, reason),
    )


def _is_news(verdict: ceiling.Verdict, state: SessionState) -> bool:
    known = marks.ceiling_marks(state)
    news = all(
        verdict.bucket > bucket or (verdict.band > band and verdict.bucket >= bucket)
        for bucket, band in known
    )
    for bucket, band in known:
        if bucket > verdict.bucket:
            marks.release_ceiling(state, bucket, band)
    return marks.claim_ceiling(state, verdict.bucket, verdict.band) and news


def _forget_marks_below(
    reading: Reading, window_tokens: int, state: SessionState, rules: dict[str, Any]
) -> None:
    """Below the ceiling again: the next climb over it is news."""
    if reading.occupancy_tokens is None:
        return
    limit = ceiling.Ceiling(
        window_tokens, rules["guard.ceiling_percent"], rules["guard.ceiling_tokens"]
    )
    if reading.occupancy_tokens < limit.tokens:
        for bucket, band in marks.ceiling_marks(state):
            marks.release_ceiling(state, bucket, band)


def _dispatch_refused(load: ceiling.Load, reading: Reading, policy: Policy) -> bool:
    last_tier = len(policy.values["guard.tiers"])
    return (
        bool(policy.values["guard.block_dispatch_at_critical"])
        and load.tool in ceiling.DELEGATING_TOOLS
        and reading.tier == last_tier
        and not reading.is_estimate
    )
