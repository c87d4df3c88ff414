"""What an installation consists of: each part says what it would change, and does it if asked.

The entries in settings and what they start matter most; slash commands and the MCP server come
along for the user. The mod, which the client loads as a plugin, is in `modfolder`.
"""

from __future__ import annotations

import contextlib
import os
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from brimline.errors import InstallError
from brimline.fast import io, paths
from brimline.hooks import slashcommands
from brimline.install import client, entries, pythons, records, settingsfile, wiring
from brimline.install.records import Change, Record
from brimline.launch import is_launcher
from brimline.settings import clientsettings, config

if TYPE_CHECKING:
    from collections.abc import Iterable

SCOPES = ("user", "project", "local")


@dataclass
class Plan:
    """What would be done, or was."""

    files: list[Change] = field(default_factory=list)
    calls: list[tuple[str, ...]] = field(default_factory=list)
    """Arguments for the client's own command, in order."""
    to_do: list[str] = field(default_factory=list)
    """What only the user can do, with the exact command."""
    notes: list[str] = field(default_factory=list)
    """What is left as it is, and why."""
    warnings: list[str] = field(default_factory=list)
    """What was tried and did not work."""
    backup: str = ""

    @classmethod
    def join_plans(cls, plans: Iterable[Plan]) -> Plan:
        """Several as one."""
        whole = cls()
        for plan in plans:
            for name in ("files", "calls", "to_do", "notes", "warnings"):
                getattr(whole, name).extend(getattr(plan, name))
            whole.backup = whole.backup or plan.backup
        return whole

    @property
    def has_changes(self) -> bool:
        """Whether there is anything to do."""
        return bool(self.files or self.calls)

    @property
    def client_call_lines(self) -> list[str]:
        """The calls as a person types them."""
        return [client.claude_shell_line(call) for call in self.calls]

    def write_files(self) -> Plan:
        """The same, with the files written or removed.

        Raises:
            InstallError: one of them cannot be.
        """
        for change in self.files:
            change.write_or_remove_file()
        return self

    def call_client(self, purpose: str, *, do: bool) -> None:
        """Have the client do what it alone may; what it does not do is left to the user.

        Args:
            purpose: what the calls are for, as the end of a sentence.
            do: whether they are made; without the client on PATH they are the user's either way.
        """
        found = client.claude_on_path()
        for at, call in enumerate(self.calls if do or not found else []):
            if found and sys.stderr.isatty():  # it may take its time where the network is away
                sys.stderr.write(f"asking the client: {client.claude_shell_line(call)}\n")
            problem = client.run_client_or_problem(call)
            if problem:
                if found:
                    self.warnings.append(f"`{client.claude_shell_line(call)}` failed: {problem}")
                self.to_do += [f"{line}    # {purpose}" for line in self.client_call_lines[at:]]
                self.calls = self.calls[:at]
                return


def settings_path(scope: str, project_dir: str) -> str:
    """The settings file of a scope."""
    return clientsettings.path_by_scope(project_dir)[scope]


def known_settings_paths(home_dir: str, project_dir: str) -> list[str]:
    """Every settings file that may hold entries of ours: those in reach and the recorded ones."""
    near = [settings_path(scope, project_dir) for scope in SCOPES]
    recorded = [record.path for record in records.load_all_records(home_dir)]
    return list(dict.fromkeys([*near, *recorded]))


def our_entries_in(path: str) -> list[entries.Installed]:
    """Our hook entries in a settings file; none where it cannot be read."""
    return entries.our_hooks_in(clientsettings.read_settings(path))


def data_folder_of_user_install(home_dir: str) -> str:
    """The data folder that knows of the user's installation: where it does not, their entries may.

    Whoever set BRIMLINE_HOME when installing need not have it set now.
    """
    user = settings_path("user", "")
    named = [entry.home for entry in our_entries_in(user) if entry.home]
    return next((home for home in (home_dir, *named) if records.load_record(home, user)), home_dir)


def wiring_of_chosen_python(home_dir: str, path: str, asked: str | None = None) -> entries.Wiring:
    """Where entries in a settings file shall point to; what runs the hooks already is kept.

    Raises:
        InstallError: there is no usable interpreter, or the one the user asked for is not.
    """
    python = pythons.choose_interpreter(asked, interpreter_in_use(home_dir, path))
    return wiring_for_interpreter(python, home_dir)


def wiring_for_interpreter(interpreter: str, home_dir: str) -> entries.Wiring:
    """Where entries of this installation point to.

    Raises:
        InstallError: one of the paths cannot be written into JSON.
    """
    scout = config.load(home_dir, home_dir, environment=False).values["scout.mode"] != "off"
    launcher = entries.launcher_path_if_usable(interpreter, home_dir)
    wired = entries.Wiring(interpreter, pythons.package_root(), home_dir, launcher, scout)
    try:
        "".join(wired[:3]).encode()
    except UnicodeEncodeError:
        raise InstallError(f"of {wired[:3]} a path is not UTF-8, as settings must be") from None
    return wired


