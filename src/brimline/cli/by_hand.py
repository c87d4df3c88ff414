"""The hidden commands that answer by hand what the client asks: for people, tests, other tools."""

from __future__ import annotations

import click

from brimline import output

_ANY_WORDS = {"allow_extra_args": True, "ignore_unknown_options": True}


@click.command(context_settings=output.HELP | _ANY_WORDS)
@click.argument("event", default="")
def hook(event: str) -> None:
    """Answer one hook EVENT given as JSON on standard input, exactly as the installed hook does.

    \b
    Example:
      brimline hook PostToolUse < event.json
    """
    from brimline.hooks.entry import main

    main(event)


@click.command(context_settings=output.HELP)
@click.argument("wrapped", required=False, default="")
def statusline(wrapped: str) -> None:
    """Print the status line for the client's JSON on standard input.

    WRAPPED is another status-line command to feed with the same input and print along.

    \b
    Example:
      brimline statusline < statusline.json
    """
    from brimline.hooks.entry import main

    main("statusline", wrapped)


@click.command(context_settings=output.HELP)
@click.argument("name")
def mod(name: str) -> None:
    """Answer what the mod inside Claude Code asks by NAME, given as JSON on standard input.

    \b
    Example:
      brimline mod compact < request.json
    """
    from brimline.mod.request import main

    main(name)


@click.command(context_settings=output.HELP)
def mcp() -> None:
    """Serve `recall`, `remember`, `note` and others on standard input and output.

    Claude Code starts it by itself once it is registered; it ends with its client.

    \b
    Example:
      claude mcp add --scope user brimline -- brimline mcp
    """
    from brimline.mcp import server

    server.serve()
