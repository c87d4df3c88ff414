"""`brimline doctor`: a list of checks, each of which yields findings; the texts are a data file.

The checks here are about the installation; those about its use are in `checks_use`.
"""

from __future__ import annotations

import os
import shlex
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from brimline import __version__, output
from brimline.errors import BrimlineError, InstallError, reason
from brimline.hooks import table
from brimline.install import entries, parts, pythons, settingsfile, wiring
from brimline.settings import clientsettings, plugins

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    # The name of a text, and what is filled into it.
    Said = tuple[str, dict[str, Any]]
    Check = Callable[[str, str], Iterable[Said]]

_WIDTH = len("warning  ")
_INSTALL = "brimline install"


class Finding(NamedTuple):
    """What was found, why it matters, and the command or edit that fixes it."""

    check: str
    level: str
    what: str
    why: str = ""
    fix: str = ""


def run_all_checks(home_dir: str, project_dir: str) -> list[Finding]:
    """Look at everything that brimline needs in order to work here."""
    from brimline.install import checks_mod, checks_use

    checks: list[Check] = [_check_settings_and_entries, _check_slash_commands]
    checks += [_check_mcp_registration, checks_mod.check_mod, *checks_use.CHECKS]
    said = [said for check in checks for said in _said_or_why_not(check, home_dir, project_dir)]
    # Several settings files may start the same program.
    texts = tomllib.loads(Path(__file__).with_name("findings.toml").read_text(encoding="utf-8"))
    return list(dict.fromkeys(make_finding(name, texts[name], filled) for name, filled in said))


def _said_or_why_not(check: Check, home_dir: str, project_dir: str) -> list[Said]:
    """Return what a check finds; one that fails stands in no other's way."""
    try:
        return list(check(home_dir, project_dir))
    except (BrimlineError, OSError) as error:
        named = getattr(error, "filename", None)
        return [("check-failed", {"problem": f"{named}: {reason(error)}" if named else error})]


def run_checks_as_document(home_dir: str, project_dir: str) -> dict[str, Any]:
    """The findings for those who show them, and whether it works."""
    findings = run_all_checks(home_dir, project_dir)
    broken = any(finding.level == "broken" for finding in findings)
    return {"ok": not broken, "findings": [finding._asdict() for finding in findings]}


def make_finding(name: str, text: dict[str, str], filled: dict[str, Any]) -> Finding:
    """A finding from its text."""
    parts = [text.get(part, "").format(**filled) for part in ("level", "what", "why", "fix")]
    return Finding(text.get("check", name), *parts)


def findings_text(document: dict[str, Any]) -> str:
    """Every finding with its reason and remedy below it, then the count of what is wrong."""
    lines, indent = [], " " * _WIDTH
    for each in document["findings"]:
        mark = ("BROKEN" if each["level"] == "broken" else each["level"]).ljust(_WIDTH)
        lines.append(output.wrapped_text(each["what"], mark, indent))
        lines += [output.wrapped_text(each["why"], indent)] if each["why"] else []
        fix = f"fix: {' '.join(each['fix'].splitlines())}" if each["fix"] else ""
        # A command with a path is to be copied, and stays on its line.
        lines += [indent + fix] if "/" in fix else output.wrapped_text(fix, indent).splitlines()
    return "\n".join([*lines, "", summary_text(document)])


def summary_text(document: dict[str, Any]) -> str:
    """Return how much is wrong, in a sentence."""
    levels = [each["level"] for each in document["findings"]]
    broken, warned = levels.count("broken"), levels.count("warning")
    if broken:
        return f"{broken} broken, {warned} to look at."
    return f"It works; {warned} to look at." if warned else "All is well."


def _check_settings_and_entries(home_dir: str, project_dir: str) -> Iterator[Said]:
    """The settings files, and our entries in them."""
    settings: dict[str, dict[str, Any]] = {}
    files = clientsettings.path_by_scope(project_dir)
    for path in dict.fromkeys(files.values()):
        try:
            settings[path] = wiring.parse_settings(settingsfile.read(path).text)
        except InstallError as error:
            yield "settings-unreadable", {"path": path, "problem": error}
    switches = [(path, "disableAllHooks") for path in settings]
    # Of the latter the client takes no notice elsewhere.
    for path, key in [*switches, (files["managed"], "allowManagedHooksOnly")]:
        if settings.get(path, {}).get(key) is True:
            yield "hooks-disabled", {"path": path, "key": key}
    found = {path: entries.our_hooks_in(values) for path, values in settings.items()}
    found = {path: ours for path, ours in found.items() if ours}
    plugin = plugins.plugin_at_work(project_dir)
    if plugin:
        said = {"plugin": plugin, "version": plugins.version_of_plugin(plugin), "own": __version__}
        yield ("plugin" if said["version"] == __version__ else "plugin-of-other-version"), said
    elif not found:
        yield "not-installed", {}
    for path, ours in found.items():
        yield from _check_entries(path, ours, home_dir, project_dir)


