"""The commands of this door: install, uninstall, doctor."""

from __future__ import annotations

import difflib
import json
import os
import shutil
import sys

import click

from brimline import config, paths
from brimline.errors import InstallError
from brimline.install import entries, installer, interpreter, precompile

_HELP = {"help_option_names": ["-h", "--help"]}
_SCOPES = click.Choice(["user", "project", "local"])
# What lives in the data folder; nothing else in it is ever deleted.
_DATA_NAMES = ("sessions", "policy", "install", "backups", "errors.jsonl", "errors.jsonl.old")


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
    python = interpreter.choose(asked, installer.installed_interpreter(path))
    root = precompile.package_root()
    wired = entries.Wiring(python, root, installer.home_to_bake(home_dir))
    plan = installer.plan_install(path, wired)
    report = {"settings": path, "interpreter": python, "changed": plan.changes, "backup": None}
    if dry_run:
        _report(as_json, report | {"diff": _diff(plan)}, _diff(plan) or "Nothing to change.")
        return
    if plan.changes and not as_json:
        click.echo(_diff(plan))
    if plan.changes:
        _confirm(f"Change {path}?", yes=yes)
    precompile.precompile(python, root)
    os.makedirs(home_dir, mode=0o700, exist_ok=True)
    config.compile_policy(home_dir, project_dir)
    report["backup"] = installer.install(path, wired, home_dir)
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
    plans = [installer.plan_uninstall(path, home_dir) for path in chosen]
    affected = [plan.file.path for plan in plans if plan.changes]
    if affected:
        _confirm("Take brimline out of " + ", ".join(affected) + "?", yes=yes)
    if delete_data:
        _confirm(f"Delete everything brimline has stored in {home_dir}?", yes=yes)
    for path in chosen:
        installer.uninstall(path, home_dir)
    if delete_data:
        _delete_data(home_dir)
    told = [f"Taken out of {path}." for path in affected] or ["brimline was not installed here."]
    kept = f"Data deleted: {home_dir}" if delete_data else f"Data kept: {home_dir}"
    _report(as_json, {"settings": affected, "data_deleted": delete_data}, "\n".join([*told, kept]))


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
    before = (plan.file.raw or b"").decode("utf-8", "replace").splitlines()
    after = (plan.after or b"").decode("utf-8", "replace").splitlines()
    path = plan.file.path
    return "\n".join(difflib.unified_diff(before, after, path, path, lineterm=""))


def _confirm(question: str, *, yes: bool) -> None:
    if yes:
        return
    if not sys.stdin.isatty():
        raise InstallError("this changes files: add --yes where there is no terminal to ask on")
    click.confirm(question, abort=True)


def _installed_text(scope: str, report: dict[str, object]) -> str:
    if not report["changed"]:
        return f"Already installed in {report['settings']}; nothing to change."
    lines = [f"Installed in {report['settings']}."]
    if report["backup"]:
        lines.append(f"Backup: {report['backup']}")
    if scope == "project":
        lines.append(
            "This file is usually shared: on other machines its paths may not exist, which the "
            "client ignores. `--scope local` keeps it to yourself."
        )
    lines.append("It takes effect in new sessions. `brimline doctor` checks it.")
    return "\n".join(lines)


def _delete_data(home_dir: str) -> None:
    for name in (*_DATA_NAMES, "config.toml"):
        path = f"{home_dir}/{name}"
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path)
        elif os.path.lexists(path):
            os.unlink(path)
    try:
        os.rmdir(home_dir)
    except OSError:
        pass  # something in there is not ours


def _report(as_json: bool, report: dict[str, object], text: str) -> None:
    click.echo(json.dumps(report, indent=2) if as_json else text)
