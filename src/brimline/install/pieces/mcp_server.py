"""The MCP server's registration, made and undone by the client's own command."""

from __future__ import annotations

from typing import TYPE_CHECKING

from brimline.install import clientstate
from brimline.install.pieces.piece import Plan, hand_over, run_calls, sdk_to_do

if TYPE_CHECKING:
    from brimline.install.program import Program

_SCOPE = ("-s", "user")


class McpServer:
    """`brimline mcp` in the user's scope."""

    def __init__(self, started: Program) -> None:
        """Name what the server shall be started with."""
        self.started = started

    @property
    def subject(self) -> str:
        """What it is."""
        return f"the MCP server `{clientstate.SERVER}`"

    def plan(self) -> Plan:
        """Add it, or add it anew where it starts something else."""
        found = clientstate.server()
        if found == wanted(self.started):
            return Plan()
        if found and not found.is_ours:
            name = clientstate.SERVER
            return Plan(notes=[f"an MCP server `{name}` that is not ours is registered: left"])
        if not self.started.has_sdk:
            return Plan(to_do=[sdk_to_do(self.started, "brimline install")])
        calls = [removal()] if found else []
        return hand_over(Plan(calls=[*calls, addition(self.started)]), "the MCP server")

    def apply(self) -> Plan:
        """Have the client register it."""
        plan = run_calls(self.plan(), "the MCP server")
        if plan.calls and clientstate.server() != wanted(self.started):
            plan.warnings.append("the client says that it registered the MCP server, but did not")
        return plan

    def plan_removal(self) -> Plan:
        """Remove it where it is ours."""
        found = clientstate.server()
        if found is None or not found.is_ours:
            return Plan()
        return hand_over(Plan(calls=[removal()]), "the MCP server")

    def remove(self) -> Plan:
        """Have the client forget it."""
        return run_calls(self.plan_removal(), "the MCP server")


def wanted(started: Program) -> clientstate.Server:
    """What the client shall have on record."""
    return clientstate.Server(started.interpreter, started.arguments("mcp"), started.environment())


def addition(started: Program) -> tuple[str, ...]:
    """The arguments that make the client register the server."""
    told = [
        word for name, text in started.environment().items() for word in ("-e", f"{name}={text}")
    ]
    server = (clientstate.SERVER, *told, "--", started.interpreter, *started.arguments("mcp"))
    return ("mcp", "add", *_SCOPE, *server)


def removal() -> tuple[str, ...]:
    """The arguments that make the client forget the server."""
    return ("mcp", "remove", *_SCOPE, clientstate.SERVER)
