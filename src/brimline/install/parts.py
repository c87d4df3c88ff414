"""What an installation consists of: each part says what it would change, and does it if asked.

The launcher and the entries in settings matter most; slash commands and the MCP server come along
for the user. The plugin, which brings all of them another way, is in `plugin`.
"""

from __future__ import annotations

import contextlib
import os
import sys
from dataclasses import dataclass, field

from brimline import clientsettings, config
from brimline.errors import InstallError
from brimline.fast import paths
from brimline.install import client, entries, pythons, records, settingsfile, wiring
from brimline.install.records import Change, OwnFiles, Record
from brimline.launch import LAUNCHER, is_launcher
from brimline.slash import answer, command_files

SCOPES = ("user", "project", "local")
ALLOWED = (
    "the model may fetch stored output unasked (`recall`, `brimline store get`); "
    "`--no-allow` leaves these permission rules out"
)


@dataclass(slots=True)
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

    @property
    def changes(self) -> bool:
        """Whether there is anything to do."""
        return bool(self.files or self.calls)

    @property
    def call_lines(self) -> list[str]:
        """The calls as a person types them."""
        return [client.line(call) for call in self.calls]

    def call_client(self, purpose: str, *, do: bool) -> None:
        """Have the client do what it alone may; what it does not do is left to the user.

        Args:
            purpose: what the calls are for, as the end of a sentence.
            do: whether they are made; without the client on PATH they are the user's either way.
        """
        if client.on_path() is None or not do:
            lines = [] if client.on_path() else self.call_lines
            self.to_do += [f"{line}    # {purpose}" for line in lines]
            self.calls = [] if lines else self.calls
            return
        for at, call in enumerate(self.calls):
            if sys.stderr.isatty():  # the client may take its time where the network is away
                sys.stderr.write(f"asking the client: {client.line(call)}\n")
            problem = client.run(call)
            if problem:
                self.warnings.append(f"`{client.line(call)}` failed: {problem}")
                self.to_do += [f"{line}    # {purpose}" for line in self.call_lines[at:]]
                self.calls = self.calls[:at]
                return


def settings_path(scope: str, project_dir: str) -> str:
    """The settings file of a scope."""
    return clientsettings.settings_files(project_dir)[scope]


def known_paths(home_dir: str, project_dir: str) -> list[str]:
    """Every settings file that may hold entries of ours: the recorded ones and those in reach."""
    recorded = [record.path for record in records.load_all(home_dir)]
    near = [settings_path(scope, project_dir) for scope in SCOPES]
    return list(dict.fromkeys([*recorded, *near]))


def entries_in(path: str) -> list[entries.Installed]:
    """Our hook entries in a settings file; none where it cannot be read."""
    return entries.installed(clientsettings.read_settings(path))


def installed_home(home_dir: str) -> str:
    """The data folder that knows of the user's installation: where it does not, their entries may.

    Whoever set BRIMLINE_HOME when installing need not have it set now.
    """
    user = settings_path("user", "")
    named = [entry.home for entry in entries_in(user) if entry.home]
    return next((home for home in (home_dir, *named) if records.load(home, user)), home_dir)


def wiring_for(interpreter: str, home_dir: str) -> entries.Wiring:
    """Where entries of this installation point to.

    Raises:
        InstallError: one of the paths cannot be written into JSON.
    """
    scout = config.load(home_dir, home_dir, environment=False).values["scout.mode"] != "off"
    launcher = entries.launcher_for(interpreter, home_dir)
    wired = entries.Wiring(interpreter, pythons.package_root(), home_dir, launcher, scout)
    for path in wired[:3]:
        try:
            path.encode("utf-8")
        except UnicodeEncodeError:
            raise InstallError(f"the path {path!r} is not UTF-8, which settings must be") from None
    return wired


def home_to_tell(home_dir: str) -> str | None:
    """The data folder to tell a command: only one that the environment does not lead to."""
    return None if home_dir == f"{paths.client_config_dir()}/brimline" else home_dir


def may_start(entry: entries.Installed, path: str, home_dir: str) -> bool:
    """Whether an entry is the user's or our own work.

    A project's settings may come with a stranger's repository. The client asks the user before it
    trusts them, so nothing they name is started here unless we wrote it there ourselves.
    """
    files = clientsettings.settings_files("")
    if path in (files["user"], files["managed"]) or entry.launcher == home_dir + LAUNCHER:
        return True
    known = records.load(home_dir, path)
    return known is not None and (entry.interpreter, entry.root) == (known.interpreter, known.root)


