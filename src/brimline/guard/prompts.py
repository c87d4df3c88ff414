"""What comes with a prompt: the user's reminder, and rate limits as the status line delivers them.

The reminder is shown at the start, after a compaction and when it changes: repeating unchanged text
costs tokens and gains little. Nothing here reads credentials or calls anyone.
"""

from __future__ import annotations

import glob
import os
import time
from typing import TYPE_CHECKING, Any

from brimline.fast import clock, io, paths
from brimline.fast.decision import NOTE_BUDGET_CHARACTERS, Decision
from brimline.foreign import flatten
from brimline.transcript.find import modified_at

if TYPE_CHECKING:
    from collections.abc import Iterator

    from brimline.hooks.turn import Turn
    from brimline.state.session import SessionState

TRUNCATED = "[truncated]"
# In a session's folder: the fingerprint of the text given last, and how many prompts came since.
_REMINDED = "reminder"
_LARGEST_BYTES = 64 << 10
# Leaves room for a tier and the rate limits, which may come with the same prompt.
_LARGEST_CHARACTERS = NOTE_BUDGET_CHARACTERS - 1_000
WARN_PERCENT = 70
CRITICAL_PERCENT = 90
_LIMITS = (("five_hour", "5h"), ("seven_day", "7d"))
# In a session's folder: the bands that were told.
_TOLD = "quota-"
_MARKS = ("", " [WARNING]", " [CRITICAL]")


def remind_from_file_at_start(turn: Turn) -> Decision | None:
    """At the start of a session and after a compaction, always."""
    text = _read_reminder_file(turn)
    return _note_and_give_reminder(turn, text) if text else None


def remind_from_file_on_prompt(turn: Turn) -> Decision | None:
    """With a prompt: when the text changed, or as many prompts passed as the user asked for."""
    text = _read_reminder_file(turn)
    if not text:
        return None
    fingerprint, prompts = _last_reminder_and_prompts_since(turn.state)
    every = turn.values["reminder.every"]
    if paths.path_fingerprint(text) == fingerprint and not (every and prompts + 1 >= every):
        _save_reminder_state(turn.state, fingerprint, prompts + 1)
        return None
    return _note_and_give_reminder(turn, text)


def _note_and_give_reminder(turn: Turn, text: str) -> Decision:
    _save_reminder_state(turn.state, paths.path_fingerprint(text), 0)
    return Decision(model_notes=(_reminder_text(turn, text),))


def _read_reminder_file(turn: Turn) -> str:
    """Return what the user wrote; only a change of this makes the reminder due again."""
    file = os.path.expanduser(turn.values["reminder.file"] or "")
    if paths.is_link_out_of_folder(file, turn.project):
        return ""
    try:
        raw = io.read_file(file, _LARGEST_BYTES)
    except OSError:
        return ""
    return raw.decode("utf-8", "replace").strip()


def _reminder_text(turn: Turn, text: str) -> str:
    head = f"[brimline] Reminder from {turn.values['reminder.file']} (`reminder.file`):\n"
    plan = _plan_file_of_session(turn.state)
    active = f"\nActive plan: {flatten(plan)}" if plan else ""
    room = _LARGEST_CHARACTERS - len(head) - len(active)
    if len(text) > room:
        text = f"{text[: room - len(TRUNCATED) - 1]}\n{TRUNCATED}"
    return f"{head}{text}{active}"


def _plan_file_of_session(state: SessionState) -> str | None:
    """The plan file that was written last, if that was since this session began."""
    begun = state.begun_at()
    plans = glob.glob(f"{glob.escape(paths.client_config_dir())}/plans/*.md")
    recent = [plan for plan in plans if begun is not None and modified_at(plan) >= begun]
    return max(recent, key=modified_at, default=None)


def _last_reminder_and_prompts_since(state: SessionState) -> tuple[str, int]:
    try:
        text = io.read_file(f"{state.folder}/{_REMINDED}", 64).decode("ascii", "replace")
    except OSError:
        return "", 0
    fingerprint, _, prompts = text.partition(" ")
    return fingerprint, io.parse_positive_number(prompts) or 0


def _save_reminder_state(state: SessionState, fingerprint: str, prompts: int) -> None:
    io.replace_file(f"{state.folder}/{_REMINDED}", f"{fingerprint} {prompts}".encode())


def tell_rate_limits_in_new_band(turn: Turn, rate_limits: Any) -> Decision | None:
    """Tell the limits once when any of them enters a higher band."""
    now = time.time()
    known = _limit_bands(rate_limits, now)
    entered = [_claim_band_of_limit(turn.state, name, band) for name, band, *_ in known]
    return Decision(model_notes=(rate_limits_line(rate_limits, now),)) if any(entered) else None


def rate_limits_line(rate_limits: Any, now: float) -> str:
    """All known limits that were not reset since, in one line."""
    parts = [
        f"{name}: {percent:.0f}%{_MARKS[band]}{_time_to_reset_text(resets, now)}"
        for name, band, percent, resets in _limit_bands(rate_limits, now)
        if resets is None or resets > now
    ]
    return "## Usage Limits - " + " | ".join(parts)


def _limit_bands(rate_limits: Any, now: float) -> Iterator[tuple[str, int, float, float | None]]:
    """Name, band, share in use and time of the reset of every limit that tells its share.

    The bands are 0, calm, also once it was reset, then 1 and 2.
    """
    for key, name in _LIMITS:
        limit = rate_limits.get(key) if isinstance(rate_limits, dict) else None
        percent = limit.get("used_percentage") if isinstance(limit, dict) else None
        if isinstance(percent, int | float) and not isinstance(percent, bool):
            resets = _reset_time_of_limit(limit)
            reached = (percent >= WARN_PERCENT) + (percent >= CRITICAL_PERCENT)
            yield name, reached if resets is None or resets > now else 0, percent, resets


def _time_to_reset_text(resets: float | None, now: float) -> str:
    if resets is None:
        return ""
    minutes = int((resets - now) // 60)
    days, hours = divmod(minutes // 60, 24)
    text = f"{days}d {hours}h" if days else f"{hours}h {minutes % 60}m"
    return f" | resets in {text}"


def _reset_time_of_limit(limit: Any) -> float | None:
    """The client gives seconds since 1970; a text form is read as well."""
    value = limit.get("resets_at")
    if isinstance(value, str):
        return clock.parse_utc(value)
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _claim_band_of_limit(state: SessionState, limit: str, band: int) -> bool:
    """Tell whether a band of a limit is entered just now; leaving it lets it be told again."""
    for higher in range(band + 1, len(_MARKS)):
        io.remove(f"{state.folder}/{_TOLD}{limit}.{higher}")
    claims = [
        io.create_exclusively(f"{state.folder}/{_TOLD}{limit}.{reached}", b"")
        for reached in range(1, band + 1)
    ]
    return bool(claims) and claims[-1]
