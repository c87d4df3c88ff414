"""Door: the brimline command."""