class Launcher:
    """The program that the client starts."""

    def __init__(
        self, home_dir: str, project_dir: str, wired: entries.Wiring = entries.NOWHERE
    ) -> None:
        """Name the data folder, and for installing what to start."""
        self.home_dir, self.project_dir, self.wired = home_dir, project_dir, wired
        self.path = home_dir + LAUNCHER

    @property
    def subject(self) -> str:
        """Its path."""
        return self.path

    def install(self, *, do: bool) -> Plan:
        """Write it where it is not what it should be."""
        if self.wired.launcher is None:
            return Plan()
        change = Change(self.path, records.read_plain(self.path), self.wired.launcher_bytes())
        if change.before == change.after and os.access(self.path, os.X_OK):
            return Plan()
        if do:
            change.carry_out()
        return Plan([change])

    def remove(self, *, do: bool) -> Plan:
        """Remove it, once no settings that we know of start it any more."""
        if not os.path.lexists(self.path) or not is_launcher(self.path):
            return Plan()
        plan = Plan([Change(self.path, records.read_plain(self.path), None)])
        started = [
            e for path in known_paths(self.home_dir, self.project_dir) for e in entries_in(path)
        ]
        if do and any(entry.launcher == self.path for entry in started):
            return Plan()
        if do:
            plan.files[0].carry_out()
            with contextlib.suppress(OSError):  # something else is in there
                os.rmdir(os.path.dirname(self.path))
        return plan


class Settings:
    """The hooks, the status line and permission rules in one settings file of the client."""

    def __init__(
        self, path: str, home_dir: str, project_dir: str, wired: entries.Wiring = entries.NOWHERE
    ) -> None:
        """Name the file, the data folder with its record, and for installing what to start."""
        self.path, self.home_dir, self.project_dir, self.wired = path, home_dir, project_dir, wired
        self.backups = f"{home_dir}/backups"

    @property
    def subject(self) -> str:
        """The file, and where it leads to if it is a link."""
        link = f" (a link to {os.path.realpath(self.path)})" if os.path.islink(self.path) else ""
        return self.path + link

    def install(self, *, do: bool) -> Plan:
        """Add or renew our entries."""
        return settingsfile.retrying(lambda: self._install(do=do))

    def remove(self, *, do: bool) -> Plan:
        """The original back while the file is what we wrote, else our entries out."""
        return settingsfile.retrying(lambda: self._remove(do=do))

    def is_as_written(self) -> bool:
        """Whether the file still is what we last wrote."""
        raw = settingsfile.read(self.path).raw
        known = records.load(self.home_dir, self.path)
        return bool(known and raw is not None and settingsfile.digest(raw) in known.written)

    def _install(self, *, do: bool) -> Plan:
        file, known = settingsfile.read(self.path), records.load(self.home_dir, self.path)
        try:
            text, made = wiring.wire(file.text, self.wired, _made(known) or (), self._hidden_line())
        except InstallError as error:
            raise InstallError(f"{self.path}: {error}; nothing was changed") from None
        after = file.encode(text)
        if after == file.raw:
            return Plan()
        settingsfile.require_writable(file)
        plan = Plan([Change(self.path, file.raw, after)])
        if any(rule.encode() not in (file.raw or b"") for rule in self.wired.rules):
            plan.notes.append(ALLOWED)
        if do:
            try:
                new = self._record_for(file, after, known)
                new.made = [list(place) for place in made]
                new.interpreter, new.root = self.wired.interpreter, self.wired.root
                records.save(self.home_dir, new)
            except OSError as error:
                reason = settingsfile.reason(error)
                raise InstallError(
                    f"cannot write to {self.home_dir}: {reason}; nothing was changed"
                ) from error
            plan.backup = settingsfile.replace(file, after, self.backups)
        return plan

    def _record_for(
        self, file: settingsfile.SettingsFile, after: bytes, known: Record | None
    ) -> Record:
        """What to put back: the first original while nobody else wrote, else this without us."""
        new = Record(self.path, [settingsfile.digest(after)])
        if file.raw is None:
            new.made_folder = not os.path.isdir(os.path.dirname(file.target))
            return new
        if known and settingsfile.digest(file.raw) in known.written:
            new.written = [*known.written, *new.written]
            new.original, new.made_folder = known.original, known.made_folder
            return new
        raw = file.raw
        if wiring.has_entries(file.text):
            raw = file.encode(wiring.unwire(file.text, _made(known)))
        new.original = records.keep_original(self.home_dir, self.path, raw)
        return new

    def _remove(self, *, do: bool) -> Plan:
        file = settingsfile.read(self.path)
        if file.raw is None:
            return Plan()
        known = records.load(self.home_dir, self.path, file.raw)
        try:
            after = self._without_us(file, known)
        except InstallError as error:
            raise InstallError(f"{self.path}: {error}; nothing was changed") from None
        if after != file.raw:
            settingsfile.require_writable(file)
            if do:
                folder = bool(known and known.made_folder)
                settingsfile.replace(file, after, self.backups, folder=folder)
        if do and known:
            records.forget(self.home_dir, known.path)
        return Plan([Change(self.path, file.raw, after)] if after != file.raw else [])

    def _without_us(self, file: settingsfile.SettingsFile, known: Record | None) -> bytes | None:
        raw = file.raw or b""
        if known and settingsfile.digest(raw) in known.written:
            with contextlib.suppress(LookupError):
                return records.original_bytes(self.home_dir, known)
        ours = known and b"brimline" in raw
        if not ours and not (entries.mention_us(raw) and wiring.has_entries(file.text)):
            return raw
        text = wiring.unwire(file.text, _made(known))
        created = known is not None and known.original is None
        return None if created and not wiring.parse(text) else file.encode(text)

    def _hidden_line(self) -> str | None:
        """The status line of a weaker scope, which one in this settings file would hide."""
        found = None
        for scope in SCOPES:
            file = settings_path(scope, self.project_dir)
            if file == self.path:
                break
            command = wiring.statusline_of(clientsettings.read_settings(file))
            ours = entries.parse_statusline(command) if command is not None else None
            found = (ours.wrapped if ours else command) or found
        return found


