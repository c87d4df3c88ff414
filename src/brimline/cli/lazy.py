"""Command groups that import a command only when it is used."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from brimline.cli.registry import Entry


class LazyGroup(click.Group):
    """A group whose commands, or some of them, are named by dotted paths."""

    def __init__(self, *args: Any, lazy: dict[str, Entry] | None = None, **kwargs: Any) -> None:
        """Take the lazily imported commands beside those that decorators add."""
        super().__init__(*args, **kwargs)
        self.lazy = lazy or {}

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Those of the group itself first, then the lazy ones, each in the order of definition."""
        return [*[name for name in self.commands if name not in self.lazy], *self.lazy]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one command."""
        entry = self.lazy.get(cmd_name)
        if entry is None:
            return super().get_command(ctx, cmd_name)
        module, _, attribute = entry.target.partition(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing the lazy ones."""
        rows = []
        for name in self.list_commands(ctx):
            if name in self.lazy:
                rows.append((name, self.lazy[name].help))
            elif command := super().get_command(ctx, name):
                rows.append((name, command.get_short_help_str(80)))
        with formatter.section("Commands"):
            formatter.write_dl(rows)
