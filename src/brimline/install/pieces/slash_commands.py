"""The slash commands `/brim:…`: Markdown files in the user's folder of commands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from brimline.fast import paths
from brimline.install import ownfiles
from brimline.install.pieces.piece import FileChange, Plan
from brimline.slash import answer, command_files

if TYPE_CHECKING:
    from brimline.install.program import Program

RECORD = "commands"


class SlashCommands:
    """The files of all commands; one that is somebody else's stays."""

    def __init__(self, home_dir: str, program: Program) -> None:
        """Name the data folder with the record, and what the commands shall start."""
        self.home_dir, self.program = home_dir, program
        self.own = ownfiles.OwnFiles(home_dir, RECORD)

    @property
    def subject(self) -> str:
        """The commands and their folder."""
        return f"the slash commands in {folder()}"

    def wanted(self) -> dict[str, bytes]:
        """Every file with its content."""
        files = command_files.files(self.program.line)
        found = {f"{folder()}/{name}": content for name, content in files.items()}
        return found | {f"{self.home_dir}/{answer.PROGRAM_FILES[0]}": self.program.words()}

    def plan(self) -> Plan:
        """The files that are missing or out of date."""
        return self._told(self.own.plan(self.wanted()))

    def apply(self) -> Plan:
        """Write them."""
        return self._told(self.own.write(self.wanted()))

    def plan_removal(self) -> Plan:
        """Exactly the files that we wrote and nobody changed."""
        return self._taken_out(self.own.plan_removal(self.wanted()))

    def remove(self) -> Plan:
        """Remove them, and the folders that were made for them."""
        return self._taken_out(self.own.remove(self.wanted()))

    def _told(self, found: ownfiles.Plan) -> Plan:
        plan = _plan(found)
        plan.notes = [
            f"{path} is not brimline's, or was changed: left as it is" for path in found.foreign
        ]
        if self.program.line(*command_files.CARD.words) is None:
            plan.notes.append(
                f"/brim:card left out: the client cannot check a line that starts "
                f"{self.program.interpreter} here"
            )
        return plan

    def _taken_out(self, found: ownfiles.Plan) -> Plan:
        plan = _plan(found)
        plan.notes = [
            f"{path} was changed since, or is not brimline's: left as it is"
            for path in found.foreign
        ]
        return plan


def folder() -> str:
    """Where the client looks for the user's commands of our namespace."""
    return f"{paths.client_config_dir()}/commands/{command_files.NAMESPACE}"


def _plan(found: ownfiles.Plan) -> Plan:
    return Plan([FileChange(*change) for change in found.changes])