def interpreter_in_use(home_dir: str, path: str) -> str | None:
    """Return what runs the hooks already: by the launcher, or a settings file."""
    earlier = [
        entries.parse_our_command(home_dir + paths.LAUNCHER, ["Stop"]),
        *[entry for entry in our_entries_in(path) if is_trusted_entry(entry, path, home_dir)],
    ]
    return next((entry.interpreter for entry in earlier if entry and entry.interpreter), None)


def is_trusted_entry(entry: entries.Installed, path: str, home_dir: str) -> bool:
    """Tell whether an entry is the user's, or starts our own launcher.

    A project's settings may come with a stranger's repository. The client asks the user before it
    trusts them, so nothing else that they name is started here.
    """
    files = clientsettings.path_by_scope("")
    return path in (files["user"], files["managed"]) or entry.launcher == home_dir + paths.LAUNCHER


def remove_launcher_if_unused(home_dir: str, project_dir: str) -> list[Change]:
    """Remove the program that the client starts, once no settings that we know of name it."""
    path = home_dir + paths.LAUNCHER
    files = known_settings_paths(home_dir, project_dir)
    started = [entry.launcher for file in files for entry in our_entries_in(file)]
    if path in started or not (os.path.lexists(path) and is_launcher(path)):
        return []
    change = Change(path, records.read_if_plain_file(path), None)
    change.write_or_remove_file()
    with contextlib.suppress(OSError):  # something else is in there
        os.rmdir(os.path.dirname(path))
    return [change]


class Settings:
    """The launcher; the hooks and status line in one of the client's files."""

    def __init__(self, path: str, home_dir: str, wired: entries.Wiring = entries.NOWHERE) -> None:
        """Name the file, the data folder with its record, and for installing what to start."""
        self.path, self.home_dir, self.wired = path, home_dir, wired
        self.backups, self.subject = f"{home_dir}/backups", path

    def plan_or_install(self, *, do: bool) -> Plan:
        """Add or renew our entries, and what they start."""
        # What cannot be done is told before anything is written.
        plan = self._plan_or_install_entries(do=False)
        launcher = self._launcher_changes()
        if do:
            Plan(launcher).write_files()
            plan = settingsfile.retry_if_changed(lambda: self._plan_or_install_entries(do=True))
        plan.files = [*launcher, *plan.files]
        return plan

    def plan_or_remove(self, *, do: bool) -> Plan:
        """The original back while the file is what we wrote, else our entries out."""
        return settingsfile.retry_if_changed(lambda: self._plan_or_remove_entries(do=do))

    def _launcher_changes(self) -> list[Change]:
        path = self.wired.launcher
        if path is None:
            return []
        change = Change(path, records.read_if_plain_file(path), self.wired.launcher_bytes())
        current = change.before == change.after and os.access(path, os.X_OK)
        return [] if current else [change]

    def _plan_or_install_entries(self, *, do: bool) -> Plan:
        file, known = settingsfile.read(self.path), records.load_record(self.home_dir, self.path)
        try:
            text = wiring.with_entries(file.text, self.wired, _parsed_original_or_none(known))
        except InstallError as error:
            raise InstallError(f"{self.path}: {error}; nothing was changed") from None
        after = file.encode(text)
        if after == file.raw:
            return Plan()
        settingsfile.require_writable(file)
        plan = Plan([Change(self.path, file.raw, after)])
        if do:
            records.save_record(self.home_dir, _make_record(file, after, known))
            plan.backup = settingsfile.replace_settings(file, after, self.backups)
        return plan

    def _plan_or_remove_entries(self, *, do: bool) -> Plan:
        file = settingsfile.read(self.path)
        if file.raw is None:
            return Plan()
        known = records.load_record(self.home_dir, self.path)
        try:
            after = self._settings_bytes_after_uninstall(file, known)
        except InstallError as error:
            raise InstallError(f"{self.path}: {error}; nothing was changed") from None
        if after != file.raw:
            settingsfile.require_writable(file)
            if do:
                settingsfile.replace_settings(file, after, self.backups)
        if do and known:
            records.forget_record(self.home_dir, known.path)
        return Plan([Change(self.path, file.raw, after)] if after != file.raw else [])

    def _settings_bytes_after_uninstall(
        self, file: settingsfile.SettingsFile, known: Record | None
    ) -> bytes | None:
        raw = file.raw or b""
        if known and settingsfile.sha256_of_content(raw) in known.written:
            return known.original
        named = b"brimline" in raw or paths.LAUNCHER.encode() in raw
        if not named or not (known or wiring.has_entries_of_ours(file.text)):
            return raw  # what holds nothing of ours need not even be valid
        text = wiring.without_entries(file.text, _parsed_original_or_none(known))
        created = known is not None and known.original is None
        return None if created and not wiring.parse_settings(text) else file.encode(text)


