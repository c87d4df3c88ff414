"""One full-text search over stored outputs, and later over memory; derived, and rebuilt at will."""
