"""Crosses a compaction: the session's own words, the state of its work, and nothing inferred."""
