"""Claude Code's session files: row shapes, the last usage from the tail, a streaming reader."""