def _make_record(file: settingsfile.SettingsFile, after: bytes, known: Record | None) -> Record:
    """Return what to put back: the first original while nobody else wrote, else this without us."""
    written, original = [settingsfile.sha256_of_content(after)], file.raw
    if known and file.raw is not None and settingsfile.sha256_of_content(file.raw) in known.written:
        written, original = [*known.written, *written], known.original
    elif original is not None and wiring.has_entries_of_ours(file.text):
        original = file.encode(wiring.without_entries(file.text, _parsed_original_or_none(known)))
    return Record(file.path, written, original)


def _parsed_original_or_none(known: Record | None) -> dict[str, Any] | None:
    """Return what the settings were before us; None where that is not known."""
    if known is None:
        return None
    return wiring.parse_settings(settingsfile.SettingsFile("", "", known.original).text)


class Commands:
    """The slash commands `/brim:…` in the user's folder, and how a shell starts `brimline`."""

    def __init__(self, home_dir: str, started: pythons.Program, *, has_mod: bool = False) -> None:
        """Name the data folder, what is to be started, and whether the mod comes along.

        What the mod answers needs no file, where the client loads it.
        """
        self.home_dir, self.started, self.has_mod = home_dir, started, has_mod
        self.subject = f"the slash commands in {slash_commands_folder()}"

    def plan_or_install(self, *, do: bool) -> Plan:
        """The files that are missing or out of date."""
        line = self.started.shell_line
        has_mod = self.has_mod and not client.is_client_too_old_for_mods()
        plan = self._plan_for_files(slashcommands.markdown_files(line, has_mod=has_mod), line())
        if line(*slashcommands.CARD.words) is None:
            why = f"the client cannot check a line that starts {self.started.interpreter} here"
            plan.warnings.append(f"/brim:card left out: {why}")
        return plan.write_files() if do else plan

    def plan_or_remove(self, *, do: bool) -> Plan:
        """Exactly the files that we wrote and nobody changed, and the folders that this empties."""
        plan = self._plan_for_files({}, None)
        if do:
            plan.write_files()
            with contextlib.suppress(OSError):  # somebody keeps something in it
                os.rmdir(slash_commands_folder())
                os.rmdir(os.path.dirname(slash_commands_folder()))
        return plan

    def _plan_for_files(self, wanted: dict[str, bytes], line: str | None) -> Plan:
        """What makes the folder hold exactly these files of ours; what is not ours is named."""
        folder, plan = slash_commands_folder(), Plan()
        for name in dict.fromkeys([*wanted, *sorted(io.list_names(folder))]):
            path, after = f"{folder}/{name}", wanted.get(name)
            before = records.read_if_plain_file(path)
            ours = before is not None and slashcommands.is_unchanged_file_of_ours(before)
            if not os.path.lexists(path) or ours:
                plan.files.append(Change(path, before, after))
            elif before != after and name in slashcommands.NAMES:
                plan.notes.append(f"{path} is not brimline's, or was changed: left")
        path, noted = f"{self.home_dir}/command", line.encode() if line else None
        plan.files.append(Change(path, records.read_if_plain_file(path), noted))
        plan.files = [change for change in plan.files if change.before != change.after]
        return plan


class McpServer:
    """`brimline mcp` in the user's scope, registered by the client's own command."""

    subject = f"the MCP server `{clientsettings.SERVER}`"

    def __init__(self, started: pythons.Program) -> None:
        """Name what the server shall be started with."""
        self.started = started

    def plan_or_install(self, *, do: bool) -> Plan:
        """Add it, or add it anew where it starts something else."""
        registered, wanted = clientsettings.registered_mcp_server(), self.started.mcp_server_entry()
        if registered and not clientsettings.is_mcp_server_ours():
            return Plan(notes=["an MCP server of that name is registered that is not ours: left"])
        if registered == wanted:
            return Plan()
        started = (wanted["command"], *wanted["args"])
        addition = ("mcp", "add", "-s", "user", clientsettings.SERVER, "--", *started)
        plan = Plan(calls=[*([_REMOVAL] if registered else []), addition])
        plan.call_client("the MCP server", do=do)
        return plan

    def plan_or_remove(self, *, do: bool) -> Plan:
        """Have the client forget it, where it is ours."""
        found = clientsettings.registered_mcp_server()
        plan = Plan(calls=[_REMOVAL] if found and clientsettings.is_mcp_server_ours() else [])
        plan.call_client("the MCP server", do=do)
        return plan


_REMOVAL = ("mcp", "remove", "-s", "user", clientsettings.SERVER)


def slash_commands_folder() -> str:
    """Where the client looks for the user's commands of our namespace."""
    return f"{paths.client_config_dir()}/commands/{slashcommands.NAMESPACE}"
