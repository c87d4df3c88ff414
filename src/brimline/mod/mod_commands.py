"""The hidden command that answers the mod by hand: for people, tests and other tools."""

from __future__ import annotations

import click

from brimline import output


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
