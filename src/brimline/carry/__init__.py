"""What crosses a compaction: here the checkpoint that a high tier writes."""
