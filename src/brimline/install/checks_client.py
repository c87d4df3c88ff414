"""Checks of the client: its version, its compaction settings, how long it keeps transcripts."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from typing import TYPE_CHECKING, Any

from brimline import clientsettings, config
from brimline.errors import SessionError
from brimline.fast import paths, policy
from brimline.gauge import reading as gauge
from brimline.install import checks_order
from brimline.install.finding import Finding
from brimline.state.session import SessionState
from brimline.transcript import find, tail

if TYPE_CHECKING:
    from collections.abc import Iterator

_VERSION_TIMEOUT_S = 10
# The first client that knows hooks as `command` and `args`; older ones drop the arguments.
_OLDEST_CLIENT = (2, 1, 139)
# A window of 100,000 was seen to be honoured, one of 50,000 was not.
_SMALLEST_HONOURED_WINDOW = 100_000
_SET_WINDOW = "brimline config autocompact"
_DEFAULT_CLEANUP_DAYS = 30
_FEW_CLEANUP_DAYS = 7


def findings(home_dir: str, project_dir: str) -> Iterator[Finding]:
    """Everything about the client."""
    yield _version()
    rules = config.live_policy(home_dir, project_dir)
    reading = _reading(home_dir, project_dir, rules)
    yield _compaction(rules.client, reading)
    yield from _without_effect(rules.client, reading)
    yield checks_order.finding(rules.values, reading)
    yield _retention(project_dir)


def _version() -> Finding:
    program = shutil.which("claude")
    if program is None:
        return Finding(
            "client-version",
            "note",
            "no `claude` on PATH",
            f"Its version was not checked; brimline needs {_dotted(_OLDEST_CLIENT)} or newer.",
        )
    told = _ask_version(program)
    numbers = re.match(r"\d+(\.\d+)+", told or "")
    if numbers is None:
        return Finding(
            "client-version",
            "warning",
            f"{program} does not tell its version",
            f"brimline needs Claude Code {_dotted(_OLDEST_CLIENT)} or newer.",
            "claude --version",
        )
    if tuple(map(int, numbers[0].split("."))) < _OLDEST_CLIENT:
        return Finding(
            "client-version",
            "broken",
            f"Claude Code {told} is older than {_dotted(_OLDEST_CLIENT)}",
            "It does not pass on the arguments of a hook, so brimline's hooks do nothing in it.",
            "claude update",
        )
    return Finding("client-version", "ok", f"Claude Code {told}, {program}")


def _ask_version(program: str) -> str | None:
    """Ask the client itself, away from the user's home, which it would write to."""
    with tempfile.TemporaryDirectory() as home:
        env = {
            "HOME": home,
            "CLAUDE_CONFIG_DIR": home,
            "PATH": os.environ.get("PATH", os.defpath),
            "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        }
        try:
            done = subprocess.run(
                [program, "--version"],
                capture_output=True,
                stdin=subprocess.DEVNULL,
                env=env,
                cwd=home,
                check=True,
                timeout=_VERSION_TIMEOUT_S,
            )
        except (OSError, subprocess.SubprocessError):
            return None
    words = done.stdout.decode("utf-8", "replace").split()
    return words[0] if words else None


def _reading(home_dir: str, project_dir: str, rules: policy.Policy) -> gauge.Reading:
    """The newest session's reading, which knows the model; without a session, what settings say."""
    try:
        transcript = find.newest(project_dir)
        state = SessionState(home_dir, find.session_id_of(transcript))
        last = tail.read_tail(transcript)
        return gauge.make_reading(last, state.snapshot(), rules, state.observed_window())
    except (SessionError, OSError):
        return gauge.make_reading(tail.Tail(), None, rules)


def _compaction(client: dict[str, Any], reading: gauge.Reading) -> Finding:
    point = reading.compaction
    about = (
        f"{point.outlook} of {reading.window.tokens:,} tokens "
        f"(from: {point.source}; window from: {reading.window.source}; {_found(client)})"
    )
    if client["autocompact_enabled"] is False:
        return Finding(
            "compaction",
            "warning",
            '"autoCompactEnabled" is false: the client never compacts by itself',
            f'A session that reaches about {point.tokens:,} tokens ends with "Prompt is too long".',
            'take "autoCompactEnabled" out of the client\'s settings',
        )
    if point.enforced is False:
        return Finding(
            "compaction",
            "note",
            about,
            "For this model the client compacts only then, unless a window is set.",
            f"{_SET_WINDOW} {max(reading.window.tokens, _SMALLEST_HONOURED_WINDOW)}",
        )
    if point.enforced is None:
        return Finding(
            "compaction",
            "note",
            f"{about}; whether the client enforces it depends on the model",
            "Claude models before 4.6, and 4.6 with `[1m]`, are compacted once the API refuses, "
            'unless "autoCompactWindow" is set.',
        )
    return Finding("compaction", "ok", about)


def _found(client: dict[str, Any]) -> str:
    """The client's settings that move the compaction point."""
    by_model = client["autocompact_window_by_model"]
    named = {
        "autoCompactWindow": client["autocompact_window"],
        "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": client["autocompact_pct"],
        **{f"autoCompactWindow of {model}": tokens for model, tokens in by_model.items()},
    }
    told = [f"{name} {value:,}" for name, value in named.items() if value]
    return ", ".join(told) or "the client's settings do not move it"


def _without_effect(client: dict[str, Any], reading: gauge.Reading) -> Iterator[Finding]:
    """Settings of the client that do not do what they seem to."""
    window = client["autocompact_window"]
    if client["autocompact_pct"] and not window and not client["autocompact_window_by_model"]:
        yield Finding(
            "compaction-pct",
            "note",
            f"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE={client['autocompact_pct']} has no effect",
            "The client applies it only where an auto-compact window is set too.",
            f"{_SET_WINDOW} {max(reading.window.tokens, _SMALLEST_HONOURED_WINDOW)}",
        )
    if window and window < _SMALLEST_HONOURED_WINDOW:
        yield Finding(
            "compaction-window",
            "warning",
            f"an auto-compact window of {window:,} tokens is not honoured by the client",
            "brimline reckons with it and warns far too early.",
            f"{_SET_WINDOW} {_SMALLEST_HONOURED_WINDOW}",
        )


def _retention(project_dir: str) -> Finding:
    days = None
    for path in clientsettings.settings_files(project_dir).values():
        days = clientsettings.read_settings(path).get("cleanupPeriodDays", days)
    if not isinstance(days, int) or isinstance(days, bool):
        return Finding(
            "retention",
            "note",
            f"the client deletes transcripts after {_DEFAULT_CLEANUP_DAYS} days",
            "Older sessions cannot be looked at, resumed or learned from.",
            f'add "cleanupPeriodDays": 365 to {paths.client_config_dir()}/settings.json',
        )
    if days < _FEW_CLEANUP_DAYS:
        return Finding(
            "retention",
            "warning",
            f'"cleanupPeriodDays" is {days}: the client soon deletes transcripts',
            "brimline measures by the transcript; one that is gone cannot be measured or resumed.",
            'raise "cleanupPeriodDays" in the client\'s settings',
        )
    return Finding("retention", "ok", f"the client keeps transcripts for {days} days")


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))
