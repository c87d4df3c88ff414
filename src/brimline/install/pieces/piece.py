"""The seam between the commands and what they install: plans first, then acts."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Protocol

from brimline.install import claude, program

if TYPE_CHECKING:
    from brimline.install.program import Program


class FileChange(NamedTuple):
    """A file before and after; None is no file."""

    path: str
    before: bytes | None
    after: bytes | None


@dataclass(slots=True)
class Plan:
    """What a piece would do, or has done."""

    files: list[FileChange] = field(default_factory=list)
    calls: list[tuple[str, ...]] = field(default_factory=list)
    """Arguments for the client's own command, in order."""
    to_do: list[str] = field(default_factory=list)
    """What only the user can do, with the exact command."""
    notes: list[str] = field(default_factory=list)
    """What is left as it is, and why."""
    warnings: list[str] = field(default_factory=list)
    """What was tried and did not work."""
    backup: str | None = None

    @property
    def changes(self) -> bool:
        """Whether there is anything to do."""
        return bool(self.files or self.calls)

    @property
    def call_lines(self) -> list[str]:
        """The calls as a person types them."""
        return [claude.line(call) for call in self.calls]


class Installable(Protocol):
    """Something that can be installed."""

    @property
    def subject(self) -> str:
        """What it is, for questions and reports."""
        ...

    def plan(self) -> Plan:
        """What installing would do.

        Raises:
            InstallError: it cannot be installed.
        """
        ...

    def apply(self) -> Plan:
        """Install it; returns what was done.

        Raises:
            InstallError: it could not be written.
        """
        ...


class Removable(Protocol):
    """Something that may be installed and can be taken out."""

    @property
    def subject(self) -> str:
        """What it is, for questions and reports."""
        ...

    def plan_removal(self) -> Plan:
        """What removing would do; nothing where it is not there.

        Raises:
            InstallError: it is there and cannot be taken out.
        """
        ...

    def remove(self) -> Plan:
        """Take it out; returns what was done.

        Raises:
            InstallError: it is there and could not be taken out.
        """
        ...


def run_calls(plan: Plan, purpose: str) -> Plan:
    """Have the client do what it is asked for; what it does not do, the user is told to do.

    Args:
        plan: its calls are tried in order, up to the first that fails.
        purpose: what they are for, as the end of a sentence.
    """
    done: list[tuple[str, ...]] = []
    for at, call in enumerate(plan.calls):
        if sys.stderr.isatty():  # the client may take its time where the network is away
            sys.stderr.write(f"asking the client: {claude.line(call)}\n")
        problem = claude.run(call)
        if problem:
            plan.warnings.append(f"`{claude.line(call)}` failed: {problem}")
            plan.to_do += [f"{line}    # {purpose}" for line in plan.call_lines[at:]]
            break
        done.append(call)
    plan.calls = done
    return plan


def hand_over(plan: Plan, purpose: str) -> Plan:
    """Without the client on PATH its calls become commands for the user."""
    if plan.calls and claude.on_path() is None:
        plan.to_do += [f"{line}    # {purpose}" for line in plan.call_lines]
        plan.calls = []
    return plan


def sdk_to_do(started: Program, again: str) -> str:
    """What the user runs where the MCP server's library is missing."""
    reason = f"the MCP server needs its SDK beside {started.interpreter}"
    return f"{program.INSTALL_SDK} && {again}    # {reason}"
