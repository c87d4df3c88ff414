"""The user's reminder: shown to the model at the start, after a compaction and when it changes.

Repeating unchanged text costs tokens and gains little, so it is not repeated unless asked for.
"""

from __future__ import annotations

import glob
import hashlib
import os
from typing import TYPE_CHECKING

from brimline.decision import NOTE_BUDGET_CHARACTERS, Decision
from brimline.fast import io, paths
from brimline.transcript.find import modified

if TYPE_CHECKING:
    from brimline.hooks.turn import Turn
    from brimline.state.session import SessionState

TRUNCATED = "[truncated]"
# In a session's folder: the fingerprint of the text given last, and how many prompts came since.
_MARK = "reminder"
_LARGEST_BYTES = 64 << 10
# Leaves room for a tier and the rate limits, which may come with the same prompt.
_LARGEST_CHARACTERS = NOTE_BUDGET_CHARACTERS - 1_000


def at_start(turn: Turn) -> Decision | None:
    """At the start of a session and after a compaction, always."""
    text = _own_text(turn)
    return _given(turn, text) if text else None


def at_prompt(turn: Turn) -> Decision | None:
    """With a prompt: when the text changed, or as many prompts passed as the user asked for."""
    text = _own_text(turn)
    if not text:
        return None
    known, prompts = _last(turn.state)
    every = turn.values["reminder.every"]
    if _fingerprint(text) == known and not (every and prompts + 1 >= every):
        _remember(turn.state, known, prompts + 1)
        return None
    return _given(turn, text)


def _given(turn: Turn, text: str) -> Decision:
    _remember(turn.state, _fingerprint(text), 0)
    return Decision(model_notes=(_note(turn, text),))


def _own_text(turn: Turn) -> str:
    """What the user wrote; only a change of this makes the reminder due again."""
    try:
        raw = io.read_file(os.path.expanduser(turn.values["reminder.file"]), _LARGEST_BYTES)
    except OSError:
        return ""
    return raw.decode("utf-8", "replace").strip()


def _note(turn: Turn, text: str) -> str:
    head = f"[brimline] Reminder from {turn.values['reminder.file']} (`reminder.file`):\n"
    plan = _active_plan(turn.state)
    active = f"\nActive plan: {plan}" if plan else ""
    room = _LARGEST_CHARACTERS - len(head) - len(active)
    if len(text) > room:
        text = f"{text[: max(0, room - len(TRUNCATED) - 1)]}\n{TRUNCATED}"
    return f"{head}{text}{active}"


def _active_plan(state: SessionState) -> str | None:
    """The plan file that was written last, if that was since this session began."""
    begun = state.begun_at()
    plans = glob.glob(f"{glob.escape(paths.client_config_dir())}/plans/*.md")
    recent = [plan for plan in plans if begun is not None and modified(plan) >= begun]
    return max(recent, key=modified, default=None)


def _fingerprint(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _last(state: SessionState) -> tuple[str, int]:
    if _MARK not in state.names:
        return "", 0
    try:
        text = io.read_file(f"{state.folder}/{_MARK}", 64).decode("ascii", "replace")
    except OSError:
        return "", 0
    fingerprint, _, prompts = text.partition(" ")
    return fingerprint, int(prompts) if prompts.isdecimal() else 0


def _remember(state: SessionState, fingerprint: str, prompts: int) -> None:
    io.replace_file(f"{state.folder}/{_MARK}", f"{fingerprint} {prompts}".encode())
