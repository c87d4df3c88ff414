"""Shrinks and mends a recorded session, and never loses a line of it."""
