"""The status line: remember what the client tells, print a line, run the one that was there before.

Fast path: imports only rooms of ours. It runs on every redraw, with any field missing.
"""

from __future__ import annotations

from brimline.fast import clock, io, json, policy
from brimline.gauge import wording
from brimline.gauge.reading import Reading, measure_session
from brimline.hooks.turn import log_failure
from brimline.state import logs
from brimline.state.session import SessionState, Snapshot
from brimline.transcript.usage import PROMPT_FIELDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Columns that the client keeps for itself, left and right.
_CLIENT_COLUMNS = 4
_LONGEST_NAME = 40
_LONGEST_HEAD = 300
_LIMITS = (("five_hour", "5h"), ("seven_day", "7d"))
_CODES = {"green": "32", "cyan": "36", "yellow": "33", "magenta": "35", "red": "1;31"}
# The client holds redraws back, so what it tells may be older than the last row by then.
_LAG_S = 1.0
_FORECAST_REQUESTS = 60
_ERROR_WINDOW_S = 3_600
_WRAPPED_TIMEOUT_S = 10
_LARGEST_COUNT = 10**12


def respond(raw: bytes, home_dir: str, wrapped: str = "") -> bytes:
    """The text to show. A failure of ours leaves the wrapped line alone on the screen."""
    ours = b""
    try:
        payload = _parse_payload(raw)
        rules = policy.load(home_dir, _project_dir(payload))
        ours = (_make_status_line(payload, home_dir, rules) + "\n").encode("utf-8", "replace")
    except Exception as error:  # noqa: BLE001 - the other line must still be shown
        log_failure(home_dir, "statusline", error)
    # After ours: it may take its time, or be cut off by the next redraw.
    return ours + (_run_wrapped_status_line(wrapped, raw) if wrapped else b"")


def snapshot_of_payload(payload: dict[str, Any], at: float) -> Snapshot:
    """Return what a status-line payload tells about the session; zero and null are unknown."""
    context = _as_dict(payload.get("context_window"))
    usage = _as_dict(context.get("current_usage"))
    parts = [_token_count_or_none(usage.get(name)) for name in PROMPT_FIELDS]
    known = [part for part in parts if part is not None]
    model = _as_dict(payload.get("model")).get("id")
    cost = _as_dict(payload.get("cost")).get("total_cost_usd")
    return Snapshot(
        at=at,
        window_tokens=_token_count_or_none(context.get("context_window_size")) or None,
        occupancy_tokens=sum(known) or None if len(known) == len(parts) else None,
        output_tokens=_token_count_or_none(usage.get("output_tokens")) or None,
        model=model if isinstance(model, str) else None,
        rate_limits=_as_dict(payload.get("rate_limits")) or None,
        cost_usd=cost if isinstance(cost, int | float) else None,
    )


def _make_status_line(payload: dict[str, Any], home_dir: str, rules: policy.Policy) -> str:
    state = SessionState(home_dir, payload.get("session_id"))
    snapshot = snapshot_of_payload(payload, round(clock.now_s() - _LAG_S, 3))
    if payload.get("session_id"):
        try:
            state.save_snapshot(snapshot)
        except OSError as error:
            log_failure(home_dir, "statusline", error)
    reading = _reading_now(payload.get("transcript_path"), home_dir, state, rules, snapshot)
    errors = len(logs.recent_failures(home_dir, clock.now_s() - _ERROR_WINDOW_S))
    fields = wording.status_line_parts_by_name(reading.document()) | _parts_told_by_client(
        payload, snapshot.cost_usd
    )
    names = list(dict.fromkeys(["distance", *rules.values["statusline.format"]]))
    if errors:
        fields["errors"] = f"{errors} hook error{'s' * (errors > 1)}: doctor"
        names.insert(names.index("tier") + 1 if "tier" in names else 1, "errors")
    parts = [fields[name] for name in names if fields.get(name)]
    parts[1:1] = _off_or_gateway_parts(state, reading)
    return _in_tier_colour(_join_parts_that_fit(parts, fields.get("tier")), reading)


