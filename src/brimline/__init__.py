"""brimline keeps a Claude Code session below the brim of its context window."""

__version__ = "0.2.0"
