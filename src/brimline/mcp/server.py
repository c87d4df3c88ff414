"""The server: two tools over standard input and output, for one client, until the input ends.

Nothing of ours is loaded or read before the first call of a tool. `ServerRequestContext` is
imported at run time because version 1 of the SDK, which would not do, does not have it.
"""

from __future__ import annotations

import signal
from typing import Any

import anyio
import anyio.to_thread
from mcp.server import Server, ServerRequestContext
from mcp.server.stdio import stdio_server
from mcp.types import (
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
)

from brimline import __version__
from brimline.mcp import tools


def run() -> None:
    """Serve until the client goes away."""
    # The client says goodbye with SIGINT; there is nothing to clean up and nobody to tell.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    anyio.run(_serve)


def build() -> Server[Any]:
    """The server without a connection."""
    return Server(
        "brimline",
        version=__version__,
        instructions=tools.INSTRUCTIONS,
        on_list_tools=_list_tools,
        on_call_tool=_call_tool,
    )


async def _serve() -> None:
    server = build()
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


async def _list_tools(
    _context: ServerRequestContext[Any], _params: PaginatedRequestParams | None
) -> ListToolsResult:
    return ListToolsResult(tools=[Tool.model_validate(tool) for tool in tools.TOOLS])


async def _call_tool(
    _context: ServerRequestContext[Any], params: CallToolRequestParams
) -> CallToolResult:
    from brimline.mcp import calls

    text, failed = await anyio.to_thread.run_sync(calls.answer, params.name, params.arguments or {})
    return CallToolResult(content=[TextContent(type="text", text=text)], is_error=failed)
