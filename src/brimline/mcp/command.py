"""The command that runs the MCP server."""

from __future__ import annotations

import click

from brimline.errors import BrimlineError

MISSING = (
    "the MCP server needs the MCP SDK, version 2: install it with "
    "`pip install 'brimline[mcp]'` (or `uv tool install 'brimline[mcp]'`)"
)


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
def mcp() -> None:
    """Serve the tools `recall` and `context_status` to an MCP client on standard input and output.

    Claude Code starts it by itself once it is registered; it ends with its client.

    \b
    Example:
      claude mcp add --scope user brimline -- brimline mcp
    """
    try:
        from brimline.mcp import server
    except ImportError as error:
        # Ours would be a defect; the SDK's are a package that is missing or too old.
        if (error.name or "").startswith("brimline"):
            raise
        raise BrimlineError(MISSING) from error
    server.run()