def _check_entries(
    path: str, ours: list[entries.Installed], home_dir: str, project_dir: str
) -> Iterator[Said]:
    """Our entries in one settings file, and what they start."""
    place = {"path": path, "events": _missing_events_text(ours)}
    place["install"] = _command_that_renews(path, project_dir)
    if place["events"]:
        yield "events-missing", place
    else:
        wired = parts.wiring_for_interpreter(ours[0].interpreter or "", home_dir)
        stale = parts.Settings(path, home_dir, wired).plan_or_install(do=False).files
        place["stale"] = ", ".join(change.path for change in stale)
        yield "entries-stale" if stale else "entries-current", place
    if not all(parts.is_trusted_entry(entry, path, home_dir) for entry in ours):
        yield "stranger", place
        return
    # What they start is the same, whatever the event.
    for entry in dict.fromkeys(entry._replace(event="", wrapped=None) for entry in ours):
        if entry.home and entry.home != home_dir:
            quoted = shlex.quote(entry.home)
            yield "other-home", {"home": entry.home, "here": home_dir, "quoted": quoted}
        yield from _check_started_program(entry)


def _command_that_renews(path: str, project_dir: str) -> str:
    """Return what puts entries right; those of a project are of an earlier version."""
    files = clientsettings.path_by_scope(project_dir)
    if path == files["managed"]:
        return f"correct {path}"
    return _INSTALL if path == files["user"] else f"brimline uninstall, then {_INSTALL}"


def _missing_events_text(ours: list[entries.Installed]) -> str:
    return ", ".join(event for event in table.EVENTS if event not in {e.event for e in ours})


def _check_started_program(started: entries.Installed) -> Iterator[Said]:
    """Whether what an entry starts is there, can run the hooks, and does so at its best."""
    launcher, python, root = started.launcher, started.interpreter or "", started.root
    said = {"launcher": launcher, "python": python, "root": root, "install": _INSTALL}
    if launcher and not (python and os.access(launcher, os.X_OK)):
        yield "launcher-gone", said
        return
    if launcher:
        yield "launcher", said
    problem = pythons.why_interpreter_unusable(python)
    if problem:
        yield "interpreter-unusable", said | {"problem": problem}
        return
    version, _ = pythons.version_and_path_of_interpreter(python) or ((), "")
    yield "interpreter", said | {"version": ".".join(map(str, version))}
    if root and pythons.is_precompiled(python, root):
        yield "precompiled", said
    else:
        startable = root and pythons.can_interpreter_import_hooks(python, root)
        yield "not-precompiled" if startable else "package-gone", said


def _check_slash_commands(home_dir: str, project_dir: str) -> Iterator[Said]:
    """The slash commands, which come with entries in the user's settings."""
    if not parts.our_entries_in(parts.settings_path("user", project_dir)):
        return
    has_mod = plugins.is_mod_on(project_dir) is not None
    started = pythons.program_of_this_process(home_dir)
    plan = parts.Commands(home_dir, started, has_mod=has_mod).plan_or_install(do=False)
    names = [change.path.removeprefix(f"{parts.slash_commands_folder()}/") for change in plan.files]
    if names:
        yield "commands-stale", {"names": ", ".join(names)}
    yield from [("commands-left", {"note": note}) for note in plan.notes]
    if not names and not plan.notes:
        yield "commands", {"folder": parts.slash_commands_folder()}


def _check_mcp_registration(home_dir: str, project_dir: str) -> Iterator[Said]:
    """The MCP server."""
    part = parts.McpServer(pythons.program_of_this_process(home_dir))
    plan, found = part.plan_or_install(do=False), clientsettings.registered_mcp_server()
    wanted = parts.our_entries_in(parts.settings_path("user", project_dir))
    fix = {"fix": plan.to_do[0].partition("    #")[0] if plan.to_do else _INSTALL}
    if plan.notes:
        yield "server-foreign", {}
    elif found and (plan.calls or plan.to_do):
        yield "server-stale", fix
    elif found:
        yield "server", {"python": found["command"]}
    elif wanted:
        yield "server-missing", fix
    own = clientsettings.client_state_part("projects").get(project_dir)
    local = own.get("mcpServers") if isinstance(own, dict) else None
    is_local = isinstance(local, dict) and clientsettings.SERVER in local
    here = ["`claude mcp add` for this folder"] if is_local else []
    for path in [*plugins.namesakes(project_dir), *here]:
        yield "namesake", {"path": path}
    for rule in clientsettings.texts_listed_in_settings(project_dir, "permissions", "allow"):
        if entries.is_our_rule(rule) or clientsettings.is_rule_about_recall(rule):
            yield "rule-by-name", {"rule": rule}
