"""Commands that switch something in the client's settings: `config autocompact` and `scout`."""

from __future__ import annotations

import os
from typing import Any

import click

from brimline import models, output
from brimline.errors import InstallError
from brimline.fast import io, paths
from brimline.gauge.window import LARGE_WINDOW_TOKENS
from brimline.install import jsontext, parts, settingsfile, wiring
from brimline.install.checks_use import LEAST_WINDOW_TOKENS
from brimline.settings import config

_WINDOW = "autoCompactWindow"
_PERCENT = "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE"
_REPLY_TOKENS = 20_000


@output.command("autocompact")
@click.argument("tokens", metavar="TOKENS|off")
@click.option("--percent", type=click.IntRange(1, 100), help="Compact at this share already.")
def autocompact(tokens: str, percent: int | None, as_json: bool) -> None:
    """Make the client compact at TOKENS less 33,000, or as usual.

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
    home_dir, project_dir = paths.data_dir(), os.getcwd()
    path = parts.settings_path("user", project_dir)
    wanted = None if tokens == "off" else _parse_window_tokens(tokens, home_dir, project_dir)
    changed = settingsfile.retry_if_changed(lambda: _write_window(path, wanted, percent, home_dir))
    config.compile_policy(home_dir, project_dir)
    report: dict[str, Any] = {
        "settings": path,
        "autoCompactWindow": wanted,
        "percent": percent,
        "compaction_tokens": None if wanted is None else _compaction_point_tokens(wanted, percent),
        "changed": changed,
    }
    output.answer(report, _autocompact_window_text, as_json=as_json)


def _parse_window_tokens(tokens: str, home_dir: str, project_dir: str) -> int:
    wanted = io.parse_positive_number(tokens.replace("_", "").replace(",", ""))
    if wanted is None:
        raise InstallError(f"TOKENS takes a whole number or off, not {tokens!r}")
    known = config.build_live_policy(home_dir, project_dir).values["context_window"]
    largest = known or LARGE_WINDOW_TOKENS
    if wanted > largest:
        raise InstallError(f"{wanted:,} is above the window of {largest:,} tokens")
    if wanted < LEAST_WINDOW_TOKENS:
        raise InstallError(f"the client does not honour values below {LEAST_WINDOW_TOKENS:,}")
    return wanted


def _compaction_point_tokens(window_tokens: int, percent: int | None) -> int:
    """Where the client then compacts: a percentage is of the window less room for the reply."""
    usual = window_tokens - models.RESERVE_TOKENS
    return min(usual, (window_tokens - _REPLY_TOKENS) * (percent or 100) // 100)


def _write_window(path: str, wanted: int | None, percent: int | None, home_dir: str) -> bool:
    file = settingsfile.read(path)
    try:
        text = _settings_text_with_value(file.text, (_WINDOW,), wanted)
        text = _settings_text_with_value(
            text, ("env", _PERCENT), None if percent is None else str(percent)
        )
    except InstallError as error:
        raise InstallError(f"{path}: {error}; nothing was changed") from None
    if file.encode(text) == (file.raw or b""):
        return False
    settingsfile.replace_settings(file, file.encode(text), f"{home_dir}/backups")
    return True


def _settings_text_with_value(text: str, place: tuple[str, ...], wanted: int | str | None) -> str:
    """The settings with one value in its place, or without it."""
    text = text if text.strip() or wanted is None else "{}\n"
    settings = wiring.parse_settings(text)
    holder = settings.get("env") if place[1:] else settings
    if not isinstance(holder, dict | None):
        raise InstallError('"env" is not an object')
    there = bool(holder and place[-1] in holder)
    if wanted is None:
        return jsontext.without_value(text, place) if there else text
    if there:
        return jsontext.with_value(text, place, wanted)
    return jsontext.with_new_member(text, place[:-1], place[-1], wanted)


def _autocompact_window_text(report: dict[str, Any]) -> str:
    if report["autoCompactWindow"] is None:
        lines = [f"{_WINDOW} is not set in {report['settings']}: the client's default holds."]
    else:
        point = f"the client compacts at about {report['compaction_tokens']:,} tokens."
        lines = [f"{_WINDOW} = {report['autoCompactWindow']:,} in {report['settings']}: {point}"]
    if report["changed"]:
        lines.append(
            "Running sessions keep the value they started with. `brimline doctor` says whether "
            "warnings still come before it."
        )
    return "\n".join(map(output.wrapped_text, lines))


@output.command("on")
def on(as_json: bool) -> None:
    """Register the scout's hook wherever brimline is installed.

    \b
    Example:
      brimline scout on
    """
    _switch_scout_and_answer(enabled=True, as_json=as_json)


@output.command("off")
def off(as_json: bool) -> None:
    """Remove the scout's hook; reads cost nothing again.

    \b
    Example:
      brimline scout off
    """
    _switch_scout_and_answer(enabled=False, as_json=as_json)


@output.command("init")
@click.option("--force", is_flag=True, help="Replace a .brimlineignore that is there.")
def init(force: bool, as_json: bool) -> None:
    """Write a .brimlineignore: usual folders, or a .ckignore's.

    \b
    Example:
      brimline scout init
    """
    from brimline.scout import reads

    path = reads.write_ignore_file(os.getcwd(), force=force)
    lines = [pattern.text for pattern in reads.load_ignore_patterns(os.getcwd()).patterns]
    text = f"Wrote {path} with {len(lines)} patterns. Edit it to taste."
    output.answer({"file": path, "patterns": lines}, text, as_json=as_json)


def _switch_scout_and_answer(*, enabled: bool, as_json: bool) -> None:
    from brimline.scout import reads

    home_dir, project_dir = paths.data_dir(), os.getcwd()
    known = parts.known_settings_paths(home_dir, project_dir)
    wired = [path for path in known if parts.our_entries_in(path)]
    if not wired:
        raise InstallError("brimline is not installed here yet: run `brimline install` first")
    blocks = config.load(home_dir, project_dir).values["scout.mode"] == "block"
    word = ("block" if blocks else "advise") if enabled else "off"
    config.write_setting(paths.user_config(home_dir), "scout.mode", word)
    config.compile_policy(home_dir, project_dir)
    renewed, changed = parts.wiring_of_chosen_python(home_dir, known[0]), []
    for path in wired:
        plan = parts.Settings(path, home_dir, renewed).plan_or_install(do=True)
        changed += [change.path for change in plan.files]
    state = "on" if enabled else "off"
    problem = reads.load_ignore_patterns(project_dir).problem
    report = {"scout": state, "settings": changed, "problem": problem or None}
    text = f"The scout is {state} in new sessions ({', '.join(wired)}). {problem}".rstrip()
    output.answer(report, text, as_json=as_json)
