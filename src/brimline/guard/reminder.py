"""The user's reminder: shown to the model at the start, after a compaction and when it changes.

Repeating unchanged text costs tokens and gains little, so it is not repeated unless asked for.
"""

from __future__ import annotations

import glob
import hashlib
import os
from typing import TYPE_CHECKING, Any

from brimline import fastio, paths
from brimline.decision import NOTE_BUDGET_CHARACTERS, Decision
from brimline.state import marks

if TYPE_CHECKING:
    from brimline.state.session import SessionState

TRUNCATED = "[truncated]"
_LARGEST_BYTES = 64 << 10
# Leaves room for a tier and the rate limits, which may come with the same prompt.
_LARGEST_CHARACTERS = NOTE_BUDGET_CHARACTERS - 1_000


def on_start(state: SessionState, rules: dict[str, Any]) -> Decision | None:
    """At the start of a session and after a compaction, always."""
    text = _own_text(rules)
    if not text:
        return None
    marks.remember_reminder(state, _fingerprint(text), 0)
    return Decision(model_notes=(_note(text, rules, state),))


def on_prompt(state: SessionState, rules: dict[str, Any]) -> Decision | None:
    """With a prompt: when the text changed, or as many prompts passed as the user asked for."""
    text = _own_text(rules)
    if not text:
        return None
    known, prompts = marks.reminder(state)
    every = rules["reminder.every"]
    due = every and prompts + 1 >= every
    if _fingerprint(text) == known and not due:
        marks.remember_reminder(state, known, prompts + 1)
        return None
    marks.remember_reminder(state, _fingerprint(text), 0)
    return Decision(model_notes=(_note(text, rules, state),))


def _own_text(rules: dict[str, Any]) -> str:
    """What the user wrote; only a change of this makes the reminder due again."""
    file = rules["reminder.file"]
    if not file:
        return ""
    try:
        raw = fastio.read_file(os.path.expanduser(file), _LARGEST_BYTES)
    except OSError:
        return ""
    return raw.decode("utf-8", "replace").strip()


def _note(text: str, rules: dict[str, Any], state: SessionState) -> str:
    head = f"[brimline] Reminder from {rules['reminder.file']} (`reminder.file`):\n"
    plan = _active_plan(state)
    active = f"\nActive plan: {plan}" if plan else ""
    room = _LARGEST_CHARACTERS - len(head) - len(active)
    if len(text) > room:
        text = f"{text[: max(0, room - len(TRUNCATED) - 1)]}\n{TRUNCATED}"
    return f"{head}{text}{active}"


def _active_plan(state: SessionState) -> str | None:
    """The plan file that was written last, if that was since this session began."""
    begun = state.begun_at()
    plans = glob.glob(f"{glob.escape(paths.client_config_dir())}/plans/*.md")
    recent = [plan for plan in plans if begun is not None and _modified(plan) >= begun]
    return max(recent, key=_modified, default=None)


def _modified(path: str) -> float:
    try:
        return os.path.getmtime(path)
    except OSError:
        return 0.0


def _fingerprint(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
