"""`brimline mcp`: tools for the model over standard input and output, until the input ends.

Nothing of ours is loaded or read before the first call of a tool, and the SDK only when it runs.
"""

from __future__ import annotations

import itertools
import signal
import threading
import time
from typing import TYPE_CHECKING, Any

import click

from brimline import __version__
from brimline.fast import paths
from brimline.settings import pinned

if TYPE_CHECKING:
    from mcp.server import Server, ServerRequestContext
    from mcp.types import CallToolRequestParams, CallToolResult, ListToolsResult

# By then the client has what it waits for.
_SHARE_AFTER_S, _SHARE_EVERY_S = 2.0, 300.0


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--data", default="", hidden=True)
@click.option("--client", default="", hidden=True)
@click.option("--home", default="", hidden=True)
def mcp(data: str = "", client: str = "", home: str = "") -> None:
    """Serve `recall`, `remember`, `note` and others on standard input and output.

    Claude Code starts it by itself once it is registered; it ends with its client.

    \b
    Example:
      claude mcp add --scope user brimline -- brimline mcp
    """
    if data:
        paths.pin(data, client, home)
    else:
        pinned.pin_or_refuse("mcp")
    import anyio

    server = build_server()
    # The client says goodbye with SIGINT; there is nothing to clean up and nobody to tell.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    threading.Thread(target=_share_with_team_repeatedly, daemon=True).start()
    anyio.run(_serve_on_stdio, server)


def build_server() -> Server[Any]:
    """The server without a connection."""
    from mcp.server import Server

    from brimline.mcp import tools

    return Server(
        "brimline",
        version=__version__,
        instructions=tools.INSTRUCTIONS,
        on_list_tools=_list_tools,
        on_call_tool=_call_tool,
    )


def _share_with_team_repeatedly() -> None:
    """Keep the team's server up to date, where the user has named one."""
    for wait_s in itertools.chain([_SHARE_AFTER_S], itertools.repeat(_SHARE_EVERY_S)):
        time.sleep(wait_s)
        from brimline.mcp import tools

        tools.send_waiting_entries_to_team()


async def _serve_on_stdio(server: Server[Any]) -> None:
    from mcp.server.stdio import stdio_server

    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


async def _list_tools(_context: ServerRequestContext[Any], _params: Any) -> ListToolsResult:
    from mcp.types import ListToolsResult, Tool

    from brimline.mcp import tools

    return ListToolsResult(tools=[Tool.model_validate(tool) for tool in tools.TOOLS])


async def _call_tool(
    _context: ServerRequestContext[Any], params: CallToolRequestParams
) -> CallToolResult:
    import anyio.to_thread
    from mcp.types import CallToolResult, TextContent

    from brimline.mcp import tools

    text, failed = await anyio.to_thread.run_sync(tools.answer, params.name, params.arguments or {})
    return CallToolResult(content=[TextContent(type="text", text=text)], is_error=failed)
