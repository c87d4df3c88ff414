"""The status line: remember what the client tells, print a line, run the one that was there before.

Fast path: imports only rooms of ours. It runs on every redraw, with any field missing.
"""

from __future__ import annotations

from brimline import clock
from brimline.fast import io, json, policy
from brimline.gauge import reading as gauge
from brimline.hooks.entry import log_failure
from brimline.state import failures
from brimline.state.session import SessionState, Snapshot
from brimline.transcript.usage import PROMPT_FIELDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_COLOURS = ("32", "36", "33", "35", "1;31")  # by tier: green, cyan, yellow, magenta, bold red
_FORECAST_REQUESTS = 60
_ERROR_WINDOW_S = 3_600
_WRAPPED_TIMEOUT_S = 10
_LARGEST_COUNT = 10**12


def respond(raw: bytes, home_dir: str, wrapped: str = "") -> bytes:
    """The text to show. A failure of ours leaves the wrapped line alone on the screen."""
    ours = b""
    if not policy.switched_off():
        try:
            payload = _payload(raw)
            rules = policy.load(home_dir, _project(payload))
            ours = (_line(payload, home_dir, rules) + "\n").encode("utf-8", "replace")
        except Exception as error:  # noqa: BLE001 - the other line must still be shown
            log_failure(home_dir, "statusline", error)
    # After ours: it may take its time, or be cut off by the next redraw.
    return ours + (_run(wrapped, raw) if wrapped else b"")


def snapshot_of(payload: dict[str, Any], at: float) -> Snapshot:
    """What a status-line payload tells about the session; zero and null are unknown."""
    context = _table(payload.get("context_window"))
    usage = _table(context.get("current_usage"))
    parts = [_count(usage.get(name)) for name in PROMPT_FIELDS]
    known = [part for part in parts if part is not None]
    model = _table(payload.get("model")).get("id")
    return Snapshot(
        at=at,
        window_tokens=_count(context.get("context_window_size")) or None,
        occupancy_tokens=sum(known) or None if len(known) == len(parts) else None,
        output_tokens=_count(usage.get("output_tokens")) or None,
        model=model if isinstance(model, str) else None,
        rate_limits=_table(payload.get("rate_limits")) or None,
    )


def _line(payload: dict[str, Any], home_dir: str, rules: policy.Policy) -> str:
    state = SessionState(home_dir, payload.get("session_id"))
    snapshot = snapshot_of(payload, round(clock.now(), 3))
    if payload.get("session_id"):
        try:
            state.save_snapshot(snapshot)
        except OSError as error:
            log_failure(home_dir, "statusline", error)
    transcript = payload.get("transcript_path")
    try:
        reading = gauge.measure(
            transcript if isinstance(transcript, str) else None,
            state,
            rules,
            snapshot=snapshot,
            requests=_FORECAST_REQUESTS,
        )
    except OSError as error:
        log_failure(home_dir, "statusline", error)
        reading = gauge.measure(None, state, rules, snapshot=snapshot)
    return compose(reading, len(failures.recent(home_dir, clock.now() - _ERROR_WINDOW_S)))


def compose(reading: gauge.Reading, error_count: int = 0) -> str:
    """One line: how full, how much is left, which tier, how long it will last."""
    mark = "~" if reading.is_estimate else ""
    used = "–" if reading.used_ratio is None else f"{mark}{reading.used_ratio * 100:.0f}"
    parts = [f"ctx {used}% of {_short(reading.window.tokens)}"]
    if reading.margin_tokens is not None:
        parts.append(f"{_short(max(0, reading.margin_tokens))} to compaction")
    outlook = reading.forecast()
    if outlook and outlook.high:
        parts.append(f"~{outlook.ops} requests ({outlook.low}–{outlook.high})")
    if reading.tier:
        parts.append(f"L{reading.tier} {reading.tier_name}")
    if error_count:
        parts.append(f"{error_count} hook error(s): brimline doctor")
    text = " · ".join(parts)
    if io.env("NO_COLOR") or reading.tier is None:
        return text
    return f"\x1b[{_colour(reading)}m{text}\x1b[0m"


def _colour(reading: gauge.Reading) -> str:
    """The last tier of any ladder is red, the others take the colours in turn."""
    tier = reading.tier or 0
    last = tier == reading.tier_count > 1
    return _COLOURS[-1] if last else _COLOURS[min(tier, len(_COLOURS) - 2)]


def _short(tokens: int) -> str:
    for size, letter in ((1_000_000, "M"), (1_000, "k")):
        if tokens >= size:
            return f"{tokens / size:.3g}{letter}"
    return str(tokens)


def _payload(raw: bytes) -> dict[str, Any]:
    try:
        return json.load_object(raw)
    except ValueError:
        return {}


def _project(payload: dict[str, Any]) -> str:
    found = _table(payload.get("workspace")).get("project_dir") or payload.get("cwd")
    return found if isinstance(found, str) and found else "/"


def _run(command: str, raw: bytes) -> bytes:
    """The status line that was there before ours, fed with the same input."""
    import subprocess

    try:
        child = subprocess.Popen(  # noqa: S602 - the client runs this same string through a shell
            command,
            shell=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
    except OSError:
        return b""
    try:
        return child.communicate(raw, timeout=_WRAPPED_TIMEOUT_S)[0]
    except subprocess.TimeoutExpired:
        _end_group(child.pid)
        return child.communicate()[0]
    except OSError:
        return b""


def _end_group(pid: int) -> None:
    """End a command and whatever it started."""
    import os
    import signal

    try:
        os.killpg(pid, signal.SIGKILL)
    except (OSError, AttributeError):
        pass


def _table(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _count(value: Any) -> int | None:
    """A plausible number of tokens, 0 included."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if 0 <= value <= _LARGEST_COUNT and value == value // 1 else None
