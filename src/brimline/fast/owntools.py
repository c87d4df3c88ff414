"""The names by which the client knows the tools of our MCP server.

Fast path: imports nothing.
"""

from __future__ import annotations

# As the command registers it, and as the plugin brings it. Another server may call itself whatever
# it likes, so that nothing but these two is ours.
SERVERS = ("mcp__brimline", "mcp__plugin_brimline_brimline")


def names(tool: str) -> tuple[str, ...]:
    """Every name of a tool of ours."""
    return tuple([f"{server}__{tool}" for server in SERVERS])


def is_ours(name: str) -> bool:
    """Tell whether the client means a tool of ours."""
    return name.rpartition("__")[0] in SERVERS
