"""The five compaction layers, over requests of the Messages API: `compactor` is the face. Pure."""
