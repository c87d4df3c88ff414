"""Content-addressed blobs: taken in by hooks, handed back byte for byte, pinned, pruned."""
