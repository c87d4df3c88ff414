"""`brimline config autocompact`: where the client compacts by itself, written into its settings."""

from __future__ import annotations

import json
import os
from typing import Any

import click

from brimline import config
from brimline.errors import InstallError
from brimline.fast import paths
from brimline.gauge import reading as gauge
from brimline.gauge.window import COMPACTION_RESERVE_TOKENS, LARGE_WINDOW_TOKENS
from brimline.install import checks_order, installer, jsontext, settingsfile
from brimline.transcript.tail import Tail

_KEY = "autoCompactWindow"
_PERCENT = "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE"
_REPLY_TOKENS = 20_000
# The smallest value that the client was seen to honour.
_SMALLEST_TOKENS = 100_000
_TRIES = 5


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("tokens", metavar="TOKENS|off")
@click.option("--percent", type=click.IntRange(1, 100), help="Compact at this share already.")
@click.option("--window", type=int, help="The model's window, where it is not 1,000,000.")
@click.option("--json", "as_json", is_flag=True, help="Report as JSON.")
def autocompact(tokens: str, percent: int | None, window: int | None, as_json: bool) -> None:
    """Make the client compact by itself at TOKENS less 33,000, or leave it to its default.

    It writes `autoCompactWindow` into the user's settings of the client, and a percentage as
    `CLAUDE_AUTOCOMPACT_PCT_OVERRIDE` into their `env`; that can only lower the point. Running
    sessions keep the values they started with.

    \b
    Example:
      brimline config autocompact 200000
      brimline config autocompact 200000 --percent 80
      brimline config autocompact off
    """
    if percent is not None and tokens == "off":
        raise click.UsageError("--percent goes with TOKENS: without a window the client ignores it")
    home_dir, project_dir = paths.home(), os.getcwd()
    path = installer.settings_path("user", project_dir)
    wanted = None if tokens == "off" else _checked(tokens, window, home_dir, project_dir)
    changed = _write(path, wanted, percent, home_dir)
    config.compile_policy(home_dir, project_dir)
    notes = [] if wanted is None else _warnings(window, home_dir, project_dir)
    report: dict[str, Any] = {
        "settings": path,
        "autoCompactWindow": wanted,
        "percent": percent,
        "compaction_tokens": None if wanted is None else _point(wanted, percent),
        "changed": changed,
        "warnings": notes,
    }
    click.echo(json.dumps(report, indent=2) if as_json else _text(report))


def _point(window_tokens: int, percent: int | None) -> int:
    """Where the client then compacts: a percentage is of the window less room for the reply."""
    usual = window_tokens - COMPACTION_RESERVE_TOKENS
    if percent is None:
        return usual
    return min(usual, (window_tokens - _REPLY_TOKENS) * percent // 100)


def _checked(tokens: str, window: int | None, home_dir: str, project_dir: str) -> int:
    digits = tokens.replace("_", "").replace(",", "")
    if not digits.isascii() or not digits.isdigit():
        raise InstallError(f"TOKENS takes a whole number or off, not {tokens!r}")
    wanted = int(digits)
    known = config.live_policy(home_dir, project_dir).values["context_window"]
    largest = window or known or LARGE_WINDOW_TOKENS
    if wanted > largest:
        raise InstallError(f"{wanted:,} is above the window of {largest:,} tokens")
    if wanted < _SMALLEST_TOKENS:
        raise InstallError(f"the client does not honour values below {_SMALLEST_TOKENS:,}")
    return wanted


def _write(path: str, wanted: int | None, percent: int | None, home_dir: str) -> bool:
    for attempt in range(_TRIES):
        file = settingsfile.read(path)
        text = _edited(file.text, (_KEY,), wanted, path)
        text = _edited(text, ("env", _PERCENT), None if percent is None else str(percent), path)
        if file.encode(text) == (file.raw or b""):
            return False
        try:
            settingsfile.back_up(file, f"{home_dir}/backups")
            settingsfile.replace(file, file.encode(text))
        except settingsfile.ChangedMeanwhileError:
            if attempt == _TRIES - 1:
                raise
            continue
        return True
    return False


def _edited(text: str, place: tuple[str, ...], wanted: int | str | None, path: str) -> str:
    """The settings with one value in its place, or without it."""
    if not text.strip():
        text = "" if wanted is None else "{}\n"
    if not text:
        return text
    try:
        settings = jsontext.parse(text).value
        holder = settings if len(place) == 1 else _env_of(settings)
        if not isinstance(settings, dict) or not isinstance(holder, dict | None):
            raise InstallError(f"{path}: this is not a JSON object; nothing was changed")
        if wanted is None:
            return jsontext.remove(text, place) if holder and place[-1] in holder else text
        if holder is None:
            return jsontext.insert_member(text, (), place[0], {place[-1]: wanted})
        if place[-1] in holder:
            return jsontext.replace_value(text, place, wanted)
        return jsontext.insert_member(text, place[:-1], place[-1], wanted)
    except jsontext.JsonTextError as error:
        raise InstallError(f"{path} is not valid JSON ({error}); nothing was changed") from None


def _env_of(settings: Any) -> Any:
    return settings.get("env") if isinstance(settings, dict) else settings


def _warnings(window: int | None, home_dir: str, project_dir: str) -> list[str]:
    """What the new point collides with, by the same rule as `doctor`."""
    rules = config.live_policy(home_dir, project_dir)
    rules.values["context_window"] = window or rules.values["context_window"] or LARGE_WINDOW_TOKENS
    reading = gauge.make_reading(Tail(), None, rules)
    found = checks_order.finding(rules.values, reading)
    if found.level != "warning":
        return []
    collision = f"in a window of {reading.window.tokens:,} tokens {found.what}"
    return [f"{collision}; lower guard.ceiling_percent or guard.tiers, or name --window"]


def _text(report: dict[str, Any]) -> str:
    if report["autoCompactWindow"] is None:
        lines = [f"{_KEY} is not set in {report['settings']}: the client's default holds."]
    else:
        point = f"the client compacts at about {report['compaction_tokens']:,} tokens."
        lines = [f"{_KEY} = {report['autoCompactWindow']:,} in {report['settings']}: {point}"]
    if report["changed"]:
        lines.append("Running sessions keep the value they started with.")
    return "\n".join([*lines, *[f"warning: {note}" for note in report["warnings"]]])
