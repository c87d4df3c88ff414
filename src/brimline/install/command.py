"""The commands of this door: install, uninstall, doctor."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from typing import TYPE_CHECKING, Any

import click

from brimline import config
from brimline.errors import InstallError
from brimline.fast import io, paths
from brimline.install import datafolder, entries, installer, precompile, program, showing, ways
from brimline.install.pieces.piece import Plan
from brimline.install.pieces.settings_entries import SettingsEntries

if TYPE_CHECKING:
    from collections.abc import Callable

    from brimline.install.pieces.piece import Removable

_HELP = {"help_option_names": ["-h", "--help"]}
_SCOPES = click.Choice(installer.SCOPES)
_WAYS = click.Choice(ways.WAYS)


@click.command(context_settings=_HELP)
@click.option("--as", "way", type=_WAYS, default="settings", show_default=True, help="Which way.")
@click.option("--scope", type=_SCOPES, default="user", show_default=True, help="Which settings.")
@click.option("--no-mcp", is_flag=True, help="Do not register the MCP server.")
@click.option("--no-allow", is_flag=True, help="Leave out the permission rules for recalls.")
@click.option("--dry-run", is_flag=True, help="Show the exact change and write nothing.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--interpreter", "asked", metavar="PATH", help="The Python that runs the hooks.")
@click.option("--json", "as_json", is_flag=True, help="Report as JSON.")
def install(  # noqa: PLR0913, PLR0917 - one for each option
    way: str,
    scope: str,
    no_mcp: bool,
    no_allow: bool,
    dry_run: bool,
    yes: bool,
    asked: str | None,
    as_json: bool,
) -> None:
    """Wire brimline into Claude Code, keeping everything that is there.

    Hooks, the status line and permission rules for fetching stored output go into the client's
    settings; slash commands and the MCP server come along for the user. As a plugin, the client
    loads hooks, commands and server from one folder.

    \b
    Example:
      brimline install --dry-run
      brimline install --yes
      brimline install --as plugin
    """
    if way == ways.PLUGIN and scope != "user":
        raise click.UsageError("a plugin is installed for the user: --scope goes with settings")
    home_dir, project_dir = paths.home(), os.getcwd()
    wanted = ways.Asked(way, scope, asked, not no_mcp, not no_allow)
    wired = ways.wiring_for(wanted, home_dir, project_dir)
    pieces = ways.pieces(wanted, wired, home_dir, project_dir)
    plans = _each([piece.plan for piece in pieces])
    plans.append(Plan(notes=ways.remarks(wanted, wired, project_dir)))
    settings = pieces[0].subject if way == ways.SETTINGS else None
    report: dict[str, Any] = {"as": way, "settings": settings, "interpreter": wired.interpreter}
    shown = showing.plans(plans)
    if dry_run:
        patch = showing.diff(change for plan in plans for change in plan.files)
        text = "\n".join([shown or "Nothing to change.", *showing.remarks(plans)])
        _report(as_json, report | _outcome(plans) | {"diff": patch}, text)
        return
    if shown:
        click.echo(shown, err=as_json)
        subjects = [p.subject for p, plan in zip(pieces, plans, strict=False) if plan.changes]
        _confirm(f"Change {', '.join(map(showing.shown_path, subjects))}?", yes=yes)
    _make_home(home_dir)
    _note_for_hooks(home_dir, installer.home_to_bake(home_dir))
    slower = _precompile(wired)
    done = _each([piece.apply for piece in pieces])
    slower += _compile_policy(home_dir, project_dir)
    done.append(Plan(notes=plans[-1].notes, warnings=slower))
    place = f"{'in' if settings else 'as'} {pieces[0].subject}"
    text = "\n".join([_installed_text(scope, place, done), *showing.remarks(done)])
    _report(as_json, report | _outcome(done), text)


@click.command(context_settings=_HELP)
@click.option("--as", "way", type=_WAYS, help="Only this way; otherwise both.")
@click.option("--scope", type=_SCOPES, help="Only this scope; otherwise wherever it is installed.")
@click.option("--delete-data", is_flag=True, help="Also delete everything brimline has stored.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--json", "as_json", is_flag=True, help="Report as JSON.")
def uninstall(
    way: str | None, scope: str | None, delete_data: bool, yes: bool, as_json: bool
) -> None:
    """Take brimline out of Claude Code, to the byte where nobody else changed its settings.

    \b
    Example:
      brimline uninstall --yes
      brimline uninstall --as plugin
      brimline uninstall --delete-data
    """
    if way == ways.PLUGIN and scope is not None:
        raise click.UsageError("a plugin is installed for the user: --scope goes with settings")
    home_dir, project_dir = paths.home(), os.getcwd()
    pieces = ways.installed(way, scope, home_dir, project_dir)
    elsewhere = installer.other_homes([piece.subject for piece in pieces], home_dir)
    problems: list[str] = []
    restored: list[str] = []
    affected = [piece.subject for piece in pieces if _would_change(piece, problems)]
    if affected:
        _confirm("Take brimline out: " + ", ".join(affected) + "?", yes=yes)
    if delete_data:
        _confirm(f"Delete everything brimline has stored in {home_dir}?", yes=yes)
        restored = _offer_to_put_back(home_dir, problems, yes=yes)
    done = [_removed(piece, problems) for piece in pieces]
    installer.remove_launcher(home_dir, project_dir)
    if delete_data and problems:
        problems.append(f"the data in {home_dir} was kept: putting these files back needs it")
    deleted = delete_data and not problems
    left = _delete_data(home_dir) if deleted else []
    out = [piece for piece, plan in zip(pieces, done, strict=True) if plan.changes]
    files = [piece.subject for piece in out if isinstance(piece, SettingsEntries)]
    report = {"settings": files} | _outcome(done)
    report |= {
        "restored_sessions": restored,
        "data_deleted": deleted,
        "left": left,
        "other_data": elsewhere,
    }
    others = [piece.subject for piece in out if not isinstance(piece, SettingsEntries)]
    told = _uninstalled_text(others, report, home_dir)
    text = "\n".join([told, *showing.remarks(done)])
    problems = list(dict.fromkeys(problems))
    _report(as_json, report | ({"problems": problems} if problems else {}), text)
    if problems:
        raise InstallError("; ".join(problems))


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


def _each(actions: list[Callable[[], Plan]]) -> list[Plan]:
    """Plan or do one piece after the other; only the first is worth giving up for."""
    first, *others = actions
    done = [first()]
    for action in others:
        try:
            done.append(action())
        except InstallError as error:
            done.append(Plan(warnings=[str(error)]))
    return done


def _outcome(plans: list[Plan]) -> dict[str, Any]:
    """What was or would be done, under stable keys."""
    return {
        "changed": any(plan.changes for plan in plans),
        "files": [change.path for plan in plans for change in plan.files],
        "client_calls": [line for plan in plans for line in plan.call_lines],
        "to_do": [text for plan in plans for text in plan.to_do],
        "notes": [text for plan in plans for text in plan.notes],
        "backup": next((plan.backup for plan in plans if plan.backup), None),
        "warnings": [text for plan in plans for text in plan.warnings],
    }


def _confirm(question: str, *, yes: bool) -> None:
    if yes:
        return
    if not sys.stdin or not sys.stdin.isatty():
        raise InstallError("this changes files: add --yes where there is no terminal to ask on")
    click.confirm(question, abort=True, err=True)


def _offer_to_put_back(home_dir: str, problems: list[str], *, yes: bool) -> list[str]:
    """Purged sessions refer to the data that is about to go; returns those that were restored."""
    from brimline.install import purged

    found = purged.sessions(home_dir)
    if not found.keys and not found.problems:
        return []
    question = f"{len(found.keys)} purged sessions refer to this data. Restore them first?"
    if not yes and not click.confirm(question, default=True, err=True):
        return []
    done = purged.put_back(found, home_dir)
    problems += done.problems
    return done.restored


def _make_home(home_dir: str) -> None:
    try:
        io.make_folders(home_dir)
        os.listdir(home_dir)
    except OSError as error:
        raise InstallError(
            f"cannot use the data folder {home_dir}: {error.strerror}; nothing was changed, "
            "BRIMLINE_HOME can name another one"
        ) from error


def _note_for_hooks(home_dir: str, baked_home: str | None) -> None:
    """What hooks cannot find out: how to start the command."""
    with contextlib.suppress(OSError):  # it only makes an answer a little better
        line = program.find(baked_home).line()
        if line:
            io.replace_file(paths.command_file(home_dir), line.encode())


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


def _installed_text(scope: str, place: str, done: list[Plan]) -> str:
    if not any(plan.changes for plan in done):
        return f"Already installed {place}; nothing to change."
    lines = [f"Installed {place}."]
    lines += [f"Backup: {plan.backup}" for plan in done if plan.backup]
    others = [change.path for plan in done[1:] for change in plan.files]
    if others:
        lines.append(f"Written: {len(others)} files in {os.path.dirname(others[0])}")
    lines += [f"Done: {line}" for plan in done for line in plan.call_lines]
    if scope == "project":
        lines.append(
            "This file is usually shared: on other machines its paths may not exist, which the "
            "client ignores. `--scope local` keeps it to yourself."
        )
    lines.append("It takes effect in new sessions. `brimline doctor` checks it.")
    return "\n".join(lines)


def _would_change(piece: Removable, problems: list[str]) -> bool:
    try:
        return piece.plan_removal().changes
    except InstallError as error:
        problems.append(str(error))
        return False


def _removed(piece: Removable, problems: list[str]) -> Plan:
    """Take one piece out; one that cannot be changed must not keep brimline in the others."""
    try:
        return piece.remove()
    except InstallError as error:
        problems.append(str(error))
        return Plan()


def _delete_data(home_dir: str) -> list[str]:
    try:
        return datafolder.delete(home_dir)
    except OSError as error:
        reason = error.strerror or error
        raise InstallError(f"not everything in {home_dir} could be deleted: {reason}") from error


def _uninstalled_text(others: list[str], report: dict[str, Any], home_dir: str) -> str:
    lines = [f"Taken out of {path}." for path in report["settings"]]
    lines += [f"Removed: {subject}." for subject in others]
    if lines:
        lines.append("Sessions that are running keep their hooks until they end.")
    else:
        lines.append("Nothing of brimline was taken out of any settings.")
    lines += [f"Restored the purged session {path}." for path in report["restored_sessions"]]
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
