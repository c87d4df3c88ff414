"""The commands of this door: install, uninstall, doctor."""

from __future__ import annotations

import difflib
import json
import os
import sys
from typing import Any

import click

from brimline import config, fastio, paths
from brimline.errors import InstallError
from brimline.install import datafolder, entries, installer, interpreter, precompile

_HELP = {"help_option_names": ["-h", "--help"]}
_SCOPES = click.Choice(installer.SCOPES)
_NO_NEWLINE = "\n\\ No newline at end of file\n"


@click.command(context_settings=_HELP)
@click.option("--scope", type=_SCOPES, default="user", show_default=True, help="Which settings.")
@click.option("--dry-run", is_flag=True, help="Show the exact change and write nothing.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--interpreter", "asked", metavar="PATH", help="The Python that runs the hooks.")
@click.option("--json", "as_json", is_flag=True, help="Report as JSON.")
def install(scope: str, dry_run: bool, yes: bool, asked: str | None, as_json: bool) -> None:
    """Wire brimline into Claude Code's settings, keeping everything that is there.

    \b
    Example:
      brimline install --dry-run
      brimline install --yes
    """
    project_dir, home_dir = os.getcwd(), paths.home()
    path = installer.settings_path(scope, project_dir)
    python = interpreter.choose(asked, installer.installed_interpreter(path, home_dir, project_dir))
    wired = installer.wiring_for(python, home_dir)
    plan = installer.plan_install(path, wired, home_dir, project_dir)
    diff = _diff(plan)
    report: dict[str, Any] = {"settings": path, "interpreter": python, "changed": plan.changes}
    if dry_run:
        _report(as_json, report | {"diff": diff}, diff.rstrip("\n") or "Nothing to change.")
        return
    if plan.changes:
        click.echo(diff, err=as_json)
        _confirm(f"Change {_shown(plan)}?", yes=yes)
    _make_home(home_dir)
    warnings = _precompile(wired)
    report["backup"] = installer.install(path, wired, home_dir, project_dir)
    report["warnings"] = warnings + _compile_policy(home_dir, project_dir)
    _report(as_json, report, _installed_text(scope, report))


@click.command(context_settings=_HELP)
@click.option("--scope", type=_SCOPES, help="Only this scope; otherwise wherever it is installed.")
@click.option("--delete-data", is_flag=True, help="Also delete everything brimline has stored.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--json", "as_json", is_flag=True, help="Report as JSON.")
def uninstall(scope: str | None, delete_data: bool, yes: bool, as_json: bool) -> None:
    """Take brimline out of Claude Code's settings, to the byte where nobody else changed them.

    \b
    Example:
      brimline uninstall --yes
      brimline uninstall --delete-data
    """
    project_dir, home_dir = os.getcwd(), paths.home()
    known = installer.known_paths(home_dir, project_dir)
    chosen = [installer.settings_path(scope, project_dir)] if scope else known
    problems: list[str] = []
    affected = _affected(chosen, home_dir, problems)
    elsewhere = installer.other_homes(chosen, home_dir)
    if affected:
        _confirm("Take brimline out of " + ", ".join(affected) + "?", yes=yes)
    if delete_data:
        _confirm(f"Delete everything brimline has stored in {home_dir}?", yes=yes)
    done = [path for path in chosen if _take_out(path, home_dir, problems)]
    if delete_data and problems:
        problems.append(f"the data in {home_dir} was kept: putting these files back needs it")
    deleted = delete_data and not problems
    left = _delete_data(home_dir) if deleted else []
    report = {"settings": done, "data_deleted": deleted, "left": left, "other_data": elsewhere}
    text = _uninstalled_text(report, home_dir)
    if problems:
        report["problems"] = list(dict.fromkeys(problems))
        _report(as_json, report, text)
        raise InstallError("; ".join(dict.fromkeys(problems)))
    _report(as_json, report, text)


@click.command(context_settings=_HELP)
@click.option("--json", "as_json", is_flag=True, help="Report as JSON.")
def doctor(as_json: bool) -> None:
    """Check the installation; every finding says why it matters and what fixes it.

    \b
    Example:
      brimline doctor
    """
    from brimline.install import checkup

    findings = checkup.examine(paths.home(), os.getcwd())
    broken = any(finding.level == "broken" for finding in findings)
    if as_json:
        rows = [finding._asdict() for finding in findings]
        click.echo(json.dumps({"ok": not broken, "findings": rows}, indent=2))
    else:
        click.echo(checkup.render(findings))
    sys.exit(1 if broken else 0)


