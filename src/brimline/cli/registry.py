"""Every command by name: where it lives and one line of help; imported when it is run."""

from __future__ import annotations

from typing import NamedTuple


class Entry(NamedTuple):
    """One command of the `brimline` program."""

    target: str
    help: str


# A command that belongs to another door lives in that door; doors never import each other.
COMMANDS = {
    "install": Entry("brimline.install.command:install", "Wire brimline into Claude Code."),
    "uninstall": Entry("brimline.install.command:uninstall", "Take brimline out again."),
    "doctor": Entry("brimline.install.command:doctor", "Check the installation."),
    "demo": Entry("brimline.cli.demo:demo", "Watch a session fill up; no client needed."),
    "status": Entry("brimline.cli.status:status", "Show how full a session is."),
    "history": Entry("brimline.cli.history:history", "Look back: turns, growth, compactions."),
    "carry": Entry("brimline.cli.carry:carry", "See what crosses a compaction, and add to it."),
    "session": Entry("brimline.cli.session:session", "Inspect, purge and mend a session."),
    "store": Entry("brimline.cli.store:store", "Look into what was kept out of the window."),
    "offload": Entry("brimline.cli.offload:offload", "Review what was learned about outputs."),
    "rules": Entry("brimline.cli.rules:rules", "See which instruction files load, and why."),
    "config": Entry("brimline.cli.settings:config", "Show, explain and change settings."),
    "scout": Entry(
        "brimline.install.switches:scout", "Watch reads of folders that fill the window."
    ),
    "mcp": Entry("brimline.mcp.command:mcp", "Serve stored output to the model (for machines)."),
    "hook": Entry("brimline.hooks.command:hook", "Answer one hook event (for machines)."),
    "statusline": Entry(
        "brimline.hooks.command:statusline", "Print the status line (for machines)."
    ),
}

CONFIG_COMMANDS = {
    "autocompact": Entry(
        "brimline.install.switches:autocompact", "Set where the client compacts by itself."
    ),
}