class Commands:
    """The slash commands `/brim:…` in the user's folder, and how hooks start `brimline`."""

    def __init__(self, home_dir: str, started: pythons.Program) -> None:
        """Name the data folder with the record, and what is to be started."""
        self.home_dir, self.started = home_dir, started
        self.own = OwnFiles(home_dir, "commands")
        self.own.adopt(self.wanted())

    @property
    def subject(self) -> str:
        """The commands and their folder."""
        return f"the slash commands in {commands_folder()}"

    def wanted(self) -> dict[str, bytes]:
        """Every file with its content."""
        files = command_files.files(self.started.line)
        found = {f"{commands_folder()}/{name}": content for name, content in files.items()}
        found[f"{self.home_dir}/{answer.PROGRAM_FILES[0]}"] = self.started.words()
        line = self.started.line()
        return found | ({paths.command_file(self.home_dir): line.encode()} if line else {})

    def install(self, *, do: bool) -> Plan:
        """The files that are missing or out of date."""
        wanted = self.wanted()
        changes, foreign = self.own.plan(wanted)
        plan = Plan(
            changes, notes=[f"{path} is not brimline's, or was changed: left" for path in foreign]
        )
        if self.started.line(*command_files.CARD.words) is None:
            plan.notes.append(
                "/brim:card left out: the client cannot check a line that starts "
                f"{self.started.interpreter} here"
            )
        if do:
            self.own.write(wanted)
        return plan

    def remove(self, *, do: bool) -> Plan:
        """Exactly the files that we wrote and nobody changed, and the folders made for them."""
        changes, foreign = self.own.plan({})
        if do:
            self.own.remove()
        return Plan(changes, notes=[f"{path} was changed since: left as it is" for path in foreign])


class McpServer:
    """`brimline mcp` in the user's scope, registered by the client's own command."""

    subject = f"the MCP server `{client.SERVER}`"

    def __init__(self, started: pythons.Program) -> None:
        """Name what the server shall be started with."""
        self.started = started
        self.wanted = client.Server(
            started.interpreter, started.arguments("mcp"), started.environment()
        )

    def addition(self) -> tuple[str, ...]:
        """The arguments that make the client register the server."""
        told = [
            word
            for name, text in self.wanted.environment.items()
            for word in ("-e", f"{name}={text}")
        ]
        added = (client.SERVER, *told, "--", self.wanted.command, *self.wanted.arguments)
        return ("mcp", "add", "-s", "user", *added)

    def install(self, *, do: bool) -> Plan:
        """Add it, or add it anew where it starts something else."""
        found = client.server()
        if found == self.wanted:
            return Plan()
        if found and not found.is_ours:
            return Plan(
                notes=[f"an MCP server `{client.SERVER}` that is not ours is registered: left"]
            )
        if not self.started.has_sdk:
            return Plan(to_do=[sdk_to_do(self.started, "brimline install")])
        plan = Plan(calls=[*([_REMOVAL] if found else []), self.addition()])
        plan.call_client("the MCP server", do=do)
        if do and plan.calls and client.server() != self.wanted and not plan.warnings:
            plan.warnings.append("the client says that it registered the MCP server, but did not")
        return plan

    def remove(self, *, do: bool) -> Plan:
        """Have the client forget it, where it is ours."""
        found = client.server()
        plan = Plan(calls=[_REMOVAL] if found and found.is_ours else [])
        plan.call_client("the MCP server", do=do)
        return plan


_REMOVAL = ("mcp", "remove", "-s", "user", client.SERVER)


def commands_folder() -> str:
    """Where the client looks for the user's commands of our namespace."""
    return f"{paths.client_config_dir()}/commands/{command_files.NAMESPACE}"


def sdk_to_do(started: pythons.Program, again: str) -> str:
    """What the user runs where the MCP server's library is missing."""
    why = f"in brimline's clone; the MCP server needs its SDK beside {started.interpreter}"
    return f"{pythons.INSTALL_SDK} && {again}    # {why}"


def _made(known: Record | None) -> list[wiring.Path] | None:
    return [tuple(place) for place in known.made] if known else None
