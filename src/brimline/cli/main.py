"""The `brimline` command: finds the asked command, runs it, turns our errors into one sentence."""

from __future__ import annotations

import importlib
import sys

import click

from brimline import __version__
from brimline.cli.registry import COMMANDS
from brimline.errors import BrimlineError


class LazyGroup(click.Group):
    """A group whose commands are imported only when they are used."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """The names in the order of the registry."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import one command."""
        entry = COMMANDS.get(cmd_name)
        if entry is None:
            return None
        module, _, attribute = entry.target.partition(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """List the commands from the registry, without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.help) for name, entry in COMMANDS.items()])


@click.command(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="brimline")
def program() -> None:
    """Keep a Claude Code session below the brim of its context window."""


def main() -> None:
    """Run the program; a problem is told in one sentence and a non-zero exit code."""
    try:
        program()
    except BrimlineError as error:
        click.echo(f"brimline: {error}", err=True)
        sys.exit(1)
    except BrokenPipeError:
        # The reader (`head`, a pager) has seen enough; Python must not complain while it ends.
        sys.stderr.close()
        sys.exit(141)
