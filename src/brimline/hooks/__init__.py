"""Door: Claude Code's hook events and status line."""
