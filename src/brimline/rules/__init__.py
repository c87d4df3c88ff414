"""Instruction files: which hold where, what they say and cost. `api` is the way in."""
