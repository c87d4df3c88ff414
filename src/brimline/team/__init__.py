"""One memory for a team: what the search holds of memory, on a Qdrant server that the user names.

Nothing of this is loaded where `memory.url` is not set, and never in a hook.
"""