def _diff(plan: installer.Plan) -> str:
    """The change as a patch, exact to the last newline."""
    before = "/dev/null" if plan.file.raw is None else plan.file.path
    lines = difflib.unified_diff(_lines(plan.file.raw), _lines(plan.after), before, plan.file.path)
    return "".join(line if line.endswith("\n") else line + _NO_NEWLINE for line in lines)


def _lines(raw: bytes | None) -> list[str]:
    # Not splitlines: it breaks at characters that may stand inside a JSON string.
    pieces = (raw or b"").decode("utf-8", "replace").split("\n")
    return [piece + "\n" for piece in pieces[:-1]] + [piece for piece in pieces[-1:] if piece]


def _shown(plan: installer.Plan) -> str:
    link = os.path.islink(plan.file.path)
    return plan.file.path + (f" (a link to {plan.file.target})" if link else "")


def _confirm(question: str, *, yes: bool) -> None:
    if yes:
        return
    if not sys.stdin or not sys.stdin.isatty():
        raise InstallError("this changes files: add --yes where there is no terminal to ask on")
    click.confirm(question, abort=True, err=True)


def _make_home(home_dir: str) -> None:
    try:
        fastio.make_folders(home_dir)
        os.listdir(home_dir)
    except OSError as error:
        raise InstallError(
            f"cannot use the data folder {home_dir}: {error.strerror}; nothing was changed, "
            "BRIMLINE_HOME can name another one"
        ) from error


def _precompile(wired: entries.Wiring) -> list[str]:
    """Compile the package; where its folder cannot be written hooks still work, only slower."""
    try:
        precompile.precompile(wired.interpreter, wired.root)
    except InstallError as error:
        if not precompile.can_start(wired.interpreter, wired.root):
            raise
        return [f"{error}; hooks work, but each one takes longer"]
    return []


def _compile_policy(home_dir: str, project_dir: str) -> list[str]:
    try:
        config.compile_policy(home_dir, project_dir)
    except OSError as error:
        return [f"cannot write to {home_dir}: {error.strerror or error}"]
    return []


def _installed_text(scope: str, report: dict[str, Any]) -> str:
    warnings = [f"Warning: {warning}" for warning in report["warnings"]]
    if not report["changed"]:
        told = f"Already installed in {report['settings']}; nothing to change."
        return "\n".join([told, *warnings])
    lines = [f"Installed in {report['settings']}."]
    if report["backup"]:
        lines.append(f"Backup: {report['backup']}")
    if scope == "project":
        lines.append(
            "This file is usually shared: on other machines its paths may not exist, which the "
            "client ignores. `--scope local` keeps it to yourself."
        )
    lines.append("It takes effect in new sessions. `brimline doctor` checks it.")
    return "\n".join([*lines, *warnings])


def _affected(chosen: list[str], home_dir: str, problems: list[str]) -> list[str]:
    affected = []
    for path in chosen:
        try:
            plan = installer.plan_uninstall(path, home_dir)
        except InstallError as error:
            problems.append(str(error))
        else:
            affected += [path] if plan.changes else []
    return affected


def _take_out(path: str, home_dir: str, problems: list[str]) -> bool:
    """Take brimline out of one file; one that cannot be changed must not keep it in the others."""
    try:
        return installer.uninstall(path, home_dir)
    except InstallError as error:
        problems.append(str(error))
        return False


def _delete_data(home_dir: str) -> list[str]:
    try:
        return datafolder.delete(home_dir)
    except OSError as error:
        reason = error.strerror or error
        raise InstallError(f"not everything in {home_dir} could be deleted: {reason}") from error


def _uninstalled_text(report: dict[str, Any], home_dir: str) -> str:
    lines = [f"Taken out of {path}." for path in report["settings"]]
    if lines:
        lines.append("Sessions that are running keep their hooks until they end.")
    else:
        lines.append("Nothing of brimline was taken out of any settings.")
    if report["data_deleted"]:
        lines.append(f"Data deleted: {home_dir}")
    elif os.path.isdir(home_dir):
        lines.append(f"Data kept: {home_dir}")
    if report["left"]:
        lines.append(f"Left in there, as brimline did not write it: {', '.join(report['left'])}")
    lines += [
        f"Hooks kept data in {home} too: with BRIMLINE_HOME set to it, "
        "`brimline uninstall --delete-data` deletes that."
        for home in report["other_data"]
    ]
    return "\n".join(lines)


def _report(as_json: bool, report: dict[str, Any], text: str) -> None:
    click.echo(json.dumps(report, indent=2) if as_json else text)
