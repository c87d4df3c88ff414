"""The plugin: its files in the data folder, and the client's knowledge of them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from brimline.errors import InstallError
from brimline.install import clientedits, clientstate, ownfiles, pluginfiles, settingsfile
from brimline.install.pieces.piece import FileChange, Plan, hand_over, run_calls, sdk_to_do

if TYPE_CHECKING:
    from brimline.install import entries
    from brimline.install.program import Program

RECORD = "plugin"
_PURPOSE = "the plugin"


class Plugin:
    """Whatever there is of the plugin: files, and the client's record of them."""

    def __init__(self, home_dir: str) -> None:
        """Name the data folder."""
        self.home_dir = home_dir
        # Whatever is on record in our own folder is ours, edited or not.
        self.own = ownfiles.OwnFiles(home_dir, RECORD, keeps_edits=False)

    @property
    def subject(self) -> str:
        """The plugin and its folder."""
        return f"the plugin {clientstate.PLUGIN_ID} ({folder(self.home_dir)})"

    @property
    def is_known(self) -> bool:
        """Whether the client takes its marketplace from our folder."""
        known = clientstate.marketplace()
        ours = os.path.realpath(folder(self.home_dir))
        return known is not None and os.path.realpath(known) == ours

    def plan_removal(self) -> Plan:
        """Have the client forget the plugin, then the files."""
        plan = Plan([FileChange(*change) for change in self.own.plan_removal().changes])
        if self.is_known:
            plan.calls = [("plugin", "marketplace", "remove", clientstate.MARKETPLACE)]
            if clientstate.plugin_is_on() is not None:
                plan.calls.insert(0, ("plugin", "uninstall", clientstate.PLUGIN_ID))
        return hand_over(plan, _PURPOSE)

    def remove(self) -> Plan:
        """Do so, and put the settings back as they were before the client edited them."""
        plan = self.plan_removal()
        untouched = clientedits.is_last_writer(self.home_dir)
        asked = bool(plan.calls)
        if asked:
            self._back_up(plan)
        run_calls(plan, _PURPOSE)
        self.own.remove()
        if asked and not plan.warnings:
            clientedits.put_back(self.home_dir, untouched=untouched)
        return plan

    def _back_up(self, plan: Plan) -> settingsfile.SettingsFile:
        """Keep the settings as they are before the client writes them."""
        before = settingsfile.read(clientedits.settings_path())
        plan.backup = settingsfile.back_up(before, f"{self.home_dir}/backups")
        return before


class NewPlugin(Plugin):
    """A local marketplace under the data folder with one plugin; it refreshes in place."""

    def __init__(
        self, home_dir: str, wired: entries.Wiring, started: Program, *, mcp: bool
    ) -> None:
        """Name also what the plugin shall start, and whether the MCP server comes along."""
        super().__init__(home_dir)
        self.wired, self.started, self.mcp = wired, started, mcp

    def wanted(self) -> dict[str, bytes]:
        """Every file with its content."""
        mcp = self.mcp and self.started.has_sdk
        files = pluginfiles.files(self.wired, self.started, mcp=mcp)
        return {f"{folder(self.home_dir)}/{name}": content for name, content in files.items()}

    def plan(self) -> Plan:
        """The files, then what makes the client use them."""
        found = self.own.plan(self.wanted())
        if found.foreign:
            raise InstallError(
                f"{found.foreign[0]} is not brimline's and in the plugin's place: move it away"
            )
        _require_ours(clientstate.marketplace())
        plan = Plan([FileChange(*change) for change in found.changes])
        plan.calls = self._calls()
        if self.mcp and not self.started.has_sdk:
            plan.to_do.append(sdk_to_do(self.started, "brimline install --as plugin"))
        return hand_over(plan, _PURPOSE)

    def apply(self) -> Plan:
        """Write the files and have the client install the plugin."""
        plan = self.plan()
        self.refresh()
        if plan.calls:
            before = self._back_up(plan)
            run_calls(plan, _PURPOSE)
            self._remember(plan, before.raw)
        return plan

    def refresh(self) -> bool:
        """Write the files anew; False where they were right already."""
        return bool(self.own.write(self.wanted()).changes)

    def _calls(self) -> list[tuple[str, ...]]:
        calls: list[tuple[str, ...]] = []
        if not self.is_known:
            calls.append(("plugin", "marketplace", "add", folder(self.home_dir)))
        if clientstate.plugin_is_on() is not True:
            calls.append(("plugin", "install", clientstate.PLUGIN_ID))
        return calls

    def _remember(self, plan: Plan, before: bytes | None) -> None:
        try:
            clientedits.remember(self.home_dir, before)
        except (OSError, InstallError) as error:
            plan.warnings.append(f"the settings as they were could not be kept: {error}")


def folder(home_dir: str) -> str:
    """The marketplace's folder."""
    return f"{home_dir}/plugin"


def home_of(marketplace: str) -> str | None:
    """The data folder of a marketplace that we wrote; None for any other one."""
    home_dir, _, name = marketplace.rstrip("/").rpartition("/")
    recorded = name == "plugin" and ownfiles.OwnFiles(home_dir, RECORD).is_recorded
    return home_dir if recorded else None


def _require_ours(marketplace: str | None) -> None:
    """Refuse to take a marketplace's name from somebody else."""
    if marketplace is None or home_of(marketplace):
        return
    if os.path.isabs(marketplace) and not os.path.lexists(marketplace):
        return  # nobody's any more
    name = clientstate.MARKETPLACE
    raise InstallError(
        f"the client knows another marketplace `{name}`, {marketplace}: "
        f"`claude plugin marketplace remove {name}` makes room"
    )
