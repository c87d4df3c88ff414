"""The `brimline` command: finds the asked command, runs it, turns our errors into one sentence."""

from __future__ import annotations

import sys

import click

from brimline import __version__
from brimline.cli.lazy import LazyGroup
from brimline.cli.registry import COMMANDS
from brimline.errors import BrimlineError


@click.group(cls=LazyGroup, lazy=COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
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
    except OSError as error:
        subject = error.filename or "the current folder, or another file"
        click.echo(f"brimline: {subject}: {error.strerror or error}", err=True)
        sys.exit(1)
