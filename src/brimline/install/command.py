"""The commands of this door: install, uninstall, doctor."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import click

from brimline import output
from brimline.errors import InstallError, reason
from brimline.fast import io, paths
from brimline.install import client, datafolder, entries, modfolder, parts, pythons, settingsfile
from brimline.install.doctor import findings_text, run_checks_as_document
from brimline.install.modfolder import Mod
from brimline.install.parts import Plan, Settings
from brimline.settings import config, pinned, plugins

if TYPE_CHECKING:
    from brimline.install.records import Change

    Part = Settings | Mod | parts.Commands | parts.McpServer

_AT_WORK = "the plugin {0} is at work: what this installs rests while that is on"
_STAYS = "the plugin stays: `claude plugin uninstall {0}` takes it out"
_ALLOWS = "allow   the model to fetch unasked what the same project stored"
_KEEPS = "stores  usage figures, large results, messages and replies, past sessions too"


@output.command("install")
@click.option("--no-mod", is_flag=True, help="Leave compactions to the client.")
@click.option("--interpreter", metavar="PATH", help="The Python that runs the hooks.")
@output.dry_run_option
@output.yes_option
def install(no_mod: bool, interpreter: str | None, dry_run: bool, yes: bool, as_json: bool) -> None:
    """Wire brimline into Claude Code, keeping everything that is there.

    Hooks and the status line go into the client's settings; slash commands, the MCP server and the
    mod that compacts without a model come along. The model may then fetch unasked what sessions of
    the same project stored and said, and nothing else.

    \b
    Example:
      brimline install --dry-run
      brimline install --yes
      brimline install --no-mod
    """
    home_dir, project_dir = paths.data_dir(), os.getcwd()
    place = parts.settings_path("user", project_dir)
    wired = parts.wiring_of_chosen_python(home_dir, place, interpreter)
    to_install = _parts_to_install(wired, place, home_dir, has_mod=not no_mod)
    plans = _plan_or_install_parts(to_install, do=False)
    remarks = Plan(notes=_notes_on_plugin(project_dir, _AT_WORK))
    whole = Plan.join_plans([*plans, remarks])
    report = {"settings": place, "interpreter": wired.interpreter}
    shown = _lines_of_plans(to_install, plans, wired)
    already = f"Already installed in {place}; nothing to change."
    if dry_run:
        lines = [*(shown or [already]), *_warning_and_note_lines(whole)]
        output.answer(report | _plan_document(whole), "\n".join(lines), as_json=as_json)
        return
    if shown:
        output.say("\n".join(shown), err=as_json)
        output.require_consent("Go ahead?", yes=yes)
    remarks.warnings += _make_data_folder_and_compile(wired, project_dir)
    done = Plan.join_plans([*_plan_or_install_parts(to_install, do=True), remarks])
    lines = [f"Installed in {place}.", *([f"Backup: {done.backup}"] if done.backup else [])]
    lines.append("It takes effect in new sessions. `brimline doctor` checks it.")
    text = "\n".join([*(lines if done.has_changes else [already]), *_warning_and_note_lines(done)])
    output.answer(report | _plan_document(done), text, as_json=as_json)


def _notes_on_plugin(project_dir: str, words: str) -> list[str]:
    plugin = plugins.plugin_at_work(project_dir)
    return [words.format(plugin)] if plugin else []


@output.command("uninstall")
@click.option("--delete-data", is_flag=True, help="Also delete everything brimline has stored.")
@output.yes_option
def uninstall(delete_data: bool, yes: bool, as_json: bool) -> None:
    """Remove brimline from Claude Code; settings that only it changed are as before, to the byte.

    Whatever settings hold it: earlier versions also wrote into those of a project.

    \b
    Example:
      brimline uninstall --yes
      brimline uninstall --delete-data
    """
    home_dir, project_dir = parts.data_folder_of_user_install(paths.data_dir()), os.getcwd()
    removable = _parts_to_remove(home_dir, project_dir)
    data = datafolder.Stored(home_dir) if delete_data else None
    problems: list[str] = []
    _require_consent_to_remove(removable, data, problems, yes=yes)
    restored = data.restore_and_list_restored() if data else []
    done = [_plan_or_remove_part(part, problems, do=True) for part in removable]
    problems = list(dict.fromkeys(problems + (data.problems if data else [])))
    out = [part for part, plan in zip(removable, done, strict=True) if plan.has_changes]
    whole = Plan.join_plans(done)
    whole.notes += _notes_on_plugin(project_dir, _STAYS)
    whole.files += parts.remove_launcher_if_unused(home_dir, project_dir)
    pinned.forget(home_dir)
    report = {"settings": [part.path for part in out if isinstance(part, Settings)]}
    report |= _plan_document(whole) | {"restored_sessions": restored, "problems": problems}
    report |= _delete_data_unless_needed(data, problems)
    text = "\n".join([*_uninstall_lines(out, report, home_dir), *_warning_and_note_lines(whole)])
    output.answer(report, text, as_json=as_json)
    if problems:
        raise InstallError("; ".join(problems))


def _require_consent_to_remove(
    removable: list[Part], data: datafolder.Stored | None, problems: list[str], *, yes: bool
) -> None:
    """Say what would go, and let the user decide; nothing is asked where nothing would."""
    plans = [_plan_or_remove_part(part, problems, do=False) for part in removable]
    affected = [
        part.subject for part, plan in zip(removable, plans, strict=True) if plan.has_changes
    ]
    question = [f"Take brimline out: {', '.join(affected)}."] if affected else []
    question += data.lines_on_what_deleting_means() if data else []
    if question:
        output.require_consent("\n".join([*question, "Go ahead?"]), yes=yes)


def _delete_data_unless_needed(
    data: datafolder.Stored | None, problems: list[str]
) -> dict[str, Any]:
    """Delete the data, unless something that could not be put back needs it; what is left."""
    report: dict[str, Any] = {"data_deleted": False, "backups_deleted": [], "left": []}
    report["backups_left"] = data.only_copies if data else []
    if data is None:
        return report
    if problems:
        kept = f"the data in {data.home_dir} was kept"
        problems.append(f"{kept}: putting these files back needs it")
        return report
    left = data.delete()
    return report | {"data_deleted": True, "backups_deleted": data.backups, "left": left}


@output.command("doctor")
def doctor(as_json: bool) -> None:
    """Check the installation; every finding says why it matters and what fixes it.

    \b
    Example:
      brimline doctor
    """
    document = run_checks_as_document(paths.data_dir(), os.getcwd())
    output.answer(document, findings_text, as_json=as_json)
    sys.exit(0 if document["ok"] else 1)


def _parts_to_install(
    wired: entries.Wiring, settings_path: str, home_dir: str, *, has_mod: bool
) -> list[Part]:
    """Return what to install, in order."""
    started = pythons.program_of_this_process(home_dir)
    wired = wired._replace(mod=modfolder.mod_folder(home_dir) if has_mod else "")
    chosen: list[Part] = [Settings(settings_path, home_dir, wired)]
    chosen += [Mod(home_dir, wired)] if has_mod else []
    return [*chosen, parts.Commands(home_dir, started, has_mod=has_mod), parts.McpServer(started)]


def _plan_or_install_parts(found: list[Part], *, do: bool) -> list[Plan]:
    """Plan or do one part after the other; only launcher and entries are worth giving up for."""
    plans: list[Plan] = []
    for part in found:
        try:
            plans.append(part.plan_or_install(do=do))
        except InstallError as error:
            if not isinstance(part, parts.Commands | parts.McpServer):
                raise
            plans.append(Plan(warnings=[str(error)]))
    return plans


def _lines_of_plans(found: list[Part], plans: list[Plan], wired: entries.Wiring) -> list[str]:
    """Return what would happen, a line for each part; none where nothing would."""
    lines = []
    for part, plan in zip(found, plans, strict=True):
        lines += [*_file_lines(part, plan), *[f"run     {line}" for line in plan.client_call_lines]]
    if not lines:
        return []
    if any(isinstance(part, parts.McpServer) for part in found) and not client.claude_on_path():
        lines.append("later   the MCP server: `claude` is not on PATH; install again once it is")
    if any(isinstance(part, Mod) for part in found):
        lines += modfolder.EFFECT
    lines += [_ALLOWS, f"python  {wired.interpreter}", f"data    {wired.home}", _KEEPS]
    return [*lines, "undo    brimline uninstall"]


def _file_lines(part: Part, plan: Plan) -> list[str]:
    """The files that a part would write or change; those of a folder of ours on one line."""
    files = plan.files
    if isinstance(part, parts.Commands):
        # What the commands bring besides is for starting them.
        files = [change for change in files if change.path.endswith(".md")] or files
    named = [(change.path, [change]) for change in files]
    if isinstance(part, parts.Commands | Mod) and files:
        named = [(f"{part.subject} ({output.count_text(len(files), 'file')})", files)]
    return [f"{_write_or_change_word(changes)}  {name}" for name, changes in named]


def _write_or_change_word(changes: list[Change]) -> str:
    return "write " if all(change.before is None for change in changes) else "change"


def _warning_and_note_lines(plan: Plan) -> list[str]:
    """Return what did not work, what is left alone, and what is left to the user."""
    lines = [f"Warning: {text}" for text in plan.warnings]
    lines += [f"Note: {text}" for text in plan.notes]
    # What stands on a line of its own is to be copied.
    told = [text.split("\n") for text in lines]
    lines = [line for head, *rest in told for line in (output.wrapped_text(head), *rest)]
    return [*lines, *["Left for you to run:"][: len(plan.to_do)], *[f"  {t}" for t in plan.to_do]]


def _plan_document(plan: Plan) -> dict[str, Any]:
    """Return what was or would be done, under stable keys."""
    return {
        "changed": plan.has_changes,
        "files": [change.path for change in plan.files],
        "client_calls": plan.client_call_lines,
        **output.pick_attrs(plan, "to_do notes warnings"),
        "backup": plan.backup or None,
    }


def _make_data_folder_and_compile(wired: entries.Wiring, project_dir: str) -> list[str]:
    """Make the data folder, compile package and settings; returns what hooks can do without."""
    try:
        io.make_folder_and_parents(wired.home)
        os.listdir(wired.home)
        config.compile_policy(wired.home, project_dir)
    except OSError as error:
        raise InstallError(
            f"cannot use the data folder {wired.home}: {reason(error)}; nothing was "
            "changed, BRIMLINE_HOME can name another one"
        ) from error
    problem = pythons.precompile_or_problem(wired.interpreter, wired.root)
    if problem and not pythons.can_interpreter_import_hooks(wired.interpreter, wired.root):
        raise InstallError(problem)
    warnings = [f"{problem}; hooks work, but each one takes longer"] if problem else []
    try:
        pinned.write_down()
    except OSError as error:
        why = f"{pinned.FILE} cannot be written: {reason(error)}"
        warnings.append(f"{why}; `brimline` in the client goes by the environment")
    return warnings


def _parts_to_remove(home_dir: str, project_dir: str) -> list[Part]:
    """Return what may have to be taken out, in order."""
    known = parts.known_settings_paths(home_dir, project_dir)
    settings: list[Part] = [Settings(path, home_dir) for path in known]
    started = pythons.program_of_this_process(home_dir)
    # The mod last: once no settings name it, the client's command changes none of them.
    return [parts.Commands(home_dir, started), parts.McpServer(started), *settings, Mod(home_dir)]


def _plan_or_remove_part(part: Part, problems: list[str], *, do: bool) -> Plan:
    """Take one part out; one that makes no sense must not keep brimline in the others.

    Raises:
        ReadOnlyError: it must not be changed; so nothing is.
    """
    try:
        return part.plan_or_remove(do=do)
    except settingsfile.ReadOnlyError:
        raise
    except InstallError as error:
        problems.append(str(error))
        return Plan()


def _uninstall_lines(out: list[Part], report: dict[str, Any], home_dir: str) -> list[str]:
    lines = [f"Removed from {path}." for path in report["settings"]]
    lines += [f"Removed: {part.subject}." for part in out if not isinstance(part, Settings)]
    still = "Sessions that are running keep their hooks until they end."
    lines.append(still if lines else "brimline was in no settings file; nothing was removed.")
    lines += [f"Restored in a copy: {path}." for path in report["restored_sessions"]]
    return lines + _lines_on_what_became_of_data(report, home_dir)


def _lines_on_what_became_of_data(report: dict[str, Any], home_dir: str) -> list[str]:
    """Return what became of the data folder, and of backups beside sessions."""
    lines = []
    if report["data_deleted"] or os.path.isdir(home_dir):
        lines.append(f"Data {'deleted' if report['data_deleted'] else 'kept'}: {home_dir}")
    if report["backups_deleted"]:
        count = output.count_text(len(report["backups_deleted"]), "backup")
        lines.append(f"Deleted {count} beside sessions.")
    if report["left"]:
        lines.append(f"Left in there, as brimline did not write it: {', '.join(report['left'])}")
    return lines + [
        f"Left: {path}, all that there is of a session that is gone."
        for path in report["backups_left"]
    ]
