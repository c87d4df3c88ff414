"""Keep bulk out of the context: what is replaced, and the short text that stands in for it."""