def _off_or_gateway_parts(state: SessionState, reading: Reading) -> list[str]:
    """Return what we have to say of ourselves: switched off, at work in a gateway."""
    parts = []
    if state.is_off:
        parts.append(f"off: {state.command_start}on")
    saved = state.last_gateway_saved_tokens(reading.occupancy_tokens)
    if saved:
        parts.append(f"gateway −{wording.short_token_count_text(saved)}")
    return parts


def _reading_now(
    transcript: Any, home_dir: str, state: SessionState, rules: policy.Policy, snapshot: Snapshot
) -> Reading:
    """The reading of now; where the transcript cannot be read, what the client tells."""
    path = transcript if isinstance(transcript, str) else None
    try:
        return measure_session(path, state, rules, snapshot=snapshot, requests=_FORECAST_REQUESTS)
    except OSError as error:
        log_failure(home_dir, "statusline", error)
        return measure_session(None, state, rules, snapshot=snapshot)


def _parts_told_by_client(payload: dict[str, Any], cost: float | None) -> dict[str, str]:
    """Return what the client tells besides, each where it does."""
    model = _as_dict(payload.get("model"))
    limits = _as_dict(payload.get("rate_limits"))
    shares = [(name, _as_dict(limits.get(key)).get("used_percentage")) for key, name in _LIMITS]
    return {
        "model": _short_printable_text(model.get("display_name") or model.get("id")),
        "cost": f"${cost:.2f}" if cost is not None else "",
        "branch": _git_branch(_project_dir(payload)),
        "limits": " ".join(
            [f"{name} {share:.0f}%" for name, share in shares if isinstance(share, int | float)]
        ),
    }


def _git_branch(project_dir: str) -> str:
    try:
        head = io.read_file(f"{project_dir}/.git/HEAD", _LONGEST_HEAD).decode("utf-8", "replace")
    except OSError:
        return ""
    return _short_printable_text(head.strip().partition("refs/heads/")[2])


def _short_printable_text(text: Any) -> str:
    """Foreign text for a terminal: short, and without control characters."""
    known = text[:_LONGEST_NAME] if isinstance(text, str) else ""
    return "".join([letter for letter in known if letter.isprintable()])


def _join_parts_that_fit(parts: list[str], tier: str | None) -> str:
    """Join what the terminal has room for: the first part always, then the tier, then the rest."""
    columns = io.parse_positive_number(io.env("COLUMNS") or "")
    kept = parts[:1]
    for part in sorted(parts[1:], key=lambda part: part != tier):
        if not columns or len(" · ".join([*kept, part])) <= columns - _CLIENT_COLUMNS:
            kept.append(part)
    return " · ".join([part for part in parts if part in kept])


def _in_tier_colour(text: str, reading: Reading) -> str:
    """The line in the colour of its tier."""
    if io.env("NO_COLOR") or reading.tier is None:
        return text
    code = _CODES[wording.tier_colour(reading.tier, reading.tier_count)]
    return f"\x1b[{code}m{text}\x1b[0m"


def _parse_payload(raw: bytes) -> dict[str, Any]:
    try:
        return json.parse_object(raw)
    except ValueError:
        return {}


def _project_dir(payload: dict[str, Any]) -> str:
    folder = _as_dict(payload.get("workspace")).get("project_dir") or payload.get("cwd")
    return folder if isinstance(folder, str) and folder else "/"


def _run_wrapped_status_line(command: str, raw: bytes) -> bytes:
    """The status line that was there before ours, fed with the same input; ended if it hangs."""
    import contextlib
    import os
    import signal
    import subprocess

    pipe = subprocess.PIPE
    try:
        child = subprocess.Popen(  # noqa: S602 - the client runs this same string through a shell
            command, shell=True, stdin=pipe, stdout=pipe, start_new_session=True
        )
        try:
            return child.communicate(raw, timeout=_WRAPPED_TIMEOUT_S)[0]
        except subprocess.TimeoutExpired:
            with contextlib.suppress(OSError):
                os.killpg(child.pid, signal.SIGKILL)  # with whatever it started
            return child.communicate()[0]
    except OSError:
        return b""


def _as_dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _token_count_or_none(value: Any) -> int | None:
    """A plausible number of tokens, 0 included."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if 0 <= value <= _LARGEST_COUNT and value == value // 1 else None
